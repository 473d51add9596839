"""Launch compiled kernels on a CUDA device without Triton's per-call dispatch.

A kernel is compiled once per configuration for the device's target. Compiled code may
assume that the pointers in the module's DIVISIBLE_BY_16 are aligned; arguments that are
not get a variant of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from harness.errors import CompileFailed
from harness.heuristics.facts import Config
from harness.runtime import module as modules
from harness.runtime.static import compile_for, reason
from harness.runtime.trials import Resources
from harness.target import Target

_Bound = Callable[..., None]


@dataclass(eq=False, slots=True)
class Launcher:
    """One module under one configuration. Calling it enqueues the kernel on the current
    stream of the current device; ``args`` are as the module's ``call`` takes them. Triton
    keeps binaries below ``cache``."""

    loaded: modules.LoadedModule
    config: Config
    target: Target
    cache: Path | None = None
    _pointers: tuple[tuple[int, int], ...] = field(init=False)
    resources: Resources = field(default=Resources(), init=False)
    _spills: int = field(default=0, init=False)
    _variants: dict[tuple[int, tuple[int, ...]], _Bound] = field(default_factory=dict)

    def __post_init__(self) -> None:
        aligned = self.loaded.divisible_by_16
        self._pointers = tuple(
            (position, 15 if name in aligned else 0)
            for position, (name, kind) in enumerate(self.loaded.signature.items())
            if kind.startswith("*")
        )

    def __call__(self, args: Sequence[Any]) -> None:
        """Enqueue the kernel. Raises ``CompileFailed`` (out of resources included) the
        first time."""
        # Addresses instead of tensors: Triton then asks neither torch nor the driver for them.
        values = list(args)
        crooked: tuple[int, ...] = ()
        for position, mask in self._pointers:
            address = values[position] = args[position].data_ptr()
            if address & mask:
                crooked += (position,)
        device = torch.cuda.current_device()
        bound = self._variants.get((device, crooked))
        if bound is None:
            bound = self._variants[device, crooked] = self._bind(crooked)
        bound(torch.cuda.current_stream(device).cuda_stream, *values)

    def prepare(self) -> int:
        """Compile and load for aligned arguments; the number of spilled registers."""
        device = torch.cuda.current_device()
        if (device, ()) not in self._variants:
            self._variants[device, ()] = self._bind(())
        return self._spills

    def _bind(self, crooked: tuple[int, ...]) -> _Bound:
        """Compile, load on the current device, and fix everything but stream and arguments."""
        names = list(self.loaded.signature)
        excluded = {names[i] for i in crooked}
        compiled = compile_for(self.loaded, self.target, self.config, excluded, self.cache)
        try:
            run = compiled.run
        except Exception as error:
            raise CompileFailed(
                "a compiled kernel does not fit the device",
                where=f"{self.loaded.name} {modules.config_dict(self.config)}",
                got=reason(error),
                expected="shared memory and threads within the device's limits",
                remedy="another configuration may fit",
            ) from error
        self._spills = int(getattr(compiled, "n_spills", 0) or 0)
        self.resources = _resources(compiled)
        x, y, z = self.loaded.grid(self.config)
        function, metadata = compiled.function, compiled.packed_metadata
        values = modules.config_dict(self.config)
        kernel = self.loaded.kernel
        constants = tuple(values[p.name] for p in kernel.params if p.is_constexpr)

        def bound(stream: int, *args: Any) -> None:
            # No launch metadata and no profiler hooks: both cost time on every call.
            run(x, y, z, stream, function, metadata, None, None, None, *args, *constants)

        # The binary is unloaded when its owner is collected; the closure keeps it.
        bound.__dict__["owner"] = compiled
        return bound


def _resources(compiled: Any) -> Resources:
    """What a loaded kernel needs, as the driver says."""
    binary = compiled.asm.get("cubin") or compiled.asm.get("hsaco") or b""
    return Resources(
        registers=int(compiled.n_regs),
        spills=int(compiled.n_spills or 0),
        shared=int(compiled.metadata.shared),
        artifact=hashlib.sha256(bytes(binary)).hexdigest()[:32],
    )


@dataclass(eq=False, slots=True)
class LauncherCache:
    """Launchers by module text and configuration, for as long as the cache lives."""

    target: Target
    cache: Path | None = None
    _launchers: dict[tuple[str, Config], Launcher] = field(default_factory=dict)

    def get(self, loaded: modules.LoadedModule, config: Config | None = None) -> Launcher:
        """The launcher of ``loaded`` under ``config`` (its best guess if None)."""
        chosen = loaded.configs[0] if config is None else config
        key = (modules.text_hash(loaded.text), chosen)
        found = self._launchers.get(key)
        if found is None:
            found = self._launchers[key] = Launcher(loaded, chosen, self.target, self.cache)
        return found

    def clear(self) -> None:
        """Forget all of them, which unloads their binaries."""
        self._launchers.clear()
