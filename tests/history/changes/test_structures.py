"""Histories whose noise hangs together: days, wandering levels, a noisier half."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.history.changes.changepoints import detect
from harness.history.changes.fitting import Judged

POINTS, SERIES, REPORTS = 60, 40, 12
DAYS = np.arange(POINTS) // 5
LATE = np.where(np.arange(POINTS) < 30, 1.0, 3.0)
Block = NDArray[np.float64]


def own_days(rng: np.random.Generator) -> Block:
    """0.5 % of noise, 0.5 % of each kernel's own by day."""
    block = rng.normal(size=(SERIES, POINTS)) + rng.normal(size=(SERIES, POINTS))[:, DAYS]
    return 0.005 * block


def own_walk(rng: np.random.Generator) -> Block:
    """A level of each kernel that wanders by 0.15 % from run to run."""
    walk = np.cumsum(rng.normal(0, 0.3, (SERIES, POINTS)), axis=1)
    return 0.005 * (rng.normal(size=(SERIES, POINTS)) + walk)


def noisier(rng: np.random.Generator) -> Block:
    """Noise three times as large in the second half."""
    return 0.005 * LATE * rng.normal(size=(SERIES, POINTS))


def judged(block: Block) -> list[Judged]:
    return detect(list(block), days=[DAYS] * len(block))


def confirmed(found: list[Judged]) -> list[tuple[int, int]]:
    return [(n, s.position) for n, one in enumerate(found) for s in one.steps if s.confirmed]


@pytest.mark.parametrize("world", [own_days, own_walk, noisier])
def test_no_report_holds_more_than_its_share_of_false_steps(world) -> None:  # type: ignore[no-untyped-def]
    """5 % of reports: of twelve 3 and more are expected in 2 of 100. Taken for independent, noise
    that hangs together has some in most of them."""
    rng = np.random.default_rng(1)
    assert sum(bool(confirmed(judged(world(rng)))) for _ in range(REPORTS)) <= 2


@pytest.mark.parametrize("world", [own_days, own_walk, noisier])
def test_steps_are_found_in_it(world) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(2)
    right = said = 0
    for _ in range(3):
        block = world(rng)
        at = rng.integers(10, 50, 4)
        block[:4] += np.log(1.05) * (np.arange(POINTS) >= at[:, None])
        found = confirmed(judged(block))
        said += len(found)
        right += sum(n < 4 and abs(place - at[n]) <= 2 for n, place in found)
    assert right >= 11
    assert said <= right + 1


def test_a_step_at_the_end_of_a_noisier_half_is_found_about_as_often_as_one_can_be() -> None:
    """A test that knows the noise finds 56 % of steps of 3.3 deviations two points before the end.
    Where ordinary points of the noisier half are smoothed as outliers, a fifth are found."""
    hits = 0
    for report in range(20):
        block = 0.005 * LATE * np.random.default_rng([1, report]).normal(size=(50, POINTS))
        block[7, -2:] += np.log(1.05)
        hits += any(s.confirmed and s.position == POINTS - 2 for s in detect(list(block))[7].steps)
    assert hits >= 7


def test_a_step_between_days_is_held_against_what_days_do() -> None:
    """Twice what days move: certain within a day, not between two."""
    rng = np.random.default_rng(3)
    block = own_days(rng)
    block[0], block[1] = 0.0005 * rng.normal(size=(2, POINTS))
    block[0] += 0.01 * rng.normal(size=POINTS)[DAYS]
    block[1] += 0.02 * (np.arange(POINTS) >= 33)
    found = confirmed(judged(block))
    assert not [place for n, place in found if n == 0]
    assert (1, 33) in found


def test_a_commit_that_slows_most_kernels_is_no_noisier_one() -> None:
    block = 0.005 * np.random.default_rng(4).normal(size=(SERIES, POINTS))
    block[: SERIES * 3 // 4, -4:] += np.log(1.05)
    assert {n for n, _ in confirmed(judged(block))} == set(range(SERIES * 3 // 4))


def test_a_kernel_in_another_mode_in_a_tenth_of_its_runs_has_no_level_of_three_runs() -> None:
    """One kernel's own outliers are no machine's: another one's two new points stay certain."""
    rng = np.random.default_rng(5)
    block = 0.005 * rng.normal(size=(50, POINTS))
    block[0, [3, 9, 21, 34, 35, 36, 44, 50, 58, 59]] += 0.08
    block[1, -2:] += np.log(1.05)
    found = confirmed(judged(block))
    assert (1, POINTS - 2) in found
    assert not [place for n, place in found if n == 0]


def slow_runs(seed: int) -> Block:
    """White noise of 0.5 %; each fiftieth point is ten deviations too slow."""
    rng = np.random.default_rng(seed)
    return 0.005 * (rng.normal(size=(50, POINTS)) + 10 * (rng.random((50, POINTS)) < 0.02))


def test_a_level_of_many_points_is_no_run_of_outliers_whatever_else_the_noise_may_do() -> None:
    """A kernel of which a level that wanders is not ruled out, and which has outliers."""
    block = slow_runs(0)
    found = []
    for row in range(4):
        again = block.copy()
        again[row] += np.log(1.05) * (np.arange(POINTS) >= 46)
        found += [s for s in judged(again)[row].steps if s.confirmed]
    assert [s.position for s in found] == [46] * 4


@pytest.mark.parametrize("seed", [2, 3, 5, 7])
def test_a_level_nearer_than_any_outlier_is_no_run_of_them(seed: int) -> None:
    """A kernel that is 8 % slower in some runs becomes 5 % slower in all."""
    block = 0.005 * np.random.default_rng(seed).normal(size=(50, POINTS))
    block[0, [7, 11, 34, 36, 44, 45, 53, 59]] += 0.08
    block[0] += np.log(1.05) * (np.arange(POINTS) >= 45)
    assert [place for n, place in confirmed(judged(block)) if n == 0] == [44]


def test_outliers_where_a_level_begins_do_not_hide_it() -> None:
    block = slow_runs(0)
    block[3] = 0.005 * np.random.default_rng(1).normal(size=POINTS)
    block[3, 20:] += np.log(1.05)
    block[3, [20, 21]] += 0.05
    assert [place for n, place in confirmed(judged(block)) if n == 3] in ([20], [22])


@pytest.mark.parametrize(("outliers", "back"), [(0.0, 45), (0.05, None)])
def test_one_run_back_at_the_old_level_is_no_mode_where_outliers_go_as_far(
    outliers: float, back: int | None
) -> None:
    """A kernel became faster; one later run is as slow as before. Another became slower; one
    earlier run is as slow as that."""
    rng = np.random.default_rng(6)
    block = 0.005 * rng.normal(size=(50, POINTS))
    block[1:] += outliers * (rng.random((49, POINTS)) < 0.02)
    block[0] -= np.log(1.05) * (np.arange(POINTS) >= 25)
    block[0, 45] += np.log(1.05)
    block[1] += np.log(1.05) * (np.arange(POINTS) >= 25)
    block[1, 10] += np.log(1.05)
    found = judged(block)
    (step,) = found[0].steps
    assert (step.position, step.confirmed, step.back, step.ago) == (25, True, back, None)
    (step,) = found[1].steps
    assert (step.position, step.confirmed, step.back) == (25, True, None)
    assert step.ago == (None if back is None else 10)
