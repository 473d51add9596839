"""Calls in traced graphs: what rewriting them needs. Every node's ``meta`` has its fake value; who
has rewritten a graph recompiles its module, once."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

GIVES_MEMORY = torch.ops.aten.set_.source_Tensor
"""Of ``x.data = y``: from then on, x is what lies in y's memory."""
WRITES = (torch.ops.aten.copy_.default, GIVES_MEMORY)
"""What a traced graph does to its inputs, at its end."""
MARKED = "marked"
"""In the ``meta`` of a node that computes what the program only marks as conjugated."""


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


def is_view(node: fx.Node) -> bool:
    """Whether torch says that the node's operator gives a view."""
    return getattr(node.target, "is_view", False)


def fixed(found: Any) -> Any:
    """A fake value, or the number that torch has made it (and asks for in a guard)."""
    number = found.node.maybe_as_float() if isinstance(found, torch.SymFloat) else None
    return found if number is None else number
