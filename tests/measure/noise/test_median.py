"""Coverage of the interval of a median, by simulation of noise whose median is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from harness.measure.noise import median

SERIES = 6000
GAP, MODE = 4.0, 0.5
Noise = Callable[[np.random.Generator, int, int], np.ndarray]


def independent(rng: np.random.Generator, series: int, n: int) -> np.ndarray:
    return 100 + rng.standard_normal((series, n))


def one_sided(rng: np.random.Generator, series: int, n: int) -> np.ndarray:
    return 99 + np.exp(0.8 * rng.standard_normal((series, n)))


def correlated(strength: float) -> Noise:
    def make(rng: np.random.Generator, series: int, n: int) -> np.ndarray:
        from scipy.signal import lfilter

        steps = rng.standard_normal((series, n + 200)) * np.sqrt(1 - strength**2)
        return 100 + lfilter([1], [1, -strength], steps, axis=1)[:, 200:]

    return make


def two_levels(share: float) -> Noise:
    def make(rng: np.random.Generator, series: int, n: int) -> np.ndarray:
        high = rng.random((series, n)) < share
        return 100 + MODE * rng.standard_normal((series, n)) + GAP * high

    return make


def median_of_two(share: float) -> float:
    def below(x: float) -> float:
        return (1 - share) * ndtr(x / MODE) + share * ndtr((x - GAP) / MODE) - 0.5

    return 100 + float(brentq(below, -5, 9))


CASES = {
    "independent": (independent, 100.0),
    "one-sided": (one_sided, 100.0),
    "correlated 0.5": (correlated(0.5), 100.0),
    "correlated 0.8": (correlated(0.8), 100.0),
    "two levels": (two_levels(0.3), median_of_two(0.3)),
    "two levels, nearly even": (two_levels(0.45), median_of_two(0.45)),
}
LEAST = {"correlated 0.5": 60, "correlated 0.8": 220}
"""Samples before an interval counts as one to be believed."""


def covered(low: np.ndarray, high: np.ndarray, truth: float) -> float:
    return float(np.mean((low <= truth) & (truth <= high)))


@pytest.mark.parametrize("name", CASES)
def test_coverage_is_what_is_stated_within_one_percent(name: str) -> None:
    noise, truth = CASES[name]
    rng = np.random.default_rng(3)
    for n in (60, 135, 300):
        if n >= LEAST.get(name, 0):
            low, high, _ = median.intervals(noise(rng, SERIES, n))
            assert abs(covered(low, high, truth) - median.LEVEL) < 0.01, n


@pytest.mark.parametrize("width", [0.02, 0.005])
@pytest.mark.parametrize("name", CASES)
def test_coverage_holds_when_sampling_stops_by_the_width(name: str, width: float) -> None:
    """The rule of the timer, on many series at once."""
    noise, truth = CASES[name]
    most = 1200
    x = noise(np.random.default_rng(5), SERIES // 2, most)
    open_, narrow = np.arange(len(x)), np.zeros(len(x), int)
    hits = []
    looks = median.looks(most)
    for looked, n in enumerate(looks):
        part = x[open_, :n]
        low, high, inflation = median.intervals(part, median.level(looked + 1))
        middle = np.median(part, axis=1)
        enough = n >= np.maximum(median.FIRST_LOOK, 25 * inflation)
        fine = enough & (high - low <= width * middle)
        narrow[open_] = np.where(fine, narrow[open_] + 1, 0)
        lower, higher, _ = median.intervals(part, median.CLEAR)
        once = (
            enough & (higher - lower <= median.CLEAR_SHARE * width * middle) & (narrow[open_] == 1)
        )
        low, high = np.where(once, lower, low), np.where(once, higher, high)
        done = (narrow[open_] == 2) | once | (n == looks[-1])
        hits.append(((low <= truth) & (truth <= high))[done])
        open_ = open_[~done]
    found = float(np.mean(np.concatenate(hits)))
    # 0.004 is the simulation's own standard error; what one look ends is a little wider.
    assert median.LEVEL - 0.01 - 0.004 < found < 0.985


@pytest.mark.parametrize("width", [0.02, 0.04, 0.08])
@pytest.mark.parametrize("name", CASES)
def test_few_samples_that_lie_close_together_say_no_more_than_that(name: str, width: float) -> None:
    """The rule of a quick timer below ``FIRST_LOOK``: all of them within half the width once, or
    within it twice; the median is known to the width and no better. Noise here is up to 1 % of the
    median; that of two levels 2 %."""
    noise, truth = CASES[name]
    x = noise(np.random.default_rng(7), SERIES, median.FIRST_LOOK)
    open_, before = np.ones(len(x), bool), np.zeros(len(x), bool)
    hits = []
    for n in [n for n in median.looks(1200, median.QUICK_LOOK) if n < median.FIRST_LOOK]:
        part = x[:, :n]
        low, high, middle = part.min(axis=1), part.max(axis=1), np.median(part, axis=1)
        near = high - low <= width * middle
        once = high - low <= median.CLEAR_SHARE * width * middle
        low = np.minimum(low, middle * (1 - width / 2))
        high = np.maximum(high, middle * (1 + width / 2))
        done = open_ & near & (before | once)
        hits.append(((low <= truth) & (truth <= high))[done])
        open_, before = open_ & ~done, near
    found = np.concatenate(hits)
    # What ends early although it scatters so much was narrow by luck; few are.
    missed = float((~found).sum()) / SERIES
    assert missed < (0.05 if name == "correlated 0.8" else 0.01)


def test_without_the_correlation_coverage_would_be_lost() -> None:
    noise, truth = CASES["correlated 0.8"]
    x = np.sort(noise(np.random.default_rng(1), 2000, 300), axis=1)
    rank = int(150 - 1.96 * np.sqrt(300) / 2)
    assert covered(x[:, rank - 1], x[:, 300 - rank], truth) < 0.7


@pytest.mark.parametrize("n", [1, 2, 5, 10, 19, 25])
def test_few_samples_give_a_wide_interval(n: int) -> None:
    rng = np.random.default_rng(2)
    low, high, _ = median.intervals(rng.standard_normal((4000, n)))
    assert (low <= high).all()
    if n > 5:
        assert covered(low, high, 0.0) > 0.94
    assert not median.interval(rng.standard_normal(n))[2]


def test_equal_samples_have_no_width() -> None:
    assert median.interval([2.0] * 50)[:2] == (2.0, 2.0)
    assert median.is_narrow([2.0] * 50, 0.001)


def test_samples_that_hardly_differ_are_enough_whatever_their_order() -> None:
    wandering = 1 + 1e-4 * np.cumsum(np.random.default_rng(0).standard_normal(60)) / 8
    assert not median.interval(wandering)[2]
    assert median.is_narrow(wandering, 0.005)
    assert not median.is_narrow(wandering, 0.00001)
    few = [1.0] * 9 + [1.03]
    assert median.is_narrow(few, 0.04) and not median.is_narrow(few, 0.02), "each of few counts"


@pytest.mark.parametrize("name", ["independent", "one-sided", "correlated 0.5", "two levels"])
def test_drift_is_found_and_seldom_imagined(name: str) -> None:
    noise, _ = CASES[name]
    x = noise(np.random.default_rng(4), 300, 200)
    assert sum(bool(median.drift(row, 0.0)) for row in x) <= 7
    moved = [median.drift(row + np.linspace(0, 6, 200), 0.0) for row in x[:50]]
    assert sum(text.startswith("rising") for text in moved) >= 45
    assert median.drift(np.linspace(100, 98, 200), 0.0) == "falling 2.0 %"
    assert median.drift(np.linspace(100, 98, 200), 0.05) == ""


def test_a_trend_is_theil_and_sens_slope_and_kendalls_correlation() -> None:
    from scipy.stats import kendalltau, theilslopes

    rng = np.random.default_rng(6)
    for n in (8, 13, 20):
        for values in (rng.normal(size=n), rng.integers(0, 4, n) + np.arange(n) / 8 // 1):
            slope, strength = median._trend(values)
            known = kendalltau(np.arange(n), values, method="asymptotic")
            assert slope == pytest.approx(theilslopes(values)[0])
            assert 2 * ndtr(-strength) == pytest.approx(known.pvalue)
    assert median._trend(np.ones(8)) == (0.0, 0.0)
    assert median._trend(np.arange(20.0)) == (1.0, pytest.approx(190 / 950**0.5))


def test_looks_grow_and_end_at_the_most() -> None:
    found = median.looks(1500)
    assert found[:3] == [40, 60, 90]
    assert found[-1] == 1500
    assert found == sorted(set(found))
    assert median.looks(10) == [10]
    assert median.looks(1500, median.QUICK_LOOK)[:5] == [10, 15, 22, 33, 49]
