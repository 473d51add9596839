"""Greedy fusion: always the pair that saves most memory traffic.

At the end small kernels that only cost their launch are put together, and reductions across rows
with those along them: mixed order. The one across has been cut into strips of rows
(``graph.passes.split``). A program of the joined kernel walks the rows of a strip, reduces each of
them, and adds up what the columns come to; every tensor that both read is read once. The joined
candidate's loops are those of the kernel along the rows, its parallel ones being the strips and the
rows of a strip (``Candidate.walked``).

Only pairs that share a buffer are looked at, and of a buffer with many users only
those near each other, so that the work grows with the program and not with its square.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field, replace

from harness.decisions import Decisions
from harness.dtypes import DType
from harness.heuristics.mixed import SHORT_ROW, fills, sharers
from harness.ir.affine import same, size_hint
from harness.ir.nodes import ReduceKind, reductions
from harness.ir.ops import LAUNCH
from harness.schedule.facts import Facts, bits
from harness.schedule.group import Rejection
from harness.schedule.legality import combine, full_units, pair, refused, too_much
from harness.schedule.match import Matching, Sides, join, matched
from harness.schedule.order import segments
from harness.schedule.space import (
    AffineAccess,
    Candidate,
    Level,
    Use,
    candidate_of,
    merge_dimensions,
)
from harness.target import Target

_Touch = tuple[int, AffineAccess]
"""A nest's number and one of its accesses."""


def saved(first: Candidate, joined: Candidate, facts: Facts) -> int:
    """Bytes that the joined candidate moves less than the two apart. A value produced on one side
    is not read by the other; if nobody else reads it, it is not written either; an element both
    sides read is read once."""
    left = {v.number for v in first.views}
    touched: dict[str, tuple[list[_Touch], list[_Touch]]] = {}
    for view in joined.views:
        for access in view.accesses:
            if access.use in (Use.LOAD, Use.STORE):
                sides = touched.setdefault(access.name, ([], []))
                sides[view.number not in left].append((view.number, access))
    total = 0
    for name, (own, other) in touched.items():
        if not own or not other:
            continue
        total += _once(name, own, other, joined, facts)
        stores = [r for _, r in (*own, *other) if r.use is Use.STORE]
        if stores and facts.vanishes(name, joined.members):
            total += _footprint(stores[0], joined, facts)
    return total


def _once(
    name: str, first: list[_Touch], second: list[_Touch], joined: Candidate, facts: Facts
) -> int:
    """Bytes of one buffer that one side need not read, because the other reads or has written the
    same elements at the same points. Reading what the other side overwrites later saves nothing."""
    total = 0
    counted: list[AffineAccess] = []
    for number, access in (*first, *second):
        others = second if (number, access) in first else first
        if access.use is not Use.LOAD or any(map(access.again, counted)):
            continue
        if any(access.again(r) for n, r in others if r.use is Use.LOAD or n < number):
            counted.append(access)
            total += _footprint(access, joined, facts)
    return min(total, facts.nbytes(name))


def _footprint(access: AffineAccess, joined: Candidate, facts: Facts) -> int:
    size = joined.points(access) * facts.buffers[access.name].dtype.itemsize
    return min(size, facts.nbytes(access.name))


NEIGHBOURS = 8
"""Users on either side of a buffer's user that are considered as its partners."""
MAX_DISTANCE = 64
"""Nests between two kernels that only share a read: what the earlier one would produce
later, or the later one earlier, stays in memory for that long."""
WORTHWHILE = 32
"""Kernels that only share reads are fused if that saves at least 1/32 of the smaller one's traffic,
a launch of pointwise ones included: else longer code buys nothing."""
SIBLINGS = 8
"""Earlier small kernels of the same size that a small kernel is offered to."""


@dataclass(order=True, slots=True)
class _Entry:
    """A pair that may be one kernel, ``joined``: most bytes first, dependent before unrelated,
    near before far, then program order."""

    key: tuple[int, int, int, int, int]
    pair: tuple[Candidate, Candidate] = field(compare=False)
    joined: Candidate = field(compare=False)


@dataclass(slots=True)
class Kernel:
    """A kernel: its nests (bits), those before and after it, and those that the last fusion
    brought into it."""

    candidate: Candidate
    members: int
    before: int
    after: int
    last_joined: int = 0


class Fuser:
    """One fusion run over a program. Kernels are known by their first nest's number."""

    def __init__(self, facts: Facts, decisions: Decisions, target: Target) -> None:
        self.target = target
        self.decided = decisions.kernels
        self.facts = facts
        self.queue: list[_Entry] = []
        self.short = 0  # rows that a block holds in both directions: at the end
        self.rejections: dict[tuple[str, str, str], Rejection] = {}
        accessed = dict.fromkeys((*facts.readers, *facts.writers))
        self.users = {name: tuple(bits(facts.users(name))) for name in accessed}
        self.kernels = {
            n: Kernel(candidate_of(n, nest), 1 << n, facts.before[n], facts.after[n])
            for n, nest in enumerate(facts.program.nests)
        }
        self.owner = list(self.kernels)

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
        self.short = SHORT_ROW
        while self._join_short():
            pass

    def _drain(self) -> None:
        while self.queue:
            entry = heapq.heappop(self.queue)
            first, second = entry.key[-2:]
            known = zip(map(self.kernels.get, (first, second)), entry.pair, strict=True)
            # Either may have been fused since.
            apart = all(kernel and kernel.candidate is own for kernel, own in known)
            if apart and not self._between(first, second):
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
        pairs = itertools.combinations(sorted(self.kernels), 2) if self.decided else ()
        return any(self._decided(*pair) and self._join(*pair) for pair in pairs)

    def _join_siblings(self) -> bool:
        """Fuse small independent kernels over the same points; not reductions of one row, in turn
        18 us for 38 of 768 elements on an H200, and side by side in a combo. Whether any was."""
        by_size: dict[tuple[str, str], list[int]] = {}
        changed = False
        for number in sorted(self.kernels):
            candidate = self.kernels[number].candidate
            row = candidate.numel == 1 and candidate.rnumel != 1
            if row or _traffic(candidate, self.facts) > LAUNCH // 4:
                continue
            earlier = by_size.setdefault((str(candidate.numel), str(candidate.rnumel)), [])
            if any(self._join(base, number) for base in earlier[-SIBLINGS:]):
                changed = True
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

    def _join_short(self) -> bool:
        """Fuse a reduction of short rows with what reads or writes them across memory: a block of
        several rows fills sectors both ways. Whether any was. Mixed order saves more, so first."""
        for first, kernel in sorted(self.kernels.items()):
            mixed = kernel.candidate.rnumel == 1 or kernel.candidate.walked
            for other in () if mixed else self._partners(first):
                found = self._decide(min(first, other), max(first, other))
                if self.kernels[other].candidate.rnumel == 1 and isinstance(found, _Entry):
                    self._fuse(*found.key[-2:], found.joined)
                    return True
        return False

    def _reject(self, first: int, second: int, why: Rejection) -> None:
        a, b = (self.kernels[k].candidate.views[0].nest.name for k in (first, second))
        self.rejections[a, b, why.condition] = replace(why, first=a, second=b)

    def _join(self, first: int, second: int) -> bool:
        a, b = self.kernels[first], self.kernels[second]
        if (a.after | a.before) & b.members and not self._decided(first, second):
            return False
        if isinstance(joined := self._legal(first, second), Rejection):
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
                first, second = sorted((number, other))
                outcome = self._decide(first, second)
                if isinstance(outcome, Rejection):
                    self._reject(first, second, outcome)
                else:  # legal, and it saves something
                    heapq.heappush(self.queue, outcome)

    def _distance(self, first: Kernel, second: Kernel) -> int:
        """Nests between the two kernels' nearest members."""
        a, b = ([view.number for view in k.candidate.views] for k in (first, second))
        return max(b[0] - a[-1], a[0] - b[-1], 1)

    def _between(self, first: int, second: int) -> int:
        """Nests outside that must run after one of the two and before the other."""
        a, b = self.kernels[first], self.kernels[second]
        return (a.after & b.before | b.after & a.before) & ~(a.members | b.members)

    def _legal(self, first: int, second: int, far: float = math.inf) -> Candidate | Rejection:
        """The two as one kernel, or what forbids it, a distance over ``far`` included."""
        one, other = self.kernels[first], self.kernels[second]
        a, b = one.candidate, other.candidate
        if self._decided(first, second) is False:
            reason = "the decisions that are replayed have them in two kernels"
            return Rejection("decisions", reason)
        if isinstance(sides := pair(a, b), Rejection):
            return sides
        if between := self._between(first, second):
            through = self.facts.program.nests[bits(between)[0]].name
            return Rejection("cycle", f"{through} must run between {a.name} and {b.name}")
        if far < math.inf and (distance := self._distance(one, other)) > far:
            return Rejection("too far apart", f"{distance} nests between them, limit {far}")
        return too_much(a, b, self.facts) or combine(sides, self.facts, self.short)

    def _decide(self, first: int, second: int) -> _Entry | Rejection:
        one, other = self.kernels[first], self.kernels[second]
        a, b = one.candidate, other.candidate
        unrelated = not (one.after & other.members or one.before & other.members)
        joined = self._legal(first, second, MAX_DISTANCE if unrelated else math.inf)
        if isinstance(joined, Rejection):
            return joined
        distance = self._distance(one, other)
        worth = saved(a, joined, self.facts)
        traffic = min(_traffic(a, self.facts), _traffic(b, self.facts))
        launch = LAUNCH if size_hint(joined.rnumel) == 1 else 0
        if worth == 0 or (unrelated and (worth + launch) * WORTHWHILE < traffic):
            reason = f"{worth} bytes would be saved of the {traffic} that the smaller one moves"
            return Rejection("nothing to save", reason)
        return _Entry((-worth, unrelated, distance, first, second), (a, b), joined)

    def _fuse(self, first: int, second: int, joined: Candidate) -> None:
        a, b = self.kernels[first], self.kernels.pop(second)
        members = a.members | b.members
        before = (a.before | b.before) & ~members
        after = (a.after | b.after) & ~members
        self.kernels[first] = Kernel(joined, members, before, after, b.members)
        for view in b.candidate.views:
            self.owner[view.number] = first
        for number in {self.owner[n] for n in bits(after)}:
            self.kernels[number].before |= before | members
        for number in {self.owner[n] for n in bits(before)}:
            self.kernels[number].after |= after | members
        self._push_all(first)


def _traffic(candidate: Candidate, facts: Facts, names: Collection[str] = ()) -> int:
    """Bytes of the buffers ``names``, or of all, that the candidate moves at most."""
    names = names or {
        r.name for v in candidate.views for r in v.accesses if r.name in facts.buffers
    }
    points = size_hint(math.prod(candidate.sizes))
    return sum(min(facts.nbytes(n), points * facts.buffers[n].dtype.itemsize) for n in names)


_MANY_STRIPS, _A_STRIP = 64, 256
"""Strips for each multiprocessor beyond which the time to begin programs counts, 0.6 ns each on an
H200, and elements of a strip that take about as long to read."""


def fuse(
    facts: Facts, decisions: Decisions, target: Target
) -> tuple[tuple[Kernel, ...], tuple[Rejection, ...]]:
    """The program's nests as kernels, in order of their first nest, and every rejection."""
    fuser = Fuser(facts, decisions, target)
    fuser.run()
    kernels = tuple(kernel for _, kernel in sorted(fuser.kernels.items()))
    return kernels, tuple(fuser.rejections.values())


_WHOLE = (ReduceKind.WELFORD, ReduceKind.SOFTMAX, ReduceKind.ARGMAX, ReduceKind.ARGMIN)
"""Kinds that are not added up element by element."""
_WORTHWHILE = 4
"""The share of what is read across that must be saved: one of its tensors or so."""


def mixed(
    first: Candidate, second: Candidate, facts: Facts, target: Target, decided: bool
) -> Candidate | Rejection | None:
    """One kernel for two reductions of the same points, one along and one across memory; ``None``
    if the two are something else. ``decided``: whatever it saves."""
    if (sides := _sides(first, second)) is None:
        return None
    found = _unfit(sides.second) or too_much(first, second, facts)
    matching = None if found else matched(sides)
    if matching is None:
        return found or Rejection("mixed order", "their loops cannot be split to common sizes")
    joined = _joined(sides, matching)
    reason = _strips(sides, matching, joined, facts, target, decided) or _early(joined, facts)
    if not (reason or decided):
        worth = saved(sides.first, joined, facts)
        moved = _traffic(sides.second, facts, {b for v in sides.second.views for b in v.reads})
        reason = "" if worth * _WORTHWHILE >= moved else f"it saves {worth} bytes of {moved}"
    refusal = Rejection("mixed order", reason) if reason else refused(sides, joined, facts)
    return refusal or merge_dimensions(joined)


def _sides(first: Candidate, second: Candidate) -> Sides | None:
    """The two, the one along memory first."""
    for rows, columns in ((first, second), (second, first)):
        along, across = ({c.reduced[k] for k in full_units(c.views)} for c in (rows, columns))
        pair = along == {True} and across == {False}
        if pair and same(rows.numel * rows.rnumel, columns.numel * columns.rnumel):
            every = tuple(range(len(rows.sizes))), tuple(range(len(columns.sizes)))
            return Sides(rows, columns, (every,), (), Level.FULL)
    return None


def _unfit(columns: Candidate) -> Rejection | None:
    """Why a reduction across cannot be taken in."""
    for view in columns.views:
        atomic = any(a.use is Use.ATOMIC for a in view.accesses)
        whole = atomic or any(r.kind in _WHOLE for r in reductions(view.nest.stores))
        if whole or view.level is Level.FLAT:
            reason = "is not added up by element" if whole else "goes on with what the columns are"
            return Rejection("mixed order", f"{view.nest.name} {reason}")
    return None


def _joined(sides: Sides, matching: Matching) -> Candidate:
    """Both over common loops, the reductions across marked as such."""
    own = {v.number for v in sides.second.views if v.level is Level.REDUCE}
    joined = join(sides, matching)
    views = (replace(v, level=Level.ACROSS) if v.number in own else v for v in joined.views)
    return replace(joined, views=tuple(views))


def _strips(
    sides: Sides, matching: Matching, joined: Candidate, facts: Facts, target: Target, decided: bool
) -> str:
    """What is wrong with the strips that programs would walk; nothing if they will do."""
    reduced = tuple(sides.second.reduced[c.second or 0] for c in matching)
    walked = tuple(k for k, across in enumerate(reduced) if across)
    strips = [n for k, n in enumerate(joined.sizes) if not (reduced[k] or joined.reduced[k])]
    views = [v for v in joined.views if v.level is Level.ACROSS]
    results = {b for v in views for b in v.writes}
    stores = [a.strides for v in views for a in v.accesses if a.use is Use.STORE]
    across = {tuple(k for k in joined.dimensions(False) if s[k] == 0) for s in stores}
    if across != {walked} or not strips:
        return "the rows are not cut into the same strips"
    if not all(isinstance(size, int) for size in joined.sizes):
        return "sizes are not known"
    loaded = {a for v in joined.views for a in v.accesses if a.use is Use.LOAD}
    full = [a for a in loaded if all(a.strides)]
    lie = (a.exact and not joined.reduced[a.strides.index(1)] for a in full if 1 in a.strides)
    if not decided and any(lie):
        return "a tensor is read across the rows"  # 1,789 us, not 520 in two kernels (H200)
    sizes = [facts.buffers[a.name].dtype.itemsize for a in full]
    each = sharers(int(joined.rnumel), sizes, len(results), target)
    if not each or (each > 1 and not _told_at_once(joined, facts)):
        return f"a program cannot hold {len(sizes) + len(results)} rows of {joined.rnumel} values"
    count, points = int(math.prod(strips)), int(math.prod(joined.sizes))
    if not decided and count > _MANY_STRIPS * target.multiprocessors and points < count * _A_STRIP:
        return f"{count} strips of {points // count} elements take as long to begin as to read"
    busy = (decided and each == 1) or fills(count, target, each)
    return "" if busy else f"{count} strips of {each} programs do not fill the device"


def _told_at_once(joined: Candidate, facts: Facts) -> bool:
    """Whether programs that share rows tell each other sums, and all of them before anything else
    is done with one."""
    atomic = any(a.use is Use.ATOMIC for v in joined.views for a in v.accesses)
    found = [r for v in joined.views for r in reductions(v.nest.stores)]
    sums = all(r.kind is ReduceKind.SUM and r.dtype is DType.F32 for r in found)
    along = {v.number for v in joined.views if v.level is Level.REDUCE}
    return sums and not atomic and along <= set(segments(joined, facts)[0].numbers)


def _early(joined: Candidate, facts: Facts) -> str:
    """Whether something has to come after a reduction across, which comes last."""
    across = {v.number for v in joined.views if v.level is Level.ACROSS}
    late = any(edge.first in across for v in joined.views for edge in facts.into[v.number])
    scans = any(v.nest.is_scan for v in joined.views)
    return "a scan, or a nest that must follow a reduction across" if late or scans else ""
