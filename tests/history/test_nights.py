from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from harness.errors import RecordError
from harness.history import nights, store
from harness.history.nights import (
    Accepted,
    Change,
    Count,
    Finding,
    Light,
    Night,
    NightCommit,
    Toolchain,
    Trust,
    cost,
)
from harness.measure.jobs import PairSamples
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


SLOW = Finding(
    "g",
    "g.r0 n 1",
    "n",
    Change.CHANGED,
    kernel="triton_poi_n",
    ratio=1.05,
    low=1.04,
    high=1.06,
    old_us=20.0,
    new_us=21.0,
    launches=3,
    change_us=3.0,
    verdict="SLOWER",
    confirmed=True,
    config={"XBLOCK": 64},
    evidence=("registers 32 → 40",),
)
NIGHT = Night(
    "20261122-020000-abc",
    "fake gpu",
    "2026-11-22T02:00:00+00:00",
    run="20261122-020000-abc",
    commits=(NightCommit("abc", "Subject", "Author"),),
    toolchain=Toolchain("3.7", "2.12", "580", "sm_90"),
    trust=Trust("GPU", controls=3, flagged=("g/k",)),
    findings=(SLOW,),
    counts={"same": 5, "changed": 1},
    library_calls=(Count("g", "aten.mm", 0, 1, "why"),),
    seconds={"generate": 1.5},
)


def test_a_night_comes_back_as_it_was(tmp_path: Path) -> None:
    path = nights.save(tmp_path, NIGHT)
    assert path.parent == tmp_path / "fake-gpu" / "nights"
    assert nights.load(path) == NIGHT
    assert nights.nights(tmp_path) == nights.nights(tmp_path, "fake-gpu") == [path]


def test_every_field_has_a_place_in_the_file(tmp_path: Path) -> None:
    text = nights.save(tmp_path, NIGHT).read_text()
    assert all(f'"{field.name}"' in text for field in (*fields(Night), *fields(Finding)))


def test_the_light() -> None:
    assert NIGHT.light is Light.RED
    waived = replace(SLOW, waived="on purpose")
    assert replace(NIGHT, findings=(waived,)).light is Light.GREEN
    unsure = replace(SLOW, verdict="UNSURE", confirmed=False)
    assert replace(NIGHT, findings=(unsure,)).light is Light.AMBER
    assert replace(NIGHT, findings=(), not_measured=("g/k",)).light is Light.AMBER
    assert replace(NIGHT, findings=(), broken=("g does not compile",)).light is Light.RED
    assert replace(NIGHT, findings=()).light is Light.GREEN


def test_commits_are_shown_by_as_many_digits_however_many_are_known() -> None:
    known = ("0123456789abcdef" * 2 + "01234567", "0123456789ab", "20261122-020000-abcdef", "abc")
    shown = ["0123456789", "0123456789", "20261122-020000-abcdef", "abc"]
    assert [NightCommit(sha).short for sha in known] == shown


def test_what_costs_most_comes_first() -> None:
    cheap = replace(SLOW, label="m", change_us=1.0)
    assert replace(NIGHT, findings=(cheap, SLOW)).regressions == (SLOW, cheap)
    assert cost((cheap, SLOW)) == 4.0


def test_a_toolchain_differs_in_what_decides_what_executes() -> None:
    one = Toolchain("3.6", "2.11", "580", "sm_90", "3.12")
    assert one.differences(replace(one, torch="2.12", python="3.13")) == ()
    assert one.differences(replace(one, triton="3.7")) == ("triton 3.6 → 3.7",)


@pytest.mark.parametrize("text", ['{"version": 99}', "[]", "{", '{"version": 1, "id": 3}'])
def test_a_damaged_file_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "n.json"
    path.write_text(text)
    with pytest.raises(RecordError, match="a night's file"):
        nights.load(path)
