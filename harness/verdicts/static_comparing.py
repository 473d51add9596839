"""Comparing two sides by their compiled kernels alone: no GPU, no noise, no waiting for a machine.

The rules (``rules``, docs/comparing.md) come from the metric registry: the first figure of a
matched kernel that differs by more than its threshold decides. Figures that only describe (a row
of the instruction mix) never do.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from harness.errors import HarnessError
from harness.heuristics.facts import Config
from harness.records import metrics
from harness.records.metrics import Metric, StaticMetrics
from harness.records.run import GraphRecord, KernelRecord, Run
from harness.records.trials import Resources
from harness.runtime.compile.static import CompileJob
from harness.runtime.module import config_from_dict
from harness.runtime.tune.space import resident
from harness.session.session import with_metrics
from harness.target import TARGETS, Target
from harness.verdicts import causes
from harness.verdicts.causes import figure, settings
from harness.verdicts.comparing import Side, aligned
from harness.verdicts.pairing import Lone, Match, pair

_RESIDENT = Metric("resident", "", "resident warps", lower_is_better=False, threshold=0.25)
"""What is no metric of a kernel alone: how many warps a target's multiprocessor can hold."""

Compile = Callable[[Sequence[CompileJob]], Sequence[StaticMetrics | HarnessError]]
"""Answers jobs in their order: ``CompilePool.metrics``."""


class Change(enum.Enum):
    """What the figures of a kernel, or of a graph's sum, say of B next to A."""

    WORSE = "WORSE"
    BETTER = "BETTER"
    CHANGED = "CHANGED"
    SAME = "SAME"


Decided = tuple[Change, str]
"""What became of a figure, and the figure before and after."""


def resident_warps(kernels: Sequence[KernelRecord], target: Target) -> int | None:
    """Warps that one multiprocessor holds at once; of several kernels the fewest."""
    found = []
    for kernel in kernels:
        needs = Resources(kernel.metrics.get("registers"), None, kernel.metrics.get("shared"))
        config = _config(kernel)
        if config is None or needs.registers is None or needs.shared is None:
            return None
        found.append(resident(config, needs, target) * config.num_warps)
    return min(found, default=None)


def rules() -> list[Metric]:
    """What decides, first come first served: the metrics that have a threshold, and before the
    instructions what the multiprocessor can hold."""
    found = [metric for metric in metrics.by_rank() if metric.threshold is not None]
    place = found.index(metrics.named("instructions"))
    return [*found[:place], _RESIDENT, *found[place:]]


def _judged(rule: Metric, match: Match, target: Target) -> Decided | None:
    """What ``rule`` says of a match, if it is known and differs by so much."""
    before, after = (
        resident_warps(side, target) if rule is _RESIDENT else figure(side, rule)
        for side in match.sides
    )
    if before is None or after is None:
        return None
    worse_up = rule.lower_is_better
    return _turned(rule.title, before, after, rule.threshold or 0.0, worse_up=worse_up)


@dataclass(frozen=True, slots=True)
class StaticRow:
    """A match: ``change`` and what ``decided`` it, every difference, and the difference of the code
    as a unified diff (empty where it is the same, or where several kernels became several).
    ``defaults``: what differs between the configurations that both modules take untuned, which the
    figures, taken under one configuration, do not show."""

    match: Match
    change: Change
    decided: str
    differences: tuple[str, ...]
    diff: str = ""
    defaults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphSum:
    """A graph on both sides: kernels, launches and bytes."""

    graph: str
    change: Change
    decided: str
    kernels: tuple[int, int]
    launches: tuple[int, int]
    bytes: tuple[int, int]


@dataclass(frozen=True, slots=True)
class StaticComparison:
    """B next to A by their binaries for ``target``."""

    a: Side
    b: Side
    target: Target
    rows: tuple[StaticRow, ...]
    graphs: tuple[GraphSum, ...]
    vanished: Lone
    appeared: Lone
    notes: tuple[str, ...] = ()

    @property
    def worse(self) -> bool:
        """Whether a kernel or a graph is worse by the rules."""
        changes = [row.change for row in self.rows] + [graph.change for graph in self.graphs]
        return Change.WORSE in changes

    @property
    def other_defaults(self) -> tuple[StaticRow, ...]:
        """The kernels that run in another configuration where they are not tuned. Which of the two
        is faster, no binary says."""
        return tuple(row for row in self.rows if row.defaults)


def compare_static(
    a: Side, b: Side, target: Target, triton: str, compile_all: Compile
) -> StaticComparison:
    """Compare figures. Both kernels of a match are compiled under A's configuration (recorded,
    else its best guess) where B's kernel has the same block sizes, so that figures differ for the
    code's sake. What is equal on both sides is not compiled, nor anything where all is recorded
    for ``target`` and this ``triton``."""
    a, notes = aligned(a, b)
    pairing = pair(a.run.graphs, b.run.graphs)
    matches = list(pairing.matches)
    notes += pairing.alike
    if not all(_is_known(side.run, target, triton) for side in (a, b)):
        matches = _compiled([_alike(match) for match in matches], target, compile_all)
        notes.append("both sides are compiled under A's configurations where they fit")
    rows = (
        _row(match, target, causes.default_configuration(given))
        for match, given in zip(matches, pairing.matches, strict=True)
    )
    theirs = {graph.name: graph for graph in b.run.graphs}
    both = ((graph, theirs[graph.name]) for graph in a.run.graphs if graph.name in theirs)
    sums, lone = tuple(_graph_sum(*each) for each in both), (pairing.vanished, pairing.appeared)
    return StaticComparison(a, b, target, tuple(rows), sums, *lone, tuple(notes))


def _is_known(run: Run, target: Target, triton: str) -> bool:
    """Whether every kernel's figures are recorded, for this target and compiler."""
    made_for = TARGETS.get(run.target)
    if made_for is None or (made_for.capability, run.machine.triton) != (target.capability, triton):
        return False
    return all(kernel.mix is not None or kernel.reason for kernel in run.kernels)


def _alike(match: Match) -> Match:
    """Both kernels under A's configuration where it fits B's; else each under its own."""
    ours, theirs = (tuple(replace(k, config=settings(k)) for k in side) for side in match.sides)
    if match.single:
        one, other = ours[0].config, theirs[0].config
        if one is not None and other is not None and one.keys() == other.keys():
            theirs = (replace(theirs[0], config=one),)
    return replace(match, a=ours, b=theirs)


def _compiled(matches: Sequence[Match], target: Target, compile_all: Compile) -> list[Match]:
    """The matches with the figures of a compile for ``target`` now; kernels that are equal on
    both sides, whose figures cannot differ, keep those they have."""
    wanted: dict[CompileJob, None] = {}
    for match in matches:
        ours, theirs = ([(k.code_hash, k.config) for k in side] for side in match.sides)
        if ours != theirs or not all(kernel.module for kernel in match.a):
            wanted |= dict.fromkeys(_job(k, target) for k in match.kernels if k.module)
    answers = dict(zip(wanted, compile_all([*wanted]), strict=True))

    def known(kernels: Sequence[KernelRecord]) -> tuple[KernelRecord, ...]:
        found = ((kernel, answers.get(_job(kernel, target))) for kernel in kernels)
        return tuple(k if a is None else with_metrics(replace(k, reason=""), a) for k, a in found)

    return [replace(match, a=known(match.a), b=known(match.b)) for match in matches]


def _job(kernel: KernelRecord, target: Target) -> CompileJob:
    return CompileJob(kernel.module, target, _config(kernel))


def _config(kernel: KernelRecord) -> Config | None:
    return None if kernel.config is None else config_from_dict(kernel.config)


def with_figures(
    kernels: Sequence[KernelRecord], target: Target, compile_all: Compile
) -> tuple[KernelRecord, ...]:
    """``kernels`` with the figures of their binaries for ``target``, each in its configuration; one
    that does not compile has the reason and none."""
    bare = [replace(kernel, metrics={}, mix=None, reason="") for kernel in kernels]
    return tuple(map(with_metrics, bare, compile_all([_job(kernel, target) for kernel in bare])))


def _row(match: Match, target: Target, defaults: Sequence[str]) -> StaticRow:
    change, decided = _decided(match, target)
    differences = [*causes.static_differences(match.a, match.b), *causes.configuration(match)]
    if diff := causes.code_diff(match):
        differences.append("code")
    if change is Change.SAME and (differences or defaults):
        change = Change.CHANGED
    return StaticRow(match, change, decided, tuple(differences), diff, tuple(defaults))


def _decided(match: Match, target: Target) -> Decided:
    before, after = (next((k.reason for k in side if k.reason), "") for side in match.sides)
    if before and after:
        return Change.SAME, "compiles on neither side"
    told = (_judged(rule, match, target) for rule in rules())
    found = _compiles(before, after, "no longer compiles") or next(filter(None, told), None)
    return found or (Change.SAME, "")


def _compiles(before: str, after: str, not_any_more: str) -> Decided | None:
    """What it says that there is a reason on one side alone not to compile."""
    if bool(before) == bool(after):
        return None
    return (
        (Change.WORSE, f"{not_any_more}: {after}") if after else (Change.BETTER, "compiles again")
    )


def _turned(
    name: str, before: int, after: int, threshold: float = 0.0, *, worse_up: bool = True
) -> Decided | None:
    if abs(after - before) <= threshold * max(before, 1):
        return None
    worse = (after > before) == worse_up
    return (Change.WORSE if worse else Change.BETTER), f"{name} {before} → {after}"


def _graph_sum(a: GraphRecord, b: GraphRecord) -> GraphSum:
    before, after = (sum(k.bytes * k.launches for k in graph.kernels) for graph in (a, b))
    found = _compiles(a.reason, b.reason, "does not compile")
    found = found or _turned("bytes", before, after, 0.001)
    found = found or _turned("launches", a.launches, b.launches)
    counts = (len(a.kernels), len(b.kernels)), (a.launches, b.launches)
    return GraphSum(a.name, *(found or (Change.SAME, "")), *counts, (before, after))
