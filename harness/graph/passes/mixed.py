"""Reductions across rows of tensors that others reduce along: what one kernel may do in one pass.
The kernel's programs walk strips of rows (``schedule.fuse``). So the reduction across them is cut
into one chunk for each strip, whether or not it has too few results by itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping

from harness.graph.model import Graph, Node, TensorType
from harness.graph.passes.reductions import Reduction, parse_reduction
from harness.graph.sizes import contiguous_strides
from harness.heuristics.mixed import fits, strips
from harness.target import Target

_ACROSS = ("aten.sum.dim_IntList", "aten.amax.default", "aten.amin.default", "aten.any.dims")


def strips_wanted(graph: Graph, target: Target) -> dict[str, int]:
    """Into how many strips a reduction across rows should be cut, by its node's name; without those
    that are better left to a kernel of their own."""
    types = graph.types()
    nodes = {node.name: node for node in graph.nodes}
    known = {name: t for name, t in types.items() if isinstance(t, TensorType) and t.layout}
    points = {name: math.prod(map(int, t.shape)) for name, t in known.items()}
    along: dict[tuple[int, int], set[str]] = {}
    across: dict[tuple[int, int], list[Reduction]] = {}
    for node in graph.nodes:
        found = parse_reduction(node, types, nodes)
        if found is None or found.by_stride != found.dims:
            continue
        rank, count = len(found.shape), len(found.dims)
        if found.dims == tuple(range(rank - count, rank)):
            along.setdefault((found.kept, found.reduced), set()).add(node.name)
        elif found.op in _ACROSS and found.dims == tuple(range(count)):
            across.setdefault((found.reduced, found.kept), []).append(found)
    wanted: dict[str, int] = {}
    for (rows, columns), others in across.items():
        full = {name: known[name] for name, n in points.items() if n == rows * columns}
        behind = {r.node.name: _behind([r.source.name], full, nodes) for r in others}
        beside = along.get((rows, columns), set())
        sources = {ref for name in beside for ref in nodes[name].refs()}
        read = _behind(sources | _after(beside, nodes, behind), full, nodes)
        near = read.union(*(names for names in behind.values() if read & names))
        together = [r for r in others if near & behind[r.node.name]]
        own = near.union(*(behind[r.node.name] for r in together))
        needed = full.keys() & _after(behind, nodes)  # at every point, by what comes later
        if needed or any(full[n].stride != contiguous_strides(full[n].shape) for n in own):
            continue
        again = read.intersection(itertools.chain(*behind.values()))
        saved = sum(rows * columns * full[name].dtype.itemsize for name in again)
        stored = columns * sum(r.result.dtype.compute.itemsize for r in together)
        count = strips(saved, stored, target) if saved else 0
        if count and fits(columns, len(own) + len(together), target):
            wanted.update((r.node.name, count) for r in together)
    return wanted


def _after(
    names: Collection[str], nodes: Mapping[str, Node], end: Collection[str] = ()
) -> set[str]:
    """``names`` and all that is computed from them short of ``end``."""
    found = set(names)
    for node in nodes.values():
        if node.name not in end and not found.isdisjoint(node.refs()):
            found.add(node.name)
    return found


def _behind(
    names: Iterable[str], full: Collection[str], nodes: Mapping[str, Node]
) -> frozenset[str]:
    """Those of the ``full`` tensors that ``names`` are computed from at the same points, as far as
    they may be in memory; what is broadcast is not."""
    todo, found, seen = list(names), set[str](), set[str]()
    while todo:
        name = todo.pop()
        if name in seen or name not in full:
            continue
        seen.add(name)
        if name not in nodes or nodes[name].op == "aten.permute.default":
            found.add(name)
        elif nodes[name].op != "aten.expand.default":
            todo.extend(nodes[name].refs())
    return frozenset(found)
