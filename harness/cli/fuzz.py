"""``harness fuzz``: random programs through ``torch.compile(backend="harness")``."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.arguments import AsJson, Debug
from harness.cli.guard import FAILED, FINE, guarded
from harness.report import output

if TYPE_CHECKING:
    from harness.conformance.fuzz import Finding


@guarded
def fuzz(
    seconds: Annotated[float, typer.Option(min=1.0, help="How long to go on.")] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="Number of the first program.")] = 0,
    programs: Annotated[
        int | None,
        typer.Option(min=1, help="How many programs at most.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
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
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-fuzz-"))
        devices = stack.enter_context(closing(Devices(cache=Path(folder))))
        tally = fuzzing.fuzz(devices, seed, seconds, programs, None if as_json else _show)
    took = time.monotonic() - began
    if as_json:
        findings = [
            {"seed": f.seed, "program": f.program.reproducer, "faults": list(f.lines)}
            for f in tally.findings
        ]
        document = {"seed": seed, "seconds": took, "programs": tally.programs}
        counts = {"kernels": tally.kernels, "library_calls": tally.library_calls}
        output.emit_json({**document, **counts, "findings": findings})
    else:
        right = tally.programs - len(tally.findings)
        output.emit(
            f"programs {seed} to {seed + tally.programs - 1}: {right} of {tally.programs} right, "
            f"{tally.kernels} kernels, {tally.library_calls} library calls, {took:.0f} s"
        )
    return FAILED if tally.findings else FINE


def _show(finding: Finding) -> None:
    output.emit(f"# program {finding.seed}")
    output.emit(finding.program.reproducer)
    for line in finding.lines:
        output.emit(f"# {line}")
