"""The best that any test of one series alone can do: the bound of docs/measurements/changes.md.

A test may flag a flat series of 30 points in at most so many cases, whatever its noise: white, or
with a correlation of 0.6. The likelihood ratio between a step (at a random one of the places, up or
down, on white noise) and one of the flat series is the strongest test that holds for that one
(Neyman and Pearson); a test that has to hold for all of them finds no more. Levels are unknown (a
flat prior). The size of the step in deviations is given to the test, which a real one does not
know, and so is the deviation, or it is not (a prior flat in its logarithm).

    python scripts/changes_bound.py            seeded: the same each time
    python scripts/changes_bound.py --worlds   5 % steps two points before the end, in the worlds
                                               of history_worlds.py
    python scripts/changes_bound.py --placed 0 where least squares, told the noise, see the steps of
                                               400 reports of *noise × 3 midway* from number 0 on

In a world the test knows everything but the level: the noise's law with its parameters, the size
of the step and where it would be. Among 50 series with 57 places each, up or down, all of which it
has to look at, 5 % (or the half that single series have) for any false alarm leave 1 in 114,000 for
each. Where points are independent, the law of the last two is on a grid and the likelihood ratio
takes the cells (Neyman and Pearson); where they are normal and hang together, the step's deviations
under their covariance say it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

Block = NDArray[np.float64]
POINTS, SERIES = 30, 20_000
SCALES = np.exp(np.linspace(np.log(0.3), np.log(3), 61))


def covariance(phi: float) -> Block:
    """Of unit noise whose neighbours correlate by ``phi``."""
    places = np.arange(POINTS)
    return np.asarray(phi ** np.abs(places[:, None] - places)) if phi else np.eye(POINTS)


def likelihoods(rows: Block, phi: float, means: Block) -> Block:
    """Logarithm of each row's likelihood under each of ``means`` and each of ``SCALES`` (last
    axis), whatever its level."""
    inverse = np.linalg.inv(covariance(phi))
    ones = inverse.sum(axis=1)
    free = inverse - np.outer(ones, ones) / ones.sum()  # the level is integrated out
    constant = -0.5 * np.linalg.slogdet(covariance(phi))[1] - 0.5 * np.log(ones.sum())
    square = np.einsum("ij,ij->i", rows @ free, rows)[:, None, None]
    cross = (rows @ free @ means.T)[:, :, None] / SCALES
    own = np.einsum("ij,ij->i", means @ free, means)[None, :, None]
    # A step of so many deviations grows with the deviation.
    return constant - (POINTS - 1) * np.log(SCALES) - square / SCALES**2 / 2 + cross - own / 2


def average(logarithms: Block, known: bool) -> Block:
    """Over the means, and over the scales unless the deviation (1) is ``known``."""
    if known:
        logarithms = logarithms[:, :, [len(SCALES) // 2]]
    top = logarithms.max(axis=(1, 2), keepdims=True)
    return np.asarray(np.log(np.exp(logarithms - top).mean(axis=(1, 2))) + top[:, 0, 0])


def power(size: float, places: NDArray[np.int64], phi: float, allowed: float, known: bool) -> float:
    """Share of steps (``size`` in deviations, at one of ``places``) that the likelihood ratio
    against flat noise of correlation ``phi`` finds with a share of ``allowed`` false alarms."""
    rng = np.random.default_rng(4)
    shapes = size * (np.arange(POINTS) >= places[:, None])
    means = np.concatenate([shapes, -shapes])
    flat = rng.normal(size=(SERIES, POINTS)) @ np.linalg.cholesky(covariance(phi)).T
    stepped = rng.normal(size=(SERIES, POINTS)) + means[rng.integers(0, len(means), SERIES)]
    nothing = np.zeros((1, POINTS))

    def ratio(rows: Block) -> Block:
        parts = np.array_split(rows, 40)
        return np.concatenate(
            [
                average(likelihoods(p, 0.0, means), known)
                - average(likelihoods(p, phi, nothing), known)
                for p in parts
            ]
        )

    return 100 * float(np.mean(ratio(stepped) > np.quantile(ratio(flat), 1 - allowed)))


ROWS, RUNS, A_DAY = 50, 60, 5
STEP = float(np.log(1.05)) / 0.005
"""In deviations, as those of history_worlds.py are drawn."""
GRID = np.arange(-40, 60, 0.02)
Law = Callable[[Block], Block]


def mixture(*parts: tuple[float, float, float]) -> Law:
    """Of normal laws: their share, mean and deviation."""
    return lambda x: sum(
        (share * stats.norm.pdf(x, mean, deviation) for share, mean, deviation in parts),
        np.zeros_like(x),
    )


def student(x: Block) -> Block:
    """Student's t with 4 degrees of freedom and unit variance."""
    return np.asarray(stats.t.pdf(x * np.sqrt(2), 4) * np.sqrt(2))


WHITE = mixture((1, 0, 1))
INDEPENDENT: dict[str, list[tuple[float, Law]]] = {
    "white": [(1, WHITE)],
    "heavy tails": [(1, student)],
    "2 % outliers": [(1, mixture((0.98, 0, 1), (0.02, 10, 1)))],
    "unequally noisy": [
        (1 / 40, mixture((1, 0, float(np.exp(0.5 * stats.norm.ppf((n + 0.5) / 40))))))
        for n in range(40)
    ],
    "noise × 3 midway": [(1, mixture((1, 0, 3)))],
    "noise × 3 midway, a fifth": [(0.8, WHITE), (0.2, mixture((1, 0, 3)))],
    "launch level": [(0.98, WHITE), (0.02, mixture((0.9, 0, 1), (0.1, 16, 1)))],
    "two modes": [(1, mixture((2 / 3, 0, 1), (1 / 3, 3, 1)))],
}
"""Laws of a point, and how many of the series have each."""


def of_two(law: Law, allowed: float) -> float:
    """The power of the likelihood ratio on two independent points of ``law``."""
    width = GRID[1] - GRID[0]
    flat, stepped = (law(x) * width for x in (GRID, GRID - STEP))
    # By the logarithm of the ratio of one point, in bins: two points are a convolution.
    ratio = np.clip(np.log(np.maximum(stepped, 1e-300) / np.maximum(flat, 1e-300)), -80, 80)
    bins = np.round((ratio + 80) / 0.01).astype(np.int64)
    none, some = (np.bincount(bins, each, 16001) for each in (flat, stepped))
    both = (np.maximum(signal.fftconvolve(x, x), 0.0) for x in (none, some))
    false, found = (np.cumsum(x[::-1]) for x in both)
    return float(found[np.searchsorted(false, allowed) - 1])


def hanging() -> dict[str, Block]:
    """Covariances of the worlds whose points are normal and hang together."""
    places = np.arange(RUNS)
    days = places[:, None] // A_DAY == places // A_DAY
    near = np.minimum(places[:, None], places) + 1.0
    one = np.eye(RUNS)
    return {
        "neighbours agree (0.6)": 0.6 ** np.abs(places[:, None] - places),
        "own days": one + days,
        "own walk": one + 0.04 * near,
        # What all 50 share is known from the others to a fiftieth.
        "common days 2 %": one + 16 / ROWS * days,
        "common walk": one + 0.25 / ROWS * near,
    }


def of_covariance(covariance: Block, allowed: float) -> float:
    """The power of generalised least squares for a step at the last two points."""
    inverse = np.linalg.inv(covariance)
    step = STEP * (np.arange(RUNS) >= RUNS - 2)
    ones = inverse.sum(axis=1)
    free = step @ inverse @ step - (ones @ step) ** 2 / ones.sum()
    return float(stats.norm.sf(stats.norm.isf(allowed) - np.sqrt(free)))


def worlds() -> None:
    """Print the bounds of the worlds."""
    each = [chance / (2 * ROWS * (RUNS - 3)) for chance in (0.05, 0.025)]
    print("| world | any test, 5 % for single series | 2.5 % |")
    print("|---|---|---|")
    for name, parts in INDEPENDENT.items():
        found = [sum(share * of_two(law, one) for share, law in parts) for one in each]
        print(f"| {name} | {100 * found[0]:.0f} | {100 * found[1]:.0f} |", flush=True)
    for name, covariance in hanging().items():
        found = [of_covariance(covariance, one) for one in each]
        print(f"| {name} | {100 * found[0]:.0f} | {100 * found[1]:.0f} |")


def placed(first: int, reports: int = 400) -> None:
    """Print how many steps of *noise × 3 midway* are found more than two points off by least
    squares that are told each point's noise, and the step's size as well, and how many are less
    certain than one of 50 series has to be."""
    from history_worlds import NOISE, drawn

    weights = 1 / np.where(np.arange(RUNS) < RUNS // 2, 1.0, 3.0) ** 2
    cuts, certain = np.arange(2, RUNS - 1), stats.norm.isf(0.025 / (2 * ROWS * (RUNS - 3)))
    before = np.cumsum(weights)[cuts - 1]
    after = weights.sum() - before
    power, off, weak, total = before * after / (before + after), np.zeros(2, np.int64), 0, 0
    for number in range(first, first + reports):
        series, at = drawn("noise × 3 midway", ROWS, number, "steps")
        for row, place in zip(series[at < RUNS] / NOISE, at[at < RUNS].tolist(), strict=True):
            sums = np.cumsum(weights * row)
            sizes = (sums[-1] - sums[cuts - 1]) / after - sums[cuts - 1] / before
            free, told = sizes**2 * power, (2 * sizes - STEP) * STEP * power
            off += [abs(int(cuts[gain.argmax()]) - place) > 2 for gain in (free, told)]
            weak += int(free.max() < certain**2)
            total += 1
    print(f"{off[0]} of {total} more than two points off, told the size {off[1]}; {weak} uncertain")


def main() -> None:
    """Print the table asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", action="store_true", help="the worlds of history_worlds.py")
    parser.add_argument("--placed", type=int, help="from this number of a report on")
    asked = parser.parse_args()
    if asked.worlds or asked.placed is not None:
        worlds() if asked.worlds else placed(asked.placed)
        return
    print("| step | flat noise | false alarms | deviation known | unknown |")
    print("|---|---|---|---|---|")
    inner, end = np.arange(5, 26), np.array([POINTS - 2])
    for name, size, places in (
        ("3 deviations, points 5 to 25", 3.0, inner),
        ("3 deviations, points 10 to 20", 3.0, np.arange(10, 21)),
        ("5 deviations, 2 points before the end", 5.0, end),
    ):
        for flat, phi, allowed in (("white", 0.0, 0.005), ("correlation 0.6", 0.6, 0.01)):
            both = [f"{power(size, places, phi, allowed, known):.1f}" for known in (True, False)]
            print(f"| {name} | {flat} | {100 * allowed:g} % | {' | '.join(both)} |")


if __name__ == "__main__":
    main()
