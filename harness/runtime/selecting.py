"""Kernels ready to launch on a CUDA device, each in one chosen configuration.

The choice is the first candidate that compiles and does not spill much; with a timer, the
candidate that is fastest on the arguments of the kernel's first call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from harness.errors import CompileFailed, NoTritonConfigsError
from harness.heuristics.facts import Config
from harness.runtime import module as modules
from harness.runtime.autotune import SPILL_LIMIT, compiler, tune
from harness.runtime.launcher import LauncherCache
from harness.runtime.timing import Timer
from harness.target import Target

_TUNE_MS = 10.0
Launch = Callable[[Sequence[Any]], None]


@dataclass(eq=False, slots=True)
class SelectedKernels:
    """Kernels of one device by the text of their modules. ``cache`` is where Triton keeps
    binaries and module files are written."""

    target: Target
    timer: Timer | None = None
    cache: Path | None = None
    _kernels: dict[str, SelectedKernel] = field(default_factory=dict)
    _launchers: LauncherCache = field(init=False)

    def __post_init__(self) -> None:
        self._launchers = LauncherCache(self.target, self.cache)

    def get(self, module_text: str) -> SelectedKernel:
        """What launches the module's kernel. Nothing is compiled before its first call."""
        found = self._kernels.get(module_text)
        if found is None:
            folder = None if self.cache is None else self.cache / "modules"
            loaded = modules.load(module_text, folder)
            found = SelectedKernel(loaded, self._launchers, self.timer)
            self._kernels[module_text] = found
        return found


@dataclass(eq=False, slots=True)
class SelectedKernel:
    """One kernel. Calling it enqueues the kernel on the current stream of the current device;
    the first call compiles, and with a ``timer`` tunes."""

    loaded: modules.LoadedModule
    launchers: LauncherCache
    timer: Timer | None = None
    config: Config | None = None
    _launch: Launch | None = None

    def __call__(self, args: Sequence[Any]) -> None:
        """Enqueue the kernel. Raises ``NoTritonConfigsError`` when no candidate compiles."""
        launch = self._launch
        if launch is None:
            launch = self._select(args)
        launch(args)

    def _select(self, args: Sequence[Any]) -> Launch:
        if self.timer is None or len(self.loaded.configs) == 1:
            config = self._first()
        elif torch.cuda.is_current_stream_capturing():
            # Timing waits for the device, which a recording forbids: choose for this call only.
            return self.launchers.get(self.loaded, self._first())
        else:
            config = self._tuned(self.timer, args)
        self.config = config
        self._launch = launch = self.launchers.get(self.loaded, config)
        return launch

    def _tuned(self, timer: Timer, args: Sequence[Any]) -> Config:
        prepare = compiler(self.loaded, self.launchers.target, self.launchers.cache)
        return tune(self.loaded, args, timer, prepare, _TUNE_MS).config

    def _first(self) -> Config:
        """The first candidate that compiles and does not spill much; else the first that
        compiles."""
        spilling: Config | None = None
        causes: list[str] = []
        for config in self.loaded.configs:
            try:
                spills = self.launchers.get(self.loaded, config).prepare()
            except CompileFailed as error:
                causes.append(error.got or error.what)
                continue
            if spills <= SPILL_LIMIT:
                return config
            spilling = spilling or config
        if spilling is not None:
            return spilling
        raise NoTritonConfigsError(
            "every candidate configuration of a kernel failed",
            where=self.loaded.name,
            got="; ".join(dict.fromkeys(causes))[:1000],
            expected="one that compiles and fits the device",
            remedy="see the kernel's text; the best guess may need smaller blocks",
        )
