"""``harness conformance`` and ``harness fuzz``: torch's operators, and random programs, through
``torch.compile(backend="harness")``."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.command import FAILED, FINE, Answer, command
from harness.report.output import Report, emit
from harness.table import Block, Column, Fit, Table, Text

if TYPE_CHECKING:
    from harness.conformance.fuzz import Finding


@command(table=True, only=True)
def conformance(
    answer: Answer,
    samples: Annotated[int, typer.Option(min=1, help="Inputs tried of each operator.")] = 1,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Worker processes.")] = 2,
    journal: Annotated[
        Path | None,
        typer.Option(help="Go on where an earlier run stopped: its rows are in this file."),
    ] = None,
) -> int:
    """Compile every operator of torch's test database and compare it with eager mode.

    float32, on the CPU by the interpreter. Says of each whether kernels are generated, which
    library calls there are, whether torch runs it and why, and what is wrong. Exit status 1 if
    anything is wrong or raises.

    \b
    harness conformance --jobs 8 --journal rows.jsonl
    harness conformance -k 'linalg*'
    """
    import fnmatch

    from harness.conformance import operators

    wanted = [
        name
        for name in operators.names()
        if not answer.only or any(fnmatch.fnmatch(name, p) or p in name for p in answer.only)
    ]
    rows: list[operators.Row] = []
    with answer.cache() as folder, answer.progress("operators") as progress:
        for row in operators.run(wanted, samples, jobs, folder, journal):
            rows.append(row)
            progress.update(row.operator, len(rows), len(wanted))
    rows.sort(key=lambda row: (operators.CATEGORIES.index(row.category), row.operator))
    counts = Counter(row.category for row in rows)
    summary = ", ".join(f"{counts[name]} {name}" for name in operators.CATEGORIES if counts[name])
    documents = [asdict(row) for row in rows]
    blocks: list[Block] = [Table(_COLUMNS, documents), Text(f"{len(rows)} operators: {summary}")]
    answer.tell(Report(lambda: blocks, lambda: {"operators": documents}, lambda: documents))
    return FAILED if counts["wrong"] or counts["error"] else FINE


_COLUMNS = (
    Column("operator", lambda row: row["operator"]),
    Column("category", lambda row: row["category"]),
    Column("reason", lambda row: row["reason"], fit=Fit.BELOW),
)


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
