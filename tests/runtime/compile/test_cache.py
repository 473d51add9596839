"""A cache that cannot be written must not keep a run from its work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.runtime.compile.cache import exposure, process_folder, refusal, trusted, usable


def test_a_folder_that_can_be_written_is_used(tmp_path: Path) -> None:
    with usable(tmp_path / "new" / "cache") as (folder, note):
        assert folder == tmp_path / "new" / "cache"
        assert not note
    assert list(folder.iterdir()) == []


def test_one_that_cannot_is_replaced_and_the_user_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    assert refusal(file / "cache") == "Not a directory"
    with usable(file / "cache") as (folder, note):
        (folder / "x").write_text("kept for the run")
        assert str(file / "cache") in note
        assert "Not a directory" in note
    assert not folder.exists()


def test_without_caches_everything_goes_to_a_folder_that_goes_away(tmp_path: Path) -> None:
    with usable(None) as (folder, note):
        assert not note
        assert not list(folder.iterdir())
        (folder / "tuned").mkdir()
    assert not folder.exists()


def test_a_new_folder_is_its_owners_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        assert not refusal(tmp_path / "cache")
    finally:
        os.umask(old)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    shared = tmp_path / "cache"
    shared.mkdir()
    for mode in (0o770, 0o707, 0o1777):
        shared.chmod(mode)
        assert "other users may write" in refusal(shared)
    with usable(shared) as (folder, note):
        assert folder != shared and folder.stat().st_mode & 0o777 == 0o700
        assert note.count("other users may write") == 1
    shared.chmod(0o755)
    assert not refusal(shared)


def test_a_file_where_one_of_its_folders_belongs_is_named(tmp_path: Path) -> None:
    (tmp_path / "triton").write_text("in the way")
    assert refusal(tmp_path) == "triton in it is a file, not a folder"


def test_for_a_whole_process_there_is_one_warning(tmp_path: Path) -> None:
    assert trusted(tmp_path) == tmp_path
    shared = tmp_path / "cache"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="other users may write") as caught:
        assert trusted(shared) == process_folder()
    assert len(caught) == 1


def test_a_folder_of_somebody_else_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    if tmp_path.stat().st_uid == 0:
        os.chown(tmp_path, 12345, -1)
    assert "belongs to another user" in exposure(tmp_path)


def test_nor_one_below_a_folder_in_which_others_rename(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    (parent / "cache").mkdir(parents=True)
    parent.chmod(0o777)
    assert "may replace" in refusal(parent / "cache")
    parent.chmod(0o1777)  # as /tmp: each may rename only what is their own
    assert not refusal(parent / "cache")


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb"])
def test_a_path_that_the_assembler_cannot_read_is_named(tmp_path: Path, name: str) -> None:
    assert "assembler reads no path with" in refusal(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_the_folder_of_a_process_is_private_new_and_goes_with_it() -> None:
    text = (
        "from harness.runtime.compile.cache import process_folder\nimport os, sys\n"
        "print(process_folder(), oct(process_folder().stat().st_mode), flush=True)\n"
        "if os.fork() == 0: sys.exit()\nos.wait()\nassert process_folder().is_dir()"
    )
    command = [sys.executable, "-c", text]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    folders = [run.stdout.split()[0] for run in runs]
    assert all(run.stdout.split()[1].endswith("700") for run in runs)
    assert len({*folders, str(process_folder())}) == 3
    assert not any(Path(folder).exists() for folder in folders)
