"""Unary mathematics, and gelu; capture takes other activation functions apart."""

from __future__ import annotations

import math

from harness.dtypes import DType
from harness.graph.lowering.rule import Call, Rule, Rules
from harness.graph.lowering.scalar import Scalar
from harness.graph.lowering.tensor import Lowered
from harness.ir.nodes import Value
from harness.ir.ops import Op
from harness.ir.ops import Rule as Operands

# Largest finite values, for nan_to_num: IEEE 754 for f16, f32 and f64, and bfloat16's
# 8-bit significand at float32's largest exponent.
_LARGEST = {
    DType.F16: 65504.0,
    DType.BF16: 3.3895313892515355e38,
    DType.F32: 3.4028234663852886e38,
    DType.F64: 1.7976931348623157e308,
}


def unary(op: Op) -> Rule:
    """One operand in the result's type."""

    def lower(call: Call) -> Lowered:
        return call.result(call.scalar.op(op, call.operand(0)))

    return Rule(lower)


def sign(call: Call) -> Lowered:
    """-1, 0 or 1 in the number's type; of a bool it is the bool."""
    value = call.operand(0)
    return call.result(value if value.dtype is DType.BOOL else call.scalar.op(Op.SIGN, value))


def predicate(op: Op) -> Rule:
    """A bool result; false for integers, which have neither NaN nor infinity."""

    def lower(call: Call) -> Lowered:
        tensor = call.tensor(0)
        value = call.operand(0, "self", tensor.dtype)
        if not tensor.dtype.is_float and op is not Op.SIGNBIT:
            return call.result(call.scalar.constant(False, DType.BOOL))
        return call.result(call.scalar.compare(op, value))

    return Rule(lower)


def rounding(op: Op) -> Rule:
    """Rounds floats; integers are whole already."""

    def lower(call: Call) -> Lowered:
        value = call.decisive(0)
        return call.result(call.scalar.op(op, value) if value.dtype.is_float else value)

    return Rule(lower)


def round_decimals(call: Call) -> Lowered:
    """``round(self, decimals)``: half to even."""
    scalar, value = call.scalar, call.operand(0)
    scale = 10.0 ** int(call.number(1, "decimals", 0))
    rounded = scalar.op(Op.ROUND, scalar.scale(value, scale))
    return call.result(scalar.div(rounded, scalar.like(scale, value)))


def square(call: Call) -> Lowered:
    """``self * self``."""
    value = call.operand(0)
    return call.result(call.scalar.mul(value, value))


def nan_to_num(call: Call) -> Lowered:
    """NaN and infinities replaced (by 0 and the largest finite values unless given)."""
    scalar, value = call.scalar, call.operand(0)
    if not call.dtype.is_float:
        return call.result(value)
    if call.dtype not in _LARGEST:
        raise call.reject(f"type {call.dtype.torch_name}", "a 16, 32 or 64-bit float")
    largest = _LARGEST[call.dtype]
    replacements = [
        (call.maybe_number(1, "nan"), 0.0),
        (call.maybe_number(2, "posinf"), largest),
        (call.maybe_number(3, "neginf"), -largest),
    ]
    nan, high, low = (scalar.like(d if n is None else n, value) for n, d in replacements)
    is_high = scalar.compare(Op.EQ, value, scalar.like(math.inf, value))
    is_low = scalar.compare(Op.EQ, value, scalar.like(-math.inf, value))
    finite = scalar.where(is_high, high, scalar.where(is_low, low, value))
    return call.result(scalar.where(scalar.compare(Op.ISNAN, value), nan, finite))


def gelu(call: Call) -> Lowered:
    """``gelu(self, approximate)``: exact with erf, or the tanh approximation."""
    scalar, value = call.scalar, call.operand(0)
    if call.text(1, "approximate", "none") == "tanh":
        inner = scalar.op(Op.TANH, _gelu_inner(scalar, value))
    else:
        inner = scalar.op(Op.ERF, scalar.scale(value, math.sqrt(0.5)))
    half = scalar.scale(value, 0.5)
    return call.result(scalar.mul(half, scalar.shift(inner, 1)))


def _gelu_inner(scalar: Scalar, value: Value) -> Value:
    """``sqrt(2/pi) (x + 0.044715 x³)``, the argument of tanh (Hendrycks and Gimpel)."""
    cube = scalar.mul(scalar.mul(value, value), value)
    return scalar.scale(scalar.add(value, scalar.scale(cube, 0.044715)), math.sqrt(2 / math.pi))


_CALLED_AS_IN_TORCH = (
    *(op for op in Op if op.arity == 1 and op.rule is Operands.FLOAT),
    Op.NEG,
    Op.ABS,
    Op.RELU,
)

RULES: Rules = {
    **{f"aten.{op.value}.default": unary(op) for op in _CALLED_AS_IN_TORCH},
    "aten.special_modified_bessel_i0.default": unary(Op.BESSEL_I0),
    "aten.special_modified_bessel_i1.default": unary(Op.BESSEL_I1),
    "aten.sign.default": Rule(sign),
    "aten.sgn.default": Rule(sign),
    "aten.bitwise_not.default": unary(Op.BIT_NOT),
    "aten.floor.default": rounding(Op.FLOOR),
    "aten.ceil.default": rounding(Op.CEIL),
    "aten.round.default": rounding(Op.ROUND),
    "aten.trunc.default": rounding(Op.TRUNC),
    "aten.round.decimals": Rule(round_decimals),
    "aten.isnan.default": predicate(Op.ISNAN),
    "aten.isinf.default": predicate(Op.ISINF),
    "aten.signbit.default": predicate(Op.SIGNBIT),
    "aten.square.default": Rule(square),
    "aten.nan_to_num.default": Rule(nan_to_num, partial=True),
    "aten.gelu.default": Rule(gelu),
}
