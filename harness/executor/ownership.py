"""Whose memory a region may take over: the graph's own values that it is the last to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from harness.executor.views import ViewPlan
from harness.graph.model import Partition, Region, TensorType
from harness.graph.views import GETITEM

_OWN_RESULT = frozenset(
    (
        "aten.addmm.default aten.baddbmm.default aten.bmm.default aten.convolution.default "
        "aten.mm.default"
    ).split()
)
"""Library calls whose result lies in memory of its own, of just its size."""

_OWN_RESULTS = frozenset({"aten.convolution_backward.default"})
"""Those of which that holds for each of several results."""


def spare_inputs(
    partition: Partition, plan: ViewPlan, together: Mapping[str, Iterable[str]], lent: Iterable[str]
) -> dict[str, set[str]]:
    """By region, the inputs that it may overwrite: results of regions, and of calls that own their
    memory, that are no output and that nothing beside or after the region reads, by any view.

    ``together`` are the regions that a region is launched with, when the first is due. ``lent``
    are values that share memory with something else, besides those that a library call may view.
    """
    roots, readers, shared = _followed(partition, plan)
    graph = partition.graph
    kept = {*lent, *graph.outputs, *(m.value for m in graph.mutations)}
    shared.update(roots[name] for name in kept if name in roots)
    regions = {s.name: (n, s) for n, s in enumerate(partition.steps) if isinstance(s, Region)}
    elements = {n: t.numel for n, t in graph.types().items() if isinstance(t, TensorType)}
    found = {}
    for name, (at, region) in regions.items():
        before = min(regions[other][0] for other in together.get(name, (name,)))
        given = [item.name for item in region.graph.inputs if item.name in roots]
        read = Counter(roots[value] for value in given)
        found[name] = {
            value
            for value in given
            if roots[value] not in shared
            and read[roots[value]] == 1
            and all(other == at or other < before for other in readers[roots[value]])
            and elements[value] == elements[roots[value]]
        }
    return found


def _followed(
    partition: Partition, plan: ViewPlan
) -> tuple[dict[str, str], dict[str, set[int]], set[str]]:
    """By value the one whose memory it lies in; by the latter the steps that read it; and those of
    them that something else may be a view of."""
    roots: dict[str, str] = {}
    readers: dict[str, set[int]] = {}
    shared: set[str] = set()
    ops = {node.name: node.op for node in partition.graph.nodes}
    parts = Counter(node.args for node in partition.graph.nodes if node.op == GETITEM)
    for number, step in enumerate(partition.steps):
        if plan.is_collapsed(step):
            root = plan.views[step.node.name].root
            if root in roots:
                roots[step.node.name] = roots[root]
            continue
        if isinstance(step, Region):
            made = [name for name in step.graph.outputs if name is not None]
            read = [item.name for item in step.graph.inputs]
        else:
            read = list(step.node.refs())
            part = step.node.op == GETITEM and ops.get(read[0]) in _OWN_RESULTS
            owns = step.node.op in _OWN_RESULT or (part and parts[step.node.args] == 1)
            made = [step.node.name] if owns else []
            if not owns and step.node.op not in _OWN_RESULTS:
                shared.update(roots[name] for name in read if name in roots)
        for name in read:
            if name in roots:
                readers[roots[name]].add(number)
        for name in made:
            roots[name], readers[name] = name, set()
    return roots, readers, shared
