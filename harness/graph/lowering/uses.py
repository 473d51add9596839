"""Which nodes of a graph are needed, and how often each is used."""

from __future__ import annotations

from dataclasses import dataclass

from harness.graph.lowering.cost import Demand
from harness.graph.lowering.rule import Rules
from harness.graph.model import Graph, Node, Ref, TensorType, ValueType
from harness.ir.affine import size_hint


@dataclass(frozen=True, slots=True)
class Uses:
    """``live``: nodes something needs, in order. ``demand``: how every value is used,
    views not counted but their users. ``reread``: values that some user reads several
    times per element. ``parts``: the live ``getitem`` nodes by (node, position)."""

    live: tuple[Node, ...]
    demand: dict[str, Demand]
    reread: frozenset[str]
    parts: dict[tuple[str, int], str]


def _points(kind: ValueType) -> int:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return max((size_hint(k.numel) for k in kinds if isinstance(k, TensorType)), default=1)


def analyse(graph: Graph, rules: Rules) -> Uses:
    """Walk the graph backwards from its outputs and mutations."""
    points = {name: _points(kind) for name, kind in graph.types().items()}
    needed = {name for name in graph.outputs if name is not None}
    needed.update(m.value for m in graph.mutations)
    users = dict.fromkeys(needed, 1)
    evaluated = {name: points.get(name, 1) for name in needed}
    reread: set[str] = set()
    live: list[Node] = []
    parts: dict[tuple[str, int], str] = {}
    for node in reversed(graph.nodes):
        if node.name not in needed:
            continue
        live.append(node)
        rule = rules.get(node.op)
        see_through = node.op == "getitem" or (rule is not None and rule.view)
        names = list(dict.fromkeys(node.refs()))
        own = max([points[node.name], *(points[n] for n in names)]) if names else 0
        for name in names:
            needed.add(name)
            users[name] = users.get(name, 0) + (users[node.name] if see_through else 1)
            times = evaluated[node.name] if see_through else own
            evaluated[name] = evaluated.get(name, 0) + times
            if (see_through and node.name in reread) or (rule is not None and rule.rereads):
                reread.add(name)
        if node.op == "getitem":
            source, position = node.args
            assert isinstance(source, Ref)
            parts[source.name, int(position)] = node.name  # type: ignore[arg-type]
    demand = {
        name: Demand(count, max(count, evaluated[name] // max(1, points[name])))
        for name, count in users.items()
    }
    return Uses(tuple(reversed(live)), demand, frozenset(reread), parts)
