from __future__ import annotations

import dataclasses
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import RecordError
from harness.history import index, nights, prune, store
from harness.history.changes.waivers import Waiver
from harness.history.journal import Journal
from harness.history.prune import Finding, Rules, remove, survey
from tests.history.examples import MACHINE, run
from tests.history.histories import git

NOW = datetime(2026, 7, 1, tzinfo=UTC)
OLD, NEW = "2026-01-02T03:04:05+00:00", "2026-06-30T00:00:00+00:00"


def going(results: Path, rules: Rules | None = None, **others: object) -> dict[str, str]:
    """Names of the files that can go, with the reasons."""
    found = survey(results, rules or Rules(), now=NOW, **others)  # type: ignore[arg-type]
    return {f.file.name: f.reason for f in found if not f.keep}


def staying(results: Path, rules: Rules | None = None, **others: object) -> dict[str, str]:
    found = survey(results, rules or Rules(), now=NOW, **others)  # type: ignore[arg-type]
    return {f.file.name: f.keep for f in found if f.keep}


def test_a_complete_run_of_a_commit_never_goes(tmp_path: Path) -> None:
    store.save(tmp_path, run(dirty=False, created=OLD))
    assert survey(tmp_path, Rules(days=0, repeats=1), now=NOW) == []


def test_old_runs_of_no_commit_and_interrupted_ones_can_go(tmp_path: Path) -> None:
    for number, changes in enumerate(
        [
            {"dirty": True, "created": OLD},
            {"dirty": True, "created": NEW},
            {"dirty": False, "complete": False, "created": OLD},
            {"dirty": False, "complete": False, "created": NEW},
            {"dirty": True, "created": "some day"},
        ]
    ):
        store.save(tmp_path, run(f"run{number}", **changes))
    found = going(tmp_path)
    assert sorted(found) == ["run0.parquet", "run2.parquet"]
    assert "uncommitted changes, 180 days old" in found["run0.parquet"]
    assert "interrupted" in found["run2.parquet"]
    assert sorted(going(tmp_path, Rules(days=0.5))) == [f"run{i}.parquet" for i in (0, 1, 2, 3)]


def test_repeats_beyond_the_newest_can_go(tmp_path: Path) -> None:
    for number in range(4):
        store.save(tmp_path, run(f"run{number}", dirty=False))
    other = dataclasses.replace(MACHINE, key="other")
    store.save(tmp_path, run("run0", dirty=False, machine=other))
    assert sorted(going(tmp_path, Rules(repeats=2))) == ["run0.parquet", "run1.parquet"]


@pytest.mark.parametrize(
    "other",
    [
        {"method": "another"},
        {"suite": "another"},
        {"target": "sm_80"},
        {"commit": "fedcba9876543210"},
        {"machine": dataclasses.replace(MACHINE, key="other")},
        {"machine": dataclasses.replace(MACHINE, triton="0.1")},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_is_measured_otherwise_is_no_repeat(tmp_path: Path, other: dict[str, object]) -> None:
    for number in range(2):
        store.save(tmp_path, run(f"run{number}", dirty=False, **(other if number else {})))
    assert going(tmp_path, Rules(repeats=1)) == {}


def test_nothing_is_removed_that_was_not_found(tmp_path: Path) -> None:
    path = store.save(tmp_path, run("run0", created=OLD))
    kept = store.save(tmp_path, run("run1", created=NEW))
    found = survey(tmp_path, Rules(), now=NOW)
    assert path.exists()
    assert remove(found) == [path]
    assert not path.exists()
    assert kept.exists()
    assert remove(found) == []  # somebody was faster


def test_what_has_to_stay_is_not_removed(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("stays", "goes")]
    for file in files:
        file.write_text("x")
    stays = Finding(files[0], 1, "old", keep="it is under version control")
    assert remove([stays, Finding(files[1], 1, "old")]) == [files[1]]
    assert files[0].exists()


def test_a_file_that_cannot_be_removed_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(RecordError, match="cannot be removed") as caught:
        remove([Finding(folder, 0, "x")])
    assert caught.value.where == str(folder)


def test_what_version_control_holds_or_names_stays(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    results = tmp_path / "results"
    tracked = store.save(results, run("run0", created=OLD))
    store.save(results, run("run1", created=OLD))
    store.save(results, run("run2", created=OLD))
    (tmp_path / "page.md").write_text("as run1 shows\n")
    git(tmp_path, "add", str(tracked), "page.md")
    git(tmp_path, "commit", "-q", "-m", "x")
    assert sorted(going(results)) == ["run2.parquet"]
    stays = staying(results)
    assert "version control" in stays["run0.parquet"]
    assert "names it" in stays["run1.parquet"]


@pytest.mark.parametrize("missing", ["repository", "git"])
def test_everything_stays_if_git_cannot_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """A checkout that git refuses (another owner's, a damaged one) may hold the files."""
    results = tmp_path / "results"
    store.save(results, run("run0", created=OLD))
    assert sorted(going(results)) == ["run0.parquet"]
    if missing == "git":
        git(tmp_path, "init", "-q")
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        (tmp_path / ".git").write_text("gitdir: /none")
    assert going(results) == {}
    assert "cannot be told" in staying(results)["run0.parquet"]


def test_what_a_waived_change_speaks_of_stays(tmp_path: Path) -> None:
    store.save(tmp_path, run("run0", created=OLD, commit="abcdef1234567890"))
    known = Waiver(7, "", "abcdef1", "ms", "*/*", "meant")
    assert going(tmp_path, waived=(known,)) == {}
    assert "line 7" in staying(tmp_path, waived=(known,))["run0.parquet"]


def test_a_file_that_cannot_be_read_stays(tmp_path: Path) -> None:
    path = store.save(tmp_path, run(created=OLD))
    path.write_bytes(path.read_bytes()[:100])
    assert going(tmp_path, Rules(days=0)) == {}
    assert "restored" in staying(tmp_path)[path.name]


def test_remains_of_dead_writers_can_go_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    store.save(tmp_path, run(dirty=False))
    index.refresh(tmp_path)
    folder = tmp_path / MACHINE.key
    for name, age in ((".run-a.tmp", 7200), (".run-b.tmp", 10)):
        (folder / name).write_text("x")
        when = NOW.timestamp() - age
        os.utime(folder / name, (when, when))
    assert sorted(going(tmp_path)) == [".run-a.tmp"]
    assert list(staying(tmp_path)) == [".run-b.tmp"]


def test_journals_stay(tmp_path: Path) -> None:
    with Journal(tmp_path, run()) as kept:
        assert "in progress" in staying(tmp_path)[kept.journal.name]
        kept.finish()
    torn = tmp_path / MACHINE.key / "torn.journal"
    torn.write_text('{"schema": 2}\n{"x"\n{}\n')
    assert "in no run file" in staying(tmp_path)["torn.journal"]
    assert prune.survey(tmp_path / "none", Rules(), now=NOW) == []


def test_the_accepted_baseline_stays(tmp_path: Path) -> None:
    for number in range(2):
        path = store.save(tmp_path, run(f"run{number}", created=OLD))
    nights.accept(path.parent, nights.Accepted("run0", "abc", "me", OLD, "why"))
    assert sorted(going(tmp_path)) == ["run1.parquet"]
    assert staying(tmp_path) == {"run0.parquet": "nights are compared with it"}
    (path.parent / nights.BASELINE).write_text('{"run": "ru')
    with pytest.raises(RecordError, match="the baseline cannot be read"):
        going(tmp_path)
