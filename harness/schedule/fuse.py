"""Greedy fusion: always the pair that saves most memory traffic.

At the end small kernels that only cost their launch are put together, and reductions across rows
with those along them (``schedule.mixed``).

Only pairs that share a buffer are looked at, and of a buffer with many users only
those near each other, so that the work grows with the program and not with its square.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace

from harness.decisions import Decisions
from harness.ir.affine import size_hint
from harness.schedule.facts import Facts, bits
from harness.schedule.group import Rejection
from harness.schedule.legality import combine, pair, too_much
from harness.schedule.mixed import mixed
from harness.schedule.score import bound, saved
from harness.schedule.space import Candidate, candidate_of
from harness.target import Target

NEIGHBOURS = 8
"""Users on either side of a buffer's user that are considered as its partners."""
MAX_DISTANCE = 64
"""Nests between two kernels that only share a read: what the earlier one would produce
later, or the later one earlier, stays in memory for that long."""
WORTHWHILE = 32
"""Kernels that only share reads are fused if they share at least 1/32 of the smaller
one's traffic: else longer code buys nothing."""
SMALL_BYTES = 512 << 10
"""Traffic below which a kernel's time is its launch: half a mebibyte takes about 0.2 µs
at the bandwidth of current boards, a launch about 2 µs."""
SIBLINGS = 8
"""Earlier small kernels of the same size that a small kernel is offered to."""


@dataclass(order=True, slots=True)
class _Entry:
    """A pair in the queue: most bytes first, dependent before unrelated, near before
    far, then program order. ``joined`` is set once the pair has been worked out."""

    key: tuple[int, int, int, int, int]
    pair: tuple[Candidate, Candidate] = field(compare=False)
    joined: Candidate | None = field(compare=False, default=None)


@dataclass(slots=True)
class _Kernel:
    candidate: Candidate
    members: int
    before: int
    after: int


class Fuser:
    """One fusion run over a program. Kernels are known by their first nest's number."""

    def __init__(self, facts: Facts, decisions: Decisions, target: Target) -> None:
        self.target = target
        self.decided = decisions.kernels
        self.facts = facts
        self.kernels: dict[int, _Kernel] = {}
        self.owner: list[int] = []
        self.queue: list[_Entry] = []
        self.rejections: dict[tuple[str, str, str], Rejection] = {}
        self.users: dict[str, tuple[int, ...]] = {}
        self.joined: dict[int, int] = {}
        for name in dict.fromkeys((*facts.readers, *facts.writers)):
            self.users[name] = tuple(bits(facts.users(name)))
        for number, nest in enumerate(facts.program.nests):
            self.kernels[number] = _Kernel(
                candidate_of(number, nest), 1 << number, facts.before[number], facts.after[number]
            )
            self.owner.append(number)

    def run(self) -> None:
        """Fuse until no pair is left that saves traffic or a launch."""
        for number in list(self.kernels):
            self._push_all(number, later_only=True)
        self._drain()
        while self._join_siblings():
            self._drain()
        while self._join_decided():
            self._drain()
        while self._join_mixed():
            pass

    def _drain(self) -> None:
        while self.queue:
            entry = heapq.heappop(self.queue)
            first, second = entry.key[3], entry.key[4]
            known = (self.kernels.get(number) for number in (first, second))
            if any(
                k is None or k.candidate is not c for k, c in zip(known, entry.pair, strict=True)
            ):
                continue  # one of them has been fused since
            if entry.joined is None:
                self._work_out(first, second, entry)
            elif not self._between(first, second):
                self._fuse(first, second, entry.joined)

    def _decided(self, first: int, second: int) -> bool | None:
        """Whether the two are decided to be one kernel; ``None`` if nothing is decided."""
        a, b = self._decisions(first), self._decisions(second)
        return bool(a & b) if a and b else None

    def _decisions(self, number: int) -> set[Hashable]:
        written = (b for v in self.kernels[number].candidate.views for b in v.writes)
        return {self.decided[b] for b in written if b in self.decided}

    def _join_decided(self) -> bool:
        """Fuse what is decided to be one kernel, whatever it saves. Whether anything was."""
        if not self.decided:
            return False
        numbers = sorted(self.kernels)
        for place, first in enumerate(numbers):
            for second in numbers[place + 1 :]:
                if self._decided(first, second) and self._join(first, second):
                    return True
        return False

    def _join_siblings(self) -> bool:
        """Fuse small independent kernels over the same points, which share nothing but
        save a launch. Whether anything was fused."""
        by_size: dict[tuple[str, str], list[int]] = {}
        changed = False
        for number in sorted(self.kernels):
            candidate = self.kernels[number].candidate
            if _traffic(candidate, self.facts) > SMALL_BYTES:
                continue
            earlier = by_size.setdefault((str(candidate.numel), str(candidate.rnumel)), [])
            for base in earlier[-SIBLINGS:]:
                if self._join(base, number):
                    changed = True
                    break
            else:
                earlier.append(number)
        return changed

    def _join_mixed(self) -> bool:
        """Fuse a reduction along rows with one across them. Whether anything was."""
        reducing = [n for n, kernel in sorted(self.kernels.items()) if kernel.candidate.rnumel != 1]
        for first in reducing:
            for second in (n for n in self._partners(first) if n in reducing):
                decided = self._decided(first, second)
                if second < first or decided is False or self._between(first, second):
                    continue
                a, b = self.kernels[first].candidate, self.kernels[second].candidate
                outcome = mixed(a, b, self.facts, self.target, bool(decided))
                if isinstance(outcome, Candidate):
                    self._fuse(first, second, outcome)
                    return True
                if outcome is not None:
                    self._reject(first, second, outcome)
        return False

    def _reject(self, first: int, second: int, why: Rejection) -> None:
        a, b = (self.kernels[k].candidate.views[0].nest.name for k in (first, second))
        self.rejections[a, b, why.condition] = replace(why, first=a, second=b)

    def _join(self, first: int, second: int) -> bool:
        a, b = self.kernels[first], self.kernels[second]
        related = (a.after | a.before) & b.members
        decided = self._decided(first, second)
        if decided is False or (related and not decided) or self._between(first, second):
            return False
        sides = pair(a.candidate, b.candidate)
        if isinstance(sides, Rejection) or too_much(a.candidate, b.candidate, self.facts):
            return False
        joined = combine(sides, self.facts)
        if isinstance(joined, Rejection):
            return False
        self._fuse(first, second, joined)
        return True

    def _partners(self, number: int) -> list[int]:
        """Kernels near ``number`` that use one of its buffers."""
        found: set[int] = set()
        kernel = self.kernels[number]
        names = dict.fromkeys(
            name for v in kernel.candidate.views for name in (*v.reads, *v.writes)
        )
        for name in names:
            users = self.users[name]
            if len(users) <= 2 * NEIGHBOURS:
                found.update(self.owner[u] for u in users)
                continue
            found.update(self.owner[u] for u in self.facts.writers.get(name, ()))
            for place, user in enumerate(users):
                if kernel.members >> user & 1:
                    near = users[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1]
                    found.update(self.owner[u] for u in near)
        found.discard(number)
        return sorted(found)

    def _push_all(self, number: int, later_only: bool = False) -> None:
        for other in self._partners(number):
            if not (later_only and other < number):
                self._push(min(number, other), max(number, other))

    def _push(self, first: int, second: int) -> None:
        a, b = self.kernels[first], self.kernels[second]
        worth = bound(a.candidate, b.candidate, self.facts)
        if worth > 0:
            entry = _Entry(self._key(first, second, worth), (a.candidate, b.candidate))
            heapq.heappush(self.queue, entry)

    def _key(self, first: int, second: int, worth: int) -> tuple[int, int, int, int, int]:
        a, b = self.kernels[first], self.kernels[second]
        unrelated = 0 if a.after & b.members or a.before & b.members else 1
        return (-worth, unrelated, self._distance(a, b), first, second)

    def _distance(self, first: _Kernel, second: _Kernel) -> int:
        """Nests between the two kernels' nearest members."""
        first_numbers = [v.number for v in first.candidate.views]
        second_numbers = [v.number for v in second.candidate.views]
        if first_numbers[-1] < second_numbers[0]:
            return second_numbers[0] - first_numbers[-1]
        if second_numbers[-1] < first_numbers[0]:
            return first_numbers[0] - second_numbers[-1]
        return 1

    def _between(self, first: int, second: int) -> int:
        """Nests outside that must run after one of the two and before the other."""
        a, b = self.kernels[first], self.kernels[second]
        return (a.after & b.before | b.after & a.before) & ~(a.members | b.members)

    def _work_out(self, first: int, second: int, entry: _Entry) -> None:
        """Decide a pair; if it is legal it goes back into the queue with its true worth."""
        outcome = self._decide(first, second, entry.key[1] == 1)
        if isinstance(outcome, Rejection):
            self._reject(first, second, outcome)
            return
        joined, worth = outcome
        heapq.heappush(self.queue, _Entry(self._key(first, second, worth), entry.pair, joined))

    def _decide(
        self, first: int, second: int, unrelated: bool
    ) -> tuple[Candidate, int] | Rejection:
        a, b = self.kernels[first].candidate, self.kernels[second].candidate
        if self._decided(first, second) is False:
            return Rejection(
                "decisions", "the decisions that are replayed have them in two kernels"
            )
        sides = pair(a, b)
        if isinstance(sides, Rejection):
            return sides
        between = self._between(first, second)
        if between:
            through = self.facts.program.nests[bits(between)[0]].name
            return Rejection("cycle", f"{through} must run between {a.name} and {b.name}")
        distance = self._distance(self.kernels[first], self.kernels[second])
        if unrelated and distance > MAX_DISTANCE:
            return Rejection(
                "too far apart", f"{distance} nests between them, limit {MAX_DISTANCE}"
            )
        limited = too_much(a, b, self.facts)
        if limited is not None:
            return limited
        joined = combine(sides, self.facts)
        if isinstance(joined, Rejection):
            return joined
        worth = saved(a, joined, self.facts)
        traffic = min(_traffic(a, self.facts), _traffic(b, self.facts))
        if worth == 0 or (unrelated and worth * WORTHWHILE < traffic):
            return Rejection(
                "nothing to save",
                f"{worth} bytes would be saved of the {traffic} that the smaller one moves",
            )
        return joined, worth

    def _fuse(self, first: int, second: int, joined: Candidate) -> None:
        a, b = self.kernels[first], self.kernels.pop(second)
        members = a.members | b.members
        before = (a.before | b.before) & ~members
        after = (a.after | b.after) & ~members
        kernel = _Kernel(joined, members, before, after)
        self.kernels[first] = kernel
        self.joined[first] = b.members
        for view in b.candidate.views:
            self.owner[view.number] = first
        for number in {self.owner[n] for n in bits(after)}:
            self.kernels[number].before |= before | members
        for number in {self.owner[n] for n in bits(before)}:
            self.kernels[number].after |= after | members
        self._push_all(first)


def _traffic(candidate: Candidate, facts: Facts) -> int:
    names: Iterable[str] = dict.fromkeys(
        r.name for v in candidate.views for r in v.accesses if r.name in facts.buffers
    )
    points = size_hint(math.prod(candidate.sizes))
    return sum(min(facts.nbytes(n), points * facts.buffers[n].dtype.itemsize) for n in names)


@dataclass(frozen=True, eq=False, slots=True)
class Fused:
    """A kernel, and the nests (bits) that the last fusion brought into it."""

    candidate: Candidate
    last_joined: int


def fuse(
    facts: Facts, decisions: Decisions, target: Target
) -> tuple[tuple[Fused, ...], tuple[Rejection, ...]]:
    """The program's nests as kernels, in order of their first nest, and every rejection."""
    fuser = Fuser(facts, decisions, target)
    fuser.run()
    kernels = sorted(fuser.kernels.items())
    made = (Fused(kernel.candidate, fuser.joined.get(number, 0)) for number, kernel in kernels)
    return tuple(made), tuple(fuser.rejections.values())
