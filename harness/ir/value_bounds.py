"""How small and how large a value can get: what needs no wrapping and no assertion as an index."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import sympy

from harness.dtypes import DType
from harness.ir import nodes as ir
from harness.ir.ops import Op, Rule
from harness.ir.simplify import Simplifier

_FLOATS = {DType.F64: (1e300, 2.0**-50), DType.F32: (1e37, 2.0**-21), DType.BF16: (1e37, 2.0**-6)}
"""Numbers that a type holds; more than what it loses of one, or of a product and a sum as one."""

_ENDS: dict[Op, Callable[..., Any]] = {
    Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul, Op.FLOOR: math.floor,
    Op.CEIL: math.ceil, Op.MAXIMUM: max, Op.MINIMUM: min, Op.CAST: lambda number: number,
}  # fmt: skip
"""Operations whose extremes lie where their operands have theirs."""


def value_bounds(root: ir.Value, simplifier: Simplifier) -> tuple[float, float] | None:
    """The least and the greatest number that ``root`` can be; None for a float that may be NaN or
    infinite, or of which nothing is known. ``simplifier`` knows the ranges of its variables."""
    found: dict[int, tuple[float, float] | None] = {}
    for value in ir.walk([root]):
        ends: list[Any] = []
        if isinstance(value, ir.Constant):
            ends = [value.number]
        elif isinstance(value, ir.IndexValue) and not value.indirect:
            bounds = simplifier.bounds(value.index)
            ends = [int(e) for e in bounds if all(b is not None and b.is_Integer for b in bounds)]  # type: ignore[arg-type]
        elif isinstance(value, ir.Compute) and value.op in _ENDS:
            given = [found[id(a)] or () for a in value.args]
            ends = [_ENDS[value.op](*corner) for corner in itertools.product(*given)]
        found[id(value)] = _held(ends, value.dtype)
    return found[id(root)]


def is_small(position: sympy.Expr) -> bool:
    """Whether 32 bits hold it for certain: it is two variables and a number at most, and no
    dimension has 2**29 places."""
    offset, rest = position.as_coeff_Add()
    terms = rest.as_coefficients_dict()
    plain = all(v.is_Symbol and abs(n) == 1 for v, n in terms.items())
    return plain and len(terms) < 3 and abs(offset) < 1 << 29


def is_held(value: ir.IndexValue) -> bool:
    """Whether a position does not wrap around in its type."""
    return value.dtype is DType.I64 or (value.dtype is DType.I32 and is_small(value.index))


def counted(stores: Sequence[ir.Store]) -> set[int]:
    """By identity, positions of 64 bits that may as well have the type that a kernel counts in:
    they are only compared, with one another and with numbers."""
    every = ir.values(stores)
    ends = (v for v in every if v.dtype is DType.I64 and not ir.operands(v))
    alike = {
        id(v)
        for v in ends
        if isinstance(v, ir.IndexValue) or (isinstance(v, ir.Constant) and abs(v.number) < 1 << 31)
    }
    for value in every:
        args = {id(v) for v in ir.operands(value)}
        compared = isinstance(value, ir.Compute) and value.op.rule is Rule.COMPARE
        alike -= set() if compared and args <= alike else args
    return alike.difference(map(id, ir.store_roots(stores)))


def _held(ends: Sequence[float], dtype: DType) -> tuple[float, float] | None:
    """Bounds in a type: rounded outwards, or all its numbers where it would wrap around."""
    if dtype in _FLOATS:
        most, part = _FLOATS[dtype]
        slack = part * max(map(abs, ends), default=0) + 1e-30  # or no denormal numbers
        sure = ends and all(abs(end) < most for end in ends)
        return (min(ends) - slack, max(ends) + slack) if sure else None
    if not dtype.is_integer:
        return (0, 1) if dtype is DType.BOOL else None
    least, last = dtype.least, dtype.least + (1 << 8 * dtype.itemsize) - 1
    sure = ends and least <= min(ends) and max(ends) <= last
    return (math.trunc(min(ends)), math.trunc(max(ends))) if sure else (least, last)
