from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import UnknownName, UsageError
from harness.history import lookup, store
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


def test_an_unknown_name_gets_the_nearest(results: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        lookup.find(results, "20260101-000000-aaaaaab")
    assert NAMES[0] in caught.value.expected


def test_no_runs_at_all(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no runs yet"):
        lookup.find(tmp_path)
