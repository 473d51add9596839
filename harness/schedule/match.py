"""Finding common digits: which point of one kernel is which point of another.

Two accesses of one buffer touch the same element at the same point only if their
strides pair up. Walking both lists of (stride, size) from the smallest stride, and
splitting the larger loop where sizes differ, either pairs everything, which is a
bijection of points, or shows that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.ir.affine import Size, divide, product, same, size_hint
from harness.schedule.space import Cluster, Level, Row, Use, View, transform_view

_ATTEMPTS = 4
"""Pairs of accesses tried as the guide before two kernels count as not matching."""


@dataclass(frozen=True, slots=True)
class Common:
    """A digit of the fused kernel: what part it is of a digit of each side.

    The first cluster's digit ``first`` is a sum in which this digit has the weight
    ``first_weight``; ``None`` for a reduced digit the side does not run over.
    """

    first: int | None
    first_weight: Size
    second: int | None
    second_weight: Size
    size: Size


Matching = tuple[Common, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    stride: Size
    size: Size
    digit: int


def _walk(first: Sequence[_Part], second: Sequence[_Part]) -> list[Common] | None:
    """Pair two lists of loops that start at the same element, or None."""
    a = sorted(first, key=lambda p: (size_hint(p.stride), p.digit))
    b = sorted(second, key=lambda p: (size_hint(p.stride), p.digit))
    i = j = 0
    done_a: Size = 1
    done_b: Size = 1
    found: list[Common] = []
    while i < len(a) and j < len(b):
        if not same(a[i].stride * done_a, b[j].stride * done_b):
            return None
        rest_a, rest_b = divide(a[i].size, done_a), divide(b[j].size, done_b)
        assert rest_a is not None and rest_b is not None
        size = _smaller(rest_a, rest_b)
        if size is None:
            return None
        found.append(Common(a[i].digit, done_a, b[j].digit, done_b, size))
        done_a, done_b = done_a * size, done_b * size
        if same(done_a, a[i].size):
            i, done_a = i + 1, 1
        if same(done_b, b[j].size):
            j, done_b = j + 1, 1
    return found if i == len(a) and j == len(b) else None


def _smaller(first: Size, second: Size) -> Size | None:
    """The one of two sizes that divides the other."""
    if same(first, second) or divide(second, first) is not None:
        return first
    return second if divide(first, second) is not None else None


def _parts(row: Row, digits: Sequence[int], cluster: Cluster) -> list[_Part]:
    return [_Part(row.strides[k], cluster.sizes[k], k) for k in digits if row.strides[k] != 0]


def _in_order(digits: Sequence[int], cluster: Cluster) -> list[_Part]:
    """Digits as they lie: row-major over their own order."""
    parts: list[_Part] = []
    stride: Size = 1
    for k in reversed(digits):
        parts.append(_Part(stride, cluster.sizes[k], k))
        stride = stride * cluster.sizes[k]
    return parts


@dataclass(frozen=True, slots=True)
class Sides:
    """The digits of two clusters that have to be paired, class by class.

    ``classes`` are pairs of digit positions that must map onto each other;
    ``alone`` are reduced digits of the first cluster that the second, flat one lacks.
    """

    first: Cluster
    second: Cluster
    classes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    alone: tuple[int, ...]
    second_level: Level


def shared_rows(first: Cluster, second: Cluster) -> Iterator[tuple[Row, Row]]:
    """Pairs of exact accesses to one buffer at the same offset, writes first, then
    those that cover most digits."""
    left, right = _accesses(first), _accesses(second)
    pairs: list[tuple[tuple[bool, int, int], Row, Row]] = []
    for name, rows in left.items():
        for a in rows:
            for b in right.get(name, ()):
                if a.exact and b.exact and a.offset == b.offset:
                    written = a.use is Use.STORE or b.use is Use.STORE
                    points = min(_points(a, first), _points(b, second))
                    pairs.append(((not written, -points, len(pairs)), a, b))
    pairs.sort(key=lambda p: p[0])
    for _, a, b in pairs:
        yield a, b


def _points(row: Row, cluster: Cluster) -> int:
    return size_hint(product(n for n, s in zip(cluster.sizes, row.strides, strict=True) if s != 0))


def _accesses(cluster: Cluster) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for view in cluster.views:
        for row in view.rows:
            if row.use in (Use.LOAD, Use.STORE):
                rows = found.setdefault(row.name, [])
                if row not in rows:
                    rows.append(row)
    return found


def matchings(sides: Sides) -> Iterator[Matching]:
    """Ways to identify the points of two clusters, most promising first, at most a few."""
    seen: list[Matching] = []
    guides = list(shared_rows(sides.first, sides.second))
    starts = range(min(len(guides), _ATTEMPTS)) if guides else range(1)
    for start in starts:
        found = _match(sides, guides[start:] + guides[:start])
        if found is not None and found not in seen:
            seen.append(found)
            yield found


def _match(sides: Sides, guides: list[tuple[Row, Row]]) -> Matching | None:
    """Follow the first guide; what it leaves open is decided by the next ones, and
    finally by the order the loops are in."""
    commons: list[Common] = []
    for first_digits, second_digits in sides.classes:
        left, right = list(first_digits), list(second_digits)
        for a, b in guides:
            if not left and not right:
                break
            part_a, part_b = (
                _parts(a, left, sides.first),
                _parts(b, right, sides.second),
            )
            found = _walk(part_a, part_b)
            if not found:
                continue
            commons += found
            left = [k for k in left if all(k != p.digit for p in part_a)]
            right = [k for k in right if all(k != p.digit for p in part_b)]
        found = _walk(_in_order(left, sides.first), _in_order(right, sides.second))
        if found is None:
            return None
        commons += found
    commons += [Common(k, 1, None, 1, sides.first.sizes[k]) for k in sides.alone]
    return tuple(sorted(commons, key=_place))


def _place(common: Common) -> tuple[int, int]:
    """Keeps the first cluster's loop order: by digit, outermost part first."""
    assert common.first is not None
    return common.first, -size_hint(common.first_weight)


def join(sides: Sides, matching: Matching) -> Cluster:
    """The cluster of all nests of both sides over the common digits."""
    first, second = sides.first, sides.second

    def change_first(strides: tuple[Size, ...]) -> tuple[Size, ...]:
        return tuple(0 if c.first is None else strides[c.first] * c.first_weight for c in matching)

    def change_second(strides: tuple[Size, ...]) -> tuple[Size, ...]:
        return tuple(
            0 if c.second is None else strides[c.second] * c.second_weight for c in matching
        )

    views: list[View] = [transform_view(v, change_first) for v in first.views]
    for view in second.views:
        level = sides.second_level if view.level is Level.FLAT else view.level
        if second.rnumel != 1:
            level = view.level
        views.append(transform_view(view, change_second, level))
    views.sort(key=lambda v: v.number)
    return Cluster(
        tuple(c.size for c in matching),
        tuple(c.first is not None and first.reduced[c.first] for c in matching),
        tuple(views),
        first.numel,
        first.rnumel,
    )
