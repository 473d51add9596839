"""A cache that cannot be written must not keep a run from its work."""

from __future__ import annotations

from pathlib import Path

from harness.runtime.compile.cache import refusal, usable


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
