"""Upper bounds of integer inputs that index something.

A random integer input must not index out of range; what it indexes says how large it may be.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import sympy

from harness.graph.cleanup import base_op
from harness.graph.model import Arg, Graph, Node, Ref, TensorType, ValueType
from harness.graph.views import is_view, node_table, root_name

_KEEPS_VALUES = frozenset({"_to_copy", "clone", "convert_element_type", "contiguous"})


def index_bounds(graph: Graph) -> Graph:
    """``graph`` with ``Input.bound`` filled where an integer input without one indexes a
    dimension of known size, directly or through views, copies and integer casts."""
    types = graph.types()
    nodes = node_table(graph)
    bounds: dict[str, sympy.Expr] = {}
    for node in graph.nodes:
        for name, size in _indexed(node, types):
            source = _origin(name, nodes)
            known = bounds.get(source, size)
            bounds[source] = known if known == size else sympy.Min(known, size)
    inputs = tuple(
        dataclasses.replace(item, bound=bounds[item.name])
        if item.bound is None and item.type.dtype.is_integer and item.name in bounds
        else item
        for item in graph.inputs
    )
    return dataclasses.replace(graph, inputs=inputs)


def _origin(name: str, nodes: dict[str, Node]) -> str:
    """The value whose elements ``name`` holds."""
    while True:
        name = root_name(name, nodes)
        node = nodes.get(name)
        if node is None or base_op(node.op) not in _KEEPS_VALUES:
            return name
        first = node.args[0]
        if is_view(node, nodes) or not isinstance(first, Ref):
            return name
        name = first.name


def _indexed(node: Node, types: dict[str, ValueType]) -> Iterator[tuple[str, sympy.Expr]]:
    """Pairs of an index value that ``node`` uses and the size that it must stay below."""
    match base_op(node.op):
        case "embedding":
            yield from _pair(node.args[1], node.args[0], 0, types)
        case "embedding_dense_backward":
            if isinstance(node.args[1], Ref) and isinstance(node.args[2], int | sympy.Expr):
                yield node.args[1].name, sympy.sympify(node.args[2])
        case "index" | "_unsafe_index" | "index_put" | "_unsafe_index_put":
            indices = node.args[1]
            if isinstance(indices, tuple):
                for dim, index in enumerate(indices):
                    yield from _pair(index, node.args[0], dim, types)
        case "gather" | "index_select" | "index_add" | "scatter" | "scatter_add" | "scatter_reduce":
            dim = node.args[1]
            if isinstance(dim, int | sympy.Integer):
                yield from _pair(node.args[2], node.args[0], int(dim), types)
        case _:
            return


def _pair(
    index: Arg, indexed: Arg, dim: int, types: dict[str, ValueType]
) -> Iterator[tuple[str, sympy.Expr]]:
    if not isinstance(index, Ref) or not isinstance(indexed, Ref):
        return
    value = types.get(indexed.name)
    kind = types.get(index.name)
    if not isinstance(value, TensorType) or not isinstance(kind, TensorType):
        return
    if value.shape and kind.dtype.is_integer:
        yield index.name, value.shape[dim]
