"""Sums of rows that differ from one number at a single position, as the gradient of a loss does at
its target: two numbers are multiplied and added, without a loop."""

from __future__ import annotations

from collections.abc import Sequence

from harness.dtypes import DType
from harness.ir import nodes as ir
from harness.ir.ops import Op
from harness.ir.value_bounds import is_held


def single_sum(arg: ir.Value, axes: Sequence[ir.Axis], builder: ir.Builder) -> ir.Value | None:
    """The sum of ``arg`` over ``axes``, if that knows where it is by one comparison alone."""
    along, numel = {axis.var for axis in axes}, ir.points(axes)
    every = list(ir.walk([arg]))
    placed = [v for v in every if isinstance(v, ir.Load | ir.IndexValue)]
    placed = [v for v in placed if v.index.free_symbols & along]
    hits = [v for v in every if not set(placed).isdisjoint(ir.operands(v))]
    inner = any(isinstance(v, ir.Reduce | ir.Scan | ir.Sort) for v in every)
    if inner or len(placed) != 1 or len(hits) != 1 or not numel.is_Integer:
        return None
    (here,), (hit,) = placed, hits
    if not (isinstance(here, ir.IndexValue) and isinstance(hit, ir.Compute) and hit.op is Op.EQ):
        return None
    there = hit.args[hit.args[0] is here]
    starts = (here.index - axis.var for axis in axes if axis.size == numel)
    start = next((s for s in starts if not s.free_symbols & along), None)
    if start is None or here.indirect or there is here or not is_held(here):
        return None
    for user in (v for v in every if hit in ir.operands(v)):
        op = user.op if isinstance(user, ir.Compute) else None
        if op is not Op.CAST and (op is not Op.WHERE or hit in ir.operands(user)[1:]):
            return None

    def decided(holds: bool) -> ir.Value:
        def replace(value: ir.Value, made: ir.Made) -> ir.Value | None:
            if not isinstance(value, ir.Compute) or hit not in value.args:
                return None
            cast = value.op is Op.CAST
            return builder.constant(holds, value.dtype) if cast else made[id(value.args[2 - holds])]

        return ir.rewrite([arg], builder, replace=replace)[id(arg)]

    def compute(op: Op, *args: ir.Value) -> ir.Value:
        return builder.compute(op, *args, dtype=arg.dtype)

    ends = zip((Op.GE, Op.LT), (start, start + numel), strict=True)
    bounds = [(op, builder.index(end, there.dtype)) for op, end in ends]
    inside = [builder.compute(op, there, end, dtype=DType.BOOL) for op, end in bounds]
    found = builder.compute(Op.LOGICAL_AND, *inside, dtype=DType.BOOL)
    other = decided(False)
    rest = compute(Op.MUL, other, builder.constant(int(numel) - 1, arg.dtype))
    total = compute(Op.ADD, compute(Op.WHERE, found, decided(True), other), rest)
    return compute(Op.ADD, total, builder.constant(0, arg.dtype))  # nothing but -0.0 comes to 0.0
