"""Decisions by measurement: where the compiler's model is unsure, it is timed both ways.

A reduction in one block or in a loop, and the last fusion of a kernel or its two halves apart:
the graph is compiled the other way too, the kernels that differ are timed against each other on
arguments of the recorded sizes, and what is faster becomes a decision (``harness.decisions``),
which the compilation that counts replays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from harness.compiled import CompiledGraph, CompiledRegion, Launch
from harness.decisions import UNDECIDED, Decisions
from harness.graph.capture.fx import real_tensors
from harness.graph.model import Graph
from harness.heuristics.facts import Hint
from harness.pipeline import compile_graph
from harness.runtime.tune.choosing import Chooser, Outcome, Way
from harness.target import Target
from harness.tiling.plan import Category, KernelPlan

_LEAST = 128
"""Reductions below this fit the smallest block that a loop would take: both are the same."""
_MOST = {Hint.INNER: 16384, Hint.DEFAULT: 16384}
_MOST_STRIDED = 1024
"""Sixteen times what is held in one block untimed (1024 along rows, 64 across them)."""
_ROUNDS = 3
"""How often what a fusion put together is taken apart further."""

Choose = Callable[[Sequence[Way]], Outcome]


NOTHING_TIMED = (
    "the compiler's own choices: there is no GPU to time others on, or deterministic mode"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What was timed of ``kernel``: both ways, the compiler's own first, and how it ended."""

    kernel: str
    ways: tuple[str, ...]
    outcome: Outcome

    def __str__(self) -> str:
        ms, taken = self.outcome.ms or (None, None), self.ways[self.outcome.taken]
        times = (f" {time * 1e3:.1f} µs" if time is not None else "" for time in ms)
        shown = " or ".join(f"{way}{time}" for way, time in zip(self.ways, times, strict=True))
        return f"{self.kernel}: {shown}: {taken} ({self.outcome.why})"


@dataclass(eq=False, slots=True)
class Decider:
    """Decides of one graph for ``target``, by way of ``choose``; ``choices`` are what it met."""

    graph: Graph
    target: Target
    choose: Choose
    choices: list[Choice] = field(default_factory=list)
    _asked: dict[tuple[Way, ...], Outcome] = field(default_factory=dict)

    def decide(self, loops: bool, fusion: bool) -> Decisions:
        """What timing decides: of ``loops``, of ``fusion``."""
        decided = UNDECIDED
        if fusion:
            for _ in range(_ROUNDS):
                found = self._fusions(decided)
                if found is decided:
                    break
                decided = found
        return self._loops(decided) if loops else decided

    def _fusions(self, decided: Decisions) -> Decisions:
        """``decided``, and which kernels are better taken apart."""
        model = compile_graph(self.graph, self.target, decided)
        kernels = dict(model.decisions.kernels)
        halves = {}
        for region, launch in _launches(model):
            own = _names(region)
            half = {own[b] for b in launch.group.last_joined if b in own}
            if half and half != _written(region, launch):
                halves.update(dict.fromkeys(half, (region.region.name, launch.group.name, "apart")))
        apart = compile_graph(
            self.graph, self.target, dataclasses.replace(decided, kernels={**kernels, **halves})
        )
        taken = self._compare(model, apart, ("fused", "apart"), lambda a, b: len(b) > len(a))
        if not taken:
            return decided
        chosen = {name: halves.get(name, where) for name, where in kernels.items() if name in taken}
        return dataclasses.replace(decided, kernels={**kernels, **chosen})

    def _loops(self, decided: Decisions) -> Decisions:
        """``decided``, and which reductions loop."""
        model = compile_graph(self.graph, self.target, decided)
        turned: dict[str, bool] = {}
        for region, launch in _launches(model):
            if _is_unclear(launch.plan):
                own = _names(region)
                looped = launch.plan.category is Category.PERSISTENT
                turned.update((own[name], looped) for name in launch.group.reduced if name in own)
        fixed: Mapping[str, Hashable] = model.decisions.kernels
        other = dataclasses.replace(decided, kernels=fixed, loops=turned)
        taken = self._compare(
            model, compile_graph(self.graph, self.target, other), ("", ""), _differ_in_kind
        )
        loops = {name: looped for name, looped in turned.items() if name in taken}
        return dataclasses.replace(other, loops=loops) if loops else decided

    def _compare(
        self,
        model: CompiledGraph,
        other: CompiledGraph,
        names: tuple[str, str],
        differ: Callable[[list[Launch], list[Launch]], bool],
    ) -> set[str]:
        """The nodes for whose kernels the other compilation is faster, of those that ``differ``."""
        taken: set[str] = set()
        theirs = list(_launches(other))
        for region, launch in _launches(model):
            written = _written(region, launch)
            same = [(r, la) for r, la in theirs if r.region.name == region.region.name]
            parts = [(r, la) for r, la in same if _written(r, la) <= written]
            instead = [la for _, la in parts]
            covered = frozenset().union(*(_written(r, la) for r, la in parts))
            if covered != written or not differ([launch], instead):
                continue
            ways = (_way(names[0], [launch]), _way(names[1], instead))
            outcome = self._asked.get(ways)
            if outcome is None:
                outcome = self._asked[ways] = self.choose(ways)
                shown = tuple(way.name for way in ways)
                self.choices.append(Choice(launch.kernel.name, shown, outcome))
            if outcome.taken:
                taken |= written
        return taken


def decided(
    graph: Graph, target: Target, chooser: Chooser | None, loops: bool, fusion: bool
) -> tuple[Decisions, tuple[str, ...]]:
    """What timing decides of ``graph``, of ``loops`` and of ``fusion`` where that is asked for, and
    what there is to say of it. Without a ``chooser`` everything is left to the compiler."""
    if not (loops or fusion):
        return UNDECIDED, ()
    if chooser is None:
        return UNDECIDED, (NOTHING_TIMED,)
    decider = Decider(graph, target, chooser.choose)
    with real_tensors(), torch.no_grad():
        decisions = decider.decide(loops, fusion)
    return decisions, tuple(map(str, decider.choices))


def _launches(compiled: CompiledGraph) -> Iterator[tuple[CompiledRegion, Launch]]:
    return ((region, launch) for region in compiled.regions for launch in region.launches)


def _names(region: CompiledRegion) -> dict[str, str]:
    """A region's own names of the nodes that its kernels speak of."""
    pairs = zip(region.compiled_as.nodes, region.graph.nodes, strict=True)
    return {theirs.name: ours.name for theirs, ours in pairs}


def _written(region: CompiledRegion, launch: Launch) -> frozenset[str]:
    own = _names(region)
    stored = (s.buffer for nest in launch.group.nests for s in nest.stores)
    return frozenset(own.get(name, name) for name in stored)


def _way(name: str, launches: Sequence[Launch]) -> Way:
    kind = "loop" if launches[0].plan.category is Category.REDUCTION else "one block"
    texts = tuple(launch.kernel.module.text for launch in launches)
    return Way(name or kind, texts, tuple(launch.arguments for launch in launches))


def _is_unclear(plan: KernelPlan) -> bool:
    """Whether a reduction may be faster the other way: a block that could be a loop, or a loop
    that could be a block."""
    reduced = dict(plan.facts.sizes).get("r0_", 1)
    if plan.facts.unknown or reduced < _LEAST:
        return False
    if plan.category is Category.PERSISTENT:
        return True
    return plan.category is Category.REDUCTION and reduced <= _MOST.get(
        plan.facts.hint, _MOST_STRIDED
    )


def _differ_in_kind(one: list[Launch], other: list[Launch]) -> bool:
    kinds = [la.plan.category for la in (*one, *other)]
    return len(kinds) == 2 and kinds[0] is not kinds[1]
