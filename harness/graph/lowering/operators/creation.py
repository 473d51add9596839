"""Tensors made from nothing: constants, positions, random bits; and copies."""

from __future__ import annotations

from functools import partial

import sympy

from harness.dtypes import DType
from harness.graph.lowering.rule import Call, Rule, Rules
from harness.graph.lowering.scalar import is_plain
from harness.graph.lowering.tensor import Lowered, Tensor, canonical
from harness.ir.index import flat_index
from harness.ir.nodes import Constant, Value
from harness.ir.ops import Op


def empty(call: Call) -> Lowered:
    """Zeros, so that results are repeatable."""
    return call.result(call.scalar.constant(0, call.dtype))


def filled(position: int, name: str) -> Rule:
    """Every element is the argument ``name``."""

    def lower(call: Call) -> Lowered:
        value = call.operand(position, name)
        return call.result(call.filler(value.number) if isinstance(value, Constant) else value)

    return Rule(lower)


def progression(call: Call, start: Value, step: Value) -> Tensor:
    """``start + step * i0``; whole numbers stay an index expression."""
    scalar = call.scalar
    whole = [
        sympy.Integer(int(v.number))
        for v in (start, step)
        if isinstance(v, Constant) and v.number == int(v.number)
    ]
    (place,) = canonical(call.shape)
    if len(whole) == 2 and is_plain(made := whole[0] + whole[1] * place):
        return call.result(scalar.index(made, start.dtype))
    position = scalar.cast(scalar.index(place), start.dtype)
    return call.result(scalar.add(start, scalar.mul(position, step)))


def arange(call: Call, start_at: int = 0) -> Lowered:
    """``arange(start, end, step)`` and ``prims.iota(length, start, step)``."""
    given = (call.raw(start_at, "start", 0), call.raw(2, "step", 1))
    values = (call.as_tensor(one, "start, step").value for one in given)
    return progression(call, *(call.scalar.cast(value, call.dtype) for value in values))


def random_bits(call: Call) -> Lowered:
    """``harness.random_bits(seed, size)``: the counter is the position in row-major order, so
    that no reordering, tiling or fusion changes an element's number."""
    kind = call.type
    strides = [sympy.Mul(*kind.shape[dim + 1 :]) for dim in range(kind.rank)]
    narrow = kind.numel.is_Integer and kind.numel < 2**31
    position = flat_index(strides, canonical(kind.shape))
    where = call.scalar.index(position, DType.I32 if narrow else DType.I64)
    seed = call.broadcast(call.tensor(0, "seed"), kind.shape)
    return call.result(call.context.builder.compute(Op.RANDOM_BITS, seed, where, dtype=DType.I32))


def clone(call: Call) -> Lowered:
    """The same elements; the layout is that of the node's strides if it gets a buffer."""
    return call.result(call.tensor(0).value)


RULES: Rules = {
    "aten.empty.memory_format": Rule(empty),
    "aten.empty_strided.default": Rule(empty),
    "aten.empty_permuted.default": Rule(empty),
    "aten.new_empty_strided.default": Rule(empty),
    "aten.full.default": filled(1, "fill_value"),
    "aten.full_like.default": filled(1, "fill_value"),
    "aten.scalar_tensor.default": filled(0, "s"),
    "prims.scalar_tensor.default": filled(0, "s"),
    "aten.zeros.default": Rule(empty),
    "aten.arange.start_step": Rule(arange),
    "prims.iota.default": Rule(partial(arange, start_at=1)),
    "harness.random_bits.default": Rule(random_bits),
    "aten.clone.default": Rule(clone, view=True, fresh=True),
}
