"""How small and how large a value can get: what needs no wrapping and no assertion as an index."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import sympy

from harness.dtypes import DType
from harness.ir import index_bounds as ib
from harness.ir import nodes as ir
from harness.ir.affine import size_of
from harness.ir.ops import Op, Rule
from harness.ir.simplify import Simplifier

_FLOATS = {DType.F64: (1e300, 2.0**-50), DType.F32: (1e37, 2.0**-21), DType.BF16: (1e37, 2.0**-6)}
"""Numbers that a type holds; more than what it loses of one, or of a product and a sum as one."""

_FAR = 1 << 40
"""No dimension has so many places."""

_EXACT = (DType.I64, DType.I32, DType.F64, DType.F32)
_GROWING = frozenset(
    (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.ABS, Op.MAXIMUM, Op.MINIMUM, Op.WHERE, Op.CAST, Op.IN_RANGE)
)
"""Operations whose results are at most as large as their operands together, or their product, and
the types in which that holds."""

Most: TypeAlias = "sympy.Expr | None"

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
            ends = _position_ends(value.index, simplifier)
        elif isinstance(value, ir.Compute) and value.op in _ENDS:
            given = [found[id(a)] or () for a in value.args]
            ends = [_ENDS[value.op](*corner) for corner in itertools.product(*given)]
        chosen = isinstance(value, ir.Compute) and value.op in (Op.MAXIMUM, Op.MINIMUM)
        found[id(value)] = _held(ends, value.dtype, chosen)
    return found[id(root)]


def _position_ends(index: sympy.Expr, simplifier: Simplifier) -> list[int]:
    """Bounds of a position, over all sizes; none where nothing is known."""
    low, high = simplifier.bounds(index)
    if low is None or high is None or not (is_small(index) or low.is_Integer and high.is_Integer):
        return []
    least = 0 if ib.is_nonnegative(size_of(low)) else -_FAR
    return [int(low) if low.is_Integer else least, int(high) if high.is_Integer else _FAR]


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


def magnitude(value: ir.Value, simplifier: Simplifier, found: Mapping[int, Most]) -> Most:
    """A number over sizes that neither ``value``, of positions and numbers, nor any that it is
    computed from gets beyond; None of others. ``found`` has it of operands. Floats below 2**31 lose
    less of it than launches leave."""
    parts = [found[id(a)] for a in ir.operands(value)]
    match value:
        case ir.Constant() if abs(value.number) < 1 << 31:
            return sympy.Integer(math.ceil(abs(value.number)))
        case ir.IndexValue(indirect=()):
            low, high = simplifier.bounds(value.index)
            if low is None or high is None or ib.is_nonnegative(size_of(low)):
                return None if low is None else high
            return high - 2 * low if ib.is_nonnegative(size_of(-low)) else None
        case ir.Compute(dtype=DType.BOOL):
            return sympy.S.One
        case ir.Compute(op=op) if op in _GROWING and value.dtype in _EXACT and None not in parts:
            made = sympy.Add(*parts[: 1 if op is Op.IN_RANGE else None])
            if op is Op.MUL:  # by a number, not a large one: others grow too fast
                scaled = any(part.is_Integer and int(part) < 1 << 10 for part in parts if part)
                made = sympy.Mul(*parts) if scaled else sympy.oo
            return made if made.as_coeff_Add()[0] < 1 << 28 else None  # which no launch is asked
    return None


def counted(stores: Sequence[ir.Store], simplifier: Simplifier) -> dict[int, Most]:
    """By identity, positions of 64 bits that may as well have the type that a kernel counts in, and
    how large those get that are computed: they are compared with one another and with numbers,
    computed from one another and from floats, become floats and say what is loaded."""
    every, roots = ir.values(stores), {id(root) for root in ir.store_roots(stores)}
    sizes: dict[int, Most] = {}
    for value in every:
        sizes[id(value)] = magnitude(value, simplifier, sizes)
    places = {id(v) for v in every if isinstance(v, ir.IndexValue) and not v.indirect}
    known = places | {key for key, most in sizes.items() if most is not None} - roots
    of_64_bits = [v for v in every if v.dtype is DType.I64 and id(v) in known]
    alike = {id(v): sizes[id(v)] if ir.operands(v) else None for v in of_64_bits}
    last = -1
    while last != len(alike):
        last = len(alike)
        for value in every:
            wide = {id(v) for v in ir.operands(value) if v.dtype is DType.I64}
            whole, op = wide <= alike.keys(), getattr(value, "op", None)
            if not whole:
                alike.pop(id(value), None)
            converted = isinstance(value, ir.Load | ir.IndexValue) or op is Op.RANDOM_BITS
            converted |= op is Op.CAST and value.dtype is not DType.I64
            compared = whole and isinstance(op, Op) and op.rule is Rule.COMPARE
            if not (id(value) in alike or converted or compared):
                alike = {key: most for key, most in alike.items() if key not in wide}
    return {key: most for key, most in alike.items() if key not in roots}


def _held(ends: Sequence[float], dtype: DType, chosen: bool) -> tuple[float, float] | None:
    """Bounds in a type: rounded outwards unless an operand is ``chosen``, or all its numbers where
    it would wrap around."""
    if dtype in _FLOATS:
        most, part = _FLOATS[dtype]
        far = 0 if chosen else max(map(abs, ends), default=0)
        slack = part * far + 1e-30  # or no denormal numbers
        sure = ends and all(abs(end) < most for end in ends)
        return (min(ends) - slack, max(ends) + slack) if sure else None
    if not dtype.is_integer:
        return (0, 1) if dtype is DType.BOOL else None
    least, last = dtype.least, dtype.least + (1 << 8 * dtype.itemsize) - 1
    sure = ends and least <= min(ends) and max(ends) <= last
    return (math.trunc(min(ends)), math.trunc(max(ends))) if sure else (least, last)
