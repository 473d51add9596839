"""How large the noise is, by a series' own points and by the others."""

from __future__ import annotations

import numpy as np
import pytest

from harness.history.changes import noise
from harness.history.changes.noise import Noise
from harness.history.changes.structures import Shape, explain


def learnt(block: np.ndarray) -> noise.Scales:
    shape = Shape(np.arange(block.shape[1]), np.ones(block.shape[1]))
    explained = explain([shape], [block], [[[] for _ in block]])
    (found,) = noise.learn_scales([block], [shape], explained)
    return found


def test_series_that_are_equally_noisy_know_it_of_each_other() -> None:
    block = 0.01 * np.random.default_rng(1).normal(size=(500, 20))
    found = learnt(block)
    assert found.known[0].freedom > 50
    assert found.deviations.std() < 0.4 * block.std(axis=1).std()
    assert found.deviations.mean() == pytest.approx(0.01, rel=0.05)


def test_series_that_differ_say_little_of_each_other() -> None:
    rng = np.random.default_rng(2)
    block = 0.01 * rng.normal(size=(500, 20)) * np.exp(1.0 * rng.normal(size=(500, 1)))
    assert learnt(block).known[0].freedom < 3


def test_few_series_say_nothing_of_each_other() -> None:
    block = 0.01 * np.random.default_rng(3).normal(size=(7, 20))
    found = learnt(block)
    assert [known.freedom for known in found.known] == [0] * 7
    assert found.deviations == pytest.approx(block.std(axis=1, ddof=1), rel=0.35)


def test_what_correlation_hides_is_put_back() -> None:
    from tests.history.histories import noise

    block = noise(np.random.default_rng(4), 2000, 60, 0.6)
    assert learnt(block).deviations.mean() == pytest.approx(1, rel=0.1)


def test_a_series_above_the_limit_is_judged_alone() -> None:
    shape = Shape(np.arange(20), np.ones(20))
    known = Noise(shape, np.array([0]), np.ones(1), usual=1.0, limit=2.0, freedom=60.0)
    variances, freedom = known.moderated(np.array([1.9, 2.1]), 20)
    assert variances == pytest.approx([1.225, 2.1])
    assert freedom.tolist() == [80, 20]
