from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.errors import UnknownName, UsageError
from harness.history import index, lookup, store
from tests.history.examples import run

NAMES = ("20260101-000000-aaaaaaa", "20260102-000000-bbbbbbb", "20260102-120000-aaaaaaa")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for name in reversed(NAMES):
        store.save(tmp_path, run(name))
    return tmp_path


def test_runs_are_listed_oldest_first(results: Path) -> None:
    assert [path.stem for path in lookup.runs(results)] == list(NAMES)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("latest", NAMES[2]),
        (NAMES[0], NAMES[0]),
        ("20260101", NAMES[0]),
        ("20260102-12", NAMES[2]),
        ("bbbbbbb", NAMES[1]),
    ],
)
def test_find(results: Path, name: str, found: str) -> None:
    assert lookup.find(results, name).stem == found


def test_a_run_of_a_clock_that_was_ahead_is_no_latest_one(results: Path) -> None:
    ahead = f"{datetime.now(UTC) + timedelta(days=3):%Y%m%d-%H%M%S}-ccccccc"
    store.save(results, run(ahead))
    assert [path.stem for path in lookup.runs(results)] == [ahead, *NAMES]
    assert lookup.find(results).stem == NAMES[2]
    assert lookup.find(results, "ccccccc").stem == ahead
    known = index.refresh(results)
    assert [(one.id, bool(one.created)) for one in known.runs][:2] == [
        (ahead, False),
        (NAMES[0], True),
    ]
    (note,) = known.notes
    assert note.startswith("1 run dated later than now, by a clock that was wrong")
    assert ahead in note


def test_a_run_made_in_another_time_zone_is_not_ahead(results: Path) -> None:
    soon = f"{datetime.now(UTC) + timedelta(hours=12):%Y%m%d-%H%M%S}-ccccccc"
    store.save(results, run(soon))
    assert lookup.find(results).stem == soon


def test_find_a_path(results: Path) -> None:
    path = lookup.runs(results)[0]
    assert lookup.find(Path("/nowhere"), str(path)) == path


def test_an_exact_name_wins_over_a_longer_one(tmp_path: Path) -> None:
    store.save(tmp_path, run("20260101"))
    store.save(tmp_path, run("20260101-2"))
    assert lookup.find(tmp_path, "20260101").stem == "20260101"


def test_an_ambiguous_beginning_names_the_candidates(results: Path) -> None:
    with pytest.raises(UsageError, match="2 runs begin like that") as caught:
        lookup.find(results, "20260102")
    assert NAMES[1] in caught.value.expected
    assert NAMES[2] in caught.value.expected


def test_of_several_nights_none_is_taken_by_itself() -> None:
    nights = [Path("x/nights/20260102-1.json"), Path("x/nights/20260102-2.json")]
    assert lookup.the_one(nights[1:], "2026", "nights") == nights[1]
    with pytest.raises(UsageError, match="2 nights begin like that"):
        lookup.the_one(nights, "2026", "nights")


def test_an_unknown_name_gets_the_nearest(results: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        lookup.find(results, "20260101-000000-aaaaaab")
    assert NAMES[0] in caught.value.expected


def test_no_runs_at_all(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no runs yet"):
        lookup.find(tmp_path)
