"""Which integer inputs index something, and how large their values may get.

A captured graph has no values, so the bound of token ids or labels is read off the
operators they end up in: the number of rows of an embedding table, the size of the
dimension that is gathered from or scattered into.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import sympy

from harness.dtypes import DType
from harness.graph.model import Graph, Node, Ref, TensorType
from harness.ir.index import FloorDiv

_PASS_ON = frozenset(
    (
        "_to_copy alias clamp clone constant_pad_nd expand permute reshape select slice slice_copy "
        "squeeze unsqueeze view where"
    ).split()
)
"""Operators whose result holds values of their operands (or constants of no account)."""

LOOKED_UP = frozenset({"embedding", "gather", "index", "index_select"})
"""Operators whose result holds values of their first operand."""

_INDEXED = frozenset({"index", "index_put", "_unsafe_index", "_unsafe_index_put"})
_DIMENSION_THEN_INDEX = frozenset(
    {"gather", "index_select", "scatter", "scatter_add", "scatter_reduce", "index_add"}
)


def with_bounds(graph: Graph) -> Graph:
    """``graph`` with ``bound`` filled in for integer inputs that index something."""
    bounds = index_bounds(graph)
    inputs = tuple(
        replace(i, bound=bounds[i.name]) if i.bound is None and i.name in bounds else i
        for i in graph.inputs
    )
    return replace(graph, inputs=inputs)


def index_bounds(graph: Graph) -> dict[str, sympy.Expr]:
    """What the integer values that index something have to stay below, by name: of inputs, and of
    what is computed from them or found (the places of a sort), which another kernel may read."""
    types = graph.types()
    booleans = {
        name for name, t in types.items() if isinstance(t, TensorType) and t.dtype is DType.BOOL
    }
    copies = (node for node in graph.nodes if node.packet == "_to_copy")
    pairs = ({node.name, *node.refs()} for node in copies)
    flags = set[str]().union(*(pair for pair in pairs if not booleans.isdisjoint(pair)))  # 0 or 1
    bounds: dict[str, sympy.Expr] = {}
    for node in reversed(graph.nodes):
        packet, limit = node.packet, bounds.get(node.name)
        found = list(_limits(node, types))
        if limit is not None:
            found += _passed(node, packet, limit, flags, types)
        for name, below in found:
            kind = types.get(name)
            if isinstance(kind, TensorType) and kind.dtype.is_integer:
                least = 2 if name in flags else below
                bounds[name] = sympy.Min(bounds.get(name, below), below, least)
    return bounds


def _passed(
    node: Node, packet: str, limit: sympy.Expr, flags: Collection[str], types: Mapping[str, object]
) -> Iterator[tuple[str, sympy.Expr]]:
    """(operand, exclusive bound) pairs that keep the values of ``node`` below ``limit``."""
    match node.args:
        case (Ref(name=name), int(number)) if packet in ("add", "sub"):
            yield name, sympy.Max(limit - (number if packet == "add" else -number), 1)
        case (Ref(name=name), int(number)) if packet == "mul" and number > 0:
            yield name, FloorDiv(limit - 1, number) + 1
        case (Ref(name=name), int(dim)) if packet == "cumsum":
            kind = types[name]
            length = kind.shape[dim] if isinstance(kind, TensorType) and kind.rank else 1
            yield name, FloorDiv(limit - 1, sympy.Max(length, 1)) + 1
        case (Ref(name=left), Ref(name=right)) if packet == "mul":
            if left in flags or right in flags:
                yield from ((left, limit), (right, limit))
        case (Ref(name=table), *_) if packet in LOOKED_UP:
            yield table, limit
        case _ if packet in _PASS_ON:
            yield from ((name, limit) for name in node.refs())
        case _:
            pass


def places(node: Node) -> Iterator[tuple[str, int, str]]:
    """What ``node`` indexes: a table, its dimension, and the integers that are places along it."""
    match node.args:
        case (Ref(name=table), Ref(name=index), *_) if node.packet == "embedding":
            yield table, 0, index
        case (Ref(name=table), int(dimension), Ref(name=index), *_) if (
            node.packet in _DIMENSION_THEN_INDEX
        ):
            yield table, dimension, index
        case (Ref(name=table), tuple(indices), *_) if node.packet in _INDEXED:
            for dimension, one in enumerate(indices):
                if isinstance(one, Ref):
                    yield table, dimension, one.name


def _limits(node: Node, types: Mapping[str, object]) -> Iterator[tuple[str, sympy.Expr]]:
    """(index value, exclusive bound) pairs of one node."""
    for table, dimension, index in places(node):
        kind = types.get(table)
        if isinstance(kind, TensorType) and kind.rank:
            yield index, kind.shape[dimension]
    match node.args:
        case (_, Ref(name=index), int() | sympy.Integer() as rows, *_) if (
            node.packet == "embedding_dense_backward"
        ):
            yield index, sympy.sympify(rows)


def distinct_indices(graph: Graph) -> dict[str, int | None]:
    """The inputs that say where a scatter writes, and the dimension along which no two of them may
    be equal (None: all elements). Which of two values written to one place stays is undefined, so
    that neither a kernel nor its reference may be asked."""
    kinds = {i.name: i.type for i in graph.inputs}
    found: dict[str, int | None] = {}
    for node in graph.nodes:
        if node.op == "aten.scatter.src":
            index, dim = node.args[2], node.args[1]
            if isinstance(index, Ref) and isinstance(dim, int) and index.name in kinds:
                found[index.name] = dim % max(1, kinds[index.name].rank)
        elif node.op in _WRITES and not node.argument(3, "accumulate"):
            indices = node.args[1]
            refs = indices if isinstance(indices, tuple) else ()
            first = next((r.name for r in refs if isinstance(r, Ref)), "")
            if first in kinds and kinds[first].dtype.is_integer:
                found[first] = None
    return found


_WRITES = ("aten.index_put.default", "aten._unsafe_index_put.default")
