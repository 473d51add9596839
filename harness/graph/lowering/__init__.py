"""Lowering: a region's graph of ATen calls becomes a program of loop nests."""

from __future__ import annotations

from collections.abc import Mapping

from harness.decisions import UNDECIDED, Decisions
from harness.errors import UnsupportedOperator
from harness.graph.lowering.lower import Lowering, analyse
from harness.graph.lowering.operators import RULES
from harness.graph.model import Graph, Input, Node, Ref, TensorType, ValueType, tensors_of
from harness.graph.passes.cleanup import structure_key
from harness.ir.program import Program

__all__ = ["lower", "supports", "supports_node"]


def lower(graph: Graph, decisions: Decisions = UNDECIDED) -> Program:
    """The program of ``graph``. Every buffer holds one value of the graph and is called after it.
    What kernels of ``decisions`` store is not recomputed for being small. Raises
    ``UnsupportedOperator`` with the node, its source line and a remedy."""
    return Lowering(graph, RULES, analyse(graph, RULES), decisions).run()


def supports(op: str) -> bool:
    """Whether operator overload ``op`` (``aten.add.Tensor``) has a lowering."""
    return op == "getitem" or op in RULES


def supports_node(
    node: Node,
    types: Mapping[str, ValueType],
    facts: tuple[tuple[str, str], ...] = (),
    answered: dict[object, bool] | None = None,
) -> bool:
    """Whether this call of an operator has a lowering, its arguments considered.

    ``types`` holds the types of the values it uses, ``facts`` are the graph's. ``supports`` knows
    the operator alone; some have forms that stay library calls (accumulation in 16 bits, a window
    that is too large, a view of a tensor with gaps). Equal calls of a graph have one answer, which
    is kept in ``answered``.
    """
    touched = list(tensors_of(*(types[name] for name in node.refs()), node.type))
    opaque = any(kind.dtype.is_opaque for kind in touched)
    if not supports(node.op) or opaque or any(isinstance(arg, complex) for arg in node.args):
        return False
    if node.op == "getitem" or not RULES[node.op].partial:
        return True
    read = {name: types[name] for name in node.refs()}
    inputs = [Input(name, kind) for name, kind in read.items() if isinstance(kind, TensorType)]
    if len(inputs) < len(read):
        return False
    nodes, outputs = [node], [node.name]
    if isinstance(node.type, tuple):
        parts = [(k, t) for k, t in enumerate(node.type) if t is not None]
        nodes += [Node(f"{node.name}_{k}", "getitem", (Ref(node.name), k), (), t) for k, t in parts]
        outputs = [f"{node.name}_{k}" for k, _ in parts]
    graph = Graph(node.name, tuple(inputs), tuple(nodes), tuple(outputs), (), facts)
    answers, key = {} if answered is None else answered, structure_key(graph)
    if key not in answers:
        try:
            lower(graph)
            answers[key] = True
        except UnsupportedOperator:
            answers[key] = False
    return answers[key]
