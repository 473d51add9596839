"""Positions that a kernel computes from floats, in 32 bits.

An interpolation finds the pixels around a point in floats and makes them 64-bit integers, as torch
does. A device converts those at a quarter of the rate of 32 bits, and its arithmetic has 32.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.dtypes import DType
from harness.ir import nodes as ir
from harness.ir.ops import Op
from harness.ir.simplify import Simplifier
from harness.ir.value_bounds import value_bounds
from harness.tiling.plan import Tile


def in_32_bits(
    stores: Sequence[ir.Store], tiles: Sequence[Tile], builder: ir.Builder
) -> Sequence[ir.Store]:
    """``stores`` in which loads, positions and conversions take 64-bit integers that 32 bits hold
    for certain as what they are computed to in those; as they are where no float becomes an
    integer. ``builder`` is the one that made the values."""
    known = Simplifier({e.var: e.length for tile in tiles for e in tile.entries})
    narrow: dict[int, ir.Value] = {}  # by the 64-bit value that each stands for

    def narrowed(value: ir.Value, made: ir.Made) -> ir.Value | None:
        ends = value_bounds(value, known)
        if ends is None or ends[0] < -(1 << 31) or ends[1] >= 1 << 31:
            return None
        match value:
            case ir.Constant():
                return builder.constant(value.bits, DType.I32)
            case ir.IndexValue(indirect=()):
                return builder.index(value.index, DType.I32)
            case ir.Compute(op=Op.CAST, args=(arg,)) if arg.dtype.is_float:
                return builder.compute(Op.CAST, made[id(arg)], dtype=DType.I32)
            case ir.Compute(op=op, args=args) if all(id(arg) in narrow for arg in args):
                return builder.compute(op, *(narrow[id(a)] for a in args), dtype=DType.I32)
        return None

    def replaced(value: ir.Value, made: ir.Made) -> ir.Value | None:
        if value.dtype is DType.I64 and (new := narrowed(value, made)) is not None:
            narrow[id(value)] = new
        converts = isinstance(value, ir.Compute) and value.op is Op.CAST
        if value.dtype is DType.I64 or not (converts or isinstance(value, ir.Load | ir.IndexValue)):
            return None
        short = {id(v): narrow.get(id(v), made[id(v)]) for v in ir.operands(value)}
        return ir.rebuild(value, short, builder, ir.same_address)

    pairs = [(v, a) for v in ir.values(stores) if isinstance(v, ir.Compute) for a in v.args]
    found = any(v.op is Op.CAST and v.dtype is DType.I64 and a.dtype.is_float for v, a in pairs)
    return ir.rewrite_stores(stores, builder, replace=replaced) if found else stores
