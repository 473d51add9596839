from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from harness.errors import RecordError
from harness.records import night as nights
from harness.records.night import (
    Change,
    Count,
    Finding,
    Light,
    Night,
    NightCommit,
    Toolchain,
    Trust,
)

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
    assert replace(NIGHT, findings=(cheap, SLOW)).change_us == 4.0


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
