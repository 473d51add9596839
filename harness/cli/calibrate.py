"""``harness calibrate``: this machine's false alarms, and the slowdowns it can find."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from harness.cli.arguments import Commit, Graphs, Jobs, Suite
from harness.cli.command import FAILED, FINE, INTERRUPTED, Answer, command
from harness.report import output

if TYPE_CHECKING:
    from harness.calibration.record import Calibration
    from harness.calibration.store import CalibrationJournal
    from harness.measure.jobs import DeviceFacts, Effort
    from harness.measure.noise.judge import Rules
    from harness.options import Options


Processes: TypeAlias = Annotated[
    int, typer.Option(min=2, max=100, help="Fresh processes to time in.")
]
Budget: TypeAlias = Annotated[
    float, typer.Option(min=1.0, help="Milliseconds for a kernel in a process, at most.")
]
Seconds: TypeAlias = Annotated[
    float | None, typer.Option(min=1.0, help="Begin no kernel after so long.", show_default=False)
]
Resume: TypeAlias = Annotated[
    bool, typer.Option("--resume", help="Go on with the last one that was interrupted.")
]
Show: TypeAlias = Annotated[
    bool, typer.Option("--show", help="Print the newest one again; measure nothing.")
]


@command(table=True, only=True)
def calibrate(
    answer: Answer,
    graphs: Graphs = None,
    suite: Suite = "default",
    processes: Processes = 6,
    budget: Budget = 200.0,
    seconds: Seconds = None,
    resume: Resume = False,
    show: Show = False,
    jobs: Jobs = None,
    commit: Commit = None,
    everything: Annotated[bool, typer.Option("--all", help="Print every kernel.")] = False,
) -> int:
    """Measure how honest this machine's verdicts are.

    Every distinct kernel is timed against itself (a verdict other than SAME or UNSURE is a false
    alarm) and against itself with a spin of known length behind it (1, 2, 5, 10 % of its time),
    interleaved, in fresh processes, and judged as `harness compare` judges. What is found is kept
    below the results folder; `harness run` prints the smallest detectable change beside each
    figure from then on. Ctrl-C keeps what was measured; --resume goes on. Needs a GPU.

    \b
    harness calibrate llama_block_forward --processes 4
    harness calibrate --resume
    harness calibrate --show --all
    """
    options = answer.options
    if commit is not None:
        options = dataclasses.replace(options, commit=commit)
    options = dataclasses.replace(options, jobs=jobs or options.jobs)
    answer = dataclasses.replace(answer, options=options)
    if show:
        return _show(answer, everything)
    from harness.measure.jobs import Effort
    from harness.measure.noise.judge import Rules
    from harness.runtime.device import require

    request = _Request(suite, tuple(graphs or ()), answer.only, resume)
    journal = _unfinished(options) if resume else None
    require()
    effort = Effort(processes, budget, seconds=seconds)
    if journal is not None:
        effort = dataclasses.replace(effort, processes=journal.header.processes)
    return _calibrate(answer, request, effort, Rules(), journal, everything)


@dataclasses.dataclass(frozen=True, slots=True)
class _Request:
    """What to calibrate with."""

    suite: str
    graphs: tuple[str, ...]
    kernels: tuple[str, ...]
    resume: bool


def _show(answer: Answer, everything: bool) -> int:
    from harness.calibration import store as calibrations
    from harness.errors import UsageError

    results = answer.options.results
    path = calibrations.latest(results)
    if path is None:
        raise UsageError(
            "no machine has been calibrated yet",
            where=str(results),
            remedy="harness calibrate, on a machine with a GPU",
        )
    _tell(answer, calibrations.load(path), path, everything)
    return FINE


def _unfinished(options: Options) -> CalibrationJournal:
    from harness.calibration import store as calibrations
    from harness.errors import UsageError

    found = calibrations.unfinished(options.results)
    if not found:
        raise UsageError(
            "there is no interrupted calibration",
            where=str(options.results),
            remedy="leave --resume out to begin one",
        )
    return calibrations.CalibrationJournal.open(found[-1])


def _calibrate(
    answer: Answer,
    request: _Request,
    effort: Effort,
    rules: Rules,
    journal: CalibrationJournal | None,
    everything: bool,
) -> int:
    from harness.calibration import run
    from harness.errors import NoDevice
    from harness.runtime.device import current_target
    from harness.session.entries import find_entries
    from harness.target import find_target

    options = answer.options
    find_target(options.target)
    kept: list[CalibrationJournal] = [] if journal is None else [journal]
    with answer.cache() as cache, answer.progress("compiling") as bar:
        entries = find_entries(options, request.suite, request.graphs, current_target())
        chosen = run.candidates(entries, request.kernels)
        cause: KeyboardInterrupt | NoDevice | None = None
        try:
            run.measure(
                chosen,
                effort,
                cache,
                options.jobs,
                lambda device: _opened(kept, device, options, request, effort, rules),
                bar.update,
            )
        except (KeyboardInterrupt, NoDevice) as error:
            cause = error
    if not kept:
        if isinstance(cause, NoDevice):
            raise cause
        output.note("interrupted; nothing had been measured yet")
        return INTERRUPTED
    found, path = _concluded(kept[0], options.results, len(chosen), rules)
    _tell(answer, found, path, everything)
    return _status(cause, found, path)


def _opened(
    kept: list[CalibrationJournal],
    device: DeviceFacts,
    options: Options,
    request: _Request,
    effort: Effort,
    rules: Rules,
) -> CalibrationJournal:
    """The journal: the one that goes on, or a new one."""
    import harness
    from harness.calibration import run
    from harness.calibration.store import CalibrationJournal
    from harness.errors import UsageError
    from harness.records.machine import commit_of

    if not kept:
        commit = commit_of(Path(harness.__path__[0]).parent, options.commit)
        head = run.header(device.machine, device.method, request.suite, commit.name, effort, rules)
        kept.append(CalibrationJournal.start(options.results, head))
        return kept[0]
    before = kept[0].header
    if (before.machine.key, before.method) != (device.machine.key, device.method):
        raise UsageError(
            "the interrupted calibration was measured elsewhere, or in another way",
            where=str(kept[0].path),
            got=f"{device.machine.key}, {device.method}",
            expected=f"{before.machine.key}, {before.method}",
            remedy="leave --resume out to begin a new one",
        )
    return kept[0]


def _concluded(
    journal: CalibrationJournal, results: Path, wanted: int, rules: Rules
) -> tuple[Calibration, Path]:
    from harness.calibration import run
    from harness.calibration import store as calibrations

    head = journal.header
    earlier = calibrations.newest(results, head.machine.key, head.method, but=head.id)
    found = run.conclude(journal, wanted, rules, earlier)
    return found, journal.finish(found)


def _tell(answer: Answer, found: Calibration, path: Path, everything: bool) -> None:
    from harness.report.calibration import calibration_report

    answer.tell(calibration_report(found, path, everything=everything, only=answer.only))


def _status(cause: BaseException | None, found: Calibration, path: Path) -> int:
    if isinstance(cause, KeyboardInterrupt):
        output.note(f"interrupted; what had been measured is kept in {path}; go on: --resume")
        return INTERRUPTED
    if cause is not None:
        output.note(f"{cause}; what had been measured is kept in {path}")
        return FAILED
    return FAILED if found.failed else FINE
