"""``harness doctor``: what works on this machine and what to do about the rest."""

from __future__ import annotations

from dataclasses import asdict

from harness.cli.command import FAILED, FINE, Answer, command
from harness.doctor import Level, examine
from harness.report.output import Report
from harness.table import Block, Column, Fit, Row, Table


@command
def doctor(answer: Answer) -> int:
    """Say what works on this machine, what does not and why, and what to do.

    Exit status 1 if something without which nothing works is missing.

    \b
    harness doctor
    harness doctor --json
    """
    with answer.progress("starting") as bar:
        found = list(examine(answer.options, bar.update))
    rows = [{**asdict(one), "level": one.level.value} for one in found]
    table: list[Block] = [Table(_COLUMNS, rows, headed=False)]
    answer.tell(Report(lambda: table, lambda: {"findings": rows}))
    return FAILED if any(one.level is Level.BROKEN for one in found) else FINE


def _lines(row: Row) -> tuple[str, ...]:
    return row["found"], row["effect"], row["remedy"] and f"→ {row['remedy']}"


_COLUMNS = (
    Column("level", lambda row: row["level"], least=8),
    Column("subject", lambda row: row["subject"], least=18),
    Column("found", lambda row: "\n".join(filter(None, _lines(row))), fit=Fit.BELOW),
)
