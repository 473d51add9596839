"""Reductions of a copy that is a result, instead of what it is a copy of.

Gradients are added up across the layout in which they were computed, by a kernel of its own, which
computes them again, from more bytes than the copy has: 1.32 ms on an H200, by hand 0.97 from it.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

from harness.graph.model import Graph, Node, Ref, tensors_of
from harness.graph.passes.cleanup import kept_names
from harness.graph.passes.reductions import Reduction, parse_reduction
from harness.ir.affine import size_hint
from harness.ir.ops import LAUNCH
from harness.ir.reach import reached


def read_copies(graph: Graph) -> Graph:
    """``graph`` with each reduction of a value of which a result is a copy given that, if computing
    the value again reads more, by what a launch costs, and no other reduction over as many elements
    is there, with which it might share that."""
    types, kept = graph.types(), kept_names(graph)
    placed = ("index", "scatter")  # at computed places as much is read as they have
    inner = (n for n in graph.nodes if not (n.name in kept or n.packet.startswith(placed)))
    computed = {n.name: n.refs for n in inner}
    copies = {next(n.refs()): n for n in graph.nodes if n.packet == "clone" and n.name in kept}
    found = {n.name: parse_reduction(n, types) for n in graph.nodes if copies}
    times = Counter((r.kept, r.reduced) for r in found.values() if r)

    def copy_for(reduction: Reduction) -> Node | None:
        copy, size = copies.get(reduction.source.name), math.prod(reduction.shape)
        if copy is None or times[reduction.kept, reduction.reduced] > 1:
            return None
        behind = reached([reduction.source.name], lambda name: computed.get(name, tuple)())
        ends = (t for name in behind if name not in computed for t in tensors_of(types[name]))
        each = sum(t.dtype.itemsize for t in ends if size_hint(t.numel) >= size)  # no pieces
        own = sum(t.dtype.itemsize for t in tensors_of(types[copy.name]))
        return copy if (each - own) * size >= LAUNCH else None

    made = dict[str, Node]()
    for node in graph.nodes:
        if (reduction := found.get(node.name)) and (copy := copy_for(reduction)):
            made.setdefault(copy.name, copy)
            node = dataclasses.replace(node, args=(Ref(copy.name), *node.args[1:]))
        made.setdefault(node.name, node)
    return dataclasses.replace(graph, nodes=tuple(made.values()))
