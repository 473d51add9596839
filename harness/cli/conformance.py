"""``harness conformance``: torch's operators through ``torch.compile(backend="harness")``."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.command import FAILED, FINE, Answer, command
from harness.report.output import Report
from harness.table import Block, Column, Fit, Table, Text


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
