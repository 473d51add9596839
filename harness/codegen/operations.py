"""How much floating-point arithmetic one launch of a kernel needs, modelled.

Counted as papers count it: a multiply-add is two, every other operation and function one,
whatever it takes the hardware. So the figure is a lower bound on work; it says which kernels
could be held back by arithmetic rather than by memory.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy

from harness.ir import nodes as ir
from harness.ir.ops import Op
from harness.tiling.plan import Category, KernelPlan


def floating_operations(plan: KernelPlan) -> int:
    """Operations of one launch; 0 where a size is unknown, or tensor cores do most. What a looped
    kernel computes again in a later loop counts again, because it is done again, but for what
    does not change along the reduction."""
    points = sympy.Mul(*(t.numel for t in plan.tiles if not t.is_reduction))
    reduced = sympy.Mul(*(t.numel for t in plan.tiles if t.prefix == "r0_"))
    cores = plan.category is Category.TEMPLATE and plan.facts.width == 2
    if cores or not (points.is_Integer and reduced.is_Integer):
        return 0
    inner = frozenset(e.var for t in plan.tiles if t.is_reduction for e in t.entries)
    passes = [segment.stores for segment in plan.segments]
    if plan.persistent or plan.category is Category.TEMPLATE:  # which has one loop
        passes = [tuple(store for stores in passes for store in stores)]
    total, known = 0, set[int]()
    for stores in passes:
        per_row, per_element = _counts(stores, inner, known)
        total += int(points) * (per_row + per_element * int(reduced))
    return total


def _counts(
    stores: Iterable[ir.Store], inner: frozenset[sympy.Symbol], known: set[int]
) -> tuple[int, int]:
    """Operations for each point of the parallel axes, and for each reduced element, without
    values that are ``known``, to which all are added that do not change along the reduction. The
    factors of a matrix product are computed once a tile, and not counted."""
    dots = {id(r) for r in ir.reductions(stores) if r.kind is ir.ReduceKind.DOT}
    changing: set[int] = set()
    per_row = per_element = 0
    for value in ir.walk(ir.store_roots(stores), dots | known):
        if id(value) in known:
            continue
        (changing if _changes(value, inner, changing) else known).add(id(value))
        if not value.dtype.is_float:
            continue
        match value:
            case ir.Reduce():
                per_element += (1 + (id(value) in dots)) * (value.component == 0)
            case ir.Scan():
                per_element += value.component == 0
            case ir.Compute() if value.op not in (Op.CAST, Op.BITCAST):
                cost = 2 if value.op is Op.FMA else 1
                if id(value) in changing:
                    per_element += cost
                else:
                    per_row += cost
            case ir.Constant() | ir.Load() | ir.IndexValue() | ir.Compute():
                pass
            case ir.Masked() | ir.Sort():
                pass
    return per_row, per_element


def _changes(value: ir.Value, inner: frozenset[sympy.Symbol], changing: set[int]) -> bool:
    """Whether ``value`` has another value for every reduced element."""
    if isinstance(value, ir.Reduce):
        return False
    if isinstance(value, ir.Scan | ir.Sort):
        return True
    own = isinstance(value, ir.Load | ir.IndexValue) and value.index.free_symbols & inner
    return bool(own) or any(id(v) in changing for v in ir.operands(value))
