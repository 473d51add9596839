"""Results of harness's own asv suite as runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from harness.errors import RecordError
from harness.history import index
from harness.history.changes import series
from harness.imports import foreign
from harness.records import metrics
from tests.imports.foreign_files import COMMIT, asv_results


def suite_results(folder: Path, **values: Any) -> Path:
    """A results folder of harness's own suite: a graph of two kernels."""
    path = asv_results(folder)
    (file,) = (folder / "box").glob("0123*.json")
    document = json.loads(file.read_text())
    kernels, graph = [["'g/add'", "'g/sum'", "'h/mul'"]], [["'g'", "'h'"]]
    rows: dict[str, tuple[str, str, list[Any], list[list[str]]]] = {
        "fused.Kernel.track_seconds": ("kernels", "seconds", [2e-6, None, math.nan], kernels),
        "fused.Kernel.track_gbps": ("kernels", "gbps", [1500.0, None, math.nan], kernels),
        "fused.Kernel.track_bytes": ("kernels", "bytes", [3000, 4000, math.nan], kernels),
        "fused.Kernel.track_registers": ("kernels", "registers", [32, 40, math.nan], kernels),
        "fused.Kernel.track_warps": ("kernels", "num_warps", [4, math.nan, math.nan], kernels),
        "fused.Kernel.track_xblock": ("kernels", "XBLOCK", [64, math.nan, math.nan], kernels),
        "fused.Graph.track_seconds": ("graphs", "seconds", [5e-6, math.nan], graph),
        "fused.Graph.track_gbps": ("graphs", "gbps", [1400.0, math.nan], graph),
        "fused.Graph.track_codegen": ("graphs", "codegen_seconds", [0.25, 0.5], graph),
        "fused.Graph.track_launches": ("graphs", "launches", [3, 1], graph),
    }
    columns = ["result", "params", "version", "samples"]
    document["result_columns"] = columns
    document["results"] = {
        name: [
            values.get(metric, result),
            params,
            "timer/7",
            [[2e-6, 1e-6, 3e-6], None, None] if name == "fused.Kernel.track_seconds" else None,
        ]
        for name, (_, metric, result, params) in rows.items()
    }
    file.write_text(json.dumps(document))
    entries = {name: {"table": table, "metric": m} for name, (table, m, _, _) in rows.items()}
    (folder / "benchmarks.json").write_text(json.dumps({**entries, "version": 2}))
    return path


def test_results_of_the_own_suite_come_back_as_graphs_and_kernels(tmp_path: Path) -> None:
    found = foreign.read([suite_results(tmp_path)])
    ((_, run),) = found.runs
    assert not found.left_out
    assert run.method == "asv/env/timer/7", "another way of timing is another series"
    graphs = {graph.name: graph for graph in run.graphs}
    assert list(graphs) == ["g", "h", "whole graphs"]
    add, add_up = graphs["g"].kernels
    assert (add.name, add.ms, add.gbps, add.bytes, add.metrics["registers"]) == (
        "add",
        2e-3,
        1500,
        3000,
        32,
    )
    assert add.samples_ms == pytest.approx((2e-3, 1e-3, 3e-3))
    assert add.config == {"XBLOCK": 64, "num_warps": 4}
    assert (add_up.name, add_up.ms, add_up.bytes) == ("sum", None, 4000)
    assert "it failed" in add_up.reason
    assert graphs["h"].kernels == (), "what asv left out is not there"
    assert (graphs["g"].codegen_seconds, graphs["h"].codegen_seconds) == (0.25, 0.5)
    whole = {kernel.name: kernel for kernel in graphs["whole graphs"].kernels}
    assert (whole["g"].ms, whole["g"].gbps) == (pytest.approx(5e-3), 1400)
    assert {kernel.launches for graph in run.graphs for kernel in graph.kernels} == {0}


@pytest.mark.parametrize(
    ("values", "message"),
    [([32, 40], "a value per parameter"), ([32, "many", 40], "is no number")],
)
def test_damaged_results_of_the_own_suite(tmp_path: Path, values: Any, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        foreign.read([suite_results(tmp_path, registers=values)])


def test_no_total_is_made_of_benchmarks_that_nothing_launches_together(tmp_path: Path) -> None:
    for number in range(8):
        folder = asv_results(tmp_path / f"asv{number}")
        (file,) = (folder / "box").glob("0123*.json")
        text = file.read_text().replace(COMMIT, f"{number:040x}")
        file.write_text(text.replace("0.002", str(0.002 if number < 4 else 0.003)))
        ((_, run),) = foreign.read([folder]).runs
        foreign.save(tmp_path / "results", run)
    known = series.arrange(index.refresh(tmp_path / "results"), tmp_path, by_time=True)
    every = series.series_of(known, metrics.named("ms"))
    assert {found.graph for found in every} == {"suite.Kernel.time_it", "suite.time_alone"}
    assert "" not in {found.kernel for found in every}
