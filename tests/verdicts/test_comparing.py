from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.measure.noise.judge import Rules, Verdict
from harness.records.run import Check, GraphRecord
from harness.records.timing import Samples
from harness.verdicts.causes import SAME_CODE, causes, is_identical
from harness.verdicts.comparing import Comparison, Side, compare
from harness.verdicts.pairing import Match
from tests.history.examples import MACHINE
from tests.history.kernels import CONFIG, changed, graph, kernel, side


def times(mean: float, seed: int, processes: int = 5, spread: float = 0.002) -> list[float]:
    chance = np.random.default_rng(seed)
    return list(mean * np.exp(chance.normal(0, spread, processes)))


def many(count: int, label: str, seed: int, **slow: float) -> Side:
    """A side of ``count`` kernels of 20 µs; ``k3=1.1`` makes that one slower and its code new."""
    kernels = [
        kernel(
            f"k{n}",
            f"n{n}",
            ms=times(0.02 * slow.get(f"k{n}", 1.0), seed * 1000 + n),
            body=f"n{n}{'new' if f'k{n}' in slow else ''}",
        )
        for n in range(count)
    ]
    return side(graph(*kernels), label=label)


def by_name(found: Comparison) -> dict[str, Verdict]:
    return {row.match.a[0].name: row.verdict for row in found.rows}


def test_the_slower_kernel_is_found_and_nothing_else() -> None:
    found = compare(many(30, "A", 1), many(30, "B", 2, k3=1.1, k7=0.9), Rules())
    verdicts = by_name(found)
    assert verdicts.pop("k3") is Verdict.SLOWER
    assert verdicts.pop("k7") is Verdict.FASTER
    assert set(verdicts.values()) <= {Verdict.SAME, Verdict.UNSURE}
    assert found.slower


def test_an_equal_run_is_not_slower() -> None:
    found = compare(many(30, "A", 1), many(30, "B", 2), Rules())
    assert not found.slower
    assert all(row.identical for row in found.rows)
    assert all(row.causes[0] == SAME_CODE for row in found.rows)


def test_a_run_next_to_itself_says_so() -> None:
    one, other = many(9, "A", 1), many(9, "B", 2)
    (said,) = (n for n in compare(one, replace(one, label="B"), Rules()).notes if "same run" in n)
    assert said.startswith("A and B are the same run")
    assert not any("same run" in note for note in compare(one, other, Rules()).notes)


@pytest.mark.parametrize(("gpu", "said"), [("Test GPU", True), ("Other GPU", False)])
def test_another_board_is_named_where_it_is_of_the_same_kind(gpu: str, said: bool) -> None:
    b = many(3, "B", 2)
    machine = replace(MACHINE, gpu=gpu, gpu_uuid="GPU-5678")
    found = compare(many(3, "A", 1), replace(b, run=replace(b.run, machine=machine)), Rules())
    assert any(note.startswith("another GPU of the same kind") for note in found.notes) is said


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"machine": replace(MACHINE, gpu="Other GPU", key="other")}, "different machines"),
        ({"machine": replace(MACHINE, driver="9.9", key="testgpu-9.9")}, "different drivers"),
        ({"method": "m/2"}, "different methods"),
    ],
)
def test_what_cannot_be_compared_says_why(changes: dict[str, object], reason: str) -> None:
    b = many(3, "B", 2)
    found = compare(many(3, "A", 1), replace(b, run=replace(b.run, **changes)), Rules())
    assert {row.verdict for row in found.rows} == {Verdict.INCOMPARABLE}
    assert all(reason in row.reason for row in found.rows)
    assert not found.slower
    assert not found.rollups


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sets": ()}, "not timed in B"),
        ({"check": Check.FAILED}, "computes something else"),
        ({"reason": "out of memory"}, "did not run (out of memory) in B"),
        (
            {"sets": (Samples((1.0,), excluded=5),)},
            "throttled, or at another launch interval, most of the time in B",
        ),
        (
            {"sets": (Samples((1.0,), stopped="disturbed"),)},
            "throttled, or at another launch interval, most of the time in B",
        ),
        ({"sets": (Samples((), excluded=5),)}, "throttled throughout in B"),
    ],
)
def test_a_kernel_without_usable_times_says_why(changes: dict[str, object], reason: str) -> None:
    b = many(3, "B", 2)
    (whole,) = b.run.graphs
    broken = replace(whole.kernels[1], **changes)
    kernels = (whole.kernels[0], broken, whole.kernels[2])
    b = replace(b, run=replace(b.run, graphs=(replace(whole, kernels=kernels),)))
    found = compare(many(3, "A", 1), b, Rules())
    assert found.rows[1].verdict is Verdict.INCOMPARABLE
    assert reason in found.rows[1].reason
    assert found.rows[0].verdict is not Verdict.INCOMPARABLE


def test_processes_that_were_throttled_are_left_out() -> None:
    hot = Samples(process=9, ms=(9.0,), excluded=5)
    a, b = many(3, "A", 1), many(3, "B", 2)
    (whole,) = b.run.graphs
    kernels = tuple(replace(k, sets=(*k.sets, hot)) for k in whole.kernels)
    b = replace(b, run=replace(b.run, graphs=(replace(whole, kernels=kernels),)))
    row = compare(a, b, Rules()).rows[0]
    assert row.processes == (5, 5)
    assert row.b_ms == pytest.approx(0.02, rel=0.02)


def test_forward_and_backward_make_a_model() -> None:
    def both(label: str) -> Side:
        return side(
            *(
                GraphRecord(
                    f"net_{part}", kernels=(kernel("k", part, ms=[0.01] * 3, region=f"{part}.r0"),)
                )
                for part in ("forward", "backward")
            ),
            label=label,
        )

    found = compare(both("A"), both("B"), Rules())
    assert [(r.level, r.name, r.kernels) for r in found.rollups] == [("model", "net", 2)]


def test_a_group_of_kernels_is_timed_as_its_launches_together() -> None:
    a = side(
        graph(kernel("k0", "a b", ms=[0.01] * 3, launches=2), kernel("k1", "c", ms=[0.03] * 3))
    )
    b = side(graph(kernel("m0", "a b c", ms=[0.04] * 3)), label="B")
    (row,) = compare(a, b, Rules()).rows
    assert row.match.how == "work"
    assert row.a_ms == pytest.approx(0.05)
    assert row.b_ms == pytest.approx(0.04)
    assert "2 kernels → 1" in row.causes


@pytest.mark.parametrize("slow", [1.03, 3.0])
def test_one_process_on_a_side_gives_no_verdict_of_a_change(slow: float) -> None:
    a, b = many(30, "A", 1), many(30, "B", 2, k3=slow)
    (whole,) = b.run.graphs
    alone = tuple(replace(k, sets=k.sets[:1]) for k in whole.kernels)
    b = replace(b, run=replace(b.run, graphs=(replace(whole, kernels=alone),)))
    found = compare(a, b, Rules())
    (row,) = [row for row in found.rows if not row.identical]
    assert row.verdict is Verdict.UNSURE
    assert "one process" in row.reason
    assert any("--processes 3" in note for note in found.notes)
    assert {r.verdict for r in found.rollups} <= {Verdict.UNSURE}


def test_an_interrupted_or_dirty_run_is_said() -> None:
    a, b = many(3, "A", 1), many(3, "B", 2)
    a = replace(a, run=replace(a.run, complete=False))
    b = replace(b, run=replace(b.run, dirty=True))
    notes = compare(a, b, Rules()).notes
    assert any("A was interrupted" in note for note in notes)
    assert any("B was made from a tree that differs" in note for note in notes)


ONE = kernel("k", "a")
A, B = side(graph(ONE)).run, side(graph(ONE)).run


def match(**changes: object) -> Match:
    return Match("g", (ONE,), (changed(ONE, **changes),), "nodes")


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"registers": 40}, "registers 32 → 40"),
        ({"spills": 8}, "spills 0 → 8"),
        ({"widest_load": 4}, "load width 16 → 4"),
        ({"bytes": 200}, "bytes 100 → 200"),
        ({"instructions": 150}, "instructions 100 → 150"),
        ({"mix": {"float32": 60, "load_global": 9}}, "load_global 4 → 9"),
        ({"config": {**CONFIG, "XBLOCK": 128}}, "XBLOCK 64 → 128"),
        ({"launches": 2}, "launches 1 → 2"),
    ],
)
def test_each_static_difference_is_a_cause(changes: dict[str, object], cause: str) -> None:
    changes = {"module": kernel("k", body="other").module, **changes}
    found = causes(match(**changes), A, B)
    assert cause in found
    assert any(text.startswith("code −1 +1") for text in found)


def test_clock_triton_and_arguments_are_causes() -> None:
    slow = match(sets=(Samples((1.0,), clock_mhz=1755.0),))
    fast = replace(slow, a=(replace(ONE, sets=(Samples((1.0,), clock_mhz=1980.0),)),))
    assert causes(fast, A, B) == [SAME_CODE, "SM clock 1980 → 1755 MHz"]
    newer = replace(B, machine=replace(MACHINE, triton="4.0"))
    assert not is_identical(match(), A, newer)
    assert "triton 3.9.0 → 4.0" in causes(match(), A, newer)
    other = match(module=ONE.module.replace('"f32"', '"f16"'))
    assert not is_identical(other, A, B)
    assert causes(other, A, B) == ["arguments"]


def at(mhz: float, ms: float, label: str, roof: str, body: str = "") -> Side:
    chance = np.random.default_rng([round(mhz), round(1e6 * ms)])
    made = []
    for n in range(20):
        logs = chance.normal(0, 0.001, 4)
        sets = tuple(
            Samples(process=p, ms=(float(ms * np.exp(log)),) * 3, clock_mhz=mhz)
            for p, log in enumerate(logs)
        )
        text = body if n == 3 and body else f"n{n}"
        made.append(kernel(f"k{n}", f"n{n}", sets=sets, roof=roof, body=text))
    return side(graph(*made), label=label)


def test_another_clock_is_no_change_of_what_is_bound_by_it() -> None:
    a, b = at(1980.0, 0.010, "A", "compute"), at(1410.0, 0.010 * 1980 / 1410, "B", "compute", "x")
    found = compare(a, b, Rules())
    assert {row.verdict for row in found.rows} == {Verdict.SAME}
    assert found.rows[3].cycles_ratio == pytest.approx(1.0, abs=0.005)
    assert any("SM clock 1980 → 1410 MHz" in cause for cause in found.rows[3].causes)
    assert any("in cycles" in note for note in found.notes)


def test_another_clock_is_incomparable_for_what_waits_for_memory() -> None:
    found = compare(at(1980.0, 0.010, "A", "copy"), at(1410.0, 0.012, "B", "copy"), Rules())
    assert {row.verdict for row in found.rows} == {Verdict.INCOMPARABLE}
    assert "1980 MHz in A and 1410 MHz in B" in found.rows[0].reason
    assert not found.regressed
    near = compare(at(1980.0, 0.010, "A", "copy"), at(1965.0, 0.010, "B", "copy"), Rules())
    assert Verdict.INCOMPARABLE not in {row.verdict for row in near.rows}


def test_sides_without_times_say_what_to_do() -> None:
    bare = side(graph(kernel("k", "a")))
    notes = compare(bare, many(1, "B", 2), Rules()).notes
    assert any("A without times" in note and "--static" in note for note in notes)
