"""How causes and searches look (``harness why``, ``harness bisect``), and their JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.records.names import short
from harness.records.run import to_json
from harness.report.output import Report
from harness.table import Block, Column, Fit, Table, Text, paragraphs
from harness.verdicts.bisecting import Bisected, told
from harness.verdicts.why import Why

_DIFF = 60
"""Lines of a diff that a terminal shows."""


def why_report(found: Sequence[Why], *, everything: bool) -> Report:
    """The cause of each kernel: label, evidence, where it came from, commands, the code's diff."""
    return Report(
        lambda: [block for why in found for block in _why(why, everything)],
        lambda: {"why": [to_json(why) for why in found]},
    )


def _why(why: Why, everything: bool) -> Iterator[Block]:
    yield Text(f"{why.label.value.upper()}  {why.graph}  {short(why.kernel)}", style="bold")
    yield from paragraphs([f"  {line}" for line in why.evidence])
    if why.commit:
        yield Text(f"  first commit whose text differs: {why.commit}")
    if why.stage:
        yield Text(f"  first stage whose result differs: {why.stage}")
    yield from (Text(f"  look further: {command}") for command in why.commands)
    if why.diff:
        lines = why.diff.split("\n")
        shown = lines if everything else lines[:_DIFF]
        yield from (Text(), *(Text(line) for line in shown))
        if len(shown) < len(lines):
            yield Text(f"… {len(lines) - len(shown)} more lines: --all")
    yield Text()


def bisect_report(found: Bisected, causes: Sequence[Why], about: dict[str, Any]) -> Report:
    """The first bad subject, what was measured, what was skipped, and the cause. ``about`` says
    what was asked: ``kernel``, ``graph``, ``error``, ``files`` of both modules."""
    document = {**about, **to_json(found), "why": [to_json(why) for why in causes]}
    return Report(lambda: list(_bisected(found, causes, about)), lambda: document)


_STEPS = (
    Column("measured", lambda row: str(row["step"].subject), fit=Fit.SHORTEN),
    Column("verdict", lambda row: {None: "?", True: "bad", False: "good"}[row["step"].bad]),
    Column("next to GOOD", lambda row: told(row["step"]), fit=Fit.BELOW),
)


def _bisected(found: Bisected, causes: Sequence[Why], about: dict[str, Any]) -> Iterator[Block]:
    one = len(found.candidates) == 1
    if not found.measured:
        yield Text("NOT MEASURED: the commits that change the text are", style="bold")
    else:
        yield Text("FIRST BAD" if one else "FIRST BAD is one of", style="bold")
    yield from (Text(f"  {subject}", wrapped=True) for subject in found.candidates)
    yield from (
        Text(
            f"  a merge; inside it: harness bisect {about['kernel']} "
            f"$(git merge-base {s.name}^1 {s.name}^2) {s.name}^2"
        )
        for s in found.candidates
        if s.merge and one
    )
    yield Text(f"last good: {found.last_good}", wrapped=True)
    sure = f"wrong with at most {100 * about['error']:g} % chance"
    yield Text(
        f"{about['graph']}, {short(about['kernel'])}: {found.subjects} subjects, "
        f"{found.generated} generated, text differs in {len(found.changed)}, {len(found.steps)} "
        f"measured; {sure if found.measured else 'not timed'}",
        wrapped=True,
    )
    if found.steps:
        yield from (Text(), Table(_STEPS, [{"step": step} for step in found.steps]))
    yield from (Text(f"skipped: {s}: {why}", wrapped=True) for s, why in found.skipped)
    yield from (Text(f"module: {path}") for path in about["files"])
    yield Text()
    yield from (block for why in causes for block in _why(why, everything=False))
