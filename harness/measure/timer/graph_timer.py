"""Times launches with replayed CUDA graphs, device events and a cold L2 cache.

Method ``graph-cold-l2/2``. Of every ``Work`` so many copies of its arguments are made that one
launch on each takes long against the timer's own floor (what one empty kernel shows), and these
launches are recorded as one CUDA graph. A sample is: empty the L2 cache by reading a buffer several
times its size, event, replay, event; the time between the events over the number of launches. Each
launch so finds its arguments out of the cache: they are touched for the first time since the cache
was emptied. Nothing is subtracted. While the cache is being emptied, which takes tens of
microseconds, the host enqueues what follows, so the device never waits for the host between the
events. A kernel whose result depends on what it wrote last time finds its arguments restored before
every sample. Launches that are compared are interleaved, in a random order each round.

Sampling ends when the confidence interval of the median is narrow enough at two looks in
a row, or much narrower than that at one (``harness.measure.noise.median``). Samples taken while the
GPU was throttling are left out; so are those taken while it launched kernels at an unusual
interval, which an H100 does for seconds now and then (0.8 instead of 1.15 µs from kernel to
kernel): a probe of empty kernels after every few samples shows it (``LaunchIntervals``). What a
measurement loses to that does not count for its budget, within bounds; after half a second of it
all is recorded and copied anew, which mostly ends it.
A launch that a CUDA graph cannot hold is enqueued as it is: method ``stream-cold-l2/2``.
"""

from __future__ import annotations

import functools
import math
import random
import statistics
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch

from harness.heuristics.limits import next_power_of_two
from harness.measure.noise import median
from harness.measure.timer.engine import Copies, CudaEngine, NotRecordable, copy, set_bytes
from harness.measure.timer.state import LaunchIntervals, Monitor, monitor
from harness.records.machine import current_uuid
from harness.records.timing import METHOD, WIDTH, Launch, Samples, Work
from harness.runtime.tune.saved import Room

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
_USUAL, _QUICK = (1, median.FIRST_LOOK), (4, median.QUICK_LOOK)
"""How many times the width is aimed at, and when it is first looked at; where few samples are asked
for, too. A sample is as long, so that its time is the same."""
_LEAST_SAMPLES = 5
_CHUNK_MS = 20.0
"""About how much is enqueued before the host waits and looks at the budget."""
_MOST_CHUNK = 40
_WAIT = 30.0
"""How many budgets a measurement may lose to an unusual launch interval, as far as there is
patience (``LaunchIntervals``)."""
_ATTEMPT_MS = 500.0
"""What one attempt may lose to an unusual interval. Four times of four an H200 kept it up for all
the 8 s of one measurement, and had the usual one in the next (2 ms of work between them)."""
_WIDE = 3
"""In units of the engine's room, what copies may take where else the floor is above 1 %."""
_ALIKE = 4.0
"""Launches that take up to so many times as long as the quickest get as many to a sample, the
timer's floor apart: eager mode may take ten times as long as a kernel of 2 µs and yet show a third
of that, and 1,024 launches of it would be most of what a comparison may take."""
_STEADY = 0.01
_WARM_ROUNDS = 2
_MOST_WARM_MS = 300.0
_TUNED_FLOOR = 0.1
"""Share of a sample that the floor may be in a tuning: all configurations have the same one, so a
tenth hides no order of theirs, but 3 µs of it beside a kernel of 2 do, with its noise."""
_LEAST_ROOM = 64 << 20
"""Bytes that copies may always take in a tuning: half of the buffer that empties the cache."""
_WARM_FLUSHES = 100
"""About 7 ms of reading on an H100: clocks have risen by then."""
_STAYS_WARM = 0.5
"""Seconds after samples for which clocks stay up without that: on an H200 for one and more."""


_Sample: TypeAlias = tuple[float, float | None]
"""Milliseconds of one launch, and the SM clock."""


@dataclass(eq=False, slots=True)
class _Subject:
    """One launch, ready: ``replay`` enqueues ``count`` launches, before which ``restored``
    get their contents back. ``taken`` are its samples."""

    replay: Launch
    count: int
    method: str
    restored: Copies | None = None
    taken: list[_Sample] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class _Sampling:
    """How far a measurement is. ``slowed`` says of each round whether its samples are left out.
    Of these ``lost`` rounds are at an unusual launch interval; the ``lost_ms`` that they took do
    not count for the budget, up to ``patience_ms``, where it ends. ``narrow`` counts looks in a row
    that were narrow enough, of which the first is at ``first`` samples. ``stopped`` is empty while
    it goes on."""

    subjects: Mapping[str, _Subject]
    budget_ms: float
    width: float
    first: int
    began: float
    patience_ms: float
    slowed: list[bool] = field(default_factory=list)
    lost: int = 0
    lost_ms: float = 0.0
    looked: int = 0
    narrow: int = 0
    stopped: str = ""

    @property
    def usable(self) -> int:
        """Rounds that are not left out."""
        return len(self.slowed) - sum(self.slowed)

    def left_ms(self) -> float:
        """What is left of the budget; negative beyond it."""
        lost_ms = min(self.lost_ms, self.patience_ms)
        return self.budget_ms + lost_ms - (time.monotonic() - self.began) * 1000

    def is_known(self, share: float, level: float) -> bool:
        """Whether the medians of all are known to that share of the width, at ``level``."""
        width, every = share * self.width, map(self.left, self.subjects.values())
        narrow = (median.is_narrow([ms for ms, _ in left], width, level) for left in every)
        return self.usable >= self.first and all(narrow)

    def left(self, subject: _Subject) -> list[_Sample]:
        """What was taken of ``subject`` and is not left out."""
        return [t for t, bad in zip(subject.taken, self.slowed, strict=True) if not bad]

    def is_narrow(self) -> bool:
        """Whether they are known to the width."""
        return self.is_known(1.0, median.level(self.looked))

    def is_over(self, left_ms: float) -> bool:
        """Whether it has to end without the width."""
        taken = len(self.slowed)
        counted = taken - (self.lost if self.lost_ms < self.patience_ms else 0)
        ends = left_ms <= 0 or self.lost_ms >= self.patience_ms > 0
        return taken >= _LEAST_SAMPLES and (ends or counted >= 2 * _MOST_SAMPLES)


@dataclass(eq=False, slots=True)
class GraphTimer:
    """Times on ``engine``. ``watch`` knows about throttling, if anything does. One that is
    ``quick`` takes few samples: medians are known to four times the width."""

    engine: CudaEngine
    watch: Monitor | None = None
    quick: bool = False
    _random: random.Random = field(default_factory=lambda: random.Random(0))
    _intervals: LaunchIntervals = field(default_factory=LaunchIntervals)
    _sampled_at: float = -math.inf

    def sampler(self, room: Room) -> RecordedSampler:
        """What samples the configurations of a kernel; copies of arguments may take ``room``."""
        return RecordedSampler(self, room)

    def measure(self, launch: Launch, budget_ms: float) -> Samples:
        """Time ``launch`` alone, as ``compare`` does."""
        return self.compare({"": launch}, budget_ms)[""]

    def compare(
        self, launches: Mapping[str, Launch], budget_ms: float, width: float = WIDTH
    ) -> dict[str, Samples]:
        """Time several launches in rounds until the median of each is known to ``width``,
        for at most about ``budget_ms`` of wall clock in all once they are warm. Works that take
        about as long as the quickest (up to four times) get as many launches per sample."""
        patience, lost_ms = min(self._intervals.patience_ms, _WAIT * budget_ms), 0.0
        attempt = min(patience, _ATTEMPT_MS)
        if self.watch is not None:
            self.watch.wait_until_unthrottled()
        while True:
            subjects = self._prepared(launches, width)
            self._intervals.begin()
            self._warm(subjects)
            times, first = _QUICK if self.quick else _USUAL
            so_far = _Sampling(subjects, budget_ms, times * width, first, time.monotonic(), attempt)
            found = self._sampled(so_far)
            lost_ms += so_far.lost_ms
            if so_far.lost_ms < attempt or lost_ms >= patience:
                self._intervals.end(lost_ms)
                return found
            del subjects, so_far, found
            self.engine.rest()

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
        """Works on the same arguments, on the same copies."""
        rough = {name: self._rough(work) for name, work in works.items()}
        args = next(iter(works.values())).args
        repeatable = all(again for _, again in rough.values())
        quickest = min(ms for ms, _ in rough.values())
        # Others may need memory for what they return, and restoring much takes long.
        wide = repeatable and len(works) == 1
        given = [work.count for work in works.values() if work.count is not None]
        floor = min(_MOST_FLOOR, _FLOOR_SHARE * width)
        wanted = max(given) if given else self._wanted(quickest, floor)
        count = self._fitting(wanted, quickest, set_bytes(args), wide)
        counts = dict.fromkeys(works, count)
        for name, (ms, _) in rough.items():
            if not given and self._net(ms) > _ALIKE * self._net(quickest):
                counts[name] = min(count, self._wanted(ms, floor))
        copies = copy(args, max(counts.values()))
        restored = None if repeatable else copies
        return {
            name: self._subject(_in_turn(work, copies.sets[: counts[name]]), counts[name], restored)
            for name, work in works.items()
        }

    def _subject(self, enqueue: Launch, count: int, restored: Copies | None) -> _Subject:
        try:
            return _Subject(self.engine.record(enqueue), count, METHOD, restored)
        except NotRecordable:
            return _Subject(enqueue, count, METHOD_DIRECT, restored)

    def _rough(self, work: Work) -> tuple[float, bool]:
        """Load and try the kernel, on a copy: milliseconds of one launch, and whether launching it
        again on what it left gives the same bytes. It is recorded for that, if it can be: for a
        function of many launches the device would wait for the host."""
        copies = copy(work.args, 1)
        args = copies.sets[0]
        work.launch(args)
        once = copies.words[0].clone()
        work.launch(args)
        repeatable = torch.equal(once, copies.words[0])
        once_more = self._subject(functools.partial(work.launch, args), 1, None).replay
        return min(self.single(once_more) for _ in range(_ROUGH)), repeatable

    def single(self, launch: Launch) -> float:
        """Milliseconds that ``launch``, enqueued once, shows, the floor included."""
        self.engine.flush()
        self.engine.mark(0)
        launch()
        self.engine.mark(1)
        self.engine.wait()
        return self.engine.elapsed_ms(0, 1)

    def _net(self, ms: float) -> float:
        """What a further launch of a kernel adds to a sample, of which one shows ``ms``."""
        least = self.engine.launch_ms
        return max(ms - self.engine.floor_ms + least, least)

    def _wanted(self, ms: float, floor: float) -> int:
        """Launches per sample for a kernel of which a single launch shows ``ms``, for the timer's
        floor to be the share ``floor`` of it: a power of two, so that nearly equal kernels get the
        same."""
        wanted = self.engine.floor_ms / floor / self._net(ms)
        return next_power_of_two(math.ceil(min(wanted, _MOST_LAUNCHES)))

    def _fitting(self, count: int, ms: float, nbytes: int, wide: bool) -> int:
        """``count``, halved until as many copies of ``nbytes`` fit the device. ``wide``: they may
        take most of it where one half less would leave the floor above 1 %."""
        room = self.engine.room()
        least = self.engine.floor_ms / _MOST_FLOOR / self._net(ms)
        while count > 1 and count * nbytes > room:
            if wide and count // 2 < least and count * nbytes <= _WIDE * room:
                break
            count //= 2
        return count

    def _warm(self, subjects: Mapping[str, _Subject]) -> None:
        """Take samples and drop them until a few in a row differ little from those before:
        modules are loaded then and clocks have risen."""
        began = time.monotonic()
        if began < self._sampled_at + _STAYS_WARM:
            self._rounds(subjects, 1)  # a recording's first replay takes longer
            return
        before = 0.0
        while (time.monotonic() - began) * 1000 < _MOST_WARM_MS:
            found = self._rounds(subjects, _WARM_ROUNDS).values()
            now = sum(statistics.median(ms for ms, _ in taken) for taken in found)
            if abs(now - before) <= _STEADY * now:
                return
            before = now

    def _sampled(self, so_far: _Sampling) -> dict[str, Samples]:
        looks = median.looks(_MOST_SAMPLES, so_far.first)
        chunk = _LEAST_SAMPLES
        while not so_far.stopped:
            rounds = max(1, min(chunk, looks[so_far.looked] - so_far.usable, _MOST_CHUNK))
            ms = self._chunk(so_far, rounds)
            left = so_far.left_ms()
            chunk = int(min(_CHUNK_MS, left if left > 0 else _CHUNK_MS) / ms * rounds)
            if so_far.usable >= looks[so_far.looked]:
                so_far.looked += 1
                so_far.narrow = so_far.narrow + 1 if so_far.is_narrow() else 0
                once = so_far.narrow == 1 and so_far.is_known(median.CLEAR_SHARE, median.CLEAR)
                if once or so_far.narrow == 2:
                    so_far.stopped = "width"
                elif so_far.looked == len(looks):
                    so_far.stopped = "count"
            if not so_far.stopped and so_far.is_over(left):
                # A budget does not end when an interval is narrow by chance: one look is enough.
                so_far.stopped = "width" if so_far.is_narrow() else "budget"
        return {name: self._samples(subject, so_far) for name, subject in so_far.subjects.items()}

    def _chunk(self, so_far: _Sampling, rounds: int) -> float:
        """Take ``rounds`` samples of each; the milliseconds it took."""
        began = time.monotonic()
        for name, taken in self._rounds(so_far.subjects, rounds).items():
            so_far.subjects[name].taken.extend(taken)
        ended = time.monotonic()
        unusual = self._intervals.unusual()
        throttled = bool(self.watch and self.watch.throttled(began, ended))
        so_far.slowed.extend([unusual or throttled] * rounds)
        took = max(1000 * (ended - began), 1e-3)
        if unusual:
            so_far.lost += rounds
            so_far.lost_ms += took
        return took

    def _rounds(self, subjects: Mapping[str, _Subject], rounds: int) -> dict[str, list[_Sample]]:
        """``rounds`` samples of each subject, enqueued at once, read after one wait."""
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
        self._sampled_at = time.monotonic()
        self._intervals.add(engine.elapsed_ms(2 * len(taken), 2 * len(taken) + 1))
        found: dict[str, list[_Sample]] = {name: [] for name in subjects}
        for at, (name, note) in enumerate(taken):
            ms = engine.elapsed_ms(2 * at, 2 * at + 1) / subjects[name].count
            after = taken[at + 1][1] if at + 1 < len(taken) else last
            found[name].append((ms, engine.clock_mhz(note, after)))
        return found

    def _samples(self, subject: _Subject, so_far: _Sampling) -> Samples:
        taken, stopped = so_far.left(subject), so_far.stopped
        if not taken:
            taken, stopped = subject.taken, "disturbed"
        ms = [ms for ms, _ in taken]
        level = median.CLEAR if so_far.narrow == 1 else median.level(so_far.looked)
        low, high, _ = median.interval(ms, level)
        if stopped == "width" and len(ms) < median.FIRST_LOOK:  # known to that, and no better
            middle, half = statistics.median(ms), so_far.width / 2
            low, high = min(*ms, (1 - half) * middle), max(*ms, (1 + half) * middle)
        both = [(m, c) for m, c in taken if c is not None]
        return Samples(
            ms=tuple(ms),
            method=subject.method,
            stopped=stopped,
            low=low,
            high=high,
            drift=median.drift(ms, so_far.width),
            excluded=len(subject.taken) - len(taken),
            clock_mhz=statistics.median(c for _, c in both) if both else None,
            cycles=statistics.median(m * c * 1000 for m, c in both) if both else None,
            launches=subject.count,
        )


@dataclass(eq=False, slots=True)
class RecordedSampler:
    """Samples configurations of one kernel: launches on the same arguments. A sample is the mean of
    as many recorded launches, each on arguments of its own, as the first configuration needs for
    the floor to be ``_TUNED_FLOOR`` of it; of a kernel of some 30 µs and more it is one launch, on
    the arguments themselves. Copies take at most the ``room`` that is left when the first sample
    is taken, or ``_LEAST_ROOM``."""

    timer: GraphTimer
    room: Room
    _copies: Copies | None = None
    _subjects: dict[Work, _Subject] = field(default_factory=dict)

    def settle(self) -> None:
        """Wait for everything enqueued; raises what a launch failed with."""
        self.timer.engine.wait()

    def warm_up(self) -> None:
        """Bring the device to the state of samples by reading, unless it has just been in it."""
        if time.monotonic() > self.timer._sampled_at + _STAYS_WARM:
            for _ in range(_WARM_FLUSHES):
                self.timer.engine.flush()
            self.settle()

    def rounds(self, works: Mapping[str, Work], count: int) -> dict[str, list[float]]:
        """``count`` samples of each in milliseconds, interleaved, read after one wait."""
        if not self._subjects:
            self._copies = self._copied(next(iter(works.values())))
        subjects = {name: self._subject(work) for name, work in works.items()}
        if self._copies is not None:
            self._copies.restore()
        taken = self.timer._rounds(subjects, count)
        return {name: [ms for ms, _ in samples] for name, samples in taken.items()}

    def _copied(self, work: Work) -> Copies | None:
        """Arguments for each launch of a sample. None: one launch on those given is enough."""
        timer, size = self.timer, set_bytes(work.args)
        room = min(timer.engine.room(), max(self.room(torch.device("cuda")), _LEAST_ROOM))
        count = timer._wanted(min(timer.single(work) for _ in range(_ROUGH)), _TUNED_FLOOR)
        while count > 1 and (count + 1) * size > room:  # and one that puts back what they held
            count //= 2
        return copy(work.args, count) if count > 1 else None

    def _subject(self, work: Work) -> _Subject:
        if work not in self._subjects:
            if self._copies is None:
                self._subjects[work] = _Subject(work, 1, METHOD_DIRECT)
            else:
                sets = self._copies.sets
                subject = self.timer._subject(_in_turn(work, sets), len(sets), None)
                subject.replay()  # a recording's first replay takes longer
                self._subjects[work] = subject
        return self._subjects[work]


class CudaTimer(GraphTimer):
    """Times on the current CUDA device and watches its state meanwhile, where the driver's
    management library is there. Holds the buffer that empties the cache; drop the timer to
    free that memory. Raises ``NoDevice``."""

    def __init__(self) -> None:
        super().__init__(CudaEngine(), monitor(current_uuid()))
        if self.watch is not None:
            weakref.finalize(self, self.watch.close)


def _in_turn(work: Work, sets: Sequence[Sequence[Any]]) -> Launch:
    return lambda: [work.launch(args) for args in sets]
