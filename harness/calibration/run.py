"""A calibration from beginning to end: choose kernels, measure what is missing, judge."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Collection, Iterable, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.calibration import record
from harness.calibration.judging import judged
from harness.calibration.record import Calibration, Cell, CellJob, Subject
from harness.devices.job import tried
from harness.devices.pool import Pool
from harness.errors import HarnessError, UsageError
from harness.measure.jobs import DeviceFacts, Effort, Follow, fresh_processes, gpu
from harness.measure.noise.judge import Rules
from harness.records.names import is_chosen
from harness.records.run import fields, one_line
from harness.runtime.compile.static import CompileJob, CompilePool
from harness.session.entries import Entry


def candidates(entries: Iterable[Entry], names: Sequence[str] = ()) -> list[Subject]:
    """The distinct kernels of ``entries``, or those that the patterns ``names`` choose. Graphs that
    cannot be compiled are left out. Raises ``UsageError`` if nothing is left."""
    found: dict[str, Subject] = {}
    for entry in entries:
        try:
            compiled = entry.compile()
        except HarnessError:
            continue
        for kernel in compiled.kernels:
            module = kernel.module
            key = module.code_hash
            if is_chosen(names, entry.name, module.name):
                found.setdefault(key, Subject(key, module.name, entry.name, module.text))
    if not found:
        raise UsageError(
            "there is no kernel to calibrate with",
            got=", ".join(names) or "no graph that compiles",
            expected="a part of a kernel's name, as harness run shows them",
            remedy="leave --kernel out to take all",
        )
    return list(found.values())


def header(
    name: str, device: DeviceFacts, suite: str, commit: str, effort: Effort, rules: Rules
) -> Calibration:
    """The calibration called ``name``, as it is known before anything is measured."""
    return Calibration(
        id=name,
        created=dt.datetime.now(dt.UTC).replace(microsecond=0).isoformat(),
        **fields(device, "machine method"),
        injection=record.CALIBRATION_METHOD,
        suite=suite,
        commit=commit,
        **fields(effort, "processes width"),
        **fields(rules, "alpha margin"),
        complete=False,
    )


def measure(
    chosen: Sequence[Subject],
    slowed: bool,
    effort: Effort,
    cache: Path,
    jobs: int,
    keep: Callable[[DeviceFacts], MutableMapping[str, Cell]],
    follow: Follow = lambda _what, _done, _total: None,
) -> None:
    """Measure what is missing of every kernel, ``slowed`` down as well; ``keep`` answers what
    there is once the device is known, and keeps everything as it comes, also if interrupted. A
    cell with a reason says that a kernel failed, which is then left out. Raises ``NoDevice``
    when the GPU is gone."""
    with Pool([gpu()], effort.job_seconds, cache) as pool:
        device: DeviceFacts = pool.open()[0]
        kept = keep(device)
        follow("compiling", 0, len(chosen))
        with CompilePool(min(jobs, len(chosen)), cache) as compilers:
            compilers.all([CompileJob(one.module_text, device.target) for one in chosen])
        known = {cell.kernel: cell.ms for cell in kept.values()}
        failed = {cell.kernel for cell in kept.values() if cell.reason}

        def asked(process: int, number: int) -> str:
            return f"{device.method} {process} {chosen[number].key}"

        def wanted(process: int, number: int) -> bool:
            done = asked(process, number) in kept
            return not done and chosen[number].key not in failed

        began, total = time.monotonic(), effort.processes * len(chosen)
        for process, order, _ in fresh_processes(pool, len(chosen), effort, wanted):
            for at, number in enumerate(order):
                follow("measuring", process * len(chosen) + at, total)
                if effort.seconds is not None and time.monotonic() - began > effort.seconds:
                    return
                if not wanted(process, number):
                    continue
                one = chosen[number]
                key = one.key
                what = (process, key, one.module_text, slowed, known.get(key, 0.0))
                how = (effort.seed + process, effort.budget_ms, effort.width)
                found = tried(pool.run, CellJob(*what, *how))
                if isinstance(found, HarnessError):
                    failed.add(key)
                    found = Cell(process, key, reason=one_line(found))
                known[key] = found.ms
                kept[asked(process, number)] = found


def conclude(
    start: Calibration, subjects: Sequence[Subject], cells: Collection[Cell], rules: Rules
) -> Calibration:
    """``start`` with what follows from the ``cells`` of ``subjects``."""
    ms = {cell.kernel: cell.ms for cell in cells if cell.ms}
    subjects = [replace(one, ms=ms.get(one.key, one.ms)) for one in subjects]
    names = {one.key: f"{one.graph}: {one.name}" for one in subjects}
    broken = {cell.kernel: cell.reason for cell in cells if cell.reason and cell.kernel in names}
    measured = {(cell.process, cell.kernel) for cell in cells if not cell.reason}
    return replace(
        judged(start, subjects, cells, rules),
        complete=len(measured) >= start.processes * (len(subjects) - len(broken)),
        failed={names[key]: reason for key, reason in broken.items()},
    )
