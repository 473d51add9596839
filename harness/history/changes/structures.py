"""How the noise of a series may hang together, and what a machine's series say of that.

Points of a flat series are not independent: neighbours agree, the runs of one day share that day,
a level wanders, one half is noisier than the other. Each of these looks like a step to a test that
does not know of it. So every series is judged under several **structures** (covariances of its
points), weighted by how well they explain it. How common each structure is on a machine is learnt
over all of its series (empirical Bayes, by expectation maximisation): one short series alone says
little, and is judged carefully; among hundreds that are plainly white, or that all move by the day,
it is clear what to expect.

A structure and a step may explain the same points. So a series' likelihood under a structure is the
largest over its proposed steps; being a restricted one, it charges each about the logarithm of the
points that show it. More would take steps for a wandering level where most series have one, less
would take a wandering level for steps where there are few series (simulated).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Structure:
    """A covariance: unit noise whose neighbours correlate by ``phi`` (first order), a ``day``'s
    variance shared by its runs, the variance of a ``walk`` from run to run; behind ``at`` (a share
    of the series) the noise is ``ratio`` times as large. ``weight``: how likely it is taken to be
    before any series is seen."""

    weight: float
    phi: float = 0.0
    day: float = 0.0
    walk: float = 0.0
    at: float = 0.0
    ratio: float = 1.0


STRUCTURES = (
    Structure(1.0),
    *(Structure(0.05, phi=phi) for phi in (0.2, 0.4, 0.6, 0.8, 0.9)),
    *(Structure(0.02, walk=walk) for walk in (0.01, 0.05, 0.2, 0.6)),
    *(Structure(0.025, day=day) for day in (0.1, 0.3, 1.0, 3.0, 10.0, 40.0, 400.0)),
    *(Structure(0.01, phi=0.4, day=day) for day in (0.3, 1.0, 3.0)),
    *(Structure(0.005, at=at, ratio=r) for at in (0.25, 0.5, 0.75) for r in (1 / 3, 3.0)),
)
PRIOR_SERIES = 5.0
"""How many series' worth of evidence the structures' own weights are."""
_ROUNDS = 40
ENOUGH = 600
"""Series from which it is learnt how common structures are; more cost time."""
CREDIBLE = 0.975
"""A series is judged under its likeliest structures that have this weight together."""


@dataclass(frozen=True, eq=False)
class Shape:
    """All structures for series whose points lie on certain ``days`` (numbered) and whose noise is
    ``scale`` times the usual at each. Variances are in units of half the mean squared difference of
    neighbours, so that a series' variance is about the same under each of them."""

    days: Labels
    scale: Block

    @cached_property
    def structures(self) -> tuple[Structure, ...]:
        """Those that differ here: days do where some points share one, and not all."""
        shared = 1 < len(np.unique(self.days)) < len(self.days)
        return tuple(one for one in STRUCTURES if shared or not one.day)

    @cached_property
    def covariances(self) -> Block:
        """A matrix for each structure."""
        return np.array([self._covariance(one) for one in self.structures])

    def _covariance(self, one: Structure) -> Block:
        n = len(self.days)
        place = np.arange(n)
        lag = np.abs(place[:, None] - place)
        found = one.phi**lag + one.day * (self.days[:, None] == self.days)
        found = found + one.walk * np.minimum(place[:, None], place)
        late = np.where(place >= one.at * n, one.ratio, 1.0)
        found = found * np.outer(late, late)
        own = np.diag(found)
        apart = (own[1:] + own[:-1] - 2 * np.diag(found, 1)).mean() / 2
        return np.asarray(found / apart * np.outer(self.scale, self.scale))

    @cached_property
    def whiteners(self) -> Block:
        """For each structure the matrix that makes its noise independent and of unit variance."""
        return np.linalg.inv(np.linalg.cholesky(self.covariances))

    @cached_property
    def logdets(self) -> Block:
        """Logarithm of each covariance's determinant."""
        diagonals = np.diagonal(self.whiteners, axis1=1, axis2=2)
        return np.asarray(-2 * np.log(diagonals).sum(axis=1))

    @cached_property
    def steps(self) -> Block:
        """For each structure the whitened columns of a step at each point; the first is a level."""
        return np.cumsum(self.whiteners[:, :, ::-1], axis=2)[:, :, ::-1]

    @cached_property
    def spreads(self) -> Block:
        """The expected variance of points around the mean of a series, for each structure."""
        every = np.diagonal(self.covariances, axis1=1, axis2=2).mean(axis=1)
        return np.asarray(every - self.covariances.mean(axis=(1, 2)))

    def losses(self, rows: Block, cuts: Sequence[int]) -> Block:
        """Twice the negative restricted log-likelihood of each of ``rows`` with a level between
        each of ``cuts``, a column for each structure; the deviation is the best one."""
        n, taken = len(self.days), len(cuts) + 1
        found = np.empty((len(rows), len(self.structures)))
        for m, white in enumerate(self.whiteners):
            design = self.steps[m][:, [0, *cuts]]
            q, r = np.linalg.qr(design)
            target = white @ rows.T
            rest = (target * target).sum(axis=0) - ((q.T @ target) ** 2).sum(axis=0)
            fixed = self.logdets[m] + 2 * np.log(np.abs(np.diag(r))).sum()
            found[:, m] = (n - taken) * np.log(np.maximum(rest / (n - taken), 1e-30)) + fixed
        return found

    def explain(self, row: Block, proposed: Sequence[int]) -> tuple[Block, list[tuple[int, ...]]]:
        """The smallest loss of a ``row`` under each structure, and the steps at which it is
        reached: all ``proposed`` ones, and again without the least of them."""
        cuts = list(proposed)
        losses, tried = [], []
        while True:
            losses.append(self.losses(row[None], cuts)[0])
            tried.append(tuple(cuts))
            if not cuts:
                break
            levels = [part.mean() for part in np.split(row, cuts)]
            sizes = np.diff([0, *cuts, len(row)])
            worth = np.diff(levels) ** 2 / (1 / sizes[1:] + 1 / sizes[:-1])
            del cuts[int(worth.argmin())]
        best = np.argmin(losses, axis=0)
        return np.min(losses, axis=0), [tried[i] for i in best]


@dataclass(frozen=True, slots=True)
class Explained:
    """What a series is taken for: the ``weights`` of its shape's structures, and the ``cuts`` that
    are likely under the likeliest of them."""

    weights: Block
    cuts: list[int]

    def credible(self) -> tuple[Labels, Block]:
        """The numbers of the structures it is judged under, and their weights."""
        order = np.argsort(-self.weights, kind="stable")
        before = np.cumsum(self.weights[order]) - self.weights[order]
        numbers = order[before < CREDIBLE]
        return numbers, self.weights[numbers] / self.weights[numbers].sum()


def explain(
    shapes: Sequence[Shape], blocks: Sequence[Block], proposed: Sequence[Sequence[list[int]]]
) -> list[list[Explained]]:
    """Every row of ``blocks`` explained by structures, all being of one machine."""
    losses, cuts = [], []
    for shape, block, each in zip(shapes, blocks, proposed, strict=True):
        found = np.empty((len(block), len(shape.structures)))
        likely: list[list[tuple[int, ...]]] = [[()] * len(shape.structures) for _ in block]
        flat = [j for j, one in enumerate(each) if not one]
        found[flat] = shape.losses(block[flat], ())
        for j, one in enumerate(each):
            if one:
                found[j], likely[j] = shape.explain(block[j], one)
        losses.append(found)
        cuts.append(likely)
    steady = [
        not likely[int((loss - 2 * np.log(prior)).argmin())]
        for shape, found, rows in zip(shapes, losses, cuts, strict=True)
        for prior in [np.array([one.weight for one in shape.structures])]
        for loss, likely in zip(found, rows, strict=True)
    ]
    weights = _weights(shapes, losses, np.array(steady))
    return [
        [Explained(w, list(likely[int(w.argmax())])) for w, likely in zip(ours, rows, strict=True)]
        for ours, rows in zip(weights, cuts, strict=True)
    ]


def _weights(
    shapes: Sequence[Shape], losses: Sequence[Block], steady: NDArray[np.bool_]
) -> list[Block]:
    """The structures' weights for each row: its likelihood times how common they are, which the
    ``steady`` rows say: one with a step looks a little as if its level wandered."""
    place = {one: i for i, one in enumerate(STRUCTURES)}
    total = sum(map(len, losses))
    whole = np.full((total, len(STRUCTURES)), np.inf)
    start = 0
    for shape, loss in zip(shapes, losses, strict=True):
        columns = [place[one] for one in shape.structures]
        whole[start : start + len(loss), columns] = loss
        start += len(loss)
    likelihood = np.exp(-(whole - whole.min(axis=1, keepdims=True)) / 2)
    prior = np.array([one.weight for one in STRUCTURES])
    prior = prior / prior.sum()
    common, some = prior, likelihood[steady][:: -(-total // ENOUGH)]
    for _ in range(_ROUNDS):
        each = some * common
        each = each / each.sum(axis=1, keepdims=True)
        common = (PRIOR_SERIES * prior + each.sum(axis=0)) / (PRIOR_SERIES + len(some))
    each = likelihood * common
    each = each / each.sum(axis=1, keepdims=True)
    found, start = [], 0
    for shape, loss in zip(shapes, losses, strict=True):
        columns = [place[one] for one in shape.structures]
        found.append(each[start : start + len(loss), columns])
        start += len(loss)
    return found
