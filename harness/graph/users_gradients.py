"""Gradients that users wrote (``torch.autograd.Function``, other libraries' operators), in graphs
of ``torch.compile``: eager mode does not call them where nobody asks for them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch._functorch.autograd_function import autograd_function_apply
from torch.utils import _pytree as pytree

USERS = "users"
"""In the ``meta`` of a tangent: a bit for each call that its output depends on of which a user
wrote the gradient, which need not be 0 of zeros. In that of a call its name, which is in the
``custom`` of the nodes of its gradient, too."""
CHECKPOINT = torch.ops.higher_order.tag_activation_checkpoint
_GRAPHS = (CHECKPOINT, torch.ops.higher_order.invoke_subgraph)


def is_a_users(call: Any) -> bool:
    """Whether ``call`` may have a gradient that a user wrote: a graph, in which there may be
    anything, an operator of another library, or a function that is traced as it is."""
    if isinstance(call, torch._ops.HigherOrderOperator):
        return call.__name__ != "register_hook"  # which has no gradient of its own
    if isinstance(call, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return str(call).partition(".")[0] not in ("aten", "prims")
    root = (getattr(call, "__module__", None) or "torch").partition(".")[0]
    return root not in ("torch", "_operator", "builtins", "math")


def mark_users(gm: fx.GraphModule, of: str = "", within: str = "") -> None:
    """Mark the gradients that users wrote in ``gm`` as of their calls, or of the call ``of``, whose
    graph ``gm`` is, for what is traced of them (torch keeps what is ``custom``). What such a
    gradient only hands on becomes a view, so that there is something to mark. A checkpoint has no
    gradient of its own: its graph is ``within`` it."""
    for call in gm.graph.nodes:
        name = call.meta[USERS] = of or within + call.name
        attributes = (one for one in call.all_input_nodes if one.op == "get_attr")
        parts = [operator.attrgetter(one.target)(gm) for one in attributes]
        if call.target is autograd_function_apply:
            body, output = parts[1], parts[1].graph.output_node()
            with body.graph.inserting_before(output):
                output.args = pytree.tree_map_only(fx.Node, _own, output.args)
            for node in body.graph.nodes:
                node.meta["custom"] = {**node.meta.get("custom", {}), USERS: name}
            body.recompile()
        elif call.target is CHECKPOINT and not of:
            mark_users(parts[0], within=f"{name}.")
        elif isinstance(call.target, torch._ops.HigherOrderOperator):
            bodies: list[Any] = [part for part in parts if isinstance(part, fx.GraphModule)]
            nodes = [node for part in bodies for one in part.modules() for node in one.graph.nodes]
            # Of other gradients that users wrote there would be no mark.
            own = [n.target for n in nodes if n.op == "call_function" and is_a_users(n.target)]
            if all(target in (autograd_function_apply, call.target) for target in own):
                for part in bodies:
                    mark_users(part, name)


def inline(gm: fx.GraphModule, wanted: Callable[[fx.Node, fx.GraphModule], bool]) -> None:
    """Inline the graphs of those checkpoints and nested regions that are ``wanted``."""
    calls = [node for node in gm.graph.nodes if node.target in _GRAPHS]
    for node in calls:
        body = getattr(gm, node.args[0].target)
        if not wanted(node, body):
            continue
        places = body.graph.find_nodes(op="placeholder")  # its arguments are the call's last ones
        values: dict[fx.Node, Any] = dict(zip(places[::-1], node.args[::-1], strict=False))
        with gm.graph.inserting_before(node):
            results: Any = gm.graph.graph_copy(body.graph, values)
        for read in body.graph.find_nodes(op="call_method", target="item"):
            source = values[read.args[0]]  # of later calls torch gives the number
            seen = source.meta["example_value"] if isinstance(source, fx.Node) else source
            if not isinstance(seen, torch.Tensor):
                values[read].replace_all_uses_with(source)
                gm.graph.erase_node(values[read])
        for held in body.graph.find_nodes(op="get_attr"):
            values[held].target = f"{node.name}_{held.target}"
            setattr(gm, values[held].target, getattr(body, held.target))
        for user in list(node.users):
            user.replace_all_uses_with(results[user.args[1]])
            gm.graph.erase_node(user)
        gm.graph.erase_node(node)
        calls += (values[inner] for inner in body.graph.nodes if inner.target in _GRAPHS)
    if calls:
        gm.recompile()


def _own(node: fx.Node) -> fx.Node:
    """A view of what a graph is given; a node of its own as it is."""
    if node.op != "placeholder" or not isinstance(node.meta.get("example_value"), torch.Tensor):
        return node
    return node.graph.call_function(torch.ops.aten.alias.default, (node,))
