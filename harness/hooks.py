"""What can be done after every stage of the pipeline: verify, write down, time. And what compiling
a graph made, as files to read (``HARNESS_DUMP``).

In a folder for each graph (``Dump``): ``graph.py`` (a graph file), what every stage makes of each
region and kernel, ``kernels/`` (modules that run by themselves), ``order.txt`` (launches and
library calls as they run), ``choices.txt`` (what was timed both ways) and ``host.py`` (the function
that makes the calls). Of a graph that is cut, or that torch runs, ``host.py`` is what torch runs,
below why; the folders of the parts of one that is cut are in its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
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
    ``<region>/<group>/<number>-<stage>`` and an extension. Raises ``RecordError``."""

    folder: Path

    def __call__(self, step: Step) -> None:
        """Write one stage's file."""
        text, extension = _text(step.made)
        _write(self.folder / step.where / f"{step.number}-{step.stage}.{extension}", text)


@dataclass(frozen=True, slots=True)
class Dump:
    """A hook that writes the same, and what else compiling a graph made, if there is a ``folder``.
    What cannot be written is a ``DumpWarning``."""

    folder: Path | None

    def __call__(self, step: Step) -> None:
        """Write one stage's file."""
        if self.folder is not None:
            with _told(self.folder):
                StageFiles(self.folder)(step)

    def within(self, name: str) -> Dump:
        """One for the graph ``name``, numbered in the order of compilations."""
        if self.folder is None:
            return self
        with _told(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            for number in itertools.count(len([*self.folder.glob("*-*")])):
                folder = self.folder / f"{number:04}-{name}"
                with contextlib.suppress(FileExistsError):  # another process may have made it
                    if not any(self.folder.glob(f"{number:04}-*")):
                        folder.mkdir()
                        return Dump(folder)
        return Dump(None)

    def by_kernels(self, graph: Graph, compiled: CompiledGraph, run: Any) -> None:
        """Write what is there once everything is compiled; ``run`` is the host function."""
        if self.folder is not None:
            with _told(self.folder):
                _write(self.folder / "graph.py", dumps(graph))
                _write(self.folder / "order.txt", "".join(f"{x}\n" for x in _order(compiled)))
                _write(self.folder / "choices.txt", "".join(f"{x}\n" for x in compiled.choices))
                _write(self.folder / "host.py", run.__dict__["text"])
                for module, _ in compiled.distinct():
                    _write(self.folder / "kernels" / f"{module.name}.py", module.text)

    def by_torch(self, gm: Any, *why: str) -> None:
        """Write ``gm``, which torch runs, as the host function."""
        if self.folder is not None:
            lines = [f"# {line}" for text in why for line in text.splitlines()]
            code = gm.print_readable(print_output=False)
            with _told(self.folder):
                _write(self.folder / "host.py", "\n".join((*lines, code, "")))


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


def _write(path: Path, text: str) -> None:
    write_atomically(path, text.encode(), own=False)


@contextlib.contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RecordError) as error:
        why = error.got if isinstance(error, RecordError) else error.strerror or error
        text = f"HARNESS_DUMP: {folder}: {why}; not all is written"
        warnings.warn(text, DumpWarning, stacklevel=3)
