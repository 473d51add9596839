"""How the noise of a series may hang together, and what a machine's series say of that.

Neighbours agree, the runs of one day share that day, a level wanders, one half is noisier: each
looks like a step to a test that does not know of it. So a series is judged under several
**structures** (covariances of its points), weighted by how well they explain it; how common each is
on a machine is learnt over all of its series (empirical Bayes, by expectation maximisation). A
structure and a step may explain the same points: the likelihood under a structure is the largest
over the proposed steps, restricted, which charges each about the logarithm of the points that show
it (simulated: more takes steps for a wandering level, less a wandering level for steps).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.float64]
Labels = NDArray[np.int64]
Cuts = tuple[int, ...]
"""Points at which a level begins."""
Ramps = tuple[Labels, Labels]
"""The first and the last point of each change, which is made in equal parts at those between."""


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
_ROUNDS, _AT_ONCE = 40, 200
RAMP = 6
"""Steps the same way are one change if there are no more points than this between them."""
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
    def places(self) -> list[int]:
        """Where among ``STRUCTURES`` those stand that differ here: days do where some points share
        one, and not all."""
        shared = 1 < len(np.unique(self.days)) < len(self.days)
        return [n for n, one in enumerate(STRUCTURES) if shared or not one.day]

    @cached_property
    def covariances(self) -> Block:
        """A matrix for each structure."""
        return np.array([self._covariance(STRUCTURES[n]) for n in self.places])

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
    def inverses(self) -> Block:
        """The covariances' inverses."""
        return np.asarray(np.linalg.inv(self.covariances), np.float64)

    @cached_property
    def logdets(self) -> Block:
        """Logarithm of each covariance's determinant."""
        return np.asarray(np.linalg.slogdet(self.covariances)[1])

    @cached_property
    def moments(self) -> Block:
        """What makes of a series its moments with a step at each point (the first is a level)."""
        return np.cumsum(self.inverses[:, ::-1], axis=1)[:, ::-1]

    @cached_property
    def grams(self) -> Block:
        """The moments of the steps themselves."""
        return np.cumsum(self.moments[:, :, ::-1], axis=2)[:, :, ::-1]

    @cached_property
    def spreads(self) -> Block:
        """The expected variance of points around the mean of a series, for each structure."""
        every = np.diagonal(self.covariances, axis1=1, axis2=2).mean(axis=1)
        return np.asarray(every - self.covariances.mean(axis=(1, 2)))

    def sums(self, rows: Block, numbers: Labels | None = None) -> Sums:
        """The sums that levels of ``rows`` are fitted with, under the structures ``numbers``
        (default: all)."""
        numbers = np.arange(len(self.places)) if numbers is None else numbers
        values = (rows - np.median(rows, axis=1, keepdims=True)).T
        each = (self.inverses[n] @ values for n in numbers)
        return Sums(self, numbers, values, np.array([(one * values).sum(axis=0) for one in each]))

    def explain(
        self, block: Block, proposed: Sequence[list[int]]
    ) -> tuple[Block, list[list[Cuts]]]:
        """The smallest loss of each row under each structure (of all ``STRUCTURES``), and the steps
        at which it is reached: all ``proposed`` ones, or those less some that matter least. Each
        lies where it explains most: beside one that is left out it may have lain elsewhere. Steps
        are off the slope of a ramp, as if neighbours agreed: it is tried as what it is."""
        losses = np.full((len(block), len(STRUCTURES)), np.inf)
        likely: list[list[Cuts]] = [[()] * len(STRUCTURES) for _ in block]
        for start in range(0, len(block), _AT_ONCE):
            sums = self.sums(block[start : start + _AT_ONCE])
            losses[start : start + _AT_ONCE, self.places] = sums.losses(())
            for j, cuts in enumerate(proposed[start : start + _AT_ONCE], start):
                own = sums.row(j - start)
                nested = map(own.placed, _nested(block[j], cuts))
                tried = [(some, own.losses(some)) for some in nested]
                if ramps := own.ramps(np.array(cuts)):
                    tried.append((tuple(cuts), own.losses(*ramps)))
                for some, each in tried:
                    for n, one in zip(self.places, each[0].tolist(), strict=True):
                        if one < losses[j, n]:
                            losses[j, n], likely[j][n] = one, some
        return losses, likely


def _nested(row: Block, cuts: Sequence[int]) -> Iterator[Cuts]:
    """``cuts``, and again and again without the least of them."""
    left = list(cuts)
    while left:
        yield tuple(left)
        levels = [part.mean() for part in np.split(row, left)]
        sizes = np.diff([0, *left, len(row)])
        worth = np.diff(levels) ** 2 / (1 / sizes[1:] + 1 / sizes[:-1])
        del left[int(worth.argmin())]


@dataclass(frozen=True, eq=False)
class Sums:
    """Of rows, whose ``values`` (points by rows) lie around their medians, under the structures
    ``numbers`` of a shape: ``squares`` (structures by rows). Moments are computed where a step may
    be: most rows have none."""

    shape: Shape
    numbers: Labels
    values: Block
    squares: Block

    @cached_property
    def first(self) -> Block:
        """The moments of the first row under the first structure, with a step at each point."""
        return np.asarray(self.shape.moments[self.numbers[0]] @ self.values[:, 0])

    def row(self, j: int) -> Sums:
        """Those of one row."""
        each = slice(j, j + 1)
        return Sums(self.shape, self.numbers, self.values[:, each], self.squares[:, each])

    def placed(self, cuts: Sequence[int], run: int = 2) -> Cuts:
        """The ``cuts`` of the first row, each where it explains most between the others; levels
        have ``run`` points at least."""
        found = list(cuts)
        for j in range(len(found)):
            start, gains = self.gains(found, j)
            found[j] = start + run + int(gains[run - 1 : len(gains) + 1 - run].argmax())
        return tuple(found)

    def gains(self, cuts: Sequence[int], j: int) -> tuple[int, Block]:
        """The cut before the ``j``-th of ``cuts``, and what a step of the first row at each place
        from there to the one behind it adds to the fit of the others, under the first structure."""
        gram, moments = self.shape.grams[self.numbers[0]], self.first
        edges, others = [0, *cuts, len(gram)], [0, *cuts[:j], *cuts[j + 1 :]]
        share = np.linalg.solve(gram[np.ix_(others, others)], gram[others])
        between = slice(edges[j] + 1, edges[j + 2])
        power = (np.diagonal(gram) - (share * gram[others]).sum(axis=0))[between]
        return edges[j], (moments - moments[others] @ share)[between] ** 2 / power

    def ramps(self, cuts: Labels) -> Ramps | None:
        """Where changes of the first row begin and end if ``cuts`` that follow each other the same
        way are one, in equal parts from where to where it explains most; None if none do."""
        points = len(self.values)
        rises = np.diff([part.mean() for part in np.split(self.values[:, 0], cuts)]) > 0
        same = (rises[1:] == rises[:-1]) & (np.diff(cuts) <= RAMP)
        if not same.any():
            return None
        firsts, lasts = cuts[np.r_[True, ~same]], cuts[np.r_[~same, True]]
        edges = np.r_[0, np.column_stack([firsts, lasts]).ravel(), points]
        one = Sums(self.shape, self.numbers[:1], self.values, self.squares[:1])
        for k in 2 * (1 + np.flatnonzero(np.repeat(firsts < lasts, 2))).tolist():
            low, high = max(edges[k - 1] + 1, edges[k] - RAMP), min(edges[k + 1], edges[k] + RAMP)
            tried = [np.r_[edges[:k], at, edges[k + 1 :]] for at in range(low, high)]
            edges = min(tried, key=lambda each: float(one.fit(each[1:-1:2], each[2:-1:2])[1][0, 0]))
        return edges[1:-1:2], edges[2:-1:2]

    def fit(
        self, cuts: Sequence[int] | Labels, ends: Labels | None = None
    ) -> tuple[Block, Block, Block]:
        """Generalised least squares of a level and a step at each of ``cuts`` (or a change in equal
        parts from each to its one of ``ends``): their sizes (structures by steps by rows), the
        squares that are left, and the sizes' covariance in units of the noise's variance."""
        places = np.array([0, *cuts])
        if ends is None:
            grams = self.shape.grams[self.numbers[:, None, None], places[:, None], places]
            each = self.shape.moments[self.numbers[:, None], places]
        else:
            at, last = np.arange(len(self.values)), np.array([0, *ends])[:, None]
            parts = ((places[:, None] <= at) & (at <= last)) / (last - places[:, None] + 1)
            grams = parts @ self.shape.grams[self.numbers] @ parts.T
            each = parts @ self.shape.moments[self.numbers]
        inverse = np.asarray(np.linalg.inv(grams), np.float64)
        moments = each @ self.values
        sizes = np.asarray(inverse @ moments, np.float64)
        return sizes, np.maximum(self.squares - (moments * sizes).sum(axis=1), 0.0), inverse

    def losses(self, cuts: Sequence[int] | Labels, ends: Labels | None = None) -> Block:
        """Twice the negative restricted log-likelihood of each row with changes as in ``fit``, a
        column for each structure; the deviation is the best one."""
        left = len(self.shape.days) - len(cuts) - 1
        _, rest, inverse = self.fit(cuts, ends)
        fixed = self.shape.logdets[self.numbers] - np.linalg.slogdet(inverse)[1]
        return np.asarray((left * np.log(np.maximum(rest / left, 1e-30)) + fixed[:, None]).T)


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
    found = [
        shape.explain(block, each)
        for shape, block, each in zip(shapes, blocks, proposed, strict=True)
    ]
    likely = [cuts for _, rows in found for cuts in rows]
    weights = _weights(np.concatenate([losses for losses, _ in found]), likely)
    rows = zip(weights, likely, strict=True)
    return [
        [
            Explained(weight[shape.places], list(cuts[int(weight.argmax())]))
            for weight, cuts in islice(rows, len(block))
        ]
        for shape, block in zip(shapes, blocks, strict=True)
    ]


def _weights(losses: Block, likely: Sequence[Sequence[Cuts]]) -> Block:
    """The structures' weights for each row: its likelihood times how common they are. That is
    learnt from the rows that are likely to be flat: one with a step looks a little as if its level
    wandered."""
    prior = np.array([one.weight for one in STRUCTURES])
    prior = prior / prior.sum()
    best = (losses - 2 * np.log(prior)).argmin(axis=1)
    flat = np.array([not cuts[n] for cuts, n in zip(likely, best, strict=True)])
    likelihood = np.exp(-(losses - losses.min(axis=1, keepdims=True)) / 2)
    common, some = prior, likelihood[flat][:: -(-len(losses) // ENOUGH)]
    for _ in range(_ROUNDS):
        each = some * common
        each = each / each.sum(axis=1, keepdims=True)
        common = (PRIOR_SERIES * prior + each.sum(axis=0)) / (PRIOR_SERIES + len(some))
    each = likelihood * common
    return np.asarray(each / each.sum(axis=1, keepdims=True))
