"""How small and how large a value can get: what needs no wrapping and no assertion as an index.

Numbers only; a float's bounds are widened by its type's rounding, also for a sum and product that
a compiler joins into one operation. A float that may be NaN or infinite has none."""

from __future__ import annotations

import math
from collections.abc import Callable

from harness.dtypes import DType
from harness.ir import nodes as ir
from harness.ir.ops import Op
from harness.ir.simplify import Simplifier

Bounds = tuple[float, float]

_ROUNDING = {8: 2.0**-50, 4: 2.0**-21, 2: 2.0**-6, 1: 0.5}
"""By bytes of a float type, more than what an operation loses of a result, relative to it."""
_LARGEST = {8: 1e300, 4: 1e37, 2: 6e4, 1: 0.0}
"""Below what a float type holds; nothing is known of 8 bits."""

_CORNERS: dict[Op, Callable[[float, float], float]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.MAXIMUM: max,
    Op.MINIMUM: min,
}
"""Operations whose extremes lie where their operands have theirs."""
_WHOLE: dict[Op, Callable[[float], float]] = {Op.FLOOR: math.floor, Op.CEIL: math.ceil}


def value_bounds(root: ir.Value, simplifier: Simplifier) -> Bounds | None:
    """The least and the greatest number that ``root`` can be, or None. Every integer has bounds,
    those of its type if need be. ``simplifier`` knows the ranges of its variables."""
    found: dict[int, Bounds | None] = {}
    for value in ir.walk([root]):
        found[id(value)] = _held(_of(value, found, simplifier), value.dtype)
    return found[id(root)]


def _of(value: ir.Value, found: dict[int, Bounds | None], simplifier: Simplifier) -> Bounds | None:
    """Bounds before anything is rounded or wrapped."""
    match value:
        case ir.Constant():
            return value.number, value.number
        case ir.IndexValue(indirect=()):
            low, high = simplifier.bounds(value.index)
            known = low is not None and low.is_Integer and high is not None and high.is_Integer
            return (int(low), int(high)) if known else None  # type: ignore[arg-type]
        case ir.Compute():
            given = [found[id(a)] for a in value.args]
            if value.op is Op.WHERE:
                given[0] = given[1]
            sure = [bounds for bounds in given if bounds is not None]
            if len(sure) < len(given):
                return None
            return _computed(value, sure)
        case _:
            return None


def _computed(value: ir.Compute, given: list[Bounds]) -> Bounds | None:
    op = value.op
    if op is Op.CAST:
        low, high = given[0]
        whole = value.dtype.is_integer and value.args[0].dtype.is_float
        return (math.trunc(low), math.trunc(high)) if whole else (low, high)
    if op is Op.WHERE:
        return min(low for low, _ in given), max(high for _, high in given)
    if op in _WHOLE:
        return _WHOLE[op](given[0][0]), _WHOLE[op](given[0][1])
    if op in _CORNERS:
        corners = [_CORNERS[op](a, b) for a in given[0] for b in given[1]]
        return min(corners), max(corners)
    return None


def _held(bounds: Bounds | None, dtype: DType) -> Bounds | None:
    """What a type makes of bounds: rounded outwards, or all its numbers where it would wrap."""
    if dtype is DType.BOOL or dtype.is_integer:
        least = 0 if dtype is DType.BOOL else dtype.least
        greatest = 1 if dtype is DType.BOOL else least + (1 << 8 * dtype.itemsize) - 1
        fits = bounds is not None and least <= bounds[0] and bounds[1] <= greatest
        return bounds if fits else (least, greatest)
    if bounds is None or not max(map(abs, bounds)) < _LARGEST.get(dtype.itemsize, 0.0):
        return None
    slack = max(map(abs, bounds)) * _ROUNDING[dtype.itemsize] + 1e-30  # or no denormal numbers
    return bounds[0] - slack, bounds[1] + slack
