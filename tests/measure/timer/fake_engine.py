"""A fake device: a clock, a memory, a cache that forgets what is oldest.

Launches call ``touch`` for the memory they use; time passes by what that costs. The wall
clock does not move, so budgets do not end: tests that want that say so.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.measure.timer.engine import NotRecordable
from harness.measure.timer.graph_timer import GraphTimer
from harness.records.timing import Launch, Samples


@dataclass
class FakeEngine:
    """Speeds in bytes per millisecond; ``noise`` is a relative standard deviation; ``mhz``
    gives the clock at a note's number; ``stretch``
    multiplies a sample's duration, ``interval`` a probe's."""

    cache_bytes: int = 1 << 17
    memory: float = 3e6
    cached: float = 9e6
    floor_ms: float = 0.004
    launch_ms: float = 0.001
    noise: float = 0.0
    seed: int = 0
    room_bytes: int = 1 << 28
    flushes: bool = True
    recordable: bool = True
    mhz: Callable[[int], float | None] = lambda _: 1500.0
    interval: Callable[[int], float] = lambda _: 1.0
    stretch: Callable[[int], float] = lambda _: 1.0
    now: float = 0.0
    notes: int = 0
    log: list[str] = field(default_factory=list)
    marks: dict[int, float] = field(default_factory=dict)
    kept: OrderedDict[int, int] = field(default_factory=OrderedDict)
    used: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._recording: list[Launch] | None = None

    def flush(self) -> int:
        if self.flushes:
            self.kept.clear()
            self.used = 0
        self.notes += 1
        self.log.append("flush")
        return self.notes - 1

    def record(self, enqueue: Callable[[], object]) -> Launch:
        if not self.recordable:
            raise NotRecordable("no")
        self._recording = steps = []
        kept = enqueue()
        self._recording = None

        def replay(kept: object = kept) -> None:
            self.log.append("replay")
            began = self.now
            self.now += self.floor_ms - self.launch_ms  # a floor is that of one empty kernel
            for step in steps:
                step()
            spent = (self.now - began) * self.stretch(self.notes)
            self.now = began + spent * (1 + self.noise * self._random.gauss(0, 1))

        return replay

    def touch(self, *tensors: torch.Tensor, work: Callable[[], Any] | None = None) -> None:
        """A kernel that uses all of ``tensors`` once and then does ``work``."""

        def run() -> None:
            self.now += self.launch_ms
            for tensor in tensors:
                self._pay(tensor)
            if work is not None:
                work()

        if self._recording is None:
            run()
        else:
            self._recording.append(run)

    def host(self, ms: float) -> None:
        """The host takes so long before the next launch, which no recording shows."""
        if self._recording is None:
            self.now += ms

    def _pay(self, tensor: torch.Tensor) -> None:
        place = tensor.data_ptr()
        self.now += tensor.nbytes / (self.cached if place in self.kept else self.memory)
        self.used += tensor.nbytes - self.kept.get(place, 0)
        self.kept[place] = tensor.nbytes
        self.kept.move_to_end(place)
        while self.used > self.cache_bytes:
            self.used -= self.kept.popitem(last=False)[1]

    def probe(self) -> None:
        self.now += (self.floor_ms + 32 * self.launch_ms) * self.interval(self.notes)

    def mark(self, number: int) -> None:
        self.marks[number] = self.now

    def wait(self) -> None:
        self.log.append("wait")

    def rest(self) -> None:
        self.now += 50
        self.log.append("rest")

    def elapsed_ms(self, begin: int, end: int) -> float:
        return self.marks[end] - self.marks[begin]

    def clock_mhz(self, begin: int, end: int) -> float | None:
        return self.mhz(begin)

    def room(self) -> int:
        return self.room_bytes


def floor_of(timer: GraphTimer, samples: Samples) -> float:
    """The timer's own share of a sample (0.01: 1 %)."""
    return timer.engine.floor_ms / (samples.median * samples.launches)
