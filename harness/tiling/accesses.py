"""The memory a plan touches, as accesses for the model of bytes (``ir.traffic``)."""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from harness.ir.nodes import Axis, IndexValue, Indirect, Load, StoreMode, loads, walk
from harness.ir.program import Program
from harness.ir.traffic import Access
from harness.tiling.plan import PlanSegment, Tile


def accesses(
    program: Program,
    segments: Sequence[PlanSegment],
    internal: frozenset[str],
    tiles: Sequence[Tile],
) -> tuple[list[Access], list[Access]]:
    """Reads and writes of one launch; buffers in ``internal`` have no memory. An atomic
    addition reads what it writes."""
    buffers = {b.name: b for b in program.buffers if b.name not in internal}
    reads: list[Access] = []
    writes: list[Access] = []
    stores = [s for segment in segments for s in segment.stores]
    for load in loads(stores):
        if load.buffer in buffers:
            axes = _axes(load.index, load.indirect, tiles)
            reads.append(Access(buffers[load.buffer], load.index, axes))
    for store in stores:
        if store.buffer in buffers:
            axes = _axes(store.index, store.indirect, tiles)
            access = Access(buffers[store.buffer], store.index, axes)
            writes.append(access)
            if store.mode is StoreMode.ATOMIC_ADD:
                reads.append(access)
    return reads, writes


def _axes(index: sympy.Expr, indirect: Indirect, tiles: Sequence[Tile]) -> tuple[Axis, ...]:
    """What an access runs over: the entries that its index uses. Where an index comes from
    memory every point may touch another element; entries of one tile overlap, so the tile
    counts once."""
    if not indirect:
        used = index.free_symbols
        return tuple(Axis(e.var, e.length) for t in tiles for e in t.entries if e.var in used)
    used = set(index.free_symbols)
    for value in walk([v for _, v in indirect]):
        if isinstance(value, Load | IndexValue):
            used |= value.index.free_symbols
    varied = [t for t in tiles if any(e.var in used for e in t.entries)]
    return tuple(Axis(sympy.Symbol(f"{t.prefix}point", integer=True), t.numel) for t in varied)
