"""Answers in the forms that other programs read."""

from __future__ import annotations

import pytest

from harness.report.kernels import run_report
from harness.report.output import Case, junit_text
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
