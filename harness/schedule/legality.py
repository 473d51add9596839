"""Whether two kernels may become one, and if not, why."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, combinations

from harness.dtypes import DType
from harness.heuristics.limits import MOST_TILES
from harness.ir.affine import same, size_hint
from harness.ir.nodes import Compute, ReduceKind, reductions, values
from harness.ir.ops import Op
from harness.ir.reach import grouped
from harness.schedule.facts import Facts
from harness.schedule.group import Rejection, SegmentKind, shared, splits
from harness.schedule.match import Sides, join, matched
from harness.schedule.order import overwritten_too_early, segments
from harness.schedule.space import AffineAccess, Candidate, Level, NestView, Use, merge_dimensions

MAX_NESTS = 64
"""Nests in one kernel: more never pays, and bounds the time fusing takes."""
MAX_BUFFERS = 48
"""Pointers of one kernel: each live pointer costs two registers per thread."""
MAX_OPERATIONS = 1024
"""Scalar operations in one kernel: beyond this the compiler starts to spill."""
UNIT_STRIDE_POINTS = 4096
"""Below this many points the direction of memory accesses does not matter."""


def pair(first: Candidate, second: Candidate) -> Sides | Rejection:
    """Which dimensions of two candidates have to be paired, by their sizes alone."""
    if first.rnumel == 1 and second.rnumel != 1:
        first, second = second, first
    everything = tuple(range(len(first.sizes)))
    others = tuple(range(len(second.sizes)))
    parallel, reduced = first.dimensions(False), first.dimensions(True)
    if second.rnumel != 1:
        if same(first.numel, second.numel) and same(first.rnumel, second.rnumel):
            classes = ((parallel, second.dimensions(False)), (reduced, second.dimensions(True)))
            return Sides(first, second, classes, (), Level.REDUCE)
        sizes = (f"{c.name} reduces {c.numel} x {c.rnumel}" for c in (first, second))
        return Rejection("reduction sizes", ", ".join(sizes))
    if same(first.numel, second.numel):
        return Sides(first, second, ((parallel, others),), reduced, Level.FLAT)
    if first.rnumel != 1 and same(first.numel * first.rnumel, second.numel):
        return Sides(first, second, ((everything, others),), (), Level.FULL)
    shape = f"{first.numel}" if first.rnumel == 1 else f"{first.numel} x {first.rnumel}"
    reason = f"{first.name} runs over {shape} points, {second.name} over {second.numel}"
    return Rejection("sizes", reason)


def too_much(first: Candidate, second: Candidate, facts: Facts) -> Rejection | None:
    """Limits on what one kernel may hold."""
    views, members = (*first.views, *second.views), first.members | second.members
    touched = {b for v in views for b in (*v.reads, *v.writes)}
    pointers = sum(not facts.vanishes(b, members) for b in touched)
    for what, unit, count, limit in (
        ("nests", "nests", len(views), MAX_NESTS),
        ("operations", "scalar operations", sum(v.operations for v in views), MAX_OPERATIONS),
        ("arguments", "pointers", pointers, MAX_BUFFERS),
    ):
        if count > limit:
            return Rejection(f"too many {what}", f"together {count} {unit}, limit {limit}")
    return None


def combine(sides: Sides, facts: Facts, short: int = 0) -> Candidate | Rejection:
    """The fused candidate. Rows of up to ``short`` elements serve both directions of memory."""
    matching = matched(sides)
    if matching is None:
        sizes = f"{_shape(sides.first)} and {_shape(sides.second)}"
        return Rejection("index mismatch", f"the loops {sizes} cannot be split to common sizes")
    joined = join(sides, matching)
    return refused(sides, joined, facts, short) or merge_dimensions(joined)


def refused(sides: Sides, joined: Candidate, facts: Facts, short: int = 0) -> Rejection | None:
    """Why ``joined`` would not compute what its two sides do, or be slower than they are."""
    return (
        _scan_is_alone(joined)
        or _few_have_one_loop(joined, facts)
        or _positions_agree(joined)
        or _accesses_agree(sides, joined, facts)
        or _directions_agree(sides, joined, short)
        or overwritten_too_early(joined, facts)
    )


def _shape(candidate: Candidate) -> str:
    parts = [
        "(" + ", ".join(str(candidate.sizes[k]) for k in candidate.dimensions(reduced)) + ")"
        for reduced in (False, True)
        if reduced is False or candidate.dimensions(reduced)
    ]
    return " x ".join(parts)


def _crossing(
    sides: Sides, joined: Candidate
) -> Iterator[tuple[NestView, AffineAccess, NestView, AffineAccess]]:
    """Pairs of accesses, one of each side, at least one of them a write, to one buffer;
    the earlier nest first."""
    left = {v.number for v in sides.first.views}
    pairs = ((view, access) for view in joined.views for access in view.accesses)
    touching = (pair for pair in pairs if pair[1].use in (Use.LOAD, Use.STORE, Use.ATOMIC))
    accesses = grouped(touching, lambda pair: pair[1].name)
    written = (f for f in accesses.values() if any(a.use is not Use.LOAD for _, a in f))
    for (view, access), (other, other_access) in chain.from_iterable(
        combinations(f, 2) for f in written
    ):
        crossing = (view.number in left) != (other.number in left)
        if crossing and not access.use is other_access.use is Use.LOAD:
            yield view, access, other, other_access


def _accesses_agree(sides: Sides, joined: Candidate, facts: Facts) -> Rejection | None:
    """Whether every element one side hands to the other stays at its point."""
    for view, access, other, other_access in _crossing(sides, joined):
        names = view.nest.name, other.nest.name
        if Use.ATOMIC in (access.use, other_access.use):
            reason = f"{names[0]} and {names[1]} use {access.name}, which any point may change"
            return Rejection("atomic store", f"{reason} atomically")
        if facts.buffers[access.name].along is not None:
            reason = f"{names[1]} reads {access.name} along its rows, {names[0]} copies it across"
            return Rejection("turned copy", reason)
        if access.matches(other_access):
            continue
        address = f"{_address(access, joined)} against {_address(other_access, joined)}"
        if other_access.use is Use.LOAD:
            reason = (
                f"{names[1]} reads {access.name} elsewhere than {names[0]} writes it: {address}"
            )
            return Rejection("index mismatch", reason)
        reason = f"{names[1]} overwrites {access.name}, which {names[0]} uses at another point"
        return Rejection("mutation hazard", f"{reason}: {address}")
    return None


def _scan_is_alone(joined: Candidate) -> Rejection | None:
    """Whether a scan that several programs share has no reduction beside it: those would each
    see a part of it."""
    if not splits(joined.numel, joined.rnumel):
        return None
    others = [v for v in joined.views if v.level is not Level.FULL]
    found = [v for v in joined.views if v.nest.is_scan]
    if not (others and found):
        return None
    reason = f"several programs share each row of {found[0].nest.name}"
    return Rejection("split scan", f"{reason}, {others[0].nest.name} needs whole rows")


def _few_have_one_loop(joined: Candidate, facts: Facts) -> Rejection | None:
    """Whether no row that several programs share is gone over again, when all of it is summed."""
    across = full_units(joined.views) <= set(joined.dimensions(False))
    sizes = joined.numel, joined.rnumel, across, facts.program.likely
    few = shared(*sizes, False) or (shared(*sizes, True) and _sums_below_maxima(joined, facts))
    if not few or any(v.nest.is_scan for v in joined.views):
        return None
    full = {v.number for v in joined.views if v.level is Level.FULL}
    _, *later = (s.numbers for s in segments(joined, facts) if s.kind is SegmentKind.LOOP)
    if full.isdisjoint(number for numbers in later for number in numbers):
        return None
    reason = f"several programs share each row of {joined.name}, whose length is unknown"
    return Rejection("shared rows", reason)


def _sums_below_maxima(joined: Candidate, facts: Facts) -> bool:
    """Whether it adds up exponentials of what lies below a maximum, as a softmax does."""
    nests = facts.program.nests
    kinds = [{r.kind for r in reductions(nest.stores)} for nest in nests]
    most = (n for n, found in zip(nests, kinds, strict=True) if ReduceKind.MAX in found)
    tops = {store.buffer for nest in most for store in nest.stores}
    sums = (v for v in joined.views if ReduceKind.SUM in kinds[v.number])
    below = values(s for v in sums if not tops.isdisjoint(v.reads) for s in v.nest.stores)
    return any(isinstance(v, Compute) and (v.op, v.dtype) == (Op.EXP, DType.F32) for v in below)


def _positions_agree(joined: Candidate) -> Rejection | None:
    """Whether all reductions that yield positions count them in one order."""
    every = ((view, access) for view in joined.views for access in view.accesses)
    counting = [(v, a) for v, a in every if a.use is Use.REDUCED_POSITION]
    for view, access in counting[1:]:
        first, counted = counting[0]
        if not access.matches(counted):
            orders = f"{_address(counted, joined)} against {_address(access, joined)}"
            reason = f"{first.nest.name} and {view.nest.name} count reduced positions in"
            return Rejection("index mismatch", f"{reason} different orders: {orders}")
    return None


def _address(access: AffineAccess, candidate: Candidate) -> str:
    if not access.exact:
        return f"[{access.offset}]"
    steps = ", ".join(f"{n}:{s}" for n, s in zip(candidate.sizes, access.strides, strict=True))
    return f"[{access.offset} + strides ({steps})]"


def full_units(views: tuple[NestView, ...]) -> set[int]:
    """Dimensions along which accesses of every point are contiguous."""
    every = (a for v in views for a in v.accesses if a.use in (Use.LOAD, Use.STORE) and a.exact)
    moving = (a.strides for a in every if all(s != 0 for s in a.strides))
    return {k for strides in moving for k, s in enumerate(strides) if s == 1}


def _directions_agree(sides: Sides, joined: Candidate, short: int) -> Rejection | None:
    """Whether one tiling serves the memory accesses of both sides.

    A reduction that reads along its reduced loops runs row by row: an access along the
    other loops would touch a sector of memory per element. One that reads along its
    parallel loops has wide tiles, which serve both directions; so has one whose own
    accesses run both ways, or whose rows are ``short``. A pointwise kernel has at most
    ``MOST_TILES``.
    """
    if size_hint(math.prod(joined.sizes)) < UNIT_STRIDE_POINTS:
        return None
    left = {v.number for v in sides.first.views}
    first = full_units(tuple(v for v in joined.views if v.number in left))
    second = full_units(tuple(v for v in joined.views if v.number not in left))
    if not any(joined.reduced):
        count = len(first | second)
        if max(len(first), len(second)) <= MOST_TILES < count:
            loops = f"together {count} loops are contiguous for some access"
            reason = f"{loops}, a kernel has {MOST_TILES} tiles"
            return Rejection("incompatible tilings", reason)
        return None
    own = {joined.reduced[k] for k in first}
    added = {joined.reduced[k] for k in second}
    if sides.second.rnumel != 1:
        clash = len(own) == len(added) == 1 and own != added
    else:
        clash = own == {True} and False in added and size_hint(joined.rnumel) > short
    if not clash:
        return None
    name = {False: "parallel", True: "reduced"}
    reason = f"{sides.first.name} is contiguous along its {name[own == {True}]} loops"
    other = f"{sides.second.name} along the {name[own != {True}]} ones"
    return Rejection("incompatible tilings", f"{reason}, {other}")
