"""From a graph to kernels: the list of stages."""

from __future__ import annotations

import dataclasses
import time
import traceback
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from harness import options as settings
from harness.codegen.kernel import render
from harness.codegen.module import emit
from harness.compiled import CompiledGraph, CompiledRegion, Failure, Kernel, Launch, kernel_identity
from harness.decisions import UNDECIDED, Decisions
from harness.errors import HarnessError, InvalidProgram, RecordError
from harness.graph.lowering import lower
from harness.graph.model import Graph, Region
from harness.graph.partition.regions import partition
from harness.graph.passes.cleanup import structure_key
from harness.graph.passes.copies import read_copies
from harness.graph.passes.rewriting import Choose
from harness.graph.passes.scatters import copy_scatters
from harness.graph.passes.split import parts_of, split_reductions
from harness.hooks import Hook, StageTimes, Step, verified
from harness.ir.nodes import loads, reductions
from harness.ir.program import Program
from harness.schedule.build import schedule
from harness.schedule.group import FusedGroup
from harness.target import Target
from harness.tiling.build import plan
from harness.tiling.memory import turned

P = ParamSpec("P")
T = TypeVar("T")


def _split(graph: Graph, target: Target, choose: Choose) -> Graph:
    """Scatters get copies, or rows; reductions may read some; few results are cut."""
    return split_reductions(read_copies(copy_scatters(graph, choose)), target, choose)


STAGES = ("partition", "split", "lower", "schedule", "plan", "render", "emit")
"""Graph → regions and library calls; each region → one that fills the device → loop nests → groups,
a kernel each; each group → tiles, arguments and kind of reduction → kernel text → module."""


def compile_graph(
    graph: Graph, target: Target, decisions: Decisions = UNDECIDED, hooks: Sequence[Hook] = ()
) -> CompiledGraph:
    """Compile every region of ``graph`` for ``target``.

    ``decisions`` are those of the same graph at other sizes (``CompiledGraph.decisions``): they
    are replayed wherever node names agree, so that a small graph exercises the kinds of
    kernels of the real one. ``hooks`` are called after every stage; with ``HARNESS_VERIFY``
    every program is verified first.

    Never raises for a single kernel: what cannot be generated is in ``failures``, and the
    rest goes on. Raises ``GraphError`` for a graph that cannot be cut at all.
    """
    asked = (verified,) if settings.current().verify else ()
    state = _State(target, decisions, (*asked, *hooks))
    began = time.perf_counter()
    cut = partition(graph, decisions=decisions)
    state.done("partition", "", cut, time.perf_counter() - began)
    regions = tuple(_compile_region(region, state) for region in cut.regions)
    kernels, splits = tuple(state.kernels.values()), tuple(state.splits.items())
    return CompiledGraph(cut, regions, kernels, splits, tuple(state.times.seconds.items()))


def _compile_region(region: Region, state: _State) -> CompiledRegion:
    state.begin(region)
    graph = state.run("split", _split, region.graph, state.target, state.choose_split)
    if graph is None:
        return state.made(region, region.graph)
    key = (structure_key(graph), state.decisions.about(n.name for n in graph.nodes))
    if (twin := state.regions.get(key)) is not None:
        state.done("same", region.name, f"compiled as {twin.region.name}", 0.0)
        return _renamed(twin, region, graph)
    before = dict(state.kernels)
    made = _generate(region, graph, state)
    finer, copied = _finer(made.launches, state), _copied(graph, made.launches, state)
    if finer or copied:
        every = {**state.decisions.turned, **copied}
        decisions = dataclasses.replace(state.decisions, turned=every)
        state.kernels, state.finer, state.decisions = before, state.finer | finer, decisions
        return _compile_region(region, state)
    if made.complete:
        state.regions[key] = made
    return made


def _finer(launches: Sequence[Launch], state: _State) -> dict[str, int]:
    """Into how many parts to split what kernels reduce: how they run is known here alone."""
    found: dict[str, int] = {}
    for launch in launches if state.decisions.chunks is None else ():
        if (parts := parts_of(launch.plan.facts, state.target)) > 1:
            reducing = (nest for nest in launch.group.nests if reductions(nest.stores))
            names = {n.removesuffix("_partial") for nest in reducing for n in nest.origins}
            found |= {name: parts * state.splits.get(name, 1) for name in names}
    return {name: parts for name, parts in found.items() if name not in state.finer}


def _copied(graph: Graph, launches: Sequence[Launch], state: _State) -> dict[str, int]:
    """What rows are to read from a turned copy: which way they run is known here alone. Nothing
    that is changed, or that another kernel reads as it lies."""
    if state.decisions.chunks is not None:
        return {}
    found = [turned(launch.plan, state.target.multiprocessors) for launch in launches]
    wanted = {name: dim for one in found for name, dim in one.items()}
    kept = {n for m in graph.mutations for n in (m.input, m.value)} | state.decisions.turned.keys()
    for launch, own in zip(launches, found, strict=True):
        kept |= {load.buffer for load in loads(launch.plan.stores)} - own.keys()
    return {name: dim for name, dim in sorted(wanted.items()) if name not in kept}


def _renamed(twin: CompiledRegion, region: Region, graph: Graph) -> CompiledRegion:
    """``twin`` as the result of ``graph``: the origins of kernels are its own nodes."""
    assert twin.schedule is not None, "only complete regions are reused"
    own = {old.name: new.name for old, new in zip(twin.graph.nodes, graph.nodes, strict=True)}
    groups = {
        group.name: dataclasses.replace(group, origins=tuple(own[name] for name in group.origins))
        for group in twin.schedule.groups
    }
    schedule = dataclasses.replace(twin.schedule, groups=tuple(groups.values()))
    renamed = (dataclasses.replace(one, group=groups[one.group.name]) for one in twin.launches)
    made = dataclasses.replace(twin, region=region, graph=graph, schedule=schedule)
    return dataclasses.replace(made, launches=tuple(renamed))


def _generate(region: Region, graph: Graph, state: _State) -> CompiledRegion:
    program = state.run("lower", lower, graph, state.decisions)
    if program is None:
        return state.made(region, graph)
    planned = state.run("schedule", schedule, program, state.target, state.decisions)
    if planned is None:
        return state.made(region, graph, program)
    made = [_compile_kernel(graph, planned.program, group, state) for group in planned.groups]
    launches = tuple(launch for launch in made if launch is not None)
    own = state.made(region, graph, planned.program)
    return dataclasses.replace(own, schedule=planned, launches=launches)


def _compile_kernel(
    graph: Graph, program: Program, group: FusedGroup, state: _State
) -> Launch | None:
    state.group, state.origins = group.name, group.origins
    if (planned := state.run("plan", plan, program, group, state.target, state.decisions)) is None:
        return None
    if (source := state.run("render", render, planned, len(state.kernels))) is None:
        return None
    if (kernel := state.kernels.get(kernel_identity(source))) is None:
        if (module := state.run("emit", emit, source, graph, state.target)) is None:
            return None
        kernel = state.kernels[kernel_identity(source)] = Kernel(source, module)
    return Launch(group, planned, kernel)


class _State:
    """What one compilation accumulates, and the decisions that it replays."""

    def __init__(self, target: Target, decisions: Decisions, hooks: Sequence[Hook]) -> None:
        self.target, self.decisions, self.times = target, decisions, StageTimes()
        self.hooks: tuple[Hook, ...] = (self.times, *hooks)
        self.kernels: dict[tuple[object, ...], Kernel] = {}
        self.regions: dict[object, CompiledRegion] = {}
        self.splits: dict[str, int] = {}
        self.finer: dict[str, int] = {}  # splits that kernels turned out to need

    def begin(self, region: Region) -> None:
        """What follows belongs to ``region``."""
        self.region, self.group = region.name, ""
        self.origins = tuple(node.name for node in region.graph.nodes)
        self.failed: list[Failure] = []

    def made(self, region: Region, graph: Graph, program: Program | None = None) -> CompiledRegion:
        """``region`` without launches, and what has failed since ``begin``."""
        return CompiledRegion(region, graph, graph, program, None, (), tuple(self.failed))

    def done(self, stage: str, where: str, made: object, seconds: float) -> None:
        """Tell the hooks."""
        number = (*STAGES, stage).index(stage)
        step = Step(stage, number, where, made, seconds)
        for hook in self.hooks:
            hook(step)

    def run(self, stage: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """The result of a stage; ``None``, with the error recorded, if it or a hook fails."""
        began = time.perf_counter()
        try:
            made = work(*args, **kwargs)
            where = f"{self.region}/{self.group}" if self.group else self.region
            self.done(stage, where, made, time.perf_counter() - began)
            return made
        except RecordError:
            raise
        except HarnessError as error:
            self.failed.append(Failure(self.region, stage, self.origins, error))
        except Exception as error:  # noqa: BLE001 - a defect in one kernel must not stop the others
            place = traceback.extract_tb(error.__traceback__)[-1]
            wrapped = InvalidProgram(
                f"the stage {stage} failed",
                where=f"{self.region}: {', '.join(self.origins[-3:])}",
                got=f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})",
                remedy="report this as a defect of the compiler, with the graph file",
            )
            self.failed.append(Failure(self.region, stage, self.origins, wrapped))
        return None

    def choose_split(self, node: str, default: int) -> int:
        """Into how many parts to split a node; recorded when it is a split."""
        count = self.decisions.split(node, self.finer.get(node, default))
        if count != 1:
            self.splits[node] = count
        return count
