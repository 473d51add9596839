"""Sentences for results that are not as asv expects, without running asv's commands."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("asv")

from asv import util

from suites.tracking import repository as asv_repository


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("0123abcd-env.json", "asv run 0123abcd^!"),
        ("benchmarks.json", "asv run --bench just-discover"),
        ("machine.json", "measure a commit on that machine again"),
    ],
)
def test_a_damaged_file_is_named_with_what_makes_it_again(
    tmp_path: Path, name: str, remedy: str
) -> None:
    (tmp_path / name).write_text('{"version": ')
    with pytest.raises(util.UserError, match="is half-written or damaged and is left out") as said:
        asv_repository.telling_load(util.load_json)(str(tmp_path / name))
    assert remedy in str(said.value)


def test_a_file_of_a_later_version_is_refused_as_asv_says_it(tmp_path: Path) -> None:
    (tmp_path / "0123abcd-env.json").write_text('{"version": 99}')
    with pytest.raises(util.UserError, match="newer than what this version of asv understands"):
        asv_repository.telling_load(util.load_json)(str(tmp_path / "0123abcd-env.json"), 2)
