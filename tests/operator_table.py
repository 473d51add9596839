"""Rows of the operator table; see ``tests.operator_cases``."""

from __future__ import annotations

from typing import Any

from harness.dtypes import DType
from tests.operator_cases import Case, Tensor

BOOL, U8, I32, I64 = DType.BOOL, DType.U8, DType.I32, DType.I64
F16, BF16, F32, F64 = DType.F16, DType.BF16, DType.F32, DType.F64

A = Tensor((3, 5, 7))
B = Tensor((3, 5, 7), low=0.5, high=2.0)
ROW = Tensor((7,))
COLUMN = Tensor((5, 1))
SCALAR = Tensor(())
TRANSPOSED = Tensor((5, 7), stride=(1, 5))
GAPS = Tensor((5, 7), stride=(14, 2))
EXPANDED = Tensor((5, 7), stride=(0, 1))
HALF = Tensor((4, 9), BF16)
INTEGERS = Tensor((4, 9), I64, low=-9, high=10)
SMALL_INTEGERS = Tensor((4, 9), I32, low=1, high=6)
BOOLS = Tensor((4, 9), BOOL)
SPECIAL = Tensor((4, 9), special=True)


def row(label: str, op: str, *args: Any, tolerance: float | None = None, **kwargs: Any) -> Case:
    """A case called after its operator and ``label``."""
    short = "_".join(op.split(".")[1:])
    return Case(f"{short}-{label}", f"{op}", args, tuple(kwargs.items()), tolerance)


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
        row("number", "aten.rsub.Scalar", A, 1),
        row("plain", "aten.div.Tensor", A, B),
        row("int", "aten.div.Tensor", INTEGERS, SMALL_INTEGERS),
        row("number", "aten.div.Tensor", A, 3.0),
        row("floor", "aten.div.Tensor_mode", A, B, rounding_mode="floor", tolerance=1e-3),
        row("floor_int", "aten.div.Tensor_mode", INTEGERS, SMALL_INTEGERS, rounding_mode="floor"),
        row("trunc_int", "aten.div.Tensor_mode", INTEGERS, SMALL_INTEGERS, rounding_mode="trunc"),
        row("trunc", "aten.div.Tensor_mode", A, B, rounding_mode="trunc"),
        row("int", "aten.floor_divide.default", INTEGERS, SMALL_INTEGERS),
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
        row("plain", "aten.xlogy.Tensor", B, B),
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
        row("number", "aten.masked_fill.Scalar", HALF, BOOLS, -1e30),
        row("broadcast", "aten.masked_fill.Scalar", Tensor((2, 4, 9)), BOOLS, 0),
        row("both", "aten.clamp.default", A, -1, 1.5),
        row("min_only", "aten.clamp.default", A, 0.25),
        row("nan", "aten.clamp.default", SPECIAL, -1.0, 1.0),
        row("tensor", "aten.clamp.Tensor", A, COLUMN, None),
        row("number", "aten.clamp_min.default", A, 0.5),
        row("number", "aten.clamp_max.default", HALF, 0.5),
    ]
    return rows


_UNARY_DOMAIN = {
    "log": (0.1, 5.0), "log2": (0.1, 5.0), "log10": (0.1, 5.0), "log1p": (-0.9, 5.0),
    "sqrt": (0.0, 9.0), "rsqrt": (0.1, 9.0), "reciprocal": (0.5, 4.0),
    "tan": (-1.2, 1.2), "asin": (-0.95, 0.95), "acos": (-0.95, 0.95),
    "acosh": (1.1, 5.0), "atanh": (-0.9, 0.9), "erfinv": (-0.9, 0.9), "lgamma": (0.2, 0.9),
    "logit": (0.05, 0.95),
}  # fmt: skip


def _unary() -> list[Case]:
    rows = []
    names = [
        "neg",
        "abs",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "erf",
        "erfc",
        "erfinv",
        "lgamma",
        "sigmoid",
        "relu",
        "sign",
        "floor",
        "ceil",
        "round",
        "trunc",
        "silu",
        "gelu",
        "mish",
        "hardsigmoid",
        "hardswish",
        "softplus",
        "elu",
        "leaky_relu",
        "hardtanh",
        "relu6",
        "square",
        "logit",
    ]
    for name in names:
        low, high = _UNARY_DOMAIN.get(name, (-3.0, 3.0))
        op = f"aten.{name}.default"
        rows.append(row("f32", op, Tensor((3, 11), low=low, high=high), tolerance=1e-4))
        exact = ("floor", "ceil", "round", "trunc")
        if name not in exact:
            rows.append(row("bf16", op, Tensor((3, 11), BF16, low=low, high=high)))
    rows += [
        row("int", "aten.exp.default", Tensor((5,), I64, low=-3, high=3)),
        row("int", "aten.abs.default", INTEGERS),
        row("int", "aten.neg.default", INTEGERS),
        row("int", "aten.floor.default", INTEGERS),
        row("special", "aten.isnan.default", SPECIAL),
        row("special", "aten.isinf.default", SPECIAL),
        row("int", "aten.isnan.default", INTEGERS),
        row("special", "aten.signbit.default", A),
        row("special", "aten.nan_to_num.default", SPECIAL, 1.0, 2.0, -2.0),
        row("special", "aten.relu.default", SPECIAL),
        row("tanh", "aten.gelu.default", A, approximate="tanh"),
        row("beta", "aten.softplus.default", A, 2, 3),
        row("slope", "aten.leaky_relu.default", A, 0.2),
        row("range", "aten.hardtanh.default", A, -0.5, 2),
        row("plain", "aten.threshold.default", A, 0.5, 7),
        row("decimals", "aten.round.decimals", A, decimals=1),
        row("eps", "aten.logit.default", Tensor((9,), low=0.0, high=1.0), 0.1),
    ]
    for exponent in (2, 3, -1, 0.5, -0.5, 0, 1, -2, 2.5, 7):
        rows.append(row(f"{exponent}", "aten.pow.Tensor_Scalar", B, exponent, tolerance=1e-4))
    rows += [
        row("bf16_cube", "aten.pow.Tensor_Scalar", HALF, 3),
        row("int", "aten.pow.Tensor_Scalar", SMALL_INTEGERS, 3),
        row("tensor", "aten.pow.Tensor_Tensor", B, A, tolerance=1e-4),
        row("base", "aten.pow.Scalar", 2, A, tolerance=1e-4),
        row("plain", "aten.addcmul.default", A, B, COLUMN, value=0.5),
        row("plain", "aten.addcdiv.default", A, A, B, value=-2.0),
        row("near", "aten.lerp.Scalar", A, B, 0.25),
        row("far", "aten.lerp.Scalar", A, B, 0.75),
        row("tensor", "aten.lerp.Tensor", A, B, Tensor((5, 7), low=0.0, high=1.0)),
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
        row("plain", "aten.fill.Scalar", HALF, 2.5),
    ]
    return rows


def _reshaping() -> list[Case]:
    view = "aten.view.default"
    return [
        row("merge", view, A, (15, 7)),
        row("split", view, Tensor((6, 8)), (2, 3, 4, 2)),
        row("regroup", view, Tensor((6, 8)), (4, 12)),
        row("ones", view, Tensor((1, 6, 1, 4)), (6, 1, 2, 2, 1)),
        row("flat", view, A, (105,)),
        row("infer", view, A, (-1, 7)),
        row("scalar", view, Tensor((1, 1)), ()),
        row("kept_strided", view, Tensor((4, 6), stride=(1, 4)), (4, 2, 3)),
        row("copies", "aten.reshape.default", TRANSPOSED, (35,)),
        row("plain", "aten._unsafe_view.default", A, (3, 35)),
        row("plain", "aten.permute.default", A, (2, 0, 1)),
        row("negative", "aten.permute.default", A, (-1, 0, -2)),
        row("negative", "aten.transpose.int", A, -1, 0),
        row("plain", "aten.t.default", TRANSPOSED),
        row("vector", "aten.t.default", ROW),
        row("plain", "aten.expand.default", COLUMN, (3, -1, 4)),
        row("scalar", "aten.expand.default", SCALAR, (2, 3)),
        row("all", "aten.squeeze.default", Tensor((1, 3, 1, 2))),
        row("one", "aten.squeeze.dim", Tensor((1, 3, 1, 2)), -2),
        row("not_one", "aten.squeeze.dim", Tensor((1, 3, 1, 2)), 1),
        row("some", "aten.squeeze.dims", Tensor((1, 3, 1, 2)), (0, 1)),
        row("last", "aten.unsqueeze.default", A, -1),
        row("middle", "aten.unsqueeze.default", A, 1),
        row("plain", "aten.slice.Tensor", A, 1, 1, 4),
        row("step", "aten.slice.Tensor", A, 2, 1, 9223372036854775807, 3),
        row("negative", "aten.slice.Tensor", A, -1, -5, -1),
        row("beyond", "aten.slice.Tensor", A, 0, -100, 100),
        row("negative", "aten.select.int", A, -1, -2),
        row("strided", "aten.select.int", TRANSPOSED, 0, 3),
        row("uneven", "aten.split.Tensor", A, 3, -1),
        row("sizes", "aten.split_with_sizes.default", A, (1, 4, 2), 2),
        row("plain", "aten.unbind.int", A, 1),
        row("plain", "aten.flip.default", A, (0, -1)),
        row("dims", "aten.roll.default", A, (2, -1), (1, 2)),
        row("flat", "aten.roll.default", A, (4,)),
        row("offset", "aten.diagonal.default", Tensor((5, 7)), 2),
        row("below", "aten.diagonal.default", A, -1, 2, 1),
        row("windows", "aten.unfold.default", A, 2, 3, 2),
        row("plain", "aten.repeat.default", Tensor((2, 3)), (4, 1, 2)),
        row("plain", "aten.as_strided.default", A, (5, 3, 2), (1, 35, 7), 3),
        row("transposed", "aten.as_strided.default", TRANSPOSED, (5, 7), (7, 1)),
        row("overlapping", "aten.as_strided.default", A, (10, 4), (2, 1)),
        row("plain", "aten.detach.default", TRANSPOSED),
        row("plain", "aten.alias.default", GAPS),
        row("permuted", "aten.clone.default", TRANSPOSED),
    ]


def _creation() -> list[Case]:
    return [
        row("plain", "aten.full.default", (3, 4), 2.5, dtype=F32),
        row("scalar", "aten.full.default", (), -float("inf"), dtype=BF16),
        row("like", "aten.full_like.default", HALF, 3),
        row("like", "aten.zeros_like.default", TRANSPOSED),
        row("like", "aten.ones_like.default", INTEGERS),
        row("plain", "aten.arange.default", 9),
        row("range", "aten.arange.start", 3, 11, dtype=I32),
        row("step", "aten.arange.start_step", 1, 10, 3),
        row("float", "aten.arange.start_step", 0, 1, 0.125, dtype=F32),
        row("plain", "prims.iota.default", 7, start=2, step=3, dtype=I64, device="cpu",
            requires_grad=False),
        row("plain", "aten.scalar_tensor.default", 1.5, dtype=F32),
        row("plain", "aten.eye.default", 4),
        row("plain", "aten.tril.default", Tensor((2, 5, 6)), -1),
        row("plain", "aten.triu.default", Tensor((5, 6), BF16), 2),
        row("plain", "aten.linspace.default", -1, 2, 9, dtype=F32),
    ]  # fmt: skip


def _indexing() -> list[Case]:
    table = Tensor((11, 6))
    ids = Tensor((2, 5), I64, low=0, high=11)
    wrapped = Tensor((4,), I64, low=-3, high=3)
    return [
        row("plain", "aten.embedding.default", table, ids),
        row("bf16", "aten.embedding.default", Tensor((11, 6), BF16, stride=(1, 11)), ids),
        row("int32", "aten.embedding.default", table, Tensor((3,), I32, low=0, high=11)),
        row("one_row", "aten.embedding.default", Tensor((1, 6)), Tensor((3,), I64, low=0, high=1)),
        row("last", "aten.gather.default", Tensor((4, 9)), -1, Tensor((4, 3), I64, low=0, high=9)),
        row("first", "aten.gather.default", Tensor((4, 9)), 0, Tensor((2, 5), I64, low=0, high=4)),
        row("plain", "aten.index_select.default", A, 1, Tensor((4,), I64, low=0, high=5)),
        row("one", "aten.index.Tensor", A, (wrapped,)),
        row("middle", "aten.index.Tensor", A, (None, wrapped)),
        row("two", "aten.index.Tensor", A, (wrapped, Tensor((2, 1), I64, low=-5, high=5))),
        row("apart", "aten.index.Tensor", A, (wrapped, None, Tensor((2, 4), I64, low=0, high=7))),
        row("bf16_transposed", "aten.index.Tensor", Tensor((5, 7), BF16, stride=(1, 5)),
            (None, Tensor((3, 2), I32, low=0, high=7))),
    ]  # fmt: skip


def _sums() -> list[Case]:
    rows = []
    for name in ("sum.dim_IntList", "mean.dim", "amax.default", "amin.default"):
        op = f"aten.{name}"
        rows += [
            row("last", op, A, (-1,)),
            row("keep", op, A, (1,), True),
            row("two", op, A, (0, 2)),
            row("transposed", op, TRANSPOSED, (0,)),
            row("bf16", op, HALF, (1,)),
            row("one", op, Tensor((4, 1)), (1,)),
            row("all", op, A, (0, 1, 2)),
        ]
    rows += [
        row("f16_to_f32", "aten.sum.dim_IntList", Tensor((4, 9), F16), (1,), dtype=F32),
        row("int", "aten.sum.dim_IntList", SMALL_INTEGERS, (0,)),
        row("bool", "aten.sum.default", BOOLS),
        row("empty_list", "aten.sum.dim_IntList", A, ()),
        row("plain", "aten.sum.default", A),
        row("plain", "aten.mean.default", A),
        row("plain", "aten.prod.dim_int", B, 1),
        row("int", "aten.amax.default", INTEGERS, (1,)),
        row("nan", "aten.amax.default", SPECIAL, (1,)),
        row("bool", "aten.amax.default", BOOLS, (1,)),
        row("plain", "aten.max.default", A),
        row("plain", "aten.min.default", A),
        row("plain", "aten.count_nonzero.dim_IntList", BOOLS, (1,)),
    ]
    return rows


def _other_reductions() -> list[Case]:
    ties = Tensor((4, 9), I64, low=0, high=3)
    rows = []
    for name in ("argmax", "argmin"):
        rows += [
            row("last", f"aten.{name}.default", A, -1),
            row("all", f"aten.{name}.default", TRANSPOSED),
            row("ties", f"aten.{name}.default", ties, 1, True),
            row("nan", f"aten.{name}.default", SPECIAL, 1),
        ]
    for name in ("max", "min"):
        rows += [
            row("plain", f"aten.{name}.dim", A, 1),
            row("keep", f"aten.{name}.dim", TRANSPOSED, 0, True),
            row("one", f"aten.{name}.dim", Tensor((4, 1)), 1),
        ]
    for name in ("any", "all"):
        rows += [
            row("all", f"aten.{name}.default", BOOLS),
            row("dim", f"aten.{name}.dim", BOOLS, 1),
            row("float", f"aten.{name}.dim", A, 0, True),
        ]
    for name in ("var", "std", "var_mean"):
        rows += [
            row("last", f"aten.{name}.correction", A, (-1,), correction=0, keepdim=True),
            row("default", f"aten.{name}.correction", A, (0, 2)),
            row("bf16", f"aten.{name}.correction", HALF, (1,), correction=1),
        ]
    rows += [
        row("norm", "aten.var_mean.correction", Tensor((2, 3, 4, 5)), (0, 2, 3), correction=0,
            keepdim=True),
        row("plain", "aten.logsumexp.default", A, (1,)),
        row("inf", "aten.logsumexp.default", Tensor((4, 9), low=-1e4, high=1e4), (1,), True),
        row("two", "aten.linalg_vector_norm.default", A, 2, (1, 2)),
        row("one", "aten.linalg_vector_norm.default", A, 1, (0,), True),
        row("inf", "aten.linalg_vector_norm.default", A, float("inf")),
        row("three", "aten.linalg_vector_norm.default", A, 3, (-1,), tolerance=1e-4),
    ]  # fmt: skip
    return rows


def _joining() -> list[Case]:
    image = Tensor((2, 3, 4, 5))
    return [
        row("two", "aten.cat.default", (A, Tensor((3, 2, 7))), 1),
        row("three_mixed", "aten.cat.default", (HALF, Tensor((4, 1)), Tensor((4, 3), BF16)), -1),
        row("one", "aten.cat.default", (A,)),
        row("ints", "aten.cat.default", (INTEGERS, SMALL_INTEGERS), 0),
        row("transposed", "aten.cat.default", (TRANSPOSED, GAPS, EXPANDED), 0),
        row("empty", "aten.cat.default", (Tensor((0,)), A), 0),
        row("plain", "aten.stack.default", (ROW, ROW, ROW), 1),
        row("both", "aten.constant_pad_nd.default", A, (1, 2, 0, 3), 1.5),
        row("cut", "aten.constant_pad_nd.default", A, (-2, 1)),
        row("bf16", "aten.constant_pad_nd.default", HALF, (0, 7)),
        row("bool", "aten.constant_pad_nd.default", BOOLS, (1, 1), True),
        row("plain", "aten.select_scatter.default", A, Tensor((3, 7)), 1, -2),
        row("plain", "aten.slice_scatter.default", A, Tensor((3, 2, 7)), 1, 2, 4),
        row("step", "aten.slice_scatter.default", A, Tensor((3, 5, 2)), 2, 1, 6, 3),
        row("whole", "aten.slice_scatter.default", A, B, 0, 0, 9223372036854775807),
        row("plain", "aten.slice_backward.default", Tensor((3, 2, 7)), (3, 6, 7), 1, 1, 5, 2),
        row("plain", "aten.select_backward.default", Tensor((3, 7), BF16), (3, 5, 7), 1, 3),
        row("double", "aten.upsample_nearest2d.vec", image, None, (2.0, 2.0)),
        row("uneven", "aten.upsample_nearest2d.default", image, (12, 10)),
        row("channels_last", "aten.upsample_nearest2d.vec",
            Tensor((2, 3, 4, 5), BF16, stride=(60, 1, 15, 3)), None, (2.0, 3.0)),
        row("plain", "aten.max_pool2d_with_indices.default", image, (2, 2)),
        row("padded", "aten.max_pool2d_with_indices.default", Tensor((2, 3, 8, 7)), (3, 3),
            (2, 2), (1, 1)),
        row("plain", "aten.avg_pool2d.default", image, (2, 2)),
        row("padded", "aten.avg_pool2d.default", image, (3, 3), (2, 2), (1, 1)),
        row("uncounted", "aten.avg_pool2d.default", image, (3, 3), (1, 1), (1, 1), False, False),
    ]  # fmt: skip


def _scattering() -> list[Case]:
    lines = Tensor((4, 9))
    spots = Tensor((4, 1), I64, low=0, high=9)
    return [
        row("one_per_line", "aten.scatter.value", lines, 1, spots, 1.0),
        row("negative_dim", "aten.scatter.value", HALF, -1, spots, -2),
        row("transposed", "aten.scatter.value", Tensor((9, 4), stride=(1, 9)), 0,
            Tensor((1, 4), I64, low=0, high=9), 3),
        row("several", "aten.scatter.value", lines, 1, Tensor((4, 3), I64, low=0, high=9), 7.5),
        row("plain", "aten.scatter_add.default", lines, 1, Tensor((4, 6), I64, low=0, high=9),
            Tensor((4, 6))),
        row("wide_source", "aten.scatter_add.default", lines, 0,
            Tensor((3, 5), I64, low=0, high=4), Tensor((6, 9))),
        row("one_row", "aten.index_put.default", A, (Tensor((1,), I64, low=-3, high=3),),
            Tensor((1, 5, 7))),
        row("add_rows", "aten.index_put.default", Tensor((11, 6)),
            (Tensor((2, 5), I64, low=0, high=11),), Tensor((2, 5, 6)), True),
        row("add_pairs", "aten.index_put.default", A,
            (Tensor((6,), I64, low=0, high=3), None, Tensor((6,), I64, low=0, high=7)),
            Tensor((6, 5)), True),
        row("add_number", "aten.index_put.default", A, (None, Tensor((6,), I64, low=0, high=5)),
            SCALAR, True),
        row("mask", "aten.index_put.default", lines, (BOOLS,), SCALAR),
        row("mask_rows", "aten.index_put.default", Tensor((4, 9, 2)), (BOOLS,), SCALAR),
    ]  # fmt: skip


def build() -> tuple[Case, ...]:
    """Every row, names unique."""
    families = (
        _binary, _comparison_and_logic, _unary, _casts, _reshaping, _creation, _indexing,
        _sums, _other_reductions, _joining, _scattering,
    )  # fmt: skip
    rows = [case for family in families for case in family()]
    names = [case.name for case in rows]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(f"operator cases with the same name: {twice}")
    return tuple(rows)


CASES = build()
