"""What controls say of two runs: how far single kernels move, and what moves them all."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from scipy import interpolate, special

from harness.measure.noise.controls import _basis, fit_offset, fit_sessions, overall
from harness.measure.noise.estimate import Pair, Times, estimate
from harness.measure.noise.variance import middle, student


def test_thousands_of_controls_know_how_far_kernels_move_to_a_few_per_cent() -> None:
    chance = np.random.default_rng(5)
    ms = np.exp(chance.uniform(np.log(0.002), 0.0, 2000))
    process = 0.001 * np.sqrt(chance.chisquare(10, 2000) / 10)
    moved = 0.005 * chance.normal(size=2000) + 0.001 * chance.normal(size=2000)
    found = fit_sessions(moved, process**2, np.full(2000, 10.0), np.ones(2000), ms)
    assert abs(overall(found).variance ** 0.5 / 0.005 - 1) < 0.1
    assert overall(found).tail > 20


def test_controls_of_which_some_move_ten_times_as_far_have_a_heavy_tail() -> None:
    chance = np.random.default_rng(6)
    size = np.where(chance.random(300) < 0.3, 0.01, 0.001)
    moved = size * chance.normal(size=300)
    found = fit_sessions(moved, np.full(300, 1e-7), np.full(300, 10.0), np.ones(300))
    assert overall(found).tail < 5


def test_a_mixture_is_tested_by_the_t_that_is_exceeded_as_rarely() -> None:
    errors, df = np.array([[1.0], [1.3]]), np.array([[2.0], [60.0]])
    error, freedom = student(np.array([0.2, 0.8]), errors, df, 0.001)
    for chance in (0.05, 0.001):
        at = special.stdtrit(freedom, 1 - chance / 2) * error
        mixed = 0.2 * special.stdtr(2.0, -at) + 0.8 * special.stdtr(60.0, -at / 1.3)
        assert abs(2 * mixed[0] / chance - 1) < 0.02


def test_an_offset_bends_only_as_far_as_its_controls_say() -> None:
    chance = np.random.default_rng(8)
    ms = np.geomspace(0.002, 0.5, 60)
    short, ends = 0.02 * np.exp(-ms / 0.015), np.array([0.002, 0.5])
    bends = []
    for bent in (np.zeros(60), short):
        fits = [fit_offset(ms, bent + 0.003 * chance.normal(size=60)) for _ in range(40)]
        low, high = np.array([one.at(ends) for one in fits]).T
        bends.append(low - high)
    assert np.median(np.abs(bends[0])) < 0.0007
    assert abs(np.mean(bends[1]) - (short[0] - short[-1])) < 0.004


def test_what_lies_beyond_the_controls_is_known_less_well() -> None:
    chance = np.random.default_rng(9)
    ms = np.r_[np.geomspace(0.002, 0.02, 40), 0.01, 0.5]
    a, b = (ms[:, None] * np.exp(chance.normal(0, 0.001, (42, 3))) for _ in range(2))
    b = b * (ms[:, None] / 0.02) ** 0.01
    pairs = [
        Pair(Times(tuple(x)), Times(tuple(y)), identical=n < 40)
        for n, (x, y) in enumerate(zip(a, b, strict=True))
    ]
    *_, among, beyond = estimate(pairs, paired=False)[0]
    assert abs(among.log_ratio) < 3 * among.error
    assert abs(beyond.log_ratio) > 20 * among.error, "nothing says that it should go on or stop"
    assert abs(beyond.log_ratio) < 3 * beyond.error


def test_a_quick_median_is_numpys_and_the_curves_are_natural_splines() -> None:
    chance = np.random.default_rng()
    for count in (1, 2, 3, 8, 59, 60):
        values = chance.normal(size=count) * 10.0 ** chance.integers(-9, 9)
        assert middle(values) == np.median(values)
    for count in (2, 3, 4, 5):
        knots = np.sort(np.log(chance.uniform(0.002, 0.5, count)))
        x = chance.uniform(knots[0], knots[-1], 100)
        spline = interpolate.CubicSpline(knots, np.eye(count), bc_type="natural")
        np.testing.assert_allclose(_basis(x, knots), spline(x), rtol=0, atol=1e-9)
        beyond = np.array([knots[0] - 1, knots[-1] + 1])
        np.testing.assert_allclose(_basis(beyond, knots), np.eye(count)[[0, -1]], atol=1e-12)


def test_comparing_needs_no_library_of_interpolation() -> None:
    text = "import sys, numpy as n; from harness.measure.noise.controls import fit_offset as f\n"
    text += "f(n.geomspace(0.002, 0.5, 60), n.zeros(60)); print('scipy.interpolate' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
