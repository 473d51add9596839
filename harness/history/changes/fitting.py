"""Levels and steps fitted to one series: how certain each step is, and where it may lie.

The noise is a first-order autoregression of a given correlation; a step's t statistic is that of
generalised least squares. The variance is the series' own together with what the machine's other
series say of it (moderated, as in ``bench.variance``); the points of a short level count for as
rare as they are by the machine's law of strays (``track.tails``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from harness.history.changes.noise import Block, whiten
from harness.history.changes.scales import Noise
from harness.history.changes.tails import Law

POSITION = float(np.log(2 / 0.05))
"""By how much the log-likelihood of the true position may lie under the best one's with 95 %
confidence: the likelihood ratio is a martingale to either side (Ville's inequality)."""

UNAIDED = 5 / 3
"""By how much the chance of a step is understated where no other series tell of the noise: the
correlation is then beyond its bound in 2.5 % of cases (simulated, correlations of 0 to 0.6)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """``alone``: chance of a false alarm in one flat series; ``family``: chance of any among all
    series; ``shortest_run``: points on either side of a step; ``smallest``: relative changes below
    are not reported; ``floor``: relative noise that is assumed at least (a timer's steps).
    """

    alone: float = 0.005
    family: float = 0.05
    shortest_run: int = 2
    smallest: float = 0.005
    floor: float = 1e-4


@dataclass(slots=True)
class Fit:
    """Accepted ``cuts`` of a row with the t and p of each, and the estimates behind them."""

    cuts: list[int]
    t: NDArray[np.float64]
    p: NDArray[np.float64]
    sizes: NDArray[np.float64]
    errors: NDArray[np.float64]
    freedom: float
    deviation: float
    caution: float = 1.0


def judge(row: Block, cuts: list[int], known: Noise, settings: Settings) -> Fit:
    """Drop the least certain of ``cuts`` until each of the rest is certain enough."""
    cuts = list(cuts)
    while True:
        found = fit(row, cuts, known, settings)
        if not cuts or found.p.max() <= settings.alone:
            return found
        del cuts[int(found.p.argmax())]


def fit(row: Block, cuts: list[int], known: Noise, settings: Settings) -> Fit:
    """Generalised least squares of a level and a step at each of ``cuts``."""
    n, phi = len(row), known.phi
    design = (np.arange(n)[:, None] >= np.array([0, *cuts])).astype(np.float64)
    white, target = whiten(design, phi), whiten(row[:, None], phi)[:, 0]
    inverse = np.linalg.inv(white.T @ white)
    levels = inverse @ (white.T @ target)
    rest = target - white @ levels
    # Of the innovations, whose variance is smaller than the points' by this factor.
    share, left = 1 - phi * phi, n - len(cuts) - 1
    variance, freedom = known.moderated(float(rest @ rest) / left / share, left)
    variance = max(variance, settings.floor**2) * share
    errors = np.sqrt(variance * np.diag(inverse)[1:])
    t = np.abs(levels[1:]) / errors
    found = Fit(cuts, t, t, levels[1:], errors, freedom, float(np.sqrt(variance / share)))
    found.caution = 1.0 if known.freedom else UNAIDED
    return replace(found, p=chance(t, n, found, settings))


def chance(t: Block, points: int, found: Fit, settings: Settings) -> Block:
    """At most the chance that a flat series shows a step of such a t statistic at any position,
    being fitted as in ``found``."""
    from scipy.special import stdtr

    # Several steps at once fit noise in more ways than one, and take more of its variance away.
    positions = (points - 2 * settings.shortest_run + 1) * max(1, len(found.cuts)) ** 2
    return np.asarray(np.minimum(1.0, found.caution * positions * 2 * stdtr(found.freedom, -t)))


def weighed(row: Block, found: Fit, law: Law, settings: Settings) -> Fit:
    """``found`` with the p of normal scores: a level's points count for as rare as they are by the
    machine's ``law``. The other level's own uncertainty is one of core noise, and the less matters
    to the score, the flatter the score is out there."""
    edges = [0, *found.cuts, len(row)]
    t = np.abs(found.sizes) / found.errors
    for j, cut in enumerate(found.cuts):
        left, right = row[edges[j] : cut], row[cut : edges[j + 2]]
        # Strays may be on either side: a level that begins after two of them is none.
        t[j] *= min(_worth(*pair, found, law) for pair in ((left, right), (right, left)))
    return replace(found, t=t, p=chance(t, len(row), found, settings))


def _worth(points: Block, others: Block, found: Fit, law: Law) -> float:
    """What is left of a t statistic if ``points`` may be strays from the level of ``others``."""
    worth = law.worth((points - others.mean()) / found.deviation)
    share = len(points) / (len(points) + len(others))
    return worth / float(np.sqrt(1 - share * (1 - worth * worth)))


def without_runs(
    row: Block, found: Fit, law: Law, known: Noise, settings: Settings
) -> tuple[Block, Fit, int]:
    """Levels that neighbouring strays explain taken out of ``row``, the fit of what is left, and
    how many points that were. The newest level stays: it may be the first of many points."""
    found, removed = weighed(row, found, law, settings), 0
    longest = law.longest(len(row), settings.alone)
    while True:
        edges = [0, *found.cuts, len(row)]
        j = _run(edges, found.p > settings.alone, longest)
        if j is None:
            return row, found, removed
        around = [row[edges[j + 1] : edges[j + 2]].mean()]
        if j:
            around.append(row[edges[j - 1] : edges[j]].mean())
        row = row.copy()
        row[edges[j] : edges[j + 1]] = np.mean(around)
        removed += edges[j + 1] - edges[j]
        left = [cut for cut in found.cuts if cut not in (edges[j], edges[j + 1])]
        found = weighed(row, judge(row, left, known, settings), law, settings)


def _run(edges: list[int], weak: NDArray[np.bool_], longest: int) -> int | None:
    """The shortest level, but for the newest, of not more than ``longest`` points with nothing
    certain at either end and a longer neighbour."""
    sizes = np.diff(edges)
    ends = np.r_[True, weak]
    runs = [
        j
        for j in range(len(weak))
        if sizes[j] <= longest
        and ends[j]
        and ends[j + 1]
        and sizes[j] < max(sizes[max(j - 1, 0)], sizes[j + 1])
    ]
    return min(runs, key=lambda j: (sizes[j], j)) if runs else None


def where(row: Block, edges: tuple[int, int, int], phi: float, found: Fit) -> tuple[int, Block]:
    """The positions that a step near the middle one of ``edges`` may have (95 %), between the
    others: the first, and for it and those that follow what a step there adds to the fit."""
    start, cut, stop = edges
    n = stop - start
    both = whiten(np.column_stack([row[start:stop], np.ones(n)]), phi)
    # A whitened step at k is 1 there and 1 - φ behind: sums over what follows give all positions.
    sums = np.cumsum(both[::-1], axis=0)[::-1]
    k = np.arange(1, n)
    target, level = (both[k] + (1 - phi) * (sums[k] - both[k])).T
    power = 1 + (1 - phi) ** 2 * (n - 1 - k)
    ones = float(both[:, 1] @ both[:, 1])
    moment = float(both[:, 1] @ both[:, 0])
    gains = (target - level * moment / ones) ** 2 / (power - level**2 / ones)
    innovations = found.deviation**2 * (1 - phi * phi)
    near = k[gains >= gains[cut - start - 1] - 2 * POSITION * innovations] + start
    earliest, latest = min(cut, int(near.min())), max(cut, int(near.max()))
    return earliest, gains[earliest - start - 1 : latest - start]
