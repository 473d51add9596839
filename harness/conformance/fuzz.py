"""Fuzzing: random programs through the backend against eager mode."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch

from harness.backend import Compiler, Devices
from harness.conformance.batch import answers, devices_of
from harness.conformance.compare import differences, draws, outcome, torchs_own
from harness.conformance.programs import Program, make_program
from harness.devices.job import Context, Job
from harness.errors import FallbackWarning

_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of the program of a seed: kernels and library calls, and what is wrong with
    it, a line for each. ``program`` is then the text of a small one that shows it. ``torchs`` are
    the lines that ``torch.compile`` without a compiler has as well."""

    seed: int
    kernels: int = 0
    library_calls: int = 0
    faults: tuple[str, ...] = ()
    torchs: tuple[str, ...] = ()
    program: str = ""


@dataclass(frozen=True, slots=True)
class TrialJob(Job):
    """Try the program of a seed, on tensors of ``device``. Answers a ``Trial``."""

    handler: ClassVar[str] = "harness.conformance.fuzz:answer"
    seed: int
    device: str = "cpu"


def faults(program: Program, devices: Devices, seed: int = 0) -> Trial:
    """What is wrong with the compiled ``program``: results that differ, and regions or graphs
    that torch had to run because the compiler failed."""
    function, args = program.load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("ignore", FallbackWarning)
        compiler = Compiler(devices=devices, eager_random=draws(function, args))
        if isinstance(outcome(function, args)[0], Exception):
            return Trial(seed)  # gradients that eager mode does not have
        lines = differences(function, args, compiler, dynamic=program.dynamic)
        failed = [text for r in compiler.reports for text in (*r.failures, r.eager) if text]
        torchs = torchs_own(function, args, [*lines, *failed], dynamic=program.dynamic)
        if failed and differences(function, args, "aot_eager", dynamic=program.dynamic):
            torchs += tuple(failed)  # graphs that torch's tracing gives what they do not fit
    lines = [line for line in (*lines, *failed) if line not in torchs]
    return Trial(
        seed,
        sum(report.kernels for report in compiler.reports),
        sum(report.library_call_count for report in compiler.reports),
        tuple(lines),
        torchs,
    )


def trial(seed: int, devices: Devices, program: Program | None = None) -> Trial:
    """The program of ``seed`` tried (or ``program``), made small if it is wrong."""
    whole = program or make_program(seed)
    found = faults(whole, devices, seed)
    if not found.faults:
        return found
    kind = _kind(found.faults)
    small = shrunk(whole, lambda p: _kind(_safely(p, devices)) == kind)
    lines = _safely(small, devices)
    return Trial(
        seed, found.kernels, found.library_calls, lines or found.faults, (), small.reproducer
    )


def shrunk(program: Program, wrong: Callable[[Program], bool], most: int = 60) -> Program:
    """``program`` without what is not needed for being ``wrong``, after ``most`` tries at most,
    none of which is begun after two minutes: what is lost with its worker tells nothing."""
    tried, end = {program}, time.monotonic() + _SECONDS
    again = True
    while again:
        again = False
        for smaller in program.smaller():
            if smaller in tried or len(tried) > most or time.monotonic() > end:
                continue
            tried.add(smaller)
            if wrong(smaller):
                program, again = smaller, True
                break
    return program


def fuzz(
    first: int, programs: int, jobs: int, cache: Path, journal: Path | None, device: str = "cpu"
) -> Iterator[Trial]:
    """Try the programs of ``first``, ``first + 1`` … as they come, by ``jobs`` processes. Those in
    the ``journal`` are taken from there, and new ones added."""
    wanted = {seed: TrialJob(seed, device) for seed in range(first, first + programs)}

    def lost(seed: int, why: str) -> Trial:
        return Trial(seed, faults=(why,))  # making it again here might end this process, too

    yield from answers(wanted, Trial, lambda row: row.seed, lost, jobs, cache, journal)


def answer(context: Context, job: TrialJob) -> Trial:
    """The handler of ``TrialJob``."""
    devices, program = context.once(devices_of), make_program(job.seed)
    with nullcontext() if job.device == "cpu" else torch.device(job.device):
        return trial(job.seed, devices, program)


def _kind(lines: tuple[str, ...]) -> str:
    """What sort of fault it is: shrinking keeps to it."""
    if not lines:
        return ""
    return "raises" if "compiled:" in lines[0] else "region" if "graph0" in lines[0] else "differs"


def _safely(program: Program, devices: Devices) -> tuple[str, ...]:
    """The faults; none of a program that eager mode refuses to make."""
    try:
        with torch.device("cpu"):  # a GPU that is given nonsense to do is lost
            function, args = program.load()
            function(*args)
        return faults(program, devices).faults
    except Exception:  # noqa: BLE001 - shrinking makes programs that mean nothing
        return ()
