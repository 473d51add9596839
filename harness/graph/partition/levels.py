"""What each node of a graph is to the partitioner, and how many library calls lie before it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.graph.model import Graph, Node, TensorType, ValueType, tensors_of
from harness.graph.passes.cleanup import RANDOM_NAMES
from harness.graph.views import GETITEM, base_name, is_view, root_name
from harness.ir.affine import size_hint

_NOT_CHEAP = frozenset(
    (
        "amax amin any argmax argmin cummax cummin cumprod cumsum index_add index_put logcumsumexp "
        "max mean min prod scatter scatter_add sort sum var var_mean"
    ).split()
)
"""Operators that one result element costs more than a few loads: reductions, scans, scatters."""


class Kind(enum.Enum):
    """What the partitioner does with a node.

    VIEW: pulled into the regions that look through it; run by the host for library calls.
    FUSIBLE: belongs to exactly one region. FREE: fusible, reads nothing; every region computes
    its own. LIBRARY: run by torch. HOST_VIEW: free of work but the host's (the element access
    of a library call, a view without a lowering).
    """

    VIEW = "view"
    FUSIBLE = "fusible"
    FREE = "free"
    LIBRARY = "library"
    HOST_VIEW = "host view"


@dataclass(slots=True)
class Layout:
    """Working state of the partitioner. Dictionaries are keyed by value name; ``users`` lists using
    nodes in graph order, ``level`` holds values and inputs alike, ``nbytes`` is a guess where sizes
    are not known."""

    graph: Graph
    nodes: dict[str, Node]
    order: dict[str, int]
    kind: dict[str, Kind]
    users: dict[str, list[str]]
    level: dict[str, int]
    nbytes: dict[str, int]
    types: dict[str, ValueType]

    def root(self, name: str) -> str:
        """The value under the views that a region looks through."""
        while self.kind.get(name) is Kind.VIEW:
            name = base_name(self.nodes[name])
        return name

    def operands(self, name: str) -> list[str]:
        """The distinct values that ``name`` reads, seen through views, in argument order.
        Values that read nothing are left out."""
        found = dict.fromkeys(self.root(ref) for ref in self.nodes[name].refs())
        return [ref for ref in found if self.kind.get(ref) is not Kind.FREE]

    def readers(self, name: str) -> Iterator[str]:
        """The nodes other than views that read ``name``, perhaps through views."""
        stack = list(self.users.get(name, ()))
        while stack:
            user = stack.pop()
            if self.kind[user] is Kind.VIEW:
                stack.extend(self.users.get(user, ()))
            else:
                yield user

    def is_cheap(self, name: str) -> bool:
        """Whether computing ``name`` again costs no more than reading its operands."""
        node = self.nodes[name]
        return (
            self.kind[name] is Kind.FUSIBLE
            and isinstance(node.type, TensorType)
            and node.op != GETITEM
            and node.packet not in _NOT_CHEAP
        )


def analyse(graph: Graph, supports: Callable[[Node], bool]) -> Layout:
    """Kinds, users and levels of every value of ``graph``; ``supports`` says which calls
    have a lowering, their arguments considered."""
    nodes = {node.name: node for node in graph.nodes}
    order = {node.name: number for number, node in enumerate(graph.nodes)}
    users: dict[str, list[str]] = {}
    for node in graph.nodes:
        for name in dict.fromkeys(node.refs()):
            users.setdefault(name, []).append(node.name)
    kind: dict[str, Kind] = {}
    for node in graph.nodes:
        kind[node.name] = _kind(node, nodes, kind, supports)
    sizes = {i.name: _nbytes(i.type) for i in graph.inputs}
    sizes.update((node.name, _nbytes(node.type)) for node in graph.nodes)
    layout = Layout(graph, nodes, order, kind, users, {}, sizes, graph.types())
    layout.level.update((item.name, 0) for item in graph.inputs)
    drawn = 0
    for node in graph.nodes:
        level = _level(node, layout)
        if node.packet in RANDOM_NAMES and kind[node.name] is Kind.LIBRARY:
            # They are made in the graph's order (``regions``), which no region may stand against.
            level = drawn = max(level, drawn)
        layout.level[node.name] = level
    return layout


def _nbytes(kind: ValueType) -> int:
    return sum(size_hint(one.numel) * one.dtype.itemsize for one in tensors_of(kind))


def _kind(
    node: Node, nodes: dict[str, Node], kind: dict[str, Kind], supports: Callable[[Node], bool]
) -> Kind:
    if is_view(node, nodes):
        if node.op == GETITEM:
            return kind[base_name(node)]
        return Kind.VIEW if supports(node) else Kind.HOST_VIEW
    if node.op == GETITEM:
        return Kind.FUSIBLE if kind[base_name(node)] is Kind.FUSIBLE else Kind.HOST_VIEW
    name = node.packet
    if not supports(node) or name in RANDOM_NAMES or node.type is None:
        return Kind.LIBRARY
    if name in _NOT_CHEAP or not isinstance(node.type, TensorType):
        return Kind.FUSIBLE
    # A value is free if everything under it is: views of free values included.
    roots = (root_name(ref, nodes) for ref in node.refs())
    free = all(kind.get(root) is Kind.FREE for root in roots)
    views = all(kind.get(ref) in (Kind.FREE, Kind.VIEW) for ref in node.refs())
    return Kind.FREE if free and views else Kind.FUSIBLE


def _level(node: Node, layout: Layout) -> int:
    operands = list(node.refs())
    level = max((layout.level[name] for name in operands), default=0)
    match layout.kind[node.name]:
        case Kind.LIBRARY:
            return level + 1
        case Kind.HOST_VIEW:
            # The host can look at a region's result only once the region has run.
            computed = layout.kind.get(layout.root(operands[0])) is Kind.FUSIBLE
            return level + 1 if computed else level
        case Kind.FREE:
            return 0
        case Kind.VIEW | Kind.FUSIBLE:
            return level
