from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UnknownName, UsageError
from harness.measure.jobs import Effort
from harness.measure.noise.judge import Verdict
from harness.measure.pairs import PairResults
from harness.records.timing import Samples
from harness.runtime.compile import binary
from harness.runtime.module import config_from_dict
from harness.verdicts import confirming
from harness.verdicts.bisecting import Made
from harness.verdicts.comparing import Comparison, Side
from harness.verdicts.confirming import CONTROLS, Workplace, confirm, pinned, sides_in_configs_of
from harness.verdicts.generating import Subject
from tests.history.kernels import CONFIG, graph, kernel, side
from tests.measure import fake_pairs

EFFORT = Effort(processes=3)


@pytest.fixture(autouse=True)
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirming, "time_pairs", fake_pairs.time_pairs_here)


@pytest.fixture
def measure(tmp_path: Path) -> Callable[..., Comparison]:
    def call(a: Side, b: Side, *kernels: str, everything: bool = False) -> Comparison:
        place = Workplace(tmp_path, 1, effort=EFFORT)
        return confirm(a, b, kernels, place, everything=everything)

    return call


def sides(count: int, **slow: float) -> tuple[Side, Side]:
    """Kernels of 20 µs; those in ``slow`` take as many times as long in B, by another code."""
    made = []
    for label in ("A", "B"):
        kernels = []
        for n in range(count):
            factor = slow.get(f"k{n}", 1.0) if label == "B" else 1.0
            new = f"new {label}" if f"k{n}" in slow else ""
            record = kernel(f"k{n}", f"n{n}", body=f"n{n}{new}")
            text = f"{record.module}# ms {0.02 * factor}\n"
            kernels.append(replace(record, module=text))
        made.append(side(graph(*kernels), label=label))
    return made[0], made[1]


def test_what_changed_is_found_on_todays_machine(measure: Callable[..., Comparison]) -> None:
    found = measure(*sides(12, k3=1.05))
    verdicts = {row.match.a[0].name: row.verdict for row in found.rows}
    assert verdicts.pop("k3") is Verdict.SLOWER
    assert Verdict.SLOWER not in verdicts.values()
    assert found.paired
    assert found.a.run.machine.gpu == "Fake GPU"
    assert found.a.run.method == "fake/1"
    assert all(row.processes == (3, 3) for row in found.rows)


def test_equal_kernels_are_timed_as_controls_and_the_rest_counted(
    measure: Callable[..., Comparison],
) -> None:
    a, b = sides(CONTROLS + 10, k3=1.05)
    found = measure(a, b)
    assert len(found.rows) == CONTROLS + 1
    assert any("9 more kernels have the same code" in note for note in found.notes)
    assert len(measure(a, b, everything=True).rows) == CONTROLS + 10


def test_named_kernels_alone(measure: Callable[..., Comparison]) -> None:
    a, b = sides(12, k3=1.05)
    found = measure(a, b, "k3", "k1*")
    assert [row.match.a[0].name for row in found.rows] == ["k1", "k3", "k10", "k11"]
    with pytest.raises(UnknownName, match="neither side") as caught:
        measure(a, b, "k99")
    assert "k9" in caught.value.expected


def test_both_sides_run_in_the_configurations_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[object, object]] = []

    def time(pairs: Any, *arguments: Any, **given: Any) -> PairResults:
        seen.extend((one.a[0].config, one.b[0].config) for one in pairs)
        return fake_pairs.time_pairs_here(pairs, *arguments, **given)

    monkeypatch.setattr(confirming, "time_pairs", time)
    a, b = sides(9, k3=1.05)
    tuned = {**CONFIG, "num_warps": 16}
    (whole,) = b.run.graphs
    fields = [replace(k, config=tuned) for k in whole.kernels[:5]]
    fields.append(replace(whole.kernels[5], config={"OTHER": 1}))
    lone = replace(whole.kernels[6], module=whole.kernels[6].module.replace('"XBLOCK"', '"YBLOCK"'))
    kernels = (*fields, lone, *whole.kernels[7:])
    b = replace(b, run=replace(b.run, graphs=(replace(whole, kernels=kernels),)))
    both, notes = sides_in_configs_of(a, [a, b])
    found = confirm(*both, (), Workplace(tmp_path, 1, effort=EFFORT))
    assert seen[:6] == [(CONFIG, CONFIG)] * 6
    verdicts = {row.match.a[0].name: row.verdict for row in found.rows}
    assert verdicts["k3"] is Verdict.SLOWER, "the code alone"
    assert found.rows[0].identical, "it was merely retuned"
    assert "in the configurations of A" in notes[0]
    assert "1 kernel with other block sizes" in notes[1]
    in_b, _ = sides_in_configs_of(b, [a, b])
    assert in_b[0].run.graphs[0].kernels[0].config == tuned


def test_a_search_times_each_kernel_in_its_own_recorded_configuration() -> None:
    configs = [{**CONFIG, "num_warps": 8}, {**CONFIG, "num_warps": 16}]
    names = ("n0", "n1")
    known = [kernel(f"old_{n}", n, config=c) for n, c in zip(names, configs, strict=True)]
    made = Made(Subject("now"), tuple(kernel(f"k_{n}", n, config=None) for n in names))
    seen: list[object] = []

    def time(good: Made, other: Made, start: int, end: int) -> list[tuple[float, float]]:
        seen.extend(k.config for side in (good, other) for k in side.kernels)
        return [(1.0, 1.0)] * (end - start)

    assert pinned(time, graph(*known))(made, made, 0, 3) == [(1.0, 1.0)] * 3
    assert seen == configs * 2


def test_a_gpu_that_gives_out_leaves_what_was_measured(
    measure: Callable[..., Comparison], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*given: Any, **how: Any) -> PairResults:
        found = fake_pairs.time_pairs_here(*given, **how)
        outcomes = (*found.outcomes[:-1], ())
        return replace(found, outcomes=outcomes, lost="NoDevice: it fell off the bus")

    monkeypatch.setattr(confirming, "time_pairs", lost)
    found = measure(*sides(12, k3=1.05))
    assert any("the GPU was lost: NoDevice" in note for note in found.notes)
    assert found.slower
    assert found.rows[-1].verdict is Verdict.INCOMPARABLE


def test_a_kernel_that_fails_is_a_row(measure: Callable[..., Comparison]) -> None:
    a, b = sides(3, k1=1.0)
    (whole,) = b.run.graphs
    broken = replace(whole.kernels[1], module=whole.kernels[1].module + "# fails\n")
    kernels = (whole.kernels[0], broken, whole.kernels[2])
    b = replace(b, run=replace(b.run, graphs=(replace(whole, kernels=kernels),)))
    found = measure(a, b)
    assert found.rows[1].verdict is Verdict.INCOMPARABLE
    assert "does not fit" in found.rows[1].reason
    assert found.rows[0].effect is not None


def test_samples_of_a_disturbed_device_are_no_verdict(measure: Callable[..., Comparison]) -> None:
    a, b = sides(6, k3=1.05)
    (whole,) = b.run.graphs
    hot = [replace(k, module=k.module + "# disturbed\n") for k in whole.kernels]
    kernels = tuple(h if k.name == "k3" else k for k, h in zip(whole.kernels, hot, strict=True))
    b = replace(b, run=replace(b.run, graphs=(replace(whole, kernels=kernels),)))
    found = {row.match.a[0].name: row for row in measure(a, b).rows}
    assert found["k3"].verdict is Verdict.INCOMPARABLE
    assert "throttled" in found["k3"].reason


def test_the_binary_that_another_triton_compiled_is_kept_if_there_is_one(tmp_path: Path) -> None:
    record = kernel("k", "n")
    place = Workplace(tmp_path, 1, triton="3.4.0")
    assert not place.keeps(record)
    name = binary.artifact(record.module, config_from_dict(CONFIG), place.target, (), "3.4.0")
    binary.path(tmp_path, name).parent.mkdir(parents=True)
    binary.path(tmp_path, name).touch()
    assert place.keeps(record)
    assert not replace(place, triton="3.5.0").keeps(record)
    assert not replace(place, triton="").keeps(record)
    assert not place.keeps(replace(record, config={**CONFIG, "num_warps": 8}))
    assert not place.keeps(replace(record, config=None))


def test_what_one_side_alone_has_is_told_unless_kernels_are_named(
    measure: Callable[..., Comparison],
) -> None:
    a, b = sides(3)
    lone = replace(b.run.graphs[0], kernels=b.run.graphs[0].kernels[:2])
    b = replace(b, run=replace(b.run, graphs=(lone,)))
    assert [k.name for _, k in measure(a, b).vanished] == ["k2"]
    assert [k.name for _, k in measure(b, a).appeared] == ["k2"]
    found = measure(a, b, "k0")
    assert not found.vanished and not found.appeared


def test_nothing_in_common_is_said(measure: Callable[..., Comparison]) -> None:
    with pytest.raises(UsageError, match="nothing to time"):
        measure(side(graph(kernel("k", "a"))), side(graph(kernel("m", "b")), label="B"))


def test_a_kernel_without_its_module_is_a_row(measure: Callable[..., Comparison]) -> None:
    a, b = sides(2)
    (whole,) = a.run.graphs
    bare = replace(whole.kernels[0], module="")
    a = replace(a, run=replace(a.run, graphs=(replace(whole, kernels=(bare, whole.kernels[1])),)))
    found = measure(a, b)
    assert found.rows[0].reason == "a module is not recorded"


def test_recorded_clocks_are_no_cause_of_what_is_measured_now(
    measure: Callable[..., Comparison],
) -> None:
    a, b = sides(2)
    (whole,) = b.run.graphs
    hot = tuple(replace(k, sets=(Samples((1.0,), clock_mhz=1000.0),)) for k in whole.kernels)
    b = replace(b, run=replace(b.run, graphs=(replace(whole, kernels=hot),)))
    (_, row) = measure(a, b).rows
    assert not any("clock" in cause for cause in row.causes)
    assert len(row.match.b[0].sets) == 3, "what is measured now stands in for it"


def test_sums_say_how_much_of_the_recorded_time_they_are(
    measure: Callable[..., Comparison],
) -> None:
    a, b = sides(4, k1=1.1)
    (whole,) = a.run.graphs
    timed = tuple(replace(k, ms=0.02) for k in whole.kernels)
    a = replace(a, run=replace(a.run, graphs=(replace(whole, kernels=timed),)))
    (total,) = measure(a, b, "k1", "k2").rollups
    assert total.covered[0] == pytest.approx(0.5)
