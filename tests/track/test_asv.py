"""asv over several commits of a small repository, every command as its user types it."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.track import asv_project
from tests.track.asv_project import Project

pytest.importorskip("asv")


@dataclass(frozen=True)
class History:
    """A project whose commits are measured: ``first``, ``same``, ``slower``, ``broken`` (does
    not import), ``mended`` (as slow as ``slower``); ``said`` is what ``asv run`` printed."""

    project: Project
    first: str
    same: str
    slower: str
    broken: str
    mended: str
    status: int
    said: str


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    project = asv_project.make(tmp_path_factory.mktemp("asv") / "a project")
    first = project.commit("Base")
    (project.folder / "README.md").write_text("Nothing that matters.\n")
    same = project.commit("Same kernels")
    project.writes("# costs 1.2")
    slower = project.commit("Slower kernels")
    pipeline = project.folder / "harness" / "pipeline.py"
    text = pipeline.read_text()
    pipeline.write_text("def broken(:\n" + text)
    broken = project.commit("Does not import")
    pipeline.write_text(text)
    mended = project.commit("Imports again")
    # The working tree measures: its compiler is not what is measured.
    shutil.copy(asv_project.ROOT / "harness/codegen/module.py", project.folder / "harness/codegen")
    status, said = project.asv("run", f"{first}^!")
    assert status == 0, said
    status, said = project.asv("run", f"{first}..main")
    return History(project, first, same, slower, broken, mended, status, said)


def values(history: History, commit: str, benchmark: str) -> dict[str, float | None]:
    (path,) = (history.project.folder / "results" / "asv").glob(f"*/{commit[:8]}-*.json")
    document = json.loads(path.read_text())
    result, params = document["results"][benchmark][:2]
    return dict(zip((p.strip("'") for p in params[0]), result or [None] * len(params[0]), strict=True))


def test_a_range_of_commits_is_measured_once_each_by_the_working_tree(history: History) -> None:
    graph = asv_project.GRAPH
    before = values(history, history.first, "fused.Graph.track_gbps")[graph]
    after = values(history, history.slower, "fused.Graph.track_gbps")[graph]
    assert before == pytest.approx(2000, rel=0.01)
    assert after == pytest.approx(2000 / 1.2, rel=0.01)
    assert values(history, history.same, "fused.Graph.track_gbps")[graph] == pytest.approx(before, rel=0.01)
    taken = (history.project.folder.parent / "fake.log").read_text().splitlines()
    assert len({line.split()[0] for line in taken[:4]}) == 4, "one process for each good commit"
