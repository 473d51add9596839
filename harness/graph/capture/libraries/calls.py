"""Calls in traced graphs: what rewriting them needs. Every node's ``meta`` has its fake value; who
has rewritten a graph recompiles its module, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

_SHALLOW = getattr(torch.ops.aten, "shallow_copy_data_", None)  # in torch 2.14 and later
GIVES_MEMORY = (torch.ops.aten.set_.source_Tensor, *(_SHALLOW and [_SHALLOW.default] or ()))
"""Of ``x.data = y``: from then on, x is what lies in y's memory."""
WRITES = (torch.ops.aten.copy_.default, *GIVES_MEMORY)
"""What a traced graph does to its inputs, at its end."""
_SLICES: dict[object, int] = {
    torch.ops.aten.slice.Tensor: 2,
    torch.ops.aten.slice_copy.Tensor: 2,
    torch.ops.aten.slice_scatter.default: 3,
}
"""Where slices are told where they begin; after that where they end."""
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


def from_first(node: fx.Node) -> Sequence[Any]:
    """The arguments of a call; of a slice of unknown sizes, positions are counted from the first
    element. From which end they count, and which are none, no expression tells."""
    args: list[Any] = list(node.args)
    if (begin := _SLICES.get(node.target)) is None:
        return args
    size = node.all_input_nodes[0].meta["val"].shape[args[begin - 1] if args[begin - 1 :] else 0]
    for place, given in enumerate(args[begin : begin + 2], begin):
        position = given.meta["val"] if isinstance(given, fx.Node) else given
        unknown = any(isinstance(one, torch.SymInt) for one in (position, size))
        if unknown and _is_negative(position):
            args[place] = 0 if _is_negative(position + size) else position + size
    return args


def _is_negative(number: Any) -> bool:
    """Whether a number, if any, is one below 0, which becomes a guard: of a slice that is written
    tracing has asked nothing."""
    if isinstance(number, torch.SymInt) and free_unbacked_symbols(number):
        return False
    return number is not None and bool(number < 0)
