"""Decisions by measurement: where the compiler's model is unsure, it is timed both ways.

A reduction in one block or in a loop, the last fusion of a kernel or its two halves apart, and
products of matrices as library calls or as kernels with what is fused to them: the graph is
compiled the other way too, what differs is timed against each other on arguments of the recorded
sizes, and what is faster becomes a decision (``harness.decisions``), which the compilation that
counts replays. Combos are asked about in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from harness.combos.choosing import Faster
from harness.compiled import Combo, CompiledGraph, Launch, joined_arguments
from harness.decisions import UNDECIDED, Decisions
from harness.graph.model import TEMPLATES, Graph, HostCall, tensors_of
from harness.graph.partition.regions import partition
from harness.graph.views import root_name
from harness.heuristics.facts import Hint
from harness.ir.reach import grouped, joined
from harness.pipeline import compile_graph
from harness.records.trials import LibraryCall, Outcome, Way
from harness.target import Target
from harness.tiling.plan import Category, KernelPlan

_LEAST = 128
"""Reductions below this fit the smallest block that a loop would take: both are the same."""
_MOST = {Hint.INNER: 16384, Hint.DEFAULT: 16384}
_MOST_STRIDED = 1024
"""Sixteen times what is held in one block untimed (1024 along rows, 64 across them)."""
_ROUNDS = 3
"""How often what a fusion put together is taken apart further."""
NOTHING_TIMED = (
    "the compiler's own choices: there is no GPU to time others on, or deterministic mode"
)

Choose = Callable[[Sequence[Way]], Outcome]


def decided(
    graph: Graph,
    target: Target,
    choose: Choose | None,
    loops: bool,
    fusion: bool,
    products: bool = False,
) -> tuple[Decisions, tuple[str, ...]]:
    """What timing decides of ``graph``, of ``loops``, of ``fusion`` and of those ``products`` that
    it asks to generate, where that is asked for, and a sentence for all that was timed. Without
    ``choose`` everything is left to the compiler."""
    if not (loops or fusion or products):
        return UNDECIDED, ()
    if choose is None:
        return UNDECIDED, (NOTHING_TIMED,)
    from harness.graph.capture.fx import real_tensors

    decider = _Decider(graph, target, choose)
    with real_tensors():
        decisions = decider.products() if products else UNDECIDED
        for _ in range(_ROUNDS if fusion else 0):
            before, decisions = decisions, decider.fusions(decisions)
            if decisions is before:
                break
        decisions = decider.loops(decisions) if loops else decisions
    return decisions, tuple(decider.told)


def faster_joined(choose: Choose) -> Faster:
    """What says whether a combo is surely faster than its launches one after the other, on random
    arguments of the graph's sizes; not where they cannot be timed."""
    from harness.graph.capture.fx import real_tensors

    def faster(combo: Combo, launches: Sequence[Launch]) -> bool:
        # Buffers are called so in their region: equal names of two regions are other memory.
        own = tuple(
            tuple(tuple(f"{region}.{name}" for name in names) for names in launch.arguments)
            for (region, _), launch in zip(combo.launches, launches, strict=True)
        )
        apart = Way("apart", tuple(la.kernel.module.text for la in launches), own)
        together = joined_arguments(zip(launches, own, strict=True))
        one = Way("joined", (combo.module.text,), (tuple(together),))
        with real_tensors():
            return choose((apart, one)).taken == 1

    return faster


@dataclass(frozen=True, slots=True)
class _Made:
    """A launch of a compilation: its region, and what it writes, as values are called there."""

    region: str
    launch: Launch
    names: dict[str, str]

    def own(self, buffers: Sequence[str] | frozenset[str]) -> frozenset[str]:
        return frozenset(self.names[name] for name in buffers)

    @property
    def written(self) -> frozenset[str]:
        return self.own([s.buffer for nest in self.launch.group.nests for s in nest.stores])

    @property
    def step(self) -> _Step:
        arguments = (tuple(self.names.get(n, n) for n in names) for names in self.launch.arguments)
        kernel, written = self.launch.kernel, self.written
        computed = written.union(self.launch.group.origins)
        return _Step(kernel.name, kernel.module.text, tuple(arguments), written, computed)


class _Step(NamedTuple):
    """A launch or a library call by its kernel's or its node's name: what it runs, on which
    buffers, and the values that it stores, or computes at all."""

    name: str
    run: str | LibraryCall
    arguments: tuple[tuple[str, ...], ...]
    written: frozenset[str]
    computed: frozenset[str]


def _made(compiled: CompiledGraph) -> Iterator[_Made]:
    for region in compiled.regions:
        names = region.names
        yield from (_Made(region.region.name, launch, names) for launch in region.launches)


def _steps(compiled: CompiledGraph, library: Collection[str]) -> Iterator[_Step]:
    """Launches, and calls of those in ``library``, in the order in which they run."""
    launches, graph = grouped(_made(compiled), lambda one: one.region), compiled.partition.graph
    types, nodes = graph.types(), {node.name: node for node in graph.nodes}
    for step in compiled.partition.steps:
        if not isinstance(step, HostCall):
            yield from (one.step for one in launches.get(step.name, ()))
        elif step.node.name in library:
            names, own = (*step.node.refs(), step.node.name), frozenset((step.node.name,))
            kinds = tensors_of(*map(types.__getitem__, names))
            tensors = ((kind.dtype.torch_name, *kind.layout) for kind in kinds if kind.layout)
            numbers = tuple((name, float(str(value))) for name, value in step.node.kwargs)
            memory = tuple((root_name(name, nodes),) for name in names)
            call = LibraryCall(step.node.packet, tuple(tensors), numbers)
            yield _Step(step.node.name, call, memory, own, own)


@dataclass(eq=False, slots=True)
class _Decider:
    graph: Graph
    target: Target
    choose: Choose
    told: list[str] = field(default_factory=list)
    _asked: dict[tuple[Way, ...], Outcome] = field(default_factory=dict)

    def products(self) -> Decisions:
        """Which products are library calls: all that are not surely faster as kernels. Asked about
        are a call, or several, and all kernels that either way has other work in."""
        facts = tuple(fact for fact in self.graph.facts if fact != TEMPLATES)
        graphs = (replace(self.graph, facts=facts), self.graph)
        called, fewer = ({c.node.name for c in partition(g).library_calls} for g in graphs)
        library = called - fewer
        both = [compile_graph(graph, self.target) for graph in graphs if library]
        if any(compiled.failures for compiled in both):
            self.told.append("products: library (some kernels cannot be generated)")
            return replace(UNDECIDED, library=frozenset(library))
        sides = [list(_steps(compiled, library)) for compiled in both]
        stored = frozenset(name for side in sides for step in side for name in step.written)
        every = [(side, step) for side, steps in enumerate(sides) for step in steps]
        for part in joined((n, *(step.computed & stored)) for n, (_, step) in enumerate(every)):
            members = [every[n] for n in sorted(n for n in part if isinstance(n, int))]
            ways = [[step for n, step in members if n == side] for side in (0, 1)]
            names, mine = dict.fromkeys(step.name for step in ways[1]), library.intersection(part)
            if mine and self._is_second(", ".join(names), ("library", "kernel"), *ways):
                library -= mine
        return replace(UNDECIDED, library=frozenset(library))

    def fusions(self, decided: Decisions) -> Decisions:
        """``decided``, and which kernels are better taken apart."""
        model = compile_graph(self.graph, self.target, decided)
        kernels = dict(model.decisions.kernels)
        apart = {
            name: (one.region, one.launch.group.name, "apart")
            for one in _made(model)
            for name in one.own(one.launch.group.last_joined)
        }
        other = replace(decided, kernels={**kernels, **apart})
        taken = self._better(model, other, apart, "fused", "apart")
        chosen = {name: where for name, where in apart.items() if name in taken}
        return replace(decided, kernels={**kernels, **chosen}) if chosen else decided

    def loops(self, decided: Decisions) -> Decisions:
        """``decided``, and which reductions loop."""
        model = compile_graph(self.graph, self.target, decided)
        turned = {
            name: one.launch.plan.category is Category.PERSISTENT
            for one in _made(model)
            if _is_unclear(one.launch.plan)
            for name in one.own(one.launch.group.reduced)
        }
        other = replace(decided, kernels=model.decisions.kernels, loops=turned)
        taken = self._better(model, other, turned)
        chosen = {name: looped for name, looped in turned.items() if name in taken}
        return replace(other, loops=chosen) if chosen else decided

    def _better(
        self, model: CompiledGraph, decisions: Decisions, asked: Collection[str], *names: str
    ) -> set[str]:
        """The nodes whose kernels other ``decisions``, about the nodes ``asked``, make faster."""
        others = list(_made(compile_graph(self.graph, self.target, decisions))) if asked else []
        taken: set[str] = set()
        for one in (one for one in _made(model) if not one.written.isdisjoint(asked)):
            written = one.written
            parts = [o for o in others if o.region == one.region and o.written <= written]
            first, *rest = (side.launch.plan.category for side in (one, *parts))
            if rest == [first] or frozenset().union(*(o.written for o in parts)) != written:
                continue
            loops = [category is Category.REDUCTION for category in (first, rest[0])]
            kinds = ["loop" if loop else "one block" for loop in loops]
            sides = [one.step], [part.step for part in parts]
            if self._is_second(one.launch.kernel.name, names or kinds, *sides):
                taken |= written
        return taken

    def _is_second(self, kernels: str, names: Sequence[str], *sides: Sequence[_Step]) -> bool:
        """Whether the second of two ways, called so, to do the same as ``kernels`` is taken."""
        ways = tuple(map(_way, names, sides))
        if ways not in self._asked:
            outcome = self._asked[ways] = self.choose(ways)
            times = [f" {time * 1e3:.1f} µs" for time in outcome.ms] or ["", ""]
            shown = " or ".join(way.name + time for way, time in zip(ways, times, strict=True))
            ended = f"{ways[outcome.taken].name} ({outcome.why})"
            self.told.append(f"{kernels}: {shown}: {ended}")
        return self._asked[ways].taken == 1


def _way(name: str, steps: Sequence[_Step]) -> Way:
    """Buffers are called by number, so that layers that are alike are asked about once."""
    numbers: dict[str, str] = {}
    arguments = tuple(
        tuple(tuple(numbers.setdefault(n, str(len(numbers))) for n in names) for names in each)
        for each in (one.arguments for one in steps)
    )
    return Way(name, tuple(one.run for one in steps), arguments)


def _is_unclear(plan: KernelPlan) -> bool:
    """Whether a reduction may be faster the other way: a block that could be a loop, or a loop
    that could be a block."""
    reduced = dict(plan.facts.sizes).get("r0_", 1)
    most = _MOST.get(plan.facts.hint, _MOST_STRIDED)
    if plan.facts.unknown or reduced < _LEAST:
        return False
    return plan.category is Category.PERSISTENT or (
        plan.category is Category.REDUCTION and reduced <= most
    )
