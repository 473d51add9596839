"""What compiling a graph made, as files to read (``HARNESS_DUMP``).

In a folder for each graph: ``graph.py`` (a graph file), what every stage makes of each region and
kernel (``harness.hooks.StageFiles``), ``kernels/`` (modules that run by themselves), ``order.txt``
(launches and library calls as they run), ``choices.txt`` (what was timed both ways) and ``host.py``
(the function that makes the calls).
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness.compiled import CompiledGraph
from harness.errors import DumpWarning
from harness.graph.model import Graph, Region
from harness.graph.text import dumps

Run = Callable[..., Any]


def new_folder(parent: Path, name: str) -> Path | None:
    """A folder of its own below ``parent`` for the graph ``name``, numbered in the order of
    compilations; None, with a ``DumpWarning``, where none can be made."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for number in itertools.count():
            if not any(parent.glob(f"{number:04}-*")):
                folder = parent / f"{number:04}-{name}"
                folder.mkdir()
                return folder
    except OSError as error:
        _warn(parent, error)
    return None


def written(
    folder: Path, graph: Graph, compiled: CompiledGraph, wrap: Callable[[Run], Run] | None, run: Run
) -> Run:
    """Write what is there once everything is compiled, and go on to ``wrap`` the host function
    ``run``."""
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
        _warn(folder, error)
    return run if wrap is None else wrap(run)


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
        for failure in region.failures:
            yield f"torch runs {failure.described(region.graph)}"


def _warn(path: Path, error: OSError) -> None:
    text = f"HARNESS_DUMP: {path}: {error.strerror or error}; nothing more is written"
    warnings.warn(text, DumpWarning, stacklevel=2)
