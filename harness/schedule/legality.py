"""Whether two kernels may become one, and if not, why."""

from __future__ import annotations

import math
from collections.abc import Iterator

from harness.ir.affine import same, size_hint
from harness.schedule.facts import Facts
from harness.schedule.group import Rejection, splits
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
        return Rejection(
            "reduction sizes",
            f"{first.name} reduces {first.numel} x {first.rnumel}, "
            f"{second.name} reduces {second.numel} x {second.rnumel}",
        )
    if same(first.numel, second.numel):
        return Sides(first, second, ((parallel, others),), reduced, Level.FLAT)
    if first.rnumel != 1 and same(first.numel * first.rnumel, second.numel):
        return Sides(first, second, ((everything, others),), (), Level.FULL)
    shape = f"{first.numel}" if first.rnumel == 1 else f"{first.numel} x {first.rnumel}"
    return Rejection(
        "sizes", f"{first.name} runs over {shape} points, {second.name} over {second.numel}"
    )


def too_much(first: Candidate, second: Candidate, facts: Facts) -> Rejection | None:
    """Limits on what one kernel may hold."""
    views = (*first.views, *second.views)
    if len(views) > MAX_NESTS:
        return Rejection("too many nests", f"together {len(views)} nests, limit {MAX_NESTS}")
    operations = sum(v.operations for v in views)
    if operations > MAX_OPERATIONS:
        return Rejection(
            "too many operations",
            f"together {operations} scalar operations, limit {MAX_OPERATIONS}",
        )
    members = first.members | second.members
    touched = {b for v in views for b in (*v.reads, *v.writes)}
    pointers = sum(not facts.vanishes(b, members) for b in touched)
    if pointers > MAX_BUFFERS:
        return Rejection("too many arguments", f"together {pointers} pointers, limit {MAX_BUFFERS}")
    return None


def combine(sides: Sides, facts: Facts) -> Candidate | Rejection:
    """The fused candidate."""
    matching = matched(sides)
    if matching is None:
        sizes = f"{_shape(sides.first)} and {_shape(sides.second)}"
        return Rejection("index mismatch", f"the loops {sizes} cannot be split to common sizes")
    joined = join(sides, matching)
    return refused(sides, joined, facts) or merge_dimensions(joined)


def refused(sides: Sides, joined: Candidate, facts: Facts) -> Rejection | None:
    """Why ``joined`` would not compute what its two sides do, or be slower than they are."""
    return (
        _scan_is_alone(joined)
        or _positions_agree(joined)
        or _accesses_agree(sides, joined)
        or _directions_agree(sides, joined)
        or _order_is_safe(joined, facts)
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
    accesses: dict[str, list[tuple[NestView, AffineAccess]]] = {}
    written: set[str] = set()
    for view in joined.views:
        for access in view.accesses:
            if access.use in (Use.LOAD, Use.STORE, Use.ATOMIC):
                accesses.setdefault(access.name, []).append((view, access))
                if access.use is not Use.LOAD:
                    written.add(access.name)
    for name, found in accesses.items():
        if name not in written:
            continue
        for place, (view, access) in enumerate(found):
            for other, other_access in found[place + 1 :]:
                crossing = (view.number in left) != (other.number in left)
                if crossing and not (access.use is Use.LOAD and other_access.use is Use.LOAD):
                    yield view, access, other, other_access


def _accesses_agree(sides: Sides, joined: Candidate) -> Rejection | None:
    """Whether every element one side hands to the other stays at its point."""
    for view, access, other, other_access in _crossing(sides, joined):
        if Use.ATOMIC in (access.use, other_access.use):
            return Rejection(
                "atomic store",
                f"{view.nest.name} and {other.nest.name} use {access.name}, "
                "which any point may change atomically",
            )
        if access.matches(other_access):
            continue
        address = f"{_address(access, joined)} against {_address(other_access, joined)}"
        if other_access.use is Use.LOAD:
            return Rejection(
                "index mismatch",
                f"{other.nest.name} reads {access.name} elsewhere than {view.nest.name} "
                f"writes it: {address}",
            )
        return Rejection(
            "mutation hazard",
            f"{other.nest.name} overwrites {access.name}, which {view.nest.name} uses at "
            f"another point: {address}",
        )
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
    return Rejection(
        "split scan",
        f"several programs share each row of {found[0].nest.name}, "
        f"{others[0].nest.name} needs whole rows",
    )


def _positions_agree(joined: Candidate) -> Rejection | None:
    """Whether all reductions that yield positions count them in one order."""
    first: tuple[NestView, AffineAccess] | None = None
    for view in joined.views:
        for access in view.accesses:
            if access.use is not Use.REDUCED_POSITION:
                continue
            if first is not None and not access.matches(first[1]):
                return Rejection(
                    "index mismatch",
                    f"{first[0].nest.name} and {view.nest.name} count reduced positions in "
                    f"different orders: {_address(first[1], joined)} against "
                    f"{_address(access, joined)}",
                )
            first = first or (view, access)
    return None


def _address(access: AffineAccess, candidate: Candidate) -> str:
    if not access.exact:
        return f"[{access.offset}]"
    steps = ", ".join(f"{n}:{s}" for n, s in zip(candidate.sizes, access.strides, strict=True))
    return f"[{access.offset} + strides ({steps})]"


def full_units(views: tuple[NestView, ...]) -> set[int]:
    """Dimensions along which accesses of every point are contiguous."""
    found: set[int] = set()
    for view in views:
        for access in view.accesses:
            accessed = access.use in (Use.LOAD, Use.STORE) and access.exact
            if accessed and all(s != 0 for s in access.strides):
                found.update(k for k, s in enumerate(access.strides) if s == 1)
    return found


def _directions_agree(sides: Sides, joined: Candidate) -> Rejection | None:
    """Whether one tiling serves the memory accesses of both sides.

    A reduction that reads along its reduced loops runs row by row: an access along the
    other loops would touch a sector of memory per element. One that reads along its
    parallel loops has wide tiles, which serve both directions; so has one whose own
    accesses run both ways. A pointwise kernel has at most two tiles.
    """
    if size_hint(math.prod(joined.sizes)) < UNIT_STRIDE_POINTS:
        return None
    left = {v.number for v in sides.first.views}
    first = full_units(tuple(v for v in joined.views if v.number in left))
    second = full_units(tuple(v for v in joined.views if v.number not in left))
    if not any(joined.reduced):
        count = len(first | second)
        if count > 2 and len(first) <= 2 and len(second) <= 2:
            return Rejection(
                "incompatible tilings",
                f"together {count} loops are contiguous for some access, a kernel has 2 tiles",
            )
        return None
    own = {joined.reduced[k] for k in first}
    added = {joined.reduced[k] for k in second}
    if sides.second.rnumel != 1:
        clash = len(own) == len(added) == 1 and own != added
    else:
        clash = own == {True} and False in added
    if not clash:
        return None
    name = {False: "parallel", True: "reduced"}
    return Rejection(
        "incompatible tilings",
        f"{sides.first.name} is contiguous along its {name[own == {True}]} loops, "
        f"{sides.second.name} along the {name[own != {True}]} ones",
    )


def _order_is_safe(joined: Candidate, facts: Facts) -> Rejection | None:
    if not any(joined.reduced):
        return None
    early = overwritten_too_early(joined, segments(joined, facts))
    if early is None:
        return None
    return Rejection(
        "mutation hazard",
        f"{early[1]} is needed again in a later loop, when {early[0]} is overwritten",
    )
