"""Results of asv and pytest-benchmark as runs. The files are made by those tools themselves
where they are at hand."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.bench.record import to_json
from harness.errors import RecordError, UsageError
from harness.track import foreign, index, store

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def asv_results(folder: Path, **changes: Any) -> Path:
    """A results folder as asv 0.6 writes it, through its own code."""
    asv_results = pytest.importorskip("asv.results")
    util = pytest.importorskip("asv.util")
    made = asv_results.Results(
        {"machine": "box", "arch": "x86_64", "cpu": "fast", "num_cpu": "8", "os": "Linux"},
        {"torch": "2.13", "triton": "3.9"},
        COMMIT,
        1767323045000,
        "3.12",
        "env",
        {},
    )
    made._results = {
        "suite.Kernel.time_it": [0.002, 0.003, None, math.nan],
        "suite.track_gbps": [1500.0],
        "suite.peakmem_it": [12345678],
        "suite.time_alone": [0.5],
    }
    made._benchmark_params = {
        "suite.Kernel.time_it": [["'a'", "'b'"], ["1", "2"]],
        "suite.track_gbps": [],
        "suite.peakmem_it": [],
        "suite.time_alone": [],
    }
    made._samples = {"suite.Kernel.time_it": [[0.001, 0.0021, 0.009], None, None, None]}
    made._stats = dict.fromkeys(made._results)
    made._started_at = {"suite.Kernel.time_it": 1767326645000}
    made._filename = f"box/{COMMIT[:8]}-env.json"
    made.save(str(folder))
    machine = {"machine": "box", "gpu": "Test GPU", "driver": "9", "version": 1}
    util.write_json(str(folder / "box" / "machine.json"), machine)
    listed = {
        "suite.Kernel.time_it": {"unit": "seconds"},
        "suite.track_gbps": {"unit": "GB/s"},
        "suite.peakmem_it": {"unit": "bytes"},
        "suite.time_alone": {"unit": "seconds"},
        "version": 2,
    }
    (folder / "benchmarks.json").write_text(json.dumps(listed))
    return folder


def test_asv_results_become_a_run(tmp_path: Path) -> None:
    found = foreign.read([asv_results(tmp_path)])
    ((_, run),) = found.runs
    assert run.commit == COMMIT
    assert run.created == "2026-01-02T04:04:05+00:00"
    assert run.id == "20260102-040405-0123456789ab"
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
    found = foreign.read([folder])
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
    ((_, run),) = foreign.read([folder]).runs
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
        foreign.read([folder])


def test_an_import_is_stored_once_and_found_again(tmp_path: Path) -> None:
    ((_, run),) = foreign.read([asv_results(tmp_path / "asv")]).runs
    results = tmp_path / "results"
    path = foreign.save(results, run)
    assert path is not None
    assert store.load(path) == run
    assert foreign.save(results, run) is None
    (entry,) = index.refresh(results).runs
    assert (entry.kernels, entry.failed) == (5, 1)


def test_another_version_of_asv_is_refused(tmp_path: Path) -> None:
    folder = asv_results(tmp_path)
    (path,) = (folder / "box").glob("0123*.json")
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "version": 1}))
    with pytest.raises(RecordError, match="another version") as caught:
        foreign.read([folder])
    assert (caught.value.got, caught.value.expected) == ("1", "2")


@pytest.mark.parametrize("unit", ["seconds", "s", "ms", "us", "µs", "ns", "GB/s", "gbps"])
def test_units(unit: str) -> None:
    found = foreign.quantity(2.0, unit)
    assert found is not None
    ms, gbps = found
    scale = {"s": 1e3, "m": 1.0, "u": 1e-3, "µ": 1e-3, "n": 1e-6}.get(unit[0])
    assert (ms, gbps) == ((None, 2.0) if unit[0] in "Gg" else (2.0 * (scale or 0), None))


def test_a_unit_that_is_neither(tmp_path: Path) -> None:
    assert foreign.quantity(1.0, "bytes") is None


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
        check=True,
        capture_output=True,
    )
    return folder / "out.json"


def test_pytest_benchmark_becomes_a_run(tmp_path: Path) -> None:
    path = pytest_benchmark(tmp_path / "project")
    ((_, run),) = foreign.read([path]).runs
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
    assert foreign.save(tmp_path / "results", run) is not None
    assert foreign.save(tmp_path / "results", run) is None


def test_the_plugins_own_facts_come_along(tmp_path: Path) -> None:
    document = pytest_document()
    facts = {"median_low_ms": 249.0, "median_high_ms": 251.0, "share_of_roof": 0.5, "roof": "copy"}
    document["benchmarks"][0]["extra_info"] = {"gbps": 2.5, "bytes": 10, **facts}
    (tmp_path / "x.json").write_text(json.dumps(document))
    ((_, run),) = foreign.read([tmp_path / "x.json"]).runs
    (kernel,) = run.graphs[0].kernels
    assert (kernel.low, kernel.high, kernel.fraction, kernel.roof) == (249.0, 251.0, 0.5, "copy")
    assert (kernel.gbps, kernel.bytes) == (2.5, 10)


def pytest_document() -> dict[str, Any]:
    return {
        "machine_info": {"cpu": {"brand_raw": "Fast CPU", "count": 4}, "python_version": "3.12"},
        "commit_info": {"id": COMMIT, "dirty": True},
        "benchmarks": [
            {"name": "t", "fullname": "a.py::t", "group": None, "stats": {"median": 0.25}}
        ],
        "datetime": "2026-01-02T03:04:05",
        "version": "5.2.0",
    }


def test_pytest_benchmark_without_samples(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(pytest_document()))
    ((_, run),) = foreign.read([path]).runs
    assert (run.commit, run.dirty, run.id) == (COMMIT, True, "20260102-030405-0123456789ab")
    (kernel,) = run.graphs[0].kernels
    assert (kernel.ms, kernel.sets) == (250.0, ())
    assert run.machine.key == "pytest-fast-cpu"


@pytest.mark.parametrize("version", ["3.2.3", "3.4.1", "4.0.0"])
def test_files_of_earlier_versions(version: str) -> None:
    """As those versions wrote them, the processor's flags taken out."""
    path = Path(__file__).parent / "fixtures" / f"pytest-benchmark-{version}.json"
    assert json.loads(path.read_text())["version"] == version
    ((_, run),) = foreign.read([path]).runs
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
        foreign.read([path])
    assert str(path) in str(caught.value)


def test_a_half_written_file(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(pytest_document())[:-40])
    with pytest.raises(RecordError, match="no whole JSON document") as caught:
        foreign.read([path])
    assert "half-written" in caught.value.remedy


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(RecordError, match="not UTF-8") as caught:
        foreign.read([path])
    assert caught.value.got == "byte 0xff"


@pytest.mark.parametrize("content", [None, "{}", ""])
def test_nothing_to_import(tmp_path: Path, content: str | None) -> None:
    if content:
        (tmp_path / "x.json").write_text(content)
    with pytest.raises(UsageError, match=r"nothing to import|no such file"):
        foreign.read([tmp_path if content != "" else tmp_path / "none"])


def edited_asv(tmp_path: Path, **changes: Any) -> Path:
    """asv's folder, with fields of the result file, or of its row of times, replaced."""
    folder = asv_results(tmp_path)
    (path,) = (folder / "box").glob("0123*.json")
    document = json.loads(path.read_text())
    row = document["results"]["suite.Kernel.time_it"]
    for name, value in changes.items():
        if name in document["result_columns"]:
            row[document["result_columns"].index(name)] = value
        else:
            document[name] = value
    path.write_text(json.dumps(document))
    return folder


def stored(results: Path) -> list[Path]:
    return sorted(path for path in results.rglob("*") if path.is_file())


@pytest.mark.parametrize("key", ["../../outside", "/tmp/outside", "..", "", "a/b\\c", "x" * 400])
def test_a_machine_name_never_leads_out_of_the_results(tmp_path: Path, key: str) -> None:
    document = pytest_document()
    document["machine_info"]["harness"] = {"key": key, "cpu": "c"}
    (tmp_path / "x.json").write_text(json.dumps(document))
    ((_, run),) = foreign.read([tmp_path / "x.json"]).runs
    results = tmp_path / "a" / "b" / "results"
    path = foreign.save(results, run)
    assert path is not None
    assert path.parent.parent == results
    assert stored(tmp_path) == sorted([path, tmp_path / "x.json"])


@pytest.mark.parametrize("commit", ["../../../x", "a/b", "", None, "rm -rf", 7, "f" * 500])
def test_a_commit_never_leads_out_of_the_results(tmp_path: Path, commit: object) -> None:
    document = {**pytest_document(), "commit_info": {"id": commit}}
    (tmp_path / "x.json").write_text(json.dumps(document))
    asv_folder = edited_asv(tmp_path / "asv", commit_hash=commit)
    for _, run in foreign.read([tmp_path / "x.json", asv_folder]).runs:
        assert run.commit == ""
        assert run.id.endswith("-imported")
        path = foreign.save(tmp_path / "results", run)
        assert path is not None
        assert path.parent.parent == tmp_path / "results"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"result": [10**400, 1, 1, 1]}, "no number"),
        ({"result": ["1", 1, 1, 1]}, "no number"),
        ({"samples": [[10**400]]}, "no number"),
        ({"samples": [5]}, "no number"),
        ({"samples": [[math.nan]]}, "no number"),
        ({"params": [["a"] * 1000] * 40}, "a value per parameter combination"),
        ({"params": [["a"] * 1000] * 40, "result": None}, "a value per parameter combination"),
        ({"params": "ab"}, "parameters of asv's are no lists"),
        ({"params": [3]}, "parameters of asv's are no lists"),
        ({"started_at": 1e300}, "a date that is none"),
        ({"started_at": math.nan}, "a date that is none"),
        ({"result_columns": None}, "no columns"),
    ],
)
def test_nonsense_in_asv_results_is_one_sentence(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(RecordError, match=message):
        foreign.read([edited_asv(tmp_path, **changes)])


def test_an_infinite_figure_of_asv_is_a_failure_of_its_own(tmp_path: Path) -> None:
    ((_, run),) = foreign.read([edited_asv(tmp_path, result=[math.inf, 1, 1, 1])]).runs
    (it,) = [graph for graph in run.graphs if graph.name == "suite.Kernel.time_it"]
    assert [bool(kernel.reason) for kernel in it.kernels] == [True, False, False, False]


@pytest.mark.parametrize("value", [10**400, math.inf, math.nan])
@pytest.mark.parametrize("where", ["median", "data", "gbps"])
def test_a_figure_without_bounds_is_one_sentence(tmp_path: Path, value: float, where: str) -> None:
    document = pytest_document()
    (bench,) = document["benchmarks"]
    if where == "gbps":
        bench["extra_info"] = {"gbps": value}
    else:
        bench["stats"][where] = [value] if where == "data" else value
    (tmp_path / "x.json").write_text(json.dumps(document))
    with pytest.raises(RecordError, match="no number"):
        foreign.read([tmp_path / "x.json"])


def test_a_deeply_nested_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"benchmarks": ' + "[" * 200_000)
    with pytest.raises(RecordError, match=r"nested too deeply|no whole JSON"):
        foreign.read([tmp_path / "x.json"])


def test_a_damaged_file_does_not_keep_the_others_out(tmp_path: Path) -> None:
    folder = asv_results(tmp_path)
    (path,) = (folder / "box").glob("0123*.json")
    (folder / "box" / "torn.json").write_text(path.read_text()[:-9])
    found = foreign.read([folder])
    assert len(found.runs) == 1
    (damage,) = found.damaged
    assert damage.where.endswith("torn.json")


def test_figures_of_one_name_are_all_kept(tmp_path: Path) -> None:
    """A group may span files; a parameter may be given twice."""
    document = pytest_document()
    document["benchmarks"] = [
        {"name": "t", "fullname": full, "group": "g", "stats": {"median": seconds}}
        for full, seconds in (("a.py::t", 1), ("b.py::t", 2), ("b.py::t", 3))
    ]
    (tmp_path / "x.json").write_text(json.dumps(document))
    ((_, run),) = foreign.read([tmp_path / "x.json"]).runs
    assert {k.name: k.ms for k in run.graphs[0].kernels} == {
        "t": 1000.0,
        "b.py::t": 2000.0,
        "b.py::t (2)": 3000.0,
    }
    twice = edited_asv(tmp_path / "asv", params=[["a", "a"], ["1", "2"]], result=[1, 2, 3, 4])
    ((_, run),) = foreign.read([twice]).runs
    (it,) = [graph for graph in run.graphs if graph.name == "suite.Kernel.time_it"]
    assert sorted(k.name for k in it.kernels) == ["a, 1", "a, 1 (2)", "a, 2", "a, 2 (2)"]


def test_half_a_character_can_be_stored(tmp_path: Path) -> None:
    document = pytest_document()
    document["benchmarks"][0].update(name="t\ud800", group="g\udfff")
    (tmp_path / "x.json").write_text(json.dumps(document))
    ((_, run),) = foreign.read([tmp_path / "x.json"]).runs
    path = foreign.save(tmp_path / "results", run)
    assert path is not None
    assert store.load(path) == run


def test_names_give_no_orders_to_a_terminal(tmp_path: Path) -> None:
    escape = "\x1b]0;owned\x07\x1b[2Jt\r\n\x9b"
    document = pytest_document()
    document["benchmarks"][0].update(name=escape, group=escape)
    document["machine_info"]["cpu"]["brand_raw"] = escape
    (tmp_path / "x.json").write_text(json.dumps(document))
    asv_folder = edited_asv(tmp_path / "asv", params=[[escape, "b"], ["c", "d"]], python=escape)
    units = {"suite.peakmem_it": {"unit": escape}}
    (asv_folder / "benchmarks.json").write_text(json.dumps(units))
    found = foreign.read([tmp_path / "x.json", asv_folder])
    said = f"{found.left_out}{[to_json(run) for _, run in found.runs]}"
    assert "owned" in said
    assert not any(f"\\x{code:02x}" in said for code in (0x1B, 0x07, 0x9B))
    assert not any(word in said for word in ("\\r", "\\n"))


def test_what_a_file_says_is_never_run(tmp_path: Path) -> None:
    """Loading data does not execute it, whatever it looks like."""
    mark = tmp_path / "executed"
    code = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    document = pytest_document()
    document["benchmarks"][0].update(name=code, group=f"$({code})", param=code)
    document["machine_info"]["harness"] = {"key": code, "cpu": code, "__class__": code}
    (tmp_path / "x.json").write_text(json.dumps(document))
    asv_folder = edited_asv(tmp_path / "asv", params=[[code, "b"], [code, "c"]], env_name=code)
    for _, run in foreign.read([tmp_path / "x.json", asv_folder]).runs:
        path = foreign.save(tmp_path / "results", run)
        assert path is not None
        store.load(path)
    index.refresh(tmp_path / "results")
    assert not mark.exists()


SLOW_IMPORT = """
import sys, time
from pathlib import Path
from harness.track import foreign, store

at_once = store.save
store.save = lambda *given: (time.sleep(0.3), at_once(*given))[1]
for _, run in foreign.read([Path(sys.argv[1])]).runs:
    foreign.save(Path(sys.argv[2]), run)
"""


def test_imports_at_the_same_moment_store_a_run_once(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(pytest_document()))
    results = tmp_path / "results"
    command = [sys.executable, "-c", SLOW_IMPORT, str(tmp_path / "x.json"), str(results)]
    started = [subprocess.Popen(command) for _ in range(3)]
    assert [one.wait(timeout=60) for one in started] == [0] * 3
    assert len(stored(results)) == 1


def test_a_folder_that_refuses_is_no_matter_of_measuring(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(pytest_document()))
    ((_, run),) = foreign.read([tmp_path / "x.json"]).runs
    (tmp_path / "results").write_text("a file")
    with pytest.raises(RecordError, match="cannot be recorded") as caught:
        foreign.save(tmp_path / "results", run)
    assert "--no-record" not in caught.value.remedy
    assert "HARNESS_RESULTS" in caught.value.remedy
