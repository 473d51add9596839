"""How much floating-point arithmetic one launch of a kernel needs, modelled.

Counted as papers count it: a multiply-add is two, every other operation and function one,
whatever it takes the hardware. So the figure is a lower bound on work; it says which kernels
could be held back by arithmetic rather than by memory.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy

from harness.ir.nodes import (
    Compute,
    Constant,
    IndexValue,
    Load,
    Masked,
    Reduce,
    Scan,
    Sort,
    Store,
    Value,
    operands,
    store_roots,
    walk,
)
from harness.ir.ops import Op
from harness.tiling.plan import KernelPlan


def floating_operations(plan: KernelPlan) -> int:
    """Operations of one launch; 0 where a size is unknown. What a looped kernel computes again
    in a later loop counts again, because it is done again."""
    points = sympy.Mul(*(t.numel for t in plan.tiles if not t.is_reduction))
    reduced = sympy.Mul(*(t.numel for t in plan.tiles if t.is_reduction))
    if not (points.is_Integer and reduced.is_Integer):
        return 0
    inner = frozenset(e.var for t in plan.tiles if t.is_reduction for e in t.entries)
    passes = [segment.stores for segment in plan.segments]
    if plan.persistent:
        passes = [tuple(store for stores in passes for store in stores)]
    total = 0
    for stores in passes:
        per_row, per_element = _counts(stores, inner)
        total += int(points) * (per_row + per_element * int(reduced))
    return total


def _counts(stores: Iterable[Store], inner: frozenset[sympy.Symbol]) -> tuple[int, int]:
    """Operations for each point of the parallel axes, and for each reduced element."""
    changing: set[int] = set()
    per_row = per_element = 0
    for value in walk(store_roots(stores)):
        if _changes(value, inner, changing):
            changing.add(id(value))
        if not value.dtype.is_float:
            continue
        match value:
            case Reduce():
                per_element += value.component == 0
            case Scan():
                per_element += value.component == 0
            case Compute() if value.op not in (Op.CAST, Op.BITCAST):
                cost = 2 if value.op is Op.FMA else 1
                if id(value) in changing:
                    per_element += cost
                else:
                    per_row += cost
            case Constant() | Load() | IndexValue() | Compute() | Masked() | Sort():
                pass
    return per_row, per_element


def _changes(value: Value, inner: frozenset[sympy.Symbol], changing: set[int]) -> bool:
    """Whether ``value`` has another value for every reduced element."""
    if isinstance(value, Reduce):
        return False
    if isinstance(value, Scan | Sort):
        return True
    if isinstance(value, Load | IndexValue) and value.index.free_symbols & inner:
        return True
    return any(id(v) in changing for v in operands(value))
