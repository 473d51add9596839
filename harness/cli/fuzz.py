"""``harness fuzz``: random programs through ``torch.compile(backend="harness")``."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.command import FAILED, FINE, Answer, command
from harness.report.output import Report, emit
from harness.table import Text

if TYPE_CHECKING:
    from harness.conformance.fuzz import Finding


@command
def fuzz(
    answer: Answer,
    seconds: Annotated[float, typer.Option(min=1.0, help="How long to go on.")] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="Number of the first program.")] = 0,
    programs: Annotated[
        int | None,
        typer.Option(min=1, help="How many programs at most.", show_default=False),
    ] = None,
) -> int:
    """Compile random programs and compare them with eager mode, on the CPU by the interpreter.

    Values, types, strides, shared memory and changed arguments have to be the same, gradients
    too, and no part may fall back to torch because the compiler failed. Each program that goes
    wrong is printed as a few lines that show it. Exit status 1 if there is one.

    \b
    harness fuzz --seconds 600 --seed 1000
    harness fuzz --programs 40
    """
    from harness.backend import Devices
    from harness.conformance import fuzz as fuzzing

    began = time.monotonic()
    with answer.cache() as folder, closing(Devices(cache=folder)) as devices:
        shown = None if answer.quiet else _show
        tally = fuzzing.fuzz(devices, seed, seconds, programs, shown)
    took, right = time.monotonic() - began, tally.programs - len(tally.findings)
    summary = Text(
        f"programs {seed} to {seed + tally.programs - 1}: {right} of {tally.programs} right, "
        f"{tally.kernels} kernels, {tally.library_calls} library calls, {took:.0f} s"
    )
    document = {
        "seed": seed,
        "seconds": took,
        "programs": tally.programs,
        "kernels": tally.kernels,
        "library_calls": tally.library_calls,
        "findings": [
            {"seed": f.seed, "program": f.program.reproducer, "faults": list(f.lines)}
            for f in tally.findings
        ],
    }
    answer.tell(Report(lambda: [summary], lambda: document))
    return FAILED if tally.findings else FINE


def _show(finding: Finding) -> None:
    emit(f"# program {finding.seed}")
    emit(finding.program.reproducer)
    for line in finding.lines:
        emit(f"# {line}")
