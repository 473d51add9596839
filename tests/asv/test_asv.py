"""asv over several commits of a small repository, every command as its user types it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from harness.records.timing import METHOD
from suites.tracking.measure import TUNING
from tests.asv import asv_project
from tests.asv.asv_project import GRAPH, Project

pytest.importorskip("asv")

pytestmark = pytest.mark.slow

GBPS = "fused.Graph.track_gbps"


@dataclass(frozen=True)
class History:
    """A project whose commits are measured: ``first``, ``same``, ``slower``, ``broken`` (does
    not import), ``mended`` (faster than ``slower`` again); ``said`` is what ``asv run`` printed."""

    project: Project
    first: str
    same: str
    slower: str
    broken: str
    mended: str
    status: int
    said: str


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with asv_project.python(tmp_path_factory.mktemp("python")) as program:
        yield program


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory, python: Path) -> History:
    project = asv_project.make(tmp_path_factory.mktemp("asv") / "a project", python)
    root = project.git("rev-parse", "HEAD")
    first = project.commit("Base")
    (project.folder / "README.md").write_text("Nothing that matters.\n")
    same = project.commit("Same kernels")
    project.writes("# costs 1.35")
    slower = project.commit("Slower kernels")
    pipeline = project.folder / "harness" / "pipeline.py"
    text = pipeline.read_text()
    pipeline.write_text("def broken(:\n" + text)
    broken = project.commit("Does not import")
    pipeline.write_text(text)
    project.writes("# costs 1.2")
    mended = project.commit("Imports again, and a little of it is won back")
    # The working tree measures: its compiler is not what is measured.
    shutil.copy(asv_project.ROOT / "harness/codegen/module.py", project.folder / "harness/codegen")
    status, said = project.asv("run", f"{root}..main")
    return History(project, first, same, slower, broken, mended, status, said)


def values(history: History, commit: str, benchmark: str) -> dict[str, float | None]:
    (path,) = (history.project.folder / "results" / "asv").glob(f"*/{commit[:8]}-*.json")
    document = json.loads(path.read_text())
    result, params = document["results"][benchmark][:2]
    return dict(
        zip((p.strip("'") for p in params[0]), result or [None] * len(params[0]), strict=True)
    )


def test_a_range_of_commits_is_measured_once_each_by_the_working_tree(history: History) -> None:
    before = values(history, history.first, GBPS)[GRAPH]
    assert before == pytest.approx(2000, rel=0.01)
    assert values(history, history.same, GBPS)[GRAPH] == pytest.approx(before, rel=0.01)
    for commit, costs in ((history.slower, 1.35), (history.mended, 1.2)):
        assert values(history, commit, GBPS)[GRAPH] == pytest.approx(2000 / costs, rel=0.01)
    log = (history.project.folder.parent / "fake.log").read_text().splitlines()
    assert len(log) == len({line.split()[0] for line in log}) == 4, "a process for each good commit"


def test_samples_versions_and_static_values_are_kept(history: History) -> None:
    (path,) = (history.project.folder / "results" / "asv").glob(f"*/{history.same[:8]}-*.json")
    document = json.loads(path.read_text())
    columns = document["result_columns"]
    row = dict(zip(columns, document["results"]["fused.Kernel.track_seconds"], strict=False))
    assert [len(samples) for samples in row["samples"]] == [25] * 2
    assert row["version"] == f"{METHOD}+{TUNING}"
    assert document["requirements"].keys() == {"torch", "triton"}
    assert values(history, history.same, "fused.Graph.track_kernels")[GRAPH] == 1
    assert values(history, history.same, "fused.Kernel.track_registers")[f"{GRAPH}/clone"] > 8
    assert values(history, history.same, "fused.Graph.track_codegen")[GRAPH] > 0


def test_a_commit_that_does_not_import_is_skipped_with_a_sentence(history: History) -> None:
    assert history.status == 2
    assert f"{history.broken[:12]}: the compiler cannot be used" in history.said
    assert "SyntaxError" in history.said
    assert "Traceback" not in history.said
    assert set(values(history, history.broken, GBPS).values()) == {None}


def test_compare_marks_a_loss_of_bandwidth_as_worse(history: History) -> None:
    status, loss = history.project.asv("compare", "-f", "1.05", history.first, history.mended)
    assert status == 0, loss
    _, none = history.project.asv("compare", "-f", "1.05", history.first, history.same)
    for name in ("track_gbps", "track_seconds"):
        assert {m for m, line in marks(loss) if name in line} == {"+"}, loss
        assert {m for m, line in marks(none) if name in line} == {""}, none
    assert {m for m, line in marks(loss) if "registers" in line} == {""}


def marks(table: str) -> list[tuple[str, str]]:
    """asv's mark of each row, and the row."""
    rows = [line for line in table.splitlines() if line.startswith("|") and "fused." in line]
    return [(line.split("|")[1].strip(), line) for line in rows]


def test_continuous_fails_for_a_loss_of_bandwidth(history: History) -> None:
    status, said = history.project.asv(
        "continuous", "-f", "1.05", "--bench", f"Graph.track_gbps.*{GRAPH}", history.same, "main"
    )
    assert status == 1, said
    assert "PERFORMANCE DECREASED" in said


def test_find_names_the_commit_that_lost_bandwidth_and_passes_over_a_broken_one(
    history: History,
) -> None:
    status, said = history.project.asv(
        "find", f"{history.first}..main", f"fused.Graph.track_gbps.*{GRAPH}", "--skip-save"
    )
    assert status == 0, said
    assert re.search(f"Greatest regression found: {history.slower[:8]}", said), said


def test_publish_shows_the_loss_as_a_regression(history: History) -> None:
    status, said = history.project.asv("publish")
    assert status == 0, said
    site = history.project.folder / ".asv" / "html"
    found = json.loads((site / "regressions.json").read_text())["regressions"]
    losses = [r for r in found if r[0] == f"fused.Graph.track_gbps('{GRAPH}')"]
    assert len(losses) == 1, found
    ((before, after),) = [(old, new) for _, _, old, new in losses[0][6]]
    assert before == pytest.approx(2000, rel=0.01)
    assert after == pytest.approx(2000 / 1.2, rel=0.01)
    assert not [r for r in found if "registers" in r[0]]
    index = json.loads((site / "index.json").read_text())
    assert index["benchmarks"]["fused.Kernel.track_gbps"]["better"] == "higher"
    assert {"torch", "triton", "machine"} <= index["params"].keys()


@pytest.fixture
def own(history: History, tmp_path: Path) -> History:
    """The history in a folder of the test's own."""
    folder = tmp_path / "asv" / "own"
    shutil.copytree(history.project.folder, folder)
    shutil.copytree(history.project.folder.parent / "cache", folder.parent / "cache")
    return replace(history, project=replace(history.project, folder=folder))


def test_new_measures_new_commits_without_a_gpu_and_says_what_is_left_out(own: History) -> None:
    status, said = own.project.asv("run", "NEW")
    assert (status, "No commit hashes selected" in said) == (1, True), said
    (own.project.folder / "README.md").write_text("More.\n")
    new = own.project.commit("Nothing new")
    status, said = own.project.asv("run", "NEW", "--skip-existing-commits", fake="none")
    assert status == 0, said
    assert "times and GB/s are left out (n/a): there is no GPU here" in said
    assert all(v != v for v in values(own, new, GBPS).values()), "n/a, not a failure"
    assert values(own, new, "fused.Graph.track_kernels")[GRAPH] == 1
    assert values(own, new, "fused.Graph.track_codegen")[GRAPH] > 0
    status, said = own.project.asv("run", "--skip-existing-commits", "main^!", fake="none")
    assert "Setting up" not in said, "a measured commit is not measured again"


def test_what_was_not_asked_for_keeps_its_values(
    own: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_ASV_GRAPHS", GRAPH)
    before = {commit: values(own, commit, GBPS) for commit in (own.first, own.same)}
    kernels = values(own, own.same, "fused.Kernel.track_gbps")
    status, said = own.project.asv(
        "continuous", "-f", "1.05", "--bench", "gbps|launches", own.first, own.same
    )
    assert status == 0, said
    assert asv_project.OTHER not in said, "rows that were not asked for are not shown"
    for commit, found in before.items():
        assert values(own, commit, GBPS).keys() == found.keys()
        other = values(own, commit, GBPS)[asv_project.OTHER]
        assert other == found[asv_project.OTHER] and other == other
    assert values(own, own.same, "fused.Kernel.track_gbps") == pytest.approx(kernels, rel=0.01)
    timer = own.project.folder / "harness" / "records" / "timing.py"
    timer.write_text(re.sub(r"(?m)^METHOD = .*$", 'METHOD = "another/9"', timer.read_text()))
    _, said = own.project.asv("run", f"{own.same}^!", "--bench", "Graph.track_gbps")
    assert "keeps what was measured in another way" in said
    assert values(own, own.same, GBPS)[asv_project.OTHER] == before[own.same][asv_project.OTHER]


def test_a_damaged_result_is_left_out_moved_aside_and_measured_again(own: History) -> None:
    (path,) = (own.project.folder / "results" / "asv").glob(f"*/{own.mended[:8]}-*.json")
    path.write_text(path.read_text()[:1000])
    _, said = own.project.asv("compare", own.first, own.mended)
    assert f"{path.name} is half-written or damaged and is left out" in said
    assert f"asv run {own.mended[:8]}^!" in said
    timer = own.project.folder / "harness" / "records" / "timing.py"
    timer.write_text(re.sub(r"(?m)^METHOD = .*$", 'METHOD = "another/9"', timer.read_text()))
    bench = "track_(seconds|gbps|registers)"
    status, said = own.project.asv("run", f"{own.mended}^!", "--bench", bench, fake="drops")
    assert status == 0, said
    assert "It is kept as" in said
    assert path.with_name(path.name + ".damaged").is_file()
    # The clock fell after the first kernel.
    assert "the SM clock fell from 1980 to 1300 MHz during the run: 1 of 2 kernels" in said
    graphs = values(own, own.mended, GBPS)
    assert graphs[GRAPH] == pytest.approx(2000 / 1.2, rel=0.01)
    assert graphs[asv_project.OTHER] != graphs[asv_project.OTHER], "no total without its kernels"
    # Another method is another series.
    _, table = own.project.asv("compare", own.first, own.mended)
    compared = [(m, line) for m, line in marks(table) if "n/a" not in line]
    assert {m for m, line in compared if "track_seconds" in line} == {"x"}
    assert {m for m, line in marks(table) if "registers" in line} == {""}


def test_a_rewritten_branch_is_said_and_new_does_not_measure_everything(own: History) -> None:
    own.project.git("checkout", "-q", "--orphan", "rewritten")
    own.project.git("commit", "-q", "-m", "History begins here")
    own.project.git("branch", "-q", "-D", "main")
    status, said = own.project.asv("run", "NEW")
    assert status == 1
    assert "none of the 5 measured commits is on HEAD (the branch was rewritten" in said
    status, said = own.project.asv("publish")
    assert "results of 5 commits that no branch leads to any more" in said
    assert "Traceback" not in said


def test_a_clone_without_history_or_without_git_is_said(own: History, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    own.project.git("clone", "-q", "--depth", "1", f"file://{own.project.folder}", str(clone))
    status, said = own.project.asv("run", f"{own.first}..HEAD", folder=clone)
    assert status == 1
    assert "is no range of commits of this repository" in said
    assert "git fetch --unshallow" in said
    shutil.rmtree(clone / ".git")
    status, said = own.project.asv("run", folder=clone)
    assert (status, "there is no git repository" in said, "bundle" in said) == (1, True, True), said
