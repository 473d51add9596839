"""What can be done after every stage of the pipeline: verify, write down, time. And what compiling
a graph made, as files to read (``HARNESS_DUMP``).

In a folder for each graph: ``graph.py`` (a graph file), what every stage makes of each region and
kernel (``StageFiles``), ``kernels/`` (modules that run by themselves), ``order.txt`` (launches and
library calls as they run), ``choices.txt`` (what was timed both ways) and ``host.py`` (the function
that makes the calls).
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.codegen.source import EmittedModule, KernelSource
from harness.compiled import CompiledGraph
from harness.errors import DumpWarning, RecordError
from harness.files import write_atomically
from harness.graph.model import Graph, Partition, Region
from harness.graph.text import dumps
from harness.ir.nodes import reductions, scans
from harness.ir.printer import dump, dump_stores
from harness.ir.program import Program
from harness.ir.verify import verify
from harness.schedule.explain import render
from harness.schedule.group import Schedule
from harness.tiling.plan import KernelPlan


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A stage that has run: the stage's name and place in the pipeline, the graph, region or
    kernel (``region/group``) that it ran for, what it made, and how many seconds it took."""

    stage: str
    number: int
    where: str
    made: object
    seconds: float


Hook = Callable[[Step], None]
"""Called after every stage. A ``HarnessError`` from a hook is the stage's own: the region or the
kernel counts as not generated. A ``RecordError``, of a file, says nothing of it and ends it all."""


def verified(step: Step) -> None:
    """A hook that checks every program, and every schedule: what it does with the program. Raises
    ``InvalidProgram``."""
    if isinstance(step.made, Program):
        verify(step.made)
    elif isinstance(step.made, Schedule):
        verify(step.made.program)
        verify(as_scheduled(step.made))


def as_scheduled(made: Schedule) -> Program:
    """The nests as the kernels run them, in their order, for the verifier: what a kernel computes
    again in a later loop counts once, and a pointwise nest that shares a reduction's loops has
    them all as axes."""
    nests = {
        nest.name: nest
        if reductions(nest.stores) or scans(nest.stores)
        else dataclasses.replace(nest, axes=(*nest.axes, *nest.raxes), raxes=())
        for group in made.groups
        for nest in group.nests
    }
    return dataclasses.replace(made.program, nests=tuple(nests.values()))


@dataclass(frozen=True, slots=True)
class StageFiles:
    """A hook that writes what every stage makes below ``folder``, a file a stage:
    ``<region>/<group>/<number>-<stage>`` and an extension. Raises ``RecordError``, or gives a
    ``DumpWarning`` if that is ``enough``."""

    folder: Path
    enough: bool = False

    def __call__(self, step: Step) -> None:
        """Write one stage's file."""
        text, extension = _text(step.made)
        path = self.folder / step.where / f"{step.number}-{step.stage}.{extension}"
        try:
            write_atomically(path, text.encode(), mode=0o644, own=False)
        except RecordError as error:
            if not self.enough:
                raise
            _warn(self.folder, error.got)


@dataclass(frozen=True, slots=True)
class StageTimes:
    """A hook that adds up how often each stage ran, and its seconds; by name, in order."""

    runs: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def __call__(self, step: Step) -> None:
        """Count one stage."""
        self.runs[step.stage] = self.runs.get(step.stage, 0) + 1
        self.seconds[step.stage] = self.seconds.get(step.stage, 0.0) + step.seconds


def _text(made: object) -> tuple[str, str]:
    """What a stage made as text, and the extension of its file."""
    match made:
        case Graph():
            # A region's name, <graph>.r0, is no name of a function.
            return dumps(dataclasses.replace(made, name=made.name.replace(".", "_"))), "py"
        case Partition():
            return "\n".join(_steps(made)) + "\n", "txt"
        case Program():
            return dump(made), "txt"
        case Schedule():
            return render(made), "txt"
        case KernelPlan():
            return "\n".join(_plan(made)) + "\n", "txt"
        case KernelSource() | EmittedModule():
            return made.text, "py"
        case _:
            return f"{made}\n", "txt"


def _steps(partition: Partition) -> Iterator[str]:
    """Regions and calls in the order in which they run."""
    for step in partition.steps:
        if isinstance(step, Region):
            yield f"region {step.name}: {', '.join(node.name for node in step.graph.nodes)}"
        else:
            yield f"call {step.node.op} for {step.node.name}: {step.reason}"


def _plan(plan: KernelPlan) -> Iterator[str]:
    """What is decided of a kernel, then its stores over the tiles' own variables."""
    yield f"{plan.name}: {plan.category.name.lower()}, indices {plan.index_dtype.short}"
    for tile in plan.tiles:
        entries = (f"{e.var} = {tile.prefix} // {e.divisor} % {e.length}" for e in tile.entries)
        yield f"tile {tile.prefix} of {tile.numel} points: {', '.join(entries)}"
    for argument in plan.arguments:
        named = ", ".join(argument.buffers)
        yield f"argument {argument.name}: {argument.dtype.short} {named}"
    yield f"inside: {', '.join(sorted(plan.internal)) or '-'}"
    yield f"bytes {plan.bytes_moved}, {plan.facts}"
    for segment in plan.segments:
        yield f"{segment.kind.value}:"
        yield from (f"  {line}" for line in dump_stores(segment.stores))


def dump_folder(parent: Path, name: str) -> Path | None:
    """A folder of its own below ``parent`` for the graph ``name``, numbered in the order of
    compilations; None, with a ``DumpWarning``, where none can be made."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(len(os.listdir(parent))):
            folder = parent / f"{number:04}-{name}"
            with contextlib.suppress(FileExistsError):  # another process may have made it
                if not any(parent.glob(f"{number:04}-*")):
                    folder.mkdir()
                    return folder
    except OSError as error:
        _warn(parent, error.strerror or str(error))
    return None


def write_dump(folder: Path, graph: Graph, compiled: CompiledGraph, run: Any) -> None:
    """Write what is there once everything is compiled; ``run`` is the host function."""
    files = {
        "graph.py": dumps(graph),
        "order.txt": "".join(f"{line}\n" for line in _order(compiled)),
        "choices.txt": "".join(f"{choice}\n" for choice in compiled.choices),
        "host.py": run.__dict__["text"],
        **{f"kernels/{module.name}.py": module.text for module, _ in compiled.distinct()},
    }
    try:
        (folder / "kernels").mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        _warn(folder, error.strerror or str(error))


def _order(compiled: CompiledGraph) -> Iterator[str]:
    regions = {region.region.name: region for region in compiled.regions}
    every = (combo for bundle in compiled.bundles for combo in bundle.combos)
    combos = {place: one.module.name for one in every for place in one.launches}
    for step in compiled.partition.steps:
        if not isinstance(step, Region):
            yield f"call {step.node.op} for {step.node.name}: {step.reason}"
            continue
        region = regions[step.name]
        for number, launch in enumerate(region.launches):
            operands = ", ".join("/".join(names) for names in launch.arguments)
            shared = combos.get((step.name, number), launch.kernel.name)
            inside = "" if shared == launch.kernel.name else f" as a part of {shared}"
            yield f"launch {launch.kernel.name}({operands}){inside}"
        yield from (f"torch runs {failure.described(region.graph)}" for failure in region.failures)


def _warn(folder: Path, why: str) -> None:
    text = f"HARNESS_DUMP: {folder}: {why}; not all is written"
    warnings.warn(text, DumpWarning, stacklevel=2)
