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


def by_function(types: str, *lines: str, results: str) -> str:
    """The text of a function of elements ``a0``, ``a1`` … and later ones ``b0``, ``b1`` …"""
    given = [f'    {side}{n}: "{t}[]",' for side in "ab" for n, t in enumerate(types.split())]
    body = [f"    {line}" for line in (*lines, f"return ({results},)")]
    return "\n".join(("# harness graph 1", "def combine(", *given, "):", *body, ""))


def recurrence(dtype: str) -> str:
    """``h = a * h + b``, as pairs."""
    return by_function(
        f"{dtype} {dtype}",
        f'rate: "{dtype}[]" = aten.mul.Tensor(a0, b0)',
        f'kept: "{dtype}[]" = aten.mul.Tensor(a1, b0)',
        f'sum: "{dtype}[]" = aten.add.Tensor(kept, b1)',
        results="rate, sum",
    )


_SEGMENTED = by_function(
    "b8 f32",
    'ends: "b8[]" = aten.logical_or.default(a0, b0)',
    'sum: "f32[]" = aten.add.Tensor(a1, b1)',
    'kept: "f32[]" = aten.where.self(b0, b1, sum)',
    results="ends, kept",
)
_SOFT = by_function(
    "f64 f64",
    'top: "f64[]" = aten.maximum.default(a0, b0)',
    'less: "f64[]" = aten.sub.Tensor(a0, top)',
    'more: "f64[]" = aten.sub.Tensor(b0, top)',
    'early: "f64[]" = aten.exp.default(less)',
    'late: "f64[]" = aten.exp.default(more)',
    'left: "f64[]" = aten.mul.Tensor(a1, early)',
    'right: "f64[]" = aten.mul.Tensor(b1, late)',
    'sum: "f64[]" = aten.add.Tensor(left, right)',
    results="top, sum",
)
_WRAPS = by_function("u8", 'sum: "u8[]" = aten.add.Tensor(a0, b0)', results="sum")
_LONGEST = by_function(
    "i64 f32",
    'later: "b8[]" = aten.ge.Tensor(b1, a1)',
    'place: "i64[]" = aten.where.self(later, b0, a0)',
    'most: "f32[]" = aten.maximum.default(a1, b1)',
    results="place, most",
)


def _by_functions() -> list[Case]:
    op = "harness.associative_scan.default"
    rates, steps = Tensor((30, 3), low=-1, high=1), Tensor((30, 3))
    wide = (Tensor((20, 2), F64), Tensor((20, 2), F64, low=0, high=1))
    narrow = tuple(Tensor((9, 4), DType.BF16, low=-1, high=1) for _ in range(2))
    flags, bytes_ = Tensor((40, 3), DType.BOOL), Tensor((40, 2), U8, low=0, high=200)
    places = Tensor((30, 3), I64, low=0, high=9)
    return [
        row("recurrence", op, (rates, steps), recurrence("f32")),
        row("turned", op, (TRANSPOSED, TRANSPOSED), recurrence("f32")),
        row("bf16", op, narrow, recurrence("bf16")),
        row("one", op, (Tensor((1, 4)), Tensor((1, 4))), recurrence("f32")),
        row("segmented", op, (flags, Tensor((40, 3))), _SEGMENTED),
        row("f64", op, wide, _SOFT),
        row("u8", op, (bytes_,), _WRAPS),
        row("places", op, (places, steps), _LONGEST),
    ]


FAMILIES = (_scans, _sorts, _by_functions)
