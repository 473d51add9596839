"""``harness calibrate``: this machine's false alarms, and the slowdowns it can find."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import harness
from harness.calibration import record as calibrations
from harness.calibration import run
from harness.calibration.record import Calibration, Cell, Subject
from harness.calibration.sessions import rehearsed
from harness.cli.arguments import Commit, Graphs, Jobs, Suite
from harness.cli.command import FAILED, FINE, INTERRUPTED, Answer, command
from harness.errors import NoDevice, UsageError
from harness.measure.jobs import DeviceFacts, Effort
from harness.measure.noise.judge import Rules
from harness.options import Options
from harness.records.lines import Kept
from harness.records.machine import commit_of
from harness.report import output
from harness.report.calibration import calibration_report, sessions_report
from harness.session.entries import find_entries
from harness.target import find_target

Processes = Annotated[int, "Fresh processes to time in.", typer.Option(min=2, max=100)]
Budget = Annotated[float, "Milliseconds for a kernel in a process, at most.", typer.Option(min=1.0)]
Seconds = Annotated[float | None, "Begin no kernel after so long.", typer.Option(min=1.0)]
Every = Annotated[float, "Hours from one of the --sessions to the next.", typer.Option(min=0.0)]


@command(table=True, only=True)
def calibrate(
    answer: Answer,
    graphs: Graphs = None,
    suite: Suite = "default",
    processes: Processes = 6,
    budget: Budget = 200.0,
    seconds: Seconds = None,
    resume: Annotated[bool, "Continue this machine's last interrupted one."] = False,
    show: Annotated[bool, "Print the newest one again; measure nothing."] = False,
    sessions: Annotated[
        int | None,
        "Take so many whole measurements, slowing nothing down, and report how many tables "
        "are false over all that is recorded; 0: measure nothing.",
        typer.Option(min=0, max=1000),
    ] = None,
    every: Every = 1.0,
    jobs: Jobs = None,
    commit: Commit = None,
    everything: Annotated[bool, "Print every kernel.", typer.Option("--all")] = False,
) -> int:
    """Measure how far this machine's verdicts can be trusted.

    Every distinct kernel is timed against itself (a verdict other than SAME or UNSURE is a false
    alarm) and against itself with a spin of known length behind it (1, 2, 5, 10 % of its time),
    interleaved, in fresh processes, and judged as `harness compare` judges. What is found is kept
    below the results folder; `harness run` prints the smallest detectable change beside each
    figure from then on. Ctrl-C keeps what was measured; --resume goes on. Needs a GPU.

    \b
    harness calibrate llama_block_forward --processes 4
    harness calibrate --resume
    harness calibrate --sessions 8 --every 3
    """
    options = dataclasses.replace(
        answer.options, commit=commit or answer.options.commit, jobs=jobs or answer.options.jobs
    )
    if sessions == 0 and (graphs or answer.only):
        raise UsageError("--sessions 0 judges all that is recorded", remedy="choose no kernels")

    def tell(found: Calibration, path: Path) -> None:
        answer.tell(calibration_report(found, path, everything=everything, only=answer.only))

    if show:
        path = calibrations.latest(options.results)
        tell(calibrations.load(path), path)
        return FINE
    effort = Effort(processes, budget, seconds=seconds)

    @functools.cache  # for all sessions: they hold the same kernels, and compiling takes seconds
    def choose() -> list[Subject]:
        from harness.runtime.device import current_target

        entries = find_entries(options, suite, graphs or (), current_target())
        return run.candidates(entries, answer.only)

    measure = functools.partial(_calibrate, answer, options, choose, suite, effort)
    if sessions is None:
        return measure(tell, resume=resume)
    return _sessions(answer, options.results, sessions, every, measure)


def _sessions(
    answer: Answer, results: Path, sessions: int, every: float, measure: Callable[..., int]
) -> int:
    """Measure as a whole so many times, ``every`` so many hours; what all recorded ones say, also
    where waiting is interrupted."""
    status = FINE
    for left in range(sessions - 1, -1, -1):
        begun = time.monotonic()
        status = measure(
            lambda _, path: output.note(f"measured: {path}"), folder=calibrations.SESSIONS
        )
        if status != FINE:
            break
        try:
            time.sleep(max(0.0, 3600 * every - (time.monotonic() - begun)) if left else 0.0)
        except KeyboardInterrupt:
            status = INTERRUPTED
            break
    with answer.progress("judging all that were recorded"):
        found = rehearsed(results, Rules())
    answer.tell(sessions_report(found, Rules()))
    return status


def _calibrate(
    answer: Answer,
    options: Options,
    choose: Callable[[], list[Subject]],
    suite: str,
    effort: Effort,
    tell: Callable[[Calibration, Path], None],
    *,
    folder: str = "",
    resume: bool = False,
) -> int:
    """Calibrate with the kernels of ``suite`` that ``choose`` answers, keep it in the machine's
    ``folder``, print it; the exit status."""
    from harness.runtime.device import require

    require()
    find_target(options.target)
    rules, opened = Rules(), list[tuple[DeviceFacts, Kept[Cell]]]()

    def keep(device: DeviceFacts) -> Kept[Cell]:
        place = options.results / device.machine.key / folder
        opened.append((device, calibrations.kept(place, resume)))
        return opened[0][1]

    cause: KeyboardInterrupt | NoDevice | None = None
    with answer.cache() as cache, answer.progress("compiling") as bar:
        chosen = choose()
        try:
            run.measure(chosen, not folder, effort, cache, options.jobs, keep, bar.update)
        except (KeyboardInterrupt, NoDevice) as error:
            cause = error
    if not opened:
        if isinstance(cause, NoDevice):
            raise cause
        output.note("interrupted; nothing had been measured yet")
        return INTERRUPTED
    ((device, kept),) = opened
    commit = commit_of(Path(harness.__path__[0]).parent, options.commit).name
    name = kept.path.stem.removeprefix(calibrations.PREFIX)
    start = run.header(name, device, suite, commit, effort, rules)
    found = run.conclude(start, chosen, list(kept.values()), rules)
    path = calibrations.save(kept.path.parent, found)
    if found.complete or folder:
        kept.clear()
    kept.close()
    tell(found, path)
    if isinstance(cause, KeyboardInterrupt):
        more = "" if folder else "; go on: the same with --resume"
        output.note(f"interrupted; what had been measured is kept in {path}{more}")
        return INTERRUPTED
    if cause is not None:
        output.note(f"{cause}; what had been measured is kept in {path}")
    return FAILED if cause is not None or found.failed else FINE
