"""The noise of a history: how strongly neighbouring points agree, which are outliers, how large
it is.

All functions take *blocks*: a row per series of one length, a column per point, logarithms. Steps
must not look like noise, so everything is built on differences of neighbours or on residuals of
segments. A series' variance is moderated by what is usual for kernels of its duration
(``harness.measure.noise.variance``); one noisier than the others allow for is judged by its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

from harness.history.changes.structures import ENOUGH, Block, Explained, Labels, Shape, Sums
from harness.ir.reach import gathered, grouped
from harness.measure.noise import variance
from harness.measure.noise.variance import Prior

NORMAL_MEDIAN = 0.6745
"""Median of the absolute value of a standard normal variable."""
OUTLIER, FAR = 4.0, 6.0
"""An outlier lies further from its neighbours than this many standard deviations; where outliers
are rare, and a deviation is known well, only beyond the second: noise does not reach it."""
LARGEST = 0.9
"""Correlations above are taken for this one: beyond, a level and a step look alike."""
RATIO_ERROR = 3.75
"""Relative standard error of the median ratio of squared medians, times the root of the number of
points: 3 (simulated, 20 to 200 points) times 1.25, which a median's is over a mean's."""
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
    one, by more than ``far`` of its ``deviations`` (rows by points, or by one). Two points that
    agree are never outliers.
    """
    limit = far * deviations
    padded = np.concatenate([block[:, 1:2], block, block[:, -2:-1]], axis=1)
    before, after = block - padded[:, :-2], block - padded[:, 2:]
    agree = (np.sign(before) == np.sign(after)) & (np.abs(padded[:, :-2] - padded[:, 2:]) <= limit)
    outlier = agree & (np.abs(before) > limit) & (np.abs(after) > limit)
    return np.where(outlier, (padded[:, :-2] + padded[:, 2:]) / 2, block), outlier


def correlation(block: Block) -> float:
    """At least what neighbouring points of all rows have in common. The variance of differences two
    apart over that of neighbours is 1 + φ for a first-order autoregression. Medians make it blind
    to the few differences that span a step."""
    near, far = (np.median(np.abs(block[:, k:] - block[:, :-k]), axis=1) for k in (1, 2))
    ratios = far[near > 0] / near[near > 0]
    ratio = float(np.median(ratios)) ** 2 if len(ratios) else 0.0
    return float(np.clip(ratio * (1 - RATIO_ERROR / np.sqrt(block.size)) - 1, 0, LARGEST))


def levels(block: Block, penalty: float, shortest: int) -> list[list[int]]:
    """Where each row's levels of at least ``shortest`` points begin, but for the first: the least
    squares with a ``penalty`` for each of them (optimal partitioning, all rows at once)."""
    count, points = block.shape
    sums = np.pad(np.cumsum(block, axis=1), ((0, 0), (1, 0)))
    loss = np.full((count, points + 1), np.inf)
    loss[:, 0] = 0.0
    begins = np.zeros((count, points + 1), np.int64)
    for end in range(shortest, points + 1):
        starts = slice(end - shortest + 1)
        sizes = np.arange(end, shortest - 1, -1)
        each = loss[:, starts] - (sums[:, end, None] - sums[:, starts]) ** 2 / sizes
        begins[:, end] = each.argmin(axis=1)
        loss[:, end] = each.min(axis=1) + penalty
    found: list[list[int]] = [[] for _ in block]
    for cuts, row in zip(found, begins.tolist(), strict=True):
        end = points
        while end := row[end]:
            cuts.insert(0, end)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """What is known of a series' noise: the structures of its ``shape`` that it may have, by
    number, with their ``weights``; the ``usual`` variance, which counts for ``freedom`` degrees of
    freedom, unless the series' own is above ``limit``."""

    shape: Shape
    numbers: NDArray[np.int64]
    weights: Block
    usual: float = 0.0
    limit: float = 0.0
    freedom: float = 0.0

    def sums(self, row: Block) -> Sums:
        """Those of ``row`` under the structure with the largest weight."""
        return self.shape.sums(row[None], self.numbers[[self.weights.argmax()]])

    @property
    def spread(self) -> float:
        """The variance of points around their mean, in units of the noise's."""
        return float(self.weights @ self.shape.spreads[self.numbers])

    def moderated(self, own: Block, freedom: float) -> tuple[Block, Block]:
        """Variances where the series' ``own`` are these, and their degrees of freedom."""
        alone = (own > self.limit) | (not self.freedom)
        total = self.freedom + freedom
        together = (self.freedom * self.usual + freedom * own) / total
        return np.where(alone, own, together), np.where(alone, freedom, total)


Scales = tuple[list[Noise], Block]
"""What is known of the rows of a block, and the standard deviations of their points."""


def learn_scales(
    blocks: Sequence[Block], shapes: Sequence[Shape], explained: Sequence[Sequence[Explained]]
) -> list[Scales]:
    """The scales of all ``blocks`` of a machine, whose rows are ``explained``."""
    own, freedom = [], []
    for block, shape, rows in zip(blocks, shapes, explained, strict=True):
        left = np.array([block.shape[1] - 1.0 - len(row.cuts) for row in rows])
        own.append(_own(block, shape, rows) / left)
        freedom.append(left)
    # Noise may depend on a row's usual value, but where they differ little chance would decide how.
    middle = [np.median(block, axis=1) for block in blocks]
    alike = np.ptp(np.concatenate(middle)) < SPAN
    levels = [np.ones(len(each)) if alike else np.exp(each) for each in middle]
    every = [np.concatenate(each) for each in (levels, own, freedom)]
    step = -(-len(every[0]) // ENOUGH)
    prior = variance.fit_prior(*(each[::step] for each in every))
    found = []
    for level, shape, rows, mine, left in zip(levels, shapes, explained, own, freedom, strict=True):
        usual, limits, df = _usual(prior, level, left)
        each = zip(rows, usual.tolist(), limits.tolist(), strict=True)
        known = [Noise(shape, *row.credible(), one, limit, df) for row, one, limit in each]
        variances = [
            float(one.moderated(np.array(v), float(d))[0]) * one.spread
            for one, v, d in zip(known, mine, left, strict=True)
        ]
        found.append((known, np.sqrt(np.array(variances))))
    return found


def _own(block: Block, shape: Shape, rows: Sequence[Explained]) -> Block:
    """The sum of squares that each row's levels leave, under its likeliest structure."""
    found = np.empty(len(block))
    likeliest = [(int(row.weights.argmax()), tuple(row.cuts)) for row in rows]
    for (m, cuts), members in grouped(range(len(rows)), likeliest.__getitem__).items():
        _, rest, _ = shape.sums(block[members], np.array([m])).fit(cuts)
        found[members] = rest[0]
    return found


def _usual(prior: Prior, level: Block, freedom: Block) -> tuple[Block, Block, float]:
    """The usual variance of each row, the largest that is not unusual, and what both are worth."""
    if not prior.trend:
        return np.zeros(len(level)), np.zeros(len(level)), 0.0
    usual = prior.variance(level)
    counts, places = np.unique(freedom, return_inverse=True)
    return usual, usual * fdtri(counts, prior.df, 1 - UNUSUAL)[places], prior.df


LEAST, CHANGE = 8, 9.0
"""Series at one commit from which the size of its noise is known; how much a change of that has to
explain of the medians' scatter (as for steps)."""


def scales_by_commit(
    rests: Sequence[Block], deviations: Sequence[Block], places: Sequence[Labels]
) -> dict[int, float]:
    """How much noisier than usual each commit is, at which at least ``LEAST`` series were measured:
    1 unless the machine's noise changed (change-points of its logarithm), so that what became
    noisier together is judged by what it is there."""
    taken = zip(rests, deviations, places, strict=True)
    seen = gathered((at, r[:, n] / d) for r, d, each in taken for n, at in enumerate(each.tolist()))
    far = {place: np.concatenate(each) for place, each in sorted(seen.items())}
    # What all series did together is no noise.
    sizes = {place: np.abs(each - np.median(each)) for place, each in far.items()}
    known = [place for place, each in sizes.items() if len(each) >= LEAST]
    if len(known) < 2 * LEAST:
        return {}
    medians = np.array([np.median(sizes[place]) for place in known])
    logs = np.log(np.maximum(medians, 1e-9))
    # The standard error of the logarithm of a median of absolute normal values.
    errors = 1.17 / np.sqrt([len(sizes[place]) for place in known])
    unit = (logs - np.median(logs)) / float(np.median(errors))
    (cuts,) = levels(unit[None], CHANGE, 3)
    if not cuts:
        return {}
    means = [part.mean() for part in np.split(logs, cuts)]
    sizes_of = np.exp(np.repeat(means, np.diff([0, *cuts, len(logs)])) - np.median(logs))
    return dict(zip(known, sizes_of.tolist(), strict=True))
