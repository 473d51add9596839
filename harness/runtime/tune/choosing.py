"""Choose between ways to do the same work by timing them: a loop or one block, one kernel or two.

Every kernel is timed in the configuration that it would be launched in.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch

from harness.errors import HarnessError
from harness.heuristics.limits import spill_limit
from harness.records.timing import Samples, Timer, Work
from harness.runtime import module as modules
from harness.runtime.compile.static import reason, untuned
from harness.runtime.launch.launcher import Launcher
from harness.runtime.tune.autotune import Settings
from harness.runtime.tune.caching import CachingAutotuner
from harness.runtime.tune.tuning_cache import FORMAT, LookupTable, TuningCache
from harness.target import Target

_UNKNOWN = "not timed"
_BUDGET_MS = 150.0
"""Wall clock for a choice, once kernels are tuned."""


Run = Callable[[Sequence[Any]], object]
"""Enqueues a kernel on its arguments."""


@dataclass(frozen=True, slots=True)
class Way:
    """Launches in order: the text of each one's module, and the names of the buffers that each of
    its arguments stands for. Equal names are the same memory."""

    name: str
    module_texts: tuple[str, ...]
    arguments: tuple[tuple[tuple[str, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Which way was taken, by place, and why; milliseconds of each, None where it was not timed."""

    taken: int
    why: str
    ms: tuple[float | None, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Chooser:
    """Chooses on the current device. Kernels are tuned as ``settings`` say, which with None are in
    their default configurations. ``tuning_cache`` keeps what was tuned and what was chosen.
    ``kernel`` makes one ready to launch on some arguments and says how many registers a thread
    of it spills (None: it is compiled for the device)."""

    target: Target
    timer: Timer
    cache: Path | None = None
    settings: Settings | None = None
    tuning_cache: TuningCache | None = None
    table: LookupTable | None = None
    device: str = "cuda"
    kernel: Callable[[modules.LoadedModule, Sequence[Any]], tuple[Run, int]] | None = None

    def choose(self, ways: Sequence[Way]) -> Outcome:
        """The fastest way. The first one stays where no other is faster by more than the
        measurement's error, and where nothing can be timed; a way that spills registers loses
        to those that do not."""
        key = self._key(ways)
        kept = None if self.tuning_cache is None else self.tuning_cache.read(key, _outcome)
        if kept is not None:
            return kept
        on_cuda = self.device.startswith("cuda")
        try:
            with torch.cuda.device(self.device) if on_cuda else contextlib.nullcontext():
                found = self._timed(ways)
        except HarnessError as error:
            return Outcome(0, f"{_UNKNOWN}: {error.got or error.what}")
        except torch.OutOfMemoryError as error:
            return Outcome(0, f"{_UNKNOWN}: {reason(error)}")
        if self.tuning_cache is not None and not found.why.startswith(_UNKNOWN):
            self.tuning_cache.write(key, {"outcome": msgspec.to_builtins(found)})
        return found

    def _timed(self, ways: Sequence[Way]) -> Outcome:
        works = [self._prepared(way) for way in ways]
        spilling = [spills > spill_limit(self.target) for _, spills in works]
        if any(spilling) and not all(spilling):
            return Outcome(spilling.index(False), "the other spills registers")
        named = {str(n): work for n, (work, _) in enumerate(works)}
        return _fastest(self.timer.compare(named, _BUDGET_MS))

    def _key(self, ways: Sequence[Way]) -> dict[str, Any]:
        """What decides a choice: the kernels, how they are tuned, the device."""
        hashes = [
            [modules.load(text, self.cache).launch_hash for text in way.module_texts]
            for way in ways
        ]
        known = {} if self.tuning_cache is None else dict(self.tuning_cache.device)
        search = "" if self.settings is None else self.settings.search.name
        return {"format": FORMAT, "ways": hashes, "device": known, "search": search}

    def _prepared(self, way: Way) -> tuple[Work, int]:
        """A way ready to be timed, and the most registers that a thread of it spills."""
        tensors: dict[str, Any] = {}
        steps: list[tuple[Run, int]] = []
        flat: list[Any] = []
        spills = 0
        for text, names in zip(way.module_texts, way.arguments, strict=True):
            loaded = modules.load(text, self.cache)
            args = _joined(loaded.get_args(device=self.device), names, tensors)
            run, spilled = (self.kernel or self._kernel)(loaded, args)
            spills = max(spills, spilled)
            flat.extend(args)
            steps.append((run, len(flat)))

        def launch(given: Sequence[Any]) -> None:
            begin = 0
            for run, end in steps:
                run(given[begin:end])
                begin = end

        return Work(launch, flat), spills

    def _kernel(self, loaded: modules.LoadedModule, args: Sequence[Any]) -> tuple[Run, int]:
        config = None if self.table is None else self.table.get(loaded)
        if config is None and self.settings is not None:
            places = (self.cache, self.settings, self.tuning_cache)
            tuner = CachingAutotuner(loaded.text, self.target, *places)
            config = tuner.tune(args, self.timer).config
        config = config or untuned(loaded.text, self.target, self.cache) or loaded.configs[0]
        launcher = Launcher(loaded, config, self.target, self.cache)
        return launcher, launcher.prepare()


def _joined(
    args: list[Any], names: Sequence[tuple[str, ...]], tensors: dict[str, Any]
) -> list[Any]:
    """``args``, those that an earlier launch had among them; names are entered in ``tensors``."""
    for place, buffers in enumerate(names):
        earlier = next((tensors[name] for name in buffers if name in tensors), None)
        if isinstance(earlier, torch.Tensor) and _alike(earlier, args[place]):
            args[place] = earlier
        tensors.update(dict.fromkeys(buffers, args[place]))
    return args


def _alike(one: torch.Tensor, other: Any) -> bool:
    same = isinstance(other, torch.Tensor) and one.dtype == other.dtype
    return same and one.shape == other.shape and one.stride() == other.stride()


def _fastest(found: Mapping[str, Samples]) -> Outcome:
    """The way with the lowest median, if its interval lies below that of the first one."""
    samples = [found[str(n)] for n in range(len(found))]
    ms = tuple(s.median for s in samples)
    if any(s.disturbed for s in samples):
        return Outcome(0, f"{_UNKNOWN}: the device was disturbed", ms)
    best = min(range(len(ms)), key=lambda n: ms[n])
    high, low = samples[best].high, samples[0].low
    sure = high is not None and low is not None and high < low
    return Outcome(best if sure else 0, "timed", ms)


def _outcome(body: Mapping[str, Any]) -> Outcome:
    found = msgspec.convert(body["outcome"], Outcome)
    return Outcome(found.taken, f"{found.why} before", found.ms)
