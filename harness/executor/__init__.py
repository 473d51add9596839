"""Running a compiled graph: regions through their kernels, library calls with torch.

``prepare_graph`` and ``prepare_region`` write a host function once (``hosttext``), so that a
run costs the host little more than its launches. Its text is the function's ``text``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph, CompiledRegion
from harness.executor.graphs import NO_SIZES, GraphWriter, Sizes, WriteRegion
from harness.executor.hosttext import HostText, listing, unpacking
from harness.executor.lanes import has_lanes
from harness.executor.layouts import Host
from harness.executor.regions import LaunchOn, RegionWriter, Value
from harness.graph.model import Partition, Region
from harness.graph.replay import replay
from harness.runtime.launch.host import Side, allocator, no_stream, reinterpreter

LaunchKernel: TypeAlias = "Callable[[EmittedModule, list[Any]], None]"
"""Runs an emitted module's kernel on its arguments (tensors; integers for sizes)."""
PrepareKernel: TypeAlias = "Callable[[EmittedModule], Callable[[list[Any]], None]]"
"""Makes what runs an emitted module's kernel, given its arguments."""
RunGraph: TypeAlias = "Callable[[list[Any]], list[torch.Tensor | None]]"
"""A graph's outputs from one tensor per input, in a list that it empties."""
RegionStep: TypeAlias = "Callable[[list[torch.Tensor]], Sequence[torch.Tensor]]"
"""A region's outputs from its inputs."""


@dataclass(frozen=True, slots=True)
class Launches:
    """How a host function launches: ``kernel(module)`` gives ``launch(stream, *args)``, and
    ``stream(device number)`` the current stream. ``side`` is a second stream for regions that
    have nothing to do with each other; ``finished`` is called at the end of a graph; either is
    optional."""

    kernel: Callable[[EmittedModule], LaunchOn]
    stream: Callable[[int], int] = no_stream
    finished: Callable[[], None] | None = None
    side: Side | None = None


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
        found = by_name[region.name]
        if not found.complete or found.program is None:
            return None
        writer = RegionWriter(
            text, host, found, found.program, one_kernel, values, next(lanes), fine="fine"
        )
        return [Value(variable, sure=True) for variable in writer.write()]

    return _function(text, host, compiled.partition, write_region, launches, sizes)


def prepare_partition(partition: Partition, device: torch.device | str) -> RunGraph:
    """A partition as a function of its inputs on ``device``, all of it by torch."""

    def by_torch(region: Region, values: list[Value]) -> None:
        del region, values

    host = _host(torch.device(device))
    return _function(HostText(), host, partition, by_torch, Launches(_no_kernels))


def _host(device: torch.device) -> Host:
    return Host(device, allocator(device), reinterpreter(), pads_rows=device.type == "cuda")


def _no_kernels(module: EmittedModule) -> LaunchOn:
    raise ValueError(module.name)


def _function(
    text: HostText,
    host: Host,
    partition: Partition,
    region: WriteRegion,
    launches: Launches,
    sizes: Sizes = NO_SIZES,
) -> RunGraph:
    for taken in ("stream", "side", "fine"):
        text.fresh(taken)
    device, side = host.device.index or 0, launches.side
    before = [f"stream = {text.bind(launches.stream, 'current_stream')}({device})"]
    after = []
    if side is not None:
        # Copies of inputs that are not where kernels can read them are made on one stream.
        before.append(f"side = {text.bind(side.fork, 'fork')}({device}) if fine else stream")
        after.append(f"if side != stream: {text.bind(side.join, 'join')}({device})")
    if launches.finished is not None:
        after.append(f"{text.bind(launches.finished, 'finished')}()")
    writer = GraphWriter(text, host, partition, region, side is not None, sizes)
    writer.write(before, after)
    return text.function("run", partition.graph.name)


def run_graph(
    compiled: CompiledGraph,
    tensors: Sequence[torch.Tensor],
    launch: LaunchKernel,
    device: torch.device | str,
) -> list[torch.Tensor | None]:
    """The graph's outputs from ``tensors`` (one per input, on ``device``), mutations applied."""
    return prepare_graph(compiled, _each_time(launch), device)(list(tensors))


def prepare_region(
    compiled: CompiledRegion, kernel: PrepareKernel | Launches, device: torch.device | str
) -> RegionStep:
    """A region as a function of its inputs: allocate, launch in order, free after last use.

    An input on another device or with other strides than the region's graph records is
    copied first (and copied back if the region changes it).
    """
    launches, where = launches_of(kernel), torch.device(device)
    if not compiled.complete or compiled.program is None:
        graph = compiled.region.graph
        return lambda tensors: [t for t in replay(graph, tensors, where) if t is not None]
    text, host = HostText(), _host(where)
    for taken in ("stream", "fine"):
        text.fresh(taken)
    inputs = [text.fresh(item.name) for item in compiled.region.graph.inputs]
    text.add(*unpacking(inputs, "tensors"))
    for variable, item in zip(inputs, compiled.region.graph.inputs, strict=True):
        text.measure(variable, item.type.shape)
    text.add(f"stream = {text.bind(launches.stream, 'current_stream')}({where.index or 0})")
    values = [Value(variable, sure=False) for variable in inputs]
    writer = RegionWriter(
        text, host, compiled, compiled.program, launches.kernel, values, "stream", "False"
    )
    text.add(f"return {listing(writer.write())}")
    return text.function("run", compiled.region.name)


def _each_time(launch: LaunchKernel) -> PrepareKernel:
    return lambda module: lambda args: launch(module, args)
