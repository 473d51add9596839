"""What scalar operations mean: vectorised numpy functions, right in the edge cases.

All take and return arrays (or numpy scalars) of one compute type and follow the
framework's semantics: C-like integers that wrap, NaN that propagates through
maximum and minimum, remainder with the sign of the divisor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Chebyshev

from harness.dtypes import DType, Kind
from harness.errors import InvalidProgram
from harness.ir.op_triton import ZETA_TERMS
from harness.ir.philox import philox

Array: TypeAlias = npt.NDArray[Any]
Meaning: TypeAlias = Callable[..., Array]


def storage_type(dtype: DType, float64: bool = False) -> np.dtype[Any]:
    """The numpy type that holds values of ``dtype``.

    16-bit and 8-bit floats are held as float32 (rounded to their own grid on
    store); with ``float64`` every float is held as float64.
    """
    if dtype.is_float and float64:
        return np.dtype(np.float64)
    return np.dtype(dtype.compute.torch_name)


def _elementwise(function: Callable[[float], float]) -> Meaning:
    table = np.frompyfunc(function, 1, 1)

    def apply(x: Array) -> Array:
        x = np.asarray(x)
        return np.asarray(table(x.astype(np.float64))).astype(x.dtype)

    return apply


def _lgamma(x: float) -> float:
    if math.isinf(x):
        return math.inf
    if x <= 0 and x == math.floor(x):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


erf: Meaning = _elementwise(math.erf)
erfc: Meaning = _elementwise(math.erfc)
lgamma: Meaning = _elementwise(_lgamma)


def erfinv(x: Array) -> Array:
    """Inverse error function: a rational first guess, then Halley steps on erf or erfc.

    The guess is Giles' two-branch polynomial idea reduced to Winitzki's closed form
    (relative error below 2e-3), which three cubic steps bring to float64 precision.
    """
    y = np.asarray(x).astype(np.float64)
    with np.errstate(all="ignore"):
        a = 0.147
        log = np.log1p(-y * y)
        t = 2.0 / (math.pi * a) + log / 2.0
        z = np.copysign(np.sqrt(np.sqrt(t * t - log / a) - t), y)
        for _ in range(3):
            # erfc keeps its precision where erf is next to 1.
            tail = np.where(y >= 0, (1.0 - y) - erfc(z), -((1.0 + y) - erfc(-z)))
            error = np.where(np.abs(y) < 0.5, erf(z) - y, tail)
            step = error / (2.0 / math.sqrt(math.pi) * np.exp(-z * z))
            z = z - step / (1.0 + z * step)
        z = np.where(np.abs(y) == 1.0, np.copysign(np.inf, y), z)
        z = np.where(y == 0.0, y, z)
        z = np.where(np.abs(y) > 1.0, np.nan, z)
    return z.astype(np.asarray(x).dtype)


def _erfcx(x: float) -> float:
    if x < 1.5:
        return math.inf if x < -26.7 else math.exp(x * x) * math.erfc(x)
    tail = x  # the continued fraction of DLMF 7.9.1
    for k in range(200, 0, -1):
        tail = x + k / 2 / tail
    return 1 / (math.sqrt(math.pi) * tail)


def _ndtri(p: float) -> float:
    """Newton's method on the logarithm of the distribution, which is concave."""
    if not 0 <= p <= 1 or p in (0.0, 1.0):
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    if p > 0.5:
        return -_ndtri(1 - p)
    z = -math.sqrt(-2 * math.log(p)) if p < 0.4 else 0.0
    for _ in range(60):
        below = math.erfc(-z / math.sqrt(2)) / 2
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        step = (math.log(below) - math.log(p)) * below / density
        z -= step
        if abs(step) <= 1e-16 * abs(z):
            break
    return z


erfcx: Meaning = _elementwise(_erfcx)
ndtri: Meaning = _elementwise(_ndtri)


def _integrated(integrand: Callable[[Array, Array], Array], end: float, count: int) -> Meaning:
    """The integral over [0, ``end``] of ``integrand(point, x)``, by Gauss and Legendre's rule of
    20 points in each of ``count`` equal parts."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = end / count / 2
    points = ((nodes + 1) * half + 2 * half * np.arange(count)[:, None]).reshape(-1)
    weights = np.tile(weights * half, count)

    def apply(x: Array) -> Array:
        wide = np.asarray(x).astype(np.float64)[..., None]
        with np.errstate(all="ignore"):
            return np.asarray((integrand(points, wide) * weights).sum(-1))

    return apply


def bessel_i(order: int) -> Meaning:
    """The modified function I (DLMF 10.32.3), for arguments up to a few hundred."""
    whole = _integrated(lambda t, x: np.exp(x * np.cos(t)) * np.cos(order * t), math.pi, 20)
    return lambda x: (whole(x) / math.pi).astype(np.asarray(x).dtype)


def bessel_j(order: int) -> Meaning:
    """The function J (DLMF 10.9.2), for arguments up to a few hundred."""
    whole = _integrated(lambda t, x: np.cos(x * np.sin(t) - order * t), math.pi, 20)
    return lambda x: (whole(x) / math.pi).astype(np.asarray(x).dtype)


def bessel_y(order: int) -> Meaning:
    """The function Y (DLMF 10.9.7), for arguments from 1e-3 up to a few hundred; below zero NaN,
    at zero minus infinity."""
    wave = _integrated(lambda t, x: np.sin(x * np.sin(t) - order * t), math.pi, 20)
    tail = _integrated(
        lambda t, x: (
            (np.exp(order * t) + (-1) ** order * np.exp(-order * t)) * np.exp(-x * np.sinh(t))
        ),
        math.asinh(8e5),
        40,
    )

    def apply(x: Array) -> Array:
        found = (wave(x) - tail(x)) / math.pi
        found = np.where(np.asarray(x) > 0, found, np.where(np.asarray(x) == 0, -np.inf, np.nan))
        return found.astype(np.asarray(x).dtype)

    return apply


def zeta(s: Array, q: Array) -> Array:
    """Hurwitz' function (DLMF 25.11.1 and, past ten terms, 25.11.5): NaN below 1, infinite at 1
    and where a term is."""
    kind = np.result_type(s, q)
    s, q = np.broadcast_arrays(np.asarray(s, np.float64), np.asarray(q, np.float64))
    with np.errstate(all="ignore"):
        count = np.where((q < 0) & (q > -1e6), 10 - np.floor(q), 10.0)
        total = np.zeros(q.shape)
        for k in range(int(np.max(count, initial=0))):
            total = total + np.where(k < count, np.power(q + k, -s), 0.0)
        end = q + count
        rest = np.power(end, -s)
        total = total + rest * end / (s - 1) + rest / 2
        term = rest * s / end
        for j, factor in enumerate(ZETA_TERMS, 1):
            total = total + factor * term
            term = term * (s + 2 * j - 1) * (s + 2 * j) / (end * end)
        below = (s < 1) | np.isnan(q) | ((q <= 0) & (s != np.floor(s)))
        pole = (s == 1) | ((q <= 0) & (q == np.floor(q)))
        found = np.where(pole & ~(s < 1), np.inf, np.where(below, np.nan, total))
    return np.asarray(found).astype(kind)


def integer_power(base: Array, exponent: Array) -> Array:
    """Factor by factor; below an exponent of 0 what is left of 1 over it."""
    base, exponent = np.asarray(base), np.asarray(exponent)
    found = np.ones_like(base)
    for step in range(int(np.max(np.abs(exponent.astype(np.int64)), initial=0))):
        found = np.where(step < np.abs(exponent.astype(np.int64)), found * base, found)
    unit = (base == 1) | (base.astype(np.int64) == -1)
    return np.where((exponent < 0) & ~unit, 0, found).astype(base.dtype)


def greatest_divisor(a: Array, b: Array) -> Array:
    """Of both numbers; never negative."""
    return np.gcd(a, b)


def sign(x: Array) -> Array:
    """-1, 0 or 1 in the operand's type; 0 for NaN."""
    x = np.asarray(x)
    return np.subtract((x > 0).astype(x.dtype), (x < 0).astype(x.dtype), dtype=x.dtype)


def trunc_div(a: Array, b: Array) -> Array:
    """Division rounded towards zero. Dividing an integer by zero gives zero here."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "f":
        return np.asarray(np.trunc(a / b))
    down = np.floor_divide(a, b)
    up = (a % b != 0) & ((a < 0) != (b < 0))
    return np.add(down, up.astype(a.dtype), dtype=a.dtype)


def remainder(a: Array, b: Array) -> Array:
    """``a`` modulo ``b`` with the sign of ``b``; exact."""
    a, b = np.asarray(a), np.asarray(b)
    rest = np.fmod(a, b)
    other_sign = (rest != 0) & ((rest < 0) != (b < 0))
    return np.where(other_sign, rest + b, rest).astype(a.dtype)


def fma(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` rounded once (computed in the next wider type)."""
    kind = np.asarray(a).dtype
    wider = np.float64 if kind == np.float32 else np.longdouble
    total = np.asarray(a).astype(wider) * b + np.asarray(c).astype(wider)
    return np.asarray(total).astype(kind)


def shift_left(a: Array, b: Array) -> Array:
    """``a << b``; 0 when ``b`` is negative or not less than the width."""
    a, b = np.asarray(a), np.asarray(b)
    fits = (b >= 0) & (b < 8 * a.dtype.itemsize)
    shifted = np.left_shift(a, np.where(fits, b, 0).astype(a.dtype))
    return np.where(fits, shifted, 0).astype(a.dtype)


def shift_right(a: Array, b: Array) -> Array:
    """Arithmetic ``a >> b``; only sign bits are left when ``b`` is out of range."""
    a, b = np.asarray(a), np.asarray(b)
    width = 8 * a.dtype.itemsize
    fits = (b >= 0) & (b < width)
    inside = np.right_shift(a, np.where(fits, b, width - 1).astype(a.dtype))
    if a.dtype.kind == "u":
        return np.where(fits, inside, 0).astype(a.dtype)
    return np.asarray(inside)


def sigmoid(x: Array) -> Array:
    """Logistic function without overflow."""
    x = np.asarray(x)
    small = np.exp(-np.abs(x))
    one = x.dtype.type(1)
    return np.asarray(np.where(x >= 0, one / (one + small), small / (one + small)))


def reciprocal(x: Array) -> Array:
    """``1 / x``."""
    x = np.asarray(x)
    return np.asarray(np.divide(x.dtype.type(1), x))


def rsqrt(x: Array) -> Array:
    """``1 / sqrt(x)``."""
    return reciprocal(np.sqrt(x))


def relu(x: Array) -> Array:
    """``max(x, 0)``; NaN stays."""
    x = np.asarray(x)
    return np.asarray(np.maximum(x, x.dtype.type(0)))


def signbit(x: Array) -> Array:
    """Whether the sign bit is set (for integers, whether negative)."""
    x = np.asarray(x)
    return np.asarray(np.signbit(x) if x.dtype.kind == "f" else x < 0)


def random_bits(seed: Array, index: Array) -> Array:
    """32 random bits for each position; see ``philox``."""
    wide = (np.asarray(seed).astype(np.int64), np.asarray(index).astype(np.int64))
    return np.asarray(philox(*wide)).astype(np.int32)


def where(condition: Array, a: Array, b: Array) -> Array:
    """``a`` where ``condition`` holds, else ``b``."""
    return np.asarray(np.where(condition, a, b))


def fractionless(function: Callable[[Array], Array]) -> Meaning:
    """``function`` for floats, identity for integers."""

    def apply(x: Array) -> Array:
        x = np.asarray(x)
        return np.asarray(function(x)) if x.dtype.kind == "f" else x

    return apply


def cast(x: Array, target: DType, float64: bool = False) -> Array:
    """Value conversion: to bool is ``!= 0``; float to integer truncates and then wraps."""
    x = np.asarray(x)
    kind = storage_type(target, float64)
    if target is DType.BOOL:
        return np.asarray(x != 0)
    if x.dtype.kind == "f" and kind.kind in "iu":
        # A float out of range has no defined integer; go through int64 so that a
        # negative float becomes the wrapped unsigned number everywhere.
        with np.errstate(invalid="ignore"):
            return np.trunc(x).astype(np.int64).astype(kind)
    with np.errstate(over="ignore", invalid="ignore"):
        return x.astype(kind)


def bitcast(x: Array, source: DType, target: DType, float64: bool = False) -> Array:
    """The same bits as another type of the same width.

    Raises ``InvalidProgram`` if the widths differ.
    """
    if source.itemsize != target.itemsize or target.kind is Kind.BOOL:
        raise InvalidProgram(
            "a bit cast changes the width",
            where="bitcast",
            got=f"{source.short} to {target.short}",
            expected="two types of one width, neither of them bool",
        )
    exact = np.ascontiguousarray(np.asarray(x).astype(_BITS.get(source, storage_type(source))))
    if source is DType.BF16:  # the upper half of a float32
        exact = (exact.view(np.int32) >> 16).astype(np.int16)
    if target is DType.BF16:
        bits = (exact.view(np.int16).astype(np.int32) << 16).view(np.float32)
    else:
        bits = exact.view(_BITS.get(target, storage_type(target)))
    return bits.reshape(np.shape(x)).astype(storage_type(target, float64))


_BITS = {DType.F16: np.dtype(np.float16)}


def round_to_float(x: Array, dtype: DType) -> Array:
    """``x`` (float32 or float64) rounded to the nearest value of a narrow float, ties to even.

    Overflow gives infinity; for e4m3fn, which has none, the largest finite value, as in
    torch since 2.13 and in the hardware's conversion. The result keeps ``x``'s numpy type.
    """
    x = np.asarray(x)
    # Stored fraction bits, least normal exponent, largest finite value.
    grids = {
        DType.F16: (10, -14, 65504.0),
        DType.BF16: (7, -126, float.fromhex("0x1.fep+127")),
        DType.F8E4M3: (3, -6, 448.0),
        DType.F8E5M2: (2, -14, 57344.0),
    }
    if dtype not in grids:
        return x
    fraction, least, largest = grids[dtype]
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64)
        _, exponent = np.frexp(exact)
        shift = np.maximum(exponent - 1, least) - fraction
        rounded = np.ldexp(np.rint(np.ldexp(exact, -shift)), shift)
    beyond = np.abs(rounded) > largest
    overflow = largest if dtype is DType.F8E4M3 else np.inf
    rounded = np.where(beyond, np.copysign(overflow, rounded), rounded)
    return np.asarray(np.where(np.isnan(exact), exact, rounded).astype(x.dtype))


def chebyshev_u(n: int) -> Chebyshev:
    """By the derivative of the next one of the first kind (DLMF 18.9.21); none for -1."""
    return Chebyshev.basis(n + 1).deriv() / (n + 1) if n >= 0 else Chebyshev([0])


def polynomial(basis: Callable[[int], Callable[[Array], Array]]) -> Meaning:
    """The polynomial of the order that the second operand, cut off, says; 0 below 0."""

    def apply(x: Array, n: Array) -> Array:
        kind = np.result_type(x, n)
        x, order = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(np.trunc(n)))
        found = np.zeros(x.shape)
        for one in np.unique(order[order >= 0]):
            found = np.where(order == one, basis(int(one))(x), found)
        return np.asarray(found).astype(kind)

    return apply
