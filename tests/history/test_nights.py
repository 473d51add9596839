from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import RecordError
from harness.history import nights, store
from harness.history.nights import Accepted
from harness.measure.jobs import PairSamples
from harness.records.night import Toolchain
from harness.records.run import Run
from harness.records.timing import Samples
from tests.history.examples import MACHINE, run

ACCEPTED = Accepted("20260102-030405-abcdef123456", "abc", "me", "2026-01-02", "the first")


def test_who_accepted_what_and_why_is_kept(tmp_path: Path) -> None:
    assert nights.read_baseline(tmp_path) is None
    nights.accept(tmp_path, ACCEPTED)
    second = replace(ACCEPTED, run="later", why="on purpose")
    assert nights.accept(tmp_path, second).earlier == (ACCEPTED,)
    third = nights.accept(tmp_path, replace(ACCEPTED, run="third"))
    assert third.earlier == (second, ACCEPTED)
    assert nights.read_baseline(tmp_path) == third


def test_a_damaged_baseline_is_said(tmp_path: Path) -> None:
    (tmp_path / nights.BASELINE).write_text("{")
    with pytest.raises(RecordError, match="the baseline cannot be read") as said:
        nights.accept(tmp_path, ACCEPTED)
    assert said.value.remedy.startswith("restore it, or remove it"), "accepting reads it too"


def test_an_accepted_run_that_is_gone_is_said(tmp_path: Path) -> None:
    nights.accept(tmp_path / MACHINE.key, ACCEPTED)
    with pytest.raises(RecordError, match="no such run file"):
        nights.find_baseline(tmp_path, MACHINE, "sm_90")


def test_which_run_is_the_baseline(tmp_path: Path) -> None:
    target = "sm_90"
    assert nights.find_baseline(tmp_path, MACHINE, target)[1].startswith("no earlier run")
    first = run(dirty=False)
    store.save(tmp_path, first)
    store.save(tmp_path, run("20260103-030405-abcdef123456"))
    found, said = nights.find_baseline(tmp_path, MACHINE, target)
    assert (found.id, found.graphs) == (first.id, first.graphs), "not the one of a changed tree"
    assert "no run was accepted yet" in said
    nights.accept(tmp_path / MACHINE.key, ACCEPTED)
    assert nights.find_baseline(tmp_path, MACHINE, target) == (first, "")
    driver = replace(MACHINE, key="testgpu-2.0", driver="2.0")
    assert nights.find_baseline(tmp_path, driver, target)[0] == first
    other = replace(MACHINE, key="other", gpu="Other GPU")
    assert nights.find_baseline(tmp_path, other, target)[0].graphs == ()
    laptop = replace(MACHINE, key="cpu", gpu=None)
    assert nights.find_baseline(tmp_path, laptop, target)[0] == first
    assert nights.find_baseline(tmp_path, laptop, "sm_80")[0].graphs == ()
    assert nights.find_baseline(tmp_path, other, target, first.id) == (first, "")


def test_pairs_of_a_night_that_was_killed_are_kept(tmp_path: Path) -> None:
    made_by = Toolchain("3", "2", "1", "sm_90", "3.11")
    one = PairSamples(Samples((1.0, 2.0)), Samples((3.0,), stopped="width"))
    run = Run("20260101-000000-a", "", MACHINE, "sm_90", commit="a" * 40)
    with nights.kept_pairs(tmp_path, run, made_by) as kept:
        assert kept.get("x") is None
        kept["x"] = one
    (path,) = tmp_path.glob("nights/pairs-*.jsonl")
    path.write_text(path.read_text() + '{"asked": "torn')
    with nights.kept_pairs(tmp_path, run, made_by) as kept:
        assert kept.get("x") == one
        kept["y"] = one
    assert nights.kept_pairs(tmp_path, run, replace(made_by, triton="4")).get("x") is None
    assert nights.kept_pairs(tmp_path, replace(run, commit="b" * 40), made_by).get("x") is None
    again = nights.kept_pairs(tmp_path, run, made_by)
    assert again.get("y") == one
    again.clear()
    assert not path.exists()
    path.write_text("damaged\n{}\n")
    assert nights.kept_pairs(tmp_path, run, made_by).get("x") is None
