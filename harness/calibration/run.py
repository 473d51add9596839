"""A calibration from beginning to end: choose kernels, measure what is missing, judge."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.calibration import record
from harness.calibration.judging import judged
from harness.calibration.record import Calibration, Cell, CellJob, DurationJob, Subject
from harness.calibration.store import CalibrationJournal
from harness.devices.pool import Pool
from harness.errors import HarnessError, NoDevice, UsageError
from harness.measure.jobs import DeviceFacts, Effort, fresh_processes, gpu
from harness.measure.noise.judge import Rules
from harness.records.names import is_chosen
from harness.records.run import Machine, one_line
from harness.runtime.compile.compiling import CompileJob, compile_ahead
from harness.session.entries import Entry

Follow = Callable[[str, int, int], None]
"""Hears what is being done, and how many of how many of it are done."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel to calibrate with, and its module; ``slowed`` down, too, or only as it is."""

    subject: Subject
    module_text: str
    slowed: bool = True


def candidates(
    entries: Iterable[Entry], names: Sequence[str] = (), *, slowed: bool = True
) -> list[Candidate]:
    """The distinct kernels of ``entries``, or those that the patterns ``names`` choose, to be
    measured ``slowed`` down as well. Graphs that cannot be compiled are left out. Raises
    ``UsageError`` if nothing is left."""
    found: dict[str, Candidate] = {}
    for entry in entries:
        try:
            compiled = entry.compile()
        except HarnessError:
            continue
        for kernel in compiled.kernels:
            module = kernel.module
            key = module.code_hash
            if is_chosen(names, entry.name, module.name):
                subject = Subject(key, module.name, entry.name)
                found.setdefault(key, Candidate(subject, module.text, slowed))
    if not found:
        raise UsageError(
            "there is no kernel to calibrate with",
            got=", ".join(names) or "no graph that compiles",
            expected="a part of a kernel's name, as harness run shows them",
            remedy="leave --kernel out to take all",
        )
    return list(found.values())


def header(
    machine: Machine, method: str, suite: str, commit: str, effort: Effort, rules: Rules
) -> Calibration:
    """A calibration that starts now."""
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    return Calibration(
        id=f"{now:%Y%m%d-%H%M%S}",
        created=now.isoformat(),
        machine=machine,
        method=method,
        injection=record.CALIBRATION_METHOD,
        suite=suite,
        commit=commit,
        processes=effort.processes,
        width=effort.width,
        alpha=rules.alpha,
        margin=rules.margin,
        complete=False,
    )


def measure(
    chosen: Sequence[Candidate],
    effort: Effort,
    cache: Path,
    jobs: int,
    keep: Callable[[DeviceFacts], CalibrationJournal],
    follow: Follow = lambda _what, _done, _total: None,
    handlers: Mapping[str, str] | None = None,
) -> CalibrationJournal:
    """Measure what is missing of every kernel; ``keep`` opens the journal once the device is
    known. Everything is kept as it comes, also when this is interrupted. A cell with a reason says
    that a kernel failed, which is then left out. Raises ``NoDevice`` when the GPU is gone."""
    with Pool([gpu()], effort.job_seconds, cache, handlers) as pool:
        device: DeviceFacts = pool.open()[0]
        journal = keep(device)
        follow("compiling", 0, len(chosen))
        compile_ahead([CompileJob(one.module_text, device.target) for one in chosen], jobs, cache)
        done, known = journal.done, journal.durations
        failed: set[str] = set()

        def wanted(process: int, number: int) -> bool:
            key = chosen[number].subject.key
            return key not in failed and (process, key) not in done

        began, total = time.monotonic(), effort.processes * len(chosen)
        for process, order, _ in fresh_processes(pool, len(chosen), effort, wanted):
            for at, number in enumerate(order):
                follow("measuring", process * len(chosen) + at, total)
                if effort.seconds is not None and time.monotonic() - began > effort.seconds:
                    return journal
                if not wanted(process, number):
                    continue
                one = chosen[number]
                key = one.subject.key
                try:
                    if key not in known:
                        known[key] = pool.run(DurationJob(one.module_text))
                        journal.add(replace(one.subject, ms=known[key]))
                    journal.add(pool.run(_job(one, process, effort, known[key])))
                except NoDevice:
                    raise
                except HarnessError as error:
                    failed.add(key)
                    journal.add(Cell(process, key, reason=one_line(error)))
    return journal


def _job(one: Candidate, process: int, effort: Effort, ms: float) -> CellJob:
    levels = record.levels_for(ms) if one.slowed else ()
    how = (effort.seed + process, effort.budget_ms, effort.width)
    return CellJob(process, one.subject.key, one.module_text, levels, ms, *how)


def conclude(journal: CalibrationJournal, wanted: int, rules: Rules) -> Calibration:
    """The calibration that follows from the cells of ``journal``. ``wanted`` kernels were to be
    measured."""
    start, found = journal.header, journal.cells
    verdicts = judged(list(journal.subjects.values()), found, rules)
    measured = {(cell.process, cell.kernel) for cell in found if not cell.reason}
    broken = len({cell.kernel for cell in found if cell.reason})
    return replace(
        start,
        complete=len(measured) >= start.processes * (wanted - broken),
        modes=verdicts.modes,
        kernels=verdicts.kernels,
        failed=journal.failures,
        noise=verdicts.noise,
        medians=verdicts.medians,
    )
