"""``harness conformance`` and ``harness fuzz``: torch's operators, and random programs, through
``torch.compile(backend="harness")``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from harness.cli.command import FAILED, FINE, INTERRUPTED, Answer, command
from harness.errors import unknown
from harness.records.names import is_chosen
from harness.report.output import Report, emit, note
from harness.table import Block, Column, Fit, Table, Text, plural

if TYPE_CHECKING:
    from harness.conformance.fuzz import Trial

R = TypeVar("R")
_JOBS = Annotated[int, "Worker processes.", typer.Option("--jobs", "-j", min=1)]
_JOURNAL = Annotated[Path | None, "Go on where an earlier run stopped: its rows are in this file."]
_SECONDS = Annotated[float, "How long to go on.", typer.Option(min=1.0)]
_DEVICE = Annotated[Literal["cpu", "cuda"], "Where tensors are; cpu: in the interpreter."]


def _require(device: str) -> None:
    if device == "cuda":
        from harness.runtime.device import require

        require()


def _gathered(rows: Iterable[R], end: float, hear: Callable[[R, int], None]) -> tuple[list[R], int]:
    """The ``rows`` that come before ``end`` or Ctrl-C, after each of which ``hear`` gets it and how
    many there are; and the exit status so far. Hours of rows are an answer, whatever ends them."""
    found: list[R] = []
    try:
        for row in rows:
            found.append(row)
            hear(row, len(found))
            if time.monotonic() > end:
                break
    except KeyboardInterrupt:
        if not found:
            raise
        note(f"interrupted after {len(found)}: what they showed")
        return found, INTERRUPTED
    return found, FINE


@command(table=True, only=True)
def conformance(
    answer: Answer,
    samples: Annotated[int, "Inputs tried of each; 0: all.", typer.Option(min=0)] = 1,
    dtype: Annotated[
        list[str] | None, "Element type, may be repeated; all: five of them. [default: float32]"
    ] = None,
    backward: Annotated[bool, "And with gradients."] = False,
    seconds: _SECONDS = 86_400.0,
    jobs: _JOBS = 2,
    journal: _JOURNAL = None,
    device: _DEVICE = "cpu",
) -> int:
    """Compile every operator of torch's test database and compare it with eager mode.

    Says of each whether kernels are generated, which library calls there are, whether torch
    runs it and why, and what is wrong. Exit status 1 if anything is wrong or raises.

    \b
    harness conformance --jobs 8 --journal rows.jsonl
    harness conformance --samples 0 --dtype all --backward
    harness conformance -k 'linalg*'
    """
    end = time.monotonic() + seconds
    with answer.cache() as folder, answer.progress("starting") as progress:
        from harness.conformance import operators  # imports torch's tests

        _require(device)
        types = [t for d in dtype or ["float32"] for t in (operators.DTYPES if d == "all" else [d])]
        cases = operators.cases(types, backward=backward)
        wanted = [case for case in cases if is_chosen(answer.only, case.operator)]
        if not wanted:
            names = dict.fromkeys(case.operator for case in cases)
            what, remedy = "no operator of the database is called so", "leave -k out to try all"
            raise unknown(what, " ".join(answer.only), names, "-k", remedy)
        progress.update("operators", 0, len(wanted))
        rows, status = _gathered(
            operators.run(wanted, samples, jobs, folder, journal, device),
            end,
            lambda row, count: progress.update(row.operator, count, len(wanted)),
        )
    order = operators.CATEGORIES.index
    rows.sort(key=lambda row: (order(row.category), row.operator, row.dtype, row.backward))
    counts = Counter(row.category for row in rows)
    summary = ", ".join(f"{counts[name]} {name}" for name in operators.CATEGORIES if counts[name])
    documents = [asdict(row) for row in rows]
    tried = f"{plural(len(rows), 'case')}, {plural(sum(row.samples for row in rows), 'input')}"
    blocks: list[Block] = [Table(_COLUMNS, documents), Text(f"{tried}: {summary}")]
    answer.tell(Report(lambda: blocks, lambda: {"operators": documents}, lambda: documents))
    return status or (FAILED if counts["wrong"] or counts["error"] else FINE)


_COLUMNS = (
    Column("operator", lambda row: row["operator"]),
    Column("type", lambda row: row["dtype"] + (" backward" if row["backward"] else "")),
    Column("category", lambda row: row["category"]),
    Column("reason", lambda row: row["reason"], fit=Fit.BELOW),
)


@command
def fuzz(
    answer: Answer,
    seconds: _SECONDS = 60.0,
    seed: Annotated[int, "Number of the first program.", typer.Option(min=0)] = 0,
    programs: Annotated[
        int, "How many programs at most.", typer.Option("--programs", "--count", min=1)
    ] = 100_000,
    jobs: _JOBS = 1,
    journal: _JOURNAL = None,
    device: _DEVICE = "cpu",
) -> int:
    """Compile random programs and compare them with eager mode.

    Values, types, strides, shared memory and changed arguments have to be the same, gradients
    too, and no part may fall back to torch because the compiler failed. Each program that goes
    wrong is printed as a few lines that show it. Exit status 1 if there is one.

    \b
    harness fuzz --seconds 600 --seed 1000
    harness fuzz --jobs 16 --count 10000 --seconds 3600 --journal fuzz.jsonl
    """
    began = time.monotonic()
    with answer.cache() as folder, answer.progress("starting") as progress:
        from harness.conformance import fuzz as fuzzing  # imports torch

        _require(device)

        def hear(trial: Trial, count: int) -> None:
            if trial.faults and not answer.quiet:
                text = (f"# program {trial.seed}", trial.program)
                emit("\n".join((*text, *(f"# {line}" for line in trial.faults))))
            progress.update(f"program {trial.seed}", count, programs)

        made = fuzzing.fuzz(seed, programs, jobs, folder, journal, device)
        trials, status = _gathered(made, began + seconds, hear)
    took, wrong = time.monotonic() - began, [trial for trial in trials if trial.faults]
    seeds = {t.seed for t in trials}
    begun = sorted(set(range(seed, max(seeds))) - seeds)[: jobs - 1]  # one by each other process
    document = {
        "seed": seed,
        "seconds": took,
        "programs": len(trials),
        "unfinished": begun,
        "torchs": sum(bool(t.torchs) for t in trials),
        "kernels": sum(t.kernels for t in trials),
        "library_calls": sum(t.library_calls for t in trials),
        "findings": [asdict(trial) for trial in sorted(wrong, key=lambda t: t.seed)],
    }
    summary = Text(
        f"programs {seed} to {max(seeds)}: {len(trials) - len(wrong)} of {len(trials)} right "
        f"({document['torchs']} but for what torch.compile changes with any backend), "
        f"{document['kernels']} kernels, {document['library_calls']} library calls, {took:.0f} s"
        + (f"; not finished: {', '.join(map(str, begun))}" if begun else "")
    )
    answer.tell(Report(lambda: [summary], lambda: document))
    return status or (FAILED if wrong else FINE)
