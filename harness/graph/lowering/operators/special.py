"""Special functions that are built from others: by recurrences, asymptotic series and quadrature.
Constants are computed here, from the formulas of the Digital Library of Mathematical Functions
(NIST) that the docstrings name."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate, pairwise

from harness.dtypes import DType
from harness.graph.lowering.rule import Call, Rule, Rules, elementwise, jumping
from harness.graph.lowering.scalar import Scalar
from harness.graph.lowering.tensor import Lowered, Tensor
from harness.ir.nodes import Value
from harness.ir.op_triton import ZETA_TERMS
from harness.ir.ops import Op

_EULER = 0.57721566490153286061


def _polynomial(scalar: Scalar, x: Value, coefficients: list[float]) -> Value:
    """Horner's scheme, lowest coefficient first."""
    total: Value = scalar.like(coefficients[-1], x)
    for number in reversed(coefficients[:-1]):
        total = scalar.add(scalar.mul(total, x), number)
    return total


def digamma(scalar: Scalar, x: Value) -> Value:
    """Ten steps up (DLMF 5.5.2), then the asymptotic series (5.11.2); negative numbers by
    reflection (5.5.4)."""
    below = scalar.compare(Op.LT, x, 0)
    y = scalar.where(below, scalar.sub(1, x), x)
    steps = scalar.op(Op.RECIPROCAL, y)
    for step in range(1, 10):
        steps = scalar.add(steps, scalar.op(Op.RECIPROCAL, scalar.add(y, step)))
    z = scalar.add(y, 10)
    inverse = scalar.op(Op.RECIPROCAL, z)
    terms = [b * math.factorial(2 * k - 1) for k, b in enumerate(ZETA_TERMS, 1)]
    square = scalar.mul(inverse, inverse)
    tail = scalar.mul(square, _polynomial(scalar, square, terms))
    near = scalar.sub(scalar.op(Op.LOG, z), scalar.mul(inverse, 0.5))
    positive = scalar.sub(scalar.sub(near, tail), steps)
    fraction = scalar.sub(x, scalar.op(Op.ROUND, x))
    tangent = scalar.op(Op.TAN, scalar.mul(fraction, math.pi))
    reflected = scalar.sub(positive, scalar.div(math.pi, tangent))
    whole = scalar.compare(Op.EQ, fraction, 0)
    return scalar.where(below, scalar.where(whole, math.nan, reflected), positive)


def _hankel(order: int, count: int) -> list[float]:
    """Coefficients a(k) of the expansions for large arguments (DLMF 10.17.1)."""
    made = [1.0]
    for k in range(1, count):
        made.append(made[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return made


def bessel_i_scaled(order: int) -> Callable[[Scalar, Value], Value]:
    """``exp(-|x|) I(x)`` of order 0 or 1, beyond 50 by its expansion (DLMF 10.40.1)."""

    def function(scalar: Scalar, x: Value) -> Value:
        size = scalar.op(Op.ABS, x)
        near = scalar.op(Op.MINIMUM, size, 50)
        bessel = scalar.op(Op.BESSEL_I1 if order else Op.BESSEL_I0, near)
        scaled = scalar.mul(bessel, scalar.op(Op.EXP, scalar.op(Op.NEG, near)))
        large = scalar.op(Op.MAXIMUM, size, 50)
        signed = [a * (-1) ** k for k, a in enumerate(_hankel(order, 12))]
        series = _polynomial(scalar, scalar.op(Op.RECIPROCAL, large), signed)
        root = scalar.mul(scalar.op(Op.RSQRT, large), 1 / math.sqrt(2 * math.pi))
        beyond = scalar.compare(Op.GT, size, 50)
        found = scalar.where(beyond, scalar.mul(series, root), scaled)
        if not order:
            return found
        negative = scalar.compare(Op.LT, x, 0)
        return scalar.where(negative, scalar.op(Op.NEG, found), found)

    return function


def bessel_k(order: int, scaled: bool) -> Callable[[Scalar, Value], Value]:
    """``K(x)`` of order 0 or 1, ``scaled`` by ``exp(x)``: up to 2 the series (DLMF 10.31.1), up to
    20 the integral over ``exp(-x (cosh t - 1)) cosh(n t)`` (10.32.9), for which the trapezoidal
    rule converges exponentially, beyond it the expansion (10.40.2)."""

    def series(scalar: Scalar, x: Value) -> Value:
        square = scalar.mul(scalar.mul(x, x), 0.25)
        harmonic = [*accumulate((1 / k for k in range(1, 15)), initial=0.0)]
        terms = [(n - _EULER) / math.factorial(k) ** 2 for k, n in enumerate(harmonic[:-1])]
        if order:
            means = enumerate((a + b) / 2 - _EULER for a, b in pairwise(harmonic))
            terms = [-m / (2 * math.factorial(k) * math.factorial(k + 1)) for k, m in means]
        log = scalar.add(scalar.op(Op.LOG, x), -math.log(2))  # half of the least number is 0
        smooth = _polynomial(scalar, square, terms)
        if not order:
            return scalar.sub(smooth, scalar.mul(log, scalar.op(Op.BESSEL_I0, x)))
        rest = scalar.add(scalar.mul(log, scalar.op(Op.BESSEL_I1, x)), scalar.mul(x, smooth))
        return scalar.add(scalar.op(Op.RECIPROCAL, x), rest)

    def integral(scalar: Scalar, x: Value) -> Value:
        step = 0.16
        total: Value = scalar.like(0.5, x)  # half of the first point counts
        for k in range(1, 25):
            reached = math.cosh(step * k)
            part = scalar.op(Op.EXP, scalar.mul(x, 1 - reached))
            total = scalar.add(total, scalar.mul(part, reached if order else 1.0))
        return scalar.mul(total, step)

    def expansion(scalar: Scalar, x: Value) -> Value:
        inverse = scalar.op(Op.RECIPROCAL, x)
        root = scalar.op(Op.SQRT, scalar.mul(inverse, math.pi / 2))
        return scalar.mul(root, _polynomial(scalar, inverse, _hankel(order, 17)))

    def function(scalar: Scalar, x: Value) -> Value:
        near = scalar.op(Op.MINIMUM, x, 2)
        far = scalar.op(Op.MAXIMUM, x, 20)
        middle = scalar.op(Op.MAXIMUM, scalar.op(Op.MINIMUM, x, far), 2)
        low, high = series(scalar, near), integral(scalar, middle)
        high = scalar.where(scalar.compare(Op.GT, x, 20), expansion(scalar, far), high)
        if scaled:
            low = scalar.mul(low, scalar.op(Op.EXP, near))
        else:
            high = scalar.mul(high, scalar.op(Op.EXP, scalar.op(Op.NEG, x)))
        found = scalar.where(scalar.compare(Op.LE, x, 2), low, high)
        zero = scalar.compare(Op.EQ, x, 0)
        return scalar.where(zero, math.inf, found)

    return function


def spherical_j0(scalar: Scalar, x: Value) -> Value:
    """``sin(x) / x``, which is 1 at 0 and 0 at infinity."""
    zero = scalar.compare(Op.EQ, x, 0)
    quotient = scalar.div(scalar.op(Op.SIN, x), x)
    ended = scalar.where(scalar.compare(Op.ISINF, x), 0, quotient)
    return scalar.where(zero, 1, ended)


def polygamma(call: Call) -> Lowered:
    """Derivative ``n`` of digamma (DLMF 25.11.12)."""
    scalar, value, n = call.scalar, call.operand(1, "self"), int(call.number(0, "n"))
    if n == 0:
        return call.result(digamma(scalar, value))
    found = scalar.op(Op.ZETA, n + 1, value)
    if n == 1:  # eager mode's own, and the only one that ends in a number
        ended = scalar.compare(Op.EQ, value, math.inf)
        found = scalar.where(ended, 0, found)
    return call.result(scalar.mul(found, (-1.0) ** (n + 1) * math.factorial(n)))


def _ignoring_nan(op: Op) -> Rule:
    """``fmax`` and ``fmin``: a number wins against NaN."""

    def chosen(scalar: Scalar, left: Value, right: Value) -> Value:
        found = scalar.op(op, left, right)
        if not left.dtype.is_float:
            return found
        found = scalar.where(scalar.compare(Op.ISNAN, right), left, found)
        return scalar.where(scalar.compare(Op.ISNAN, left), right, found)

    return elementwise(chosen, 2)


def least_multiple(scalar: Scalar, left: Value, right: Value) -> Value:
    """``lcm``: of two zeros 0. Numbers below 32 bits are widened, as in C."""
    if left.dtype.itemsize < DType.I32.itemsize:
        wide = (scalar.cast(value, DType.I32) for value in (left, right))
        return scalar.cast(least_multiple(scalar, *wide), left.dtype)
    divisor = scalar.op(Op.GCD, left, right)
    safe = scalar.op(Op.MAXIMUM, divisor, 1)
    return scalar.op(Op.ABS, scalar.mul(scalar.op(Op.TRUNC_DIV, left, safe), right))


def ldexp(call: Call) -> Lowered:
    """``self * 2 ** other``, a power of floats rounded as in eager mode. Of integers, which wrap
    around at 32 bits as there, it is a factor in float64, whose exponent is written as bits."""
    scalar, left, double = call.scalar, call.operand(0), call.dtype is DType.F64
    if call.tensor(1).dtype.is_float:
        power = scalar.op(Op.POW, 2, call.operand(1))
        return call.result(scalar.mul(left, power))
    value = scalar.cast(left, DType.F64)
    exponent = scalar.cast(call.operand(1, dtype=DType.I32), DType.I64)
    for _ in range(3 if double else 1):
        step = scalar.op(Op.MAXIMUM, scalar.op(Op.MINIMUM, exponent, 1000), -1000)
        bits = scalar.op(Op.SHIFT_LEFT, scalar.add(step, 1023), 52)
        value = scalar.mul(value, scalar.builder.compute(Op.BITCAST, bits, dtype=DType.F64))
        exponent = scalar.sub(exponent, step)
    return call.result(scalar.cast(value, left.dtype))


def angle(scalar: Scalar, value: Value) -> Value:
    """The angle of a real number: pi where it is negative, else 0; NaN stays."""
    negative = scalar.compare(Op.LT, value, 0)
    found = scalar.where(negative, scalar.like(math.pi, value), 0)
    return scalar.where(scalar.compare(Op.ISNAN, value), value, found)


def frexp(call: Call) -> Lowered:
    """Mantissa in ±[0.5, 1) and exponent, read off the bits; numbers below the normal ones are
    scaled up first. Zero, infinities and NaN are their own mantissa."""
    scalar = call.scalar
    value = call.decisive(0, "self", call.result_type(0).dtype)
    double = value.dtype is DType.F64
    bits_type, fraction, bias = (DType.I64, 52, 1022) if double else (DType.I32, 23, 126)
    tiny = scalar.compare(Op.LT, scalar.op(Op.ABS, value), 2.0 ** (1 - bias))
    scaled = scalar.where(tiny, scalar.mul(value, 2.0**64), value)
    bits = scalar.builder.compute(Op.BITCAST, scaled, dtype=bits_type)
    mask = (1 << (bits_type.itemsize * 8 - 1 - fraction)) - 1
    shifted = scalar.op(Op.SHIFT_RIGHT, bits, fraction)
    field = scalar.op(Op.BIT_AND, shifted, mask)
    correction = scalar.where(tiny, scalar.like(bias + 64, bits), bias)
    zero = scalar.compare(Op.EQ, value, 0)
    special = scalar.compare(Op.LOGICAL_OR, zero, scalar.compare(Op.EQ, field, mask))
    cleared = scalar.op(Op.BIT_AND, bits, ~(mask << fraction))
    half = scalar.op(Op.BIT_OR, cleared, bias << fraction)
    mantissa = scalar.builder.compute(Op.BITCAST, half, dtype=value.dtype)
    mantissa = scalar.where(special, value, mantissa)
    exponent = scalar.where(special, 0, scalar.sub(field, correction))
    kinds = ((call.result_type(n), value) for n, value in enumerate((mantissa, exponent)))
    return tuple(Tensor(k.shape, k.dtype, scalar.cast(value, k.dtype)) for k, value in kinds)


RULES: Rules = {
    "aten.digamma.default": elementwise(digamma, 1),
    "aten.polygamma.default": Rule(polygamma),
    "aten.special_i0e.default": elementwise(bessel_i_scaled(0), 1),
    "aten.special_i1e.default": elementwise(bessel_i_scaled(1), 1),
    "aten.special_modified_bessel_k0.default": elementwise(bessel_k(0, False), 1),
    "aten.special_modified_bessel_k1.default": elementwise(bessel_k(1, False), 1),
    "aten.special_scaled_modified_bessel_k0.default": elementwise(bessel_k(0, True), 1),
    "aten.special_scaled_modified_bessel_k1.default": elementwise(bessel_k(1, True), 1),
    "aten.special_spherical_bessel_j0.default": elementwise(spherical_j0, 1),
    "aten.fmax.default": _ignoring_nan(Op.MAXIMUM),
    "aten.fmin.default": _ignoring_nan(Op.MINIMUM),
    "aten.lcm.default": elementwise(least_multiple, 2),
    "aten.ldexp.Tensor": Rule(ldexp),
    "aten.angle.default": jumping(angle, 1),
    "aten.frexp.Tensor": Rule(frexp),
}
