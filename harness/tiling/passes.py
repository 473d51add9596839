"""How often a looped kernel reads: what each of its loops loads anew; and which loops it needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import sympy

from harness.dtypes import DType
from harness.graph.lowering.single import single_sum
from harness.heuristics.limits import VECTOR
from harness.ir import nodes as ir
from harness.ir.affine import size_hint
from harness.ir.nodes import Load, Masked, Reduce, ReduceKind, Store, Value, store_roots, walk
from harness.ir.ops import Op
from harness.ir.reach import grouped
from harness.ir.value_bounds import value_bounds
from harness.schedule.group import SegmentKind
from harness.tiling.plan import PlanSegment, Tile, simplifier_of

Loaded = set[tuple[str, sympy.Expr]]
"""Loads, as (buffer, index)."""

PIECE, RUN, MANY = 4, 1024, 1 << 19
"""Such loads of a piece with a branch; points of all pieces, at least, and of a kernel, which of
100,352 took 2.9 us with branches and 2.2 without (H200)."""

SPARED, SPARED_RUN, SPARED_MANY = 2.5, 128, 5 << 18
"""More loads than that branches spare a point of a kernel of several tiles on average, and the
least RUN and MANY for them: 8 of 10 for 50 million points take 135 us on an H200, 249 without, 2.7
of 10 for 1.5 million 11 and 13; 3 of 6 for a million 6.6 and 6.3, 8 of 10 in runs of 64 58 and
48."""

ReductionKey = tuple[ReduceKind, bool, tuple[int, ...]]


def reduction_key(reduce: Reduce) -> ReductionKey:
    """What the components of one reduction have in common."""
    return (reduce.kind, reduce.across, tuple(id(a) for a in reduce.args))


def components(stores: Iterable[Store]) -> dict[ReductionKey, list[Reduce]]:
    """Every reduction of ``stores``: the components of it that they use."""
    every = (value for value in walk(store_roots(stores)) if isinstance(value, Reduce))
    return grouped(every, reduction_key)


def loaded_by_segment(segments: Sequence[PlanSegment]) -> list[Loaded]:
    """What each segment loads: finished reductions are not looked into."""
    parts = components(s for segment in segments for s in segment.stores)
    done: set[int] = set()
    loaded: list[Loaded] = []
    for segment in segments:
        values = list(walk(store_roots(segment.stores), done))
        loaded.append({(v.buffer, v.index) for v in values if isinstance(v, Load)})
        found = [v for v in values if isinstance(v, Reduce)]
        done.update(id(r) for v in found for r in parts[reduction_key(v)])
    return loaded


def pieces(values: Iterable[Value], tiles: Sequence[Tile]) -> Iterator[Value]:
    """Those of ``values`` that are worth a branch, which programs without points of them do not
    take: what is concatenated, if it loads as much element by element as a bilinear interpolation:
    at computed places, or of channels changing within a vector, as those of 35 x 35 images do; and
    in several tiles, whose programs hold what all pieces load, if branches spare enough of that.
    Down columns, where a loop meets them again and again, so is what is stacked: chosen or nothing
    (a stack of three gradients, one of them as it is, took 220 us on an H200, 138)."""
    alone: list[Value] = []
    beside: dict[Value, float] = {}
    along = {e.var for tile in tiles for e in tile.entries if tile.is_reduction}
    steps = {e.var: size_hint(e.divisor) for tile in tiles for e in tile.entries}
    spans = {e.var: size_hint(e.divisor * e.length) for tile in tiles for e in tile.entries}
    run, least = (SPARED_RUN, SPARED_MANY) if len(tiles) > 1 else (RUN, MANY)
    many = math.prod(size_hint(tile.numel) for tile in tiles) >= least
    for value in values:
        if (found := piece_of(value, bool(along))) is None:
            continue
        mask, body, _ = found
        if isinstance(body, Load) or (isinstance(body, Masked) and body.mask is mask):
            continue
        chosen = [v.index for v in walk([mask]) if isinstance(v, ir.IndexValue)]
        loads = [v for v in walk([body]) if isinstance(v, Load)]
        again = any(load.index.free_symbols & along for load in loads)
        varies = any(i.free_symbols & along for i in chosen)
        if along and (varies or not again or not spared(mask, tiles)):
            continue  # what a loop does not ask, or need, at every turn, or by chance (a dropout)
        long = many and all(spans.get(s, 0) >= run for i in chosen for s in i.free_symbols)
        own = [[steps[s] for s in load.index.free_symbols if s in steps] for load in loads]
        apart = [long and 1 not in each and math.gcd(*each) % VECTOR > 0 for each in own]
        if sum(bool(v.indirect) or one for v, one in zip(loads, apart, strict=True)) >= PIECE:
            alone.append(value)
        elif long and len(tiles) > 1 and len(loads) >= PIECE:
            beside[value] = len(loads) * spared(mask, tiles)
    if sum(n for value, n in beside.items() if value not in _within(beside)) <= SPARED:
        beside.clear()
    within = _within((*alone, *beside))
    yield from (value for value in alone if value not in within)
    yield from (value for value, spared in beside.items() if spared > 0)


def alternatives(
    values: Iterable[Value], tiles: Sequence[Tile], alike: Sequence[Tile], always: bool = False
) -> Iterator[Value]:
    """Those of ``values`` that are one of two for all points of a program, or a number, by where it
    is in the ``alike`` ones of ``tiles``: it then loads that one. Norms of 2 to 23 concatenated
    images, in loops, took 0.39 (94 us on an H200) to 1.00 of the time; elsewhere, and of slices in
    a tensor of zeros, if that spares much (32 of them added up: 33 us, not 53), or ``always``."""
    own = {e.var for tile in alike for e in tile.entries}
    apart = [{e.var for e in tile.entries} for tile in tiles if tile not in alike]
    chosen, spares = list[Value](), dict[Value, float]()
    either = [v for v in values if isinstance(v, ir.Compute | Masked)] if alike else []
    either = [v for v in either if not isinstance(v, ir.Compute) or v.op is Op.WHERE]

    def is_whole(value: Value) -> bool:
        """Whether it is a piece, or one of two, and has a program's whole block."""
        loads = [v.index.free_symbols for v in walk([value]) if isinstance(v, Load)]
        spread = all(any(symbols & axis for symbols in loads) for axis in apart)
        return spread and value in either

    for value in either:
        test, piece, rest = ir.operands(value)
        places = [v for v in walk([test]) if not isinstance(v, ir.Compute | ir.Constant)]
        known = [isinstance(v, ir.IndexValue) and v.index.free_symbols <= own for v in places]
        inside = [*walk([piece])] if places and all(known) else []
        if isinstance(rest, ir.Constant):
            loads = sum(isinstance(v, Load) and not v.index.free_symbols <= own for v in inside)
            scans = any(isinstance(v, ir.Scan | ir.Sort) for v in inside)  # at every turn
            spares[value] = loads * spared(test, tiles) * (not scans)
        elif inside and isinstance(piece, Masked) and is_whole(piece) and is_whole(rest):
            chosen.append(value)
    within = _within(spares)
    much = sum(n for value, n in spares.items() if value not in within) > SPARED
    yield from chosen if much or always else ()
    within |= {*walk(chosen)}
    yield from (value for value, n in spares.items() if much and n and value not in within)


def piece_of(value: Value, stacked: bool = True) -> tuple[Value, Value, ir.Constant] | None:
    """The condition of a piece, what it is, and the number elsewhere."""
    if isinstance(value, Masked):
        return value.mask, value.body, value.other
    if stacked and isinstance(value, ir.Compute) and value.op is Op.WHERE:
        mask, body, other = value.args
        return (mask, body, other) if isinstance(other, ir.Constant) else None
    return None


def _within(found: Iterable[Value]) -> set[Value]:
    return {v for value in found for v in walk([ir.operands(value)[1]])}


def spared(mask: Value, tiles: Sequence[Tile]) -> float:
    """The share of the points at which ``mask`` does not hold, if it only asks where in ranges a
    point is; else 0."""
    known = simplifier_of(tiles)
    spared = 0.0
    for value in walk([mask]):
        match value:
            case ir.Compute(
                op=Op.GE | Op.LT | Op.EQ as op, args=(ir.IndexValue(index=at), ir.Constant() as end)
            ) if None not in (ends := known.bounds(at)):
                low, high = map(size_hint, ends)
                count = high - low + 1
                below = 1 / count if op is Op.EQ else (end.number - low) / count
                spared += below if op is Op.GE else 1 - below
            case ir.Compute(op=Op.LOGICAL_AND) | ir.IndexValue() | ir.Constant():
                pass
            case ir.Compute() | ir.Load() | ir.Masked() | ir.Reduce() | ir.Scan() | ir.Sort():
                return 0.0
    return min(spared, 1.0)


def with_cheap_sums(
    segments: Sequence[PlanSegment], tiles: Sequence[Tile], builder: ir.Builder
) -> list[PlanSegment]:
    """``segments`` without sums along the last of ``tiles`` that one position decides (one that
    then does nothing along it is flat), and sums in 64 bits added up in 32 where those hold them
    for certain, as they do what is counted: half the registers and additions (counts of 384
    comparisons: 50 us on an H200, not 56). ``builder`` is the one that made the values."""
    axes = [ir.Axis(entry.var, entry.length) for entry in tiles[-1].entries]
    along = {axis.var for axis in axes}
    known = simplifier_of(tiles)

    def summed(value: Value, made: ir.Made) -> Value | None:
        if not isinstance(value, Reduce) or value.kind is not ReduceKind.SUM:
            return None
        arg = made[id(value.args[0])]
        found = None if value.across else single_sum(arg, axes, builder)
        if value.dtype is not DType.I64 or found is not None:
            return found if arg.dtype is value.dtype else None
        ends = value_bounds(value.args[0], known)
        count = sympy.Mul(*(t.numel for t in tiles if t.is_reduction is not value.across))
        if ends is None or not count.is_Integer or int(max(map(abs, ends)) * count) >= 1 << 31:
            return None
        if isinstance(arg, ir.Compute) and arg.op is Op.CAST and not arg.args[0].dtype.is_float:
            arg = arg.args[0]
        if arg.dtype is not DType.I32:
            arg = builder.compute(Op.CAST, arg, dtype=DType.I32)
        total = builder.reduce(ReduceKind.SUM, arg, dtype=DType.I32, across=value.across)
        return builder.compute(Op.CAST, total, dtype=DType.I64)

    made = []
    for segment in segments:
        stores = ir.rewrite_stores(segment.stores, builder, replace=summed)
        combined = any(isinstance(v, Reduce | ir.Scan | ir.Sort) for v in ir.values(stores))
        loops = combined or any(i.free_symbols & along for i in ir.index_exprs(stores))
        loops |= any(store.repeated for store in stores)
        made.append(PlanSegment(segment.kind if loops else SegmentKind.FLAT, stores))
    return made
