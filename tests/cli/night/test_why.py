"""``harness why`` and ``harness bisect`` on a repository whose package is a compiler of one kernel:
what it writes, and how long that takes, is a line of a file at every commit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from harness.history import store
from harness.records.metrics import StaticMetrics
from harness.records.run import Run
from harness.runtime import device
from harness.runtime.compile.static import CompilePool
from harness.target import H100
from harness.verdicts import confirming
from tests.cli.conftest import Command
from tests.history.examples import MACHINE
from tests.history.kernels import graph, kernel, module
from tests.measure.fake_pairs import time_pairs_here
from tests.verdicts.test_sides import git

GRAPH = Path(__file__).resolve().parents[3] / "suites" / "graphs" / "llama_block_forward.py"
COMPILER = {
    "__init__.py": "",
    "graph/__init__.py": "",
    "graph/text.py": "def load(path): return path.stem\n",
    "target.py": 'TARGETS = {"sm_90": "sm_90"}\n',
    "pipeline.py": '''
from types import SimpleNamespace as N
from harness.written import BODY, MS, BYTES

def compile_graph(graph, target):
    """One kernel of one region."""
    text = f"""import os
import triton
KERNEL = "triton_poi_mul_0"
CONFIGS = [
    {{"XBLOCK": 64, "num_warps": 4}},
]
NODES = ("mul", "add")
REGION = "{graph}.r0"
@triton.jit
def triton_poi_mul_0(in_ptr0):
    {BODY}

def reference(args): ...
# ms {MS}
def get_args(): return []
def benchmark_all_configs(args, configs): return [{{"ms": float(os.environ["FAKE_MS"])}}]
"""
    module = N(category="poi", bytes_moved=BYTES, text=text)
    kernel = N(name="triton_poi_mul_0", module=module)
    return N(kernels=[kernel], launches=[N(kernel=kernel, group=N(origins=("mul", "add")))])
''',
}


@dataclass(frozen=True)
class Repository:
    """A checkout, to which commits are added."""

    folder: Path

    def commit(self, title: str, body: str = "x", ms: float = 0.02, size: int = 100) -> str:
        """Another commit, whose compiler writes ``body`` and takes ``ms``; its identifier."""
        written = f"BODY, MS, BYTES = {body!r}, {ms}, {size}\n"
        (self.folder / "harness" / "written.py").write_text(written)
        return self.save(title)

    def save(self, title: str) -> str:
        """What is in the folder as a commit."""
        git(self.folder, "add", ".")
        git(self.folder, "commit", "-qm", title, "--allow-empty")
        return git(self.folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    folder = tmp_path / "repository"
    for name, text in COMPILER.items():
        path = folder / "harness" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder.parent, "init", "-q", str(folder))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(CompilePool, "metrics", _figures)
    return Repository(folder)


def _figures(_: CompilePool, jobs: list[object]) -> list[StaticMetrics]:
    return [StaticMetrics(32, 0, 0, 0, 100, 16, 16, ()) for _ in jobs]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "is_available", lambda: True)
    monkeypatch.setattr(device, "current_target", lambda: H100)
    monkeypatch.setattr(confirming, "time_pairs", time_pairs_here)


def slower(repository: Repository) -> list[str]:
    """Twelve commits: other text at 3 and 8, slower at 8, nothing that imports at 5."""
    made = []
    for n in range(12):
        body, ms = ("a", 0.02) if n < 3 else ("b", 0.02) if n < 8 else ("c", 0.021)
        broken = repository.folder / "harness" / "target.py"
        broken.write_text("import nothing_like_it\n" if n == 6 else COMPILER["target.py"])
        made.append(repository.commit(f"change {n}", body, ms, 100 + (n >= 8)))
    return made


@pytest.mark.usefixtures("gpu")
def test_a_search_ends_on_the_commit_with_both_modules_and_the_cause(
    harness: Command, repository: Repository, tmp_path: Path
) -> None:
    made = slower(repository)
    where = ("--graph", str(GRAPH), "-o", str(tmp_path / "out"))
    answer = harness("bisect", "mul", made[0], "HEAD", *where)
    assert answer.status == 0
    assert answer.out.startswith(f"FIRST BAD\n  {made[8][:10]} change 8 (t)\n")
    assert f"skipped: {made[6][:10]} change 6 (t): the compiler cannot" in answer.out
    assert "SOURCE CHANGED" in answer.out
    assert "B÷A 1.0" in answer.out
    assert "wrong with at most 5 % chance" in " ".join(answer.out.split())
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [
        f"bad-{made[8][:10]}-triton_poi_mul_0.py",
        f"good-{made[7][:10]}-triton_poi_mul_0.py",
    ]
    assert not list((tmp_path / "cache").glob("bisected/*.json"))


def test_without_a_gpu_the_changes_of_the_text_are_the_answer(
    harness: Command, repository: Repository
) -> None:
    made = slower(repository)
    answer = harness("bisect", "poi_mul_0", made[0], "HEAD", "--graph", str(GRAPH))
    assert answer.status == 4
    assert "no usable GPU here" in answer.err
    assert answer.out.startswith("NOT MEASURED")
    assert "change 3" in answer.out
    assert "change 8" in answer.out


def test_of_a_merge_the_answer_says_how_to_search_inside_it(
    harness: Command, repository: Repository
) -> None:
    first = repository.commit("begin")
    git(repository.folder, "checkout", "-qb", "side")
    repository.commit("slower", "y", 0.021)
    git(repository.folder, "checkout", "-q", "main")
    git(repository.folder, "merge", "-q", "--no-ff", "-m", "merged", "side")
    merge = git(repository.folder, "rev-parse", "HEAD")[:10]
    answer = harness("bisect", "mul", first, "HEAD", "--graph", str(GRAPH))
    inside = f"bisect mul $(git merge-base {merge}^1 {merge}^2) {merge}^2"
    assert inside in " ".join(answer.out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mul", "HEAD", "HEAD~2"), "the second commit does not come after the first"),
        (("mul", "HEAD~1", "HEAD"), "both ends generate the same kernel"),
        (("mull", "HEAD~11", "HEAD"), "neither side generates a kernel of that name"),
        (("mul", "0123456789", "HEAD"), "no run, commit, module file or compiler"),
        (("mul", "HEAD~6", "HEAD"), None),
        (("mul", "HEAD~5", "HEAD"), "the compiler cannot be used"),
        (("mul", "a", "b", "--environment", "a=/nowhere"), "do not lead from GOOD to BAD"),
        (
            ("mul", "a", "b", "--environment", "a=/nowhere", "--environment", "b=/nor"),
            "error: --environment: no such interpreter\n  got: /nowhere, /nor\n",
        ),
        (
            ("mul", "a", "b", "--environment", "a=/bin/true", "--environment", "b=/bin/true"),
            " in /bin/true: the compiler cannot be used",
        ),
    ],
)
def test_what_cannot_be_searched_says_so(
    harness: Command, repository: Repository, arguments: tuple[str, ...], said: str | None
) -> None:
    slower(repository)
    answer = harness("bisect", *arguments, "--graph", str(GRAPH))
    assert answer.status == (4 if said is None else 2), answer.err
    assert said is None or said in answer.err


def test_a_clone_without_history_says_how_to_get_it(
    harness: Command, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = slower(repository)
    git(tmp_path, "clone", "-q", "--depth", "1", repository.folder.as_uri(), str(tmp_path / "new"))
    monkeypatch.chdir(tmp_path / "new")
    answer = harness("bisect", "mul", made[0], "HEAD", "--graph", str(GRAPH))
    assert answer.status == 2
    assert "git fetch --unshallow" in answer.err


def test_a_kernel_that_no_run_has_asks_for_the_graph(
    harness: Command, repository: Repository
) -> None:
    slower(repository)
    answer = harness("bisect", "mul", "HEAD~11", "HEAD")
    assert answer.status == 2
    assert "--graph GRAPH" in answer.err


def test_why_generates_commits_without_runs_and_names_the_first_other_one(
    harness: Command, repository: Repository
) -> None:
    made = slower(repository)
    answer = harness("why", "poi_mul_0", "HEAD~11", "HEAD~6", "--graph", str(GRAPH))
    assert answer.status == 0, answer.err
    assert answer.out.startswith("SOURCE CHANGED  llama_block_forward  poi_mul_0\n")
    assert f"first commit whose text differs: {made[3][:10]} change 3 (t)" in answer.out
    assert "+    b" in answer.out
    wrong = harness("why", "poi_mul_1", "HEAD~11", "HEAD~6", "--graph", str(GRAPH))
    assert wrong.status == 2
    assert "triton_poi_mul_0" in wrong.err


def recorded(
    results: Path,
    commit: str,
    hour: int,
    ms: float,
    body: str,
    of: str = "llama_block_forward",
    *,
    name: str = "triton_poi_mul_0",
    computes: str = "",
) -> None:
    rest = [kernel(f"k{n}", f"n{n}", ms=[0.01 + 1e-5 * n] * 3) for n in range(10)]
    jitter = [ms, 1.001 * ms, 0.999 * ms]
    mine = kernel(name, "mul add", ms=jitter, body=body)
    mine = replace(mine, module=module(name, body, computes=computes))
    run = f"20260101-{hour:02}0000-{commit[:12]}"
    made = Run(run, f"2026-01-01T{hour:02}:00:00+00:00", MACHINE, "sm_90", method="m/1")
    graphs = (graph(*rest, mine, name=of),)
    store.save(results, replace(made, commit=commit, processes=3, graphs=graphs))


def test_a_graph_that_only_the_user_has_is_not_looked_for_at_commits(
    harness: Command, repository: Repository, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest run may be of a file of the user's, which has a kernel of that name too."""
    monkeypatch.setenv("HARNESS_SUITES", str(GRAPH.parents[1]))
    made = slower(repository)
    recorded(results, made[10], 1, 0.02, "c")
    recorded(results, made[11], 2, 0.02, "c", "my_model")
    answer = harness("why", "poi_mul_0", "HEAD~11", "HEAD~6")
    assert answer.status == 0, answer.err
    assert answer.out.startswith("SOURCE CHANGED  llama_block_forward  poi_mul_0\n")


def test_a_run_of_which_graphs_failed_is_no_baseline(harness: Command, results: Path) -> None:
    made = Run("20260101-010000-a", "2026-01-01T01:00:00+00:00", MACHINE, "sm_90", method="m/1")
    good = graph(kernel("k", "n"), name="good")
    lost = replace(graph(name="lost"), reason="DamagedGraph: no graph")
    store.save(results, replace(made, graphs=(good, lost)))
    answer = harness("accept", made.id)
    assert answer.status == 2
    assert "1 of its 2 graphs failed" in answer.err
    assert harness("accept", made.id, "--anyway").status == 0


def test_why_of_two_runs_says_by_how_much_and_since_which_commit(
    harness: Command, repository: Repository, results: Path
) -> None:
    made = slower(repository)
    recorded(results, made[0], 1, 0.02, "a")
    recorded(results, made[11], 2, 0.021, "c")
    found = harness("why", "poi_mul_0", made[0], "latest", "--json").json()["why"][0]
    assert found["label"] == "source changed"
    assert found["ratio"] == pytest.approx(1.05, abs=0.01)
    assert found["commit"] == f"{made[3][:10]} change 3 (t)"
    answer = harness("why", "poi_mul_0", made[0], "latest", "--quick")
    assert "first commit" not in answer.out
    assert harness("why", "k3", made[0], "latest").out.startswith("NOISE")
    of_graph = harness("why", "llama_block_forward", made[0], "latest", "--quick")
    assert of_graph.out.startswith("SOURCE CHANGED"), "what has a cause comes first"
    elsewhere = harness("why", "k3", made[0], "latest", "--graph", "gpt2_block_forward")
    assert (elsewhere.status, "in llama_block_forward" in elsewhere.err) == (2, True)
    wrong = harness("why", "poi_mull_0", made[0], "latest")
    assert wrong.status == 2
    assert "triton_poi_mul_0" in wrong.err


@pytest.fixture
def renamed(
    repository: Repository, results: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[str]]:
    """Records a run before and one after a slower commit, which has the graph under another name;
    answers the commits."""

    def record(**later: Any) -> list[str]:
        monkeypatch.setenv("HARNESS_SUITES", str(GRAPH.parents[1]))
        made = slower(repository)
        recorded(results, made[0], 1, 0.02, "a", "was_called", computes="mul")
        recorded(results, made[11], 2, 0.021, "c", computes="mul", **later)
        return made

    return record


def test_a_renamed_graph_is_meant_by_either_name(
    harness: Command, renamed: Callable[..., list[str]]
) -> None:
    made = renamed()
    ends = made[0], made[11]
    for name in ("was_called", "llama_block_forward"):
        assert harness("why", name, *ends, "--quick").out.startswith("SOURCE CHANGED")
        answer = harness("why", "poi_mul_0", *ends, "--graph", name)
        assert f"first commit whose text differs: {made[3][:10]}" in answer.out
        answer = harness("bisect", "poi_mul_0", *ends, "--graph", name)
        assert answer.status == 4, answer.err
        assert made[8][:10] in answer.out
    assert harness("bisect", "poi_mul_0", *ends, "--graph", "never_called").status == 2


def test_a_kernel_of_a_graph_that_no_run_has_by_its_name_of_today(
    harness: Command, renamed: Callable[..., list[str]]
) -> None:
    """The newest run has the graph under its new name, but not this kernel any more."""
    made = renamed(name="triton_poi_other_0")
    answer = harness("bisect", "triton_poi_mul_0", made[0], made[11])
    assert answer.status == 4, answer.err
    assert made[8][:10] in answer.out


def test_a_run_whose_commit_is_gone_keeps_its_cause(
    harness: Command, repository: Repository, results: Path
) -> None:
    slower(repository)
    recorded(results, "1" * 40, 1, 0.02, "a")
    recorded(results, "2" * 40, 2, 0.021, "c")
    recorded(results, "", 3, 0.021, "c")
    for run, why in (("20260101-02", "unknown to git here"), ("latest", "was made of no commit")):
        answer = harness("why", "poi_mul_0", "20260101-01", run)
        assert answer.status == 0
        assert "which commit is not known" in answer.out
        assert why in answer.out


@pytest.mark.usefixtures("gpu")
def test_interpreters_are_searched_each_in_processes_of_its_own(
    harness: Command, repository: Repository
) -> None:
    repository.commit("only one")
    stand_ins = (("torch", ""), ("triton", "def jit(function): return function\n"))
    for name, more in stand_ins:
        (repository.folder / name).mkdir()
        stated = f"import os\n__version__ = os.environ['FAKE_{name.upper()}']\n{more}"
        (repository.folder / name / "__init__.py").write_text(stated)
    arguments = []
    for name, ms, triton in (("old", "1.0", "3.6"), ("mid", "1.001", "3.7"), ("new", "1.1", "3.8")):
        path = repository.folder / name
        said = f"FAKE_MS={ms} FAKE_TORCH=2.11 FAKE_TRITON={triton}"
        path.write_text(f'#!/bin/sh\n{said} exec "{sys.executable}" "$@"\n')
        path.chmod(0o755)
        arguments += ["--environment", f"{name}={path}"]
    where = ("--graph", str(GRAPH), *arguments)
    answer = harness("bisect", "mul", "old", "new", *where)
    assert answer.status == 0, answer.err
    assert answer.out.startswith("FIRST BAD\n  new\nlast good: mid\n")
    assert "triton 3.7 → 3.8" in answer.out
