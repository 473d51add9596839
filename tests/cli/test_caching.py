"""What commands do with the cache folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli.caching import cache_folder
from harness.options import Options


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(tmp_path / "cache", tmp_path / "results", tmp_path / "suites", 1)


def test_the_cache_is_used_where_it_can_be(
    options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    with cache_folder(options) as folder:
        assert folder == options.cache
    assert capsys.readouterr().err == ""


def test_without_a_cache_nothing_is_written_to_it(options: Options) -> None:
    with cache_folder(replace(options, use_cache=False)) as folder:
        assert folder != options.cache and folder.is_dir()
    assert not folder.exists() and not options.cache.exists()


def test_a_cache_that_cannot_be_written_is_said(
    options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    options.cache.write_text("a file is in the way")
    with cache_folder(options) as folder:
        assert folder.is_dir()
    assert "nothing is cached for this run" in capsys.readouterr().err
