"""Torch's operators by name: what becomes of them, and a run that goes on where one stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backend import Devices
from harness.conformance.operators import Row, names, run, try_operator

pytest.importorskip("expecttest")


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devices]:
    made = Devices(cache=tmp_path_factory.mktemp("cache"))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("logaddexp", "generated"),
        ("transpose", "views only"),
        ("linalg.inv_ex", "library"),
        ("complex", "eager"),
    ],
)
def test_categories(devices: Devices, name: str, category: str) -> None:
    assert try_operator(name, 1, devices).category == category


def test_a_run_goes_on_where_another_stopped(tmp_path: Path) -> None:
    journal = tmp_path / "rows.jsonl"
    known = Row("abs", "generated", "", 1)
    journal.write_text(json.dumps({"operator": "abs", "category": "generated", "reason": "",
                                   "samples": 1}) + "\n")  # fmt: skip
    assert "abs" in names() and "sin" in names()
    rows = list(run(["abs", "sin"], 1, 1, tmp_path, journal))
    assert rows == [known, Row("sin", "generated", "", 1)]
    assert len(journal.read_text().splitlines()) == 2
    assert list(run(["abs", "sin"], 1, 1, tmp_path, journal)) == rows
