"""Bytes a kernel moves: each distinct element read once, each written once. The count is a model:
never more than the storage, and rather under than over. An element that is read and written counts
twice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy

from harness.ir.index_bounds import numeric
from harness.ir.nodes import Axis
from harness.ir.program import Buffer
from harness.ir.reach import grouped, joined
from harness.ir.simplify import Simplifier

Sizes = Mapping[sympy.Symbol, int]


@dataclass(frozen=True, slots=True)
class Access:
    """One load or store: ``index`` over the variables of ``axes``. Symbols of ``index``
    that are neither axes nor sizes are indices read from memory."""

    buffer: Buffer
    index: sympy.Expr
    axes: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class _Slice:
    """Distinct elements of one access and the offsets they lie between."""

    count: int
    low: int | None
    high: int | None


_Slices = dict[tuple[sympy.Expr, tuple[Axis, ...]], tuple[object, _Slice]]
"""By index and axes; which buffer is accessed does not matter."""


def bytes_moved(
    reads: Sequence[Access], writes: Sequence[Access], sizes: Sizes | None = None
) -> tuple[int, int]:
    """Bytes of all distinct elements read plus all distinct elements written; and of all distinct
    elements, of which one that is read and written counts once. ``sizes`` gives unknown sizes; an
    access whose size stays unknown counts nothing."""
    known, slices = dict(sizes or {}), _Slices()
    sides = (reads, writes, [*reads, *writes])
    buffers = (grouped(side, lambda access: access.buffer.name).values() for side in sides)
    read, written, touched = (
        sum(distinct_elements(g, known, slices) * g[0].buffer.dtype.itemsize for g in groups)
        for groups in buffers
    )
    return read + written, touched


def distinct_elements(
    accesses: Sequence[Access], sizes: Sizes | None = None, slices: _Slices | None = None
) -> int:
    """Distinct elements that accesses to one buffer touch together. Equal accesses count once,
    different slices add up, overlapping ones no further than the span they cover together; the
    storage is the limit. ``slices`` are known for ``sizes``, and added to."""
    known, slices = dict(sizes or {}), _Slices() if slices is None else slices
    found: dict[object, _Slice] = {}
    for access in accesses:
        key = access.index, access.axes
        if key not in slices:
            simplifier = Simplifier.of_axes(access.axes)
            index = simplifier.simplify(access.index)
            own = simplifier.free_symbols(index)
            same = index, tuple((a.var, a.size) for a in access.axes if a.var in own)
            slices[key] = same, _measure(index, access.axes, simplifier, known)
        found.setdefault(*slices[key])
    total = sum(s.count for s in found.values())
    lows = [s.low for s in found.values() if s.low is not None]
    highs = [s.high for s in found.values() if s.high is not None]
    if found and len(lows) == len(highs) == len(found):
        total = min(total, max(highs) - min(lows) + 1)
    return min(total, _storage(accesses[0].buffer, known))


def _storage(buffer: Buffer, sizes: Sizes) -> int:
    """Elements the buffer really has: an expanded dimension has one."""
    moving = (n for n, step in zip(buffer.shape, buffer.stride, strict=True) if step != 0)
    numbers = [numeric(n, sizes) for n in (buffer.extent, *moving)]
    known = [n for n in numbers if n is not None]
    return max(0, min(known[0], math.prod(known[1:]))) if len(known) == len(numbers) else 0


def _measure(
    index: sympy.Expr, axes: Sequence[Axis], simplifier: Simplifier, sizes: Sizes
) -> _Slice:
    extents = {a.var: n for a in axes if (n := numeric(a.size, sizes)) is not None}
    if len(extents) < len(axes):
        return _Slice(0, 0, 0)
    if 0 in extents.values():
        return _Slice(0, None, None)
    used = simplifier.free_symbols(index)
    variables = [v for v in extents if v in used]
    if any(s not in extents and not s.is_positive for s in used):  # read from memory
        return _Slice(math.prod(extents.values()), None, None)
    low, high = (numeric(bound, sizes) for bound in simplifier.bounds(index))
    terms = [(t, simplifier.free_symbols(t)) for t in sympy.Add.make_args(index)]
    count = 1
    for group in joined([v for v in variables if v in used] for _, used in terms):  # share none
        own = sympy.Add(*(term for term, used in terms if not used.isdisjoint(group)))
        count *= _distinct(tuple(v for v in variables if v in group), own, extents, sizes)
    if low is not None and high is not None:
        count = min(count, high - low + 1)
    return _Slice(count, low, high)


def _distinct(
    group: tuple[sympy.Symbol, ...],
    expr: sympy.Expr,
    extents: Mapping[sympy.Symbol, int],
    sizes: Sizes,
) -> int:
    """At most this many values: the points of the variables, or the steps of the range."""
    points = math.prod(extents[v] for v in group)
    known = {s: sympy.Integer(n) for s, n in sizes.items()}
    simplifier = Simplifier({v: extents[v] for v in group})
    sized = simplifier.simplify(expr.xreplace(known))
    low, high = simplifier.bounds(sized)
    if low is None or high is None or not (low.is_Integer and high.is_Integer):
        return points
    terms = (term.as_coeff_Mul() for term in sympy.Add.make_args(sized))
    step = math.gcd(*(int(factor) for factor, rest in terms if rest is not sympy.S.One))
    return min(points, (int(high) - int(low)) // max(step, 1) + 1)
