"""Rows of the operator table: reductions; see ``tests.operator_cases``."""

from __future__ import annotations

from tests.operator_cases import Case, Tensor
from tests.operator_operands import (
    BOOLS,
    F16,
    F32,
    HALF,
    I64,
    INTEGERS,
    SMALL_INTEGERS,
    SPECIAL,
    TRANSPOSED,
    A,
    B,
    row,
)


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
        row("bool", "aten.sum.dim_IntList", BOOLS, (0, 1)),
        row("empty_list", "aten.sum.dim_IntList", A, ()),
        row("plain", "aten.mean.default", A),
        row("plain", "aten.prod.dim_int", B, 1),
        row(
            "rows",
            "harness.xor_sum.default",
            Tensor((5, 70), I64, low=-9, high=1 << 40),
            (1,),
            False,
        ),
        row("all", "harness.xor_sum.default", Tensor((6, 50), I64, low=-9, high=9), (), True),
        row("int", "aten.amax.default", INTEGERS, (1,)),
        row("nan", "aten.amax.default", SPECIAL, (1,)),
        row("bool", "aten.amax.default", BOOLS, (1,)),
        row("plain", "aten.max.default", A),
        row("plain", "aten.min.default", A),
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
    rows += [
        row("all", "aten.any.default", BOOLS),
        row("dim", "aten.any.dim", BOOLS, 1),
        row("float", "aten.any.dim", A, 0, True),
    ]
    for name in ("var", "var_mean"):
        rows += [
            row("last", f"aten.{name}.correction", A, (-1,), correction=0, keepdim=True),
            row("default", f"aten.{name}.correction", A, (0, 2)),
            row("bf16", f"aten.{name}.correction", HALF, (1,), correction=1),
        ]
    rows += [
        row("norm", "aten.var_mean.correction", Tensor((2, 3, 4, 5)), (0, 2, 3), correction=0,
            keepdim=True),
    ]  # fmt: skip
    return rows


FAMILIES = (_sums, _other_reductions)
