"""The iteration space of a fused group: its tiles, and every index expressed over them."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from itertools import pairwise

import sympy

from harness.heuristics.facts import Hint
from harness.heuristics.limits import VECTOR
from harness.ir import nodes as ir
from harness.ir.index import axis_symbol
from harness.ir.nodes import Address, Axis, Scan, Store, index_exprs, loads, reductions, scans
from harness.ir.ops import Op
from harness.ir.program import Program
from harness.ir.simplify import Simplifier
from harness.schedule.group import FusedGroup
from harness.schedule.group import splits as shares_rows
from harness.target import Target
from harness.tiling import choose
from harness.tiling.choose import Access
from harness.tiling.plan import Tile
from harness.tiling.products import product_tiles
from harness.tiling.ranges import Split, merge, splits

_KINDS = {ir.ReduceKind.SUM, ir.ReduceKind.MAX, ir.ReduceKind.MIN, ir.ReduceKind.ANY}
"""Reductions whose columns may lie in two directions of memory."""


class _TileSpace:
    """One tile while indices are being expressed over it. ``chain`` are its adjoining entries,
    named after it, their divisors beginning at 1; ``joined`` are entries that span several."""

    def __init__(self, prefix: str, points: Sequence[Split]) -> None:
        axes = [Axis(axis_symbol(prefix, n), split.length) for n, split in enumerate(points)]
        self.prefix, self.numel = prefix, sympy.sympify(math.prod(s.length for s in points))
        self.chain = splits(axes[::-1])
        self.entries = list(self.chain)
        self.joined: dict[tuple[sympy.Expr, sympy.Expr], sympy.Symbol] = {}

    def join(self, expr: sympy.Expr) -> sympy.Expr:
        """``expr`` with runs of entries that it walks through as one replaced by one entry:
        a contiguous access is then visibly contiguous whatever the sizes."""
        if len(self.chain) < 2:
            return expr
        merged, zeros = merge(self.chain, [expr])
        if not zeros:
            return expr
        lengths = {s.var: s.length for s in self.chain}
        table = dict(zeros)
        for split in merged:
            if split.length != lengths[split.var] and split.var in expr.free_symbols:
                key = (split.divisor, split.length)
                if key not in self.joined:
                    var = self.joined[key] = axis_symbol(self.prefix, len(self.entries))
                    self.entries.append(Split(var, *key))
                table[split.var] = self.joined[key]
        return expr.xreplace(table)


class Space:
    """The tiles of ``group``, while its indices are being expressed over them. ``hint`` is None for
    a kernel without a reduction; ``full_loads`` counts loads along the reduction, ``held`` those of
    them that differ between results, ``widths`` is the ratio of the widest to the narrowest element
    accessed along it, ``stored`` whether a store is, ``narrow`` that all is 16 bits, ``shared``
    that the points of y share work, ``product`` that its tiles are those of a matrix product (an
    argument: whether that is decided), ``crossed`` that columns lie in two directions. ``index``
    adds the entries that it needs."""

    def __init__(
        self, program: Program, group: FusedGroup, target: Target, product: bool | None
    ) -> None:
        stores = [s for n in dict.fromkeys(group.nests) for s in n.stores]
        simple = Simplifier.of_axes((*group.axes, *group.raxes)).simplify
        exprs = [simple(e) for e in index_exprs(stores)]
        strips = [a for a in group.axes if a not in group.walked] if group.walked else []
        lowest, zeros = merge(splits([a for a in group.axes if a not in strips]), exprs)
        upper, more = merge(splits(strips), exprs)
        parallel = [*lowest, *upper]
        reduced, others = merge(splits(group.raxes), exprs)
        zeros.update(more | others)
        merged = Simplifier({s.var: s.length for s in (*parallel, *reduced)}).simplify

        def simplify(expr: sympy.Expr) -> sympy.Expr:
            return merged(simple(expr).xreplace(zeros)) if zeros else simple(expr)

        accesses = _accesses(program, group, simplify)
        hint, beside = (
            choose.reduction_hint(parallel, reduced, accesses) if group.raxes else (None, [])
        )
        cuts: tuple[int, ...] = (len(lowest),) if strips else ()
        shared = crossing = cuts[:0]
        if hint is None:
            cuts = choose.tile_boundaries(parallel, accesses, many=program.many_tiles)
            cuts = cuts or (shared := choose.shared_boundary(parallel, stores, accesses, simplify))
        elif hint in (Hint.INNER, Hint.MIXED) and not strips:
            parallel = beside
        elif hint is Hint.OUTER and not strips:
            if _may_cross(group, stores):
                every = {s.var for s in (*parallel, *reduced)}  # other elements at all points
                crossed = [one for one in accesses if every <= one.index.free_symbols]
                cuts = crossing = choose.tile_boundaries(parallel, crossed, most=2)
            cuts = cuts or choose.strip_boundary(parallel, reduced, accesses)
        products = product_tiles(group, parallel, reduced, accesses, simplify, target, product)
        ends = zip("xyz", pairwise((0, *cuts, len(parallel))), strict=False)
        parts = products or [(prefix, parallel[first:end]) for prefix, (first, end) in ends][::-1]
        parts += [("r0_", reduced)] * bool(group.raxes)
        self._tiles = [_TileSpace(prefix, chain) for prefix, chain in parts]
        along, across = ({s.var for s in part} for part in (reduced, parallel))
        full = [a for a in accesses if a.index.free_symbols & along]
        sizes = [a.itemsize for a in full]
        self.hint = hint
        self.full_loads = len({a.index for a in full if not a.write})
        self.held = sum(not a.write and bool(a.index.free_symbols & across) for a in full)
        self.widths = max(sizes, default=1) // min(sizes, default=1)
        self.stored, self.narrow = any(a.write for a in full), set(sizes) == {2}
        self.shared, self.product, self.crossed = bool(shared), bool(products), bool(crossing)
        self._simplify = simplify
        self._rename = {
            split.var: entry.var
            for (_, chain), tile in zip(parts, self._tiles, strict=True)
            for split, entry in zip(chain, tile.entries, strict=True)
        }
        self._known: dict[sympy.Expr, sympy.Expr] = {}

    def index(self, expr: sympy.Expr) -> sympy.Expr:
        """An index over the group's loops as the same index over entry variables."""
        if (found := self._known.get(expr)) is None:
            found = self._simplify(expr).xreplace(self._rename)
            for tile in self._tiles:
                found = tile.join(found)
            self._known[expr] = found
        return found

    def compared(self, stores: tuple[Store, ...]) -> tuple[Store, ...]:
        """``stores`` of a kernel of one tile in which a loop that changes within a vector, as the
        channels of 35 x 35 images do, is compared as the point it is at: parts of a ``cat`` begin
        at whole vectors for all that, so that each is loaded in them."""
        (tile,), builder, below = self._tiles, ir.Builder(), sympy.S.Zero
        points: dict[sympy.Expr, tuple[sympy.Expr, sympy.Expr]] = {}
        for split in tile.chain:
            below, step = below + split.var * split.divisor, split.divisor
            if step.is_Integer and step != 1 and int(step) % VECTOR:
                points[split.var] = tile.join(below), step

        def moved(value: ir.Value, _: ir.Made) -> ir.Value | None:
            if not isinstance(value, ir.Compute) or value.op not in (Op.GE, Op.LT):
                return None
            at, end = value.args
            if not (isinstance(at, ir.IndexValue) and isinstance(end, ir.Constant)):
                return None
            point, step = points.get(at.index, (None, sympy.S.One))
            if point is None or -at.dtype.least <= tile.numel or abs(end.bits * step) > tile.numel:
                return None
            args = (builder.index(e, at.dtype) for e in (point, end.bits * step))
            return builder.compute(value.op, *args, dtype=value.dtype)

        small = tile.numel.is_Integer and int(tile.numel) < 1 << 31
        return ir.rewrite_stores(stores, builder, replace=moved) if points and small else stores

    def flat(self) -> Space:
        """The space of a kernel that turns out to do nothing along its reduction."""
        made = copy.copy(self)
        made.hint, made._tiles = None, self._tiles[:-1]
        return made

    def tiles(self) -> tuple[Tile, ...]:
        """The tiles with every entry used so far."""
        return tuple(Tile(t.prefix, t.numel, tuple(t.entries)) for t in self._tiles)


def _may_cross(group: FusedGroup, stores: Sequence[Store]) -> bool:
    """Whether the kernel is a loop that scans whole columns and reduces nothing, or only adds them
    up or finds extremes: its programs may have columns in two directions of memory."""
    known = group.numel.is_Integer and group.rnumel.is_Integer
    looped = known and int(group.rnumel) > choose.PERSISTENT_OUTER
    found, scanned = {r.kind for r in reductions(stores)}, list(scans(stores))
    alone = found <= _KINDS if not scanned else not found and all(type(v) is Scan for v in scanned)
    return looped and alone and not shares_rows(group.numel, group.rnumel)


def _accesses(program: Program, group: FusedGroup, simplify: Address) -> list[Access]:
    """Every distinct access to memory: buffers inside the kernel are none."""
    sizes = {b.name: b.dtype.itemsize for b in program.buffers if b.name not in group.internal}
    touched: list[ir.Load | Store] = []
    for nest in dict.fromkeys(group.nests):
        touched += [*loads(nest.stores), *nest.stores]

    def loops(access: ir.Load | Store) -> frozenset[sympy.Basic]:
        return frozenset(s for i in ir.addressed(access) for s in simplify(i).free_symbols)

    own = ((a, simplify(a.index), isinstance(a, Store)) for a in touched if a.buffer in sizes)
    found = {
        (a.buffer, i, write): Access(i, sizes[a.buffer], write, loops(a)) for a, i, write in own
    }
    return list(found.values())
