"""How large the noise is, by a series' own points and by the others."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from harness.history.changes import noise
from harness.history.changes.noise import Noise
from harness.history.changes.structures import Shape, explain
from harness.history.changes.whole_runs import polished


def learnt(block: np.ndarray) -> noise.Scales:
    shape = Shape(np.arange(block.shape[1]), np.ones(block.shape[1]))
    explained = explain([shape], [block], [[[] for _ in block]])
    (found,) = noise.learn_scales([block], [shape], explained)
    return found


def test_series_that_are_equally_noisy_know_it_of_each_other() -> None:
    block = 0.01 * np.random.default_rng(1).normal(size=(500, 20))
    found = learnt(block)
    assert found[0][0].freedom > 50
    assert found[1].std() < 0.4 * block.std(axis=1).std()
    assert found[1].mean() == pytest.approx(0.01, rel=0.05)


def test_series_that_differ_say_little_of_each_other() -> None:
    rng = np.random.default_rng(2)
    block = 0.01 * rng.normal(size=(500, 20)) * np.exp(1.0 * rng.normal(size=(500, 1)))
    assert learnt(block)[0][0].freedom < 3


def test_few_series_say_nothing_of_each_other() -> None:
    block = 0.01 * np.random.default_rng(3).normal(size=(7, 20))
    found = learnt(block)
    assert [known.freedom for known in found[0]] == [0] * 7
    assert found[1] == pytest.approx(block.std(axis=1, ddof=1), rel=0.35)


def test_what_correlation_hides_is_put_back() -> None:
    from tests.history.histories import noise

    block = noise(np.random.default_rng(4), 2000, 60, 0.6)
    assert learnt(block)[1].mean() == pytest.approx(1, rel=0.1)


def test_a_series_above_the_limit_is_judged_alone() -> None:
    shape = Shape(np.arange(20), np.ones(20))
    known = Noise(shape, np.array([0]), np.ones(1), usual=1.0, limit=2.0, freedom=60.0)
    variances, freedom = known.moderated(np.array([1.9, 2.1]), 20)
    assert variances == pytest.approx([1.225, 2.1])
    assert freedom.tolist() == [80, 20]


def test_levels_are_those_of_least_squares_with_a_penalty() -> None:
    flat, up, both = [0.0] * 12, [0.0] * 7 + [3.0] * 5, [0.0] * 4 + [3.0] * 4 + [1.0] * 4
    spike = [0.0] * 5 + [9.0] + [0.0] * 6
    block = np.array([flat, up, both, spike])
    assert noise.levels(block, 4.0, 2) == [[], [7], [4, 8], [4, 6]]
    assert noise.levels(block, 4.0, 3) == [[], [7], [4, 8], [3, 6]]
    assert noise.levels(block, 10.0, 2) == [[], [7], [4], [4, 6]]
    assert noise.levels(block[:, :5], 0.1, 3) == [[], [], [], []], "too short for two levels"


def test_no_segmentation_explains_more_than_the_levels() -> None:
    """Against every segmentation there is."""
    block = np.random.default_rng(5).normal(size=(40, 9)) * 2
    every = [
        cuts
        for count in range(4)
        for cuts in itertools.combinations(range(2, 8), count)
        if all(b - a >= 2 for a, b in itertools.pairwise([0, *cuts, 9]))
    ]
    for row, found in zip(block, noise.levels(block, 5.0, 2), strict=True):
        losses = {
            cuts: sum(((part - part.mean()) ** 2).sum() for part in np.split(row, cuts))
            + 5.0 * len(cuts)
            for cuts in every
        }
        assert tuple(found) == min(losses, key=lambda cuts: losses[cuts])


def test_judging_takes_no_library_that_takes_a_second_to_import() -> None:
    """A report begins with it; also where steps, outliers and noise over commits are judged."""
    code = (
        "import sys, numpy as np\n"
        "from harness.history.changes.changepoints import detect\n"
        "rng = np.random.default_rng(0)\n"
        "block = rng.standard_t(4, size=(40, 60)) + np.linspace(0, 5, 40)[:, None]\n"
        "block += 9 * (np.arange(60) >= 30) * (np.arange(40) < 4)[:, None]\n"
        "found = detect(list(0.01 * block))\n"
        "assert sum(bool(one.steps) for one in found) >= 4\n"
        "print([name for name in ('scipy.stats', 'ruptures', 'torch') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_a_step_is_explained_where_it_lies_and_not_where_it_was_proposed_beside_others() -> None:
    """Or a level that wanders explains it better than any of the proposals."""
    rng = np.random.default_rng(3)
    row = rng.normal(size=(1, 60)) + 5 * (np.arange(60) >= 44)
    ((found,),) = explain([Shape(np.arange(60), np.ones(60))], [row], [[[40, 48]]])
    assert found.cuts == [44]
    assert found.weights[0] > 0.9


def test_what_all_kernels_do_by_chance_is_no_common_effect() -> None:
    rng = np.random.default_rng(5)
    white = rng.normal(size=(50, 60))
    assert np.abs(polished(white)).mean() < 0.03  # a median is 0.14 off
    days = 2 * np.repeat(rng.normal(size=12), 5)
    left = days - np.median(days) - polished(white + days)
    assert np.abs(left - np.median(left)).mean() < 0.2
