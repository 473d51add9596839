"""Scalar operations: one row each.

A row holds everything there is to know about an operation: how many operands, what
type comes out, what it means (numpy), what it is in Triton, and on which operands
it is tested. A new operation is one new row; a row that lacks a field does not
type-check.
"""

from __future__ import annotations

import enum


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
