"""Scalar operations: one row each.

A row holds everything there is to know about an operation: how many operands, what
type comes out, what it means (numpy), what it is in Triton, and on which operands
it is tested. A new operation is a new name in ``Op`` and one new row.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.ir import op_numpy as meaning
from harness.ir import op_triton as text
from harness.ir.op_numpy import Meaning
from harness.ir.op_triton import Call, Text


class Op(enum.Enum):
    """Scalar operations; the value is the printed name."""

    # arithmetic
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    TRUE_DIV = "true_div"
    FLOOR_DIV = "floor_div"
    TRUNC_DIV = "trunc_div"
    REMAINDER = "remainder"
    FMOD = "fmod"
    NEG = "neg"
    ABS = "abs"
    SIGN = "sign"
    FMA = "fma"
    # comparison and logic
    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    LOGICAL_AND = "logical_and"
    LOGICAL_OR = "logical_or"
    LOGICAL_NOT = "logical_not"
    LOGICAL_XOR = "logical_xor"
    BIT_AND = "bit_and"
    BIT_OR = "bit_or"
    BIT_XOR = "bit_xor"
    BIT_NOT = "bit_not"
    SHIFT_LEFT = "shift_left"
    SHIFT_RIGHT = "shift_right"
    WHERE = "where"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    # conversion
    CAST = "cast"
    BITCAST = "bitcast"
    # unary math
    EXP = "exp"
    EXP2 = "exp2"
    EXPM1 = "expm1"
    LOG = "log"
    LOG2 = "log2"
    LOG10 = "log10"
    LOG1P = "log1p"
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    RECIPROCAL = "reciprocal"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    ASINH = "asinh"
    ACOSH = "acosh"
    ATANH = "atanh"
    ERF = "erf"
    ERFC = "erfc"
    ERFINV = "erfinv"
    LGAMMA = "lgamma"
    ERFCX = "special_erfcx"
    NDTRI = "special_ndtri"
    BESSEL_I0 = "i0"
    BESSEL_I1 = "special_i1"
    BESSEL_J0 = "special_bessel_j0"
    BESSEL_J1 = "special_bessel_j1"
    BESSEL_Y0 = "special_bessel_y0"
    BESSEL_Y1 = "special_bessel_y1"
    SIGMOID = "sigmoid"
    RELU = "relu"
    FLOOR = "floor"
    CEIL = "ceil"
    ROUND = "round"
    TRUNC = "trunc"
    SIGNBIT = "signbit"
    ISNAN = "isnan"
    ISINF = "isinf"
    # binary math
    POW = "pow"
    ATAN2 = "atan2"
    HYPOT = "hypot"
    COPYSIGN = "copysign"
    NEXTAFTER = "nextafter"
    ZETA = "special_zeta"
    # checked by the kernel that computes it
    IN_RANGE = "in_range"
    # random numbers
    RANDOM_BITS = "random_bits"


FLOATS = (DType.F32, DType.F64)
INTEGERS = (DType.U8, DType.I8, DType.I16, DType.I32, DType.I64)
NUMBERS = (*INTEGERS, *FLOATS)
COMPUTE_TYPES = (DType.BOOL, *NUMBERS)


class Rule(enum.Enum):
    """How the result type follows from the operand types.

    Operands of one operation have one type, except the condition of WHERE and the
    operand of a conversion: lowering writes promotion as CAST.
    """

    FLOAT = "floats of one type give that type"
    NUMBER = "numbers of one type give that type"
    ANY = "operands of one type give that type"
    BITS = "integers or bools of one type give that type"
    INTEGER = "integers of one type give that type"
    LOGIC = "bools give bool"
    COMPARE = "operands of one type give bool"
    TEST = "a number gives bool"
    FLOAT_TEST = "a float gives bool"
    SELECT = "bool and two operands of one type give that type"
    CONVERT = "any type gives the type asked for"
    RANDOM = "an int64 seed and an int32 or int64 position give int32"

    @property
    def accepts(self) -> tuple[DType, ...]:
        """Operand types (of the selected operands for SELECT)."""
        match self:
            case Rule.FLOAT | Rule.FLOAT_TEST:
                return FLOATS
            case Rule.NUMBER | Rule.TEST:
                return NUMBERS
            case Rule.INTEGER:
                return INTEGERS
            case Rule.BITS:
                return (DType.BOOL, *INTEGERS)
            case Rule.LOGIC:
                return (DType.BOOL,)
            case Rule.RANDOM:
                return (DType.I64,)
            case Rule.ANY | Rule.COMPARE | Rule.SELECT | Rule.CONVERT:
                return COMPUTE_TYPES

    @property
    def yields_bool(self) -> bool:
        """Whether the result is bool whatever the operands are."""
        return self in (Rule.LOGIC, Rule.COMPARE, Rule.TEST, Rule.FLOAT_TEST)


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
class Row:
    """One operation. ``text`` is a template over operand texts (``{0}``, ``{1}`` …), or
    a function where the operand type matters. ``ulps`` is the error allowed against a
    float64 reference, in units of the last place of the result."""

    arity: int
    rule: Rule
    meaning: Meaning
    text: Text
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

ROWS: MappingProxyType[Op, Row] = MappingProxyType(
    {
        Op.ADD: Row(2, Rule.NUMBER, np.add, "{0} + {1}"),
        Op.SUB: Row(2, Rule.NUMBER, np.subtract, "{0} - {1}"),
        Op.MUL: Row(2, Rule.NUMBER, np.multiply, "{0} * {1}"),
        Op.TRUE_DIV: Row(2, Rule.FLOAT, np.divide, "{0} / {1}"),
        Op.FLOOR_DIV: Row(2, Rule.NUMBER, np.floor_divide, text.floor_div, _DIVIDE),
        Op.TRUNC_DIV: Row(2, Rule.NUMBER, meaning.trunc_div, text.trunc_div, _DIVIDE),
        Op.REMAINDER: Row(2, Rule.NUMBER, meaning.remainder, text.remainder, _DIVIDE),
        Op.FMOD: Row(2, Rule.NUMBER, np.fmod, text.fmod, _DIVIDE),
        Op.NEG: Row(1, Rule.NUMBER, np.negative, text.negate),
        Op.ABS: Row(1, Rule.NUMBER, np.abs, text.absolute),
        Op.SIGN: Row(1, Rule.NUMBER, meaning.sign, text.sign),
        Op.FMA: Row(3, Rule.FLOAT, meaning.fma, "tl.fma({0}, {1}, {2})"),
        Op.EQ: Row(2, Rule.COMPARE, np.equal, "{0} == {1}"),
        Op.NE: Row(2, Rule.COMPARE, np.not_equal, "{0} != {1}"),
        Op.LT: Row(2, Rule.COMPARE, np.less, "{0} < {1}"),
        Op.LE: Row(2, Rule.COMPARE, np.less_equal, "{0} <= {1}"),
        Op.GT: Row(2, Rule.COMPARE, np.greater, "{0} > {1}"),
        Op.GE: Row(2, Rule.COMPARE, np.greater_equal, "{0} >= {1}"),
        Op.LOGICAL_AND: Row(2, Rule.LOGIC, np.logical_and, "{0} & {1}"),
        Op.LOGICAL_OR: Row(2, Rule.LOGIC, np.logical_or, "{0} | {1}"),
        Op.LOGICAL_NOT: Row(1, Rule.LOGIC, np.logical_not, "{0} == 0"),
        Op.LOGICAL_XOR: Row(2, Rule.LOGIC, np.logical_xor, "{0} ^ {1}"),
        Op.BIT_AND: Row(2, Rule.BITS, np.bitwise_and, "{0} & {1}", _BITS),
        Op.BIT_OR: Row(2, Rule.BITS, np.bitwise_or, "{0} | {1}", _BITS),
        Op.BIT_XOR: Row(2, Rule.BITS, np.bitwise_xor, "{0} ^ {1}", _BITS),
        Op.BIT_NOT: Row(1, Rule.BITS, np.invert, text.bit_not, _BITS),
        Op.SHIFT_LEFT: Row(2, Rule.INTEGER, meaning.shift_left, text.shift_left, _COUNT),
        Op.SHIFT_RIGHT: Row(2, Rule.INTEGER, meaning.shift_right, text.shift_right, _COUNT),
        Op.WHERE: Row(3, Rule.SELECT, meaning.where, "tl.where({0}, {1}, {2})"),
        Op.MAXIMUM: Row(2, Rule.ANY, np.maximum, text.maximum),
        Op.MINIMUM: Row(2, Rule.ANY, np.minimum, text.minimum),
        Op.CAST: Row(1, Rule.CONVERT, meaning.cast, text.cast, _FLAT),
        Op.BITCAST: Row(1, Rule.CONVERT, meaning.bitcast, text.bitcast, _FLAT),
        # exp and exp2 are the hardware's: their error grows with the exponent, to
        # 2**-18 of the result at the ends of float32's range.
        Op.EXP: Row(1, Rule.FLOAT, np.exp, "tl.exp({0})", _SMALL, 64.0),
        Op.EXP2: Row(1, Rule.FLOAT, np.exp2, "tl.exp2({0})", _SMALL),
        Op.EXPM1: Row(1, Rule.FLOAT, np.expm1, "libdevice.expm1({0})", _SMALL),
        Op.LOG: Row(1, Rule.FLOAT, np.log, "tl.log({0})", _POSITIVE),
        Op.LOG2: Row(1, Rule.FLOAT, np.log2, "tl.log2({0})", _POSITIVE),
        Op.LOG10: Row(1, Rule.FLOAT, np.log10, "libdevice.log10({0})", _POSITIVE),
        Op.LOG1P: Row(1, Rule.FLOAT, np.log1p, "libdevice.log1p({0})", Domain(-0.99, 50.0)),
        Op.SQRT: Row(1, Rule.FLOAT, np.sqrt, text.sqrt, _POSITIVE),
        Op.RSQRT: Row(1, Rule.FLOAT, meaning.rsqrt, "tl.rsqrt({0})", _POSITIVE),
        Op.RECIPROCAL: Row(1, Rule.FLOAT, meaning.reciprocal, "1.0 / {0}"),
        Op.SIN: Row(1, Rule.FLOAT, np.sin, "tl.sin({0})", _SMALL),
        Op.COS: Row(1, Rule.FLOAT, np.cos, "tl.cos({0})", _SMALL),
        Op.TAN: Row(1, Rule.FLOAT, np.tan, "libdevice.tan({0})", ulps=4.0),
        Op.ASIN: Row(1, Rule.FLOAT, np.arcsin, "libdevice.asin({0})", _UNIT),
        Op.ACOS: Row(1, Rule.FLOAT, np.arccos, "libdevice.acos({0})", _UNIT),
        Op.ATAN: Row(1, Rule.FLOAT, np.arctan, "libdevice.atan({0})"),
        Op.SINH: Row(1, Rule.FLOAT, np.sinh, "libdevice.sinh({0})", ulps=3.0),
        Op.COSH: Row(1, Rule.FLOAT, np.cosh, "libdevice.cosh({0})"),
        Op.TANH: Row(1, Rule.FLOAT, np.tanh, "libdevice.tanh({0})"),
        Op.ASINH: Row(1, Rule.FLOAT, np.arcsinh, "libdevice.asinh({0})", ulps=3.0),
        Op.ACOSH: Row(1, Rule.FLOAT, np.arccosh, "libdevice.acosh({0})", Domain(1.0, 50.0), 4.0),
        Op.ATANH: Row(1, Rule.FLOAT, np.arctanh, "libdevice.atanh({0})", _UNIT, 3.0),
        Op.ERF: Row(1, Rule.FLOAT, meaning.erf, "libdevice.erf({0})"),
        Op.ERFC: Row(1, Rule.FLOAT, meaning.erfc, "libdevice.erfc({0})", ulps=4.0),
        Op.ERFINV: Row(1, Rule.FLOAT, meaning.erfinv, "libdevice.erfinv({0})", _UNIT, 4.0),
        Op.LGAMMA: Row(
            1, Rule.FLOAT, meaning.lgamma, "libdevice.lgamma({0})", Domain(2.5, 40.0), 16.0
        ),  # towards the root at 2 the device's float64 is off by 13 units
        Op.ERFCX: Row(1, Rule.FLOAT, meaning.erfcx, "libdevice.erfcx({0})", _ROOTLESS, 4.0),
        Op.NDTRI: Row(1, Rule.FLOAT, meaning.ndtri, "libdevice.normcdfinv({0})", _SHARE, 16.0),
        Op.BESSEL_I0: Row(
            1, Rule.FLOAT, meaning.bessel_i(0), "libdevice.cyl_bessel_i0({0})", _ROOTLESS, 16.0
        ),
        Op.BESSEL_I1: Row(
            1, Rule.FLOAT, meaning.bessel_i(1), "libdevice.cyl_bessel_i1({0})", _ROOTLESS, 16.0
        ),
        Op.BESSEL_J0: Row(1, Rule.FLOAT, meaning.bessel_j(0), "libdevice.j0({0})", _RISING, 32.0),
        Op.BESSEL_J1: Row(1, Rule.FLOAT, meaning.bessel_j(1), "libdevice.j1({0})", _RISING, 32.0),
        Op.BESSEL_Y0: Row(1, Rule.FLOAT, meaning.bessel_y(0), "libdevice.y0({0})", _WAVE, 64.0),
        Op.BESSEL_Y1: Row(1, Rule.FLOAT, meaning.bessel_y(1), "libdevice.y1({0})", _WAVE, 64.0),
        Op.SIGMOID: Row(1, Rule.FLOAT, meaning.sigmoid, "tl.sigmoid({0})", _SMALL, 64.0),
        Op.RELU: Row(1, Rule.NUMBER, meaning.relu, text.relu),
        Op.FLOOR: Row(1, Rule.NUMBER, meaning.fractionless(np.floor), text.whole("tl.floor")),
        Op.CEIL: Row(1, Rule.NUMBER, meaning.fractionless(np.ceil), text.whole("tl.ceil")),
        Op.ROUND: Row(1, Rule.NUMBER, meaning.fractionless(np.rint), text.whole("libdevice.rint")),
        Op.TRUNC: Row(
            1, Rule.NUMBER, meaning.fractionless(np.trunc), text.whole("libdevice.trunc")
        ),
        Op.SIGNBIT: Row(1, Rule.TEST, meaning.signbit, text.signbit),
        Op.ISNAN: Row(1, Rule.FLOAT_TEST, np.isnan, "{0} != {0}"),
        Op.ISINF: Row(1, Rule.FLOAT_TEST, np.isinf, "tl.abs({0}) == float('inf')"),
        Op.POW: Row(2, Rule.FLOAT, np.power, "libdevice.pow({0}, {1})", ulps=4.0),
        Op.ATAN2: Row(2, Rule.FLOAT, np.arctan2, "libdevice.atan2({0}, {1})", ulps=3.0),
        Op.HYPOT: Row(2, Rule.FLOAT, np.hypot, "libdevice.hypot({0}, {1})"),
        Op.COPYSIGN: Row(2, Rule.FLOAT, np.copysign, "libdevice.copysign({0}, {1})"),
        # The first operand; a kernel asserts that it is from 0 up to the second.
        Op.IN_RANGE: Row(2, Rule.INTEGER, lambda a, b: a + 0 * b, "{0}", _BITS),
        Op.NEXTAFTER: Row(2, Rule.FLOAT, np.nextafter, text.nextafter),
        Op.ZETA: Row(2, Rule.FLOAT, meaning.zeta, "_zeta({0}, {1})", _ABOVE_ONE, 256.0),
        Op.RANDOM_BITS: Row(2, Rule.RANDOM, meaning.random_bits, "_random_bits({0}, {1})", _BITS),
    }
)
"""Every operation's row; a test holds it complete."""


def result_dtype(op: Op, dtypes: Sequence[DType]) -> DType:
    """The compute type ``op`` yields on operands of compute types ``dtypes``.

    Raises ``InvalidProgram`` for operands the operation does not take, and for CAST
    and BITCAST, whose result type is not a function of the operand's.
    """
    row = ROWS[op]
    got = ", ".join(d.short for d in dtypes)
    if len(dtypes) != row.arity:
        raise InvalidProgram(
            "an operation has the wrong number of operands",
            where=op.value,
            got=f"{len(dtypes)} ({got})",
            expected=str(row.arity),
        )
    if row.rule is Rule.CONVERT:
        raise InvalidProgram(
            "the operands of a conversion do not say its result type",
            where=op.value,
            got=got,
            expected="the type carried by the node",
        )
    chosen = dtypes[1:] if row.rule is Rule.SELECT else dtypes
    if row.rule is Rule.RANDOM and dtypes[1] is DType.I32:
        chosen = dtypes[:1]
    condition_ok = row.rule is not Rule.SELECT or dtypes[0] is DType.BOOL
    if len(set(chosen)) != 1 or chosen[0] not in row.rule.accepts or not condition_ok:
        raise InvalidProgram(
            "an operation has operands of the wrong type",
            where=op.value,
            got=got,
            expected=f"{row.rule.value}; accepted: {', '.join(d.short for d in row.rule.accepts)}",
            remedy="cast the operands to one compute type first",
        )
    if row.rule is Rule.RANDOM:
        return DType.I32
    return DType.BOOL if row.rule.yields_bool else chosen[0]


def triton_text(
    op: Op,
    operand_texts: Sequence[str],
    operand_dtypes: Sequence[DType],
    result_dtype: DType,
    nonnegative: bool = False,
) -> str:
    """The Triton expression of ``op``, not parenthesised.

    Operand texts must be names, literals or parenthesised, because a text may repeat
    them or put an operator beside them; at least one must be a tensor. ``nonnegative``
    says that no operand is negative, which makes integer division plain. The kernel
    must have ``tl``, ``libdevice`` and ``HELPERS`` in scope.

    Raises ``InvalidProgram`` if the number of operands is wrong.
    """
    row = ROWS[op]
    if len(operand_texts) != row.arity or len(operand_dtypes) != row.arity:
        raise InvalidProgram(
            "an operation has the wrong number of operands",
            where=op.value,
            got=", ".join(operand_texts),
            expected=str(row.arity),
        )
    if isinstance(row.text, str):
        return row.text.format(*operand_texts)
    call = Call(tuple(operand_texts), tuple(operand_dtypes), result_dtype, nonnegative)
    return row.text(call)


def libdevice_names() -> tuple[str, ...]:
    """The device-library functions that texts call, sorted: what a machine without a
    GPU needs stand-ins for."""
    found: set[str] = set()
    for op, row in ROWS.items():
        for dtype in row.rule.accepts:
            dtypes = (DType.BOOL, dtype, dtype) if row.rule is Rule.SELECT else (dtype,) * row.arity
            result = dtype if row.rule is Rule.CONVERT else DType.BOOL
            made = triton_text(op, ("a", "b", "c")[: row.arity], dtypes, result)
            found.update(re.findall(r"libdevice\.(\w+)", made))
    return tuple(sorted(found))
