"""Pointwise arithmetic: operands broadcast, promoted, combined element by element."""

from __future__ import annotations

import math
from collections.abc import Callable

import sympy

from harness.dtypes import DType
from harness.graph.lowering.rule import Call, Rule, Rules
from harness.graph.lowering.tensor import Lowered
from harness.ir.index import FloorDiv
from harness.ir.nodes import Compute, Constant, IndexValue, Value
from harness.ir.ops import NUMBERS, Op


def binary(op: Op) -> Rule:
    """Both operands in the result's type."""

    def lower(call: Call) -> Lowered:
        return call.result(call.scalar.op(op, call.operand(0), call.operand(1)))

    return Rule(lower)


def stepped(op: Op) -> Rule:
    """Both operands in the result's type, in which it jumps."""

    def lower(call: Call) -> Lowered:
        return call.result(call.scalar.op(op, call.decisive(0), call.decisive(1)))

    return Rule(lower)


def additive(op: Op, *, reverse: bool = False) -> Rule:
    """``add``, ``sub`` and ``rsub`` with their factor ``alpha`` on the second operand."""

    def lower(call: Call) -> Lowered:
        left, right = call.operand(0, "self"), call.operand(1)
        alpha = call.number(2, "alpha", 1)
        scalar = call.scalar
        if is_shifted_position(op, left, right):
            return call.result(left)
        if reverse:
            left, right = right, left
            return call.result(scalar.op(op, left, scalar.scale(right, alpha)))
        return call.result(scalar.op(op, left, scalar.scale(right, alpha)))

    return Rule(lower)


def is_shifted_position(op: Op, left: Value, right: Value) -> bool:
    """Whether this is a position, as a float, plus or minus zero. (For other values
    -0.0 + 0.0 is 0.0, so that zero may not be left out.)"""
    return (
        op in (Op.ADD, Op.SUB)
        and isinstance(right, Constant)
        and right.number == 0
        and isinstance(left, Compute)
        and left.op is Op.CAST
        and isinstance(left.args[0], IndexValue)
    )


def mul(call: Call) -> Lowered:
    """Product."""
    return call.result(call.scalar.mul(call.operand(0), call.operand(1)))


def div(call: Call) -> Lowered:
    """True division; with ``rounding_mode`` floor or trunc."""
    mode = call.text(2, "rounding_mode")
    left, right = call.operand(0), call.operand(1)
    scalar = call.scalar
    if mode == "floor":
        return call.result(floor_quotient(call, left, right))
    if mode == "trunc":
        if call.dtype.is_float:
            return call.result(scalar.op(Op.TRUNC, scalar.div(left, right)))
        return call.result(scalar.op(Op.TRUNC_DIV, left, right))
    return call.result(scalar.div(left, right))


def floor_quotient(call: Call, left: Value, right: Value) -> Value:
    """Division rounded down."""
    return call.scalar.op(Op.FLOOR_DIV, left, right)


def floor_divide(call: Call) -> Lowered:
    """``floor_divide``."""
    return call.result(floor_quotient(call, call.decisive(0), call.decisive(1)))


def comparison(op: Op) -> Rule:
    """Operands in their common type, result bool."""

    def lower(call: Call) -> Lowered:
        common = call.promoted(0, 1)
        left, right = call.decisive(0, "self", common), call.decisive(1, "other", common)
        return call.result(call.scalar.compare(op, left, right))

    return Rule(lower)


def logical(op: Op) -> Rule:
    """Operands as truth values, result bool."""

    def lower(call: Call) -> Lowered:
        count = 1 if op is Op.LOGICAL_NOT else 2
        args = [call.operand(k, "other", DType.BOOL) for k in range(count)]
        return call.result(call.scalar.compare(op, *args))

    return Rule(lower)


def pow_(call: Call) -> Lowered:
    """``pow``; small constant exponents become products and roots."""
    base, exponent = call.operand(0), call.operand(1, "exponent")
    return call.result(power(call, base, exponent))


def power(call: Call, base: Value, exponent: Value) -> Value:
    """``base ** exponent`` of equal types. Integers only with a constant exponent."""
    scalar = call.scalar
    if base.dtype.is_integer:
        if isinstance(exponent, Constant) and exponent.number >= 0:
            return _repeated(call, base, int(exponent.number))
        raise call.reject("a power of integers", "floats, or an exponent known when compiling")
    if isinstance(exponent, Constant):
        number = exponent.number
        special = {0.5: Op.SQRT, -0.5: Op.RSQRT, -1.0: Op.RECIPROCAL}.get(float(number))
        if special is not None and base.dtype.is_float:
            return scalar.op(special, base)
        if math.isfinite(number) and number == int(number) and abs(number) <= 8:
            product = _repeated(call, base, abs(int(number)))
            if number >= 0:
                return product
            if base.dtype.is_float:
                return scalar.op(Op.RECIPROCAL, product)
    return scalar.op(Op.POW, base, exponent)


def _repeated(call: Call, base: Value, times: int) -> Value:
    scalar = call.scalar
    if times == 0:
        return scalar.like(1, base)
    result: Value | None = None
    square = base
    while times:
        if times & 1:
            result = square if result is None else scalar.mul(result, square)
        times >>= 1
        if times:
            square = scalar.mul(square, square)
    assert result is not None
    return result


def where(call: Call) -> Lowered:
    """``where(condition, self, other)``."""
    mask = call.operand(0, "condition", DType.BOOL)
    return call.result(call.scalar.where(mask, call.operand(1), call.operand(2)))


def masked_fill(call: Call) -> Lowered:
    """``masked_fill(self, mask, value)``."""
    mask = call.operand(1, "mask", DType.BOOL)
    return call.result(call.scalar.where(mask, call.operand(2, "value"), call.operand(0)))


def clamp(call: Call) -> Lowered:
    """``clamp(self, min, max)``; either bound may be absent. NaN passes through."""
    value = call.operand(0)
    if call.raw(1, "min", None) is not None:
        value = call.scalar.op(Op.MAXIMUM, value, call.operand(1, "min"))
    if call.raw(2, "max", None) is not None:
        value = call.scalar.op(Op.MINIMUM, value, call.operand(2, "max"))
    return call.result(value)


def clamp_one(op: Op, name: str) -> Rule:
    """``clamp_min`` and ``clamp_max``."""

    def lower(call: Call) -> Lowered:
        return call.result(call.scalar.op(op, call.operand(0), call.operand(1, name)))

    return Rule(lower)


def addcmul(call: Call) -> Lowered:
    """``self + value * tensor1 * tensor2``."""
    scalar = call.scalar
    product = scalar.mul(call.operand(1, "tensor1"), call.operand(2, "tensor2"))
    return call.result(
        scalar.add(call.operand(0), scalar.scale(product, call.number(3, "value", 1)))
    )


def addcdiv(call: Call) -> Lowered:
    """``self + value * tensor1 / tensor2``."""
    scalar = call.scalar
    quotient = scalar.div(call.operand(1, "tensor1"), call.operand(2, "tensor2"))
    return call.result(
        scalar.add(call.operand(0), scalar.scale(quotient, call.number(3, "value", 1)))
    )


def output_gradient(call: Call) -> Lowered:
    """``sigmoid_backward`` and ``tanh_backward``: the gradient through the function, from
    its own output ``y``: ``y (1 - y)`` and ``1 - y²``."""
    scalar, output = call.scalar, call.operand(1, "output")
    one = scalar.like(1, output)
    if call.node.op.startswith("aten.tanh"):
        slope = scalar.sub(one, scalar.mul(output, output))
    else:
        slope = scalar.mul(output, scalar.sub(one, output))
    return call.result(scalar.mul(call.operand(0, "grad_output"), slope))


def threshold_backward(call: Call) -> Lowered:
    """The gradient where self is above the threshold."""
    scalar, grad = call.scalar, call.operand(0, "grad_output")
    value = call.operand(1, "self")
    low = scalar.compare(Op.LE, value, scalar.like(call.number(2, "threshold"), value))
    return call.result(scalar.where(low, scalar.like(0, grad), grad))


def cast(call: Call) -> Lowered:
    """``_to_copy`` and ``convert_element_type``: the node's type says to what."""
    tensor = call.tensor(0)
    value = call.broadcast(tensor, call.shape)
    if tensor.dtype is not call.dtype and (tensor.dtype.itemsize == 1 or not call.dtype.is_float):
        value = call.rounded(value, tensor.dtype)
    position = scaled_position(call, value) if call.dtype.is_integer else None
    if position is not None:
        return call.result(call.context.index_value(position, call.dtype))
    return call.result(value)


def view_as_type(call: Call) -> Lowered:
    """``view(dtype)``: the same bits; 16-bit floats, which are computed with in 32, are narrowed
    before and widened after."""
    source, target, builder = call.tensor(0), call.dtype, call.scalar.builder
    if source.dtype is target:
        return call.result(source.value)
    kinds = (source.dtype, target)
    if source.dtype.itemsize != target.itemsize or not _WITH_BITS.issuperset(kinds):
        raise call.reject(
            f"{source.dtype.torch_name} as {target.torch_name}",
            "two types of one width, neither of them bool or of 8-bit floats",
        )
    value = source.value
    if value.dtype is not source.dtype:
        value = builder.compute(Op.CAST, value, dtype=source.dtype)
    return call.result(builder.compute(Op.BITCAST, value, dtype=target))


_WITH_BITS = frozenset((*NUMBERS, DType.F16, DType.BF16))


def fused_multiply_add(call: Call) -> Lowered:
    """``prims.fma``: rounded once."""
    return call.result(call.scalar.op(Op.FMA, *(call.operand(n) for n in range(3))))


# Integers up to here are exact in float32 (24 bits of significand).
_EXACT_IN_F32 = 2**24


def scaled_position(call: Call, value: Value) -> sympy.Expr | None:
    """A position times a power of two below one, computed in floating point and about to
    be cut off: an exact integer division, which can address memory (nearest upsampling
    is written so in models)."""
    match value:
        case Compute(op=Op.MUL, args=(Compute(op=Op.CAST, args=(IndexValue() as at,)), factor)):
            pass
        case _:
            return None
    if at.indirect or not isinstance(factor, Constant) or not 0 < factor.number <= 1:
        return None
    inverse = 1 / factor.number
    low, high = call.context.simplifier(call.shape).bounds(at.index)
    exact = inverse == int(inverse) and int(inverse) & (int(inverse) - 1) == 0
    if not exact or low is None or high is None or not (low.is_Integer and high.is_Integer):
        return None
    if low < 0 or high >= _EXACT_IN_F32:
        return None
    return FloorDiv(at.index, sympy.Integer(int(inverse)))


def copy(call: Call) -> Lowered:
    """``copy(self, src)``: the source in self's shape and type."""
    return call.result(call.operand(1, "src"))


def fill(call: Call) -> Lowered:
    """``fill(self, value)``."""
    return call.result(call.operand(1, "value"))


def _overloads(name: str, rule: Rule, *overloads: str) -> dict[str, Rule]:
    return {f"aten.{name}.{overload}": rule for overload in overloads}


_BITWISE: dict[str, Op] = {
    "bitwise_and": Op.BIT_AND,
    "bitwise_or": Op.BIT_OR,
    "bitwise_xor": Op.BIT_XOR,
    "bitwise_left_shift": Op.SHIFT_LEFT,
    "bitwise_right_shift": Op.SHIFT_RIGHT,
    "__lshift__": Op.SHIFT_LEFT,
    "__rshift__": Op.SHIFT_RIGHT,
}
_COMPARISON: dict[str, Op] = {
    "eq": Op.EQ,
    "ne": Op.NE,
    "lt": Op.LT,
    "le": Op.LE,
    "gt": Op.GT,
    "ge": Op.GE,
}
_LOGICAL: dict[str, Op] = {
    "logical_and": Op.LOGICAL_AND,
    "logical_or": Op.LOGICAL_OR,
    "logical_xor": Op.LOGICAL_XOR,
    "logical_not": Op.LOGICAL_NOT,
}
_BINARY: dict[str, Op] = {
    "maximum": Op.MAXIMUM,
    "minimum": Op.MINIMUM,
    "atan2": Op.ATAN2,
    "hypot": Op.HYPOT,
}

Maker = Callable[[Op], Rule]


def nextafter(call: Call) -> Lowered:
    """``nextafter``; 16-bit floats have other neighbours than those they compute in."""
    if call.dtype.compute is not call.dtype:
        raise call.reject(f"neighbours in {call.dtype.short}", "float32 or float64")
    return call.result(call.scalar.op(Op.NEXTAFTER, call.operand(0), call.operand(1)))


def _table(ops: dict[str, Op], make: Maker, *overloads: str) -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for name, op in ops.items():
        rules.update(_overloads(name, make(op), *overloads))
    return rules


RULES: Rules = {
    **_overloads("add", additive(Op.ADD), "Tensor", "Scalar"),
    **_overloads("sub", additive(Op.SUB), "Tensor", "Scalar"),
    **_overloads("rsub", additive(Op.SUB, reverse=True), "Tensor", "Scalar"),
    **_overloads("mul", Rule(mul), "Tensor", "Scalar"),
    **_overloads("div", Rule(div), "Tensor", "Scalar", "Tensor_mode", "Scalar_mode"),
    **_overloads("true_divide", Rule(div), "Tensor", "Scalar"),
    **_overloads("floor_divide", Rule(floor_divide), "default", "Scalar"),
    **_overloads("remainder", stepped(Op.REMAINDER), "Tensor", "Scalar", "Scalar_Tensor"),
    **_overloads("fmod", stepped(Op.FMOD), "Tensor", "Scalar"),
    **_overloads("copysign", binary(Op.COPYSIGN), "Tensor", "Scalar"),
    **_overloads("pow", Rule(pow_, partial=True), "Tensor_Scalar", "Tensor_Tensor", "Scalar"),
    **_overloads("where", Rule(where), "self", "ScalarSelf", "ScalarOther", "Scalar"),
    **_overloads("masked_fill", Rule(masked_fill), "Scalar", "Tensor"),
    **_overloads("clamp", Rule(clamp), "default", "Tensor"),
    **_overloads("clamp_min", clamp_one(Op.MAXIMUM, "min"), "default", "Tensor"),
    **_overloads("clamp_max", clamp_one(Op.MINIMUM, "max"), "default", "Tensor"),
    **_overloads("fill", Rule(fill), "Scalar", "Tensor"),
    **_table(_BITWISE, binary, "Tensor", "Scalar", "Tensor_Scalar", "Scalar_Tensor"),
    **_table(_COMPARISON, comparison, "Tensor", "Scalar"),
    **_table(_LOGICAL, logical, "default"),
    **_table(_BINARY, binary, "default"),
    "aten.nextafter.default": Rule(nextafter, partial=True),
    "aten.addcmul.default": Rule(addcmul),
    "aten.addcdiv.default": Rule(addcdiv),
    "aten.sigmoid_backward.default": Rule(output_gradient),
    "aten.tanh_backward.default": Rule(output_gradient),
    "aten.threshold_backward.default": Rule(threshold_backward),
    "aten.view.dtype": Rule(view_as_type, view=True, partial=True),
    "prims.fma.default": Rule(fused_multiply_add),
    "aten._to_copy.default": Rule(cast),
    "aten.to.dtype": Rule(cast),
    "prims.convert_element_type.default": Rule(cast),
    "aten.copy.default": Rule(copy),
}
