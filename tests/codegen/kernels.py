"""Kernels for tests: graphs written as text, all the way to emitted modules."""

from __future__ import annotations

from collections.abc import Iterator

from harness.codegen.kernel import render
from harness.codegen.module import emit
from harness.codegen.source import EmittedModule, KernelSource
from harness.decisions import Decisions
from harness.graph.lowering import lower
from harness.graph.model import Graph
from harness.graph.text import loads
from harness.ir.program import Program
from harness.schedule.build import schedule
from harness.schedule.group import FusedGroup
from harness.target import H100
from harness.tiling.build import plan


def groups(graph: Graph) -> tuple[Program, tuple[FusedGroup, ...]]:
    """The program of a graph and its fused groups."""
    program = lower(graph)
    return program, schedule(program, H100).groups


def sources(graph: Graph, looped: bool | None = None) -> Iterator[KernelSource]:
    """The rendered kernels of a graph."""
    program, fused = groups(graph)
    for number, group in enumerate(fused):
        loops = {} if looped is None else dict.fromkeys(group.reduced, looped)
        yield render(plan(program, group, H100, Decisions(loops=loops)), number)


def modules(graph: Graph, looped: bool | None = None) -> list[EmittedModule]:
    """The emitted modules of a graph."""
    return [emit(source, graph, H100) for source in sources(graph, looped)]


def only(graph: Graph, looped: bool | None = None) -> KernelSource:
    """The one kernel of a graph."""
    (source,) = sources(graph, looped)
    return source


__all__ = ["groups", "loads", "modules", "only", "sources"]
