"""How often a looped kernel reads: what each of its loops loads anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy

from harness.ir.nodes import Load, Reduce, ReduceKind, Store, store_roots, walk
from harness.tiling.plan import PlanSegment

Loaded = set[tuple[str, sympy.Expr]]
"""Loads, as (buffer, index)."""

ReductionKey = tuple[ReduceKind, bool, tuple[int, ...]]


def reduction_key(reduce: Reduce) -> ReductionKey:
    """What the components of one reduction have in common."""
    return (reduce.kind, reduce.across, tuple(id(a) for a in reduce.args))


def components(stores: Iterable[Store]) -> dict[ReductionKey, list[Reduce]]:
    """Every reduction of ``stores``: the components of it that they use."""
    table: dict[ReductionKey, list[Reduce]] = {}
    for value in walk(store_roots(stores)):
        if isinstance(value, Reduce):
            table.setdefault(reduction_key(value), []).append(value)
    return table


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
