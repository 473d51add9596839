"""Rows of the operator table: arithmetic, comparisons, functions, conversions."""

from __future__ import annotations

from tests.operator_cases import Case, Tensor
from tests.operator_operands import (
    BF16,
    BOOL,
    BOOLS,
    COLUMN,
    EXPANDED,
    F32,
    F64,
    GAPS,
    HALF,
    I32,
    I64,
    INTEGERS,
    SCALAR,
    SMALL_INTEGERS,
    SPECIAL,
    TRANSPOSED,
    U8,
    A,
    B,
    row,
)


def _binary() -> list[Case]:
    rows = []
    for name in ("add", "sub", "mul"):
        op = f"aten.{name}.Tensor"
        rows += [
            row("plain", op, A, B),
            row("broadcast", op, A, COLUMN),
            row("scalar_tensor", op, A, SCALAR),
            row("number", op, A, 1.5),
            row("transposed", op, TRANSPOSED, GAPS),
            row("expanded", op, EXPANDED, TRANSPOSED),
            row("bf16", op, HALF, HALF),
            row("bf16_f32", op, HALF, Tensor((4, 9))),
            row("int_float", op, INTEGERS, Tensor((4, 9))),
            row("int_bf16", op, INTEGERS, HALF),
            row("int32_int64", op, SMALL_INTEGERS, INTEGERS),
        ]
    rows += [
        row("bool", "aten.add.Tensor", BOOLS, BOOLS),
        row("bool", "aten.mul.Tensor", BOOLS, BOOLS),
        row("bool_int", "aten.add.Tensor", BOOLS, INTEGERS),
        row("alpha", "aten.add.Tensor", A, B, alpha=2.5),
        row("alpha", "aten.sub.Tensor", A, B, alpha=-2),
        row("int_alpha", "aten.add.Tensor", INTEGERS, INTEGERS, alpha=3),
        row("plain", "aten.div.Tensor", A, B),
        row("int", "aten.div.Tensor", INTEGERS, SMALL_INTEGERS),
        row("number", "aten.div.Tensor", A, 3.0),
        row("floor", "aten.div.Tensor_mode", A, B, rounding_mode="floor", tolerance=1e-3),
        row("floor_int", "aten.div.Tensor_mode", INTEGERS, SMALL_INTEGERS, rounding_mode="floor"),
        row("trunc_int", "aten.div.Tensor_mode", INTEGERS, SMALL_INTEGERS, rounding_mode="trunc"),
        row("trunc", "aten.div.Tensor_mode", A, B, rounding_mode="trunc"),
        row("int", "aten.remainder.Tensor", INTEGERS, SMALL_INTEGERS),
        row("float", "aten.remainder.Scalar", A, 0.75),
        row("negative", "aten.remainder.Scalar", INTEGERS, -4),
        row("int", "aten.fmod.Tensor", INTEGERS, SMALL_INTEGERS),
        row("float", "aten.fmod.Scalar", A, 0.75),
        row("plain", "aten.maximum.default", A, B),
        row("nan", "aten.maximum.default", SPECIAL, Tensor((4, 9))),
        row("nan", "aten.minimum.default", SPECIAL, Tensor((4, 9))),
        row("plain", "aten.atan2.default", A, B),
        row("plain", "aten.hypot.default", A, B),
        row("plain", "aten.copysign.Tensor", A, COLUMN),
    ]
    return rows


def _comparison_and_logic() -> list[Case]:
    rows = []
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        rows += [
            row("float", f"aten.{name}.Tensor", A, COLUMN),
            row("int", f"aten.{name}.Tensor", INTEGERS, SMALL_INTEGERS),
            row("number", f"aten.{name}.Scalar", INTEGERS, 2),
        ]
    for name in ("logical_and", "logical_or", "logical_xor"):
        rows.append(row("mixed", f"aten.{name}.default", BOOLS, INTEGERS))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        rows.append(row("int", f"aten.{name}.Tensor", INTEGERS, SMALL_INTEGERS))
        rows.append(row("bool", f"aten.{name}.Tensor", BOOLS, BOOLS))
    rows += [
        row("int_float_number", "aten.lt.Scalar", INTEGERS, 1.5),
        row("bf16", "aten.gt.Tensor", HALF, Tensor((4, 9))),
        row("bool", "aten.logical_not.default", BOOLS),
        row("int", "aten.logical_not.default", INTEGERS),
        row("bool", "aten.bitwise_not.default", BOOLS),
        row("int", "aten.bitwise_not.default", INTEGERS),
        row("int", "aten.bitwise_left_shift.Tensor", INTEGERS, SMALL_INTEGERS),
        row("int", "aten.bitwise_right_shift.Tensor", INTEGERS, SMALL_INTEGERS),
        row("plain", "aten.where.self", BOOLS, Tensor((4, 9)), Tensor((4, 1))),
        row("promotes", "aten.where.self", BOOLS, HALF, Tensor((4, 9))),
        row("both", "aten.clamp.default", A, -1, 1.5),
        row("min_only", "aten.clamp.default", A, 0.25),
        row("nan", "aten.clamp.default", SPECIAL, -1.0, 1.0),
        row("tensor", "aten.clamp.Tensor", A, COLUMN, None),
    ]
    return rows


_UNARY_DOMAIN = {
    "log": (0.1, 5.0), "log2": (0.1, 5.0), "log10": (0.1, 5.0), "log1p": (-0.9, 5.0),
    "sqrt": (0.0, 9.0), "rsqrt": (0.1, 9.0), "reciprocal": (0.5, 4.0),
    "tan": (-1.2, 1.2), "asin": (-0.95, 0.95), "acos": (-0.95, 0.95),
    "acosh": (1.1, 5.0), "atanh": (-0.9, 0.9), "erfinv": (-0.9, 0.9), "lgamma": (0.2, 0.9),
}  # fmt: skip


def _unary() -> list[Case]:
    rows = []
    names = [
        "neg", "abs", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt",
        "rsqrt", "reciprocal", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
        "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma", "sigmoid",
        "relu", "sign", "floor", "ceil", "round", "trunc", "frac",
    ]  # fmt: skip
    for name in names:
        low, high = _UNARY_DOMAIN.get(name, (-3.0, 3.0))
        op = f"aten.{name}.default"
        rows.append(row("f32", op, Tensor((3, 11), low=low, high=high), tolerance=1e-4))
        exact = ("floor", "ceil", "round", "trunc")
        if name not in exact:
            rows.append(row("bf16", op, Tensor((3, 11), BF16, low=low, high=high)))
    return rows


def _functions() -> list[Case]:
    rows = [
        row("int", "aten.exp.default", Tensor((5,), I64, low=-3, high=3)),
        row("int", "aten.abs.default", INTEGERS),
        row("bool", "aten.sign.default", BOOLS),
        row("int", "aten.neg.default", INTEGERS),
        row("int", "aten.floor.default", INTEGERS),
        row("special", "aten.isnan.default", SPECIAL),
        row("special", "aten.isinf.default", SPECIAL),
        row("int", "aten.isnan.default", INTEGERS),
        row("special", "aten.signbit.default", A),
        row("special", "aten.relu.default", SPECIAL),
        row("decimals", "aten.round.decimals", A, decimals=1),
        row("tens", "aten.round.decimals", A, decimals=-1),
    ]
    rows += [
        row(f"{exponent}", "aten.pow.Tensor_Scalar", B, exponent, tolerance=1e-4)
        for exponent in (2, 3, -1, 0.5, -0.5, 0, 1, -2, 2.5, 7)
    ]
    rows += [
        row("bf16_cube", "aten.pow.Tensor_Scalar", HALF, 3),
        row("int", "aten.pow.Tensor_Scalar", SMALL_INTEGERS, 3),
        row("tensor", "aten.pow.Tensor_Tensor", B, A, tolerance=1e-4),
        row("base", "aten.pow.Scalar", 2, A, tolerance=1e-4),
        row("ints", "aten.pow.Tensor_Tensor", INTEGERS, SMALL_INTEGERS),
        row("int_base", "aten.pow.Scalar", -3, SMALL_INTEGERS),
        row("ints", "aten.gcd.default", INTEGERS, SMALL_INTEGERS),
        row("ints", "aten.lcm.default", INTEGERS, SMALL_INTEGERS),
    ]
    return rows


def _casts() -> list[Case]:
    op = "aten._to_copy.default"
    rows = [
        row(f"{source.short}_{target.short}", op, Tensor((3, 5), source), dtype=target)
        for source in (BF16, F32, I32, BOOL)
        for target in (BF16, F32, F64, I64, BOOL)
    ]
    rows += [
        row("u8", "prims.convert_element_type.default", Tensor((9,), low=0, high=200), U8),
        row("plain", "aten.copy.default", HALF, Tensor((9,))),
    ]
    return rows


_SPECIAL_DOMAIN = {
    "digamma": (1.6, 9.0), "special_erfcx": (-1.5, 9.0), "special_ndtri": (0.01, 0.49),
    "i0": (-4.0, 4.0), "special_i1": (0.3, 4.0), "special_i0e": (-80.0, 80.0),
    "special_i1e": (0.3, 80.0), "special_bessel_j0": (-1.5, 1.5), "special_bessel_j1": (0.2, 2.0),
    "special_bessel_y0": (2.6, 3.4), "special_bessel_y1": (2.6, 3.4),
    "special_modified_bessel_i0": (-4.0, 4.0), "special_modified_bessel_i1": (0.3, 4.0),
    "special_modified_bessel_k0": (0.05, 6.0), "special_modified_bessel_k1": (0.05, 6.0),
    "special_scaled_modified_bessel_k0": (0.05, 60.0),
    "special_scaled_modified_bessel_k1": (0.05, 60.0),
    "special_spherical_bessel_j0": (-2.5, 2.5), "angle": (-3.0, 3.0), "frexp": (-9.0, 9.0),
}  # fmt: skip


_POLYNOMIALS = (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
    "chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
    "laguerre_polynomial_l", "legendre_polynomial_p", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
)  # fmt: skip


def _special() -> list[Case]:
    rows = []
    for name, (low, high) in _SPECIAL_DOMAIN.items():
        op = f"aten.{name}.{'Tensor' if name == 'frexp' else 'default'}"
        rows.append(row("f32", op, Tensor((5, 40), low=low, high=high), tolerance=1e-5))
        rows.append(row("f64", op, Tensor((40,), F64, low=low, high=high), tolerance=1e-9))
    for op in ("aten.igamma.default", "aten.igammac.default"):
        # a power series; a series, a fraction and an expansion for large ones
        for name, low, high in (("small", 0.05, 2.0), ("any", 1.0, 40.0), ("large", 90.0, 600.0)):
            both = [Tensor((40,), F64, low=low, high=high) for _ in range(2)]
            rows.append(row(name, op, *both, tolerance=1e-8))
        rows.append(row("f32", op, Tensor((5, 7), low=0.1, high=9.0), B, tolerance=1e-5))
    for name in _POLYNOMIALS:
        op = f"aten.special_{name}"
        for label, kind, tolerance in (("f32", F32, 1e-4), ("f64", F64, 1e-9)):
            x, n = (Tensor((5, 40), kind, low=-1.9, high=high) for high in (3.0, 12.0))
            rows.append(row(label, f"{op}.default", x, n, tolerance=tolerance))
        rows.append(row("n", f"{op}.n_scalar", Tensor((40,), low=1.1, high=3.0), 6))
        rows.append(
            row("x", f"{op}.x_scalar", 0.4, Tensor((40,), low=-2.9, high=9.0), tolerance=1e-4)
        )
    rows += [
        row("negative", "aten.digamma.default", Tensor((40,), low=-3.9, high=-3.1), tolerance=1e-4),
        row("trigamma", "aten.polygamma.default", 1, Tensor((40,), low=0.1, high=9.0)),
        row("third", "aten.polygamma.default", 3, Tensor((40,), low=0.4, high=9.0)),
        row("negative", "aten.polygamma.default", 2, Tensor((40,), low=-3.9, high=-3.1)),
        row("plain", "aten.special_zeta.default", B, Tensor((5, 7), low=0.2, high=9.0)),
        row("scalar", "aten.special_zeta.self_scalar", 3, Tensor((5, 7), low=-2.9, high=-2.1)),
        row("other", "aten.special_zeta.other_scalar", Tensor((40,), low=1.2, high=9.0), 3),
        row("int", "aten.i0.default", SMALL_INTEGERS),
        row("nan", "aten.fmax.default", SPECIAL, Tensor((4, 9))),
        row("nan", "aten.fmin.default", SPECIAL, Tensor((4, 9))),
        row("int", "aten.fmax.default", INTEGERS, SMALL_INTEGERS),
        row("exponents", "aten.ldexp.Tensor", A, Tensor((5, 7), I32, low=-9, high=9)),
        row("floats", "aten.ldexp.Tensor", A, Tensor((5, 7), low=-9, high=9)),
        row(
            "double",
            "aten.ldexp.Tensor",
            Tensor((5, 7), F64),
            Tensor((5, 7), I64, low=-99, high=99),
        ),
        row("special", "aten.angle.default", SPECIAL),
    ]
    return rows


FAMILIES = (_binary, _comparison_and_logic, _unary, _functions, _casts, _special)
