"""Cutting a graph into regions (compiled as a unit) and host calls (run by torch).

The rules, in order:

1. The graph is cleaned (``graph.passes.cleanup``).
2. A node is a *view*, *fusible* (it has a lowering), or a *library call*; the element
   access of a node with several results goes with that node.
3. Values that read nothing (iota, full, and cheap work on them) are *free*: every region
   that uses one computes it again. So do regions with the views they look through.
4. The level of a value is the largest number of library calls on a path to it. A region
   is a connected piece of the fusible nodes of one level: two nodes are connected when one
   uses the other's result, or both read one value of more than one element.
   Regions of one level do not depend on each other, so the order is acyclic.
5. Cheap work whose only users are in one later region sinks into it when that lowers the
   bytes that cross region boundaries (``levels.sink``).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from harness.decisions import UNDECIDED, Decisions
from harness.graph.bounds import with_bounds
from harness.graph.lowering import supports, supports_node
from harness.graph.model import (
    FAMILIAR,
    Graph,
    HostCall,
    Input,
    Mutation,
    Node,
    Partition,
    Ref,
    Region,
    TensorType,
    tensors_of,
)
from harness.graph.partition.levels import Kind, Layout, sink
from harness.graph.partition.residents import Residents, Traffic, lowest
from harness.graph.passes.cleanup import clean, draws, kept_names, rename_refs
from harness.graph.views import root_name
from harness.ir.reach import in_order, joined, reached


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
    together: dict[tuple[str, int], list[str]] = {}
    for name in names:
        for value in layout.operands(name):
            level = layout.level[name]
            own = layout.kind.get(value) is Kind.FUSIBLE and layout.level[value] == level
            kind = layout.types[value]  # to read one element is no reason to share a region
            if own or not isinstance(kind, TensorType) or any(n != 1 for n in kind.shape):
                together.setdefault((value, level), [value] * own).append(name)
    groups = joined((*([name] for name in names), *together.values()))
    lists = (*groups, *([name] for name in anchored))
    units = [Unit(tuple(sorted(members, key=layout.order.__getitem__))) for members in lists]
    for unit in units:
        fill(layout, unit, ())
    return sorted(units, key=lambda unit: layout.order[unit.members[0]])


def fill(layout: Layout, unit: Unit, extra: Iterable[str]) -> None:
    """Set ``contents`` and ``reads`` of ``unit``; ``extra`` are views to be contained too."""
    members = set(unit.members)

    def contained(names: Iterable[str]) -> Iterable[str]:
        pulled = (Kind.VIEW, Kind.FREE)
        return (n for n in names if n in members or layout.kind.get(n) in pulled)

    starts = contained([*unit.members, *extra])
    contents = reached(starts, lambda name: contained(layout.nodes[name].refs()))
    unit.contents = tuple(sorted(contents, key=layout.order.__getitem__))
    # In the order of first use, which is the order a reader meets them in.
    used = (ref for name in unit.contents for ref in layout.nodes[name].refs())
    unit.reads = tuple(dict.fromkeys(ref for ref in used if ref not in contents))


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
    return with_bounds(Graph(name, made, nodes, outputs, tuple(unit.mutations), layout.graph.facts))


NO_LOWERING = "no lowering"
LEFT_WHOLE = ": capture takes it apart only where one program can sort a row"
_SORTING = frozenset(("sort", "topk", "kthvalue", "median", "nanmedian"))
RESULT_ACCESS = "element of a library call's result"
VIEW_FOR_HOST = "view between a library call and what it reads"
VIEW_UNSUPPORTED = "view without a lowering"
UNWRITTEN = "memory for a library call, which nobody has written"
LATE_MUTATION = "an input changed in place that something else still reads"
_LEAST_SAVED = 1 << 20
"""Bytes for which steps change places: torch's allocator hands out blocks of 2 MiB, and regions
that stood side by side may share a launch no more."""


def partition(
    graph: Graph, supports: Callable[[Node], bool] | None = None, decisions: Decisions = UNDECIDED
) -> Partition:
    """Cut ``graph`` into regions and host calls; see the module's text for the rules.

    ``supports`` says which calls have a lowering (default: ``graph.lowering``). ``decisions`` say
    what shares a region wherever they know all that is to be moved. Region names are
    ``<graph>.r0``, ``.r1`` … in an order in which they can run. Equal graphs give equal partitions.
    """
    cleaned = clean(graph)
    types, answered = cleaned.types(), dict[object, bool]()
    known = supports or functools.partial(
        supports_node, types=types, facts=cleaned.facts, answered=answered
    )
    layout = Layout(cleaned, lambda node: node.name not in decisions.library and known(node))
    sink(layout, decisions.regions)
    host = _host_nodes(layout)
    wanted = kept_names(cleaned).union(*(layout.nodes[name].refs() for name in host))
    wanted = wanted.difference(host)
    anchored = [n for n in layout.order if n in wanted and layout.kind[n] is Kind.FREE]
    plan = _Plan(layout, connect(layout, anchored), host)
    _place_mutations(plan)
    return Partition(cleaned, tuple(_steps(plan)))


def _host_nodes(layout: Layout) -> list[str]:
    """Library calls, host views, the views that these or the outputs need, and memory that nobody
    but these calls has written; graph order."""
    kept = kept_names(layout.graph)
    needed = set(kept)
    found: list[str] = []
    for node in reversed(layout.graph.nodes):
        kind = layout.kind[node.name]
        own = kind in (Kind.LIBRARY, Kind.HOST_VIEW)
        passed = kind is Kind.VIEW or (node.packet == "empty_strided" and node.name not in kept)
        if own or (passed and node.name in needed):
            found.append(node.name)
            needed.update(node.refs())
    return found[::-1]


class _Plan:
    """Steps in the making: units, then host nodes, then late mutations, by number. ``before[s]``
    are the steps that must run before step ``s``. ``renamed`` are values that all steps but their
    own read from the input that they are stored into."""

    def __init__(self, layout: Layout, units: list[Unit], host: list[str]) -> None:
        self.layout, self.units, self.host = layout, units, host
        self.late, self.renamed = list[Mutation](), dict[str, str]()
        steps = enumerate((*(unit.members for unit in units), *([name] for name in host)))
        self.producer = {name: number for number, names in steps for name in names}
        reads = {n: map(self.producer.get, self.reads(n)) for n in range(len(units) + len(host))}
        self.before = {n: {s for s in made if s is not None} - {n} for n, made in reads.items()}
        # Random numbers come out of one stream: the graph's order decides who gets which.
        calls = enumerate(map(layout.nodes.__getitem__, host), len(units))
        for first, second in itertools.pairwise(n for n, call in calls if draws(call)):
            self.before[second].add(first)

    def reads(self, step: int) -> Iterable[str]:
        """Names of the values that a step reads."""
        if step < len(self.units):
            return self.units[step].reads
        return self.layout.nodes[self.host[step - len(self.units)]].refs()


def _place_mutations(plan: _Plan) -> None:
    """Give each mutation to the region that computes its value, if all other readers of the
    old contents can run before it, and it reads no view of them that the host made (which it
    cannot see to be in the same memory); the host does the others at the end."""
    graph, nodes = plan.layout.graph, plan.layout.nodes
    if not graph.mutations:
        return
    read = {step: {root_name(name, nodes) for name in plan.reads(step)} for step in plan.before}
    returned = {root_name(name, nodes) for name in kept_names(graph)}
    for mutation in graph.mutations:
        root = plan.layout.root(mutation.value)
        step = plan.producer.get(root, len(plan.units))
        others = [s for s, roots in read.items() if s != step and mutation.input in roots]
        if (
            step >= len(plan.units)
            or mutation.input in returned
            or any(root_name(name, nodes) == mutation.input != name for name in plan.reads(step))
            or step in reached(others, plan.before.__getitem__)
        ):
            plan.late.append(mutation)
            continue
        plan.before[step].update(others)
        plan.units[step].mutations.append(mutation)
    plan.renamed.update(_read_from_inputs(plan))
    for unit in plan.units:
        if unit.mutations:
            fill(plan.layout, unit, [m.value for m in unit.mutations])


def _read_from_inputs(plan: _Plan) -> Iterator[tuple[str, str]]:
    """Values that a region stores into an input of the same layout, and the input: what comes later
    need not have them twice, unless the graph returns them too."""
    graph, types = plan.layout.graph, plan.layout.types
    kept = [*graph.outputs, *(m.value for m in graph.mutations)]
    roots = [root_name(name, plan.layout.nodes) for name in kept if name is not None]
    for mutation in graph.mutations:
        same = types[mutation.value] == types[mutation.input]
        if same and mutation not in plan.late and roots.count(mutation.value) == 1:
            yield mutation.value, mutation.input


def _steps(plan: _Plan) -> Iterator[Region | HostCall]:
    graph, layout = plan.layout.graph, plan.layout
    outside = {*graph.results, *(m.value for m in plan.late)}
    for name in reversed(plan.host):
        if layout.kind[name] is not Kind.VIEW or name in outside:
            outside.update(rename_refs(layout.nodes[name], plan.renamed).refs())
    reads = {plan.renamed.get(name, name) for unit in plan.units for name in unit.reads}
    needed = frozenset(outside | reads)
    names = (f"{graph.name}.r{number}" for number in itertools.count())
    for step in _order(plan, needed):
        if step < len(plan.units):
            name = next(names)
            yield Region(name, region_graph(layout, plan.units[step], name, needed, plan.renamed))
            continue
        node = layout.nodes[plan.host[step - len(plan.units)]]
        if node.name in outside or layout.kind[node.name] is not Kind.VIEW:
            yield _host_call(layout, rename_refs(node, plan.renamed))
    inputs = {item.name: item for item in graph.inputs}
    for mutation in plan.late:
        args = (Ref(mutation.input), Ref(mutation.value))
        name, kind = f"{mutation.input}_update", inputs[mutation.input].type
        yield HostCall(Node(name, "aten.copy_.default", args, (), kind), False, LATE_MUTATION)


def _host_call(layout: Layout, node: Node) -> HostCall:
    kind = layout.kind[node.name]
    if kind in (Kind.VIEW, Kind.FREE):
        return HostCall(node, True, VIEW_FOR_HOST if kind is Kind.VIEW else UNWRITTEN)
    if kind is Kind.HOST_VIEW:
        return HostCall(node, True, RESULT_ACCESS if node.op == "getitem" else VIEW_UNSUPPORTED)
    return HostCall(node, False, _why_library(layout, node))


def _why_library(layout: Layout, node: Node) -> str:
    if node.op == "harness.seeds.default":
        return "seeds are drawn from torch's generator"
    parts = tensors_of(*(layout.types[name] for name in node.refs()), node.type)
    opaque = next((part.dtype for part in parts if part.dtype.is_opaque), None)
    if opaque is None or not supports(node.op):
        return f"{NO_LOWERING} for {node.op}{LEFT_WHOLE if node.packet in _SORTING else ''}"
    return f"the targets have no arithmetic on {opaque.torch_name} for {node.op}"


def _order(plan: _Plan, needed: Collection[str]) -> list[int]:
    """A valid order of the steps; among those ready, the one earliest in the graph first
    (a region counts as its last node), or another order if that needs less memory, whether the
    graph's inputs are the caller's or are given back after their last use."""
    position = [plan.layout.order[unit.members[-1]] for unit in plan.units]
    position.extend(plan.layout.order[name] for name in plan.host)
    before, place = plan.before, position.__getitem__
    # What is called for its effect, or by a user, may depend on more than its operands.
    calls = [plan.layout.nodes[name] for name in plan.host]
    if not all(call.op.startswith(FAMILIAR) and any(tensors_of(call.type)) for call in calls):
        return list(in_order(before, place))
    return lowest(before, place, _models(plan, needed), gain=_LEAST_SAVED)


def _models(plan: _Plan, needed: Collection[str]) -> list[Callable[[], Residents]]:
    """What is in memory during a plan's steps, without the graph's inputs and with them."""
    layout, graph = plan.layout, plan.layout.graph

    def memory(names: Iterable[str]) -> tuple[str, ...]:
        """Whose memory values lie in: that of several results in that of each, which reads it."""
        single = ((n, isinstance(layout.types[n], TensorType)) for n in names)
        parts = (one for n, alone in single for one in ([n] if alone else layout.users.get(n, ())))
        return tuple(dict.fromkeys(root_name(one, layout.nodes) for one in parts))

    made = [[name for name in unit.members if name in needed] for unit in plan.units]
    made += [[name] for name in plan.host]
    touched = [Traffic(memory(plan.reads(n)), memory(names)) for n, names in enumerate(made)]
    kept = memory(kept_names(graph))
    given = {*graph.given}
    inputs = {name: layout.nbytes[name] for one in touched for name in one.reads if name in given}
    written = {name for one in touched for name in one.writes}
    own = {name: layout.nbytes[name] for name in written - given}
    in_place = range(len(plan.units))
    return [
        lambda: Residents(touched, own, kept, None, in_place),
        lambda: Residents(touched, {**inputs, **own}, kept, None, in_place, inputs),
    ]
