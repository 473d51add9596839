"""Fuzzing: random programs through the backend against eager mode."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences, outcome
from harness.conformance.programs import Program, make_program
from harness.errors import FallbackWarning


@dataclass(frozen=True, slots=True)
class Finding:
    """A program that went wrong, made as small as it still does: the lines that say how."""

    seed: int
    program: Program
    lines: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    """How many programs were tried; kernels and library calls that they became."""

    programs: int = 0
    kernels: int = 0
    library_calls: int = 0
    findings: list[Finding] = field(default_factory=list)


def faults(program: Program, devices: Devices, tally: Tally | None = None) -> tuple[str, ...]:
    """What is wrong with the compiled ``program``: results that differ, and regions or graphs
    that torch had to run because the compiler failed."""
    function, args = program.load()
    compiler = Compiler(devices=devices)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("ignore", FallbackWarning)
        if isinstance(outcome(function, args)[0], Exception):
            return ()  # gradients that eager mode does not have
        lines = differences(function, args, compiler, signed_zeros=program.signed_zeros)
    for report in compiler.reports:
        lines += [*report.failures, *filter(None, [report.eager])]
        if tally is not None:
            tally.kernels += report.kernels
            tally.library_calls += report.library_call_count
    return tuple(lines)


def shrunk(program: Program, wrong: Callable[[Program], bool], most: int = 60) -> Program:
    """``program`` without what is not needed for being ``wrong``, after ``most`` tries at most."""
    tried = {program}
    again = True
    while again:
        again = False
        for smaller in program.smaller():
            if smaller in tried or len(tried) > most:
                continue
            tried.add(smaller)
            if wrong(smaller):
                program, again = smaller, True
                break
    return program


def fuzz(
    devices: Devices,
    seed: int,
    seconds: float,
    programs: int | None = None,
    found: Callable[[Finding], None] | None = None,
) -> Tally:
    """Try the programs of ``seed``, ``seed + 1`` … for ``seconds``, ``programs`` at most.
    ``found`` is called with every finding."""
    tally, end = Tally(), time.monotonic() + seconds
    while time.monotonic() < end and tally.programs != programs:
        number = seed + tally.programs
        program = make_program(number)
        lines = faults(program, devices, tally)
        tally.programs += 1
        if lines:
            kind = _kind(lines)
            small = shrunk(program, lambda p, kind=kind: _kind(_safely(p, devices)) == kind)  # type: ignore[misc]
            finding = Finding(number, small, _safely(small, devices))
            tally.findings.append(finding)
            if found is not None:
                found(finding)
    return tally


def _kind(lines: tuple[str, ...]) -> str:
    """What sort of fault it is: shrinking keeps to it."""
    if not lines:
        return ""
    return "raises" if "compiled:" in lines[0] else "region" if "graph0" in lines[0] else "differs"


def _safely(program: Program, devices: Devices) -> tuple[str, ...]:
    """The faults; none of a program that eager mode refuses to make."""
    try:
        function, args = program.load()
        function(*args)
        return faults(program, devices)
    except Exception:  # noqa: BLE001 - shrinking makes programs that mean nothing
        return ()
