"""``harness nightly``, ``harness accept`` and ``harness report``: what became slower since the
accepted run, timed tonight; moving that run; the results as a static site."""

from __future__ import annotations

import datetime as dt
import getpass
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import arguments
from harness.cli.arguments import AckFile, Order, Repository
from harness.cli.changes import followed_metrics
from harness.cli.command import Answer, command
from harness.cli.show import require_runs
from harness.errors import UsageError
from harness.files import write_atomically
from harness.history import nights, store
from harness.history.changes import waivers
from harness.history.changes.changes import find
from harness.history.changes.fitting import Settings
from harness.history.changes.series import arrange
from harness.records import git
from harness.report.night import night_report, openmetrics
from harness.report.output import Report
from harness.report.site.data import Site
from harness.report.site.gather import earlier_of, folders, gather
from harness.report.site.pages import require, write
from harness.report.site.tonight import Tonight
from harness.session.plan import Request
from harness.table import Text
from harness.verdicts.nightly import Ask
from harness.verdicts.nightly import nightly as make


@command(table=True, cases=True, gate=True)
def nightly(
    answer: Answer,
    graphs: arguments.Graphs = None,
    suite: arguments.Suite = "default",
    baseline: Annotated[
        str | None, "Compare with this run. Default: the accepted.", typer.Option(metavar="RUN")
    ] = None,
    budget: Annotated[
        float | None,
        "Likely worst first; what is left out is listed.",
        typer.Option(min=0.1, metavar="MINUTES"),
    ] = None,
    accept_green: Annotated[bool, "Move the baseline if nothing became slower."] = False,
    metrics: Annotated[
        Path | None, "Write OpenMetrics there.", typer.Option(metavar="FILE")
    ] = None,
    ack: arguments.AckFile = None,
    timing: arguments.Timing = None,
    jobs: arguments.Jobs = None,
    kernel_seconds: arguments.KernelSeconds = 180.0,
    devices: arguments.Devices = "",
    workers: arguments.Workers = "",
) -> int:
    """Time what changed since the accepted run, old against new, and say what became slower.

    What executes the same is not timed, but for some controls; what looks slower is confirmed in
    further processes before it is reported. Continues an interrupted night. Exit status
    1: a confirmed regression; 2: an error, or the GPU or the disk gave out; 3: broken; 4: nothing
    that changed could be judged; 5: no GPU, and something changed. docs/nightly.md

    \b
    harness nightly --budget 30
    harness nightly --markdown > "$GITHUB_STEP_SUMMARY"
    harness nightly --metrics /var/lib/node_exporter/harness.prom
    """
    answer.recover()
    asked = (suite, tuple(graphs or ()), None, jobs, timing)
    request = Request(*asked, kernel_seconds=kernel_seconds, devices=devices, workers=workers)
    waived = waivers.of_results(ack, answer.options.results)
    ask = Ask(request, baseline, budget, waived, accept_green, _who())
    with answer.progress("starting") as bar:
        night, found = make(answer.options, ask, answer.note, bar.update)
    answer.tell(night_report(night, found))
    if metrics is not None:
        write_atomically(metrics, openmetrics(night).encode(), own=False)
    return night.status


@command
def accept(
    answer: Answer,
    name: Annotated[
        str, "`latest`: the newest night.", typer.Argument(metavar="[RUN|NIGHT]")
    ] = "latest",
    why: Annotated[str, "Kept beside who and when."] = "",
    anyway: Annotated[bool, "Even if it did not reach everything, or is dirty."] = False,
) -> None:
    """Make a run the baseline of its machine's nights from now on.

    \b
    harness accept --why 'float32 softmax, on purpose'
    harness accept 20260102-030405 --why 'a new driver'
    """
    results = answer.options.results
    every = nights.nights(results)
    of_night = every[-1:] if name == "latest" else [p for p in every if p.stem.startswith(name)]
    night = nights.load(store.the_one(of_night, name, "nights")) if of_night else None
    run = store.load(store.find(results, name if night is None else night.run))
    left = len(night.not_measured) + len(night.unexamined) if night else 0
    why_not = ["it was interrupted"] * (not run.complete)
    lost = sum(bool(graph.reason) for graph in run.graphs)
    why_not += [f"{lost} of its {len(run.graphs)} graphs failed"] * bool(lost)
    why_not += ["it was made from a tree that differs from its commit"] * run.dirty
    why_not += [f"{left} kernels were not reached: nobody would ever look at them"] * bool(left)
    if why_not and not anyway:
        raise UsageError(
            "this run is not a good baseline",
            where=run.id,
            got="; ".join(why_not),
            remedy="make another: harness nightly; or insist: --anyway",
        )
    folder, when = results / run.machine.key, dt.datetime.now(dt.UTC).replace(microsecond=0)
    about = (run.id, run.commit, _who(), when.isoformat(), why, night.id if night else "")
    made = nights.accept(folder, nights.Accepted(*about))
    before = f", before {made.earlier[0].run}" if made.earlier else ""
    said = {"machine": folder.name, "run": run.id, "commit": run.commit, "why": why}
    text = Text(f"baseline of {folder.name}: {run.id}{before}")
    answer.tell(Report(lambda: [text], lambda: said))


def _who() -> str:
    """Who accepts: as git knows them, else the account."""
    name, _ = git.ask(Path.cwd(), "config", "user.name")
    try:
        return name.strip() or getpass.getuser()
    except (OSError, KeyError):  # an account without a name, as containers have
        return "unknown"


@command
def report(
    answer: Answer,
    output: Annotated[
        Path, "The folder of the pages.", typer.Option("-o", "--output", metavar="DIR")
    ],
    results: Annotated[
        Path | None,
        "Default: the results folder (HARNESS_RESULTS).",
        typer.Argument(metavar="RESULTS", exists=True, file_okay=False),
    ] = None,
    machine: Annotated[
        str, "A part of a machine's name: its pages alone. Default: all, newest first."
    ] = "",
    ack: AckFile = None,
    order: Order = "history",
    repository: Repository = None,
) -> None:
    """Write the results as web pages: what to act on first, and everything behind it.

    index.html opens from disk, without a server or the network. Made again into the same folder,
    only pages whose contents changed are written. How to read them: docs/report.md.

    \b
    harness report -o site
    harness report results -o public --machine h200
    """
    require()
    folder, place = results or answer.options.results, repository or Path.cwd()
    with answer.progress("reading the runs") as bar:
        runs = require_runs(folder)
        known = arrange(runs, place, by_time=order == "time")
        places = folders(known, machine)
        shown: list[Tonight] = []
        with ThreadPoolExecutor(1) as reader:  # decoding leaves Python alone: judging goes on
            earlier = {name: reader.submit(earlier_of, folder, known, name) for name in places}
            bar.update("judging the series")
            waived = waivers.of_results(ack, folder)
            found = find(known, followed_metrics([], runs), Settings(), waived)

            def sites() -> Iterator[tuple[str, Site, Tonight]]:
                for name, below in places.items():
                    before = earlier[name].result()
                    made = gather(folder, place, known, found, name, places, before, bar.update)
                    shown.append(made[1])
                    yield below, *made

            done = write(output, sites(), bar.update)
    answer.tell(_told(output / "index.html", shown[0], done, len(places)))


def _told(first: Path, tonight: Tonight, done: dict[str, int], machines: int) -> Report:
    """The headline of the first machine, and where all pages are."""
    of = f" of {machines} machines" if machines > 1 else ""
    said = f"{first}: {done['files']} files{of}, {done['written']} of them new or changed"
    document = {"page": str(first), "headline": tonight.headline, "light": tonight.light}
    return Report(lambda: [Text(tonight.headline), Text(said)], lambda: document | done)
