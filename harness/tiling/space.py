"""The iteration space of a fused group: its tiles, and every nest expressed over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sympy

from harness.heuristics.facts import Hint
from harness.ir.dependencies import index_exprs, loads
from harness.ir.index import axis_symbol
from harness.ir.nodes import Address, Axis, Nest
from harness.ir.program import Program
from harness.ir.simplify import Simplifier
from harness.schedule.group import FusedGroup
from harness.tiling import choose
from harness.tiling.choose import Access
from harness.tiling.plan import Entry, Tile
from harness.tiling.ranges import Split, express, merge, mergeable, refine

_PARALLEL = "p"
_REDUCED = "q"


@dataclass(eq=False, slots=True)
class _TileSpace:
    """One tile while indices are being expressed over it. ``chain`` are its adjoining
    entries; ``joined`` are entries that span several of them."""

    prefix: str
    numel: sympy.Expr
    chain: list[Split]
    entries: list[Entry]
    joined: dict[tuple[sympy.Expr, sympy.Expr], sympy.Symbol]

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
                table[split.var] = self._entry(split)
        return expr.xreplace(table)

    def _entry(self, split: Split) -> sympy.Symbol:
        key = (split.divisor, split.length)
        if key not in self.joined:
            var = axis_symbol(self.prefix, len(self.entries))
            self.joined[key] = var
            self.entries.append(Entry(var, split.divisor, split.length))
        return self.joined[key]


@dataclass(eq=False, slots=True)
class Space:
    """The tiles of a kernel, while its indices are being expressed over them. ``hint`` is
    None for a kernel without a reduction; ``full_loads`` counts loads along the reduction,
    ``widths`` is the ratio of the widest to the narrowest element accessed along it.
    Entries are added as ``index`` meets accesses that need them."""

    hint: Hint | None
    full_loads: int
    widths: int
    _tiles: list[_TileSpace]
    _steps: Mapping[int, Address]
    _known: dict[sympy.Expr, sympy.Expr] = field(default_factory=dict)

    def index(self, nest: Nest) -> Address:
        """The function from an index of ``nest`` to the same index over entry variables."""
        step = self._steps[id(nest)]
        return lambda expr: self._joined(step(expr))

    def _joined(self, expr: sympy.Expr) -> sympy.Expr:
        found = self._known.get(expr)
        if found is None:
            found = expr
            for tile in self._tiles:
                found = tile.join(found)
            self._known[expr] = found
        return found

    def tiles(self) -> tuple[Tile, ...]:
        """The tiles with every entry used so far."""
        return tuple(Tile(t.prefix, t.numel, tuple(t.entries)) for t in self._tiles)

    def ranges(self) -> dict[sympy.Symbol, sympy.Expr]:
        """The size of every entry variable."""
        return {e.var: e.length for t in self._tiles for e in t.entries}


def _merged_axes(nest: Nest, axes: Sequence[Axis]) -> list[sympy.Expr]:
    """Sizes of the nest's loops after joining neighbours that no index tells apart."""
    exprs = index_exprs(nest.stores)
    kept: list[tuple[sympy.Symbol, sympy.Expr]] = []
    for axis in reversed([a for a in axes if a.size != 1]):
        if kept:
            low, length = kept[-1]
            if all(mergeable(e, axis.var, low, length) for e in exprs):
                exprs = [e.xreplace({axis.var: sympy.S.Zero}) for e in exprs]
                kept[-1] = (low, length * axis.size)
                continue
        kept.append((axis.var, axis.size))
    return [size for _, size in reversed(kept)]


def iteration_space(program: Program, group: FusedGroup) -> Space:
    """Common tiles for all nests of ``group``."""
    nests = list({id(n): n for n in group.nests}.values())
    reduces = bool(group.raxes)
    parallel = refine(group.numel, [_merged_axes(n, n.axes) for n in nests], _PARALLEL)
    reduced = refine(group.rnumel, [_merged_axes(n, n.raxes) for n in nests], _REDUCED)
    replacements = [_express(n, parallel, reduced) for n in nests]
    ranges = {s.var: s.length for s in (*parallel, *reduced)}
    simplify = Simplifier(ranges).simplify
    first = [_composed(table, simplify) for table in replacements]
    accesses = _accesses(program, nests, first, group)
    exprs = [step(e) for n, step in zip(nests, first, strict=True) for e in index_exprs(n.stores)]
    one_tile = reduces or not all(s.chained for s in parallel)
    boundary = None if one_tile else choose.tile_boundary(parallel, accesses)
    hint = choose.reduction_hint(parallel, reduced, accesses) if reduces else None
    tiles, rename = _tiles(group, parallel, reduced, exprs, boundary)
    final = {e.var: e.length for t in tiles for e in t.entries}
    second = _composed(rename, Simplifier(final).simplify)
    along = frozenset(s.var for s in reduced)
    full = [a for a in accesses if a.index.free_symbols & along]
    sizes = [a.itemsize for a in full]
    return Space(
        hint=hint,
        full_loads=len({a.index for a in full if not a.write}),
        widths=max(sizes, default=1) // min(sizes, default=1),
        _tiles=tiles,
        _steps={id(n): _chained(step, second) for n, step in zip(nests, first, strict=True)},
    )


def _express(
    nest: Nest, parallel: list[Split], reduced: list[Split]
) -> dict[sympy.Symbol, sympy.Expr]:
    table = express([(a.var, a.size) for a in nest.axes], parallel, _PARALLEL)
    table.update(express([(a.var, a.size) for a in nest.raxes], reduced, _REDUCED))
    return table


def _composed(table: Mapping[sympy.Symbol, sympy.Expr], simplify: Address) -> Address:
    cache: dict[sympy.Expr, sympy.Expr] = {}

    def apply(expr: sympy.Expr) -> sympy.Expr:
        found = cache.get(expr)
        if found is None:
            found = cache[expr] = simplify(expr.xreplace(dict(table)))
        return found

    return apply


def _chained(first: Address, second: Address) -> Address:
    return lambda expr: second(first(expr))


def _accesses(
    program: Program,
    nests: Sequence[Nest],
    steps: Sequence[Address],
    group: FusedGroup,
) -> list[Access]:
    """Every distinct access to memory: buffers inside the kernel are none."""
    sizes = {b.name: b.dtype.itemsize for b in program.buffers}
    found: dict[tuple[str, sympy.Expr, bool], Access] = {}
    for nest, step in zip(nests, steps, strict=True):
        touched = [(load.buffer, load.index, False) for load in loads(nest.stores)]
        touched += [(s.buffer, s.index, True) for s in nest.stores]
        for buffer, expr, write in touched:
            if buffer not in group.internal:
                index = step(expr)
                found.setdefault((buffer, index, write), Access(index, sizes[buffer], write))
    return list(found.values())


def _tiles(
    group: FusedGroup,
    parallel: Sequence[Split],
    reduced: Sequence[Split],
    exprs: Sequence[sympy.Expr],
    boundary: sympy.Expr | None,
) -> tuple[list[_TileSpace], dict[sympy.Symbol, sympy.Expr]]:
    """Tiles with merged, renamed entries, and the substitution that leads to them."""
    rename: dict[sympy.Symbol, sympy.Expr] = {}
    merged, zeros = merge(parallel, exprs, boundary)
    rename.update(zeros)
    low = [s for s in merged if boundary is None or _below(s, boundary, merged)]
    high = [s for s in merged if s not in low]
    tiles: list[_TileSpace] = []
    if boundary is not None:
        tiles.append(_tile("y", sympy.cancel(group.numel / boundary), high, boundary, rename))
    x_numel = group.numel if boundary is None else boundary
    tiles.append(_tile("x", x_numel, low, sympy.S.One, rename))
    if group.raxes:
        merged, zeros = merge(reduced, exprs)
        rename.update(zeros)
        tiles.append(_tile("r0_", group.rnumel, merged, sympy.S.One, rename))
    return tiles, rename


def _below(split: Split, boundary: sympy.Expr, splits: Sequence[Split]) -> bool:
    """Whether ``split`` lies in the tile under ``boundary`` (splits are in ascending order)."""
    at = next(n for n, s in enumerate(splits) if s.divisor == boundary)
    return splits.index(split) < at


def _tile(
    prefix: str,
    numel: sympy.Expr,
    splits: Sequence[Split],
    offset: sympy.Expr,
    rename: dict[sympy.Symbol, sympy.Expr],
) -> _TileSpace:
    entries: list[Entry] = []
    chain: list[Split] = []
    for number, split in enumerate(splits):
        var = axis_symbol(prefix, number)
        rename[split.var] = var
        divisor = sympy.cancel(split.divisor / offset)
        entries.append(Entry(var, divisor, split.length))
        if split.chained:
            chain.append(Split(var, divisor, split.length))
    return _TileSpace(prefix, numel, chain, entries, {})
