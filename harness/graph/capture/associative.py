"""Scans by a user's function as an operator that brings the function along.

``associative_scan`` is one of torch's operators that take a graph. Where that computes element by
element, it goes into the graph as text, and the scan is a call like any other, which is fused and
lowered; elsewhere it stays control. What the function captures, and computes of that alone, is
the same along the scan: it is computed once, outside, and is an argument of the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from harness.errors import CaptureFailed
from harness.graph.calltext import SCAN_BY_FUNCTION
from harness.graph.capture.fx import convert
from harness.graph.capture.libraries.calls import called, value
from harness.graph.model import Node, Ref
from harness.graph.replay import operator_function
from harness.graph.text import dumps

_BY_ELEMENT = ("aten.full.default", "aten._to_copy.default", "aten.scalar_tensor.default")
"""Besides what torch calls pointwise."""


def lift_functions(gm: fx.GraphModule) -> None:
    """Replace every scan by a function that can go into a graph."""
    for node in list(gm.graph.nodes):
        if node.target is torch.ops.higher_order.associative_scan:
            function, xs, given = node.args
            with gm.graph.inserting_before(node), value(xs[0]).fake_mode:
                inner, captured = _hoisted(getattr(gm, function.target), node, given)
            if (text := _text(inner, 2 * len(xs) + len(captured))) is not None:
                node.target = operator_function(SCAN_BY_FUNCTION)
                node.args = (list(xs), text, captured)


def _hoisted(
    function: fx.GraphModule, scan: fx.Node, given: Sequence[Any]
) -> tuple[fx.GraphModule, list[fx.Node]]:
    """``function`` without what does not depend on its operands: that is computed before ``scan``,
    from ``given``, the function's last arguments. And the tensors in place of these that are
    read; a number is one without dimensions."""
    places = function.graph.find_nodes(op="placeholder")
    outside: dict[fx.Node, Any] = dict(zip(places[::-1], given[::-1], strict=False))
    inside: dict[fx.Node, fx.Node] = {}
    graph, captured = fx.Graph(), list[fx.Node]()

    def read(node: fx.Node) -> fx.Node:
        if node not in inside:
            made, number = outside[node], torch.ops.aten.scalar_tensor.default
            if not isinstance(value(node), torch.Tensor):
                made = called(scan.graph, scan, number, made, dtype=torch.int64)
            captured.append(made)
            inside[node] = graph.placeholder("captured")
            inside[node].meta["val"] = value(made)
        return inside[node]

    for node in function.graph.nodes:
        sources = node.all_input_nodes
        fixed = node.op == "call_function" and outside.keys() >= set(sources)
        if fixed and not node.is_impure() and (sources or str(node.target) not in _BY_ELEMENT):
            outside[node] = scan.graph.node_copy(node, outside.__getitem__)
        elif node not in outside:
            inside[node] = graph.node_copy(node, read)
            if any(isinstance(n.meta.get("val"), torch.SymInt) for n in sources):
                name = node.target._overloadname.replace("Scalar", "Tensor")
                inside[node].target = getattr(node.target.overloadpacket, name, node.target)
    return fx.GraphModule(function, graph), captured


def _text(function: fx.GraphModule, count: int) -> str | None:
    """The text of ``function`` of ``count`` arguments; None if it does not go into a graph."""
    try:
        graph = convert(function, "combine").graph
    except CaptureFailed:
        return None
    fits = len(graph.inputs) == count and not graph.mutations and None not in graph.outputs
    if not (fits and all(map(_is_by_element, graph.nodes))):
        return None
    nodes = tuple(replace(node, source="", module="") for node in graph.nodes)
    return dumps(replace(graph, nodes=nodes))


def _is_by_element(node: Node) -> bool:
    function: Any = operator_function(node.op)
    if node.op not in _BY_ELEMENT and torch.Tag.pointwise not in getattr(function, "tags", ()):
        return False
    places = enumerate(function._schema.arguments)
    tensors = [node.argument(n, a.name) for n, a in places if "Tensor" in str(a.type)]
    return all(Ref(name) in tensors for name in node.refs())  # which no number may be
