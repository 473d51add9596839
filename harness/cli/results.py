"""``harness gc`` and ``harness import``: what goes from the results folder, and what comes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.arguments import AckFile
from harness.cli.command import FAILED, FINE, Answer, command, describe
from harness.history import index, prune
from harness.history.changes import waivers
from harness.imports import reading
from harness.report import output
from harness.report.output import Report
from harness.table import Text, count, plural


@command
def gc(
    answer: Answer,
    yes: Annotated[bool, "Remove it. Without this, say what would be removed."] = False,
    days: Annotated[
        float, "Age of interrupted runs and of trees with uncommitted changes.", typer.Option(min=0)
    ] = 90,
    repeats: Annotated[int, "Runs of one commit that stay, the newest.", typer.Option(min=1)] = 5,
    ack: AckFile = None,
) -> None:
    """Remove what is of no use from the results: remains of dead writers, old interrupted runs,
    old runs of uncommitted trees, repeats.

    What version control holds or names, and what a waived change speaks of, stays. Without
    --yes nothing is removed.

    \b
    harness gc
    harness gc --days 30 --repeats 3 --yes
    """
    results = answer.options.results
    answer.recover()
    found = prune.survey(results, prune.Rules(days, repeats), waivers.of_results(ack, results))
    gone = prune.remove(found) if yes else []
    if gone:
        index.refresh(results)
    document = {
        "removed": yes,
        "files": [str(path) for path in gone],
        "findings": [
            {"file": str(f.file), "bytes": f.size, "reason": f.reason, "keep": f.keep}
            for f in found
        ],
    }
    goes = "removed" if yes else "would be removed"
    lines = [f"{f.file}: {f.reason}: {f'kept, {f.keep}' if f.keep else goes}" for f in found]
    going = [each for each in found if not each.keep]
    size = count(sum(each.size for each in going))
    lines.append(f"{plural(len(going), 'file')} ({size} bytes) {'removed' if yes else 'can go'}")
    if going and not yes:
        lines.append("nothing was removed: harness gc --yes removes it")
    answer.tell(Report(lambda: [Text(line) for line in lines], lambda: document))


@command
def import_(
    answer: Answer,
    paths: Annotated[
        list[Path],
        "asv's results folder or files of it, or JSON files of pytest-benchmark.",
        typer.Argument(metavar="PATH", exists=True),
    ],
    dry_run: Annotated[bool, "Say what would be imported, write nothing."] = False,
) -> int:
    """Import results of asv and pytest-benchmark.

    Each file becomes a run; samples are kept where they were recorded. What was imported before
    is not imported again. A damaged file is named and the others are imported: exit status 1.

    \b
    harness import .asv/results
    harness import .benchmarks/Linux-CPython-3.12-64bit/0001_x.json
    """
    rows = []
    with answer.progress("reading") as bar:
        found = reading.read(paths, bar.update)
        for number, (path, run) in enumerate(found.runs):
            bar.update(f"writing {run.id}", number, len(found.runs))
            where = None if dry_run else reading.save(answer.options.results, run)
            kernels = sum(len(graph.kernels) for graph in run.graphs)
            file = None if where is None else str(where)
            rows.append({"from": str(path), "run": run.id, "kernels": kernels, "file": file})
    output.note(*(f"error: {error}" for error in found.damaged))
    lines = [
        f"{row['from']}: {row['kernels']} figures, run {row['run']}: "
        f"{'would be imported' if dry_run else row['file'] or 'is there already'}"
        for row in rows
    ]
    lines += [f"left out: {number} {what}" for what, number in sorted(found.left_out.items())]
    document = {
        "runs": rows,
        "left_out": dict(found.left_out),
        "damaged": [describe(error) for error in found.damaged],
        "dry_run": dry_run,
    }
    answer.tell(Report(lambda: [Text(line) for line in lines], lambda: document))
    return FAILED if found.damaged else FINE
