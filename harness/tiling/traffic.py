"""Bytes one launch moves, as a model: every distinct element once.

Read elements and written elements each count once, memory that is updated in place
twice. Broadcast reads count what they touch, never more than the storage holds, and an
access that cannot be counted counts nothing: rather too little than too much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import sympy

from harness.ir.nodes import StoreMode
from harness.ir.program import Program
from harness.tiling.plan import PlanSegment
from harness.tiling.rewrite import loads

Ranges = Mapping[sympy.Symbol, sympy.Expr]


def bytes_moved(
    program: Program,
    segments: Sequence[PlanSegment],
    internal: frozenset[str],
    ranges: Ranges,
) -> int:
    """Modelled bytes of one launch; 0 for what depends on an unknown size."""
    reads: dict[str, dict[sympy.Expr, int]] = {}
    writes: dict[str, dict[sympy.Expr, int]] = {}
    stores = [s for segment in segments for s in segment.stores]
    everything = _product(ranges.values())
    for load in loads(stores):
        points = everything if load.indirect else touched(load.index, ranges)
        reads.setdefault(load.buffer, {})[load.index] = points
    for store in stores:
        points = everything if store.indirect else touched(store.index, ranges)
        writes.setdefault(store.buffer, {})[store.index] = points
        if store.mode is StoreMode.ATOMIC_ADD:
            reads.setdefault(store.buffer, {})[store.index] = points
    total = 0
    for table in (reads, writes):
        for name, accesses in table.items():
            if name not in internal:
                buffer = program.buffer(name)
                most = int(buffer.numel) if buffer.numel.is_Integer else 0
                total += min(sum(accesses.values()), most) * buffer.dtype.itemsize
    return total


def touched(index: sympy.Expr, ranges: Ranges) -> int:
    """Distinct values of an index that is one-to-one in the variables it uses."""
    used = index.free_symbols
    return _product(size for var, size in ranges.items() if var in used)


def _product(sizes: Iterable[sympy.Expr]) -> int:
    product = sympy.Mul(*sizes)
    return int(product) if product.is_Integer else 0
