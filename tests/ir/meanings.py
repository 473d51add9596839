"""What every scalar operation means, and on which operands it is tested.

The compiler only writes operations down; the oracle, which runs programs with numpy, computes them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre
from scipy import special

from harness.ir.ops import Op
from tests.ir.op_numpy import (
    Meaning,
    bessel_i,
    bessel_j,
    bessel_y,
    bitcast,
    cast,
    chebyshev_u,
    erf,
    erfc,
    erfcx,
    erfinv,
    fma,
    fractionless,
    greatest_divisor,
    integer_power,
    lgamma,
    ndtri,
    polynomial,
    random_bits,
    reciprocal,
    relu,
    remainder,
    rsqrt,
    shift_left,
    shift_right,
    sigmoid,
    sign,
    signbit,
    trunc_div,
    where,
    zeta,
)


@dataclass(frozen=True, slots=True)
class Domain:
    """Where an operation is tested: operands are drawn from [low, high], integers are
    clipped to their type; ``specials`` adds infinities, NaN and signed zeros for floats.
    ``nonzero`` keeps zero out of the last operand for integers."""

    low: float = -4.0
    high: float = 4.0
    specials: bool = True
    nonzero: bool = False


@dataclass(frozen=True, slots=True)
class Meant:
    """``meaning`` of an operation on arrays. ``ulps`` is the error allowed against a float64
    reference, in units of the last place of the result."""

    meaning: Meaning
    domain: Domain = Domain()
    ulps: float = 2.0


_SMALL = Domain(-40.0, 40.0)
_DIVIDE = Domain(-60.0, 60.0, nonzero=True)
_POSITIVE = Domain(1e-3, 50.0)
_UNIT = Domain(-1.0, 1.0)
_BITS = Domain(-100.0, 100.0)
_COUNT = Domain(-3.0, 70.0)
_FLAT = Domain(-4.0, 4.0, specials=False)

# Next to a root, which these leave out, relative errors are those of the argument.
_ROOTLESS = Domain(0.1, 6.0, specials=False)
_SHARE = Domain(0.52, 0.999, specials=False)
_RISING = Domain(0.1, 1.8, specials=False)
_ABOVE_ONE = Domain(1.25, 9.0, specials=False)
_WAVE = Domain(2.6, 3.6, specials=False)
_AROUND = Domain(1.0, 2.0, specials=False)

_BEYOND_ROOTS = Domain(1.9, 3.9, specials=False)
_FIRST = Domain(1.2, 1.9, specials=False)

MEANINGS: dict[Op, Meant] = {
    Op.ADD: Meant(np.add),
    Op.SUB: Meant(np.subtract),
    Op.MUL: Meant(np.multiply),
    Op.TRUE_DIV: Meant(np.divide),
    Op.FLOOR_DIV: Meant(np.floor_divide, _DIVIDE),
    Op.TRUNC_DIV: Meant(trunc_div, _DIVIDE),
    Op.REMAINDER: Meant(remainder, _DIVIDE),
    Op.FMOD: Meant(np.fmod, _DIVIDE),
    Op.NEG: Meant(np.negative),
    Op.ABS: Meant(np.abs),
    Op.SIGN: Meant(sign),
    Op.FMA: Meant(fma),
    Op.EQ: Meant(np.equal),
    Op.NE: Meant(np.not_equal),
    Op.LT: Meant(np.less),
    Op.LE: Meant(np.less_equal),
    Op.GT: Meant(np.greater),
    Op.GE: Meant(np.greater_equal),
    Op.LOGICAL_AND: Meant(np.logical_and),
    Op.LOGICAL_OR: Meant(np.logical_or),
    Op.LOGICAL_NOT: Meant(np.logical_not),
    Op.LOGICAL_XOR: Meant(np.logical_xor),
    Op.BIT_AND: Meant(np.bitwise_and, _BITS),
    Op.BIT_OR: Meant(np.bitwise_or, _BITS),
    Op.BIT_XOR: Meant(np.bitwise_xor, _BITS),
    Op.BIT_NOT: Meant(np.invert, _BITS),
    Op.SHIFT_LEFT: Meant(shift_left, _COUNT),
    Op.SHIFT_RIGHT: Meant(shift_right, _COUNT),
    Op.WHERE: Meant(where),
    Op.MAXIMUM: Meant(np.maximum),
    Op.MINIMUM: Meant(np.minimum),
    Op.CAST: Meant(cast, _FLAT),
    Op.BITCAST: Meant(bitcast, _FLAT),
    # exp and exp2 are the hardware's: their error grows with the exponent, to
    # 2**-18 of the result at the ends of float32's range.
    Op.EXP: Meant(np.exp, _SMALL, 64.0),
    Op.EXP2: Meant(np.exp2, _SMALL),
    Op.EXPM1: Meant(np.expm1, _SMALL),
    Op.LOG: Meant(np.log, _POSITIVE),
    Op.LOG2: Meant(np.log2, _POSITIVE),
    Op.LOG10: Meant(np.log10, _POSITIVE),
    Op.LOG1P: Meant(np.log1p, Domain(-0.99, 50.0)),
    Op.SQRT: Meant(np.sqrt, _POSITIVE),
    Op.RSQRT: Meant(rsqrt, _POSITIVE),
    Op.RECIPROCAL: Meant(reciprocal),
    Op.SIN: Meant(np.sin, _SMALL),
    Op.COS: Meant(np.cos, _SMALL),
    Op.TAN: Meant(np.tan, ulps=4.0),
    Op.ASIN: Meant(np.arcsin, _UNIT),
    Op.ACOS: Meant(np.arccos, _UNIT),
    Op.ATAN: Meant(np.arctan),
    Op.SINH: Meant(np.sinh, ulps=3.0),
    Op.COSH: Meant(np.cosh),
    Op.TANH: Meant(np.tanh),
    Op.ASINH: Meant(np.arcsinh, ulps=3.0),
    Op.ACOSH: Meant(np.arccosh, Domain(1.0, 50.0), 4.0),
    Op.ATANH: Meant(np.arctanh, _UNIT, 3.0),
    Op.ERF: Meant(erf),
    # The hardware's exp of x * x: its error grows with the exponent.
    Op.ONE_PLUS_ERF: Meant(lambda x: erfc(-x), ulps=64.0),
    Op.ERFC: Meant(erfc, ulps=4.0),
    Op.ERFINV: Meant(erfinv, _UNIT, 4.0),
    # Towards the root at 2 the device's float64 is off by 13 units.
    Op.LGAMMA: Meant(lgamma, Domain(2.5, 40.0), 16.0),
    Op.ERFCX: Meant(erfcx, _ROOTLESS, 4.0),
    Op.NDTRI: Meant(ndtri, _SHARE, 16.0),
    Op.BESSEL_I0: Meant(bessel_i(0), _ROOTLESS, 16.0),
    Op.BESSEL_I1: Meant(bessel_i(1), _ROOTLESS, 16.0),
    Op.BESSEL_J0: Meant(bessel_j(0), _RISING, 32.0),
    Op.BESSEL_J1: Meant(bessel_j(1), _RISING, 32.0),
    Op.BESSEL_Y0: Meant(bessel_y(0), _WAVE, 64.0),
    Op.BESSEL_Y1: Meant(bessel_y(1), _WAVE, 64.0),
    Op.SIGMOID: Meant(sigmoid, _SMALL, 64.0),
    Op.RELU: Meant(relu),
    Op.FLOOR: Meant(fractionless(np.floor)),
    Op.CEIL: Meant(fractionless(np.ceil)),
    Op.ROUND: Meant(fractionless(np.rint)),
    Op.TRUNC: Meant(fractionless(np.trunc)),
    Op.SIGNBIT: Meant(signbit),
    Op.ISNAN: Meant(np.isnan),
    Op.ISINF: Meant(np.isinf),
    Op.POW: Meant(np.power, ulps=4.0),
    Op.ATAN2: Meant(np.arctan2, ulps=3.0),
    Op.HYPOT: Meant(np.hypot),
    Op.COPYSIGN: Meant(np.copysign),
    Op.IN_RANGE: Meant(lambda a, b: a + 0 * b, _BITS),
    Op.DIVISOR: Meant(lambda a: a, _BITS),
    Op.NEXTAFTER: Meant(np.nextafter),
    Op.ZETA: Meant(zeta, _ABOVE_ONE, 256.0),
    Op.INTEGER_POWER: Meant(integer_power, _COUNT),
    Op.GCD: Meant(greatest_divisor, _BITS),
    Op.IGAMMA: Meant(special.gammainc, _AROUND, 256.0),
    Op.IGAMMAC: Meant(special.gammaincc, _AROUND, 256.0),
    Op.CHEBYSHEV_T: Meant(polynomial(Chebyshev.basis), _BEYOND_ROOTS, 16.0),
    Op.CHEBYSHEV_U: Meant(polynomial(chebyshev_u), _BEYOND_ROOTS, 16.0),
    Op.CHEBYSHEV_V: Meant(
        polynomial(lambda n: chebyshev_u(n) - chebyshev_u(n - 1)), _BEYOND_ROOTS, 16.0
    ),
    Op.CHEBYSHEV_W: Meant(
        polynomial(lambda n: chebyshev_u(n) + chebyshev_u(n - 1)), _BEYOND_ROOTS, 16.0
    ),
    Op.HERMITE_H: Meant(polynomial(Hermite.basis), _BEYOND_ROOTS, 16.0),
    Op.HERMITE_HE: Meant(polynomial(HermiteE.basis), _BEYOND_ROOTS, 64.0),
    Op.LAGUERRE_L: Meant(polynomial(Laguerre.basis), _FIRST, 16.0),
    Op.LEGENDRE_P: Meant(polynomial(Legendre.basis), _BEYOND_ROOTS, 16.0),
    Op.RANDOM_BITS: Meant(random_bits, _BITS),
}
