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
    Reduce,
    ReduceKind,
    Store,
    Value,
    store_roots,
    walk,
)
from harness.ir.ops import Op
from harness.tiling.plan import PlanSegment
from harness.tiling.rewrite import substitute


def online_softmax(segments: Sequence[PlanSegment], builder: Builder) -> tuple[PlanSegment, ...]:
    """``segments`` with every pair (max of v, sum of exp(v - max of v)) made the two
    components of one online softmax. ``builder`` is the one that made the values."""
    stores = [s for segment in segments for s in segment.stores]
    pairs = [p for v in walk(store_roots(stores)) if (p := _pair(v)) is not None]
    if not pairs:
        return tuple(segments)
    roles: dict[int, tuple[Value, int]] = {}
    for total, top in pairs:
        roles[id(total)] = (top.args[0], 1)
        roles[id(top)] = (top.args[0], 0)
    made: dict[int, Value] = {}
    for value in walk(store_roots(stores)):
        if id(value) in roles and isinstance(value, Reduce):
            source, component = roles[id(value)]
            made[id(value)] = builder.reduce(
                ReduceKind.SOFTMAX, made[id(source)], dtype=value.dtype, component=component
            )
        else:
            made[id(value)] = substitute(value, made, builder, lambda expr: expr)
    return tuple(
        PlanSegment(segment.looped, tuple(_rebuilt(s, made) for s in segment.stores))
        for segment in segments
    )


def _rebuilt(store: Store, made: dict[int, Value]) -> Store:
    indirect = tuple((symbol, made[id(v)]) for symbol, v in store.indirect)
    return Store(store.buffer, store.index, made[id(store.value)], store.mode, indirect)


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
