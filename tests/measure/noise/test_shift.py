"""Steps, humps and waves in the samples of one measurement, by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from harness.measure.noise import median
from harness.measure.noise.median import shift
from tests.measure.noise.test_median import correlated, independent, two_levels

N = 90
T = np.arange(N) / N
SD = 1.0
"""Of the independent noise, at a level of 100."""


@pytest.mark.parametrize("n", [60, 90, 300])
def test_what_stands_still_is_seldom_flagged(n: int) -> None:
    rng = np.random.default_rng(7)
    assert sum(bool(shift(row, 0.0)) for row in independent(rng, 400, n)) <= 7
    assert sum(bool(shift(row, 0.0)) for row in two_levels(0.45)(rng, 200, n)) <= 5


@pytest.mark.parametrize("strength", [0.3, 0.5, 0.8])
def test_correlated_noise_is_not_taken_for_movement(strength: float) -> None:
    for n in (90, 300):
        rows = correlated(strength)(np.random.default_rng(8), 200, n)
        assert sum(bool(shift(row, 0.0)) for row in rows) <= 10


MOVED = {
    "late step": (2.5 * SD * (T > 0.8), "stepping up"),
    "early step": (2.5 * SD * (T < 0.2), "stepping down"),
    "hump": (3 * SD * ((T > 0.4) & (T < 0.6)), "higher for a while"),
    "dip": (-3 * SD * ((T > 0.5) & (T < 0.75)), "lower for a while"),
    "wave": (1.5 * SD * np.sin(2 * np.pi * T), ""),
}


@pytest.mark.parametrize("name", MOVED)
def test_movement_that_is_no_trend_is_found_and_named(name: str) -> None:
    change, words = MOVED[name]
    rows = independent(np.random.default_rng(9), 60, N) + change
    found = [shift(row, 0.005) for row in rows]
    assert sum(bool(text) for text in found) >= 48
    assert sum(words in text for text in found) >= 40


def test_a_trend_test_alone_does_not_see_them() -> None:
    change, _ = MOVED["hump"]
    rows = independent(np.random.default_rng(9), 60, N) + change
    assert sum(bool(median.drift(row, 0.005)) for row in rows) < 6


def test_what_comes_and_goes_several_times_widens_the_interval_instead() -> None:
    row = independent(np.random.default_rng(3), 1, N)[0] + 2.5 * SD * np.sin(6 * np.pi * T)
    assert median.interval(row).inflation > 3
    assert not median.is_narrow(row, 0.01)


def test_small_movements_are_not_reported() -> None:
    row = 100 + 0.01 * np.random.default_rng(1).standard_normal(60)
    row[45:] += 0.2
    assert shift(row, 0.005) == ""
    assert shift(row, 0.001) == "stepping up 0.2 %"
    assert shift(np.full(60, 3.0), 0.0) == ""
    assert shift(row[:30], 0.0) == ""
