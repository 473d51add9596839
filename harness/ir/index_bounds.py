"""Bounds of index expressions, and the one question asked of them: is this negative? A bound is an
``int`` or a sympy expression over sizes (symbols that are positive)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import sympy

from harness.ir.affine import size_of

Bound: TypeAlias = "int | sympy.Expr | None"
"""An inclusive bound; ``None`` where nothing is known."""
Interval: TypeAlias = "tuple[Bound, Bound]"

ONE: Interval = (1, 1)
UNKNOWN: Interval = (None, None)


def is_nonnegative(value: Bound) -> bool:
    """Whether ``value`` is provably at least zero for all sizes of at least one. A polynomial in
    sizes is shifted by ``s = 1 + s'``; it is non-negative if no coefficient of the shifted
    polynomial is negative. ``False`` means not proved."""
    if value is None:
        return False
    if isinstance(value, int):
        return value >= 0
    if value.is_nonnegative:
        return True
    sizes = sorted((s for s in value.free_symbols if s.is_positive), key=lambda s: s.name)
    shifted = value.xreplace({s: s + 1 for s in sizes}).expand()
    for term in sympy.Add.make_args(shifted):
        coefficient, rest = term.as_coeff_Mul()
        if coefficient < 0 or not all(f.is_nonnegative for f in sympy.Mul.make_args(rest)):
            return False
    return True


def less(a: Bound, b: Bound) -> bool:
    """Whether ``a < b`` is proved."""
    return a is not None and b is not None and is_nonnegative(size_of(b - a - 1))


def add(a: Interval, b: Interval) -> Interval:
    """Sum of two intervals."""
    return _sum(a[0], b[0]), _sum(a[1], b[1])


def _sum(a: Bound, b: Bound) -> Bound:
    return None if a is None or b is None else size_of(a + b)


def scale(interval: Interval, factor: int) -> Interval:
    """An interval times a whole number."""
    low, high = (None if end is None else size_of(end * factor) for end in interval)
    return (low, high) if factor >= 0 else (high, low)


def multiply(a: Interval, b: Interval) -> Interval:
    """Product of two intervals: of non-negative ones, or of numeric ones."""
    if all(isinstance(e, int) for e in (*a, *b)):
        products = [x * y for x in a for y in b]  # type: ignore[operator]
        return min(products), max(products)
    if is_nonnegative(a[0]) and is_nonnegative(b[0]):
        high = None if a[1] is None or b[1] is None else size_of(a[1] * b[1])
        return size_of(a[0] * b[0]), high  # type: ignore[operator]
    return UNKNOWN


def floor_div(a: Interval, b: Interval, divide: Callable[[Bound, Bound], Bound]) -> Interval:
    """Quotient rounded down, ``b`` positive; ``divide`` makes the exact end quotients."""
    if not is_nonnegative(_sum(b[0], -1)):
        return UNKNOWN
    above = is_nonnegative(a[0])
    low = None if a[0] is None or b[1] is None else divide(a[0], b[1] if above else b[0])
    end = b[0] if is_nonnegative(a[1]) else b[1]
    high = None if a[1] is None or end is None else divide(a[1], end)
    return 0 if low is None and above else low, high


def modulo(a: Interval, b: Interval) -> Interval:
    """Remainder with the sign of ``b``, ``b`` positive."""
    high = None if b[1] is None else size_of(b[1] - 1)
    if is_nonnegative(a[0]):
        if less(a[1], b[0]):
            return a
        if isinstance(a[1], int) and (high is None or (isinstance(high, int) and a[1] < high)):
            high = a[1]
    return 0, high


def extreme(parts: list[Interval], largest: bool) -> Interval:
    """Bounds of the largest (or smallest) of several values."""
    pick: Callable[[list[int]], int] = max if largest else min
    ends: list[Bound] = []
    for side, column in enumerate(zip(*parts, strict=True)):
        known = [c for c in column if isinstance(c, int)]
        # Of several values the largest is at least any lower bound that is known.
        one_suffices = side == (0 if largest else 1)
        if len(known) == len(column) or (known and one_suffices):
            ends.append(pick(known))
        else:
            ends.append(column[0] if len(set(map(str, column))) == 1 else None)
    return ends[0], ends[1]


def numeric(bound: Bound, sizes: Mapping[sympy.Symbol, int]) -> int | None:
    """``bound`` as a number once sizes are known; ``None`` if it is not one."""
    if bound is None or isinstance(bound, int):
        return bound
    value = bound.xreplace({s: sympy.Integer(n) for s, n in sizes.items()})
    return int(value) if value.is_Integer else None
