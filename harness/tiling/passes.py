"""How often a looped kernel reads: what each of its loops loads anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy

from harness.ir.nodes import Load, Masked, Reduce, ReduceKind, Store, Value, store_roots, walk
from harness.ir.reach import grouped
from harness.tiling.plan import PlanSegment

Loaded = set[tuple[str, sympy.Expr]]
"""Loads, as (buffer, index)."""

ReductionKey = tuple[ReduceKind, bool, tuple[int, ...]]


def reduction_key(reduce: Reduce) -> ReductionKey:
    """What the components of one reduction have in common."""
    return (reduce.kind, reduce.across, tuple(id(a) for a in reduce.args))


def components(stores: Iterable[Store]) -> dict[ReductionKey, list[Reduce]]:
    """Every reduction of ``stores``: the components of it that they use."""
    every = (value for value in walk(store_roots(stores)) if isinstance(value, Reduce))
    return grouped(every, reduction_key)


def loaded_by_segment(segments: Sequence[PlanSegment]) -> list[Loaded]:
    """What each segment loads: finished reductions are not looked into."""
    parts = components(s for segment in segments for s in segment.stores)
    done: set[int] = set()
    loaded: list[Loaded] = []
    for segment in segments:
        values = list(walk(store_roots(segment.stores), done))
        loaded.append({(v.buffer, v.index) for v in values if isinstance(v, Load)})
        found = [v for v in values if isinstance(v, Reduce)]
        done.update(id(r) for v in found for r in parts[reduction_key(v)])
    return loaded


def is_piece(value: Value) -> bool:
    """Whether ``value`` is worth a branch, which programs without points of it do not take: what
    is concatenated, if it reads as many computed places as a bilinear interpolation."""
    if not isinstance(value, Masked) or isinstance(value.body, Load):
        return False
    return sum(isinstance(v, Load) and bool(v.indirect) for v in walk([value.body])) >= 4
