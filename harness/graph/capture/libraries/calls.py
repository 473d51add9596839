"""Calls in traced graphs: what rewriting them needs. Every node's ``meta`` has its fake value; who
has rewritten a graph recompiles its module, once."""

from __future__ import annotations

from typing import Any

from torch import fx


def called(graph: fx.Graph, like: fx.Node, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
    """A new call, traced, with the source line of ``like``."""
    name = target.__name__.partition(".")[0]  # as tracing names it
    made = graph.create_node("call_function", target, args, kwargs, name)
    made.meta = {k: v for k, v in like.meta.items() if k not in ("val", "tensor_meta", "recompute")}
    made.meta["val"] = traced(made)
    return made


def traced(node: fx.Node) -> Any:
    """The fake value of a call, from those of its arguments."""
    args, kwargs = fx.map_arg((node.args, node.kwargs), value)
    target: Any = node.target
    return target(*args, **kwargs)


def value(node: Any) -> Any:
    """The fake value of a node."""
    return node.meta["val"]
