from __future__ import annotations

import math
from dataclasses import replace

import pytest

from harness.bench.peers.ratios import ratio, roll_up
from harness.bench.record import Check, GraphRecord, RegionRecord


def row(region: str, compiler: str, ms: float | None, **changes: object) -> RegionRecord:
    made = RegionRecord(region, compiler, ms, check=Check.PASSED if ms else Check.SKIPPED)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_ratio_has_the_interval_of_both_times() -> None:
    ours = row("r", "harness", 1.0, low=0.99, high=1.01)
    other = row("r", "eager", 2.0, low=1.96, high=2.04)
    found = ratio(ours, other)
    assert found is not None and found.low is not None and found.high is not None
    assert found.value == 2.0
    width = math.hypot(math.log(1.01 / 0.99) / 2, math.log(2.04 / 1.96) / 2)
    assert found.low == pytest.approx(2.0 / math.exp(width))
    assert found.high == pytest.approx(2.0 * math.exp(width))
    without = ratio(replace(ours, low=None), other)
    assert without is not None and without.low is None
    assert ratio(ours, row("r", "eager", None)) is None


def test_a_mean_is_over_matched_regions_and_says_what_is_not() -> None:
    graphs = [
        GraphRecord(
            "a",
            regions=(
                row("a.r0", "harness", 1.0),
                row("a.r0", "inductor", 2.0),
                row("a.r1", "harness", 1.0),
                row("a.r1", "inductor", None, reason="it crashed"),
                row("a.r2", "harness", 1.0),
                row("a.r2", "inductor", 100.0, check=Check.FAILED),
                row("a.r3", "harness", 1.0),
                row("a.r3", "inductor", 100.0, reason="no CUDA graph of it could be recorded"),
                row("a.r4", "harness", None, reason="no kernels"),
                row("a.r4", "inductor", 100.0),
            ),
        ),
        GraphRecord("b", regions=(row("b.r0", "harness", 1.0), row("b.r0", "inductor", 8.0))),
    ]
    (found,) = roll_up(graphs)
    assert found.mean is not None
    assert found.mean.value == pytest.approx(4.0)
    assert found.matched == 2
    assert dict(found.left_out) == {
        "inductor failed": 1,
        "inductor is wrong": 1,
        "inductor was timed with its host": 1,
        "harness failed": 1,
    }


def test_independent_intervals_shrink_with_the_number_of_regions() -> None:
    rows = [
        one
        for n in range(16)
        for one in (
            row(f"r{n}", "harness", 1.0, low=0.98, high=1.0 / 0.98),
            row(f"r{n}", "eager", 1.0, low=1.0, high=1.0 + 1e-12),
        )
    ]
    (found,) = roll_up([GraphRecord("g", regions=tuple(rows))])
    assert found.mean is not None and found.mean.high is not None
    assert math.log(found.mean.high) == pytest.approx(-math.log(0.98) / 4, rel=1e-3)


def test_nothing_matched_is_no_mean() -> None:
    rows = (row("r", "harness", None), row("r", "eager", 1.0))
    (found,) = roll_up([GraphRecord("g", regions=rows)])
    assert found.mean is None
    assert roll_up([GraphRecord("g")]) == ()
