"""Whether two kernels may become one, and if not, why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.ir.affine import product, same, size_hint
from harness.schedule.facts import Facts
from harness.schedule.match import Sides, join, matchings
from harness.schedule.order import overwritten_too_early, segments
from harness.schedule.space import Cluster, Level, Row, Use, View, merge_digits

MAX_NESTS = 64
"""Nests in one kernel: more never pays, and bounds the time fusing takes."""
MAX_BUFFERS = 48
"""Pointers of one kernel: each live pointer costs two registers per thread."""
MAX_OPERATIONS = 1024
"""Scalar operations in one kernel: beyond this the compiler starts to spill."""
MAX_LIVE_LOADS = 32
"""Distinct loads of full size in one kernel; each keeps registers busy."""
UNIT_STRIDE_POINTS = 4096
"""Below this many points the direction of memory accesses does not matter."""


@dataclass(frozen=True, slots=True)
class Denied:
    """The condition that forbids a fusion, and a sentence with the numbers."""

    condition: str
    reason: str


def pair(first: Cluster, second: Cluster) -> Sides | Denied:
    """Which digits of two clusters have to be paired, by their sizes alone."""
    if first.rnumel == 1 and second.rnumel != 1:
        first, second = second, first
    for cluster in (first, second):
        if cluster.numel == 0 or cluster.rnumel == 0:
            return Denied("sizes", f"{cluster.name} has no points")
    everything = tuple(range(len(first.sizes)))
    others = tuple(range(len(second.sizes)))
    parallel, reduced = first.digits(False), first.digits(True)
    if second.rnumel != 1:
        if same(first.numel, second.numel) and same(first.rnumel, second.rnumel):
            classes = ((parallel, second.digits(False)), (reduced, second.digits(True)))
            return Sides(first, second, classes, (), Level.REDUCE)
        return Denied(
            "reduction sizes",
            f"{first.name} reduces {first.numel} x {first.rnumel}, "
            f"{second.name} reduces {second.numel} x {second.rnumel}",
        )
    if same(first.numel, second.numel):
        return Sides(first, second, ((parallel, others),), reduced, Level.FLAT)
    if first.rnumel != 1 and same(first.numel * first.rnumel, second.numel):
        return Sides(first, second, ((everything, others),), (), Level.FULL)
    shape = f"{first.numel}" if first.rnumel == 1 else f"{first.numel} x {first.rnumel}"
    return Denied(
        "sizes",
        f"{first.name} runs over {shape} points, {second.name} over {second.numel}",
    )


def too_much(first: Cluster, second: Cluster, facts: Facts) -> Denied | None:
    """Limits on what one kernel may hold."""
    views = (*first.views, *second.views)
    if len(views) > MAX_NESTS:
        return Denied("too many nests", f"together {len(views)} nests, limit {MAX_NESTS}")
    operations = sum(v.operations for v in views)
    if operations > MAX_OPERATIONS:
        return Denied(
            "too many operations",
            f"together {operations} scalar operations, limit {MAX_OPERATIONS}",
        )
    members = 0
    for view in views:
        members |= 1 << view.number
    touched = {b for v in views for b in (*v.reads, *v.writes)}
    pointers = sum(1 for b in touched if not facts.may_vanish(b) or facts.users(b) & ~members)
    if pointers > MAX_BUFFERS:
        return Denied("too many arguments", f"together {pointers} pointers, limit {MAX_BUFFERS}")
    return None


def combine(sides: Sides, facts: Facts) -> Cluster | Denied:
    """The fused cluster under the first identification of points that is legal."""
    first_denied: Denied | None = None
    for matching in matchings(sides):
        joined = join(sides, matching)
        denied = (
            _positions_agree(joined)
            or _accesses_agree(sides, joined)
            or _directions_agree(sides, joined)
            or _loads_fit(joined)
            or _order_is_safe(joined, facts)
        )
        if denied is None:
            return merge_digits(joined)
        first_denied = first_denied or denied
    if first_denied is not None:
        return first_denied
    sizes = f"{_shape(sides.first)} and {_shape(sides.second)}"
    return Denied("index mismatch", f"the loops {sizes} cannot be split to common sizes")


def _shape(cluster: Cluster) -> str:
    parts = [
        "(" + ", ".join(str(cluster.sizes[k]) for k in cluster.digits(reduced)) + ")"
        for reduced in (False, True)
        if reduced is False or cluster.digits(reduced)
    ]
    return " x ".join(parts)


def _crossing(sides: Sides, joined: Cluster) -> Iterator[tuple[View, Row, View, Row]]:
    """Pairs of accesses, one of each side, at least one of them a write, to one buffer;
    the earlier nest first."""
    left = {v.number for v in sides.first.views}
    accesses: dict[str, list[tuple[View, Row]]] = {}
    written: set[str] = set()
    for view in joined.views:
        for row in view.rows:
            if row.use in (Use.LOAD, Use.STORE, Use.ATOMIC):
                accesses.setdefault(row.name, []).append((view, row))
                if row.use is not Use.LOAD:
                    written.add(row.name)
    for name, found in accesses.items():
        if name not in written:
            continue
        for place, (view, row) in enumerate(found):
            for other, other_row in found[place + 1 :]:
                crossing = (view.number in left) != (other.number in left)
                if crossing and not (row.use is Use.LOAD and other_row.use is Use.LOAD):
                    yield view, row, other, other_row


def _accesses_agree(sides: Sides, joined: Cluster) -> Denied | None:
    """Whether every element one side hands to the other stays at its point."""
    for view, row, other, other_row in _crossing(sides, joined):
        if Use.ATOMIC in (row.use, other_row.use):
            return Denied(
                "atomic store",
                f"{view.nest.name} and {other.nest.name} use {row.name}, "
                "to which any point may add atomically",
            )
        if row.matches(other_row):
            continue
        address = f"{_address(row, joined)} against {_address(other_row, joined)}"
        if other_row.use is Use.LOAD:
            return Denied(
                "index mismatch",
                f"{other.nest.name} reads {row.name} elsewhere than {view.nest.name} "
                f"writes it: {address}",
            )
        return Denied(
            "mutation hazard",
            f"{other.nest.name} overwrites {row.name}, which {view.nest.name} uses at "
            f"another point: {address}",
        )
    return None


def _positions_agree(joined: Cluster) -> Denied | None:
    """Whether all reductions that yield positions count them in one order."""
    first: tuple[View, Row] | None = None
    for view in joined.views:
        for row in view.rows:
            if row.use is not Use.REDUCED_POSITION:
                continue
            if first is not None and not row.matches(first[1]):
                return Denied(
                    "index mismatch",
                    f"{first[0].nest.name} and {view.nest.name} count reduced positions in "
                    f"different orders: {_address(first[1], joined)} against "
                    f"{_address(row, joined)}",
                )
            first = first or (view, row)
    return None


def _address(row: Row, cluster: Cluster) -> str:
    if not row.exact:
        return f"[{row.offset}]"
    steps = ", ".join(f"{n}:{s}" for n, s in zip(cluster.sizes, row.strides, strict=True))
    return f"[{row.offset} + strides ({steps})]"


def _full_units(views: tuple[View, ...]) -> set[int]:
    """Digits along which accesses of every point are contiguous."""
    found: set[int] = set()
    for view in views:
        for row in view.rows:
            accessed = row.use in (Use.LOAD, Use.STORE) and row.exact
            if accessed and all(s != 0 for s in row.strides):
                found.update(k for k, s in enumerate(row.strides) if s == 1)
    return found


def _directions_agree(sides: Sides, joined: Cluster) -> Denied | None:
    """Whether one tiling serves the memory accesses of both sides.

    A reduction that reads along its reduced loops runs row by row: an access along the
    other loops would touch a sector of memory per element. One that reads along its
    parallel loops has wide tiles, which serve both directions; so has one whose own
    accesses run both ways. A pointwise kernel has at most two tiles.
    """
    if size_hint(product(joined.sizes)) < UNIT_STRIDE_POINTS:
        return None
    left = {v.number for v in sides.first.views}
    first = _full_units(tuple(v for v in joined.views if v.number in left))
    second = _full_units(tuple(v for v in joined.views if v.number not in left))
    if not any(joined.reduced):
        count = len(first | second)
        if count > 2 and len(first) <= 2 and len(second) <= 2:
            return Denied(
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
    return Denied(
        "incompatible tilings",
        f"{sides.first.name} is contiguous along its {name[own == {True}]} loops, "
        f"{sides.second.name} along the {name[own != {True}]} ones",
    )


def _loads_fit(joined: Cluster) -> Denied | None:
    written = {r.name for v in joined.views for r in v.rows if r.use is Use.STORE}
    distinct = {
        (r.name, r.offset, r.strides)
        for v in joined.views
        for r in v.rows
        if r.use is Use.LOAD and r.name not in written and all(s != 0 for s in r.strides)
    }
    if len(distinct) > MAX_LIVE_LOADS:
        return Denied(
            "register pressure",
            f"together {len(distinct)} different full-size loads, limit {MAX_LIVE_LOADS}",
        )
    return None


def _order_is_safe(joined: Cluster, facts: Facts) -> Denied | None:
    if not any(joined.reduced):
        return None
    early = overwritten_too_early(joined, segments(joined, facts))
    if early is None:
        return None
    return Denied(
        "mutation hazard",
        f"{early[1]} is needed again in a later loop, when {early[0]} is overwritten",
    )
