"""Rows of the operator table: scans and sorts; see ``tests.operator_cases``."""

from __future__ import annotations

from harness.dtypes import DType
from tests.operator_cases import Case, Tensor
from tests.operator_operands import (
    BOOLS,
    F32,
    F64,
    HALF,
    I32,
    I64,
    SCALAR,
    SMALL_INTEGERS,
    SPECIAL,
    TRANSPOSED,
    U8,
    A,
    B,
    row,
)

_TIES = Tensor((4, 9), DType.BF16, low=-1, high=1, special=True)
_WIDE = Tensor((3, 21), F64, low=-1e300, high=1e300, special=True)
_FEW = Tensor((4, 9), I64, low=-3, high=3)


def _scans() -> list[Case]:
    rows = []
    for name in ("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"):
        op = f"aten.{name}.default"
        rows += [
            row("last", op, A, -1),
            row("middle", op, A, 1),
            row("transposed", op, TRANSPOSED, 0),
            row("bf16", op, HALF, 1),
            row("f64", op, Tensor((2, 40), F64), 1),
            row("special", op, SPECIAL, 1),
            row("one", op, Tensor((4, 1)), 1),
            row("number", op, SCALAR, 0),
            row("empty", op, Tensor((4, 0)), 1),
            row("no_rows", op, Tensor((0, 4)), 1),
        ]
    for name in ("cumsum", "cumprod", "cummax", "cummin"):
        op = f"aten.{name}.default"
        rows += [
            row("i32", op, SMALL_INTEGERS, 1),
            row("i64", op, _FEW, 0),
            row("u8", op, Tensor((4, 9), U8, low=0, high=200), 1),
            row("bool", op, BOOLS, 1),
        ]
    rows += [
        row("to_f32", "aten.cumsum.default", HALF, 1, dtype=F32),
        row("to_i32", "aten.cumsum.default", SMALL_INTEGERS, 1, dtype=I32),
        row("positive", "aten.cumprod.default", B, 2),
        row("far", "aten.logcumsumexp.default", Tensor((4, 30), low=-1e4, high=1e4), 1),
    ]
    return rows


def _sorts() -> list[Case]:
    op = "aten.sort.stable"
    rows = []
    for descending in (False, True):
        label = "down" if descending else "up"
        operands = {
            "f32": A,
            "ties": _TIES,
            "f64": _WIDE,
            "special": SPECIAL,
            "i32": SMALL_INTEGERS,
            "i64": Tensor((3, 30), I64, low=-(2**62), high=2**62),
            "few": _FEW,
            "u8": Tensor((4, 9), U8, low=0, high=200),
            "bool": BOOLS,
        }
        rows += [
            row(f"{label}_{name}", op, operand, stable=True, dim=-1, descending=descending)
            for name, operand in operands.items()
        ]
    rows += [
        row("default", op, A, stable=True),
        row("first", op, TRANSPOSED, stable=True, dim=0),
        row("one", op, Tensor((4, 1)), stable=True, dim=1),
        row("number", op, SCALAR, stable=True),
        row("empty", op, Tensor((4, 0)), stable=True),
    ]
    return rows


FAMILIES = (_scans, _sorts)
