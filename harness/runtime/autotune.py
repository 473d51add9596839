"""Choose a launch configuration by timing the candidates on real arguments.

What the kernel writes is put back after every candidate, so that all of them see the same
inputs and the caller's tensors end up bit for bit what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch

from harness.errors import CompileFailed, NoTritonConfigsError
from harness.heuristics.facts import Config
from harness.runtime import module as modules
from harness.runtime.launcher import Launcher
from harness.runtime.timing import Samples, Timer
from harness.target import Target

Launchable: TypeAlias = Callable[[Sequence[Any]], None]
Prepare: TypeAlias = Callable[[Config], tuple[Launchable, int]]
"""Compiles one configuration: what launches it, and how many registers it spills.
Raises ``CompileFailed``."""

SPILL_LIMIT = 16
"""Registers a candidate may spill before it is passed over (if another one does not)."""
_BUDGET_MS = 20.0


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate: its samples, or why it was not timed."""

    config: Config
    samples: Samples | None
    reason: str = ""

    @property
    def ms(self) -> float | None:
        """Median in milliseconds."""
        return None if self.samples is None else self.samples.median


@dataclass(frozen=True, slots=True)
class Tuned:
    """The fastest configuration, and every trial in the order of the candidates."""

    config: Config
    trials: tuple[Trial, ...]


def compiler(loaded: modules.LoadedModule, target: Target, cache: Path | None = None) -> Prepare:
    """Compile candidates of ``loaded`` for the current device, binaries kept below ``cache``."""

    def prepare(config: Config) -> tuple[Launchable, int]:
        launcher = Launcher(loaded, config, target, cache)
        return launcher, launcher.prepare()

    return prepare


def tune(
    loaded: modules.LoadedModule,
    args: Sequence[Any],
    timer: Timer,
    prepare: Prepare,
    budget_ms: float = _BUDGET_MS,
) -> Tuned:
    """The fastest of the module's candidates on ``args``.

    ``budget_ms`` is wall clock for each candidate. A candidate that does not compile, does
    not fit the device or spills heavily is dropped with its reason; a single candidate is
    taken without timing. Raises ``NoTritonConfigsError`` when none is left.
    """
    ready, dropped = _prepared(loaded.configs, prepare)
    if not ready:
        causes = "; ".join(dict.fromkeys(t.reason for t in dropped))
        raise NoTritonConfigsError(
            "every candidate configuration of a kernel failed",
            where=loaded.name,
            got=causes[:1000],
            expected="one that compiles and fits the device",
            remedy="see the kernel's text; the best guess may need smaller blocks",
        )
    if len(ready) == 1:
        config = next(iter(ready))
        return Tuned(config, _ordered(loaded.configs, [*dropped, Trial(config, None, "only one")]))
    saved = Saved.of([args[i] for i in loaded.outputs])
    trials = list(dropped)
    try:
        for config, launch in ready.items():
            trials.append(_trial(config, launch, args, timer, budget_ms))
            saved.restore()
    finally:
        saved.restore()
    timed = [(t.samples.median, t.config) for t in trials if t.samples is not None]
    if not timed:
        raise NoTritonConfigsError(
            "every candidate configuration of a kernel failed when launched",
            where=loaded.name,
            got="; ".join(dict.fromkeys(t.reason for t in trials))[:1000],
            expected="one that runs",
            remedy="run the emitted module with --check",
        )
    best = min(range(len(timed)), key=lambda i: timed[i][0])
    return Tuned(timed[best][1], _ordered(loaded.configs, trials))


def _prepared(
    configs: Sequence[Config], prepare: Prepare
) -> tuple[dict[Config, Launchable], list[Trial]]:
    ready: dict[Config, Launchable] = {}
    spilled: dict[Config, Launchable] = {}
    dropped: list[Trial] = []
    for config in configs:
        try:
            launch, spills = prepare(config)
        except CompileFailed as error:
            dropped.append(Trial(config, None, error.got or error.what))
            continue
        (spilled if spills > SPILL_LIMIT else ready)[config] = launch
    if not ready:
        return spilled, dropped
    dropped.extend(Trial(c, None, f"spills more than {SPILL_LIMIT} registers") for c in spilled)
    return ready, dropped


def _trial(
    config: Config, launch: Launchable, args: Sequence[Any], timer: Timer, budget_ms: float
) -> Trial:
    try:
        return Trial(config, timer.measure(lambda: launch(args), budget_ms))
    except CompileFailed as error:
        return Trial(config, None, error.got or error.what)


def _ordered(configs: Sequence[Config], trials: Sequence[Trial]) -> tuple[Trial, ...]:
    by_config = {t.config: t for t in trials}
    return tuple(by_config[c] for c in configs if c in by_config)


@dataclass(frozen=True, eq=False, slots=True)
class Saved:
    """Copies of the storages of some tensors."""

    pairs: tuple[tuple[torch.Tensor, torch.Tensor], ...]

    @classmethod
    def of(cls, tensors: Sequence[Any]) -> Saved:
        """Copies on the device, or in host memory where the device has no room."""
        seen: dict[int, torch.Tensor] = {}
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor):
                storage = tensor.detach().untyped_storage()
                whole = torch.empty(0, dtype=torch.uint8, device=tensor.device)
                seen.setdefault(storage.data_ptr(), whole.set_(storage))
        return cls(tuple((whole, _copy(whole)) for whole in seen.values()))

    def restore(self) -> None:
        """Put every byte back."""
        for whole, copy in self.pairs:
            whole.copy_(copy)


def _copy(whole: torch.Tensor) -> torch.Tensor:
    try:
        return whole.clone()
    except torch.OutOfMemoryError:
        return whole.cpu()
