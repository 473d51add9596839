"""Tensors made from nothing: constants, positions, triangles, copies."""

from __future__ import annotations

import sympy

from harness.dtypes import DType
from harness.graph.lowering.rule import Call, Rule, Rules
from harness.graph.lowering.tensor import Lowered, Tensor, canonical
from harness.ir.index import flat_index
from harness.ir.nodes import Constant, Value
from harness.ir.ops import Op


def constant(number: bool | int | float) -> Rule:
    """Every element is ``number``. ``empty`` is zeros, so that results are repeatable."""

    def lower(call: Call) -> Lowered:
        return call.result(call.scalar.constant(number, call.dtype))

    return Rule(lower)


def filled(position: int, name: str) -> Rule:
    """Every element is the argument ``name``."""

    def lower(call: Call) -> Lowered:
        return call.result(call.operand(position, name))

    return Rule(lower)


def progression(call: Call, start: Value, step: Value) -> Tensor:
    """``start + step * i0``; whole numbers stay an index expression."""
    scalar = call.scalar
    whole = [
        sympy.Integer(int(v.number))
        for v in (start, step)
        if isinstance(v, Constant) and v.number == int(v.number)
    ]
    if len(whole) == 2:
        return call.result(
            scalar.index(whole[0] + whole[1] * canonical(call.shape)[0], start.dtype)
        )
    position = scalar.cast(scalar.index(canonical(call.shape)[0]), start.dtype)
    return call.result(scalar.add(start, scalar.mul(position, step)))


def arange(call: Call) -> Lowered:
    """``arange`` in its three overloads."""
    count = len(call.node.args)
    overload = call.node.op.rsplit(".", 1)[1]
    start_at = -1 if overload == "default" else 0
    scalar = call.scalar
    compute = call.dtype.compute
    start = (
        scalar.constant(0, compute)
        if start_at < 0
        else scalar.cast(call.tensor(0, "start").value, compute)
    )
    has_step = overload == "start_step" and (count > 2 or call.raw(2, "step", None) is not None)
    step = (
        scalar.cast(call.tensor(2, "step").value, compute)
        if has_step
        else scalar.constant(1, compute)
    )
    return progression(call, start, step)


def iota(call: Call) -> Lowered:
    """``prims.iota(length, start, step)``."""
    scalar = call.scalar
    start = scalar.constant(call.number(1, "start", 0), call.dtype)
    return progression(call, start, scalar.constant(call.number(2, "step", 1), call.dtype))


def eye(call: Call) -> Lowered:
    """The identity matrix."""
    context, (row, column) = call.context, canonical(call.shape)
    same = call.scalar.compare(Op.EQ, context.index_value(row), context.index_value(column))
    return call.result(same)


def triangle(*, lower_part: bool) -> Rule:
    """``tril`` and ``triu``: elements on the other side of a diagonal become zero."""

    def lower(call: Call) -> Lowered:
        row, column = canonical(call.shape)[-2:]
        diagonal = call.size(1, "diagonal", 0)
        op = Op.LE if lower_part else Op.GE
        keep = _position_test(call, op, column - row, diagonal)
        value = call.operand(0)
        return call.result(call.scalar.where(keep, value, call.scalar.like(0, value)))

    return Rule(lower)


def _position_test(call: Call, op: Op, left: sympy.Expr, right: sympy.Expr) -> Value:
    context = call.context
    return call.scalar.compare(op, context.index_value(left), context.index_value(right))


def linspace(call: Call) -> Lowered:
    """``linspace(start, end, steps)``, computed from the nearer end as torch does."""
    scalar = call.scalar
    start, end = float(call.number(0, "start")), float(call.number(1, "end"))
    steps = call.size(2, "steps")
    if not steps.is_Integer:
        raise call.reject(f"steps = {steps}", "a number known when compiling")
    count = int(steps)
    (row,) = canonical(call.shape)
    step = (end - start) / (count - 1) if count > 1 else 0.0
    position = scalar.index(row, DType.F32)
    back = scalar.index(sympy.Integer(count - 1) - row, DType.F32)
    up = scalar.shift(scalar.scale(position, step), start)
    down = scalar.sub(scalar.like(end, back), scalar.scale(back, step))
    near = _position_test(call, Op.LT, row, sympy.Integer(count // 2))
    return call.result(scalar.where(near, up, down) if count > 1 else up)


def random_bits(call: Call) -> Lowered:
    """``harness.random_bits(seed, size)``: the counter is the position in row-major order, so
    that no reordering, tiling or fusion changes an element's number."""
    kind = call.type
    strides = [sympy.Mul(*kind.shape[dim + 1 :]) for dim in range(kind.rank)]
    narrow = kind.numel.is_Integer and kind.numel < 2**31
    position = flat_index(strides, canonical(kind.shape))
    where = call.scalar.index(position, DType.I32 if narrow else DType.I64)
    seed = call.broadcast(call.tensor(0, "seed"), kind.shape)
    bits = call.context.builder.compute(Op.RANDOM_BITS, seed, where, dtype=DType.I32)
    return call.result(bits)


def clone(call: Call) -> Lowered:
    """The same elements; the layout is that of the node's strides if it gets a buffer."""
    return call.result(call.tensor(0).value)


RULES: Rules = {
    "aten.zeros.default": constant(0),
    "aten.zeros_like.default": constant(0),
    "aten.new_zeros.default": constant(0),
    "aten.ones.default": constant(1),
    "aten.ones_like.default": constant(1),
    "aten.new_ones.default": constant(1),
    "aten.empty.memory_format": constant(0),
    "aten.empty_like.default": constant(0),
    "aten.empty_strided.default": constant(0),
    "aten.empty_permuted.default": constant(0),
    "aten.new_empty.default": constant(0),
    "aten.new_empty_strided.default": constant(0),
    "aten.zero.default": constant(0),
    "aten.full.default": filled(1, "fill_value"),
    "aten.full_like.default": filled(1, "fill_value"),
    "aten.new_full.default": filled(2, "fill_value"),
    "aten.scalar_tensor.default": filled(0, "s"),
    "aten.arange.default": Rule(arange),
    "aten.arange.start": Rule(arange),
    "aten.arange.start_step": Rule(arange),
    "prims.iota.default": Rule(iota),
    "aten.linspace.default": Rule(linspace, partial=True),
    "aten.eye.default": Rule(eye),
    "aten.eye.m": Rule(eye),
    "aten.tril.default": triangle(lower_part=True),
    "aten.triu.default": triangle(lower_part=False),
    "harness.random_bits.default": Rule(random_bits),
    "aten.clone.default": Rule(clone, view=True, fresh=True),
    "aten.contiguous.default": Rule(clone, view=True),
}
