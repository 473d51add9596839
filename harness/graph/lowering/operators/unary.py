"""Unary mathematics and activation functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from harness.dtypes import DType
from harness.graph.lowering.rule import Call, Rule, Rules
from harness.graph.lowering.scalar import Scalar
from harness.graph.lowering.tensor import Lowered
from harness.ir.nodes import Value
from harness.ir.ops import ROWS, Op
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


def logit(call: Call) -> Lowered:
    """``log(x / (1 - x))``, x first clamped to [eps, 1 - eps] if eps is given."""
    scalar, value = call.scalar, call.operand(0)
    eps = call.maybe_number(1, "eps")
    if eps is not None:
        low = scalar.op(Op.MAXIMUM, value, scalar.like(eps, value))
        value = scalar.op(Op.MINIMUM, low, scalar.like(1 - eps, value))
    odds = scalar.div(value, scalar.sub(scalar.like(1, value), value))
    return call.result(scalar.op(Op.LOG, odds))


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


def activation(function: Callable[[Scalar, Value], Value]) -> Rule:
    """An activation function without parameters."""
    return Rule(lambda call: call.result(function(call.scalar, call.operand(0))))


def silu(scalar: Scalar, value: Value) -> Value:
    """``x sigmoid(x)``."""
    return scalar.mul(value, scalar.op(Op.SIGMOID, value))


def mish(scalar: Scalar, value: Value) -> Value:
    """``x tanh(softplus(x))``."""
    return scalar.mul(value, scalar.op(Op.TANH, softplus_of(scalar, value, 1.0, 20.0)))


def hard_swish(scalar: Scalar, value: Value) -> Value:
    """``x`` times its hard sigmoid."""
    return scalar.mul(value, hard_sigmoid(scalar, value))


def hard_sigmoid(scalar: Scalar, value: Value) -> Value:
    """``clamp(x + 3, 0, 6) / 6``."""
    shifted = scalar.shift(value, 3)
    low = scalar.op(Op.MAXIMUM, shifted, scalar.like(0, value))
    return scalar.div(scalar.op(Op.MINIMUM, low, scalar.like(6, value)), scalar.like(6, value))


def softplus_of(scalar: Scalar, value: Value, beta: float, threshold: float) -> Value:
    """``log(1 + exp(beta x)) / beta``, x itself above the threshold."""
    scaled = scalar.scale(value, beta)
    smooth = scalar.op(Op.LOG1P, scalar.op(Op.EXP, scaled))
    if beta != 1:
        smooth = scalar.div(smooth, scalar.like(beta, value))
    high = scalar.compare(Op.GT, scaled, scalar.like(threshold, value))
    return scalar.where(high, value, smooth)


def softplus(call: Call) -> Lowered:
    """``softplus(self, beta, threshold)``."""
    beta, threshold = float(call.number(1, "beta", 1)), float(call.number(2, "threshold", 20))
    return call.result(softplus_of(call.scalar, call.operand(0), beta, threshold))


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


def elu(call: Call) -> Lowered:
    """``elu(self, alpha, scale, input_scale)``."""
    scalar, value = call.scalar, call.operand(0)
    alpha, scale = float(call.number(1, "alpha", 1)), float(call.number(2, "scale", 1))
    inner = scalar.scale(value, call.number(3, "input_scale", 1))
    negative = scalar.scale(scalar.op(Op.EXPM1, inner), alpha * scale)
    high = scalar.compare(Op.GT, value, scalar.like(0, value))
    return call.result(scalar.where(high, scalar.scale(value, scale), negative))


def leaky_relu(call: Call) -> Lowered:
    """``leaky_relu(self, negative_slope)``."""
    scalar, value = call.scalar, call.operand(0)
    high = scalar.compare(Op.GT, value, scalar.like(0, value))
    low = scalar.scale(value, call.number(1, "negative_slope", 0.01))
    return call.result(scalar.where(high, value, low))


def hardtanh(call: Call) -> Lowered:
    """``hardtanh(self, min_val, max_val)``."""
    scalar, value = call.scalar, call.operand(0)
    low = scalar.op(Op.MAXIMUM, value, scalar.like(call.number(1, "min_val", -1), value))
    return call.result(scalar.op(Op.MINIMUM, low, scalar.like(call.number(2, "max_val", 1), value)))


def relu6(call: Call) -> Lowered:
    """``clamp(self, 0, 6)``."""
    scalar, value = call.scalar, call.operand(0)
    low = scalar.op(Op.RELU, value)
    return call.result(scalar.op(Op.MINIMUM, low, scalar.like(6, value)))


def threshold(call: Call) -> Lowered:
    """``threshold(self, threshold, value)``: value where self is not above it."""
    scalar, value = call.scalar, call.operand(0)
    limit = scalar.like(call.number(1, "threshold"), value)
    low = scalar.compare(Op.LE, value, limit)
    return call.result(scalar.where(low, scalar.like(call.number(2, "value"), value), value))


_CALLED_AS_IN_TORCH = (
    *(op for op, row in ROWS.items() if row.arity == 1 and row.rule is Operands.FLOAT),
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
    "aten.logit.default": Rule(logit),
    "aten.nan_to_num.default": Rule(nan_to_num, partial=True),
    "aten.silu.default": activation(silu),
    "aten.mish.default": activation(mish),
    "aten.hardsigmoid.default": activation(hard_sigmoid),
    "aten.hardswish.default": activation(hard_swish),
    "aten.softplus.default": Rule(softplus),
    "aten.gelu.default": Rule(gelu),
    "aten.elu.default": Rule(elu),
    "aten.leaky_relu.default": Rule(leaky_relu),
    "aten.hardtanh.default": Rule(hardtanh),
    "aten.relu6.default": Rule(relu6),
    "aten.threshold.default": Rule(threshold),
}
