"""Triton text of the operations whose text depends on the operand type. Texts may repeat an
operand, so operands are names or literals, never long expressions; Triton merges the repeated work.
Every text holds for Triton 3.6 on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from harness.dtypes import DType, Kind
from harness.errors import InvalidProgram


@dataclass(frozen=True, slots=True)
class Call:
    """What a text is made from: operand texts and types, the result type, and whether
    every operand is known not to be negative."""

    texts: tuple[str, ...]
    dtypes: tuple[DType, ...]
    result: DType
    nonnegative: bool

    @property
    def dtype(self) -> DType:
        """Type of the first operand."""
        return self.dtypes[0]


Text: TypeAlias = "str | Callable[[Call], str]"
"""A format template over the operand texts, or a function where the type matters."""

_NAN = ", propagate_nan=tl.PropagateNan.ALL"


def triton_type(dtype: DType) -> str:
    """Triton's name of ``dtype``, with the module: ``tl.float32``."""
    return f"tl.{dtype.triton_name}"


ZETA_TERMS = tuple(
    float(number)
    for number in (
        1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
        1 / 74724249600, -3617 / 10670622842880000,
    )
)  # fmt: skip
"""Bernoulli numbers B(2), B(4) … over the factorials of 2, 4 …: Euler and Maclaurin's formula."""
TEMME_FROM = 200
"""The parameter from which the uniform expansion of the incomplete gamma function is used, while
its variable is between -1 and 1."""


def temme_terms() -> list[list[float]]:
    """The coefficients d(k, n) of the uniform expansion (DLMF 8.12.8, 8.12.12, 5.11.5) that matter
    in float64, by powers of the inverse parameter and of the variable."""
    count, scaled = 70, [Fraction(1)]
    root = [Fraction(0), Fraction(1)]  # of x / a - 1 in powers of the variable
    for n in range(2, count):
        cross = sum((root[i] * root[n + 1 - i] for i in range(2, n)), Fraction())
        root.append(root[n - 1] / (n + 1) - cross / 2)
        if n % 2:
            scaled.append(root[n] * math.prod(range(1, n + 1, 2)))  # 5.11.5
    first = [Fraction(-1, 3), *((n + 2) * root[n + 2] for n in range(1, count - 2))]
    rows, found, k = first, [], 0
    while used := [n for n, d in enumerate(rows) if abs(d) > 2e-17 * TEMME_FROM**k]:
        found.append([float(d) for d in rows[: used[-1] + 1]])
        k += 1
        sign = (-1) ** k * scaled[k]
        rows = [sign * first[n] + (n + 2) * rows[n + 2] for n in range(len(rows) - 2)]
    return found


def by_type(narrow: str, wide: str, other: str = "{0}") -> Callable[[Call], str]:
    """Templates for float32, for float64 and for what is no float."""

    def text(call: Call) -> str:
        template = narrow if call.dtype is DType.F32 else wide if call.dtype.is_float else other
        return template.format(*call.texts)

    return text


# C's: with the sign of the dividend.
fmod = by_type("libdevice.fmod({0}, {1})", "libdevice.fmod({0}, {1})", "{0} % {1}")
# Rounded to nearest: a quotient that is an integer comes out as one.
trunc_div = by_type(
    "libdevice.trunc(tl.div_rn({0}, {1}))", "libdevice.trunc({0} / {1})", "{0} // {1}"
)
sqrt = by_type("tl.sqrt_rn({0})", "tl.sqrt({0})")  # to nearest, too
sigmoid = by_type("_sigmoid({0})", "tl.sigmoid({0})")  # five instructions instead of twelve
one_plus_erf = by_type("_one_plus_erf({0})", "libdevice.erfc(-{0})")
whole, trunc, floor, ceil = (
    by_type(*[f"libdevice.{name}({{0}})"] * 2) for name in ("rint", "trunc", "floor", "ceil")
)


def by_sign(
    floats: str, signed: str, unsigned: str = "{0}", *, known: bool = False
) -> Callable[[Call], str]:
    """Templates for floats, signed and unsigned integers, of whose type the name is ``kind`` and
    all bits are ``ones``. ``known``: signed ones that are never negative are as unsigned ones."""

    def text(call: Call) -> str:
        positive = call.dtype.kind is Kind.UNSIGNED or (known and call.nonnegative)
        template = floats if call.dtype.is_float else unsigned if positive else signed
        ones, kind = _all_bits(call.dtype), triton_type(call.dtype)
        return template.format(*call.texts, ones=ones, kind=kind)

    return text


# Rounded down, where C's operators round towards zero.
floor_div = by_sign(
    "_floor_div({0}, {1})",
    "tl.where(({0} % {1} != 0) & (({0} < 0) != ({1} < 0)), {0} // {1} - 1, {0} // {1})",
    "{0} // {1}",
    known=True,
)
_REST = "({0} % {1})"
remainder = by_sign(
    "_remainder({0}, {1})",
    f"tl.where(({_REST} != 0) & (({_REST} < 0) != ({{1}} < 0)), {_REST} + {{1}}, {_REST})",
    "{0} % {1}",
    known=True,
)
_COMPARED = "({0} > 0).to({kind}) - ({0} < 0).to({kind})"
sign = by_sign(_COMPARED, _COMPARED, "({0} > 0).to({kind})")
absolute = by_sign("tl.abs({0})", "tl.abs({0})")
# Of floats by a product: Triton 3.6's unary minus is 0 - x, which is 0.0 where x is. Unsigned
# numbers wrap, and Triton has no unary minus for them.
negate = by_sign("{0} * -1.0", "-{0}", "({0} ^ {ones}) + 1")
relu = by_sign(f"tl.maximum({{0}}, 0.0{_NAN})", "tl.maximum({0}, 0).to({kind})")  # NaN stays


def minus_zero(dtype: DType) -> str:
    """-0.0, a number of ``dtype`` made of its bits: Triton 3.6 takes the literal for 0.0."""
    bits = 8 * dtype.itemsize
    return f"tl.full([], {-(1 << bits - 1)}, tl.int{bits}).to({triton_type(dtype)}, bitcast=True)"


def _all_bits(dtype: DType) -> int:
    return (1 << 8 * dtype.itemsize) - 1


def extreme(name: str, logic: str) -> Callable[[Call], str]:
    """The larger or the smaller operand, ``logic`` of bools; NaN wins."""

    def text(call: Call) -> str:
        a, b = call.texts
        match call.dtype.kind:
            case Kind.BOOL:
                return f"{a} {logic} {b}"
            case Kind.SIGNED | Kind.UNSIGNED | Kind.OPAQUE:
                text, narrow = f"tl.{name}({a}, {b})", call.dtype.itemsize < 4
                return f"{text}.to({triton_type(call.dtype)})" if narrow else text  # see bitcast
            case Kind.FLOAT:
                return f"tl.{name}({a}, {b}{_NAN})"

    return text


maximum, minimum = extreme("maximum", "|"), extreme("minimum", "&")


def shift(sign: str) -> Callable[[Call], str]:
    """A shift that gives 0 for a count out of range; to the right, where it is arithmetic, only
    sign bits."""

    def text(call: Call) -> str:
        a, b = call.texts
        width, unsigned = 8 * call.dtype.itemsize, call.dtype.kind is Kind.UNSIGNED
        if b.isdigit() and int(b) < width:
            return f"{a} {sign} {b}"
        fits = f"({b} < {width})" if unsigned else f"({b} >= 0) & ({b} < {width})"
        beyond = "0" if unsigned or sign == "<<" else f"{a} >> {width - 1}"
        return f"tl.where({fits}, {a} {sign} {b}, {beyond}).to({triton_type(call.dtype)})"

    return text


shift_left, shift_right = shift("<<"), shift(">>")


def bit_not(call: Call) -> str:
    """All bits flipped."""
    (a,) = call.texts
    if call.dtype.kind is Kind.BOOL:
        return f"{a} == 0"
    # The interpreter of Triton 3.6 cannot make the -1 that ~ needs.
    unsigned = call.dtype.kind is Kind.UNSIGNED
    return f"{a} ^ {_all_bits(call.dtype)}" if unsigned else f"~{a}"


def signbit(call: Call) -> str:
    """The sign bit, read from the bits so that -0.0 and NaN have one."""
    (a,) = call.texts
    bits = {DType.F32: "tl.int32", DType.F64: "tl.int64"}.get(call.dtype)
    return f"{a} < 0" if bits is None else f"{a}.to({bits}, bitcast=True) < 0"


def cast(call: Call) -> str:
    """Value conversion."""
    (a,) = call.texts
    source, target = call.dtype, call.result
    if source is target:
        return a
    if target is DType.BOOL:
        return f"{a} != 0"
    if source.is_float and target is DType.U8:
        # Conversion of a negative float straight to unsigned is undefined.
        return f"{a}.to(tl.int32).to(tl.uint8)"
    return float8_text(a, target) if target is DType.F8E5M2 else f"{a}.to({triton_type(target)})"


def widened(value: str, narrow: DType) -> str:
    """``value``, which the kernel itself rounded to ``narrow`` (16 bits), as float32, in a way that
    LLVM does not see through. Otherwise it adds two such numbers in 16 bits, computes a product
    before that in 16 bits too, and makes one ``fma`` of both, without the rounding in between."""
    if narrow is DType.BF16:
        return (
            f"({value}.to(tl.int16, bitcast=True).to(tl.int32) << 16).to(tl.float32, bitcast=True)"
        )
    # It takes numbers below 2^-126 for 0; no float16 is that small, none but 0 is changed by it.
    return f"libdevice.add_rn({value}.to(tl.float32), {minus_zero(DType.F32)})"


_E5M2_INFINITE = 61440.0  # the middle between 57344 and 65536: a tie, which rounds to even


def float8_text(value: str, dtype: DType) -> str:
    """``value``, float32 or float64, as an 8-bit float. Beyond its largest number float8_e4m3fn,
    which has no infinity, saturates in torch (2.13 and later) as in Triton; float8_e5m2 becomes
    infinite in torch but saturates in Triton, as the hardware's instruction does.

    Both choose between bytes, as two stores in two orders need it: of the instruction's result as
    it is ptxas 12.8 (Triton 3.6) read a register there that nothing had written."""
    kind = triton_type(dtype)
    special, test = "tl.full([], 127, tl.uint8)", f"{value} != {value}"
    if dtype is DType.F8E5M2:
        special = f"tl.where({value} > 0, 124, 252).to(tl.uint8)"
        test = f"tl.abs({value}) >= {_E5M2_INFINITE}"
    bits = f"{value}.to({kind}).to(tl.uint8, bitcast=True)"
    return f"tl.where({test}, {special}, {bits}).to({kind}, bitcast=True)"


def bitcast(call: Call) -> str:
    """The same bits as another type of the same width."""
    (a,) = call.texts
    if call.dtype is call.result:
        return a
    if call.dtype.itemsize != call.result.itemsize or DType.BOOL in (call.dtype, call.result):
        raise InvalidProgram(
            "a bit cast changes the width",
            where="bitcast",
            got=f"{call.dtype.short} to {call.result.short}",
            expected="two types of one width, neither of them bool",
        )
    if call.dtype.is_integer and call.dtype.itemsize < 4:
        a = f"{a}.to({triton_type(call.dtype)})"  # Triton 3.6 has int32 of int8 and a number
    return f"{a}.to({triton_type(call.result)}, bitcast=True)"
