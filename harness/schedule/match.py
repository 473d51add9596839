"""Finding common dimensions: which point of one kernel is which point of another.

Two accesses of one buffer touch the same element at the same point only if their strides pair up.
Walking both lists of (stride, size) from the smallest stride, and splitting the larger loop where
sizes differ, either pairs everything, which is a bijection of points, or shows that there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.ir.affine import Size, divide, row_major, same, size_hint
from harness.ir.reach import grouped
from harness.schedule.space import AffineAccess, Candidate, Level, Parts, Use, restride


@dataclass(frozen=True, slots=True)
class Common:
    """A dimension of the fused kernel: what part it is of a dimension of each side.

    The first candidate's dimension ``first`` is a sum in which this dimension has the weight
    ``first_weight``; so for the second, with ``None`` for a reduced dimension that a flat
    candidate does not run over.
    """

    first: int
    first_weight: Size
    second: int | None
    second_weight: Size
    size: Size


Matching = tuple[Common, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    stride: Size
    size: Size
    dimension: int


def _walk(first: Sequence[_Part], second: Sequence[_Part]) -> list[Common] | None:
    """Pair two lists of loops that start at the same element, or None."""
    a = sorted(first, key=lambda p: (size_hint(p.stride), p.dimension))
    b = sorted(second, key=lambda p: (size_hint(p.stride), p.dimension))
    i = j = 0
    done_a: Size = 1
    done_b: Size = 1
    found: list[Common] = []
    while i < len(a) and j < len(b):
        if not same(a[i].stride * done_a, b[j].stride * done_b):
            return None
        rest_a, rest_b = divide(a[i].size, done_a), divide(b[j].size, done_b)
        assert rest_a is not None and rest_b is not None
        if (size := _smaller(rest_a, rest_b)) is None:
            return None
        found.append(Common(a[i].dimension, done_a, b[j].dimension, done_b, size))
        done_a, done_b = done_a * size, done_b * size
        if same(done_a, a[i].size):
            i, done_a = i + 1, 1
        if same(done_b, b[j].size):
            j, done_b = j + 1, 1
    return found if i == len(a) and j == len(b) else None


def _smaller(first: Size, second: Size) -> Size | None:
    """The one of two sizes that divides the other."""
    divides = same(first, second) or divide(second, first) is not None
    return first if divides else second if divide(first, second) is not None else None


def _parts(access: AffineAccess, dimensions: Sequence[int], candidate: Candidate) -> list[_Part]:
    return [
        _Part(access.strides[k], candidate.sizes[k], k)
        for k in dimensions
        if access.strides[k] != 0
    ]


def _in_order(dimensions: Sequence[int], candidate: Candidate) -> list[_Part]:
    """Digits as they lie: row-major over their own order."""
    sizes = [candidate.sizes[k] for k in dimensions]
    return [*map(_Part, row_major(sizes), sizes, dimensions)]


@dataclass(frozen=True, slots=True)
class Sides:
    """The dimensions of two candidates that have to be paired, class by class. ``classes`` are
    pairs of dimension positions that must map onto each other; ``alone`` are reduced dimensions of
    the first candidate that the second, flat one lacks."""

    first: Candidate
    second: Candidate
    classes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    alone: tuple[int, ...]
    second_level: Level


def shared_accesses(first: Candidate, second: Candidate) -> list[tuple[AffineAccess, AffineAccess]]:
    """Pairs of exact accesses to one buffer at the same offset, writes first, then
    those that cover most dimensions."""

    def rank(pair: tuple[AffineAccess, AffineAccess]) -> tuple[bool, int]:
        a, b = pair
        return Use.STORE not in (a.use, b.use), -min(first.points(a), second.points(b))

    left, right = _accesses(first), _accesses(second)
    every = ((a, b) for name, own in left.items() for a in own for b in right.get(name, ()))
    exact = ((a, b) for a, b in every if a.exact and b.exact and a.offset == b.offset)
    return sorted(exact, key=rank)


def _accesses(candidate: Candidate) -> dict[str, list[AffineAccess]]:
    """Distinct loads and stores by buffer."""
    every = dict.fromkeys(a for v in candidate.views for a in v.accesses)
    return grouped((a for a in every if a.use in (Use.LOAD, Use.STORE)), lambda a: a.name)


def matched(sides: Sides) -> Matching | None:
    """Which points of two candidates are one; None if there is no such choice. The first shared
    access is followed; what it leaves open is decided by the next ones, and finally by the order
    the loops are in."""
    shared = shared_accesses(sides.first, sides.second)
    commons: list[Common] = []
    for first_dimensions, second_dimensions in sides.classes:
        left, right = list(first_dimensions), list(second_dimensions)
        for a, b in shared:
            if not left and not right:
                break
            part_a, part_b = _parts(a, left, sides.first), _parts(b, right, sides.second)
            found = _walk(part_a, part_b)
            if not found:
                continue
            commons += found
            left = [k for k in left if all(k != p.dimension for p in part_a)]
            right = [k for k in right if all(k != p.dimension for p in part_b)]
        found = _walk(_in_order(left, sides.first), _in_order(right, sides.second))
        if found is None:
            return None
        commons += found
    commons += [Common(k, 1, None, 1, sides.first.sizes[k]) for k in sides.alone]
    # in the first candidate's loop order: by dimension, outermost part first
    return tuple(sorted(commons, key=lambda one: (one.first, -size_hint(one.first_weight))))


def join(sides: Sides, matching: Matching) -> Candidate:
    """The candidate of all nests of both sides over the common dimensions."""
    first, second = sides.first, sides.second
    parts: Parts = [(c.first, c.first_weight) for c in matching]
    views = [restride(view, parts) for view in first.views]
    parts = [(c.second, c.second_weight) for c in matching]
    for view in second.views:
        flat = view.level is Level.FLAT and second.rnumel == 1
        views.append(restride(view, parts, sides.second_level if flat else view.level))
    return Candidate(
        tuple(c.size for c in matching),
        tuple(first.reduced[c.first] for c in matching),
        tuple(sorted(views, key=lambda v: v.number)),
        first.numel,
        first.rnumel,
    )
