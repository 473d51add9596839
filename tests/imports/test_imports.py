"""Results of asv and pytest-benchmark as runs. The files are made by those tools themselves
where they are at hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.errors import RecordError, UsageError
from harness.history import index, schema, store
from harness.imports import reading
from harness.records.run import Machine, Run
from tests.imports.tool_files import COMMIT, asv_results, pytest_document


def test_asv_results_become_a_run(tmp_path: Path) -> None:
    found = reading.read([asv_results(tmp_path)])
    ((_, run),) = found.runs
    assert run.commit == COMMIT
    assert run.created == "2026-01-02T04:04:05+00:00"
    assert run.id == "20260102-040405-imported-0123456789ab"
    assert (run.machine.key, run.machine.gpu, run.machine.driver) == ("asv-box", "Test GPU", "9")
    assert (run.machine.cores, run.machine.torch, run.machine.triton) == (8, "2.13", "3.9")
    assert run.method == "asv/env"  # asv compares no two environments, and no more do we
    graphs = {graph.name: {k.name: k for k in graph.kernels} for graph in run.graphs}
    assert sorted(graphs) == ["suite.Kernel.time_it", "suite.time_alone", "suite.track_gbps"]
    it = graphs["suite.Kernel.time_it"]
    assert sorted(it) == ["'a', 1", "'a', 2", "'b', 1"]  # the combination that was skipped is not
    assert it["'a', 1"].samples_ms == (1.0, 2.1, 9.0)
    assert it["'a', 1"].ms == 2.1  # of the samples, which are what comparing works on
    assert it["'a', 2"].ms == 3.0
    assert it["'a', 2"].sets == ()
    assert "failed" in it["'b', 1"].reason
    assert graphs["suite.track_gbps"]["-"].gbps == 1500.0
    assert graphs["suite.track_gbps"]["-"].ms is None
    assert found.left_out == {"asv benchmarks in bytes": 1}


def test_without_a_list_of_benchmarks_names_say_what_is_a_time(tmp_path: Path) -> None:
    folder = asv_results(tmp_path)
    (folder / "benchmarks.json").unlink()
    found = reading.read([folder])
    ((_, run),) = found.runs
    assert [graph.name for graph in run.graphs] == ["suite.Kernel.time_it", "suite.time_alone"]
    assert found.left_out == {"asv benchmarks in an unknown unit": 2}


@pytest.mark.parametrize("result", [None, [None]])
def test_a_set_up_that_failed_fails_every_combination(tmp_path: Path, result: object) -> None:
    folder = asv_results(tmp_path)
    (path,) = (folder / "box").glob("0123*.json")
    document = json.loads(path.read_text())
    row = document["results"]["suite.Kernel.time_it"]
    row[document["result_columns"].index("result")] = result
    path.write_text(json.dumps(document))
    ((_, run),) = reading.read([folder]).runs
    (it,) = [graph for graph in run.graphs if graph.name == "suite.Kernel.time_it"]
    assert [bool(kernel.reason) for kernel in it.kernels] == [True] * 4


def test_a_value_too_few_is_damage(tmp_path: Path) -> None:
    folder = asv_results(tmp_path)
    (path,) = (folder / "box").glob("0123*.json")
    document = json.loads(path.read_text())
    row = document["results"]["suite.Kernel.time_it"]
    row[document["result_columns"].index("result")] = [0.1, 0.2]
    path.write_text(json.dumps(document))
    with pytest.raises(RecordError, match="a value per parameter combination"):
        reading.read([folder])


def test_an_import_is_stored_once_and_found_again(tmp_path: Path) -> None:
    ((_, run),) = reading.read([asv_results(tmp_path / "asv")]).runs
    results = tmp_path / "results"
    path = reading.save(results, run)
    assert path is not None
    (there, _), (made, _) = schema.known(store.load(path)), schema.known(run)
    assert there.equals(made, check_metadata=True)
    assert reading.save(results, run) is None
    (entry,) = index.refresh(results).runs
    assert (entry.kernels, entry.failed) == (5, 1)


def test_an_imported_run_is_never_the_latest(tmp_path: Path) -> None:
    ((_, imported),) = reading.read([asv_results(tmp_path / "asv")]).runs
    results = tmp_path / "results"
    path = reading.save(results, imported)
    assert store.find(results) == path, "there is no other"
    ours = store.save(results, Run("20250101-000000-abc", "", Machine("box"), ""))
    assert store.find(results) == ours, "though it is older"
    assert store.find(results, imported.id) == path, "by its name it is found"


def test_another_version_of_asv_is_refused(tmp_path: Path) -> None:
    folder = asv_results(tmp_path)
    (path,) = (folder / "box").glob("0123*.json")
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "version": 1}))
    with pytest.raises(RecordError, match="another version") as caught:
        reading.read([folder])
    assert (caught.value.got, caught.value.expected) == ("1", "2")


@pytest.mark.parametrize("unit", ["seconds", "s", "ms", "us", "µs", "ns", "GB/s", "gbps"])
def test_units(unit: str) -> None:
    found = reading.quantity(2.0, unit)
    assert found is not None
    ms, gbps = found
    scale = {"s": 1e3, "m": 1.0, "u": 1e-3, "µ": 1e-3, "n": 1e-6}.get(unit[0])
    assert (ms, gbps) == ((None, 2.0) if unit[0] in "Gg" else (2.0 * (scale or 0), None))


def test_a_unit_that_is_neither(tmp_path: Path) -> None:
    assert reading.quantity(1.0, "bytes") is None


def pytest_benchmark(folder: Path, *options: str) -> Path:
    """What pytest-benchmark writes for a test of its own."""
    pytest.importorskip("pytest_benchmark")
    folder.mkdir()
    (folder / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('n', [1, 2])\n"
        "@pytest.mark.benchmark(group='sums')\n"
        "def test_sum(benchmark, n):\n"
        "    benchmark.extra_info.update(gbps=12.5, bytes=4096)\n"
        "    benchmark.pedantic(sum, ([n],), rounds=5)\n"
        "def test_plain(benchmark):\n"
        "    benchmark.pedantic(sum, ([1],), rounds=5)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
    subprocess.run(
        [*command, "--rootdir", str(folder), "--benchmark-json=out.json", *options, "test_it.py"],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if "XDIST" not in name},
        check=True,
        capture_output=True,
    )
    return folder / "out.json"


def test_pytest_benchmark_becomes_a_run(tmp_path: Path) -> None:
    path = pytest_benchmark(tmp_path / "project")
    ((_, run),) = reading.read([path]).runs
    assert run.method == "pytest-benchmark"
    assert run.machine.key.startswith("pytest-")
    graphs = {graph.name: graph for graph in run.graphs}
    assert sorted(graphs) == ["sums", "test_it.py"]
    one = graphs["sums"].kernels[0]
    assert one.name == "test_sum[1]"
    assert (one.gbps, one.bytes) == (12.5, 4096)
    document = json.loads(path.read_text())
    (entry,) = [b for b in document["benchmarks"] if b["name"] == "test_sum[1]"]
    assert one.samples_ms == pytest.approx([1e3 * s for s in entry["stats"]["data"]])
    assert one.ms == pytest.approx(1e3 * entry["stats"]["median"])
    assert reading.save(tmp_path / "results", run) is not None
    assert reading.save(tmp_path / "results", run) is None


def test_the_plugins_own_facts_come_along(tmp_path: Path) -> None:
    document = pytest_document()
    facts = {"median_low_ms": 249.0, "median_high_ms": 251.0, "share_of_roof": 0.5, "roof": "copy"}
    document["benchmarks"][0]["extra_info"] = {"gbps": 2.5, "bytes": 10, **facts}
    (tmp_path / "x.json").write_text(json.dumps(document))
    ((_, run),) = reading.read([tmp_path / "x.json"]).runs
    (kernel,) = run.graphs[0].kernels
    assert (kernel.low, kernel.high, kernel.fraction, kernel.roof) == (249.0, 251.0, 0.5, "copy")
    assert (kernel.gbps, kernel.bytes) == (2.5, 10)


def test_pytest_benchmark_without_samples(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(pytest_document()))
    ((_, run),) = reading.read([path]).runs
    assert (run.commit, run.dirty, run.id) == (
        COMMIT,
        True,
        "20260102-030405-imported-0123456789ab",
    )
    (kernel,) = run.graphs[0].kernels
    assert (kernel.ms, kernel.sets) == (250.0, ())
    assert run.machine.key == "pytest-fast-cpu"


@pytest.mark.parametrize("version", ["3.2.3", "3.4.1", "4.0.0"])
def test_files_of_earlier_versions(version: str) -> None:
    """As those versions wrote them, the processor's flags taken out."""
    path = Path(__file__).parent / "fixtures" / f"pytest-benchmark-{version}.json"
    assert json.loads(path.read_text())["version"] == version
    ((_, run),) = reading.read([path]).runs
    assert (run.commit, run.machine.key, run.machine.python) == ("", "pytest-amd-epyc", "3.11.7")
    names = {graph.name: [kernel.name for kernel in graph.kernels] for graph in run.graphs}
    plain = ["test_plain", "test_it.py::TestB::test_plain"]
    assert names == {"sums": ["test_sum[1]", "test_sum[2]"], "test_it.py": plain}
    assert {len(kernel.samples_ms) for graph in run.graphs for kernel in graph.kernels} == {5}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"datetime": "yesterday"}, "when it was made"),
        ({"benchmarks": [{"name": "t"}]}, "no figures"),
        ({"benchmarks": [{"name": "t", "stats": {"median": "fast"}}]}, "no number"),
        ({"machine_info": 3}, "describes no machine"),
        ({"benchmarks": 3}, "no list of benchmarks"),
    ],
)
def test_damaged_pytest_benchmark(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({**pytest_document(), **change}))
    with pytest.raises(RecordError, match=message) as caught:
        reading.read([path])
    assert str(path) in str(caught.value)


def test_a_half_written_file(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(pytest_document())[:-40])
    with pytest.raises(RecordError, match="no whole JSON document") as caught:
        reading.read([path])
    assert "half-written" in caught.value.remedy


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(RecordError, match="no whole JSON") as caught:
        reading.read([path])
    assert "byte 0xff" in caught.value.got


@pytest.mark.parametrize("content", [None, "{}", ""])
def test_nothing_to_import(tmp_path: Path, content: str | None) -> None:
    if content:
        (tmp_path / "x.json").write_text(content)
    with pytest.raises(UsageError, match=r"nothing to import|no such file"):
        reading.read([tmp_path if content != "" else tmp_path / "none"])
