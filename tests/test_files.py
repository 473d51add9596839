"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import files
from harness.errors import RecordError


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "file"
    files.write_atomically(path, b"one")
    files.write_atomically(path, b"two", mode=0o644, durable=True)
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(("own", "mode"), [(True, 0o600), (False, 0o644)])
def test_others_may_read_what_is_not_the_harness_s_own(
    tmp_path: Path, own: bool, mode: int
) -> None:
    files.write_atomically(tmp_path / "file", b"", own=own)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    files.write_atomically(path, b"one")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(RecordError, match="the disk is full"):
        files.write_atomically(path, b"two")
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_the_place_of_the_harness_s_own_file_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "entry.json"
    (path / "inside").mkdir(parents=True)
    files.write_atomically(path, b"{}")
    assert path.read_bytes() == b"{}"
    assert (tmp_path / "entry.json.aside" / "inside").is_dir(), "nothing is removed"
    mine = tmp_path / "mine"
    mine.mkdir()
    with pytest.raises(RecordError):
        files.write_atomically(mine, b"", own=False)


def other(_: Path) -> bool:
    return False


def published(path: Path, data: bytes) -> Path:
    found = files.publish(path, data, other)
    assert found is not None
    return found


def test_publishing_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.parquet"
    assert files.publish(path, b"1", other) == path
    assert published(path, b"2").name == "run-2.parquet"

    def no_links(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    assert published(path, b"3").name == "run-3.parquet"
    assert files.publish(path, b"4", lambda p: p.read_bytes() == b"2") is None, "it is there"
    assert sorted(p.read_bytes() for p in tmp_path.iterdir()) == [b"1", b"2", b"3"]


def test_names_of_folders_are_made_of_plain_characters() -> None:
    assert files.slug("NVIDIA H100 80GB HBM3", "", "580.1") == "nvidia-h100-80gb-hbm3-580.1"
    assert files.slug("../../etc") == "etc"
    assert files.slug("…") == "unknown"
    assert len(files.slug("x" * 1000)) == 100
