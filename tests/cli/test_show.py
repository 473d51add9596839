from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.history import store
from tests.cli.conftest import Command
from tests.history.examples import KERNEL, failed, run


@pytest.fixture
def path(results: Path) -> Path:
    return store.save(results, run())


def test_show_prints_the_latest_run(harness: Command, path: Path) -> None:
    answer = harness("show")
    assert "block  2 kernels, 6 launches, 4 library calls" in answer.out
    assert "per_fused_mul_0 ×3" in answer.out
    assert "broken  FAILED" in answer.out
    assert str(path) in answer.out
    assert answer.status == 1, "a graph of the run failed"


def test_a_run_without_failures_is_fine(harness: Command, results: Path) -> None:
    store.save(results, run("20270101-000000-a", graphs=run().graphs[:1]))
    assert harness("show").status == 0


def test_json(harness: Command, path: Path) -> None:
    document = harness("show", path, "--json").json()
    assert document["run"] == run().id
    assert document["file"] == str(path)
    assert document["graphs"][0]["kernels"][0]["ms"] == KERNEL.ms
    assert document["graphs"][0]["kernels"][0]["sets"][0]["ms"] == list(KERNEL.samples_ms)


def test_module_text(harness: Command, path: Path) -> None:
    answer = harness("show", "--module", KERNEL.name)
    assert answer.status == 0
    assert answer.out == KERNEL.module


def test_an_unknown_module_gets_the_nearest(harness: Command, path: Path) -> None:
    answer = harness("show", "--module", "triton_per_fused_mul_9")
    assert answer.status == 2
    assert KERNEL.name in answer.err


def test_an_interrupted_run_says_so(harness: Command, results: Path) -> None:
    store.save(results, run(complete=False))
    assert "interrupted" in harness("show").out


def test_a_failed_kernel_has_its_error(harness: Command, results: Path) -> None:
    graph = run().graphs[0]
    broken = run(graphs=(type(graph)("g", kernels=(failed(),)),))
    store.save(results, broken)
    answer = harness("show")
    assert answer.status == 1
    assert "error 0.5, allowed 7.63e-06" in answer.out


@pytest.mark.parametrize("name", ["nope", "latest"])
def test_no_runs(harness: Command, name: str) -> None:
    answer = harness("show", name)
    assert answer.status == 2
    assert "no runs yet" in answer.err


@pytest.mark.parametrize("option", [("--baseline", "inductor"), ("--unchanged",)])
def test_what_is_of_a_sum_needs_one(harness: Command, path: Path, option: tuple[str, ...]) -> None:
    answer = harness("show", *option)
    assert answer.status == 2
    assert "expected: --by all, kind" in answer.err


def test_a_torn_file(harness: Command, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])
    answer = harness("show")
    assert answer.status == 1
    assert str(path) in answer.err
    assert "Traceback" not in answer.err


def test_the_query_of_a_run_is_shortened_where_it_lists_patterns(
    harness: Command, results: Path
) -> None:
    query = "corpus:name!=" + ",".join(f"pattern_{n}" for n in range(300))
    store.save(results, replace(run(), suite=query))
    shown = harness("list", "--runs").out
    assert "corpus:name!=pattern_0" in shown and max(map(len, shown.splitlines())) < 200
    assert harness("list", "--runs", "--json").json()["runs"][0]["suite"] == query


def test_list_runs_shows_good_ones_and_names_bad_ones(
    harness: Command, results: Path, path: Path
) -> None:
    (results / "testgpu-1.2" / "20250101-000000-x.parquet").write_text("torn")
    answer = harness("list", "--runs")
    assert answer.status == 0
    assert run().id in answer.out
    assert "20250101" in answer.err
    assert [r["run"] for r in harness("list", "--runs", "--json").json()["runs"]] == [run().id]
