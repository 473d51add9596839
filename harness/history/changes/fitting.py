"""Levels and steps fitted to one series: how certain each step is, and where it may lie.

A step's t statistic is that of generalised least squares; its chance is the mean over the
structures that the series' noise may have (``structures``). Two slow runs in a row are no level
where one run in twenty is an outlier: so a step counts for as many deviations as a point that far
off is rare (its normal score), by the tail of the machine's noise (``Law``). That is learnt from
points whose neighbours are both quiet: a level has no such point, and for independent ones the rate
is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, ndtr, ndtri, pdtrik, stdtr

from harness.history.changes.noise import Noise
from harness.history.changes.structures import Block, Ramps

POSITION = float(np.log(2 / 0.05))
"""By how much the log-likelihood of the true position may lie under the best one's with 95 %
confidence: the likelihood ratio is a martingale to either side (Ville's inequality)."""

UNAIDED = 5 / 3
"""By how much the chance of a step is understated where no other series tell of the noise: the
correlation is then beyond its bound in 2.5 % of cases (simulated, correlations of 0 to 0.6)."""
FROM = 4.0
"""Deviations from which a point belongs to the tail."""
QUIET = 2.0
"""Deviations within which a neighbour is quiet."""
SEVERAL, FEW = 2, 0.05
"""Outliers of one series on one side from which it has a rate of its own; where it is a smaller
share of the series that do, they say nothing of the others."""
CHANCE = 0.001
"""The tail is taken for a normal one unless so many points are this unlikely under that."""
HARMLESS = 5e-4
"""Rate of outliers below which the tail is taken for a normal one too: two neighbouring outliers,
or one beside a point two deviations off, are then in less than 0.1 % of series of 30 points."""
EXPECTED = 0.1
"""Outliers so far off as some point is, of which one is expected in ten histories like this one,
may be what that point is."""
PRIOR_INDEX = 4.0
"""Index of the tail (Student's degrees of freedom) that is assumed, as strongly as one point says
it, before any is seen: Hill's estimate of few points is worth little."""


@dataclass(frozen=True, slots=True)
class Step:
    """A change of level between the points ``position - 1`` and ``position``, which lies in
    ``earliest`` to ``latest`` with 95 % confidence.

    ``size`` is relative (0.03: 3 % more), ``low`` and ``high`` its 95 % interval. ``p`` is at most
    the chance of such a step in a flat series, ``chances`` the same of a step at each of the places
    from ``earliest`` to ``latest``. ``confirmed`` is false for the newest point alone,
    for a level that outliers explain, and for a step that does not stand out among as many series;
    ``together`` is true where it does so only with those of other series at its commit. ``back``: a
    later single point that is at the level before it; ``ago``: an earlier one at that behind it.
    """

    position: int
    earliest: int
    latest: int
    size: float
    low: float
    high: float
    p: float
    before: int
    after: int
    confirmed: bool = True
    together: bool = False
    chances: tuple[float, ...] = ()
    back: int | None = None
    ago: int | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found in a series: its steps in order, and whether it was long enough."""

    steps: tuple[Step, ...] = ()
    judged: bool = True


@dataclass(frozen=True, slots=True)
class Tail:
    """Points further than ``FROM`` deviations to one side: their ``rate``, and the ``index`` of the
    power by which it falls beyond (peaks over a threshold, Hill), of ``points`` in all. A rate of
    0: a normal tail."""

    rate: float = 0.0
    index: float = PRIOR_INDEX
    points: int = 0

    def scores(self, far: Block) -> Block:
        """Normal scores of points that lie ``far`` deviations off to this side."""
        return np.minimum(far, -ndtri(self.beyond(far))) if self.rate else far

    def beyond(self, far: Block | float) -> Block:
        """The share of points that lie further off and beyond ``FROM``: a mode has none nearer."""
        return np.asarray(self.rate * (FROM / np.maximum(far, FROM)) ** self.index)


@dataclass(frozen=True, slots=True)
class Law:
    """Both tails of a machine's noise; of a series with a law of its own the machine's is the
    ``usual`` one."""

    up: Tail = Tail()
    down: Tail = Tail()
    usual: Law | None = None

    @property
    def normal(self) -> bool:
        """Whether there is nothing to correct."""
        return not (self.up.rate or self.down.rate)

    def longest(self, points: int, chance: float) -> int:
        """How many neighbouring outliers there are in less than that ``chance`` of series of as
        many ``points``."""
        rate = min(max(self.up.rate, self.down.rate), 0.5)
        return 1 + int(np.log(chance / points) / np.log(rate)) if rate else 1

    def reaches(self, far: float) -> bool:
        """Whether points of the machine are expected about as ``far`` off, to the side of its
        sign."""
        law = self.usual or self
        side = law.up if far > 0 else law.down
        return bool(side.points * side.beyond(abs(far) - QUIET) >= EXPECTED)

    def run(self, far: float, length: int) -> float:
        """The chance that of ``length`` points two thirds or more are ``far`` deviations off and
        more, to the side of its sign."""
        side, off = self.up if far > 0 else self.down, max(abs(far), 1.0)
        rate = float(side.beyond(off)) + ndtr(-off)
        return float(bdtrc((2 * length - 1) // 3, length, min(1.0, rate)))

    def worth(self, far: Block) -> float:
        """What a level whose points are ``far`` deviations off counts for, as a share of their
        mean: 1 for a normal law."""
        side = self.up if far.mean() > 0 else self.down
        distance = abs(float(far.mean()))
        if not side.rate or not distance:
            return 1.0
        towards = far * np.sign(far.mean())
        return min(1.0, max(0.0, float(side.scores(towards).mean()) / distance))


def learn_law(residuals: Sequence[Block], deviations: Sequence[Block]) -> Law:
    """The law of the ``residuals`` (as measured, less the levels) of points with these
    ``deviations``."""
    ups, downs, points = [], [], 0
    for rest, deviation in zip(residuals, deviations, strict=True):
        middle = _between_quiet(rest / deviation)
        if 0 < _often(middle).mean() < FEW:
            middle = middle[~_often(middle)]
        ups.append(middle[middle > FROM])
        downs.append(-middle[middle < -FROM])
        points += int(np.isfinite(middle).sum())
    return Law(_tail(np.concatenate(ups), points), _tail(np.concatenate(downs), points))


def own_laws(residuals: Block, deviations: Block, law: Law) -> list[Law]:
    """The law of each row: the machine's, unless it shows so many outliers itself that they are its
    own. A kernel that is in another mode in a tenth of its runs is so three times in a row, too."""
    middle = _between_quiet(residuals / deviations)
    found = [law] * len(middle)
    for j in np.flatnonzero(_often(middle)).tolist():
        row, points = middle[j], int(np.isfinite(middle[j]).sum())
        own = [_own_tail(row[row > FROM], points), _own_tail(-row[row < -FROM], points)]
        up, down = (
            max(one, each, key=lambda tail: tail.rate)
            for one, each in zip(own, (law.up, law.down), strict=True)
        )
        found[j] = Law(up, down, law)
    return found


def _often(far: Block) -> NDArray[np.bool_]:
    """Rows with several outliers on one side."""
    return np.asarray(np.maximum((far > FROM).sum(axis=1), (far < -FROM).sum(axis=1)) >= SEVERAL)


def _between_quiet(far: Block) -> Block:
    """Points with quiet neighbours on both sides; NaN for the others."""
    quiet = np.abs(far) < QUIET
    return np.where(quiet[:, :-2] & quiet[:, 2:], far[:, 1:-1], np.nan)


def _tail(beyond: Block, points: int) -> Tail:
    expected = points * float(ndtr(-FROM))
    usual = max(HARMLESS * points, float(np.ceil(pdtrik(1 - CHANCE, expected))))
    return _own_tail(beyond, points) if len(beyond) > usual else Tail()


def _own_tail(beyond: Block, points: int) -> Tail:
    index = (len(beyond) + 1) / (float(np.log(beyond / FROM).sum()) + 1 / PRIOR_INDEX)
    return Tail(len(beyond) / max(points, 1), index, points)


@dataclass(frozen=True, slots=True)
class Settings:
    """``alone``: chance of a false alarm in one flat series; ``family``: chance of any among all
    series; ``shortest_run``: points on either side of a step; ``smallest``: relative changes below
    are not reported; ``floor``: relative noise that is assumed at least (a timer's steps)."""

    alone: float = 0.005
    family: float = 0.05
    shortest_run: int = 2
    smallest: float = 0.005
    floor: float = 1e-4


@dataclass(slots=True)
class Fit:
    """Accepted ``cuts`` of a row with the p of each, and the estimates behind them. ``t`` has a row
    for each structure that the noise may have, ``freedom`` and ``weights`` an entry; ``variance``
    is that of the likeliest, ``deviation`` that of points around a level."""

    cuts: list[int]
    t: NDArray[np.float64]
    p: NDArray[np.float64]
    sizes: NDArray[np.float64]
    errors: NDArray[np.float64]
    freedom: NDArray[np.float64]
    weights: NDArray[np.float64]
    variance: float
    deviation: float
    caution: float = 1.0


def judge(row: Block, cuts: list[int], known: Noise, settings: Settings) -> Fit:
    """Drop the least certain of ``cuts`` until each of the rest is certain enough. Each lies where
    it explains most between the others: it may have been proposed beside one that is dropped. How
    far a ramp is off its steps is no noise."""
    sums = known.sums(row)
    ramps = sums.ramps(np.array(cuts, np.int64))
    while True:
        cuts = list(sums.placed(cuts, settings.shortest_run))
        found = fit(row, cuts, known, settings, ramps)
        if not cuts or found.p.max() <= settings.alone:
            return found
        del cuts[int(found.p.argmax())]


def fit(
    row: Block, cuts: list[int], known: Noise, settings: Settings, ramps: Ramps | None = None
) -> Fit:
    """Generalised least squares of a level and a step at each of ``cuts``; the noise is what they
    or the ``ramps`` leave, whatever is less."""
    weights, left = known.weights, len(row) - len(cuts) - 1
    sums = known.shape.sums(row[None], known.numbers)
    levels, rest, inverse = sums.fit(cuts)
    own = rest[:, 0] / left
    around = known.moderated(own, left)[0]
    if ramps:
        own = np.minimum(own, sums.fit(*ramps)[1][:, 0] / (len(row) - len(ramps[0]) - 1))
    variance, freedom = known.moderated(own, left)
    variance = np.maximum(variance, settings.floor**2)
    steps = levels[:, 1:, 0]
    squares = variance[:, None] * np.diagonal(inverse, axis1=1, axis2=2)[:, 1:]
    sizes = weights @ steps
    likeliest = max(float(around[weights.argmax()]), settings.floor**2)
    found = Fit(
        cuts,
        np.abs(steps) / np.sqrt(squares),
        sizes,
        sizes,
        np.sqrt(weights @ (squares + (steps - sizes) ** 2)),
        freedom,
        weights,
        likeliest,
        float(np.sqrt(likeliest * known.spread)),
        1.0 if known.freedom else UNAIDED,
    )
    return replace(found, p=chance(found.t, len(row), found, settings))


def chance(t: Block, points: int, found: Fit, settings: Settings) -> Block:
    """At most the chance that a flat series shows a step of such t statistics (a row for each
    structure) at any position, being fitted as in ``found``."""
    each = _tries(points, found, settings) * 2 * stdtr(found.freedom[:, None], -t)
    return np.asarray(found.weights @ np.minimum(1.0, found.caution * each))


def _tries(points: int, found: Fit, settings: Settings) -> int:
    """In how many places noise could have made a step. Several at once fit it in more ways than
    one, and take more of its variance away."""
    return (points - 2 * settings.shortest_run + 1) * max(1, len(found.cuts)) ** 2


def weighed(row: Block, found: Fit, law: Law, settings: Settings) -> Fit:
    """``found`` with the p of normal scores: a level's points count for as rare as they are by the
    machine's ``law``. The other level's own uncertainty is one of core noise, and the less matters
    to the score, the flatter the score is out there.

    Scores know of independent points alone. Where the noise may hang together as well, either half
    of the step is that noise, or two thirds of a level's points are outliers by the other half: the
    sum of both chances is a bound, too, and the smaller one for levels of many points."""
    edges = [0, *found.cuts, len(row)]
    t, runs = found.t.copy(), np.empty(len(found.cuts))
    for j, cut in enumerate(found.cuts):
        left, right = row[edges[j] : cut], row[cut : edges[j + 2]]
        # Outliers may be on either side: a level that begins after two of them is none.
        t[:, j] *= min(_worth(*pair, found, law) for pair in ((left, right), (right, left)))
        half = float(right.mean() - left.mean()) / found.deviation / 2
        runs[j] = max(law.run(half, len(right)), law.run(-half, len(left)))
    runs *= _tries(len(row), found, settings)
    p, apart = (chance(each, len(row), found, settings) for each in (t, found.t / 2))
    return replace(found, t=t, p=np.minimum(p, apart + runs))


def _worth(points: Block, others: Block, found: Fit, law: Law) -> float:
    """What is left of a t statistic if ``points`` may be outliers from the level of ``others``."""
    worth = law.worth((points - others.mean()) / found.deviation)
    share = len(points) / (len(points) + len(others))
    return worth / float(np.sqrt(1 - share * (1 - worth * worth)))


def without_runs(
    row: Block, found: Fit, law: Law, known: Noise, settings: Settings
) -> tuple[Block, Fit]:
    """Levels that neighbouring outliers explain taken out of ``row``, and the fit of what is left.
    The newest level stays: it may be the first of many points."""
    found = weighed(row, found, law, settings)
    longest = law.longest(len(row), settings.alone)
    while True:
        edges = [0, *found.cuts, len(row)]
        j = _run(edges, found.p > settings.alone, longest)
        if j is None:
            return row, found
        around = [row[edges[j + 1] : edges[j + 2]].mean()]
        if j:
            around.append(row[edges[j - 1] : edges[j]].mean())
        row = row.copy()
        row[edges[j] : edges[j + 1]] = np.mean(around)
        # What is around it may be two levels, and the run where one began.
        left = [cut for cut in found.cuts if cut != (edges[j + 1] if j else edges[1])]
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


def where(row: Block, j: int, known: Noise, found: Fit) -> tuple[int, Block]:
    """The positions that the ``j``-th step may have (95 %) between its neighbours: the first, and
    for it and those that follow what a step there adds to the fit."""
    start, gains = known.sums(row).gains(found.cuts, j)
    near = np.flatnonzero(gains >= gains[found.cuts[j] - start - 1] - 2 * POSITION * found.variance)
    return start + 1 + int(near[0]), gains[near[0] : near[-1] + 1]
