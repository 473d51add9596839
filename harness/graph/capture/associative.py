"""Scans by a user's function as an operator that brings the function along.

``associative_scan`` is one of torch's operators that take a graph. Where that computes element by
element and looks at nothing but its operands, it goes into the graph as text, and the scan is a
call like any other, which is fused and lowered; elsewhere it stays control.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import fx

from harness.errors import CaptureFailed
from harness.graph.calltext import SCAN_BY_FUNCTION
from harness.graph.capture.fx import convert
from harness.graph.model import Node
from harness.graph.replay import operator_function
from harness.graph.text import dumps

_BY_ELEMENT = ("aten.full.default", "aten._to_copy.default", "aten.scalar_tensor.default")
"""Besides what torch calls pointwise."""


def lift_functions(gm: fx.GraphModule) -> None:
    """Replace every scan by a function that can go into a graph."""
    for node in gm.graph.nodes:
        if node.target is torch.ops.higher_order.associative_scan:
            function, xs, *others = node.args
            text = None if any(others) else _text(getattr(gm, function.target), len(xs))
            if text is not None:
                node.target, node.args = operator_function(SCAN_BY_FUNCTION), (list(xs), text)


def _text(function: fx.GraphModule, count: int) -> str | None:
    """The text of ``function`` of ``count`` operands; None if it does not go into a graph."""
    try:
        graph = convert(function, None, "combine").graph
    except CaptureFailed:
        return None
    fits = len(graph.inputs) == 2 * count and not graph.mutations and None not in graph.outputs
    if not (fits and all(map(_is_by_element, graph.nodes))):
        return None
    nodes = tuple(replace(node, source="", module="") for node in graph.nodes)
    return dumps(replace(graph, nodes=nodes))


def _is_by_element(node: Node) -> bool:
    tags = getattr(operator_function(node.op), "tags", ())
    return node.op in _BY_ELEMENT or torch.Tag.pointwise in tags
