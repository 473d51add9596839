"""Which nodes make a region, and the region's own graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.graph.bounds import with_bounds
from harness.graph.model import Graph, Input, Mutation, TensorType
from harness.graph.partition.levels import Kind, Layout
from harness.graph.passes.cleanup import rename_refs


@dataclass(slots=True)
class Unit:
    """A region in the making: the nodes it alone computes, everything it contains
    (views and free values pulled in), and the values it reads, in graph order."""

    members: tuple[str, ...]
    contents: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    mutations: list[Mutation] = field(default_factory=list)


def connect(layout: Layout, anchored: Iterable[str]) -> list[Unit]:
    """The regions in the order of their first nodes. ``anchored`` are free values that the host
    needs; each becomes a region of its own."""
    names = [n.name for n in layout.graph.nodes if layout.kind[n.name] is Kind.FUSIBLE]
    home = {name: [name] for name in names}

    def join(one: str, other: str) -> None:
        small, large = sorted((home[one], home[other]), key=len)
        if small is not large:
            large += small
            home.update(dict.fromkeys(small, large))

    reader: dict[tuple[str, int], str] = {}
    for name in names:
        for value in layout.operands(name):
            level = layout.level[name]
            if layout.kind.get(value) is Kind.FUSIBLE and layout.level[value] == level:
                join(value, name)
            elif not _is_scalar(layout, value):
                join(reader.setdefault((value, level), name), name)
    groups = {id(home[name]): home[name] for name in names}
    lists = (*groups.values(), *([name] for name in anchored))
    units = [Unit(tuple(sorted(members, key=layout.order.__getitem__))) for members in lists]
    for unit in units:
        fill(layout, unit, ())
    return sorted(units, key=lambda unit: layout.order[unit.members[0]])


def _is_scalar(layout: Layout, name: str) -> bool:
    """Whether reading ``name`` is no reason to share a region: it has one element."""
    value = layout.types[name]
    return isinstance(value, TensorType) and all(n == 1 for n in value.shape)


def fill(layout: Layout, unit: Unit, extra: Iterable[str]) -> None:
    """Set ``contents`` and ``reads`` of ``unit``; ``extra`` are views to be contained too."""
    members = set(unit.members)
    contents: set[str] = set()
    reads: dict[str, None] = {}
    stack = [*unit.members, *extra]
    while stack:
        name = stack.pop()
        if name in contents:
            continue
        if name in members or layout.kind.get(name) in (Kind.VIEW, Kind.FREE):
            contents.add(name)
            stack.extend(layout.nodes[name].refs())
        else:
            reads[name] = None
    unit.contents = tuple(sorted(contents, key=layout.order.__getitem__))
    # In the order of first use, which is the order a reader meets them in.
    used = (ref for name in unit.contents for ref in layout.nodes[name].refs())
    unit.reads = tuple(dict.fromkeys(ref for ref in used if ref in reads))


def region_graph(
    layout: Layout, unit: Unit, name: str, needed: frozenset[str], renamed: Mapping[str, str]
) -> Graph:
    """The graph of a region: its nodes as they are but for what it reads by another name, its
    inputs with what is known of them, as outputs the values among ``needed`` that it computes."""
    inputs = {item.name: item for item in layout.graph.inputs}
    renamed = {read: renamed[read] for read in unit.reads if read in renamed}
    nodes = tuple(rename_refs(layout.nodes[at], renamed) for at in unit.contents)
    reads = dict.fromkeys((*unit.reads, *(m.input for m in unit.mutations)))
    types = {read: layout.types[read] for read in reads}
    kinds = {read: kind for read, kind in types.items() if isinstance(kind, TensorType)}
    made = tuple(inputs.get(read) or Input(renamed.get(read, read), kinds[read]) for read in reads)
    outputs = tuple(member for member in unit.members if member in needed)
    graph = Graph(name, made, nodes, outputs, tuple(unit.mutations), layout.graph.facts)
    return with_bounds(graph)
