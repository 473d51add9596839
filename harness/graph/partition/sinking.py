"""Moving cheap work to the region that uses it, where that saves memory traffic.

A cast or an activation that is ready early but used late would be written by one region
and read by another. If what it is made from can be read by the later region for less than
writing and reading the result costs, it is computed there.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.graph.partition.levels import Kind, Layout
from harness.graph.passes.cleanup import kept_names


def sink(layout: Layout, homes: Mapping[str, frozenset[str]] | None = None) -> None:
    """Raise the levels of nodes in ``layout`` that are better computed later. ``homes``
    (``Decisions.regions``: the nodes that share a region with a node) replaces the comparison of
    bytes for the nodes that it knows."""
    by_level: dict[int, list[str]] = {}
    for node in layout.graph.nodes:
        if layout.kind[node.name] is Kind.FUSIBLE:
            by_level.setdefault(layout.level[node.name], []).append(node.name)
    kept = kept_names(layout.graph)
    for level in sorted(by_level, reverse=True):
        targets = _targets(layout, by_level[level], kept)
        for cone in _cones(layout, targets):
            _sink_cone(layout, cone, targets[cone[0]], homes)


def _targets(layout: Layout, names: list[str], kept: frozenset[str]) -> dict[str, int]:
    """For each node of one level that could move: the one later level that uses it."""
    targets: dict[str, int] = {}
    for name in reversed(names):
        if not layout.is_cheap(name) or _is_kept(layout, name, kept):
            continue
        wanted: set[int | None] = set()
        for user in layout.readers(name):
            if layout.kind[user] is not Kind.FUSIBLE:
                wanted.add(None)
            elif layout.level[user] > layout.level[name]:
                wanted.add(layout.level[user])
            else:
                wanted.add(targets.get(user))
        if len(wanted) == 1 and (level := wanted.pop()) is not None:
            targets[name] = level
    return targets


def _is_kept(layout: Layout, name: str, kept: frozenset[str]) -> bool:
    """Whether ``name`` or a view of it is an output or a mutation's value."""
    stack = [name]
    while stack:
        value = stack.pop()
        if value in kept:
            return True
        users = layout.users.get(value, ())
        stack.extend(user for user in users if layout.kind[user] is Kind.VIEW)
    return False


def _cones(layout: Layout, targets: Mapping[str, int]) -> list[list[str]]:
    """Connected pieces of the movable nodes with one target, users before operands."""
    seen: set[str] = set()
    cones: list[list[str]] = []
    for name in targets:
        if name in seen:
            continue
        cone, stack = [], [name]
        seen.add(name)
        while stack:
            at = stack.pop()
            cone.append(at)
            for near in (*layout.operands(at), *layout.readers(at)):
                if near not in seen and targets.get(near) == targets[name]:
                    seen.add(near)
                    stack.append(near)
        cones.append(sorted(cone, key=lambda n: -layout.order[n]))
    return cones


def _sink_cone(
    layout: Layout, cone: list[str], target: int, homes: Mapping[str, frozenset[str]] | None
) -> None:
    if homes is not None and all(name in homes for name in cone):
        for name in cone:
            users = layout.readers(name)
            if any(u in homes[name] and layout.level[u] == target for u in users):
                layout.level[name] = target
        return
    if _saving(layout, cone, target) > 0:
        layout.level.update((name, target) for name in cone)
        return
    for name in cone:
        users = layout.readers(name)
        only_there = all(layout.level[user] == target for user in users)
        if only_there and _saving(layout, [name], target) > 0:
            layout.level[name] = target


def _saving(layout: Layout, cone: list[str], target: int) -> int:
    """Bytes not moved if ``cone`` is computed at level ``target`` instead of its own."""
    inside = set(cone)
    level = layout.level[cone[0]]
    before = sum(
        2 * layout.nbytes[name]
        for name in cone
        if any(user not in inside for user in layout.readers(name))
    )
    after = 0
    operands = dict.fromkeys(v for name in cone for v in layout.operands(name))
    for value in operands:
        if value in inside:
            continue
        readers = [user for user in layout.readers(value) if user not in inside]
        read_at = {layout.level[u] for u in readers if layout.kind[u] is Kind.FUSIBLE}
        computed_here = layout.kind.get(value) is Kind.FUSIBLE and layout.level[value] == level
        if not computed_here and level not in read_at:
            before += layout.nbytes[value]
        if target not in read_at:
            after += layout.nbytes[value]
        leaves = any(
            layout.kind[u] is not Kind.FUSIBLE or layout.level[u] != level for u in readers
        )
        if computed_here and not leaves:
            after += layout.nbytes[value]
    return before - after
