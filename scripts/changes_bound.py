"""The best that any test of one series alone can do: the bound of docs/measurements/changes.md.

A test may flag a flat series of 30 points in at most so many cases, whatever its noise: white, or
with a correlation of 0.6. The likelihood ratio between a step (at a random one of the places, up or
down, on white noise) and one of the flat series is the strongest test that holds for that one
(Neyman and Pearson); a test that has to hold for all of them finds no more. Levels are unknown (a
flat prior). The size of the step in deviations is given to the test, which a real one does not
know, and so is the deviation, or it is not (a prior flat in its logarithm).

    python scripts/changes_bound.py            seeded: the same each time
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def main() -> None:
    """Print the table."""
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
