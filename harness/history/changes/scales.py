"""How large a series' noise is: by its own points, and by the other series of its machine.

Thirty points know their standard deviation to 13 %, which costs the judgement of a short level
most of its certainty. Kernels of one machine are not equally noisy, but not arbitrarily so either:
how much they differ is learnt (``bench.variance``, empirical Bayes), and each series' variance is
moderated by what is usual for kernels of its duration, as far as that is worth. A series that is
noisier than the others allow for is judged by its own points alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.history.changes.noise import Block, whiten

if TYPE_CHECKING:
    from harness.measure.noise.variance import Prior

ENOUGH = 600
"""Series that suffice to learn how much their variances differ; more cost time."""
SPAN = np.log(4)
"""Logarithm of the ratio of durations from which noise may depend on them."""
UNUSUAL = 0.01
"""A series is noisier than the others allow for where this few of them would be."""


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


def learn(
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
    levels = _levels(blocks)
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


def _levels(blocks: Sequence[Block]) -> list[Block]:
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
