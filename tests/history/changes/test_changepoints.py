"""Simulated histories with known truth: what the issue asks for, and what is stated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.history.changes.changepoints import detect
from harness.history.changes.fitting import Judged, Settings, Step
from tests.history.histories import noise

ALONE = Settings(family=1e9)
"""Each series judged by itself, as if there were no others."""
SERIES, POINTS = 1000, 30


def flagged(found: list[Judged]) -> float:
    """Share of series with a confirmed step."""
    return float(np.mean([any(step.confirmed for step in judged.steps) for judged in found]))


def hits(found: list[Judged], positions: NDArray[np.int64]) -> float:
    """Share of series whose step was found within two points of where it is."""
    return float(
        np.mean(
            [
                any(step.confirmed and abs(step.position - at) <= 2 for step in judged.steps)
                for judged, at in zip(found, positions, strict=True)
            ]
        )
    )


def stepped(
    seed: int, size: float, first: int, last: int, count: int = SERIES // 10
) -> tuple[list[NDArray[np.float64]], NDArray[np.int64]]:
    """Series of white noise of 1 %, the first ``count`` of which have a step of relative ``size``
    at a position from ``first`` to ``last``; and those positions."""
    rng = np.random.default_rng(seed)
    at = rng.integers(first, last + 1, count)
    block = 0.01 * rng.normal(size=(SERIES, POINTS))
    block[:count] += (np.arange(POINTS) >= at[:, None]) * np.log1p(size)
    return list(block), at


@pytest.mark.parametrize(("phi", "allowed"), [(0.0, 0.005), (0.3, 0.0075), (0.6, 0.01)])
def test_flat_series_are_rarely_flagged(phi: float, allowed: float) -> None:
    rng = np.random.default_rng(3)
    machines = [0.01 * noise(rng, SERIES, POINTS, phi) for _ in range(4)]
    found = detect([row for block in machines for row in block], np.repeat(range(4), SERIES), ALONE)
    assert flagged(found) <= allowed


def test_steps_of_four_deviations_are_found_and_most_of_three() -> None:
    series, at = stepped(12, 0.04, 5, 25)
    assert hits(detect(series, settings=ALONE)[: len(at)], at) >= 0.95
    series, at = stepped(12, 0.03, 5, 25)
    assert hits(detect(series, settings=ALONE)[: len(at)], at) >= 0.75


def test_steps_of_five_per_cent_are_found_two_points_later() -> None:
    series, at = stepped(13, 0.05, 28, 28)
    assert hits(detect(series, settings=ALONE)[: len(at)], at) >= 0.95


@pytest.mark.parametrize(("kind", "allowed"), [("t", 0.005), ("outliers", 0.0075)])
def test_outliers_and_heavy_tails_raise_no_more_alarms(kind: str, allowed: float) -> None:
    """Two neighbouring outliers, which one in fourteen of these series has, are no level."""
    rng = np.random.default_rng(31)
    block = rng.standard_t(4, size=(2000, POINTS)) / np.sqrt(2)
    if kind == "outliers":
        block = rng.normal(size=(2000, POINTS)) + 10 * (rng.random((2000, POINTS)) < 0.05)
    found = detect(list(0.01 * block), np.repeat(range(2), SERIES), ALONE)
    assert flagged(found) <= allowed


def test_a_level_that_outliers_may_explain_is_suspected_while_it_is_new() -> None:
    rng = np.random.default_rng(32)
    block = 0.01 * (rng.normal(size=(400, POINTS)) + 10 * (rng.random((400, POINTS)) < 0.05))
    block[:2] = 0.01 * rng.normal(size=(2, POINTS))
    block[0, -2:] += 0.1
    block[1, -8:] += 0.1
    two, eight = (judged.steps for judged in detect(list(block), settings=ALONE)[:2])
    assert [(step.position, step.confirmed) for step in two] == [(POINTS - 2, False)]
    assert [(step.position, step.confirmed) for step in eight] == [(POINTS - 8, True)]


def test_chances_are_what_they_say_far_out_too() -> None:
    """A report over 1,000 series needs chances of 1 in 40,000. Among 10,000 flat series at most 3
    steps of 3 in 10,000 are expected; an outlier wrongly left out quietens the rest."""
    rare = 0
    for seed in range(10):
        block = 0.01 * np.random.default_rng(seed).normal(size=(SERIES, POINTS))
        found = detect(list(block), settings=ALONE)
        rare += sum(any(s.confirmed and s.p <= 3e-4 for s in judged.steps) for judged in found)
    assert rare <= 6


def test_steps_that_share_a_commit_are_certain_together() -> None:
    rng = np.random.default_rng(33)
    at = np.where(np.arange(300) < 30, 24, 0)
    block = 0.01 * rng.normal(size=(300, POINTS))
    block[:30, 24:] += np.log1p(0.022)
    found = detect(list(block))
    alone = [step for judged in found[:30] for step in judged.steps if step.confirmed]
    assert sum(step.together for step in alone) >= 5
    assert hits(found[:30], at[:30]) >= 0.5
    # The same steps, but no two series were measured at the same commits.
    apart = detect(list(block), commits=[np.arange(POINTS) + 100 * i for i in range(300)])
    assert not any(step.together for judged in apart for step in judged.steps)
    assert hits(apart[:30], at[:30]) < hits(found[:30], at[:30])


def test_a_level_does_not_begin_after_two_outliers() -> None:
    rng = np.random.default_rng(35)
    block = 0.01 * (rng.normal(size=(400, POINTS)) + 10 * (rng.random((400, POINTS)) < 0.05))
    block[0] = 0.01 * rng.normal(size=POINTS)
    block[0, -4:-2] += 0.1
    assert not any(step.confirmed for step in detect(list(block), settings=ALONE)[0].steps)


def test_a_series_noisier_than_the_others_is_judged_by_its_own_points() -> None:
    rng = np.random.default_rng(34)
    block = 0.01 * rng.normal(size=(SERIES, POINTS))
    block[:50] *= 5
    assert flagged(detect(list(block), settings=ALONE)[:50]) <= 0.02


def test_a_single_series_is_judged_carefully() -> None:
    """Alone, with no others to learn the noise from, drift is still not taken for steps."""
    rng = np.random.default_rng(14)
    block = 0.01 * noise(rng, 300, POINTS, 0.6)
    assert flagged(detect(list(block), list(range(300)), ALONE)) <= 0.03
    block = 0.01 * rng.normal(size=(100, POINTS))
    block[:, 15:] += np.log1p(0.05)
    assert hits(detect(list(block), list(range(100)), ALONE), np.full(100, 15)) >= 0.9


def test_machines_of_different_noise_do_not_disturb_each_other() -> None:
    rng = np.random.default_rng(15)
    drifting = 0.01 * noise(rng, 200, POINTS, 0.6)
    steady, at = stepped(16, 0.04, 10, 20)
    found = detect([*drifting, *steady[:200]], ["a"] * 200 + ["b"] * 200, ALONE)
    assert flagged(found[:200]) <= 0.02
    assert hits(found[200:300], at) >= 0.95


def test_size_and_place_lie_in_their_intervals() -> None:
    """95 % intervals hold the truth nearly as often as they say."""
    series, at = stepped(17, 0.05, 8, 22, SERIES)
    steps = [
        (step, place)
        for judged, place in zip(detect(series, settings=ALONE), at, strict=True)
        for step in judged.steps
        if step.confirmed and abs(step.position - place) <= 3
    ]
    assert len(steps) > 900
    assert np.mean([step.low <= 0.05 <= step.high for step, _ in steps]) >= 0.92
    assert np.mean([step.earliest <= place <= step.latest for step, place in steps]) >= 0.95


def one(values: NDArray[np.float64], settings: Settings = ALONE) -> list[Step]:
    """The steps of a series among many steady ones, which say what the noise is like."""
    rng = np.random.default_rng(18)
    others = 0.01 * rng.normal(size=(100, len(values)))
    return list(detect([values, *others], settings=settings)[0].steps)


def level(*runs: tuple[int, float], seed: int = 19) -> NDArray[np.float64]:
    """A series whose level is given run by run: (points, relative size)."""
    base = np.concatenate([np.full(points, np.log1p(size)) for points, size in runs])
    return base + 0.01 * np.random.default_rng(seed).normal(size=len(base))


def test_several_steps_with_their_directions() -> None:
    steps = one(level((12, 0), (10, 0.1), (10, 0.04), (8, 0.3)))
    assert [step.position for step in steps] == pytest.approx([12, 22, 32], abs=1)
    assert [np.sign(step.size) for step in steps] == [1, -1, 1]
    assert [(step.before, step.after) for step in steps][1] == pytest.approx((10, 10), abs=1)


def test_a_bump_that_ends_where_it_began_is_two_steps() -> None:
    steps = one(level((12, 0), (6, 0.06), (12, 0)))
    assert [step.position for step in steps] == pytest.approx([12, 18], abs=1)


def test_an_outlier_is_no_step() -> None:
    values = level((30, 0))
    for place in (7, 20):
        spoilt = values.copy()
        spoilt[place] += 0.5
        assert one(spoilt) == []


def test_the_newest_point_alone_is_suspected_and_two_are_enough() -> None:
    (alone,) = one(level((29, 0), (1, 0.2)))
    assert not alone.confirmed
    assert alone.position == 29
    (step,) = one(level((28, 0), (2, 0.2)))
    assert step.confirmed
    assert step.position == 28


def test_a_longer_shortest_run_waits() -> None:
    values = level((27, 0), (3, 0.2))
    assert any(step.confirmed for step in one(values))
    rules = Settings(family=1e9, shortest_run=4)
    assert not any(step.confirmed and step.after < 4 for step in one(values, rules))


def test_small_changes_are_not_reported_however_certain() -> None:
    rng = np.random.default_rng(20)
    values = 1e-5 * rng.normal(size=(50, 30))
    values[0, 15:] += 0.003
    assert detect(list(values), settings=ALONE)[0].steps == ()
    found = detect(list(values), settings=Settings(family=1e9, smallest=0.001))
    assert len(found[0].steps) == 1


def test_a_constant_series_and_one_of_two_values() -> None:
    """A timer with coarse steps gives series without any visible noise."""
    constant, two = np.zeros(30), np.r_[np.zeros(15), np.full(15, 0.02)]
    still, moved = detect([constant, two], settings=ALONE)
    assert still.steps == ()
    (step,) = moved.steps
    assert (step.position, step.earliest, step.latest) == (15, 15, 15)
    assert step.size == pytest.approx(np.expm1(0.02))


def test_short_series_are_not_judged() -> None:
    short, empty = detect([np.array([0.0, 0, 0, 1, 1]), np.zeros(0)])
    assert not short.judged
    assert not empty.judged
    assert detect([]) == []


def test_holm_takes_back_what_does_not_stand_out() -> None:
    """A step that is certain enough alone is only suspected among 2000 series."""
    rng = np.random.default_rng(21)
    block = 0.01 * rng.normal(size=(2000, POINTS))
    block[0] = 0.01 * rng.permutation(np.linspace(-1.6, 1.6, POINTS))
    block[0, 15:] += 0.018
    (step,) = detect(list(block), settings=ALONE)[0].steps
    assert 0.05 / 2000 < step.p < ALONE.alone
    assert step.confirmed
    (step,) = detect(list(block))[0].steps
    assert not step.confirmed


def test_the_answer_does_not_depend_on_the_order_of_the_series() -> None:
    series, _ = stepped(22, 0.04, 10, 20)
    there = detect(series[:60])
    back = detect(series[:60][::-1])[::-1]
    for a, b in zip(there, back, strict=True):
        assert [s.position for s in a.steps] == [s.position for s in b.steps]
        assert [s.size for s in a.steps] == pytest.approx([s.size for s in b.steps])


@pytest.mark.parametrize("over", [2, 4, 8, 16])
def test_a_steep_ramp_is_never_missed(over: int) -> None:
    """20 % in equal parts at ``over`` commits, 100 times the noise: neighbours that agree, or a
    level that wanders, are no other explanation."""
    rng = np.random.default_rng(over)
    for _ in range(12):
        series = 0.002 * rng.normal(size=(24, POINTS))
        series[7] += np.clip((np.arange(POINTS) - 12) / over, 0, 1) * np.log(1.2)
        steps = detect(list(series))[7].steps
        assert any(step.confirmed for step in steps)
        size = np.prod([1 + step.size for step in steps if step.size > 0.01]) - 1
        assert 0.14 < size < 0.24
