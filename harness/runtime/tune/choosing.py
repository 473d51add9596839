"""Choose between ways to do the same work by timing them: a loop or a block, one kernel or two."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import torch
from torch._prims_common import compute_required_storage_length

from harness.errors import HarnessError, reason
from harness.heuristics.limits import spill_limit
from harness.records.timing import Samples, Timer, Work
from harness.records.trials import Outcome, Way
from harness.runtime.launch.selecting import SelectedKernels
from harness.runtime.tune.tuning_cache import FORMAT, TuningCache

_UNKNOWN = "not timed"
_BUDGET_MS = 150.0
"""Wall clock for a choice, once kernels have their configurations."""


@dataclass(frozen=True, eq=False, slots=True)
class Chooser:
    """Chooses on the current device, ``where``, with ``kernels`` in the configurations that they
    will be launched in. ``known`` keeps what was chosen, by the kernels' contents."""

    kernels: SelectedKernels
    timer: Timer
    known: TuningCache
    where: str = "cuda"

    def choose(self, ways: Sequence[Way]) -> Outcome:
        """The fastest way. The first one stays where no other is faster by more than the
        measurement's error, and where nothing can be timed; a way that spills registers loses
        to those that do not."""
        key = self._key(ways)
        kept = self.known.read(key, lambda body: msgspec.convert(body["outcome"], Outcome))
        if kept is not None:
            return kept
        try:
            found = self._timed(ways)
        except (HarnessError, RuntimeError) as error:
            return Outcome(0, f"{_UNKNOWN}: {reason(error)}")
        if not found.why.startswith(_UNKNOWN):
            self.known.write(key, {"outcome": msgspec.to_builtins(found)})
        return found

    def _key(self, ways: Sequence[Way]) -> dict[str, Any]:
        texts = {step for way in ways for step in way.steps if isinstance(step, str)}
        names = {text: self.kernels.get(text).loaded.launch_hash for text in texts}
        hashes = [[names.get(str(step), str(step)) for step in way.steps] for way in ways]
        search = self.kernels.settings.search.name if self.kernels.timer is not None else ""
        return {"format": FORMAT, "ways": hashes, "device": dict(self.known.device), "by": search}

    def _timed(self, ways: Sequence[Way]) -> Outcome:
        self.kernels.prefetch(s for way in ways for s in way.steps if isinstance(s, str))
        ready = [self._ready(way) for way in ways]
        spilling = [spills > spill_limit(self.kernels.target) for _, spills in ready]
        if any(spilling) and not all(spilling):
            return Outcome(spilling.index(False), "the other spills registers")
        return _fastest(
            self.timer.compare({str(n): w for n, (w, _) in enumerate(ready)}, _BUDGET_MS)
        )

    def _ready(self, way: Way) -> tuple[Work, int]:
        """A way ready to be timed, and the most registers that a thread of it spills."""
        tensors: dict[str, Any] = {}
        steps, flat, spills = [], list[Any](), 0
        for step, names in zip(way.steps, way.arguments, strict=True):
            kernel = self.kernels.get(step) if isinstance(step, str) else None
            args = kernel.loaded.get_args(device=self.where) if kernel else _drawn(step, self.where)
            for place, buffers in enumerate(names):  # what an earlier launch had is the same here
                earlier = next((tensors[name] for name in buffers if name in tensors), args[place])
                args[place] = _in_memory_of(earlier, args[place])
                tensors.update(dict.fromkeys(buffers, args[place]))
            run: Callable[[Sequence[Any]], object] = functools.partial(_call, step)
            if kernel:
                run = launcher = kernel.chosen(args)
                spills = max(spills, launcher.resources().spills)
            steps.append((run, slice(len(flat), len(flat) + len(args))))
            flat.extend(args)

        def launch(given: Sequence[Any]) -> None:
            for run, own in steps:
                run(given[own])

        return Work(launch, flat), spills


def _drawn(call: Any, where: str) -> list[torch.Tensor]:
    own, made = torch.Generator(where).manual_seed(0), list[torch.Tensor]()
    for dtype, shape, stride in call.tensors:
        extent = compute_required_storage_length(shape, stride, 0)
        flat = torch.randn(extent, generator=own, device=where)
        made.append(flat.to(getattr(torch, dtype)).as_strided(shape, stride))
    return made


def _call(call: Any, args: Sequence[torch.Tensor]) -> object:
    function = getattr(torch.ops.aten, call.operator).out
    return function(*args[:-1], **dict(call.numbers), out=args[-1])


def _in_memory_of(earlier: Any, arg: Any) -> Any:
    """``arg`` in the memory of ``earlier``, as another view of it perhaps; ``arg`` itself where it
    does not fit there."""
    tensors = [one for one in (earlier, arg) if isinstance(one, torch.Tensor)]
    kinds = {
        (one.dtype, compute_required_storage_length(one.shape, one.stride(), 0)) for one in tensors
    }
    fits = len(tensors) == 2 and len(kinds) == 1
    return earlier.as_strided(arg.shape, arg.stride()) if fits else arg


def _fastest(found: Mapping[str, Samples]) -> Outcome:
    """The way with the lowest median, if its interval lies below that of the first one."""
    samples = [found[str(n)] for n in range(len(found))]
    ms = tuple(s.median for s in samples)
    if any(s.disturbed for s in samples):
        return Outcome(0, f"{_UNKNOWN}: the device was disturbed", ms)
    best = min(range(len(ms)), key=ms.__getitem__)
    high, low = samples[best].high, samples[0].low
    sure = high is not None and low is not None and high < low
    return Outcome(best if sure else 0, "timed", ms)
