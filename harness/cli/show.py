"""``harness show``: print a recorded run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from harness import options as settings
from harness.cli.arguments import AsJson, Debug
from harness.cli.guard import FAILED, FINE, guarded
from harness.report import output

if TYPE_CHECKING:
    from harness.records.run import Run


@guarded
def show(
    run: Annotated[
        str,
        typer.Argument(help="`latest`, a run file, or the beginning of a run's or commit's name."),
    ] = "latest",
    kernel: Annotated[
        str | None,
        typer.Option("--module", help="Print the emitted module of this kernel instead."),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Print a recorded run.

    Exit status 1 if a kernel in it failed.

    \b
    harness show
    harness show 20260102
    harness show latest --module triton_per_fused_mul_0 > kernel.py
    """
    from harness.cli.recovery import recover
    from harness.history import lookup, store
    from harness.report.tables import graph_lines, run_document, summary_lines

    options = settings.current()
    recover(options.results)
    path = lookup.find(options.results, run)
    found = store.load(path)
    if kernel is not None:
        output.emit(_module(found, kernel))
        return FINE
    if as_json:
        output.emit_json({**run_document(found), "file": str(path)})
    else:
        figures = (kernel.ms or kernel.gbps for graph in found.graphs for kernel in graph.kernels)
        timed = found.machine.gpu is not None or any(figures)  # imported: timed without a GPU
        for graph in found.graphs:
            for line in graph_lines(graph, timed=timed):
                output.emit(line)
        for line in [*summary_lines(found), f"run {found.id}  {path}"]:
            output.emit(line)
    return FAILED if found.failed else FINE


def _module(run: Run, name: str) -> str:
    from harness.errors import UnknownName, nearest

    modules = {k.name: k.module for g in run.graphs for k in g.kernels}
    if name in modules:
        return modules[name].rstrip("\n")
    near = nearest(name, modules) or sorted(modules)[:3]
    raise UnknownName(
        "the run has no such kernel",
        where=run.id,
        got=name,
        expected=", ".join(near),
        remedy="see the names: harness show --json",
    )
