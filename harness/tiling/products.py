"""Reductions that are matrix products: sums of products, one factor of which is the same along some
of the parallel loops (the columns, x), the other along others (the rows, y); both differ along the
reduction. Factors are any values of their loads. Other loops are a batch (z), an element a program.

A program's tensors have two dimensions then: rows by terms, terms by columns, rows by columns. The
terms are the tile ``r0_`` in the first factor, and its twin ``r0_t_``, downwards, in the second."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import sympy

from harness.dtypes import DType
from harness.graph.lowering.single import single_sum
from harness.heuristics.products import is_worthwhile
from harness.ir import nodes as ir
from harness.ir.index import axis_symbol
from harness.ir.ops import Op
from harness.schedule.group import FusedGroup, SegmentKind
from harness.target import Target
from harness.tiling.choose import Access, touched_points
from harness.tiling.plan import PlanSegment, Tile
from harness.tiling.ranges import Split
from harness.tiling.rewrite import as_stored

TWIN = "r0_t_"


def product_tiles(
    group: FusedGroup,
    parallel: Sequence[Split],
    reduced: Sequence[Split],
    accesses: Sequence[Access],
    simplify: ir.Address,
    target: Target,
    decided: bool | None,
) -> list[tuple[str, list[Split]]]:
    """The parallel loops of a kernel of matrix products by tile (z if there is a batch, y, x);
    nothing where some reduction is none, sums of different rows and columns share the kernel, or
    tiles would not be faster, if that is not ``decided``."""
    pairs = _pairs(group)
    if decided is False or not pairs or not all(s.length.is_Integer for s in (*parallel, *reduced)):
        return []
    # Loops along which no second factor differs, and those along which no first one does.
    sides = (frozenset(s.var for s in parallel),) * 2
    for pair in pairs:
        used = [_symbols(factor, simplify) for factor in pair]
        if any(u.isdisjoint(s.var for s in reduced) for u in used):
            return []
        either = [(sides[0] - b, sides[1] - a) for a, b in (used, used[::-1])]
        sides = next((s for s in either if s[0] - s[1] and s[1] - s[0]), either[0])
    parts = [[s for s in parallel if s.var in one - other] for one, other in (sides, sides[::-1])]
    y, x = sorted(parts, key=lambda part: parallel.index(part[0]) if part else 0, reverse=True)
    size = [math.prod(int(s.length) for s in part) for part in (y, x, reduced)]
    products = len(pairs) * math.prod(int(s.length) for s in (*parallel, *reduced))
    moved = sum(a.itemsize * touched_points(a.index, (*parallel, *reduced)) for a in accesses)
    if not (x and y) or not (decided or is_worthwhile(size, products, moved, target)):
        return []
    batch = [s for s in parallel if s not in (*x, *y)]
    return [*([("z", batch)] if batch else []), ("y", y), ("x", x)]


def _pairs(group: FusedGroup) -> list[tuple[ir.Value, ...]]:
    """The factors of every reduction of a kernel that does nothing else along its reduction."""
    kinds = [s.kind for s in group.segments]
    once = kinds == [SegmentKind.LOOP, *[SegmentKind.FLAT] * (len(kinds) - 1)] and not group.walked
    found = [ir.reductions(n.stores) for n in group.nests if n.raxes]
    pairs = [_factors(reduce) for own in found for reduce in own]
    read = {v.buffer for pair in pairs for v in ir.walk(pair) if isinstance(v, ir.Load)}
    single = (single_sum(r.args[0], group.raxes, ir.Builder()) for own in found for r in own)
    whole = once and all(found) and all(pairs) and not read & group.internal
    return pairs if whole and not any(single) else []


def _factors(reduce: ir.Reduce) -> tuple[ir.Value, ...]:
    """The two factors of the terms of a float32 sum; nothing for another reduction."""
    term = reduce.args[0]
    summed = reduce.kind is ir.ReduceKind.SUM and reduce.dtype is DType.F32 and not reduce.across
    product = isinstance(term, ir.Compute) and term.op is Op.MUL and term.dtype is DType.F32
    return ir.operands(term) if summed and product else ()


def _symbols(factor: ir.Value, simplify: ir.Address) -> frozenset[sympy.Symbol]:
    read = (v.index for v in ir.walk([factor]) if isinstance(v, ir.Load | ir.IndexValue))
    return frozenset(s for index in read for s in simplify(index).free_symbols)


def with_products(
    segments: Iterable[PlanSegment], tiles: Sequence[Tile], dtypes: Mapping[str, DType]
) -> tuple[tuple[PlanSegment, ...], tuple[Tile, ...]]:
    """``segments`` of a kernel of matrix products with its sums as such, the factors in the order
    rows, columns, of 16 bits where both are ``dtypes`` of that in memory, and ``tiles`` with the
    twin of the reduction's."""
    builder, columns, terms = ir.Builder(), tiles[-2], tiles[-1]
    twins = {e.var: axis_symbol(TWIN, n) for n, e in enumerate(terms.entries)}
    across = {e.var for e in columns.entries}

    def product(value: ir.Value, made: ir.Made) -> ir.Value | None:
        if not isinstance(value, ir.Reduce):
            return None
        pair = [made[id(f)] for f in _factors(value)]
        pair.sort(key=lambda factor: not across.isdisjoint(_symbols(factor, ir.same_address)))
        kinds = (DType.BF16, DType.F16)
        stored = ([as_stored(f, kind, dtypes, builder) for f in pair] for kind in kinds)
        first, second = next((s for s in stored if None not in s), pair)
        assert first is not None and second is not None
        down = ir.rewrite([second], builder, lambda index: index.xreplace(twins))[id(second)]
        return builder.reduce(ir.ReduceKind.DOT, first, down, dtype=value.dtype)

    made = (
        replace(s, stores=ir.rewrite_stores(s.stores, builder, replace=product)) for s in segments
    )
    entries = tuple(replace(e, var=twins[e.var]) for e in terms.entries)
    return tuple(made), (*tiles, Tile(TWIN, terms.numel, entries))
