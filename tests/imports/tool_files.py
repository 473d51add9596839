"""Files of asv and pytest-benchmark, as those tools write them, to be edited by tests."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

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
