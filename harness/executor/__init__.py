"""Running a compiled graph: regions through their kernels, library calls with torch.

``prepare_graph`` and ``prepare_region`` write a host function once (``hosttext``), so that a
run costs the host little more than its launches. Its text is the function's ``text``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph, CompiledRegion
from harness.executor.graphs import NO_SIZES, GraphWriter, Sizes
from harness.executor.hosttext import HostText
from harness.executor.lanes import has_lanes
from harness.executor.layouts import Host
from harness.executor.regions import LaunchOn, RegionWriter, Value
from harness.graph.model import Partition, Region
from harness.runtime.launch.host import SideStream, allocator, no_stream, reinterpreter

PrepareKernel: TypeAlias = "Callable[[EmittedModule], Callable[[list[Any]], None]]"
"""Makes what runs an emitted module's kernel, given its arguments."""
RunGraph: TypeAlias = "Callable[[list[Any]], list[torch.Tensor | None]]"
"""A graph's outputs from one tensor per input, in a list that it empties."""


@dataclass(frozen=True, slots=True)
class Launches:
    """How a host function launches: ``kernel(module)`` gives ``launch(stream, *args)``, and
    ``stream(device number)`` the current stream. ``side`` is a second stream for regions that
    have nothing to do with each other; ``finished`` is called at the end of a graph; either is
    optional."""

    kernel: Callable[[EmittedModule], LaunchOn]
    stream: Callable[[int], int] = no_stream
    finished: Callable[[], None] | None = None
    side: SideStream | None = None


def launches_of(kernel: PrepareKernel | Launches) -> Launches:
    """Launches by way of functions of a list of arguments, which know their stream."""
    if isinstance(kernel, Launches):
        return kernel

    def launch_on(module: EmittedModule) -> LaunchOn:
        launch = kernel(module)
        return lambda _stream, *args: launch(list(args))

    return Launches(launch_on)


def prepare_graph(
    compiled: CompiledGraph,
    kernel: PrepareKernel | Launches,
    device: torch.device | str,
    sizes: Sizes = NO_SIZES,
) -> RunGraph:
    """``compiled`` as a function of its inputs on ``device``; mutations are applied to them.

    The function raises ``GraphError`` for inputs of other sizes, and what a step raises.
    Regions that could not be compiled (``compiled.failures`` lists them) run with torch.
    An input on another device or with other strides than the graph records is copied for
    the kernels (and copied back where they change it). ``sizes`` are those among what
    the function takes and returns.
    """
    launches, where = launches_of(kernel), torch.device(device)
    text, host = HostText(), _host(where)
    by_name = {region.region.name: region for region in compiled.regions}
    # One callable per kernel, however often it is launched.
    made: dict[str, LaunchOn] = {}

    def one_kernel(module: EmittedModule) -> LaunchOn:
        if module.text not in made:
            made[module.text] = launches.kernel(module)
        return made[module.text]

    if launches.side is not None and not has_lanes(compiled):
        launches = replace(launches, side=None)
    lanes = itertools.cycle(("stream",) if launches.side is None else ("stream", "side"))

    def write_region(region: Region, values: list[Value]) -> list[Value] | None:
        found = by_name.get(region.name)
        if found is None or not found.complete or found.program is None:
            return None
        writer = RegionWriter(text, host, found, found.program, one_kernel, values, next(lanes))
        return [Value(variable, sure=True) for variable in writer.write()]

    for taken in ("stream", "side", "fine"):
        text.fresh(taken)
    number, side = where.index or 0, launches.side
    before = [f"stream = {text.bind(launches.stream, 'current_stream')}({number})"]
    after = []
    if side is not None:
        # Copies of inputs that are not where kernels can read them are made on one stream.
        before.append(f"side = {text.bind(side.fork, 'fork')}({number}) if fine else stream")
        after.append(f"if side != stream: {text.bind(side.join, 'join')}({number})")
    if launches.finished is not None:
        after.append(f"{text.bind(launches.finished, 'finished')}()")
    writer = GraphWriter(text, host, compiled.partition, write_region, side is not None, sizes)
    writer.write(before, after)
    return text.function("run", compiled.name)


def _host(device: torch.device) -> Host:
    return Host(device, allocator(device), reinterpreter(), pads_rows=device.type == "cuda")


def prepare_region(
    compiled: CompiledRegion, kernel: PrepareKernel | Launches, device: torch.device | str
) -> RunGraph:
    """``compiled`` as ``prepare_graph`` does a graph that consists of nothing else."""
    alone = Partition(compiled.region.graph, (compiled.region,))
    return prepare_graph(CompiledGraph(alone, (compiled,), (), (), ()), kernel, device)
