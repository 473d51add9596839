from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from harness.errors import UnknownName
from harness.measure.noise.judge import Rules
from harness.records.run import KernelRecord, LibraryCall, Run, to_json
from harness.records.trials import Trial
from harness.verdicts.comparing import Comparison, Side, compare
from harness.verdicts.why import Label, Why, of_kernel
from tests.history.examples import MACHINE
from tests.history.kernels import CONFIG, changed, graph, kernel, side
from tests.verdicts.test_comparing import many, times

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import why_worlds  # noqa: E402

OTHER = {**CONFIG, "num_warps": 8}


@cache
def suite() -> Run:
    return why_worlds.suite()


@pytest.mark.parametrize("kind", why_worlds.KINDS)
def test_a_planted_cause_is_named_and_never_another(kind: str) -> None:
    right, wrong, said = why_worlds.rates(suite(), kind, 6)
    assert right >= 5, said
    assert wrong == 0, said


def one(b: KernelRecord | None = None, *, count: int = 20, **run: object) -> Why:
    """What is said of ``k3`` where B has ``b`` in its place (None: the same, 10 % slower)."""
    ours = many(count, "A", 1)
    theirs = many(count, "B", 2)
    graph_ = theirs.run.graphs[0]
    slow = times(0.022, 77)
    made = kernel("k3", "n3", ms=slow) if b is None else b
    kernels = tuple(made if k.name == "k3" else k for k in graph_.kernels)
    other = replace(theirs.run, graphs=(replace(graph_, kernels=kernels),), **run)  # type: ignore[arg-type]
    (found,) = of_kernel(compare(ours, replace(theirs, run=other), Rules()), "k3")
    return found


def test_another_text_is_the_cause_with_its_figures_and_its_diff() -> None:
    found = one(kernel("k3", "n3", ms=times(0.022, 77), body="new", registers=40))
    assert found.label is Label.SOURCE
    assert found.ratio == pytest.approx(1.1, abs=0.01)
    assert found.evidence[-1] == "registers 32 → 40"
    assert "+    new" in found.diff
    assert found.commands[0] == "harness bisect k3 A B"
    assert to_json(found)["label"] == "source changed"


def test_a_change_of_text_without_one_of_time_is_noise() -> None:
    assert one(kernel("k3", "n3", ms=times(0.02, 77), body="new")).label is Label.NOISE


def test_what_the_time_leaves_open_is_unsure() -> None:
    found = one(kernel("k3", "n3", ms=times(0.0206, 77, spread=0.04), body="new"))
    assert found.label is Label.UNSURE
    assert found.differs == (Label.SOURCE,)


def test_the_same_instructions_that_move_alone_are_the_machine() -> None:
    assert one().label is Label.MACHINE


def test_controls_that_are_merely_alike_are_called_so() -> None:
    found = compare(many(20, "A", 1), many(20, "B", 2), Rules())
    assert found.noise is not None
    for alike, said in ((False, "unchanged"), (True, "alike")):
        (why,) = of_kernel(replace(found, noise=replace(found.noise, alike=alike)), "k3")
        assert any(f" {said} kernels moved by " in line for line in why.evidence)


def test_a_retuned_kernel_says_what_both_tuners_saw() -> None:
    trials = (Trial(CONFIG, level=0.020), Trial(OTHER, level=0.0205))
    found = one(kernel("k3", "n3", ms=times(0.022, 77), config=OTHER, trials=trials))
    assert found.label is Label.CONFIGURATION
    assert "B's tuner measured 20 µs for A's and 20.5 µs for B's choice" in found.evidence
    assert "same code and candidates: the tuner chose differently" in found.evidence


def test_two_changes_at_once_without_trials_are_unsure() -> None:
    found = one(kernel("k3", "n3", ms=times(0.022, 77), body="new", config=OTHER))
    assert found.label is Label.UNSURE
    assert found.differs == (Label.SOURCE, Label.CONFIGURATION)


@pytest.mark.parametrize(
    ("pinned", "own", "now", "label"),
    [
        (0.022, 0.022, 0.022, Label.SOURCE),  # B is as slow in A's configuration
        (0.020, 0.022, 0.022, Label.CONFIGURATION),
        (0.021, 0.022, 0.022, Label.UNSURE),  # half and half
        (0.02103, 0.02177, 0.022, Label.UNSURE),  # 59 and 41 of 100
        (0.02016, 0.02016, 0.022, Label.UNSURE),  # no more than trials differ anyway
        (0.019, 0.022, 0.022, Label.CONFIGURATION),  # the code made up for a part of it
        (0.022, 0.022, 0.018, Label.UNSURE),  # faster by the code, and slower by the choice
        (None, 0.022, 0.022, Label.UNSURE),
        (0.022, None, 0.022, Label.UNSURE),
    ],
)
def test_what_tuners_saw_tells_the_code_from_the_choice(
    pinned: float | None, own: float | None, now: float, label: Label
) -> None:
    """``pinned``: B in A's configuration, which takes 20 µs in A; ``own``: in B's; ``now``: what
    is measured of it."""
    a, b = many(20, "A", 1), many(20, "B", 2)
    before = (Trial(CONFIG, level=0.02),)
    after = tuple(Trial(c, level=ms) for c, ms in ((CONFIG, pinned), (OTHER, own)) if ms)
    new = kernel("k3", "n3", ms=times(now, 77), body="new", config=OTHER, trials=after)
    for of, made in ((a, None), (b, new)):
        (graph_,) = of.run.graphs
        kept = (k if k.name != "k3" else made or replace(k, trials=before) for k in graph_.kernels)
        graph_ = replace(graph_, kernels=tuple(kept))
        sides = (replace(of, run=replace(of.run, graphs=(graph_,))),)
        a, b = (sides[0], b) if made is None else (a, sides[0])
    (found,) = of_kernel(compare(a, b, Rules()), "k3")
    assert found.label is label
    assert set(found.differs) >= {Label.SOURCE, Label.CONFIGURATION}


def test_a_choice_that_the_code_does_not_offer_any_more_is_the_codes() -> None:
    new = kernel("k3", "n3", ms=times(0.022, 77), body="new", config=OTHER)
    new = changed(new, module=new.module.replace('"num_warps": 4', '"num_warps": 8'))
    assert one(new).label is Label.SOURCE


def test_another_triton_and_another_text_are_unsure() -> None:
    new = kernel("k3", "n3", ms=times(0.022, 77), body="new")
    found = one(new, machine=replace(MACHINE, triton="4.0.0"))
    assert found.label is Label.UNSURE
    assert set(found.differs) == {Label.SOURCE, Label.TOOLCHAIN}


def test_binaries_that_are_alike_are_controls_for_another_triton() -> None:
    new = kernel("k3", "n3", ms=times(0.022, 77), instructions=140)
    found = one(new, machine=replace(MACHINE, triton="4.0.0"))
    assert found.label is Label.TOOLCHAIN
    assert "triton 3.9.0 → 4.0.0" in found.evidence


def test_another_driver_is_the_machine_only_where_the_code_is_the_same() -> None:
    driver = replace(MACHINE, driver="9.9", key="testgpu-9.9")
    assert one(kernel("k3", "n3", ms=[0.03] * 5), machine=driver).label is Label.MACHINE
    new = kernel("k3", "n3", ms=[0.03] * 5, body="new")
    assert one(new, machine=driver).label is Label.UNSURE


def test_one_process_a_side_is_enough_for_what_is_far_off_alone() -> None:
    def alone(factor: float) -> Label:
        new = kernel("k0", "n0", ms=[0.02 * factor], body="new")
        b = side(graph(new, *many(9, "B", 2).run.graphs[0].kernels[1:]), label="B")
        a = many(9, "A", 1)
        first = kernel("k0", "n0", ms=[0.02])
        a = side(graph(first, *a.run.graphs[0].kernels[1:]))
        return of_kernel(compare(a, b, Rules()), "k0")[0].label

    assert alone(38.0) is Label.SOURCE
    assert alone(1.03) is Label.UNSURE


def untimed(*kernels: KernelRecord, label: str = "A") -> Side:
    return side(graph(*(changed(k, sets=(), ms=None) for k in kernels)), label=label)


def compared(a: Side, b: Side) -> Comparison:
    return compare(a, b, Rules())


def test_without_times_the_only_difference_is_named() -> None:
    a = untimed(kernel("k", "n"))
    (found,) = of_kernel(compared(a, untimed(kernel("k", "n", body="x"), label="B")), "k")
    assert found.label is Label.SOURCE
    assert "nothing else differs; no times show what it costs" in found.evidence
    (found,) = of_kernel(compared(a, untimed(kernel("k", "n"), label="B")), "k")
    assert found.label is Label.UNSURE
    assert "same code and configuration; the time cannot be judged" in found.evidence


def test_other_candidates_for_the_same_code_are_said() -> None:
    """They are what `harness bisect` without a GPU may have ended on."""
    first = kernel("k", "n")
    second = changed(first, module=first.module.replace("},\n]", "},\n    {},\n]", 1))
    (found,) = of_kernel(compared(untimed(first), untimed(second, label="B")), "k")
    assert found.label is Label.UNSURE
    said = "same code and configuration, other candidates for a tuner; the time cannot be judged"
    assert said in found.evidence


def test_a_fusion_names_the_nodes_that_came_and_went() -> None:
    a = untimed(kernel("k1", "x y"), kernel("k2", "z"))
    b = untimed(kernel("k1", "x y z v"), label="B")
    (found,) = of_kernel(compared(a, b), "k1")
    assert found.label is Label.FUSION
    assert "k1, k2 → k1" in found.evidence
    assert "nodes that came: v" in found.evidence


def test_a_kernel_without_a_partner_says_where_its_nodes_are() -> None:
    a = untimed(kernel("k1", "x"), kernel("k2", "u"))
    b = untimed(kernel("k1", "x"), label="B")
    lone = replace(b.run.graphs[0], library_calls=(LibraryCall("aten.mm", 2),))
    b = replace(b, run=replace(b.run, graphs=(lone,)))
    (found,) = of_kernel(compared(a, b), "k2")
    assert found.label is Label.FUSION
    assert "library calls there: aten.mm ×2" in found.evidence


def test_an_unknown_kernel_is_an_error_with_suggestions() -> None:
    a, b = untimed(kernel("triton_poi_add", "n")), untimed(kernel("triton_poi_add", "n"))
    with pytest.raises(UnknownName) as error:
        of_kernel(compared(a, b), "poi_ad")
    assert "triton_poi_add" in error.value.expected
