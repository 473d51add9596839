from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from harness.errors import CompileFailed, HarnessError
from harness.records.metrics import StaticMetrics
from harness.records.run import GraphRecord, KernelRecord
from harness.report.static import document, summary
from harness.runtime.compile.static import CompileJob
from harness.target import H100
from harness.verdicts.static_comparing import (
    Change,
    StaticComparison,
    compare_static,
    resident_warps,
)
from tests.history.kernels import CONFIG, changed, graph, kernel, side

TRITON = "3.9.0"


def never(jobs: Sequence[CompileJob]) -> list[StaticMetrics | HarnessError]:
    raise AssertionError("everything is recorded")


def compared(a: KernelRecord | GraphRecord, b: KernelRecord | GraphRecord) -> StaticComparison:
    one, other = (x if isinstance(x, GraphRecord) else graph(x) for x in (a, b))
    return compare_static(side(one), side(other, label="B"), H100, TRITON, never)


ONE = kernel("k", "a")


@pytest.mark.parametrize(
    ("changes", "change", "decided"),
    [
        ({}, Change.SAME, ""),
        ({"spills": 8}, Change.WORSE, "spills 0 → 8"),
        ({"bytes": 101}, Change.WORSE, "bytes 100 → 101"),
        ({"bytes": 50}, Change.BETTER, "bytes 100 → 50"),
        ({"widest_load": 4}, Change.WORSE, "load width 16 → 4"),
        ({"widest_store": 4}, Change.WORSE, "store width 16 → 4"),
        ({"registers": 128}, Change.WORSE, "resident warps 64 → 16"),
        ({"registers": 40}, Change.CHANGED, ""),
        ({"instructions": 150}, Change.WORSE, "instructions 100 → 150"),
        ({"instructions": 105}, Change.CHANGED, ""),
        ({"instructions": 50}, Change.BETTER, "instructions 100 → 50"),
        ({"spills": 8, "bytes": 50}, Change.WORSE, "spills 0 → 8"),
        ({"bytes": 50, "instructions": 300}, Change.BETTER, "bytes 100 → 50"),
        ({"reason": "CompileFailed: no"}, Change.WORSE, "no longer compiles: CompileFailed: no"),
        ({"mix": {"float32": 61, "load_global": 4}}, Change.CHANGED, ""),
    ],
)
def test_the_first_figure_that_differs_decides(
    changes: dict[str, object], change: Change, decided: str
) -> None:
    found = compared(ONE, changed(ONE, **changes))
    assert (found.rows[0].change, found.rows[0].decided) == (change, decided)
    graph_is_worse = any(g.change is Change.WORSE for g in found.graphs)
    assert found.worse == (change is Change.WORSE or graph_is_worse)


def test_more_launches_or_bytes_of_a_graph_are_worse() -> None:
    a = graph(kernel("k0", "a b"))
    b = graph(kernel("m0", "a", bytes=50), kernel("m1", "b", bytes=50))
    found = compared(a, b)
    (total,) = found.graphs
    assert (total.change, total.decided) == (Change.WORSE, "launches 1 → 2")
    assert total.kernels == (1, 2)
    assert found.worse
    back = compared(b, a)
    assert back.graphs[0].change is Change.BETTER


def test_a_graph_that_no_longer_compiles_is_worse() -> None:
    found = compared(graph(ONE), replace(graph(), reason="UnsupportedOperator: x"))
    assert found.graphs[0].change is Change.WORSE
    assert found.worse


def test_the_code_difference_is_there_to_read() -> None:
    (row,) = compared(ONE, kernel("k9", "a", body="y")).rows
    assert row.change is Change.CHANGED
    assert "-    a" in row.diff
    assert "+    y" in row.diff


def test_what_is_equal_on_both_sides_is_not_compiled() -> None:
    bare, renamed = (replace(kernel(name, "a"), mix=None) for name in ("k", "k7"))
    changed = replace(kernel("k2", "b", body="x"), mix=None)
    asked: list[CompileJob] = []

    def compile_all(jobs: Sequence[CompileJob]) -> list[StaticMetrics | HarnessError]:
        asked.extend(jobs)
        return [CompileFailed("no") for _ in jobs]

    a, b = graph(bare, changed), graph(renamed, kernel("k2", "b", body="y"))
    found = compare_static(side(a), side(b, label="B"), H100, TRITON, compile_all)
    assert found.rows[0].change is Change.SAME
    assert len(asked) == 2
    assert bare.module not in {job.module_text for job in asked}


def test_what_is_not_recorded_is_compiled_alike() -> None:
    a = replace(ONE, mix=None, config={**CONFIG, "XBLOCK": 256})
    b = replace(ONE, mix=None, config=None, module=kernel("k", "a", body="y").module)
    jobs: list[CompileJob] = []

    def compile_all(asked: Sequence[CompileJob]) -> list[StaticMetrics | HarnessError]:
        jobs.extend(asked)
        figures = StaticMetrics(24, 0, 0, 0, 90, 16, 16, (("float32", 50),))
        return [figures, CompileFailed("no", got="out of resources")]

    found = compare_static(side(graph(a)), side(graph(b), label="B"), H100, TRITON, compile_all)
    blocks = [dict(job.config.blocks)["XBLOCK"] for job in jobs if job.config]
    assert blocks == [256, 256], "B under A's configuration"
    assert found.rows[0].match.a[0].metrics["registers"] == 24
    assert "no longer compiles" in found.rows[0].decided
    assert found.notes


def test_another_triton_or_target_is_not_taken_from_the_record() -> None:
    with pytest.raises(AssertionError, match="everything is recorded"):
        compare_static(side(graph(ONE)), side(graph(ONE)), H100, "4.0.0", never)
    old = side(graph(ONE), target="sm_80")
    with pytest.raises(AssertionError, match="everything is recorded"):
        compare_static(old, side(graph(ONE)), H100, TRITON, never)


@pytest.mark.parametrize(
    ("registers", "shared", "warps", "resident"),
    [
        (32, 0, 4, 64),  # 16 blocks of 4 warps: the threads are the limit
        (32, 0, 1, 32),  # 32 blocks are the most
        (128, 0, 4, 16),  # 65536 / (128 · 32 · 4) = 4 blocks
        (33, 0, 4, 48),  # 33 registers are given as 40: 12 blocks
        (32, 100_000, 8, 16),  # 233472 / 101024 = 2 blocks
    ],
)
def test_resident_warps_by_hand(registers: int, shared: int, warps: int, resident: int) -> None:
    config = {"XBLOCK": 64, "num_warps": warps}
    needs = {**ONE.metrics, "registers": registers, "shared": shared}
    found = replace(ONE, metrics=needs, config=config)
    assert resident_warps([found], H100) == resident


def test_another_default_configuration_is_shown_on_its_own() -> None:
    """The figures are taken under one configuration, so only this says that the default moved."""
    a, b = ONE, replace(ONE, module=ONE.module.replace('"XBLOCK": 64', '"XBLOCK": 128'))
    found = compared(a, b)
    assert found.rows[0].change is Change.CHANGED
    assert found.rows[0].defaults == ("XBLOCK 64 → 128",)
    assert found.other_defaults == found.rows
    assert not found.worse, "which is faster, no binary says"
    shown = "\n".join(summary(found))
    assert "default configurations: 1 kernel would run in another one" in shown
    assert document(found)["kernels"][0]["default_configuration"] == ("XBLOCK 64 → 128",)
    assert compared(a, a).rows[0].change is Change.SAME
