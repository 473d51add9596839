"""The commands that look at the history of runs: changes, list --runs, import, gc."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.history import store
from harness.history.journal import Journal
from harness.records.run import KernelRecord
from harness.records.timing import Samples
from tests.cli.conftest import Command
from tests.history.changes.test_bad_runs import with_peers
from tests.history.examples import run
from tests.history.histories import noise, repository, save_history

POINTS = 16


@pytest.fixture(scope="module")
def commits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("repository")
    return folder, repository(folder, POINTS)


@pytest.fixture
def regression(results: Path, commits: tuple[Path, list[str]]) -> str:
    """A history with one regression; the commit that it came with."""
    values = 0.02 * np.exp(0.01 * noise(np.random.default_rng(1), 6, POINTS, 0.0))
    values[2, 10:] *= 1.2
    save_history(results, commits[1], values)
    return commits[1][10]


@pytest.mark.parametrize("command", [("changes",), ("report", "-o", "site")])
def test_a_repository_that_is_not_there_is_wrong_usage(
    harness: Command, results: Path, command: tuple[str, ...]
) -> None:
    answer = harness(*command, "--repository", results / "none")
    assert answer.status == 2
    assert "--repository" in answer.err and "does not exist" in answer.err


def test_a_regression_ends_with_status_1(
    harness: Command, regression: str, commits: tuple[Path, list[str]]
) -> None:
    answer = harness("changes", "--repository", commits[0])
    assert answer.status == 1
    assert "Regressions" in answer.out
    assert regression[:10] in answer.out
    assert "k2" in answer.out
    assert "> 99.99 %" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 120


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 130])
def test_names_and_commits_stay_whole_in_a_narrow_terminal(
    harness: Command,
    regression: str,
    commits: tuple[Path, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = harness("changes", "--repository", commits[0]).out
    lines = out.splitlines()
    assert max(map(len, lines)) <= min(columns, 120)
    assert f"{commits[1][9][:10]} → {regression[:10]}" in " ".join(out.split())
    if columns < 100:
        assert any(line.split()[:2] == ["block", "k2"] for line in lines)
        assert not any(line != line.rstrip() for line in lines)
        assert "confidence  commits" not in out
    else:
        assert "graph / kernel" in out


def test_json(harness: Command, regression: str, commits: tuple[Path, list[str]]) -> None:
    document = harness("changes", "--repository", commits[0], "--json").json()
    assert document["order"] == "history"
    assert document["judged"] == 7
    change = document["changes"][0]
    assert (change["verdict"], change["kernel"], change["commit"]) == (
        "regression",
        "k2",
        regression,
    )
    assert change["low"] < 0.2 < change["high"]
    assert change["causes"] == ["code"]


def test_a_suspected_regression_is_shown_first_and_says_what_to_do(
    harness: Command, results: Path, commits: tuple[Path, list[str]]
) -> None:
    values = 0.02 * np.exp(0.01 * noise(np.random.default_rng(1), 6, POINTS, 0.0))
    values[2, -1] *= 1.2
    values[4, 8:] *= 0.8
    save_history(results, commits[1], values)
    answer = harness("changes", "--repository", commits[0])
    assert answer.status == 0
    out = " ".join(answer.out.split())
    assert out.index("Suspected regressions: measure once more") < out.index("Improvements")
    assert out.startswith("0 regressions to look at, 2 suspected; ms: 7 series judged over ")
    assert "without any change up to 0.04 such rows would be expected among 7 series" in out
    before, last = (commit[:10] for commit in commits[1][-2:])
    assert f"harness confirm {before} {last}" in out


def test_other_compilers_are_shown_and_never_fail(
    harness: Command, results: Path, commits: tuple[Path, list[str]]
) -> None:
    times = 0.02 * np.exp(0.01 * np.random.default_rng(2).normal(size=POINTS))
    times[9:] *= 1.3
    with_peers(results, commits[1], times, {9: "2.14.0"})
    answer = harness("changes", "--repository", commits[0])
    assert answer.status == 0
    assert "Other compilers: no regressions of ours" in answer.out
    document = harness("changes", "--repository", commits[0], "--json").json()
    (change,) = (each for each in document["changes"] if each["metric"] == "peers")
    assert (change["verdict"], change["kernel"]) == ("peer", "block.r0/inductor")
    assert document["regressions"] == document["suspected"] == 0


def test_a_waived_regression_ends_with_status_0(
    harness: Command, regression: str, commits: tuple[Path, list[str]], results: Path
) -> None:
    (results / "acknowledged.txt").write_text(
        f"# known\n\n{regression[:9]}  ms  block/*  slower on purpose (issue 12)\n"
        f"{commits[1][3][:9]}  ms  block/*  nothing is here\n"
        f"{regression[:9]}  ms  block/*  line 3 does that\n"
    )
    answer = harness("changes", "--repository", commits[0])
    assert answer.status == 0
    assert "Waived" in answer.out
    assert "line 3:" in answer.out
    for line in (4, 5):
        assert f"waived changes, line {line}: it waives nothing" in " ".join(answer.out.split())


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (b"abcdef1 ms block/*", "has no reason", 1),
        (b"\n# x\nabcdef1 ms", "has no series", 3),
        (b"HEAD ms block/* why", "names no commit", 1),
        (b"abcdef1..x ms block/* why", "names no commit", 1),
        (b"abcdef1 speed block/* why", "names no metric", 1),
        (b"abcdef1 ms block why", "names no series", 1),
        (b"abcdef1 ms block/* why\n\xff\xfe", "not UTF-8", 2),
    ],
)
def test_a_line_that_makes_no_sense_is_named(
    harness: Command, regression: str, tmp_path: Path, text: bytes, message: str, line: int
) -> None:
    path = tmp_path / "known.txt"
    path.write_bytes(text)
    answer = harness("changes", "--ack", path, "--json")
    assert answer.status == 2
    error = answer.json()["error"]
    assert message in error["what"]
    assert error["where"] == f"{path}:{line}"


def test_a_file_of_waivers_that_is_not_there(harness: Command, regression: str) -> None:
    answer = harness("changes", "--ack", "/nowhere/known.txt")
    assert answer.status == 2
    assert "cannot be read" in answer.err


def test_graphs_and_metrics_can_be_chosen(
    harness: Command, regression: str, commits: tuple[Path, list[str]]
) -> None:
    place = ("--repository", commits[0])
    assert harness("changes", *place, "-k", "other*").status == 0
    assert harness("changes", *place, "-k", "bl*").status == 1
    assert harness("changes", *place, "--metric", "registers", "--metric", "spills").status == 0
    answer = harness("changes", *place, "--metric", "register")
    assert answer.status == 2
    assert "registers" in answer.err


def test_an_order_that_makes_no_sense(harness: Command, regression: str) -> None:
    assert harness("changes", "--order", "random").status == 2


def test_outside_a_repository_the_time_orders(
    harness: Command, regression: str, tmp_path: Path
) -> None:
    answer = harness("changes", "--repository", tmp_path)
    assert answer.status == 1
    assert "no history of commits" in answer.out


def test_changes_without_runs(harness: Command) -> None:
    answer = harness("changes")
    assert answer.status == 2
    assert "no runs yet" in answer.err


def test_a_history_of_one_run_is_too_short_and_says_what_to_do(
    harness: Command, results: Path, tmp_path: Path
) -> None:
    store.save(results, replace(run(), dirty=False))
    answer = harness("changes", "--repository", tmp_path)
    assert answer.status == 4, "a gate that looked at nothing is not green"
    assert "0 series judged over 1" in answer.out
    assert "too short to be judged" in answer.out
    some = harness("changes", "--repository", tmp_path, "-k", "nosuch")
    assert "-k: no change is like nosuch" in some.err
    other = harness("compare", "latest~1", "latest")
    assert other.status == 2
    assert run().id in other.err, "the one that there is"


def test_unreadable_runs_are_named_and_the_rest_is_judged(
    harness: Command, regression: str, commits: tuple[Path, list[str]], results: Path
) -> None:
    first = min(results.rglob("*.parquet"))
    first.write_bytes(first.read_bytes()[:50])
    answer = harness("changes", "--repository", commits[0])
    assert answer.status == 1
    assert f"{first}: a run file cannot be read" in answer.err
    assert "left out: runs that cannot be read: 1" in answer.out
    # Without the regression, the torn file is what there is to see to.
    assert harness("changes", "--repository", commits[0], "--smallest", "0.5").status == 2


@pytest.mark.parametrize("command", [("list", "--runs"), ("changes",)])
def test_when_no_run_can_be_read_that_is_no_empty_list(
    harness: Command, results: Path, command: tuple[str, ...]
) -> None:
    for name in ("20260101-000000-aaaaaaa", "20260102-000000-bbbbbbb"):
        path = store.save(results, run(name))
        path.write_bytes(path.read_bytes()[:50])
    answer = harness(*command)
    assert answer.status == (2 if command == ("changes",) else 1)
    assert answer.err.count("a run file cannot be read") == 2
    assert "none of the 2 run files can be read" in answer.err
    assert "no runs yet" not in answer.out


def test_list_runs(harness: Command, results: Path) -> None:
    assert "no runs yet" in harness("list", "--runs").out
    path = store.save(results, run())
    (row,) = harness("list", "--runs", "--json").json()["runs"]
    assert row["file"] == str(path)
    assert (row["graphs"], row["kernels"], row["failed"]) == (2, 2, 1)


def test_gc_removes_nothing_without_yes(harness: Command, results: Path) -> None:
    path = store.save(results, run(dirty=True, created="2020-01-01T00:00:00+00:00"))
    answer = harness("gc")
    assert answer.status == 0
    assert f"{path}: of a tree with uncommitted changes" in answer.out
    assert "nothing was removed" in answer.out
    assert path.exists()
    document = harness("gc", "--yes", "--json").json()
    assert document["files"] == [str(path)]
    assert not path.exists()
    assert harness("gc").out == "0 files (0 bytes) can go\n"


def test_gc_makes_a_run_of_a_dead_journal_first(harness: Command, results: Path) -> None:
    with Journal(results, run()) as kept:
        kept.add_graph(run().graphs[0])
        left, text = kept.journal, kept.journal.read_bytes()
        kept.finish()
    (written,) = results.glob("*/*.parquet")
    written.unlink()
    left.write_bytes(text)  # as a process that is killed leaves it
    left.with_name("0-torn.journal").write_text('{"schema": 2}\n{"x"\n{}\n')  # keeps no other
    answer = harness("gc")
    assert "an interrupted run could not be recorded" in answer.err
    assert "an interrupted run is now recorded" in answer.err
    assert not left.exists()
    assert written.exists()


def test_import(harness: Command, results: Path, tmp_path: Path) -> None:
    document = {
        "machine_info": {"cpu": {"brand_raw": "Fast CPU"}},
        "commit_info": {"id": "abcdef1234567890"},
        "benchmarks": [{"name": "t", "fullname": "a.py::t", "stats": {"median": 0.25}}],
        "datetime": "2026-01-02T03:04:05",
    }
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    assert "would be imported" in harness("import", "--dry-run", path).out
    assert not results.exists()
    (row,) = harness("import", path, "--json").json()["runs"]
    assert Path(row["file"]).is_file()
    again = harness("import", path, "-v")
    assert "is there already" in again.out
    assert (
        "] reading x.json (0 of 1)" in again.err and f"] writing {row['run']} (0 of 1)" in again.err
    )
    (listed,) = harness("list", "--runs", "--json").json()["runs"]
    assert listed["kernels"] == 1
    shown = harness("show").out
    assert "250.000 " in shown  # a time, although no GPU was there
    assert "imported, measured by pytest-benchmark" in shown
    path.write_text("[")
    assert harness("import", path).status == 1


def test_imports_are_compared_without_talk_of_code(harness: Command, tmp_path: Path) -> None:
    for day, factor in ((2, 1.0), (3, 1.5)):
        data = [factor * seconds for seconds in (0.25, 0.251, 0.249)]
        bench = {"name": "t", "fullname": "a.py::t", "stats": {"median": data[0], "data": data}}
        document = {
            "machine_info": {"cpu": {"brand_raw": "Fast CPU"}},
            "benchmarks": [bench],
            "datetime": f"2026-01-0{day}T03:04:05",
        }
        (tmp_path / "x.json").write_text(json.dumps(document))
        assert harness("import", tmp_path / "x.json").status == 0
    answer = harness("compare", "20260102", "20260103")
    assert answer.status == 4, "one process on a side"
    assert "1.500" in answer.out
    assert "nothing that is recorded" not in answer.out
    assert "harness confirm" not in answer.out  # there is no module to time


def test_import_of_a_folder_with_a_damaged_file(
    harness: Command, results: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "box"
    folder.mkdir()
    document = {
        "version": 2,
        "commit_hash": "abcdef1234567890",
        "result_columns": ["result", "params"],
        "results": {"suite.time_it": [[0.5], []]},
    }
    (folder / "good.json").write_text(json.dumps(document))
    (folder / "torn.json").write_text(json.dumps(document)[:-9])
    answer = harness("import", folder)
    assert answer.status == 1
    assert "good.json: 1 figures" in answer.out
    assert f"error: {folder / 'torn.json'}" in answer.err
    assert len(list(results.glob("*/*.parquet"))) == 1
    document = harness("import", folder, "--json").json()
    assert [error["where"] for error in document["damaged"]] == [str(folder / "torn.json")]


def _spoilt(results: Path, commits: list[str], what: str) -> None:
    """A history of eight kernels without a change, whose run 7 holds ``what`` it should not."""
    values = 0.02 * np.exp(0.005 * noise(np.random.default_rng(3), 8, POINTS, 0.0))
    times = {"NaN": np.nan, "infinity": np.inf, "zero": 0.0, "negative": -0.02, "too long": 1e300}

    def edit(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        if (row, point) != (4, 7):
            return kernel
        sets = {"constant": Samples((0.02,) * 30), "another method": Samples((0.02,), method="2")}
        one = sets.get(what, Samples((0.02, times.get(what, 0.02))))
        return replace(kernel, sets=(one,), launches=int(what != "no launches"))

    files = save_history(results, commits, values, edit=edit)
    whole = store.load(files[7])
    (graph,) = whole.graphs
    if what == "empty":
        whole = replace(whole, graphs=(replace(graph, kernels=()),))
    elif what == "duplicate":
        kernels = (*graph.kernels, graph.kernels[4])
        whole = replace(whole, graphs=(replace(graph, kernels=kernels),))
    elif what == "a graph twice":
        whole = replace(whole, graphs=(graph, replace(graph, kernels=graph.kernels[4:5])))
    elif what == "a machine that lies":
        whole = replace(whole, machine=replace(whole.machine, gpu="NVIDIA B200"))
    files[7].unlink()
    store.save(results, whole)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("NaN", "kernel triton_poi_k4_0 of block: a sample is no number (nan)"),
        ("infinity", "kernel triton_poi_k4_0 of block: a sample is no number (inf)"),
        ("zero", "kernel triton_poi_k4_0 of block: a sample is no time (0 ms)"),
        ("negative", "kernel triton_poi_k4_0 of block: a sample is no time (-0.02 ms)"),
        ("too long", "kernel triton_poi_k4_0 of block: a sample is no time (1e+300 ms)"),
        ("no launches", "kernel triton_poi_k4_0 of block: it is launched 0 times"),
        ("constant", "kernel triton_poi_k4_0 of block: all 30 samples are 0.02 ms"),
        ("another method", "kernel triton_poi_k4_0 of block: mixes methods of measuring: 2"),
        ("duplicate", "kernel triton_poi_k4_0 of block: it is there twice"),
        ("a graph twice", "kernel triton_poi_k4_0 of block: it is there twice"),
        ("empty", "holds no kernels"),
        ("a machine that lies", "and was made on NVIDIA B200"),
    ],
)
def test_what_a_file_should_not_hold_is_named_and_the_rest_is_judged(
    harness: Command, results: Path, commits: tuple[Path, list[str]], what: str, said: str
) -> None:
    _spoilt(results, commits[1], what)
    answer = harness("changes", "--repository", commits[0], "--json")
    assert answer.status == 2
    document = answer.json()
    (problem,) = document["problems"]
    assert said in problem
    assert f"20260101-000007-{commits[1][7][:12]}.parquet: " in problem
    # Eight kernels and their graph, without what is no figure of them.
    assert document["judged"] == 9
    assert not document["changes"]
    lost = {"empty": 9, "a machine that lies": 9, "duplicate": 0, "a graph twice": 0}.get(what, 2)
    assert document["points"] == 9 * POINTS - lost
    assert said in " ".join(harness("changes", "--repository", commits[0]).out.split())


def test_what_is_wrong_with_many_kernels_is_folded(
    harness: Command, results: Path, commits: tuple[Path, list[str]]
) -> None:
    def edit(kernel: KernelRecord, row: int, point: int) -> KernelRecord:
        return replace(kernel, sets=(Samples((0.02, 0.0 if point > 5 else 0.02)),))

    save_history(results, commits[1], np.full((3, POINTS), 0.02), edit=edit)
    answer = harness("changes", "--repository", commits[0])
    assert answer.status == 2
    assert " ".join(answer.out.split()).count("of block: a sample is no time (0 ms)") == 10
    assert f"and {3 * (POINTS - 6) - 10} more (--json)" in answer.out
