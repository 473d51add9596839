"""Decisions by measurement: where the compiler's model is unsure, it is timed both ways.

A reduction in one block or in a loop, and the last fusion of a kernel or its two halves apart:
the graph is compiled the other way too, the kernels that differ are timed against each other on
arguments of the recorded sizes, and what is faster becomes a decision (``harness.decisions``),
which the compilation that counts replays. Combos are asked about in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from harness.combos.choosing import Faster
from harness.compiled import Combo, CompiledGraph, Launch, joined_arguments
from harness.decisions import UNDECIDED, Decisions
from harness.graph.model import Graph
from harness.heuristics.facts import Hint
from harness.pipeline import compile_graph
from harness.records.trials import Outcome, Way
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
    graph: Graph, target: Target, choose: Choose | None, loops: bool, fusion: bool
) -> tuple[Decisions, tuple[str, ...]]:
    """What timing decides of ``graph``, of ``loops`` and of ``fusion`` where that is asked for, and
    a sentence for all that was timed. Without ``choose`` everything is left to the compiler."""
    if not (loops or fusion):
        return UNDECIDED, ()
    if choose is None:
        return UNDECIDED, (NOTHING_TIMED,)
    from harness.graph.capture.fx import real_tensors

    decider = _Decider(graph, target, choose)
    decisions = UNDECIDED
    with real_tensors():
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
        apart = replace(_way(launches, "apart"), arguments=own)
        together = joined_arguments(zip(launches, own, strict=True))
        joined = Way("joined", (combo.module.text,), (tuple(together),))
        with real_tensors():
            return choose((apart, joined)).taken == 1

    return faster


@dataclass(frozen=True, slots=True)
class _Made:
    """A launch of a compilation: its region, and what it writes, as nodes are called there."""

    region: str
    launch: Launch
    names: dict[str, str]

    def own(self, buffers: Sequence[str] | frozenset[str]) -> frozenset[str]:
        return frozenset(self.names[name] for name in buffers)

    @property
    def written(self) -> frozenset[str]:
        return self.own([s.buffer for nest in self.launch.group.nests for s in nest.stores])

    @property
    def category(self) -> Category:
        return self.launch.plan.category


def _made(compiled: CompiledGraph) -> Iterator[_Made]:
    for region in compiled.regions:
        names = region.names
        yield from (_Made(region.region.name, launch, names) for launch in region.launches)


@dataclass(eq=False, slots=True)
class _Decider:
    graph: Graph
    target: Target
    choose: Choose
    told: list[str] = field(default_factory=list)
    _asked: dict[tuple[Way, ...], Outcome] = field(default_factory=dict)

    def fusions(self, decided: Decisions) -> Decisions:
        """``decided``, and which kernels are better taken apart."""
        model = compile_graph(self.graph, self.target, decided)
        kernels = dict(model.decisions.kernels)
        apart = {
            name: (one.region, one.launch.group.name, "apart")
            for one in _made(model)
            for name in one.own(one.launch.group.last_joined)
        }
        taken = self._better(
            model, replace(decided, kernels={**kernels, **apart}), "fused", "apart"
        )
        chosen = {name: where for name, where in apart.items() if name in taken}
        return replace(decided, kernels={**kernels, **chosen}) if chosen else decided

    def loops(self, decided: Decisions) -> Decisions:
        """``decided``, and which reductions loop."""
        model = compile_graph(self.graph, self.target, decided)
        turned = {
            name: one.category is Category.PERSISTENT
            for one in _made(model)
            if _is_unclear(one.launch.plan)
            for name in one.own(one.launch.group.reduced)
        }
        other = replace(decided, kernels=model.decisions.kernels, loops=turned)
        taken = self._better(model, other)
        chosen = {name: looped for name, looped in turned.items() if name in taken}
        return replace(other, loops=chosen) if chosen else decided

    def _better(self, model: CompiledGraph, decisions: Decisions, *names: str) -> set[str]:
        """The nodes whose kernels other ``decisions`` make faster."""
        others = list(_made(compile_graph(self.graph, self.target, decisions)))
        taken: set[str] = set()
        for one in _made(model):
            written = one.written
            parts = [o for o in others if o.region == one.region and o.written <= written]
            alike = [o.category for o in parts] == [one.category]
            if alike or frozenset().union(*(o.written for o in parts)) != written:
                continue
            sides = [one.launch], [part.launch for part in parts]
            loops = [side[0].plan.category is Category.REDUCTION for side in sides]
            kinds = ["loop" if loop else "one block" for loop in loops]
            ways = tuple(map(_way, sides, names or kinds))
            if ways not in self._asked:
                outcome = self._asked[ways] = self.choose(ways)
                times = [f" {time * 1e3:.1f} µs" for time in outcome.ms] or ["", ""]
                shown = " or ".join(way.name + time for way, time in zip(ways, times, strict=True))
                ended = f"{ways[outcome.taken].name} ({outcome.why})"
                self.told.append(f"{one.launch.kernel.name}: {shown}: {ended}")
            if self._asked[ways].taken:
                taken |= written
        return taken


def _way(launches: Sequence[Launch], name: str) -> Way:
    texts = tuple(launch.kernel.module.text for launch in launches)
    return Way(name, texts, tuple(launch.arguments for launch in launches))


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
