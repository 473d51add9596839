"""Running a compiled graph: regions through their kernels, library calls with torch.
``prepare_graph`` writes a host function once (``hosttext``), so that a run
costs the host little more than its launches. Its text is the function's ``text``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph, CompiledRegion, alone
from harness.executor.graphs import NO_SIZES, GraphWriter, Sizes
from harness.executor.hosttext import Host, HostText
from harness.executor.regions import RegionWriter, Value, write_launches
from harness.graph.model import Region
from harness.ir.program import Role
from harness.runtime.launch.host import allocator, reinterpreter
from harness.runtime.launch.selecting import LaunchOn

RunGraph: TypeAlias = "Callable[[list[Any]], list[torch.Tensor | None]]"
"""A graph's outputs from one tensor per input, in a list that it empties."""


@dataclass(frozen=True, slots=True)
class Launches:
    """How a host function launches: ``kernel(module)`` gives ``launch(stream, *args)``, and
    ``stream(device number)`` the current stream; ``finished`` is called at the end of a graph."""

    kernel: Callable[[EmittedModule], LaunchOn]
    stream: Callable[[int], int] = lambda _: 0  # a CPU has none
    finished: Callable[[], None] | None = None


def prepare_graph(
    compiled: CompiledGraph, launches: Launches, device: torch.device | str, sizes: Sizes = NO_SIZES
) -> RunGraph:
    """``compiled`` as a function of its inputs on ``device``; mutations are applied to them.

    The function raises ``GraphError`` for inputs of other sizes, and what a step raises.
    Regions that could not be compiled (``compiled.failures`` lists them) run with torch.
    An input on another device or with other strides than the graph records is copied for
    the kernels (and copied back where they change it). ``sizes`` are those among what
    the function takes and returns.
    """
    where, text = torch.device(device), HostText()
    host = Host(where, allocator(where), reinterpreter())
    by_name = {region.region.name: region for region in compiled.regions if region.complete}
    bundles = {name: bundle for bundle in compiled.bundles for name in bundle.regions}
    written: dict[str, list[str]] = {}
    # One callable per kernel, however often it is launched.
    one_kernel = functools.cache(launches.kernel)

    def write_region(region: Region, given: Callable[[Region], list[Value]]) -> list[Value] | None:
        if (found := by_name.get(region.name)) is None:
            return None
        if region.name not in written:
            bundle = bundles.get(region.name) or alone(found)
            writers = {}
            for name in bundle.regions:
                one = by_name[name]
                assert one.program is not None, "what is incomplete is in no bundle"
                values = given(one.region)
                writers[name] = RegionWriter(text, host, one, one.program, values, stream)
            written.update(write_launches(writers, bundle.combos, one_kernel))
        return [Value(variable, sure=True) for variable in written[region.name]]

    stream = text.fresh("stream")
    text.fresh("fine")
    before = [f"{stream} = {text.bind(launches.stream, 'current_stream')}({where.index or 0})"]
    after = []
    if launches.finished is not None:
        after.append(f"{text.bind(launches.finished, 'finished')}()")
    together = {name: bundle.regions for name, bundle in bundles.items()}
    regions = [step for step in compiled.partition.steps if isinstance(step, Region)]
    lent = {name for one in regions for name in _lent(one, by_name.get(one.name))}
    writer = GraphWriter(text, host, compiled.partition, write_region, sizes, together, lent)
    writer.write(before, after)
    return text.function("run", compiled.partition.graph.name)


def _lent(region: Region, found: CompiledRegion | None) -> list[str]:
    """The inputs and outputs of a region that share memory: any may, if torch runs it."""
    if found is None or found.program is None:
        return [*region.graph.given, *region.graph.results]
    made = found.program.outputs
    passed = {b.name for b in found.program.buffers if b.role is Role.INPUT} & {*made}
    pairs = zip(region.graph.given, found.compiled_as.given, strict=True)
    given = [own for own, name in pairs if name in passed]
    named = zip(region.graph.results, made, strict=True)
    return [*given, *(own for own, n in named if n in passed or made.count(n) > 1)]
