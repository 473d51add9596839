"""Times launches with replayed CUDA graphs, device events and a cold L2 cache.

Method ``graph-cold-l2/2``. Of every ``Work`` so many copies of its arguments are made that
one launch on each takes long against the timer's own floor (what one empty kernel shows), and
these launches are recorded as one CUDA graph. A sample is: empty the L2 cache by reading a
buffer several times its size, event, replay, event; the time between the events over the
number of launches. Each launch so finds its arguments out of the cache: they are touched for
the first time since the cache was emptied. Nothing is subtracted. While the cache is being
emptied, which takes tens of microseconds, the host enqueues what follows, so the device never
waits for the host between the events. A kernel whose result depends on what it wrote last time
finds its arguments restored before every sample. Launches that are compared take turns, in a
random order each round.

Sampling ends when the confidence interval of the median is narrow enough at two looks in a
row (``harness.bench.median``). Samples taken while the GPU was throttling are left out; so are
those taken while it launched kernels at another pace than it usually does, which an H100 does
for half a second now and then (0.8 instead of 1.15 µs from kernel to kernel): a probe of empty
kernels after every few samples shows it.
A launch that a CUDA graph cannot hold is enqueued as it is: method ``stream-cold-l2/2``.
"""

from __future__ import annotations

import random
import statistics
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from harness.bench import median
from harness.bench.copies import Copies, copy, set_bytes
from harness.bench.engine import CudaEngine, Engine, NotRecordable
from harness.bench.machine import current_uuid
from harness.bench.state import monitor
from harness.runtime.timing import WIDTH, Launch, Samples, Work

METHOD = "graph-cold-l2/2"
METHOD_DIRECT = "stream-cold-l2/2"

_FLOOR_SHARE = 0.8
"""Of the asked width, what the floor may be of a sample; at most 1 % of it in any case. So
that a kernel which gets twice as many launches per sample in another run, being near the
border, does not thereby look slower or faster by more than half the width."""
_MOST_FLOOR = 0.01
_MOST_LAUNCHES = 1024
_ROUGH = 3
"""Samples of single launches, from which the number of launches is found."""
_MOST_SAMPLES = 1500
_LEAST_SAMPLES = 5
_CHUNK_MS = 20.0
"""About how much is enqueued before the host waits and looks at the budget."""
_MOST_CHUNK = 40
_PACE = 0.06
"""How far the probe may be from its usual time."""
_PACES = 101
"""Probes that say what is usual: some seconds of sampling."""
_STEADY = 0.01
_WARM_ROUNDS = 4
_MOST_WARM_MS = 300.0


class Watch(Protocol):
    """Says when the GPU was slowed down, on the clock of ``time.monotonic``."""

    def throttled(self, begin: float, end: float) -> tuple[str, ...]:
        """Reasons for which the GPU throttled between two times."""


@dataclass(eq=False, slots=True)
class _Subject:
    """One launch, ready: ``replay`` enqueues ``count`` launches, before which ``restored``
    get their contents back. ``ms`` and ``mhz`` have one value for each sample."""

    replay: Launch
    count: int
    method: str
    restored: Copies | None = None
    ms: list[float] = field(default_factory=list)
    mhz: list[float | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Rough:
    """A work after its first launches: milliseconds of one, and whether launching it again
    on what it left gives the same bytes."""

    ms: float
    repeatable: bool


@dataclass(eq=False, slots=True)
class GraphTimer:
    """Times on ``engine``. ``watch`` knows about throttling, if anything does."""

    engine: Engine
    watch: Watch | None = None
    _random: random.Random = field(default_factory=lambda: random.Random(0))
    _paces: deque[float] = field(default_factory=lambda: deque(maxlen=_PACES))

    @property
    def floor_ms(self) -> float:
        """The timer's own share of a sample, in milliseconds."""
        return self.engine.floor_ms

    def flush(self) -> None:
        """Enqueue what leaves nothing of use in the L2 cache."""
        self.engine.flush()

    def measure(self, launch: Launch, budget_ms: float, width: float = WIDTH) -> Samples:
        """Time ``launch`` until its median is known to ``width``, for at most about
        ``budget_ms`` of wall clock once it is warm."""
        return self.compare({"": launch}, budget_ms, width)[""]

    def compare(
        self, launches: Mapping[str, Launch], budget_ms: float, width: float = WIDTH
    ) -> dict[str, Samples]:
        """Time several launches in rounds until the median of each is known to ``width``,
        for at most about ``budget_ms`` of wall clock in all once they are warm. All of them
        get the same number of launches per sample, as far as they are works."""
        subjects = self._prepared(launches, width)
        self._warm(subjects)
        return self._sampled(subjects, budget_ms, width)

    def _prepared(self, launches: Mapping[str, Launch], width: float) -> dict[str, _Subject]:
        subjects: dict[str, _Subject] = {}
        groups: dict[int, dict[str, Work]] = {}
        for name, launch in launches.items():
            if isinstance(launch, Work) and set_bytes(launch.args) <= self.engine.room():
                groups.setdefault(id(launch.args), {})[name] = launch
            else:
                launch()
                subjects[name] = self._subject(launch, 1, None)
        for works in groups.values():
            subjects.update(self._group(works, width))
        return {name: subjects[name] for name in launches}

    def _group(self, works: Mapping[str, Work], width: float) -> dict[str, _Subject]:
        """Works on the same arguments: as many launches of each, on the same copies."""
        rough = [self._rough(work) for work in works.values()]
        args = next(iter(works.values())).args
        count = self._count(min(r.ms for r in rough), set_bytes(args), width)
        given = [work.count for work in works.values() if work.count is not None]
        if given:
            count = self._fitting(max(given), set_bytes(args))
        copies = copy(args, count)
        restored = None if all(r.repeatable for r in rough) else copies
        return {
            name: self._subject(_in_turn(work, copies.sets), count, restored)
            for name, work in works.items()
        }

    def _subject(
        self, enqueue: Callable[[], object], count: int, restored: Copies | None
    ) -> _Subject:
        try:
            return _Subject(self.engine.record(enqueue), count, METHOD, restored)
        except NotRecordable:
            return _Subject(lambda: _ignored(enqueue()), count, METHOD_DIRECT, restored)

    def _rough(self, work: Work) -> _Rough:
        """Load and try the kernel, on a copy."""
        copies = copy(work.args, 1)
        args = copies.sets[0]
        work.launch(args)
        once = copies.words_of(0).clone()
        work.launch(args)
        repeatable = torch.equal(once, copies.words_of(0))
        found = []
        for _ in range(_ROUGH):
            self.engine.flush()
            self.engine.mark(0)
            work.launch(args)
            self.engine.mark(1)
            self.engine.wait()
            found.append(self.engine.elapsed_ms(0, 1))
        return _Rough(min(found), repeatable)

    def _count(self, ms: float, nbytes: int, width: float) -> int:
        """Launches per sample for a kernel of which a single launch shows ``ms``: a power of
        two, so that nearly equal kernels get the same."""
        floor, least = self.engine.floor_ms, self.engine.launch_ms
        wanted = floor / min(_MOST_FLOOR, _FLOOR_SHARE * width) / max(ms - floor + least, least)
        count = 1
        while count < min(wanted, _MOST_LAUNCHES):
            count *= 2
        return self._fitting(count, nbytes)

    def _fitting(self, count: int, nbytes: int) -> int:
        """``count``, halved until as many copies of ``nbytes`` fit the device."""
        room = self.engine.room()
        while count > 1 and count * nbytes > room:
            count //= 2
        return count

    def _warm(self, subjects: Mapping[str, _Subject]) -> None:
        """Take samples and drop them until a few in a row differ little from those before:
        modules are loaded then and clocks have risen."""
        began = time.monotonic()
        before = 0.0
        while (time.monotonic() - began) * 1000 < _MOST_WARM_MS:
            now = 0.0
            for taken in self._rounds(subjects, _WARM_ROUNDS).values():
                now += statistics.median(ms for ms, _ in taken)
            if abs(now - before) <= _STEADY * now:
                return
            before = now

    def _sampled(
        self, subjects: Mapping[str, _Subject], budget_ms: float, width: float
    ) -> dict[str, Samples]:
        began = time.monotonic()
        looks = median.looks(_MOST_SAMPLES)
        slowed: dict[str, list[bool]] = {name: [] for name in subjects}
        narrow = looked = 0
        stopped = ""
        usable, chunk = 0, _LEAST_SAMPLES
        while not stopped:
            rounds = max(1, min(chunk, looks[looked] - usable, _MOST_CHUNK))
            ms = self._chunk(subjects, rounds, slowed)
            left = budget_ms - (time.monotonic() - began) * 1000
            chunk = int(min(_CHUNK_MS, left) / ms * rounds)
            usable = min(_usable(s) for s in slowed.values())
            taken = min(len(s) for s in slowed.values())
            if usable >= looks[looked]:
                narrow = narrow + 1 if self._narrow(subjects, slowed, width, looked) else 0
                looked += 1
                stopped = "width" if narrow == 2 else "count" if looked == len(looks) else ""
            if not stopped and taken >= _LEAST_SAMPLES:
                stopped = "budget" if left <= 0 or taken >= 2 * _MOST_SAMPLES else ""
        return {
            name: self._samples(subject, slowed[name], stopped, looked, width)
            for name, subject in subjects.items()
        }

    def _chunk(
        self, subjects: Mapping[str, _Subject], rounds: int, slowed: dict[str, list[bool]]
    ) -> float:
        """Take ``rounds`` samples of each; the milliseconds it took."""
        began = time.monotonic()
        for name, taken in self._rounds(subjects, rounds).items():
            subjects[name].ms.extend(ms for ms, _ in taken)
            subjects[name].mhz.extend(mhz for _, mhz in taken)
        ended = time.monotonic()
        bad = self._unusual_pace() or bool(self.watch and self.watch.throttled(began, ended))
        for marks in slowed.values():
            marks.extend([bad] * rounds)
        return max(1000 * (ended - began), 1e-3)

    def _unusual_pace(self) -> bool:
        """Whether the latest probe, or the one before, at the other end of the samples between
        them, differs from what is usual in this process."""
        usual = statistics.median(self._paces)
        latest = list(self._paces)[-2:]
        return any(abs(pace - usual) > _PACE * usual for pace in latest)

    def _rounds(
        self, subjects: Mapping[str, _Subject], rounds: int
    ) -> dict[str, list[tuple[float, float | None]]]:
        """``rounds`` samples of each subject, enqueued at once, read after one wait:
        milliseconds of one launch, and the SM clock."""
        engine = self.engine
        order = list(subjects)
        taken: list[tuple[str, int]] = []
        for _ in range(rounds):
            self._random.shuffle(order)
            for name in order:
                subject = subjects[name]
                if subject.restored is not None:
                    subject.restored.restore()
                note = engine.flush()
                engine.mark(2 * len(taken))
                subject.replay()
                engine.mark(2 * len(taken) + 1)
                taken.append((name, note))
        last = engine.flush()
        engine.mark(2 * len(taken))
        engine.probe()
        engine.mark(2 * len(taken) + 1)
        engine.wait()
        self._paces.append(engine.elapsed_ms(2 * len(taken), 2 * len(taken) + 1))
        found: dict[str, list[tuple[float, float | None]]] = {name: [] for name in subjects}
        for at, (name, note) in enumerate(taken):
            ms = engine.elapsed_ms(2 * at, 2 * at + 1) / subjects[name].count
            after = taken[at + 1][1] if at + 1 < len(taken) else last
            found[name].append((ms, engine.clock_mhz(note, after)))
        return found

    def _narrow(
        self,
        subjects: Mapping[str, _Subject],
        slowed: Mapping[str, list[bool]],
        width: float,
        looked: int,
    ) -> bool:
        for name, subject in subjects.items():
            ms = _left(subject.ms, slowed[name])
            if not median.is_narrow(ms, width, looked):
                return False
        return True

    def _samples(
        self, subject: _Subject, slowed: list[bool], stopped: str, looked: int, width: float
    ) -> Samples:
        ms, mhz = _left(subject.ms, slowed), _left(subject.mhz, slowed)
        excluded = len(subject.ms) - len(ms)
        if not ms:
            ms, mhz, excluded, stopped = subject.ms, subject.mhz, 0, "disturbed"
        found = median.interval(ms, max(0, looked - 1))
        middle = statistics.median(ms)
        both = [(m, c) for m, c in zip(ms, mhz, strict=True) if c is not None]
        return Samples(
            ms=tuple(ms),
            method=subject.method,
            stopped=stopped,
            low=found.low,
            high=found.high,
            drift=median.drift(ms, width),
            excluded=excluded,
            clock_mhz=statistics.median(c for _, c in both) if both else None,
            cycles=statistics.median(m * c * 1000 for m, c in both) if both else None,
            launches=subject.count,
            floor=self.engine.floor_ms / (middle * subject.count) if middle else None,
        )


class CudaTimer(GraphTimer):
    """Times on the current CUDA device and watches its state meanwhile, where the driver's
    management library is there. Holds the buffer that empties the cache; drop the timer to
    free that memory. Raises ``NoDevice``."""

    def __init__(self) -> None:
        super().__init__(CudaEngine())
        self.state = monitor(current_uuid())
        self.watch = self.state
        if self.state is not None:
            weakref.finalize(self, self.state.close)


def _in_turn(work: Work, sets: Sequence[Sequence[Any]]) -> Callable[[], object]:
    return lambda: [work.launch(args) for args in sets]


def _ignored(_: object) -> None:
    """A launch gives nothing back."""


def _usable(slowed: Sequence[bool]) -> int:
    return len(slowed) - sum(slowed)


def _left(values: Sequence[Any], slowed: Sequence[bool]) -> list[Any]:
    return [v for v, bad in zip(values, slowed, strict=True) if not bad]
