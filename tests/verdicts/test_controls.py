"""Unchanged kernels as controls, whole sums, and what is wrong with files, in comparisons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.measure.noise.judge import Rules, Verdict
from harness.records import modules
from harness.records.run import Check, GraphRecord, KernelRecord, LibraryCall
from harness.records.timing import Samples
from harness.report.headline import suite_lines
from harness.verdicts.comparing import Comparison, compare
from harness.verdicts.totals import Rollup
from tests.history.kernels import CONFIG, graph, kernel, side

OTHER = {**CONFIG, "XBLOCK": 128}


def suite(label: str, seed: int, drift: float = 0.0, **changed: object) -> list[KernelRecord]:
    """60 kernels of 2 to 500 µs in three processes that agree to 0.1 %, all slower by ``drift``;
    those in ``changed`` by a factor and with other code."""
    chance = np.random.default_rng(seed)
    kernels = []
    for n, ms in enumerate(np.geomspace(0.002, 0.5, 60)):
        factor = changed.get(f"k{n}", 1.0)
        logs = chance.normal(drift, 0.001, 3)
        made = kernel(
            f"k{n}",
            f"n{n}",
            ms=list(ms * float(str(factor)) * np.exp(logs)),
            body=f"n{n}{'new' if f'k{n}' in changed else ''}",
        )
        kernels.append(made)
    return kernels


def compared(a: list[KernelRecord], b: list[KernelRecord]) -> Comparison:
    return compare(side(graph(*a)), side(graph(*b), label="B"), Rules())


def verdicts(found: Comparison) -> dict[str, Verdict]:
    return {row.match.a[0].name: row.verdict for row in found.rows}


def whole(found: Comparison) -> Rollup:
    (total,) = [r for r in found.rollups if r.level == "graph"]
    return total


def test_another_day_is_taken_out_by_what_did_not_change() -> None:
    found = compared(suite("A", 1), suite("B", 2, drift=0.02, k40=1.02, k50=1.0))
    assert verdicts(found)["k40"] is Verdict.SLOWER
    assert verdicts(found)["k50"] is Verdict.SAME
    assert not found.machine
    assert any("58 unchanged kernels moved together by" in note for note in found.notes)


def test_one_disturbed_process_hides_nothing() -> None:
    b = [
        replace(k, sets=(replace(k.sets[0], ms=tuple(1.03 * x for x in k.sets[0].ms)), *k.sets[1:]))
        for k in suite("B", 2, k40=1.02)
    ]
    found = compared(suite("A", 1), b)
    assert verdicts(found)["k40"] is Verdict.SLOWER
    (row,) = [row for row in found.rows if row.match.a[0].name == "k40"]
    assert row.effect is not None
    assert row.effect.high - row.effect.low < 0.01, "what moved a whole process is no scatter"


def test_an_unchanged_kernel_that_is_slower_is_the_machines_doing() -> None:
    b = suite("B", 2)
    slow = kernel("k30", "n30", ms=[1.2 * s.ms[0] for s in b[30].sets], body="n30")
    found = compared(suite("A", 1), [*b[:30], slow, *b[31:]])
    assert [row.match.a[0].name for row in found.machine] == ["k30"]
    assert verdicts(found)["k30"] is Verdict.SAME
    assert not found.regressed
    assert whole(found).verdict is Verdict.SAME


def test_a_control_that_moved_alone_makes_others_like_it_unsure() -> None:
    b = suite("B", 2, k40=1.03)
    slow = kernel("k30", "n30", ms=[1.03 * s.ms[0] for s in b[30].sets], body="n30")
    found = compared(suite("A", 1), [*b[:30], slow, *b[31:]])
    assert any("moved alone" in note for note in found.notes)
    assert verdicts(found)["k40"] is Verdict.SLOWER, "one judged kernel, one control in 59"
    more = suite("B", 2, **{f"k{n}": 1.03 for n in range(40, 50)})
    found = compared(suite("A", 1), [*more[:30], slow, *more[31:]])
    assert {verdicts(found)[f"k{n}"] for n in range(40, 50)} == {Verdict.UNSURE}
    gross = compared(suite("A", 1), [*b[:30], slow, *b[31:40], *suite("B", 3, k40=1.5)[40:]])
    assert verdicts(gross)["k40"] is Verdict.SLOWER


def test_too_few_unchanged_kernels_are_no_ground_for_a_verdict() -> None:
    a, b = suite("A", 1)[:6], suite("B", 2, k3=1.5)[:6]
    found = compared(a, b)
    assert verdicts(found)["k3"] is Verdict.UNSURE
    assert any("harness confirm" in note for note in found.notes)


def test_names_of_variables_are_no_change_and_other_code_is() -> None:
    one = kernel("k", "n", body="x0 = x % 4\n    tl.store(out, x0 + 1)")
    same = kernel("k", "n", body="row = x % 4\n    tl.store(out, row + 1)")
    other = kernel("k", "n", body="row = x % 4\n    tl.store(out, row + 2)")
    swapped = kernel("k", "n", body="a = f()\n    b = g()\n    h(a, b)")
    straight = kernel("k", "n", body="a = f()\n    b = g()\n    h(b, a)")
    assert one.code_hash != same.code_hash
    assert modules.executed(one.module) == modules.executed(same.module)
    assert modules.executed(one.module) != modules.executed(other.module)
    assert modules.executed(swapped.module) != modules.executed(straight.module)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.05, Verdict.RETUNED), (0.95, Verdict.RETUNED), (1.3, Verdict.SLOWER)]
)
def test_another_choice_of_the_tuner_is_a_class_of_its_own(factor: float, verdict: Verdict) -> None:
    b = suite("B", 2)
    tuned = replace(
        kernel("k30", "n30", ms=[factor * s.ms[0] for s in b[30].sets], body="n30"), config=OTHER
    )
    found = compared(suite("A", 1), [*b[:30], tuned, *b[31:]])
    (row,) = [row for row in found.rows if row.retuned]
    assert row.verdict is verdict
    assert "XBLOCK 64 → 128" in row.causes


@pytest.mark.parametrize(
    ("loss", "verdict"), [(0.03, Verdict.SLOWER), (0.0, Verdict.SAME), (-0.03, Verdict.FASTER)]
)
def test_a_loss_of_tuning_that_is_everywhere_does_not_pass(loss: float, verdict: Verdict) -> None:
    """Each is within what a tuner's luck does; thirty of them the same way are not."""
    chance = np.random.default_rng(3)
    b = [
        replace(
            kernel(k.name, k.origins[0], ms=[f * s.ms[0] for s in k.sets], body=k.origins[0]),
            config=OTHER,
        )
        if n % 2
        else k
        for n, k in enumerate(suite("B", 2))
        for f in [float(np.exp(chance.normal(loss, 0.01)))]
    ]
    found = compared(suite("A", 1), b)
    assert {row.verdict for row in found.rows if row.retuned} <= {Verdict.RETUNED, Verdict.SAME}
    (together,) = [r for r in found.rollups if r.level == "tuning"]
    assert together.kernels == 30
    assert together.verdict in (verdict, Verdict.UNSURE if not loss else verdict)
    assert found.slower is (loss > 0)
    assert any(line.startswith("30 kernels retuned") for line in suite_lines(found))


def test_kernels_that_compiled_alike_stand_in_where_all_texts_changed() -> None:
    a = suite("A", 1)
    b = [
        kernel(k.name, " ".join(k.origins), ms=[s.ms[0] for s in k.sets], body=f"{k.name} + 0")
        for k in suite("B", 2, drift=0.02)
    ]
    slow = kernel("k40", "n40", ms=[1.03 * s.ms[0] for s in b[40].sets], body="x", registers=99)
    found = compared(a, [*b[:40], slow, *b[41:]])
    assert not any(row.identical for row in found.rows)
    assert verdicts(found)["k40"] is Verdict.SLOWER
    assert sum(v is Verdict.SLOWER for v in verdicts(found).values()) == 1


def test_a_kernel_launched_ten_times_instead_of_once_is_in_the_sum() -> None:
    b = suite("B", 2)
    found = compared(suite("A", 1), [*b[:30], replace(b[30], launches=200), *b[31:]])
    total = whole(found)
    assert total.verdict is Verdict.SLOWER
    assert total.work == ("launches 1 → 200 (poi_k30)",) or "launches 1 → 200" in total.work[0]
    assert verdicts(found)["k30"] is Verdict.SAME
    (row,) = [row for row in found.rows if row.match.a[0].name == "k30"]
    assert "launches 1 → 200" in row.causes
    assert found.regressed


@pytest.mark.parametrize(("swapped", "verdict"), [(False, Verdict.SLOWER), (True, Verdict.FASTER)])
def test_what_appeared_or_vanished_is_in_the_sum_and_named(swapped: bool, verdict: Verdict) -> None:
    sides = suite("A", 1), [*suite("B", 2), kernel("fresh", "other", ms=[0.8, 0.801, 0.799])]
    found = compared(*(sides[::-1] if swapped else sides))
    total = whole(found)
    assert total.verdict is verdict
    assert "only in" in total.work[0]
    assert "800 µs" in total.work[0]
    assert abs(total.b_ms - total.a_ms) == pytest.approx(0.8, rel=0.05)


def test_an_interrupted_run_has_no_vanished_work() -> None:
    b = side(graph(*suite("B", 2)[:50]), label="B", complete=False)
    found = compare(side(graph(*suite("A", 1))), b, Rules())
    assert whole(found).verdict is Verdict.SAME
    assert whole(found).covered[0] < 0.9


def test_work_that_went_to_a_library_call_is_no_improvement() -> None:
    a = graph(*suite("A", 1))
    b = replace(graph(*suite("B", 2)[:-5]), library_calls=(LibraryCall("aten.mm", 2),))
    total = whole(compare(side(a), side(b, label="B"), Rules()))
    assert total.verdict is Verdict.INCOMPARABLE
    assert "library calls of aten.mm 0 → 2, which are not timed" in total.work


def test_a_call_on_top_of_slower_kernels_is_slower_all_the_same() -> None:
    a = graph(*suite("A", 1))
    b = replace(graph(*suite("B", 2, k59=1.5)), library_calls=(LibraryCall("aten.mm", 2),))
    assert whole(compare(side(a), side(b, label="B"), Rules())).verdict is Verdict.SLOWER


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        (float("nan"), "is no number"),
        (float("inf"), "is no number"),
        (0.0, "is no time"),
        (-1.0, "is no time"),
    ],
)
def test_a_sample_that_is_no_time_is_named_and_the_rest_is_judged(sample: float, said: str) -> None:
    b = suite("B", 2, k40=1.1)
    bad = replace(b[10], sets=(replace(b[10].sets[0], ms=(0.1, sample)), *b[10].sets[1:]))
    b = [*b[:10], bad, *b[11:]]
    found = compare(side(graph(*suite("A", 1))), side(graph(*b), label="file-b"), Rules())
    (sentence,) = found.problems
    assert "file-b" in sentence
    assert "k10" in sentence
    assert said in sentence
    assert verdicts(found)["k10"] is Verdict.INCOMPARABLE
    assert verdicts(found)["k40"] is Verdict.SLOWER


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sets": (Samples(ms=(0.1,)),)}, "one sample"),
        ({"sets": (Samples(ms=(0.1,) * 30),)}, "the timer stood still"),
    ],
)
def test_samples_without_noise_are_no_measurement(changes: dict[str, object], said: str) -> None:
    b = suite("B", 2)
    found = compared(suite("A", 1), [replace(b[0], **changes), *b[1:]])  # type: ignore[arg-type]
    assert said in found.problems[0]
    assert found.rows[0].verdict is Verdict.INCOMPARABLE


def test_a_kernel_that_is_there_twice_counts_once() -> None:
    b = suite("B", 2)
    found = compared(suite("A", 1), [*b, b[3]])
    assert "k3 of g: it is there twice" in found.problems[0]
    assert not found.appeared
    assert whole(found).verdict is Verdict.SAME


def test_a_graph_of_two_methods_is_said() -> None:
    b = suite("B", 2)
    mixed = replace(b[0], sets=tuple(replace(one, method="other/1") for one in b[0].sets))
    found = compared(suite("A", 1), [mixed, *b[1:]])
    assert "mixes methods of measuring" in found.problems[0]


def test_an_empty_run_another_suite_and_a_wrong_name_are_said() -> None:
    one = side(graph(*suite("A", 1)), suite="default")
    machine = replace(one.run.machine, gpu="Other GPU")
    lying = replace(one, label="B", run=replace(one.run, suite="small", machine=machine))
    said = "\n".join(compare(one, lying, Rules()).problems)
    assert "different suites, default and small" in said
    assert "made on Other GPU" in said
    assert "holds no kernels" in compare(one, side(label="B"), Rules()).problems[0]


def test_what_no_longer_compiles_or_passes_is_broken() -> None:
    a = suite("A", 1)
    failed = replace(a[0], check=Check.FAILED, max_error=0.5, sets=())
    b = side(graph(failed, *a[1:]), GraphRecord("h", reason="no rule for aten.foo"), label="B")
    found = compare(side(graph(*a), graph(name="h")), b, Rules())
    assert found.broken == (
        "h does not compile in B: no rule for aten.foo",
        "g: k0 fails its check (error 0.5) in B",
    )
    assert not compare(b, b, Rules()).broken
