from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import CommitUnusable, RecordError, UnknownName, UsageError
from harness.history import store
from harness.records.modules import facts
from harness.records.run import RegionRecord
from harness.records.timing import Samples
from harness.session.entries import GraphFile
from harness.verdicts.comparing import Side
from harness.verdicts.pairing import nodes_of, pair
from harness.verdicts.sides import (
    commit_side,
    find_side,
    find_sides,
    find_static_side,
    resolve_commit,
)
from tests.history.examples import run
from tests.history.kernels import CONFIG, kernel, module

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    store.save(folder, run())
    return folder


def git(folder: Path, *arguments: str) -> str:
    plain = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    who = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments],
        env=plain,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with two commits: one whose package does not import, one without it."""
    folder = tmp_path / "repository"
    (folder / "harness").mkdir(parents=True)
    (folder / "harness" / "__init__.py").write_text("raise ImportError('no module named wheel')\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "broken")
    git(folder, "rm", "-qr", "harness")
    git(folder, "commit", "-qm", "empty", "--allow-empty")
    monkeypatch.chdir(folder)
    return folder


def test_a_run_by_any_of_its_names(results: Path) -> None:
    for name in ("latest", "20260102", str(next(results.glob("*/*.parquet")))):
        assert find_side(results, name).run.id == run().id


def test_a_commit_that_git_knows_is_its_newest_run(results: Path, repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    for hour in ("03", "04"):
        store.save(results, run(f"20260103-{hour}0000-{commit[:12]}", commit=commit))
    assert find_side(results, "HEAD").run.id == f"20260103-040000-{commit[:12]}"
    assert find_side(results, "main").run.commit == commit


def test_a_short_commit_with_several_runs_is_all_of_them(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    for second in (1, 2):
        name = f"20260101-00000{second}-{commit[:12]}"
        store.save(tmp_path / "r", replace(run(), id=name, commit=commit))
    assert find_side(tmp_path / "r", commit[:10]).run.id.startswith("20260101-000002")
    monkeypatch.chdir(tmp_path)  # without git several runs remain several
    with pytest.raises(UsageError, match="2 runs begin like that"):
        find_side(tmp_path / "r", commit[:10])


def test_a_commit_without_a_run_says_what_to_do(results: Path, repository: Path) -> None:
    with pytest.raises(UnknownName, match="no run of this commit") as caught:
        find_side(results, "HEAD~1")
    assert "--static" in caught.value.remedy


def test_nonsense_is_no_side(results: Path, repository: Path) -> None:
    with pytest.raises(UnknownName, match="no run, commit, module file or compiler"):
        find_side(results, "nonsense")


@pytest.mark.parametrize(
    ("where", "remedy"),
    [("shallow", "git fetch --unshallow"), ("whole", "git fetch the"), ("none", "inside a check")],
)
def test_a_commit_that_is_not_here_says_where_it_may_be(
    results: Path,
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    remedy: str,
) -> None:
    """A clone without history is the usual reason, and HEAD~1 says nothing of it."""
    there = repository if where == "whole" else tmp_path / where
    if where == "shallow":
        git(tmp_path, "clone", "-q", "--depth", "1", repository.as_uri(), str(there))
    there.mkdir(exist_ok=True)
    monkeypatch.chdir(there)
    for find in (find_side, lambda r, n: find_static_side(r, n, lambda *_: pytest.fail("no"))):
        with pytest.raises(UnknownName) as caught:
            find(results, "HEAD~1" if where == "shallow" else "0123456789")
        assert remedy in caught.value.remedy


def test_a_name_that_looks_like_an_option_is_not_given_to_git(repository: Path) -> None:
    assert resolve_commit(repository, "--help") is None
    assert resolve_commit(repository, "HEAD") is not None
    assert resolve_commit(repository.parent, "HEAD") is None


def test_modules_are_read_and_never_executed(tmp_path: Path) -> None:
    folder = tmp_path / "modules"
    folder.mkdir()
    trap = "import os\nos._exit(3)\n"
    (folder / "k.py").write_text(module("triton_k") + trap)
    found = find_side(tmp_path, str(folder))
    (graph,) = found.run.graphs
    assert graph.name == "g"
    assert (graph.kernels[0].name, graph.kernels[0].bytes) == ("triton_k", 100)
    assert nodes_of(graph.kernels[0]) == {"n"}
    one = find_side(tmp_path, str(folder / "k.py"))
    assert len(pair(found.run.graphs, one.run.graphs).matches) == 1


def test_an_edited_module_is_other_code_whatever_it_states(tmp_path: Path) -> None:
    stated = f'CODE_HASH = "{facts(module("triton_k")).code_hash}"\n'
    sides = []
    for name, body in (("a", "x"), ("same", "x"), ("edited", "x + 1")):
        file = tmp_path / f"{name}.py"
        file.write_text(stated + module("triton_k", body))
        (graph,) = find_side(tmp_path, str(file)).run.graphs
        sides.append(graph.kernels[0])
    one, same, edited = sides
    assert one.code_hash == same.code_hash != edited.code_hash


def test_a_file_that_is_no_module_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("print(1)\n")
    with pytest.raises(UsageError, match="no emitted module"):
        find_side(tmp_path, str(tmp_path / "x.py"))
    (tmp_path / "y.py").write_text("def (\n")
    with pytest.raises(UsageError, match="no emitted module"):
        find_side(tmp_path, str(tmp_path / "y.py"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no emitted modules"):
        find_side(tmp_path, str(tmp_path / "empty"))
    with pytest.raises(UnknownName, match="No such file"):
        find_side(tmp_path, str(tmp_path / "none.py"))


def test_compilers_are_the_regions_of_a_run(results: Path) -> None:
    regions = tuple(
        RegionRecord("block.r0", compiler, ms, sets=(Samples((ms,)),))
        for compiler, ms in (("harness", 0.02), ("inductor", 0.03))
    )
    graph = replace(run().graphs[0], regions=regions)
    store.save(results, run("20260104-000000-abcdef123456", graphs=(graph,)))
    a, b = find_sides(results, ["harness", "inductor"])
    assert [s.run.graphs[0].kernels[0].ms for s in (a, b)] == pytest.approx([0.02, 0.03], rel=1e-5)
    (match,) = pair(a.run.graphs, b.run.graphs).matches
    assert match.region == "block.r0"
    with pytest.raises(UnknownName):
        find_sides(results, ["harness", "inducter"])


def test_commits_are_found_beside_a_torn_file_of_neither(results: Path) -> None:
    store.save(results, run("20260104-000000-abcdefabcdef"))
    torn = results / run().machine.key / "20260105-000000-fedcba987654.parquet"
    torn.write_bytes(b"torn")
    a, b = find_sides(results, [run().id.rpartition("-")[2], "abcdefabcdef"])
    assert (a.run.id, b.run.id) == (run().id, "20260104-000000-abcdefabcdef")
    for names, latest in ((["harness", "inductor"], "latest"), (["mine", "yours"], torn.stem)):
        with pytest.raises(RecordError):
            find_sides(results, names, latest)


@pytest.mark.parametrize("runs", [0, 1])
def test_a_compiler_without_regions_is_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int
) -> None:
    """In a checkout there is a folder of the name: the package."""
    monkeypatch.chdir(ROOT)
    for _ in range(runs):
        store.save(tmp_path, run())
    expected = "no regions of this compiler" if runs else "no run"
    with pytest.raises(UnknownName, match=expected):
        find_sides(tmp_path, ["harness", "inductor"])


def test_static_sides_compile_commits(results: Path, repository: Path) -> None:
    asked: list[tuple[str | None, str]] = []

    def compile_at(commit: str | None, label: str) -> Side:
        asked.append((commit, label))
        return Side(label, run())

    find_static_side(results, "latest", compile_at)()
    sides = [find_static_side(results, name, compile_at) for name in ("HEAD", "worktree")]
    assert asked == [], "nothing is compiled before both are known"
    for side in sides:
        side()
    assert asked == [(git(repository, "rev-parse", "HEAD"), "HEAD"), (None, "worktree")]


def test_the_working_trees_compiler_in_a_process_of_its_own() -> None:
    name = "fp8_rowwise_forward"
    file = GraphFile(name, ROOT / "suites" / "graphs" / f"{name}.py", None)
    found = commit_side(ROOT, None, "worktree", [file], "sm_90")
    (graph,) = found.run.graphs
    assert graph.reason == ""
    (made,) = graph.kernels
    assert made.region.startswith(name)
    assert made.origins
    assert facts(made.module).best


def test_a_graph_that_does_not_compile_is_a_reason(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("nonsense\n")
    found = commit_side(ROOT, None, "w", [GraphFile("bad", bad, None)], "sm_90")
    assert found.run.graphs[0].reason


def test_a_commit_that_does_not_import_says_so(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD~1")
    with pytest.raises(CommitUnusable, match="cannot be used") as caught:
        commit_side(repository, commit, "HEAD~1", [], "sm_90")
    assert "wheel" in caught.value.got


def test_a_commit_without_the_package_says_so(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    with pytest.raises(CommitUnusable, match="cannot be unpacked"):
        commit_side(repository, commit, "HEAD", [], "sm_90")


def test_the_best_guess_is_the_first_configuration() -> None:
    assert facts(kernel("k").module).best == CONFIG
    assert facts("CONFIGS = []").best is None
    assert facts("\nCONFIGS = [\n    {nonsense},\n]").best is None
