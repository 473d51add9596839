"""Samples of several launches, interleaved and a few at a time. A tuning wants few samples of many
configurations: rounds, in which every launch has its turn, so that a change of clocks or a busy
moment of the host meets all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from harness.records.timing import Launch

_WARM_UP_FLUSHES = 100
"""About 7 ms of reading on an H100: clocks have risen by then."""


@dataclass(frozen=True, eq=False, slots=True)
class EventSampler:
    """Samples in milliseconds: device events around each launch, the L2 cache emptied by ``flush``
    before. Launches are interleaved, and their order changes with the rounds: those of one call
    can be compared."""

    flush: Callable[[], object]

    def settle(self) -> None:
        """Wait for everything enqueued; raises what a launch failed with."""
        torch.cuda.synchronize()

    def warm_up(self) -> None:
        """Bring the device to the state that samples are taken in: some milliseconds of reading."""
        for _ in range(_WARM_UP_FLUSHES):
            self.flush()
        torch.cuda.synchronize()

    def rounds(self, launches: Mapping[str, Launch], count: int) -> dict[str, list[float]]:
        """``count`` samples of every launch, read after one wait."""
        cuda: Any = torch.cuda
        names = list(launches)
        pairs: dict[str, list[tuple[Any, Any]]] = {name: [] for name in names}
        for turn in range(count):
            first = turn % len(names)
            for name in (*names[first:], *names[:first]):
                begin = cuda.Event(enable_timing=True)
                end = cuda.Event(enable_timing=True)
                self.flush()
                begin.record()
                launches[name]()
                end.record()
                pairs[name].append((begin, end))
        torch.cuda.synchronize()
        return {n: [float(b.elapsed_time(e)) for b, e in pairs[n]] for n in names}


def sampler_of(timer: Any) -> EventSampler:
    """``timer`` if it takes rounds itself; else device events, the cache emptied by ``flush``."""
    return timer if hasattr(timer, "rounds") else EventSampler(timer.flush)
