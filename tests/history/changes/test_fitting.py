"""The law of outliers: learnt where it should be, and what it makes of a level; where steps lie."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from harness.history.changes import fitting
from harness.history.changes.fitting import FROM, Law, Settings, Tail
from harness.history.changes.noise import Noise
from harness.history.changes.structures import Shape


def learnt(block: np.ndarray) -> Law:
    return fitting.learn_law([block], [np.ones((len(block), 1))])


def test_normal_noise_has_a_normal_law() -> None:
    law = learnt(np.random.default_rng(1).normal(size=(2000, 30)))
    assert law.normal
    assert law.worth(np.array([6.0, 7.0])) == 1


def test_the_rate_of_outliers_is_learnt_by_side() -> None:
    rng = np.random.default_rng(2)
    block = rng.normal(size=(2000, 30)) + 10 * (rng.random((2000, 30)) < 0.03)
    law = learnt(block)
    assert law.up.rate == pytest.approx(0.03, rel=0.1)
    assert law.down.rate == 0
    assert law.worth(np.array([-6.0, -7.0])) == 1


def test_levels_are_no_outliers() -> None:
    """Two points and more that are off together say nothing about single ones."""
    block = np.random.default_rng(3).normal(size=(500, 30))
    block[:, 14:16] += 10
    block[:, -2:] += 10
    assert learnt(block).normal


def test_a_heavy_tail_gives_scores_that_are_as_rare() -> None:
    block = np.random.default_rng(4).standard_t(4, size=(20000, 30)) / np.sqrt(2)
    side = learnt(block).up
    for far in (4.5, 6.0, 9.0):
        truth = float(special.stdtr(4, -far * np.sqrt(2)))
        assert special.ndtr(-side.scores(np.array([far]))[0]) == pytest.approx(truth, rel=0.35)


def test_scores_never_exceed_the_distance_and_grow_with_it() -> None:
    far = np.linspace(0, 30, 200)
    scores = Tail(0.01, 3.0).scores(far)
    assert (scores <= far).all()
    assert (np.diff(scores) >= 0).all()
    assert scores[0] == 0


def test_how_many_neighbouring_outliers_have_to_be_expected() -> None:
    assert Law().longest(30, 0.005) == 1
    assert Law(up=Tail(0.05)).longest(30, 0.005) == 3
    assert Law(up=Tail(0.003)).longest(30, 0.005) == 2
    assert FROM * Law(up=Tail(0.05)).worth(np.array([FROM, FROM])) == pytest.approx(1.64, abs=0.01)


def test_a_step_lies_where_it_explains_most_once_another_proposal_is_dropped() -> None:
    points = np.arange(60)
    noise = np.where(points % 2, 0.01, -0.01)  # three times as large from point 30 on
    late = points >= 30
    row = np.where(late, 3, 1) * noise + np.where(points >= 40, 0.1, 0.0)
    shape = Shape(points, np.where(late, 3.0, 1.0))
    known = Noise(shape, np.array([0]), np.array([1.0]), usual=1e-4, limit=1.0, freedom=20.0)
    assert fitting.judge(row, [30, 37], known, Settings()).cuts == [40]
