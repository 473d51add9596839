"""False verdicts between whole measurements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from harness.calibration.sessions import rehearsed, sentences
from harness.history import store
from harness.measure.noise.judge import Rules
from tests.history.kernels import graph, kernel, side


def measured(results: Path, number: int, board: str, slow: float = 1.0) -> None:
    """A run of 60 kernels in three processes: 1 % a day in common, 0.2 % of each kernel's own."""
    rng = np.random.default_rng(number)
    day = rng.normal(0, 0.01)
    kernels = []
    for n, ms in enumerate(np.geomspace(0.003, 0.5, 60)):
        logs = day + rng.normal(0, 0.002) + rng.normal(0, 0.001, 3) + np.log(slow) * (n in (7, 24))
        kernels.append(kernel(f"k{n}", f"n{n}", ms=list(ms * np.exp(logs))))
    one = side(graph(*kernels)).run
    store.save(
        results,
        replace(
            one,
            id=f"2026010{number}-000000-aaaaaaa",
            created=f"2026-01-0{number}T00:00:00+00:00",
            machine=replace(one.machine, gpu_uuid=board),
        ),
    )


def test_tables_between_days_and_boards_are_counted_apart(tmp_path: Path) -> None:
    for number, board in enumerate(("one", "one", "two", "two"), start=1):
        measured(tmp_path, number, board)
    found = rehearsed(tmp_path, Rules())
    assert (found.measurements, found.boards) == (4, 2)
    here, apart = found.between
    assert (here.pairs.kernels, here.tables.kernels) == (2, 20)
    assert (apart.pairs.kernels, apart.tables.kernels) == (1, 10)
    assert here.tables.found + apart.tables.found <= 2
    assert here.tables.high > 0.05, "twenty tables promise little"


def test_what_changed_all_the_same_is_a_false_table_that_names_it(tmp_path: Path) -> None:
    measured(tmp_path, 1, "one")
    measured(tmp_path, 2, "one", slow=1.5)
    found = rehearsed(tmp_path, Rules())
    assert found.between[0].pairs.found == 1
    assert found.between[0].tables.found == 1, "both are in one table"
    assert {name.split()[1] for name in found.between[0].alarmed} == {"k7", "k24"}
    assert any("g: k7" in line for line in sentences(found, Rules()))


def test_one_measurement_has_nothing_to_be_held_against(tmp_path: Path) -> None:
    measured(tmp_path, 1, "one")
    assert "no two of them" in sentences(rehearsed(tmp_path, Rules()), Rules())[-1]
