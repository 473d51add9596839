"""Torch's operators by name: what becomes of them, and a run that goes on where one stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.backend import Devices
from harness.conformance.operators import Case, Row, cases, run, try_operator

pytest.importorskip("expecttest")


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("logaddexp", "generated"),
        ("transpose", "views only"),
        ("linalg.inv", "library"),
        ("complex", "library"),
    ],
)
def test_categories(devices: Devices, name: str, category: str) -> None:
    assert try_operator(Case(name), 1, devices).category == category


def test_gradients_and_other_types(devices: Devices) -> None:
    known = set(cases(("float32", "bool"), backward=True))
    assert {Case("sin"), Case("sin", backward=True), Case("sin", "bool")} <= known
    assert Case("sin", "bool", backward=True) not in known
    row = try_operator(Case("masked.sum", "float32", backward=True), 3, devices)
    assert (row.category, row.samples) == ("generated", 3)
    assert try_operator(Case("sin", "bool"), 0, devices).category == "generated"


def test_a_run_goes_on_where_another_stopped(tmp_path: Path) -> None:
    journal = tmp_path / "rows.jsonl"
    known = Row("abs", "generated", "", 1)
    journal.write_text(json.dumps({"operator": "abs", "category": "generated", "reason": "",
                                   "samples": 1}) + "\n")  # fmt: skip
    with journal.open("a") as file:
        file.write('{"operator": "sin", "catego')  # killed while it wrote
    wanted = [Case("abs"), Case("sin")]
    assert set(wanted) < set(cases())
    rows = list(run(wanted, 1, 1, tmp_path, journal))
    assert rows == [known, Row("sin", "generated", "", 1)]
    assert len(journal.read_text().splitlines()) == 2
    assert list(run(wanted, 1, 1, tmp_path, journal)) == rows
