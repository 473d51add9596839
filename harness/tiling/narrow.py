"""Positions that a kernel computes from floats, in 32 bits.

An interpolation finds the pixels around a point in floats and makes them 64-bit integers, as torch
does. A device converts those at a quarter of the rate of 32 bits, and its arithmetic has 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.dtypes import DType
from harness.ir import nodes as ir
from harness.ir.ops import Op
from harness.ir.simplify import Simplifier
from harness.ir.value_bounds import value_bounds
from harness.tiling.plan import PlanSegment, Tile


def in_32_bits(
    segments: Sequence[PlanSegment], tiles: Sequence[Tile], builder: ir.Builder
) -> list[PlanSegment]:
    """``segments`` in which loads, positions and conversions take 64-bit integers that 32 bits hold
    for certain as what they are computed to in those; as they are where no float becomes an
    integer. ``builder`` is the one that made the values."""
    values = ir.values([s for one in segments for s in one.stores])
    casts = [v for v in values if isinstance(v, ir.Compute) and v.op is Op.CAST]
    if not any(v.dtype is DType.I64 and v.args[0].dtype.is_float for v in casts):
        return list(segments)
    known = Simplifier({e.var: e.length for tile in tiles for e in tile.entries})
    narrow: dict[int, ir.Value] = {}  # by the 64-bit value that each stands for

    def replaced(value: ir.Value, made: ir.Made) -> ir.Value | None:
        short = {id(v): narrow.get(id(v), made[id(v)]) for v in ir.operands(value)}
        if value.dtype is DType.I64:
            ends = value_bounds(value, known)
            fits = ends is not None and ends[0] >= -(1 << 31) and ends[1] < 1 << 31
            if fits and (new := _narrowed(value, short, builder)) is not None:
                narrow[id(value)] = new
            return None
        converts = isinstance(value, ir.Compute) and value.op is Op.CAST
        if converts or isinstance(value, ir.Load | ir.IndexValue):
            return ir.rebuild(value, short, builder, ir.same_address)
        return None

    made = (ir.rewrite_stores(s.stores, builder, replace=replaced) for s in segments)
    return [replace(s, stores=stores) for s, stores in zip(segments, made, strict=True)]


def _narrowed(value: ir.Value, short: ir.Made, builder: ir.Builder) -> ir.Value | None:
    """A 64-bit ``value`` that 32 bits hold, computed in those from operands in ``short``."""
    match value:
        case ir.Constant():
            return builder.constant(value.bits, DType.I32)
        case ir.IndexValue(indirect=()):
            return builder.index(value.index, DType.I32)
        case ir.Compute(op=op, args=args):
            given = [short[id(arg)] for arg in args]
            if all(v.dtype is DType.I32 or (v.dtype.is_float and op is Op.CAST) for v in given):
                return builder.compute(op, *given, dtype=DType.I32)
        case ir.IndexValue() | ir.Load() | ir.Masked() | ir.Reduce() | ir.Scan() | ir.Sort():
            pass
    return None
