"""Answers in the forms that other programs read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.options import from_environment
from harness.report import output
from harness.report.kernels import run_report
from harness.report.output import Case, Progress, Watch, junit_text
from tests.history.examples import run


def test_cases_are_read_by_a_junit_parser() -> None:
    junitparser = pytest.importorskip("junitparser")
    cases = [
        Case("block", "mul", seconds=1.5e-6),
        Case("block", "sum <&>", failure='B÷A 1.07 "slower"', text="XBLOCK 1 → 2\n\x1b[31m"),
        Case("other", "cat", skipped="not timed"),
    ]
    block, other = junitparser.JUnitXml.fromstring(junit_text(cases).encode())
    assert (block.name, block.tests, block.failures, block.skipped) == ("block", 2, 1, 0)
    assert (other.name, other.tests, other.failures, other.skipped) == ("other", 1, 0, 1)
    fine, slower = block
    assert fine.is_passed and fine.time == pytest.approx(1.5e-6)
    assert slower.name == "sum <&>"
    (failure,) = slower.result
    assert failure.message == 'B÷A 1.07 "slower"' and failure.text == "XBLOCK 1 → 2\n\\x1b[31m"
    (skipped,) = next(iter(other)).result
    assert skipped.message == "not timed"


def test_a_run_has_a_case_for_every_kernel() -> None:
    made = run()
    cases = run_report(made, None).cases()
    kernels = [(g.name, k.name) for g in made.graphs for k in g.kernels]
    assert [(c.suite, c.name) for c in cases if c.suite != c.name] == kernels
    broken = {g.name for g in made.graphs if g.failed}
    assert broken == {c.suite for c in cases if c.failure}


@pytest.mark.parametrize(
    ("watch", "lines"), [(Watch.VERBOSE, 2), (Watch.USUAL, 0), (Watch.QUIET, 0)]
)
def test_steps_are_lines_where_they_are_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, watch: Watch, lines: int
) -> None:
    with output.progress("starting", from_environment({}, tmp_path), watch) as bar:
        for done, title in enumerate(["compiling a", "compiling a", "examining \x1b b"]):
            bar.update(title, done, 3)
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.splitlines()) == lines
    if lines:
        assert "s] compiling a (0 of 3)" in said.err and "examining \\x1b b (2 of 3)" in said.err


def test_of_how_much_is_said_where_it_is_known(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with output.progress("starting", from_environment({}, tmp_path), Watch.VERBOSE) as bar:
        bar.update("judging the series")
    assert capsys.readouterr().err.endswith("s] judging the series\n")
    console = Console(file=io.StringIO(), force_terminal=True, width=160)
    with Progress("starting", console).shown() as bar:
        bar.update("judging the series")
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "judging the series" in shown and "0/?" in shown and "0/0" not in shown


def test_a_bar_says_how_long_still_and_what_took_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    console = Console(file=io.StringIO(), force_terminal=True, width=160)
    with Progress("starting", console).shown() as bar:
        for seconds, title in ((1.0, "timing a"), (9.0, "timing b"), (1.0, "timing c")):
            bar.update(title, int(now[0]), 20)
            now[0] += seconds
        bar.update("timing d", 11, 20)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "timing d" in shown and "11/20" in shown and "left" in shown
    assert "longest: timing b 9 s" in shown
