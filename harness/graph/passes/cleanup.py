"""Passes that make a graph smaller without changing what it computes.

Each pass is a function from graph to graph and keeps the names of all outputs
and mutated values, so that they can be run in any order.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterable, Mapping

import sympy

from harness.dtypes import DType
from harness.graph.model import Arg, Graph, Node, Ref, TensorType, Token

RANDOM_NAMES = frozenset(
    {
        "_fused_dropout",
        "alpha_dropout",
        "bernoulli",
        "dropout",
        "exponential",
        "native_dropout",
        "normal",
        "multinomial",
        "rand",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "randperm",
        "rrelu_with_noise",
        "uniform",
    }
)
"""Operators (without namespace and overload) that give another result each time."""

_SAME_TYPE_MEANS_SAME_VALUE = frozenset(
    {
        "_to_copy",
        "_unsafe_view",
        "alias",
        "clone",
        "convert_element_type",
        "detach",
        "expand",
        "lift_fresh_copy",
        "reshape",
        "slice",
        "view",
    }
)
"""Operators that change nothing if the result has the argument's type and layout."""


def base_op(op: str) -> str:
    """The operator's name alone: ``aten.add.Tensor`` → ``add``."""
    parts = op.split(".")
    return parts[1] if len(parts) > 1 else op


def clean(graph: Graph) -> Graph:
    """The passes in their order: no-ops, common subexpressions, dead code."""
    return remove_dead(merge_common(remove_no_ops(remove_dead(graph))))


def kept_names(graph: Graph) -> frozenset[str]:
    """Values that must keep their names: outputs, and the values of mutations."""
    outputs = (name for name in graph.outputs if name is not None)
    return frozenset(outputs).union(m.value for m in graph.mutations)


def remove_dead(graph: Graph) -> Graph:
    """Without the nodes that no output and no mutation depends on."""
    live = set(kept_names(graph))
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in live:
            kept.append(node)
            live.update(node.refs())
    return dataclasses.replace(graph, nodes=tuple(reversed(kept)))


def remove_no_ops(graph: Graph) -> Graph:
    """Without calls that return their argument as it is (a view to the same shape,
    a conversion to the same type, a copy in the same layout)."""
    types = graph.types()
    keep = kept_names(graph)
    renamed: dict[str, str] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        node = rename_refs(node, renamed)
        first = node.args[0] if node.args else None
        if (
            node.name not in keep
            and base_op(node.op) in _SAME_TYPE_MEANS_SAME_VALUE
            and isinstance(first, Ref)
            and isinstance(node.type, TensorType)
            and types[first.name] == node.type
        ):
            renamed[node.name] = first.name
            continue
        nodes.append(node)
    return dataclasses.replace(graph, nodes=tuple(nodes))


def merge_common(graph: Graph) -> Graph:
    """Equal calls on equal arguments are made once; the first one stays.

    Random operators are not equal to anything; a call whose name must be kept
    is not removed.
    """
    keep = kept_names(graph)
    seen: dict[object, str] = {}
    renamed: dict[str, str] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        node = rename_refs(node, renamed)
        if base_op(node.op) in RANDOM_NAMES:
            nodes.append(node)
            continue
        key = (node.op, argument_key(node.args), argument_key(node.kwargs), node.type)
        first = seen.setdefault(key, node.name)
        if first != node.name and node.name not in keep:
            renamed[node.name] = first
        else:
            nodes.append(node)
    return dataclasses.replace(graph, nodes=tuple(nodes))


def rename_refs(node: Node, renamed: Mapping[str, str]) -> Node:
    """``node`` with the values it uses renamed; the same object if none is."""
    if not any(name in renamed for name in node.refs()):
        return node
    kwargs = tuple((key, _renamed(value, renamed)) for key, value in node.kwargs)
    args = tuple(_renamed(value, renamed) for value in node.args)
    return dataclasses.replace(node, args=args, kwargs=kwargs)


def _renamed(arg: Arg, renamed: Mapping[str, str]) -> Arg:
    if isinstance(arg, Ref):
        return Ref(renamed.get(arg.name, arg.name))
    if isinstance(arg, tuple):
        return tuple(_renamed(item, renamed) for item in arg)
    return arg


def structure_key(graph: Graph) -> object:
    """A hashable key that is equal for graphs which differ in nothing but names."""
    renamed = {item.name: f"i{number}" for number, item in enumerate(graph.inputs)}
    renamed.update((node.name, f"n{number}") for number, node in enumerate(graph.nodes))
    nodes: list[object] = []
    for node in graph.nodes:
        same = rename_refs(node, renamed)
        nodes.append((same.op, argument_key(same.args), argument_key(same.kwargs), same.type))
    return (
        tuple((item.type, item.role, item.bound) for item in graph.inputs),
        tuple(nodes),
        tuple(None if name is None else renamed[name] for name in graph.outputs),
        tuple((renamed[m.input], renamed[m.value]) for m in graph.mutations),
    )


def argument_key(arg: Arg | Iterable[object]) -> object:
    """A hashable key that tells apart what ``==`` does not: 1, 1.0 and True, 0.0 and -0.0.

    >>> argument_key((0.0, 1)) == argument_key((-0.0, True))
    False
    """
    match arg:
        case tuple():
            return tuple(argument_key(item) for item in arg)
        case bool():
            return ("bool", arg)
        case float():
            return ("float", struct.pack("<d", arg))
        case int() | sympy.Integer():
            return ("int", int(arg))
        case Ref() | Token() | DType() | str() | None:
            return arg
        case _:
            return ("expression", arg)
