"""Writing at computed positions: two nests on one buffer, first the initial contents,
then the values at their positions.

Without accumulation the order of writes to one position is undefined, as in torch.
Accumulation uses atomic additions, in the element type of the buffer; the largest of integers
is found atomically too.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from harness.dtypes import DType
from harness.graph.lowering.operators import indexing
from harness.graph.lowering.rule import Call, Rule, Rules
from harness.graph.lowering.tensor import Lowered, Scattered, Shape, Tensor, canonical
from harness.graph.model import Ref
from harness.ir.nodes import StoreMode, Value
from harness.ir.ops import Op
from harness.ir.verify import ATOMIC


def _written(
    call: Call, points: Shape, target: Sequence[sympy.Expr], value: Value, mode: StoreMode
) -> Scattered:
    """``value`` at the ``target`` of each of the ``points`` of the first argument."""
    if mode.is_atomic and call.dtype not in ATOMIC[mode]:
        raise call.reject(
            f"{mode.value} into {call.dtype.torch_name}",
            "one of " + ", ".join(d.torch_name for d in ATOMIC[mode]),
        )
    initial, value = (call.scalar.cast(v, call.dtype) for v in (call.tensor(0).value, value))
    whole = Tensor(call.shape, call.dtype, initial)
    return Scattered(whole, points, tuple(target), value, mode)


def scatter(call: Call, source: Value, mode: StoreMode) -> Lowered:
    """``source`` (over the index tensor's points) written along one dimension."""
    tensor, index = call.tensor(0), call.tensor(2, "index")
    shape = tensor.shape or indexing.ONE
    dim = call.dim(1, "dim", len(shape))
    target = list(canonical(index.shape or indexing.ONE))
    target[dim] = indexing.position(call, index.value, shape[dim])
    return _written(call, index.shape, target, source, mode)


def scatter_tensor(mode: StoreMode) -> Rule:
    """``scatter.src``, ``scatter_add`` and a largest ``scatter_reduce``: elements of a tensor."""

    def lower(call: Call) -> Lowered:
        index, source = call.tensor(2, "index"), call.tensor(3, "src")
        if call.text(4, "reduce", "amax") != "amax" or not call.flag(5, "include_self", True):
            raise call.reject("another reduction", "the largest, with self")
        points: Shape = index.shape
        return scatter(call, call.read(source, canonical(points), points), mode)

    return Rule(lower, partial=True)


def scatter_value(call: Call) -> Lowered:
    """``scatter.value``: one number everywhere. Along a dimension with one index per
    line it is a comparison of positions, which needs no second nest; in 32 bits, where these hold
    every position."""
    tensor, index = call.tensor(0), call.tensor(2, "index")
    number = call.scalar.cast(call.tensor(3, "value").value, call.dtype)
    dim = call.dim(1, "dim", tensor.rank)
    same = all(
        a == b for d, (a, b) in enumerate(zip(index.shape, tensor.shape, strict=True)) if d != dim
    )
    if not tensor.rank or index.shape[dim] != 1 or not same:
        return scatter(call, number, StoreMode.PLAIN)
    out = list(canonical(call.shape))
    here = call.context.index_value(out[dim])
    out[dim] = sympy.S.Zero
    at = call.read(index, tuple(out), call.shape)
    there = call.context.position(at, call.shape[dim], call.shape)
    if call.shape[dim].is_Integer and call.shape[dim] < 2**31:
        here, there = (call.scalar.cast(one, DType.I32) for one in (here, there))
    hit = call.scalar.compare(Op.EQ, here, there)
    return call.result(call.scalar.where(hit, number, call.operand(0)))


def index_add(call: Call) -> Lowered:
    """``index_add(self, dim, index, source, alpha)``: whole slices added at given positions."""
    tensor, index = call.tensor(0), indexing.places(call, call.tensor(2, "index"))
    source = call.tensor(3, "source")
    dim = call.dim(1, "dim", tensor.rank)
    if not tensor.rank or not index.rank or source.dtype is not tensor.dtype:
        raise call.reject("no dimensions, or two types", "at least one dimension, and one type")
    target = list(canonical(source.shape))
    at = call.read(index, (target[dim],), source.shape)
    target[dim] = indexing.position(call, at, tensor.shape[dim])
    value = call.scalar.mul(source.value, call.number(4, "alpha", 1))
    return _written(call, source.shape, target, value, StoreMode.ATOMIC_ADD)


def index_put(call: Call) -> Lowered:
    """``index_put(self, indices, values, accumulate)``. A single mask of bools with one
    number is a choice between that number and self."""
    tensor, values = call.tensor(0), call.tensor(2, "values")
    accumulate = call.flag(3, "accumulate")
    masks = _masks(call)
    if masks is not None and (values.dtype is tensor.dtype or not accumulate):
        return _masked_put(call, masks, values, accumulate)
    indices = indexing.index_tensors(call)
    if all(t is None for t in indices) or values.dtype is not tensor.dtype:
        raise call.reject("no index tensors, or two types", "at least one, and one type")
    front, common = indexing.common_dimensions(indices)
    rest = [n for d, n in enumerate(tensor.shape) if d >= len(indices) or indices[d] is None]
    points = (*rest[:front], *common, *rest[front:])  # of self[indices]: of the values
    target = indexing.advanced_index(call, tensor.shape, indices, points)
    mode = StoreMode.ATOMIC_ADD if accumulate else StoreMode.PLAIN
    return _written(call, points, target, call.broadcast(values, points), mode)


def _masks(call: Call) -> Tensor | None:
    arg = call.raw(1, "indices")
    if isinstance(arg, tuple) and len(arg) == 1 and isinstance(arg[0], Ref):
        tensor = call.as_tensor(arg[0], "indices")
        return tensor if tensor.dtype is DType.BOOL else None
    return None


def _masked_put(call: Call, mask: Tensor, values: Tensor, accumulate: bool) -> Lowered:
    if any(n != 1 for n in values.shape) or mask.rank > len(call.shape):
        raise call.reject(
            f"a mask with values of shape {values.shape}", "one value for every place"
        )
    scalar = call.scalar
    chosen = call.read(mask, canonical(call.shape)[: mask.rank], call.shape)
    number = scalar.cast(values.value, call.dtype)
    rest = call.operand(0)
    return call.result(
        scalar.where(chosen, scalar.add(rest, number) if accumulate else number, rest)
    )


RULES: Rules = {
    "aten.scatter.src": scatter_tensor(StoreMode.PLAIN),
    "aten.scatter.value": Rule(scatter_value),
    "aten.scatter_add.default": scatter_tensor(StoreMode.ATOMIC_ADD),
    "aten.scatter_reduce.two": scatter_tensor(StoreMode.ATOMIC_MAX),
    "aten.index_add.default": Rule(index_add, partial=True),
    "aten.index_put.default": Rule(index_put, partial=True),
}
