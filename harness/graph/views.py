"""Which operators are views, and what a view is a view of.

A view only rearranges sizes and strides: it costs nothing on the host, and inside
a region it is an index expression. Everything here looks at operator names and
recorded types alone, so that it works without torch.
"""

from __future__ import annotations

from collections.abc import Mapping

import sympy

from harness.graph.model import Graph, Node, Ref
from harness.ir.reach import gathered

VIEW_OPS = frozenset(
    (
        "aten._conj.default aten._neg_view.default aten._reshape_alias.default "
        "aten._unsafe_view.default aten.alias.default aten.as_strided.default aten.detach.default "
        "aten.diagonal.default aten.expand.default aten.movedim.int aten.movedim.intlist "
        "aten.narrow.default aten.permute.default aten.select.int aten.slice.Tensor "
        "aten.squeeze.default aten.squeeze.dim aten.squeeze.dims aten.t.default aten.transpose.int "
        "aten.unfold.default aten.unsqueeze.default aten.view.default aten.view.dtype "
        "aten.view_as_complex.default aten.view_as_real.default prims.broadcast_in_dim.default "
        "prims.squeeze.default prims.transpose.default prims.view_of.default"
    ).split()
)
"""Operators whose only result shares storage with their first argument."""

MULTIPLE_VIEW_OPS = frozenset(
    (
        "aten.chunk.default aten.split.Tensor aten.split.sizes aten.split_with_sizes.default "
        "aten.tensor_split.indices aten.tensor_split.sections aten.unbind.int"
    ).split()
)
"""Operators all of whose results share storage with their first argument."""

_BY_STRIDES = frozenset({"aten.as_strided.default", "aten.as_strided_scatter.default"})

GETITEM = "getitem"
"""The element access of a node with several results."""


def is_view(node: Node, nodes: Mapping[str, Node]) -> bool:
    """Whether ``node`` only rearranges its first argument. ``nodes`` are the graph's nodes by name;
    the element access of a view with several results (``aten.split``) is a view too, that of
    anything else is not."""
    if node.op in VIEW_OPS or node.op in MULTIPLE_VIEW_OPS:
        return True
    if node.op != GETITEM:
        return False
    source = nodes.get(base_name(node))
    return source is not None and source.op in MULTIPLE_VIEW_OPS


def base_name(node: Node) -> str:
    """The value that the view or element access ``node`` is made from."""
    first = node.args[0]
    assert isinstance(first, Ref), f"{node.name}: {node.op} does not start with a value"
    return first.name


def root_name(name: str, nodes: Mapping[str, Node]) -> str:
    """The value at the bottom of the chain of views that ends in ``name``."""
    while (node := nodes.get(name)) is not None and is_view(node, nodes):
        name = base_name(node)
    return name


def inputs_shared(graph: Graph) -> list[tuple[int, sympy.Expr]]:
    """Places and lengths of the inputs that stand for memory which several tensors share. The
    caller's tensors are picked out of them, and written into them, by strides."""
    used = gathered((name, node.op) for node in graph.nodes for name in node.refs())
    return [
        (number, item.type.numel)
        for number, item in enumerate(graph.inputs)
        if item.type.rank == 1 and item.name in used and _BY_STRIDES.issuperset(used[item.name])
    ]
