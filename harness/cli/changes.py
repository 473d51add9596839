"""``harness changes``: at which commits the history of the runs changed its level."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.arguments import AckFile, Order, Repository
from harness.cli.command import BROKEN, FINE, NOTHING_JUDGED, REGRESSED, UNUSABLE, Answer, command
from harness.cli.show import require_runs
from harness.errors import unknown
from harness.history import index
from harness.history.changes import waivers
from harness.history.changes.changes import find
from harness.history.changes.fitting import Settings
from harness.history.changes.series import arrange
from harness.records import metrics
from harness.report.changes import changes_report, chosen


@command(table=True, only=True, gate=True)
def changes(
    answer: Answer,
    metric: Annotated[
        list[str] | None,
        f"{', '.join(metrics.names())}; repeatable. Default: ms, and peers "
        "(other compilers) if there are any; the static ones where nothing was timed.",
    ] = None,
    ack: AckFile = None,
    order: Order = "history",
    repository: Repository = None,
    alpha: Annotated[
        float, "Chance of any false alarm in the report.", typer.Option(min=1e-6, max=0.5)
    ] = 0.05,
    smallest: Annotated[
        float, "Least relative change worth reporting.", typer.Option(min=0, max=10)
    ] = 0.005,
    shortest_run: Annotated[
        int, "Points a new level has to hold for.", typer.Option(min=2, max=100)
    ] = 2,
) -> int:
    """Find the commits at which a kernel's or graph's time changed, and what caused it.

    A fixed rate of false alarms, slow drift told from steps, breaks where the machine, the driver
    or the method changed. Exit status 1 for a regression that is neither waived nor recovered
    since, 3 for what the newest run shows broken, 2 for an error, 4 if no series could be judged;
    other compilers' changes are shown and never fail. How: docs/changes.md.

    \b
    harness changes
    harness changes -k llama --metric ms --metric registers
    harness changes --json
    """
    results = answer.options.results
    answer.recover()
    with answer.progress("reading the runs"):
        runs = require_runs(results)
    followed = followed_metrics(metric or [], runs)
    waived = waivers.of_results(ack, results)
    known = arrange(runs, repository or Path.cwd(), by_time=order == "time")
    rules = Settings(family=alpha, smallest=smallest, shortest_run=shortest_run)
    with answer.progress("judging the series"):
        report = chosen(find(known, followed, rules, waived), answer.only)
    answer.note_nothing_like(report.changes, "change")
    answer.tell(changes_report(report, known, followed))
    if report.regressions or report.broken:
        return REGRESSED if report.regressions else BROKEN
    if report.problems or runs.unreadable:
        return UNUSABLE
    return FINE if report.judged else NOTHING_JUDGED


def followed_metrics(names: list[str], runs: index.Index) -> list[metrics.Metric]:
    """The metrics of these names; the usual ones for ``runs`` if there are none. Raises
    ``UsageError``."""
    known = metrics.names()
    for name in names:
        if name not in known:
            remedy = "name one of these; --metric may be repeated"
            raise unknown("there is no such metric", name, known, "--metric", remedy, most=None)
    if not names:
        timed = runs.rows.column("ms").null_count < runs.rows.num_rows
        names = ["ms"] if timed else [m.name for m in metrics.METRICS if m.exact]
        if runs.regions.num_rows:
            names.append("peers")
    return [metrics.named(name) for name in dict.fromkeys(names)]
