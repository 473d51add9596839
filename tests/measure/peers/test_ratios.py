from __future__ import annotations

from dataclasses import replace

import pytest

from harness.measure.peers.ratios import ratios, roll_up
from harness.records.run import Check, GraphRecord, RegionRecord
from harness.records.timing import Samples


def row(region: str, compiler: str, *ms: float, **changes: object) -> RegionRecord:
    """A compiler's times, one process each."""
    sets = tuple(Samples(process=n, ms=(one,) * 30) for n, one in enumerate(ms))
    check = Check.PASSED if ms else Check.SKIPPED
    made = RegionRecord(region, compiler, ms[0] if ms else None, check=check, sets=sets)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_what_a_process_does_to_both_cancels() -> None:
    slow = (1.0, 1.2, 0.9, 1.1)
    rows = []
    for n in range(10):
        rows += [row(f"r{n}", "harness", *slow), row(f"r{n}", "eager", *(2.001 * s for s in slow))]
    found = ratios([GraphRecord("g", regions=tuple(rows))])
    one = found["r3", "eager"]
    assert one.value == pytest.approx(2.001)
    assert one.low < 2.001 < one.high
    assert one.high / one.low < 1.001


def test_processes_that_disagree_widen_the_interval() -> None:
    rows = []
    for n in range(10):
        rows += [
            row(f"r{n}", "harness", 1.0, 1.0, 1.0),
            row(f"r{n}", "eager", 2.0, 2.1 + n / 100, 1.9),
        ]
    one = ratios([GraphRecord("g", regions=tuple(rows))])["r0", "eager"]
    assert one.high / one.low > 1.05


def test_only_processes_that_timed_both_count() -> None:
    ours = row("r", "harness", 1.0, 5.0)
    other = replace(row("r", "eager", 2.0), sets=(Samples(process=1, ms=(10.0,) * 9),))
    found = ratios([GraphRecord("g", regions=(ours, other))])
    assert found["r", "eager"].value == pytest.approx(2.0)
    nowhere = replace(other, sets=(Samples(process=7, ms=(10.0,) * 9),))
    assert ratios([GraphRecord("g", regions=(ours, nowhere))]) == {}


def test_a_mean_is_over_matched_regions_and_says_what_is_not() -> None:
    graphs = [
        GraphRecord(
            "a",
            regions=(
                row("a.r0", "harness", 1.0),
                row("a.r0", "inductor", 2.0),
                row("a.r1", "harness", 1.0),
                row("a.r1", "inductor", reason="it crashed"),
                row("a.r2", "harness", 1.0),
                row("a.r2", "inductor", 100.0, check=Check.FAILED),
                row("a.r3", "harness", 1.0),
                row("a.r3", "inductor", 100.0, reason="no CUDA graph of it could be recorded"),
                row("a.r4", "harness", reason="no kernels"),
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


def test_nothing_matched_is_no_mean() -> None:
    rows = (row("r", "harness"), row("r", "eager", 1.0))
    (found,) = roll_up([GraphRecord("g", regions=rows)])
    assert found.mean is None
    assert found.subject == "harness"
    by_hand = (row("k", "user", 1.0), row("k", "eager", 1.0))
    assert roll_up([GraphRecord("g", regions=by_hand)])[0].subject == "user"
    assert roll_up([GraphRecord("g")]) == ()
