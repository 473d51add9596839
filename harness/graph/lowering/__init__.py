"""Lowering: a region's graph of ATen calls becomes a program of loop nests."""

from __future__ import annotations

from harness.graph.lowering.lower import lower_with
from harness.graph.lowering.operators import RULES
from harness.graph.model import Graph
from harness.ir.program import Program

__all__ = ["lower", "supports"]


def lower(graph: Graph, name: str | None = None) -> Program:
    """The program of ``graph``, called ``name`` (the graph's own name if not given).

    Every buffer holds one value of the graph and is called after it. Raises
    ``UnsupportedOperator`` with the node, its source line and a remedy.
    """
    return lower_with(graph, RULES, name)


def supports(op: str) -> bool:
    """Whether operator overload ``op`` (``aten.add.Tensor``) has a lowering."""
    return op == "getitem" or op in RULES
