"""Kernels for tests: graphs written as text, all the way to emitted modules."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from harness.codegen.kernel import render
from harness.codegen.module import emit
from harness.codegen.source import EmittedModule, KernelSource
from harness.decisions import Decisions
from harness.graph.lowering import lower
from harness.graph.model import Graph
from harness.graph.text import loads
from harness.ir.program import Program
from harness.runtime import module as runtime
from harness.runtime.interpret.interpreter import CheckJob
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


def checks_itself(python: list[str], script: str, path: Path) -> None:
    """Have ``script``, run by ``python``, check the module at ``path`` in Triton's interpreter."""
    told = subprocess.run(
        [*python, script, str(path), "--check"],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stdout + told.stderr[-2000:]


def only(graph: Graph, looped: bool | None = None) -> KernelSource:
    """The one kernel of a graph."""
    (source,) = sources(graph, looped)
    return source


def as_launched(loaded: runtime.LoadedModule, known: Mapping[str, int]) -> CheckJob:
    """A check with the blocks, and the parts of the kernel, that a launch takes for the sizes."""
    first = loaded.at(loaded.only_sizes(known), H100).configs[0]
    blocks = tuple(block for block in first.blocks if block[0] not in loaded.signature)
    sizes = tuple((name, known[name]) for name in loaded.unknown_sizes)
    return CheckJob(loaded.text, replace(first, blocks=blocks), sizes=sizes)


__all__ = ["as_launched", "checks_itself", "groups", "loads", "modules", "only", "sources"]
