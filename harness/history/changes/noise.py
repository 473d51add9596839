"""The noise of a history: how strongly neighbouring points agree, which are outliers, how large
it is.

All functions take *blocks*: matrices with a row per series of one length and a column per
point, logarithms of what was measured. Points that a step lies between must not look like
noise, so everything here is built on differences of neighbours or on residuals of segments.

Thirty points know their standard deviation to 13 %, which costs the judgement of a short level
most of its certainty. Kernels of one machine are not equally noisy, but not arbitrarily so either:
how much they differ is learnt (``harness.measure.noise.variance``, empirical Bayes), and each
series' variance is moderated by what is usual for kernels of its duration, as far as that is worth.
A series that is noisier than the others allow for is judged by its own points alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from harness.measure.noise.variance import Prior

Block = NDArray[np.float64]

NORMAL_MEDIAN = 0.6745
"""Median of the absolute value of a standard normal variable."""
OUTLIER, FAR = 4.0, 6.0
"""An outlier lies further from its neighbours than this many standard deviations; where outliers
are rare, and a deviation is known well, only beyond the second: noise does not reach it."""
LARGEST = 0.9
"""Correlations above are taken for this one: beyond, a level and a step look alike."""
SINGLE_LOG_RATIO = 3.0
"""Standard deviation, times the root of the number of points, of the logarithm of one series'
ratio of squared medians (simulated: 2.7 to 3.0 for 20 to 200 points)."""
PRIOR_SPREAD, PRIOR_SERIES = 0.2, 5.0
"""How far series of one machine are taken to differ in correlation before they are looked at
(standard deviation), and how many series' worth of evidence that is."""
CHANCE = 1.3
"""What the rows' estimates differ by chance, over its formula for long series (simulated: 1.0 to
1.3 for 20 to 200 points)."""
INNER = 2.073
"""Width of the inner 70 % of a normal distribution in standard deviations."""
QUANTILE = 1.96
"""97.5 % quantile of the normal distribution: a series is judged with the upper end of the 95 %
interval of its correlation."""
ENOUGH = 600
"""Series that suffice to learn how much their variances differ; more cost time."""
SPAN = np.log(4)
"""Logarithm of the ratio of durations from which noise may depend on them."""
UNUSUAL = 0.01
"""A series is noisier than the others allow for where this few of them would be."""


def scale(block: Block, floor: float) -> Block:
    """Standard deviation of each row's noise, from differences of neighbours: steps don't count."""
    jumps = np.median(np.abs(np.diff(block, axis=1)), axis=1)
    return np.maximum(jumps / (NORMAL_MEDIAN * np.sqrt(2)), floor)


def without_outliers(
    block: Block, deviations: Block, far: float = OUTLIER
) -> tuple[Block, NDArray[np.bool_]]:
    """``block`` with every outlier replaced by its neighbours' mean, and where they were.

    An outlier differs from both neighbours in the same direction, or as an end point from its only
    one, by more than ``far`` of the row's ``deviations``. Two points that agree are never outliers.
    """
    limit = far * deviations[:, None]
    padded = np.concatenate([block[:, 1:2], block, block[:, -2:-1]], axis=1)
    before, after = block - padded[:, :-2], block - padded[:, 2:]
    agree = (np.sign(before) == np.sign(after)) & (np.abs(padded[:, :-2] - padded[:, 2:]) <= limit)
    outlier = agree & (np.abs(before) > limit) & (np.abs(after) > limit)
    neighbours = (padded[:, :-2] + padded[:, 2:]) / 2
    return np.where(outlier, neighbours, block), outlier


def whiten(columns: Block, phi: float | Block) -> Block:
    """``columns``, each of which is a series, with a first-order autoregression of correlation
    ``phi`` (one for all, or one for each) taken out."""
    white = columns.copy()
    white[1:] -= phi * columns[:-1]
    white[0] *= np.sqrt(1 - phi * phi)
    return white


def correlations(blocks: Sequence[Block], residuals: Sequence[Block]) -> list[Block]:
    """For each row of each block the upper end (97.5 %) of its lag-one correlation.

    The blocks are histories of one machine and method, so their rows share what makes noise
    correlated: a common value and its spread are estimated over all of them, and each row's own
    estimate counts for as much as it is worth beside them (empirical Bayes). One short series alone
    says little, and is judged carefully. ``residuals`` are what likely steps leave.
    """
    own = [_own(rest) for rest in residuals]
    centre, error = _pooled(own, *common(blocks))
    spread = _spread(own)
    bounds = []
    for values, variance in own:
        prior = spread + error * error
        weight = prior / (prior + variance)
        middle = centre + weight * (values - centre)
        upper = middle + QUANTILE * np.sqrt(weight * variance)
        bounds.append(np.clip(upper, 0.0, LARGEST))
    return bounds


def common(blocks: Sequence[Block]) -> tuple[float, float]:
    """The correlation that all rows share and its standard error.

    The variance of differences two apart over that of neighbours is 1 + φ for a first-order
    autoregression. Medians make it blind to the few differences that span a step.
    """
    ratios, deviations = [], []
    for block in blocks:
        near = np.median(np.abs(block[:, 1:] - block[:, :-1]), axis=1)
        far = np.median(np.abs(block[:, 2:] - block[:, :-2]), axis=1)
        usable = (near > 0) & (far > 0)
        ratios.append(2 * np.log(far[usable] / near[usable]))
        deviations.append(np.full(int(usable.sum()), SINGLE_LOG_RATIO / np.sqrt(block.shape[1])))
    every = np.concatenate(ratios) if ratios else np.zeros(0)
    if not len(every):
        return 0.0, 1.0
    ratio = float(np.median(every))
    # 1.25: the standard error of a median over that of a mean.
    error = 1.25 * float(np.sqrt(np.mean(np.concatenate(deviations) ** 2) / len(every)))
    return float(np.clip(np.exp(ratio) - 1, 0, LARGEST)), float(np.exp(ratio) * error)


def _own(residuals: Block) -> tuple[Block, Block]:
    """Each row's lag-one correlation and its variance; the bias of a short series taken out
    (Marriott and Pope: −(1 + 3 φ) / n)."""
    n = residuals.shape[1]
    power = np.maximum((residuals * residuals).sum(axis=1), 1e-300)
    raw = (residuals[:, 1:] * residuals[:, :-1]).sum(axis=1) / power
    values = np.clip((raw + 1 / n) / (1 - 3 / n), -LARGEST, LARGEST)
    return values, (1 - values * values + 2 / n) / (n - 3)


def _pooled(own: Sequence[tuple[Block, Block]], start: float, error: float) -> tuple[float, float]:
    """The common correlation and its error with the rows' own estimates taken into account.

    Steps that were not found make their rows look correlated. A few of them don't matter to the
    median; many do, but not to the differences, which then say how far the rows may be believed.
    """
    values = np.concatenate([v for v, _ in own])
    variances = np.concatenate([s for _, s in own])
    own_error = 1.25**2 * float(variances.mean()) / len(values)
    weight = error**2 / (error**2 + own_error)
    pooled = start + weight * (float(np.median(values)) - start)
    pooled = min(pooled, start + error)
    return pooled, float(np.sqrt(weight * own_error))


def _spread(own: Sequence[tuple[Block, Block]]) -> float:
    """Variance of the rows' true correlations around the common one."""
    values = np.concatenate([v for v, _ in own])
    chance = float(np.mean(np.concatenate([s for _, s in own])))
    low, high = np.quantile(values, [0.15, 0.85])
    seen = float((high - low) / INNER) ** 2
    observed = max(seen - CHANCE * chance, 0.0) * len(values)
    return (observed + PRIOR_SERIES * PRIOR_SPREAD**2) / (len(values) + PRIOR_SERIES)


@dataclass(frozen=True, slots=True)
class Noise:
    """What is known of a series' noise: its correlation ``phi``; the ``usual`` variance, which
    counts for ``freedom`` degrees of freedom, unless the series' own is above ``limit``."""

    phi: float
    usual: float = 0.0
    limit: float = 0.0
    freedom: float = 0.0

    def moderated(self, own: float, freedom: float) -> tuple[float, float]:
        """The variance of a series with an ``own`` one, and its degrees of freedom."""
        if not self.freedom or own > self.limit:
            return own, freedom
        total = self.freedom + freedom
        return (self.freedom * self.usual + freedom * own) / total, total


@dataclass(frozen=True, slots=True)
class Scales:
    """What is known of the rows of a block, and their standard deviations with that."""

    known: list[Noise]
    deviations: Block


def learn_scales(
    blocks: Sequence[Block], rests: Sequence[Block], cuts: Sequence[Block], phi: Sequence[Block]
) -> list[Scales]:
    """The scales of all ``blocks`` of a machine: ``rests`` are what their levels, between as many
    ``cuts``, leave of the rows, ``phi`` their correlations."""
    from harness.measure.noise import variance

    own, freedom = [], []
    for rest, count, c in zip(rests, cuts, phi, strict=True):
        left = rest.shape[1] - 1.0 - count
        own.append((whiten(rest.T, c) ** 2).sum(axis=0) / left / (1 - c * c))
        freedom.append(left)
    levels = _usual_values(blocks)
    every = [np.concatenate(each) for each in (levels, own, freedom)]
    step = -(-len(every[0]) // ENOUGH)
    prior = variance.fit_prior(*(each[::step] for each in every))
    found = []
    for level, c, mine, left in zip(levels, phi, own, freedom, strict=True):
        known = [Noise(float(one)) for one in c]
        if prior.trend:
            known = _moderate(prior, level, c, left)
        pairs = [
            one.moderated(float(v), float(d))[0]
            for one, v, d in zip(known, mine, left, strict=True)
        ]
        found.append(Scales(known, np.sqrt(np.array(pairs))))
    return found


def _usual_values(blocks: Sequence[Block]) -> list[Block]:
    """Each row's usual value, which its noise may depend on; all the same where they differ so
    little that chance would decide on what."""
    middle = [np.median(block, axis=1) for block in blocks]
    if np.ptp(np.concatenate(middle)) < SPAN:
        return [np.ones(len(block)) for block in blocks]
    return [np.exp(each) for each in middle]


def _moderate(prior: Prior, level: Block, phi: Block, freedom: Block) -> list[Noise]:
    from scipy import stats

    usual = prior.variance(level)
    counts, places = np.unique(freedom, return_inverse=True)
    limits = usual * stats.f.isf(UNUSUAL, counts, prior.df)[places]
    columns = np.column_stack([phi, usual, limits]).tolist()
    return [Noise(c, one, limit, prior.df) for c, one, limit in columns]
