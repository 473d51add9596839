"""Nights simulated (scripts/nightly_worlds.py) and judged by the plan's own code."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import nightly_worlds  # noqa: E402
from nightly_worlds import CONTROLS, KINDS, Task  # noqa: E402


@pytest.mark.parametrize("world", nightly_worlds.WITHIN)
def test_a_simulated_night_is_red_for_the_kernel_that_became_slower_alone(world: str) -> None:
    first = random.randrange(10**6)
    for kind, slow in enumerate(KINDS):
        found, others = nightly_worlds.counted(Task(world, kind, 12, first, first + 5))
        assert found == 0 if slow is None else found >= 4  # heavy tails hide one of 1,540
        assert not others


def test_what_changed_and_the_controls_are_timed() -> None:
    night = nightly_worlds.sorting(12)
    controls, wanted = nightly_worlds.night_plan.to_time(night)
    assert controls == [*range(CONTROLS)]
    assert sorted(wanted) == [*range(CONTROLS, CONTROLS + 12)]
    assert not night.restructured


def test_simulated_nights_go_on_where_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Task] = []

    def simulated(tasks: list[Task], *_: object) -> list[tuple[Task, int, int]]:
        asked.extend(tasks)
        return [(task, task.end - task.first, 0) for task in tasks]

    monkeypatch.setattr(nightly_worlds, "simulated", simulated)
    given = ["nightly_worlds.py", "--world", "calm", "--keep", str(tmp_path / "nights.jsonl")]
    for nights in ("20", "50"):
        monkeypatch.setattr(sys, "argv", [*given, "--nights", nights])
        nightly_worlds.main()
    assert {(task.first, task.end) for task in asked[:3]} == {(0, 20)}
    assert {(task.first, task.end) for task in asked[3:]} == {(20, 40), (40, 50)}
    assert len(asked) == 9
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("| all | 50 / 50 / 50 | 0.0 (0.0–7.1) | 100.0 ")
