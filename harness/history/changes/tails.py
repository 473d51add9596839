"""How often a machine's points are stray, and what a new level is therefore worth.

A t test takes two slow runs in a row for a level of two points, as certain as the two are far
off. How certain it is depends on how often this machine's runs are stray: where one in twenty is,
two neighbours are in each seventh series of 30 points. So the tail of the noise is learnt over all
series of a machine, and a step counts for as many deviations as a point that far off is rare
(its normal score) instead of for as many as it is away.

The rate is learnt from points whose neighbours are both quiet: a level, found or not, has no such
point, and for independent points the rate there is the rate everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.float64]

FROM = 4.0
"""Deviations from which a point belongs to the tail."""
QUIET = 2.0
"""Deviations within which a neighbour is quiet."""
CHANCE = 0.001
"""The tail is taken for a normal one unless so many points are this unlikely under that."""
HARMLESS = 5e-4
"""Rate of strays below which the tail is taken for a normal one too: two neighbouring strays, or
one beside a point two deviations off, are then in less than 0.1 % of series of 30 points."""
PRIOR_INDEX = 4.0
"""Index of the tail (Student's degrees of freedom) that is assumed, as strongly as one point says
it, before any is seen: Hill's estimate of few points is worth little."""


@dataclass(frozen=True, slots=True)
class Tail:
    """Points further than ``FROM`` deviations to one side: their ``rate``, and the ``index`` of the
    power by which it falls beyond (peaks over a threshold, Hill). A rate of 0: a normal tail."""

    rate: float = 0.0
    index: float = PRIOR_INDEX

    def scores(self, far: Block) -> Block:
        """Normal scores of points that lie ``far`` deviations off to this side."""
        from scipy.special import ndtri

        if not self.rate:
            return far
        chance = self.rate * (FROM / np.maximum(far, FROM)) ** self.index
        return np.minimum(far, -ndtri(chance))


@dataclass(frozen=True, slots=True)
class Law:
    """Both tails of a machine's noise."""

    up: Tail = Tail()
    down: Tail = Tail()

    @property
    def normal(self) -> bool:
        """Whether there is nothing to correct."""
        return not (self.up.rate or self.down.rate)

    def longest(self, points: int, chance: float) -> int:
        """How many neighbouring strays there are in less than that ``chance`` of series of as many
        ``points``."""
        rate = min(max(self.up.rate, self.down.rate), 0.5)
        return 1 + int(np.log(chance / points) / np.log(rate)) if rate else 1

    def worth(self, far: Block) -> float:
        """What a level whose points are ``far`` deviations off counts for, as a share of their
        mean: 1 for a normal law."""
        side = self.up if far.mean() > 0 else self.down
        distance = abs(float(far.mean()))
        if not side.rate or not distance:
            return 1.0
        towards = far * np.sign(far.mean())
        return min(1.0, max(0.0, float(side.scores(towards).mean()) / distance))


def learn(residuals: Sequence[Block], deviations: Sequence[Block]) -> Law:
    """The law of the ``residuals`` (as measured, less the levels) of series with these
    ``deviations``."""
    ups, downs, points = [], [], 0
    for rest, deviation in zip(residuals, deviations, strict=True):
        far = rest / deviation[:, None]
        quiet = np.abs(far) < QUIET
        middle = far[:, 1:-1][quiet[:, :-2] & quiet[:, 2:]]
        ups.append(middle[middle > FROM])
        downs.append(-middle[middle < -FROM])
        points += len(middle)
    return Law(_tail(np.concatenate(ups), points), _tail(np.concatenate(downs), points))


def _tail(beyond: Block, points: int) -> Tail:
    from scipy import stats

    expected = points * float(stats.norm.sf(FROM))
    usual = max(HARMLESS * points, float(stats.poisson.isf(CHANCE, expected)))
    if len(beyond) <= usual:
        return Tail()
    index = (len(beyond) + 1) / (float(np.log(beyond / FROM).sum()) + 1 / PRIOR_INDEX)
    return Tail(len(beyond) / points, index)
