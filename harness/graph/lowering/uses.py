"""Which nodes of a graph are needed, and how often each is used."""

from __future__ import annotations

from dataclasses import dataclass

from harness.graph.lowering.rule import Rules
from harness.graph.model import Graph, Node, Ref


@dataclass(frozen=True, slots=True)
class Uses:
    """``live``: nodes something needs, in order. ``count``: users of every value, with
    views counted as their users. ``reread``: values that some user reads several times
    per element. ``parts``: names of the live ``getitem`` nodes by (node, position)."""

    live: tuple[Node, ...]
    count: dict[str, int]
    reread: frozenset[str]
    parts: dict[tuple[str, int], str]


def analyse(graph: Graph, rules: Rules) -> Uses:
    """Walk the graph backwards from its outputs and mutations."""
    needed = {name for name in graph.outputs if name is not None}
    needed.update(m.value for m in graph.mutations)
    count = dict.fromkeys(needed, 1)
    reread: set[str] = set()
    live: list[Node] = []
    parts: dict[tuple[str, int], str] = {}
    for node in reversed(graph.nodes):
        if node.name not in needed:
            continue
        live.append(node)
        rule = rules.get(node.op)
        transparent = node.op == "getitem" or (rule is not None and rule.view)
        weight = count[node.name] if transparent else 1
        for name in dict.fromkeys(node.refs()):
            needed.add(name)
            count[name] = count.get(name, 0) + weight
            if (transparent and node.name in reread) or (rule is not None and rule.rereads):
                reread.add(name)
        if node.op == "getitem":
            source, position = node.args
            assert isinstance(source, Ref)
            parts[source.name, int(position)] = node.name  # type: ignore[arg-type]
    return Uses(tuple(reversed(live)), count, frozenset(reread), parts)
