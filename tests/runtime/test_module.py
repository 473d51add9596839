"""Loading emitted modules: what runs is the text that was asked for."""

from __future__ import annotations

import importlib.util
import py_compile
from pathlib import Path

import pytest

from harness.errors import CompileFailed, RecordError
from harness.runtime import module as modules
from tests.runtime import emitted


def compiled_file(path: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(path)))


def test_a_planted_compiled_file_is_not_executed(tmp_path: Path) -> None:
    path = modules.load(emitted.POINTWISE, tmp_path).path
    other = tmp_path / "other.py"
    other.write_text(f"raise SystemExit('planted')\n{emitted.POINTWISE}")
    planted = compiled_file(path)
    planted.parent.mkdir(exist_ok=True)
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH  # Python runs it without looking at both
    py_compile.compile(str(other), str(planted), invalidation_mode=mode)
    assert modules.load(emitted.POINTWISE, tmp_path).name == "triton_poi_fused_tanh_add_0"


def test_a_torn_compiled_file_fails_nothing(tmp_path: Path) -> None:
    path = modules.load(emitted.POINTWISE, tmp_path).path
    planted = compiled_file(path)
    planted.parent.mkdir(exist_ok=True)
    py_compile.compile(str(path), str(planted))
    planted.write_bytes(planted.read_bytes()[:100])
    assert modules.load(emitted.POINTWISE, tmp_path).configs


def test_a_file_with_another_text_is_written_again(tmp_path: Path) -> None:
    path = modules.load(emitted.POINTWISE, tmp_path).path
    path.write_text("raise SystemExit('planted')")
    assert modules.load(emitted.POINTWISE, tmp_path).configs
    assert path.read_text() == emitted.POINTWISE


def test_without_a_cache_files_are_private_to_the_process() -> None:
    folder = modules.load(emitted.POINTWISE).path.parent
    assert folder.stat().st_mode & 0o777 == 0o700


def test_text_that_is_no_module_is_named(tmp_path: Path) -> None:
    for text, what in (("x = ", "cannot be executed"), ("x = 1", "not an emitted module")):
        with pytest.raises(CompileFailed, match=what):
            modules.load(text, tmp_path)


def test_a_folder_in_the_place_of_a_file_is_moved_aside(tmp_path: Path) -> None:
    path = modules.load(emitted.POINTWISE, tmp_path).path
    path.unlink()
    path.mkdir()
    assert modules.load(emitted.POINTWISE, tmp_path).path.read_text() == emitted.POINTWISE


def test_a_file_in_the_place_of_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "modules").write_text("in the way")
    with pytest.raises(RecordError, match="a file stands where a folder should be"):
        modules.load(emitted.POINTWISE, tmp_path)
