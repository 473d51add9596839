"""What each node of a graph is to the partitioner, and how many library calls lie before it.

Cheap work moves to the region that uses it (``sink``) where that saves memory traffic. A cast or an
activation that is ready early but used late would be written by one region and read by another. If
what it is made from can be read by the later region for less than writing and reading the result
costs, it is computed there.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping

from harness.graph.model import Graph, Node, TensorType, tensors_of
from harness.graph.passes.cleanup import draws, kept_names
from harness.graph.views import GETITEM, base_name, is_view, root_name
from harness.ir.affine import size_hint
from harness.ir.reach import gathered, grouped, joined, reached

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


class Layout:
    """Working state of the partitioner: kinds, users and levels of every value of ``graph``;
    ``supports`` says which calls have a lowering, their arguments considered. Dictionaries are
    keyed by value name; ``users`` lists using nodes in graph order, ``level`` holds values and
    inputs alike, ``nbytes`` is a guess where sizes are not known."""

    def __init__(self, graph: Graph, supports: Callable[[Node], bool]) -> None:
        self.graph, self.types = graph, graph.types()
        self.nodes = {node.name: node for node in graph.nodes}
        self.order = {name: number for number, name in enumerate(self.nodes)}
        self.users = gathered((ref, n.name) for n in graph.nodes for ref in dict.fromkeys(n.refs()))
        self.kind: dict[str, Kind] = {}
        for node in graph.nodes:
            self.kind[node.name] = _kind(node, self.nodes, self.kind, supports)
        self.nbytes = {
            name: sum(size_hint(one.numel) * one.dtype.itemsize for one in tensors_of(kind))
            for name, kind in self.types.items()
        }
        self.level, drawn = {item.name: 0 for item in graph.inputs}, 0
        for node in graph.nodes:
            self.level[node.name] = _level(node, self)
            if draws(node):
                # They are made in the graph's order (``regions``), which no region may stand
                # against.
                self.level[node.name] = drawn = max(self.level[node.name], drawn)

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

    def shown(self, name: str) -> Iterable[str]:
        """``name`` and all views of it."""
        return reached([name], lambda at: self._users(at, views=True))

    def readers(self, name: str) -> set[str]:
        """The nodes other than views that read ``name``, perhaps through views."""
        return {user for at in self.shown(name) for user in self._users(at, views=False)}

    def _users(self, name: str, *, views: bool) -> list[str]:
        return [u for u in self.users.get(name, ()) if (self.kind[u] is Kind.VIEW) is views]


def _kind(
    node: Node, nodes: dict[str, Node], kind: dict[str, Kind], supports: Callable[[Node], bool]
) -> Kind:
    if is_view(node, nodes):
        if node.op == GETITEM:
            return kind[base_name(node)]
        return Kind.VIEW if supports(node) else Kind.HOST_VIEW
    if node.op == GETITEM:
        return Kind.FUSIBLE if kind[base_name(node)] is Kind.FUSIBLE else Kind.HOST_VIEW
    if not supports(node):
        return Kind.LIBRARY
    if node.packet in _NOT_CHEAP or not isinstance(node.type, TensorType):
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
        case Kind.VIEW | Kind.FUSIBLE | Kind.FREE:
            return level


def sink(layout: Layout, homes: Mapping[str, frozenset[str]] | None = None) -> None:
    """Raise the levels of nodes in ``layout`` that are better computed later. ``homes``
    (``Decisions.regions``: the nodes that share a region with a node) replaces the comparison of
    bytes for the nodes that it knows."""
    names = (node.name for node in layout.graph.nodes)
    fusible = (name for name in names if layout.kind[name] is Kind.FUSIBLE)
    by_level = grouped(fusible, layout.level.__getitem__)
    kept = kept_names(layout.graph)
    for level in sorted(by_level, reverse=True):
        targets = _targets(layout, by_level[level], kept)
        for cone in _cones(layout, targets):
            _sink_cone(layout, cone, targets[cone[0]], homes)


def _targets(layout: Layout, names: list[str], kept: frozenset[str]) -> dict[str, int]:
    """For each node of one level that could move: the one later level that uses it."""
    targets: dict[str, int] = {}
    for name in reversed(names):
        node = layout.nodes[name]
        single = isinstance(node.type, TensorType) and node.op != GETITEM
        # What is dear is not computed for less than it takes to read it.
        if not single or node.packet in _NOT_CHEAP or not kept.isdisjoint(layout.shown(name)):
            continue
        users, here = layout.readers(name), layout.level[name]
        levels = {u: layout.level[u] for u in users if layout.kind[u] is Kind.FUSIBLE}
        wanted = {at if at > here else targets.get(user) for user, at in levels.items()}
        if levels.keys() == users and len(wanted) == 1 and (level := wanted.pop()) is not None:
            targets[name] = level
    return targets


def _cones(layout: Layout, targets: Mapping[str, int]) -> list[list[str]]:
    """Connected pieces of the movable nodes with one target, users before operands."""
    beside = {n: (n, *layout.operands(n), *layout.readers(n)) for n in targets}
    cones = joined(
        [other for other in near if targets.get(other) == targets[name]]
        for name, near in beside.items()
    )
    return [sorted(cone, key=lambda n: -layout.order[n]) for cone in cones]


def _sink_cone(
    layout: Layout, cone: list[str], target: int, homes: Mapping[str, frozenset[str]] | None
) -> None:
    known = homes or {}
    decided = known.keys() >= {*cone}
    whole = not decided and _saving(layout, cone, target) > 0
    for name in cone:
        users = layout.readers(name)
        there = {user for user in users if layout.level[user] == target}
        alone = not (whole or decided) and there == users and _saving(layout, [name], target) > 0
        if whole or alone or (decided and known[name] & there):
            layout.level[name] = target


def _saving(layout: Layout, cone: list[str], target: int) -> int:
    """Bytes not moved if ``cone`` is computed at level ``target`` instead of its own."""
    inside = set(cone)
    level = layout.level[cone[0]]
    before = sum(2 * layout.nbytes[name] for name in cone if layout.readers(name) - inside)
    after = 0
    for value in {v for name in cone for v in layout.operands(name)} - inside:
        readers = layout.readers(value) - inside
        read_at = {layout.level[u] for u in readers if layout.kind[u] is Kind.FUSIBLE}
        computed_here = layout.kind.get(value) is Kind.FUSIBLE and layout.level[value] == level
        if not computed_here and level not in read_at:
            before += layout.nbytes[value]
        if target not in read_at:
            after += layout.nbytes[value]
        leaves = any(
            layout.kind[u] is not Kind.FUSIBLE or layout.level[u] != level for u in readers
        )
        if computed_here and not leaves:
            after += layout.nbytes[value]
    return before - after
