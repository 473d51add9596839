"""What a file to import may say and must not do: lead elsewhere, run, displace, end the import."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.errors import RecordError
from harness.history import index, store
from harness.imports import reading
from harness.records.run import to_json
from tests.imports.tool_files import asv_results, edited_asv, pytest_document, stored


@pytest.mark.parametrize("key", ["../../outside", "/tmp/outside", "..", "", "a/b\\c", "x" * 400])
def test_a_machine_name_never_leads_out_of_the_results(tmp_path: Path, key: str) -> None:
    document = pytest_document()
    document["machine_info"]["harness"] = {"key": key, "cpu": "c"}
    (tmp_path / "x.json").write_text(json.dumps(document))
    ((_, run),) = reading.read([tmp_path / "x.json"]).runs
    results = tmp_path / "a" / "b" / "results"
    path = reading.save(results, run)
    assert path is not None
    assert path.parent.parent == results
    assert stored(tmp_path) == sorted([path, tmp_path / "x.json"])


@pytest.mark.parametrize("commit", ["../../../x", "a/b", "", None, "rm -rf", 7, "f" * 500])
def test_a_commit_never_leads_out_of_the_results(tmp_path: Path, commit: object) -> None:
    document = {**pytest_document(), "commit_info": {"id": commit}}
    (tmp_path / "x.json").write_text(json.dumps(document))
    asv_folder = edited_asv(tmp_path / "asv", commit_hash=commit)
    for _, run in reading.read([tmp_path / "x.json", asv_folder]).runs:
        assert run.commit == ""
        assert run.id.endswith("-imported")
        path = reading.save(tmp_path / "results", run)
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
        reading.read([edited_asv(tmp_path, **changes)])


def test_an_infinite_figure_of_asv_is_a_failure_of_its_own(tmp_path: Path) -> None:
    ((_, run),) = reading.read([edited_asv(tmp_path, result=[math.inf, 1, 1, 1])]).runs
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
        reading.read([tmp_path / "x.json"])


def test_a_deeply_nested_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"benchmarks": ' + "[" * 200_000)
    with pytest.raises(RecordError, match=r"nested too deeply|no whole JSON"):
        reading.read([tmp_path / "x.json"])


def test_a_damaged_file_does_not_keep_the_others_out(tmp_path: Path) -> None:
    folder = asv_results(tmp_path)
    (path,) = (folder / "box").glob("0123*.json")
    (folder / "box" / "torn.json").write_text(path.read_text()[:-9])
    found = reading.read([folder])
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
    ((_, run),) = reading.read([tmp_path / "x.json"]).runs
    assert {k.name: k.ms for k in run.graphs[0].kernels} == {
        "t": 1000.0,
        "b.py::t": 2000.0,
        "b.py::t (2)": 3000.0,
    }
    twice = edited_asv(tmp_path / "asv", params=[["a", "a"], ["1", "2"]], result=[1, 2, 3, 4])
    ((_, run),) = reading.read([twice]).runs
    (it,) = [graph for graph in run.graphs if graph.name == "suite.Kernel.time_it"]
    assert sorted(k.name for k in it.kernels) == ["a, 1", "a, 1 (2)", "a, 2", "a, 2 (2)"]


def test_half_a_character_can_be_stored(tmp_path: Path) -> None:
    document = pytest_document()
    document["benchmarks"][0].update(name="t\ud800", group="g\udfff")
    (tmp_path / "x.json").write_text(json.dumps(document))
    ((_, run),) = reading.read([tmp_path / "x.json"]).runs
    path = reading.save(tmp_path / "results", run)
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
    found = reading.read([tmp_path / "x.json", asv_folder])
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
    for _, run in reading.read([tmp_path / "x.json", asv_folder]).runs:
        path = reading.save(tmp_path / "results", run)
        assert path is not None
        store.load(path)
    index.refresh(tmp_path / "results")
    assert not mark.exists()


SLOW_IMPORT = """
import sys, time
from pathlib import Path
from harness.imports import reading
from harness.history import store

at_once = store.publish
store.publish = lambda *given: (time.sleep(0.3), at_once(*given))[1]
for _, run in reading.read([Path(sys.argv[1])]).runs:
    reading.save(Path(sys.argv[2]), run)
"""


def test_imports_at_the_same_moment_store_a_run_once(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(pytest_document()))
    results = tmp_path / "results"
    command = [sys.executable, "-c", SLOW_IMPORT, str(tmp_path / "x.json"), str(results)]
    started = [subprocess.Popen(command) for _ in range(3)]
    assert [one.wait(timeout=400) for one in started] == [0] * 3
    assert len(stored(results)) == 1


def test_a_folder_that_refuses_is_no_matter_of_measuring(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(pytest_document()))
    ((_, run),) = reading.read([tmp_path / "x.json"]).runs
    (tmp_path / "results").write_text("a file")
    with pytest.raises(RecordError, match="cannot be recorded") as caught:
        reading.save(tmp_path / "results", run)
    assert "--no-record" not in caught.value.remedy
    assert "HARNESS_RESULTS" in caught.value.remedy
