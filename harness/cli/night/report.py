"""``harness report``: the results as a static site."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.arguments import AckFile, Order, Repository
from harness.cli.changes import followed_metrics, waivers_of
from harness.cli.command import Answer, command
from harness.cli.show import require_runs
from harness.history import index
from harness.history.changes.changes import find
from harness.history.changes.fitting import Settings
from harness.history.changes.series import arrange
from harness.report.output import Report
from harness.table import Text

if TYPE_CHECKING:
    from harness.report.site.gather import Pages
    from harness.report.site.pages import Written
    from harness.report.site.tonight import Tonight


@command
def report(
    answer: Answer,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="The folder of the pages.")
    ],
    results: Annotated[
        Path | None,
        typer.Argument(metavar="RESULTS", help="Default: the results folder (HARNESS_RESULTS)."),
    ] = None,
    machine: Annotated[
        str, "A part of a machine's name: its pages alone. Default: all, newest first."
    ] = "",
    ack: AckFile = None,
    order: Order = "history",
    repository: Repository = None,
) -> None:
    """Write what is recorded as web pages: what to do this morning, and all that is behind it.

    No server and nothing from elsewhere: index.html opens from disk. Made again into the same
    folder, only pages that say something else are written. How to read them: docs/report.md.

    \b
    harness report -o site
    harness report results -o public --machine h200
    """
    from harness.report.site.pages import require, write

    require()
    gc.set_threshold(100_000)  # what is read is kept to the end: a second of 10 went into looking
    from harness.report.site.gather import earlier_of, folders, gather

    folder, place = results or answer.options.results, repository or Path.cwd()
    with answer.progress("reading the runs") as bar:
        runs = index.refresh(folder)
        require_runs(runs, folder)

        def step(title: str) -> None:
            bar.update(title, 0, 0)

        known = arrange(runs, place, by_time=order == "time")
        places = folders(known, machine)
        shown: list[Tonight] = []
        with ThreadPoolExecutor(1) as reader:  # decoding leaves Python alone: judging goes on
            earlier = {name: reader.submit(earlier_of, folder, known, name) for name in places}
            step("judging the series")
            found = find(known, followed_metrics([], runs), Settings(), waivers_of(ack, folder))

            def sites() -> Iterator[tuple[str, Pages]]:
                for name, below in places.items():
                    before = earlier[name].result()
                    pages = gather(folder, place, known, found, name, places, before, step)
                    shown.append(pages.tonight)
                    yield below, pages

            done = write(output, sites(), step)
    answer.tell(_told(output / "index.html", shown[0], done, len(places)))


def _told(first: Path, tonight: Tonight, done: Written, machines: int) -> Report:
    """The headline of the first machine, and where all pages are."""
    of = f" of {machines} machines" if machines > 1 else ""
    said = f"{first}: {done.files} files{of}, {done.written} of them new or changed"
    document = {"page": str(first), "headline": tonight.headline, "light": tonight.light}
    return Report(
        lambda: [Text(tonight.headline), Text(said)], lambda: {**document, **asdict(done)}
    )
