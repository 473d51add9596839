"""A maximum and the sum of exponentials below it, found in one pass over memory.

A softmax needs the row's maximum before it can sum exponentials. In a looped kernel
that is two passes; the online form keeps a running maximum and rescales the running
sum, so that one pass yields both.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.ir.nodes import (
    Builder,
    Compute,
    Made,
    Reduce,
    ReduceKind,
    Value,
    rewrite_stores,
    values,
)
from harness.ir.ops import Op
from harness.tiling.plan import PlanSegment


def online_softmax(segments: Sequence[PlanSegment], builder: Builder) -> tuple[PlanSegment, ...]:
    """``segments`` with every pair (max of v, sum of exp(v - max of v)) made the two
    components of one online softmax. ``builder`` is the one that made the values."""
    stores = [s for segment in segments for s in segment.stores]
    pairs = [p for v in values(stores) if (p := _pair(v)) is not None]
    if not pairs:
        return tuple(segments)
    roles: dict[int, tuple[Value, int]] = {}
    for total, top in pairs:
        roles[id(total)] = (top.args[0], 1)
        roles[id(top)] = (top.args[0], 0)

    def joined(value: Value, made: Made) -> Value | None:
        if id(value) not in roles:
            return None
        source, component = roles[id(value)]
        kind, dtype = ReduceKind.SOFTMAX, value.dtype
        return builder.reduce(kind, made[id(source)], dtype=dtype, component=component)

    return tuple(
        PlanSegment(segment.kind, rewrite_stores(segment.stores, builder, replace=joined))
        for segment in segments
    )


def _pair(value: Value) -> tuple[Reduce, Reduce] | None:
    """(sum, max) if ``value`` is a sum of exponentials of distances to a maximum."""
    if not (isinstance(value, Reduce) and value.kind is ReduceKind.SUM):
        return None
    exponential = value.args[0]
    if not (isinstance(exponential, Compute) and exponential.op is Op.EXP):
        return None
    distance = exponential.args[0]
    if not (isinstance(distance, Compute) and distance.op is Op.SUB):
        return None
    source, top = distance.args
    if not (isinstance(top, Reduce) and top.kind is ReduceKind.MAX):
        return None
    same = top.args[0] is source and top.dtype is value.dtype and value.dtype.is_float
    return (value, top) if same else None
