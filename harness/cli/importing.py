"""``harness import``: what asv and pytest-benchmark measured, as runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness import options as settings
from harness.cli.arguments import AsJson, Debug
from harness.cli.guard import FAILED, FINE, describe, guarded
from harness.report import output


@guarded
def import_(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="asv's results folder or files of it, or JSON files of pytest-benchmark.",
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be imported, write nothing.")
    ] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Import results of asv and pytest-benchmark.

    Each file becomes a run; samples are kept where they were recorded. What was imported before
    is not imported again. A damaged file is named and the others are imported: exit status 1.

    \b
    harness import .asv/results
    harness import .benchmarks/Linux-CPython-3.12-64bit/0001_x.json
    """
    from harness.imports import reading

    options = settings.current()
    found = reading.read(paths)
    rows = []
    for path, run in found.runs:
        where = None if dry_run else reading.save(options.results, run)
        rows.append(
            {
                "from": str(path),
                "run": run.id,
                "kernels": sum(len(graph.kernels) for graph in run.graphs),
                "file": None if where is None else str(where),
            }
        )
    for error in found.damaged:
        output.note(f"error: {error}")
    status = FAILED if found.damaged else FINE
    if as_json:
        damaged = [describe(error) for error in found.damaged]
        left_out = dict(found.left_out)
        document = {"runs": rows, "left_out": left_out, "damaged": damaged, "dry_run": dry_run}
        output.emit_json(document)
        return status
    for row in rows:
        done = "would be imported" if dry_run else row["file"] or "is there already"
        output.emit(f"{row['from']}: {row['kernels']} figures, run {row['run']}: {done}")
    for what, number in sorted(found.left_out.items()):
        output.emit(f"left out: {number} {what}")
    return status
