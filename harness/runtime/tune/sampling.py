"""Samples of several launches, interleaved and a few at a time.

A tuning wants few samples of many configurations: rounds, in which every launch has its turn,
so that a change of clocks or a busy moment of the host meets all of them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import torch

from harness.records.timing import Launch, Timer

METHOD = "rounds-cold-l2/1"
_WARM_UP_FLUSHES = 100
"""About 7 ms of reading on an H100: clocks have risen by then."""


class Sampler(Protocol):
    """Takes samples in milliseconds."""

    @property
    def method(self) -> str:
        """Name of the way of measuring."""
        ...

    @property
    def interleaved(self) -> bool:
        """Whether launches are interleaved, so that samples of one call can be compared closely."""
        ...

    def settle(self) -> None:
        """Wait for everything enqueued; raises what a launch failed with."""
        ...

    def warm_up(self) -> None:
        """Bring the device to the state that samples are taken in."""
        ...

    def rounds(self, launches: Mapping[str, Launch], count: int) -> dict[str, list[float]]:
        """``count`` samples of every launch."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class EventSampler:
    """Device events around each launch, the L2 cache emptied by ``flush`` before. Launches
    are interleaved, and their order changes with the rounds."""

    flush: Callable[[], object]
    method: str = METHOD
    interleaved: bool = True

    def settle(self) -> None:
        """Wait for the device."""
        torch.cuda.synchronize()

    def warm_up(self) -> None:
        """Some milliseconds of reading."""
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


@dataclass(eq=False, slots=True)
class TimerSampler:
    """Any ``Timer`` as a sampler: one launch after the other, ``budget_ms`` each. More samples
    of a launch that has been measured are a new measurement."""

    timer: Timer
    budget_ms: float
    interleaved: bool = False
    method: str = field(default="", init=False)

    def settle(self) -> None:
        """A timer waits by itself."""

    def warm_up(self) -> None:
        """A timer warms up by itself."""

    def rounds(self, launches: Mapping[str, Launch], count: int) -> dict[str, list[float]]:
        """Samples of every launch, as many as the timer takes in its budget."""
        del count
        found: dict[str, list[float]] = {}
        for name, launch in launches.items():
            samples = self.timer.measure(launch, self.budget_ms)
            self.method = samples.method
            found[name] = list(samples.ms)
        return found


def sampler_of(timer: Timer | Sampler, budget_ms: float) -> Sampler:
    """``timer`` if it is a sampler; rounds on the device where it can empty the cache, else the
    timer as it is."""
    if isinstance(timer, EventSampler | TimerSampler) or not hasattr(timer, "measure"):
        return timer
    flush = getattr(timer, "flush", None)
    if flush is not None and torch.cuda.is_available():
        return EventSampler(flush)
    return TimerSampler(cast(Timer, timer), budget_ms)
