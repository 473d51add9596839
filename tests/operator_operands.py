"""Rows of the operator table: operands that many rows share; see ``tests.operator_cases``."""

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
