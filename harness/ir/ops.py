"""Scalar operations: everything the compiler knows about each is its line in ``Op``. What it means,
and on which operands it is tested, is for tests to say (``tests/ir/meanings.py``)."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.ir import op_triton as triton
from harness.ir.op_triton import Call, Text

FLOATS = (DType.F32, DType.F64)
INTEGERS = (DType.U8, DType.I8, DType.I16, DType.I32, DType.I64)
NUMBERS = (*INTEGERS, *FLOATS)
COMPUTE_TYPES = (DType.BOOL, *NUMBERS)


class Rule(enum.Enum):
    """How the result type follows from the operand types: the rule in words, which is the value,
    which types operands (the selected ones, for SELECT) may have, and the result's where it is not
    theirs. Operands of one operation have one type, except the condition of WHERE and the operand
    of a conversion: lowering writes promotion as CAST."""

    _value_: str
    accepts: tuple[DType, ...]
    gives: DType | None

    def __new__(cls, words: str, accepts: tuple[DType, ...], gives: DType | None = None) -> Rule:
        """One line of the table."""
        made = object.__new__(cls)
        made._value_, made.accepts, made.gives = words, accepts, gives
        return made

    FLOAT = "floats of one type give that type", FLOATS
    NUMBER = "numbers of one type give that type", NUMBERS
    ANY = "operands of one type give that type", COMPUTE_TYPES
    BITS = "integers or bools of one type give that type", (DType.BOOL, *INTEGERS)
    INTEGER = "integers of one type give that type", INTEGERS
    LOGIC = "bools give bool", (DType.BOOL,), DType.BOOL
    COMPARE = "operands of one type give bool", COMPUTE_TYPES, DType.BOOL
    TEST = "a number gives bool", NUMBERS, DType.BOOL
    FLOAT_TEST = "a float gives bool", FLOATS, DType.BOOL
    SELECT = "bool and two operands of one type give that type", COMPUTE_TYPES
    CONVERT = "any type gives the type asked for", COMPUTE_TYPES
    RANDOM = "an int64 seed and an int32 or int64 position give int32", (DType.I64,), DType.I32


class Cost(enum.IntEnum):
    """What an operation costs an element, in bytes of memory traffic that take the same time: a GPU
    of compute capability 8.0 to 10.0 finishes 16 special-function operations per clock and
    multiprocessor (CUDA programming guide, table of arithmetic throughput), an H100 moves about 15
    bytes. What is long is a polynomial with range reduction, a loop of subtractions or an integer
    division: tens of ordinary instructions."""

    ORDINARY = 0
    SPECIAL = 1
    SEVERAL = 3
    LONG = 8


LAUNCH = 2 << 20
"""What a kernel costs beside what it does, in bytes as well. An empty one takes an H100 1.05 µs in
a CUDA graph, in which it moves 3 MB; two thirds of that, because costs are rough."""


class Op(enum.Enum):
    """Scalar operations, one line each: the printed name, which is the value, how many operands,
    the rule for types, what it is in Triton: a template over operand texts (``{0}``,
    ``{1}`` …), or a function where the operand type matters; and what it costs."""

    _value_: str
    arity: int
    rule: Rule
    text: Text
    cost: Cost

    def __new__(
        cls, name: str, arity: int, rule: Rule, text: Text, cost: Cost = Cost.ORDINARY
    ) -> Op:
        """One line of the table."""
        made = object.__new__(cls)
        made._value_, made.arity, made.rule, made.text, made.cost = name, arity, rule, text, cost
        return made

    # arithmetic
    ADD = "add", 2, Rule.NUMBER, "{0} + {1}"
    SUB = "sub", 2, Rule.NUMBER, "{0} - {1}"
    MUL = "mul", 2, Rule.NUMBER, "{0} * {1}"
    TRUE_DIV = "true_div", 2, Rule.FLOAT, "{0} / {1}", Cost.SPECIAL
    FLOOR_DIV = "floor_div", 2, Rule.NUMBER, triton.floor_div, Cost.LONG
    TRUNC_DIV = "trunc_div", 2, Rule.NUMBER, triton.trunc_div, Cost.LONG
    REMAINDER = "remainder", 2, Rule.NUMBER, triton.remainder, Cost.LONG
    FMOD = "fmod", 2, Rule.NUMBER, triton.fmod, Cost.LONG
    NEG = "neg", 1, Rule.NUMBER, triton.negate
    ABS = "abs", 1, Rule.NUMBER, triton.absolute
    SIGN = "sign", 1, Rule.NUMBER, triton.sign
    FMA = "fma", 3, Rule.FLOAT, "tl.fma({0}, {1}, {2})"
    # comparison and logic
    EQ = "eq", 2, Rule.COMPARE, "{0} == {1}"
    NE = "ne", 2, Rule.COMPARE, "{0} != {1}"
    LT = "lt", 2, Rule.COMPARE, "{0} < {1}"
    LE = "le", 2, Rule.COMPARE, "{0} <= {1}"
    GT = "gt", 2, Rule.COMPARE, "{0} > {1}"
    GE = "ge", 2, Rule.COMPARE, "{0} >= {1}"
    LOGICAL_AND = "logical_and", 2, Rule.LOGIC, "{0} & {1}"
    LOGICAL_OR = "logical_or", 2, Rule.LOGIC, "{0} | {1}"
    LOGICAL_NOT = "logical_not", 1, Rule.LOGIC, "{0} == 0"
    LOGICAL_XOR = "logical_xor", 2, Rule.LOGIC, "{0} ^ {1}"
    BIT_AND = "bit_and", 2, Rule.BITS, "{0} & {1}"
    BIT_OR = "bit_or", 2, Rule.BITS, "{0} | {1}"
    BIT_XOR = "bit_xor", 2, Rule.BITS, "{0} ^ {1}"
    BIT_NOT = "bit_not", 1, Rule.BITS, triton.bit_not
    SHIFT_LEFT = "shift_left", 2, Rule.INTEGER, triton.shift_left
    SHIFT_RIGHT = "shift_right", 2, Rule.INTEGER, triton.shift_right
    WHERE = "where", 3, Rule.SELECT, "tl.where({0}, {1}, {2})"
    MAXIMUM = "maximum", 2, Rule.ANY, triton.maximum
    MINIMUM = "minimum", 2, Rule.ANY, triton.minimum
    # conversion
    CAST = "cast", 1, Rule.CONVERT, triton.cast
    BITCAST = "bitcast", 1, Rule.CONVERT, triton.bitcast
    # unary math
    EXP = "exp", 1, Rule.FLOAT, "tl.exp({0})", Cost.SPECIAL
    EXP2 = "exp2", 1, Rule.FLOAT, "tl.exp2({0})", Cost.SPECIAL
    EXPM1 = "expm1", 1, Rule.FLOAT, "libdevice.expm1({0})", Cost.SEVERAL
    LOG = "log", 1, Rule.FLOAT, "tl.log({0})", Cost.SPECIAL
    LOG2 = "log2", 1, Rule.FLOAT, "tl.log2({0})", Cost.SPECIAL
    LOG10 = "log10", 1, Rule.FLOAT, "libdevice.log10({0})", Cost.SPECIAL
    LOG1P = "log1p", 1, Rule.FLOAT, "libdevice.log1p({0})", Cost.SEVERAL
    SQRT = "sqrt", 1, Rule.FLOAT, triton.sqrt, Cost.SPECIAL
    RSQRT = "rsqrt", 1, Rule.FLOAT, "libdevice.rsqrt({0})", Cost.SPECIAL
    RECIPROCAL = "reciprocal", 1, Rule.FLOAT, "1.0 / {0}", Cost.SPECIAL
    SIN = "sin", 1, Rule.FLOAT, "tl.sin({0})", Cost.LONG
    COS = "cos", 1, Rule.FLOAT, "tl.cos({0})", Cost.LONG
    TAN = "tan", 1, Rule.FLOAT, "libdevice.tan({0})", Cost.LONG
    ASIN = "asin", 1, Rule.FLOAT, "libdevice.asin({0})", Cost.LONG
    ACOS = "acos", 1, Rule.FLOAT, "libdevice.acos({0})", Cost.LONG
    ATAN = "atan", 1, Rule.FLOAT, "libdevice.atan({0})", Cost.LONG
    SINH = "sinh", 1, Rule.FLOAT, "libdevice.sinh({0})", Cost.LONG
    COSH = "cosh", 1, Rule.FLOAT, "libdevice.cosh({0})", Cost.LONG
    TANH = "tanh", 1, Rule.FLOAT, "libdevice.tanh({0})", Cost.SEVERAL
    ASINH = "asinh", 1, Rule.FLOAT, "libdevice.asinh({0})", Cost.LONG
    ACOSH = "acosh", 1, Rule.FLOAT, "libdevice.acosh({0})", Cost.LONG
    ATANH = "atanh", 1, Rule.FLOAT, "libdevice.atanh({0})", Cost.LONG
    ERF = "erf", 1, Rule.FLOAT, "libdevice.erf({0})", Cost.LONG
    ONE_PLUS_ERF = "one_plus_erf", 1, Rule.FLOAT, triton.one_plus_erf, Cost.LONG
    ERFC = "erfc", 1, Rule.FLOAT, "libdevice.erfc({0})", Cost.LONG
    ERFINV = "erfinv", 1, Rule.FLOAT, "libdevice.erfinv({0})", Cost.LONG
    LGAMMA = "lgamma", 1, Rule.FLOAT, "libdevice.lgamma({0})", Cost.LONG
    ERFCX = "special_erfcx", 1, Rule.FLOAT, "libdevice.erfcx({0})", Cost.LONG
    NDTRI = "special_ndtri", 1, Rule.FLOAT, "libdevice.normcdfinv({0})", Cost.LONG
    BESSEL_I0 = "i0", 1, Rule.FLOAT, "libdevice.cyl_bessel_i0({0})", Cost.LONG
    BESSEL_I1 = "special_i1", 1, Rule.FLOAT, "libdevice.cyl_bessel_i1({0})", Cost.LONG
    BESSEL_J0 = "special_bessel_j0", 1, Rule.FLOAT, "libdevice.j0({0})", Cost.LONG
    BESSEL_J1 = "special_bessel_j1", 1, Rule.FLOAT, "libdevice.j1({0})", Cost.LONG
    BESSEL_Y0 = "special_bessel_y0", 1, Rule.FLOAT, "libdevice.y0({0})", Cost.LONG
    BESSEL_Y1 = "special_bessel_y1", 1, Rule.FLOAT, "libdevice.y1({0})", Cost.LONG
    SIGMOID = "sigmoid", 1, Rule.FLOAT, triton.sigmoid, Cost.SEVERAL
    RELU = "relu", 1, Rule.NUMBER, triton.relu
    FLOOR = "floor", 1, Rule.NUMBER, triton.floor
    CEIL = "ceil", 1, Rule.NUMBER, triton.ceil
    ROUND = "round", 1, Rule.NUMBER, triton.whole
    TRUNC = "trunc", 1, Rule.NUMBER, triton.trunc
    SIGNBIT = "signbit", 1, Rule.TEST, triton.signbit
    ISNAN = "isnan", 1, Rule.FLOAT_TEST, "{0} != {0}"
    ISINF = "isinf", 1, Rule.FLOAT_TEST, "tl.abs({0}) == float('inf')"
    # binary math
    POW = "pow", 2, Rule.FLOAT, "libdevice.pow({0}, {1})", Cost.LONG
    ATAN2 = "atan2", 2, Rule.FLOAT, "libdevice.atan2({0}, {1})", Cost.LONG
    HYPOT = "hypot", 2, Rule.FLOAT, "libdevice.hypot({0}, {1})", Cost.LONG
    COPYSIGN = "copysign", 2, Rule.FLOAT, "libdevice.copysign({0}, {1})"
    NEXTAFTER = "nextafter", 2, Rule.FLOAT, "libdevice.nextafter({0}, {1})", Cost.LONG
    ZETA = "special_zeta", 2, Rule.FLOAT, "_zeta({0}, {1})", Cost.LONG
    INTEGER_POWER = "integer_power", 2, Rule.INTEGER, "_integer_power({0}, {1})", Cost.LONG
    GCD = "gcd", 2, Rule.INTEGER, "_greatest_divisor({0}, {1})", Cost.LONG
    IGAMMA = "igamma", 2, Rule.FLOAT, "_incomplete_gamma({0}, {1}, False)", Cost.LONG
    IGAMMAC = "igammac", 2, Rule.FLOAT, "_incomplete_gamma({0}, {1}, True)", Cost.LONG
    CHEBYSHEV_T = "special_chebyshev_polynomial_t", 2, Rule.FLOAT, "_basis({0}, {1}, 0)", Cost.LONG
    CHEBYSHEV_U = "special_chebyshev_polynomial_u", 2, Rule.FLOAT, "_basis({0}, {1}, 1)", Cost.LONG
    CHEBYSHEV_V = "special_chebyshev_polynomial_v", 2, Rule.FLOAT, "_basis({0}, {1}, 2)", Cost.LONG
    CHEBYSHEV_W = "special_chebyshev_polynomial_w", 2, Rule.FLOAT, "_basis({0}, {1}, 3)", Cost.LONG
    HERMITE_H = "special_hermite_polynomial_h", 2, Rule.FLOAT, "_basis({0}, {1}, 4)", Cost.LONG
    HERMITE_HE = "special_hermite_polynomial_he", 2, Rule.FLOAT, "_basis({0}, {1}, 5)", Cost.LONG
    LAGUERRE_L = "special_laguerre_polynomial_l", 2, Rule.FLOAT, "_basis({0}, {1}, 6)", Cost.LONG
    LEGENDRE_P = "special_legendre_polynomial_p", 2, Rule.FLOAT, "_basis({0}, {1}, 7)", Cost.LONG
    # the first operand; a kernel asserts that it is from 0 up to the second
    IN_RANGE = "in_range", 2, Rule.INTEGER, "{0}"
    # an integer; a kernel asserts that it is not zero
    DIVISOR = "divisor", 1, Rule.INTEGER, "{0}"
    # random numbers
    RANDOM_BITS = "random_bits", 2, Rule.RANDOM, "_random_bits({0}, {1})", Cost.SEVERAL


def result_dtype(op: Op, dtypes: Sequence[DType]) -> DType:
    """The compute type ``op`` yields on operands of compute types ``dtypes``. Raises
    ``InvalidProgram`` for operands the operation does not take, and for CAST and BITCAST, whose
    result type is not a function of the operand's."""
    got = ", ".join(d.short for d in dtypes)
    _require_arity(op, got, len(dtypes))
    if op.rule is Rule.CONVERT:
        what = "the operands of a conversion do not say its result type"
        raise InvalidProgram(what, op.value, got, "the type carried by the node")
    chosen = dtypes[1:] if op.rule is Rule.SELECT else dtypes
    if op.rule is Rule.RANDOM and dtypes[1] is DType.I32:
        chosen = dtypes[:1]
    condition_ok = op.rule is not Rule.SELECT or dtypes[0] is DType.BOOL
    if len(set(chosen)) != 1 or chosen[0] not in op.rule.accepts or not condition_ok:
        wanted = f"{op.rule.value}; accepted: {', '.join(d.short for d in op.rule.accepts)}"
        remedy = "cast the operands to one compute type first"
        what = "an operation has operands of the wrong type"
        raise InvalidProgram(what, op.value, got, wanted, remedy)
    return op.rule.gives or chosen[0]


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
    must have ``tl``, ``libdevice`` and the functions that it calls in scope.

    Raises ``InvalidProgram`` if the number of operands is wrong.
    """
    _require_arity(op, ", ".join(operand_texts), len(operand_texts), len(operand_dtypes))
    if isinstance(op.text, str):
        return op.text.format(*operand_texts)
    return op.text(Call(tuple(operand_texts), tuple(operand_dtypes), result_dtype, nonnegative))


def _require_arity(op: Op, got: str, *counts: int) -> None:
    if set(counts) != {op.arity}:
        what = "an operation has the wrong number of operands"
        raise InvalidProgram(what, op.value, f"{counts[0]} ({got})", str(op.arity))
