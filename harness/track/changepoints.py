"""Change-points of many series at once, with a stated rate of false alarms.

A series is the logarithm of a measured quantity in the order of the commits. ruptures proposes
where its level may have changed; whether it did is judged here:

* the noise is a first-order autoregression, whose correlation is estimated over all series of a
  machine (``track.noise``) and removed, so that a slow drift is not taken for steps;
* a step's t statistic is that of generalised least squares, with Bonferroni over the positions
  it could have had: ``p`` is at most the chance that a flat series shows such a step;
* Holm's method over the series holds the chance of any false alarm among all of them at ``family``.

What is stated holds for normal noise; docs/measurements/changes.md shows others.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError
from harness.track import noise
from harness.track.noise import Block

POSITION = float(np.log(2 / 0.05))
"""By how much the log-likelihood of the true position may lie under the best one's with 95 %
confidence: the likelihood ratio is a martingale to either side (Ville's inequality)."""
CORRELATIONS = np.linspace(0, 0.95, 20)
"""Correlations among which the likeliest is looked for."""
COST, COST_PER_LENGTH = 8.0, 1.5
"""What a step has to add to twice the log-likelihood: it then appears in about 1 of 200 flat
white series of 30 points (simulated)."""
SHORTEST = 6
"""Points below which a series is not judged: too few to know its noise."""
PROPOSALS = 9.0
"""Penalty of a proposed change in units of the noise's variance; a step that can pass the judgement
improves the fit by more than this (t above 4 at any length)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """``alone``: chance of a false alarm in one flat series; ``family``: chance of any among all
    series; ``shortest_run``: points on either side of a step; ``smallest``: relative changes below
    are not reported; ``floor``: relative noise that is assumed at least (a timer's steps).
    """

    alone: float = 0.003
    family: float = 0.05
    shortest_run: int = 2
    smallest: float = 0.005
    floor: float = 1e-4


@dataclass(frozen=True, slots=True)
class Step:
    """A change of level between the points ``position - 1`` and ``position``, which lies in
    ``earliest`` to ``latest`` with 95 % confidence.

    ``size`` is relative (0.03: 3 % more), ``low`` and ``high`` its 95 % interval. ``p`` is at most
    the chance of such a step in a flat series. ``confirmed`` is false for the newest point alone
    and for a step that does not stand out among as many series.
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


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found in a series: its steps in order, the relative noise, its correlation."""

    steps: tuple[Step, ...] = ()
    deviation: float = 0.0
    correlation: float = 0.0
    strays: int = 0
    judged: bool = True


def detect(
    series: Sequence[NDArray[np.float64]],
    groups: Sequence[Hashable] | None = None,
    settings: Settings | None = None,
) -> list[Judged]:
    """The steps of each series (logarithms, finite, in order). Series with the same entry in
    ``groups`` (default: all) come from one machine and method.

    Raises ``UsageError`` where ruptures or SciPy is missing."""
    settings = settings or Settings()
    _require_libraries()
    labels = list(groups) if groups is not None else [0] * len(series)
    found = [Judged(judged=False) for _ in series]
    members: dict[Hashable, list[int]] = {}
    for i, label in enumerate(labels):
        if len(series[i]) >= max(SHORTEST, 2 * settings.shortest_run + 1):
            members.setdefault(label, []).append(i)
    for chosen in members.values():
        _detect_group(series, chosen, found, settings)
    return _hold_family(found, settings)


def _require_libraries() -> None:
    for name in ("ruptures", "scipy"):
        if importlib.util.find_spec(name) is None:
            raise UsageError(
                f"{name} is needed to judge changes and is not installed",
                where=sys.executable,
                remedy=f"pip install {name}, or judge static figures, which need "
                "neither: --metric registers",
            )


def _detect_group(
    series: Sequence[NDArray[np.float64]],
    chosen: list[int],
    found: list[Judged],
    settings: Settings,
) -> None:
    by_length: dict[int, list[int]] = {}
    for i in chosen:
        by_length.setdefault(len(series[i]), []).append(i)
    rows = list(by_length.values())
    cleaned = [
        noise.without_strays(np.array([series[i] for i in row]), settings.floor) for row in rows
    ]
    blocks = [block for block, _ in cleaned]
    common, error = noise.common(blocks)
    proposed = [_propose(block, max(0.0, common - error), settings) for block in blocks]
    taken = [
        [_likely(row, cuts) for row, cuts in zip(block, each, strict=True)]
        for block, each in zip(blocks, proposed, strict=True)
    ]
    bounds = noise.correlations(blocks, _residuals(blocks, taken))
    # Once more with what that finds: a step that was not likely enough to be taken out made its
    # row, and all rows, look correlated.
    for block, phi, cuts, each in zip(blocks, bounds, taken, proposed, strict=True):
        for j, fit in enumerate(_judge_block(block, phi, each, settings)):
            cuts[j] = fit.cuts or cuts[j]
    bounds = noise.correlations(blocks, _residuals(blocks, taken))
    for row, (block, strays), phi, each in zip(rows, cleaned, bounds, proposed, strict=True):
        raw = np.array([series[i] for i in row])
        fits = _judge_block(block, phi, each, settings)
        pending = _newest(raw, block, fits, phi, settings)
        for j, i in enumerate(row):
            found[i] = _describe(block[j], fits[j], float(phi[j]), int(strays[j].sum()), settings)
            newest = pending[j]
            if newest is not None:
                found[i] = replace(found[i], steps=(*found[i].steps, newest))


@dataclass(slots=True)
class _Fit:
    """Accepted ``cuts`` of a row with the p of each, and the estimates behind them."""

    cuts: list[int]
    p: NDArray[np.float64]
    sizes: NDArray[np.float64]
    errors: NDArray[np.float64]
    freedom: int
    deviation: float


def _judge_block(
    block: Block, phi: Block, proposed: Sequence[list[int]], settings: Settings
) -> list[_Fit]:
    rest = block - block.mean(axis=1, keepdims=True)
    deviations = np.maximum(rest.std(axis=1, ddof=1), settings.floor)
    nothing = np.zeros(0)
    return [
        _judge(row, cuts, float(c), settings)
        if cuts
        else _Fit([], nothing, nothing, nothing, len(row) - 1, float(deviation))
        for row, cuts, c, deviation in zip(block, proposed, phi, deviations, strict=True)
    ]


def _propose(block: Block, phi: float, settings: Settings) -> list[list[int]]:
    """Positions where ruptures finds a change of level under a penalty that is too low rather
    than too high."""
    import ruptures

    # Of a correlated series, differences understate the deviation, and sums of it vary more.
    deviation = noise.scale(block, settings.floor) / np.sqrt(1 - phi)
    unit = (block - np.median(block, axis=1, keepdims=True)) / deviation[:, None]
    penalty = PROPOSALS * (1 + phi) / (1 - phi)
    # A segmentation cannot gain more than the whole sum of squares.
    worth = ((unit - unit.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) > penalty
    proposals: list[list[int]] = [[] for _ in block]
    for j in np.flatnonzero(worth):
        model = ruptures.KernelCPD(kernel="linear", min_size=settings.shortest_run)
        ends = model.fit(unit[j, :, None]).predict(pen=penalty)[:-1]
        proposals[j] = [int(end) for end in ends]
    return proposals


def _judge(row: NDArray[np.float64], cuts: list[int], phi: float, settings: Settings) -> _Fit:
    """Drop the least certain of ``cuts`` until each of the rest is certain enough."""
    cuts = list(cuts)
    while True:
        fit = _fit(row, cuts, phi, settings)
        if not cuts or fit.p.max() <= settings.alone:
            return fit
        del cuts[int(fit.p.argmax())]


def _likely(row: NDArray[np.float64], cuts: list[int]) -> list[int]:
    """Those of ``cuts`` without which no correlation explains the row as well.

    A level that changes and a correlated flat series look alike in their correlation; the
    likelihood, each with its own correlation, tells them apart.
    """
    if not cuts:
        return []
    cuts = list(cuts)
    best, least = cuts, np.inf
    cost = COST + COST_PER_LENGTH * np.log(len(row))
    while True:
        loss = _loss(row, cuts) + cost * len(cuts)
        if loss < least:
            best, least = list(cuts), loss
        if not cuts:
            return best
        levels = [part.mean() for part in np.split(row, cuts)]
        sizes = np.diff([0, *cuts, len(row)])
        weights = 1 / (1 / sizes[1:] + 1 / sizes[:-1])
        del cuts[int((np.diff(levels) ** 2 * weights).argmin())]


def _loss(row: NDArray[np.float64], cuts: list[int]) -> float:
    """Twice the negative log-likelihood of the row with levels between ``cuts``, the correlation
    and the deviation being the best ones. Every correlation at once: the normal equations of the
    whitened columns are polynomials in it."""
    n = len(row)
    edges = np.array([0, *cuts, n])
    columns = (np.arange(n)[:, None] >= edges[:-1]) & (np.arange(n)[:, None] < edges[1:])
    all_ = np.column_stack([columns.astype(np.float64), row - row.mean()])
    now, then, head = all_[1:], all_[:-1], all_[:1]
    cross = now.T @ then
    phi = CORRELATIONS[:, None, None]
    gram = (
        now.T @ now
        - phi * (cross + cross.T)
        + phi * phi * (then.T @ then)
        + (1 - phi * phi) * (head.T @ head)
    )
    moment = gram[:, :-1, -1:]
    fitted = (moment * np.linalg.solve(gram[:, :-1, :-1], moment)).sum(axis=(1, 2))
    rest = np.maximum(gram[:, -1, -1] - fitted, 1e-30)
    return float((n * np.log(rest) - np.log(1 - CORRELATIONS**2)).min())


def _fit(row: NDArray[np.float64], cuts: list[int], phi: float, settings: Settings) -> _Fit:
    """Generalised least squares of a level and a step at each of ``cuts``."""
    from scipy import stats

    n = len(row)
    design = (np.arange(n)[:, None] >= np.array([0, *cuts])).astype(np.float64)
    white, target = _whiten(design, phi), _whiten(row[:, None], phi)[:, 0]
    inverse = np.linalg.inv(white.T @ white)
    levels = inverse @ (white.T @ target)
    freedom = n - len(cuts) - 1
    rest = target - white @ levels
    # The innovations' variance, and the least that the timer allows.
    least = settings.floor**2 * (1 - phi * phi)
    variance = max(float(rest @ rest) / freedom, least)
    errors = np.sqrt(variance * np.diag(inverse)[1:])
    t = np.abs(levels[1:]) / errors
    # Several steps at once fit noise in more ways than one, and take more of its variance away.
    positions = (n - 2 * settings.shortest_run + 1) * max(1, len(cuts)) ** 2
    p = np.minimum(1.0, positions * 2 * stats.t.sf(t, freedom))
    return _Fit(cuts, p, levels[1:], errors, freedom, float(np.sqrt(variance / (1 - phi * phi))))


def _whiten(columns: Block, phi: float) -> Block:
    """``columns`` with a first-order autoregression of correlation ``phi`` taken out."""
    white = columns.copy()
    white[1:] -= phi * columns[:-1]
    white[0] *= np.sqrt(1 - phi * phi)
    return white


def _residuals(blocks: Sequence[Block], cuts: Sequence[Sequence[Sequence[int]]]) -> list[Block]:
    """The blocks less the level of each segment."""
    rests = []
    for block, each in zip(blocks, cuts, strict=True):
        rest = block - block.mean(axis=1, keepdims=True)
        for j, ends in enumerate(each):
            for start, stop in (
                zip([0, *ends], [*ends, block.shape[1]], strict=True) if ends else ()
            ):
                rest[j, start:stop] -= rest[j, start:stop].mean()
        rests.append(rest)
    return rests


def _describe(
    row: NDArray[np.float64], fit: _Fit, phi: float, strays: int, settings: Settings
) -> Judged:
    from scipy import stats

    steps = []
    edges = [0, *fit.cuts, len(row)]
    width = float(stats.t.isf(0.025, fit.freedom))
    for j, cut in enumerate(fit.cuts):
        size, error = float(fit.sizes[j]), float(fit.errors[j])
        if abs(np.expm1(size)) < settings.smallest:
            continue
        earliest, latest = _where(row, edges[j], cut, edges[j + 2], phi, fit.deviation)
        interval = np.expm1([size - width * error, size + width * error])
        steps.append(
            Step(
                position=cut,
                earliest=earliest,
                latest=latest,
                size=float(np.expm1(size)),
                low=float(interval[0]),
                high=float(interval[1]),
                p=float(fit.p[j]),
                before=cut - edges[j],
                after=edges[j + 2] - cut,
            )
        )
    return Judged(tuple(steps), fit.deviation, phi, strays)


def _where(
    row: NDArray[np.float64], start: int, cut: int, stop: int, phi: float, deviation: float
) -> tuple[int, int]:
    """The positions between ``start`` and ``stop`` that a step near ``cut`` may have (95 %)."""
    n = stop - start
    both = _whiten(np.column_stack([row[start:stop], np.ones(n)]), phi)
    # A whitened step at k is 1 there and 1 - φ behind: sums over what follows give all positions.
    sums = np.cumsum(both[::-1], axis=0)[::-1]
    k = np.arange(1, n)
    target, level = (both[k] + (1 - phi) * (sums[k] - both[k])).T
    power = 1 + (1 - phi) ** 2 * (n - 1 - k)
    ones = float(both[:, 1] @ both[:, 1])
    moment = float(both[:, 1] @ both[:, 0])
    gains = (target - level * moment / ones) ** 2 / (power - level**2 / ones)
    innovations = deviation**2 * (1 - phi * phi)
    near = k[gains >= gains[cut - start - 1] - 2 * POSITION * innovations] + start
    return min(cut, int(near.min())), max(cut, int(near.max()))


def _newest(
    raw: Block, block: Block, fits: Sequence[_Fit], phi: Block, settings: Settings
) -> list[Step | None]:
    """For each row a step at its last point alone, as measured (``raw``), if it lies off the level
    before it."""
    from scipy import stats

    n = block.shape[1]
    starts = np.array([fit.cuts[-1] if fit.cuts else 0 for fit in fits])
    width = n - 1 - starts
    sums = np.concatenate([np.zeros((len(block), 1)), np.cumsum(block, axis=1)], axis=1)
    rows = np.arange(len(block))
    level = (sums[rows, n - 1] - sums[rows, starts]) / np.maximum(width, 1)
    deviation = np.array([fit.deviation for fit in fits])
    expected = level + phi * (block[:, -2] - level)
    inflation = (1 + phi) / (1 - phi) * (1 - phi) ** 2 / np.maximum(width, 1)
    error = deviation * np.sqrt(1 - phi * phi + inflation)
    freedom = np.array([max(fit.freedom - 1, 1) for fit in fits])
    t = (raw[:, -1] - expected) / error
    p = 2 * stats.t.sf(np.abs(t), freedom)
    half = stats.t.isf(0.025, freedom) * error
    steps: list[Step | None] = []
    for j in range(len(block)):
        size = float(raw[j, -1] - expected[j])
        if width[j] < 3 or p[j] > settings.alone or abs(np.expm1(size)) < settings.smallest:
            steps.append(None)
            continue
        low, high = (float(v) for v in np.expm1([size - half[j], size + half[j]]))
        place = n - 1
        relative, chance = float(np.expm1(size)), float(p[j])
        steps.append(
            Step(place, place, place, relative, low, high, chance, int(width[j]), 1, False)
        )
    return steps


def _hold_family(found: list[Judged], settings: Settings) -> list[Judged]:
    """Holm over the judged series, each with its most certain confirmed step: what does not stand
    out among as many series is no longer confirmed."""
    best = sorted(
        min(step.p for step in judged.steps if step.confirmed)
        for judged in found
        if any(step.confirmed for step in judged.steps)
    )
    total = sum(judged.judged for judged in found)
    limit = settings.alone
    for rank, p in enumerate(best):
        if p > settings.family / (total - rank):
            # All steps are held to what the next series would have had to reach.
            limit = min(limit, settings.family / (total - rank))
            break
    return [
        replace(judged, steps=tuple(_held(step, limit) for step in judged.steps))
        for judged in found
    ]


def _held(step: Step, limit: float) -> Step:
    if not step.confirmed or step.p <= limit:
        return step
    return replace(step, confirmed=False)
