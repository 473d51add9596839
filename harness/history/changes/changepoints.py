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
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError
from harness.history.changes import families, fitting, noise
from harness.history.changes.fitting import Fit, Judged, Law, Settings, Step
from harness.history.changes.noise import Block, Noise, Scales

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


def detect(
    series: Sequence[NDArray[np.float64]],
    groups: Sequence[Hashable] | None = None,
    settings: Settings | None = None,
    commits: Sequence[NDArray[np.int64]] | None = None,
) -> list[Judged]:
    """The steps of each series (logarithms, finite, in order). Series with the same entry in
    ``groups`` (default: all) come from one machine and method. ``commits`` numbers the commits of
    each series' points (default: point by point).

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
    places = commits if commits is not None else [np.arange(len(each)) for each in series]
    return families.hold(found, places, settings)


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
    raws = [np.array([series[i] for i in row]) for row in rows]
    blocks = [noise.without_outliers(raw, noise.scale(raw, settings.floor))[0] for raw in raws]
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
        for j, proposal in enumerate(each):
            if proposal:
                fit = fitting.judge(block[j], proposal, Noise(float(phi[j])), settings)
                cuts[j] = fit.cuts or cuts[j]
    bounds = noise.correlations(blocks, _residuals(blocks, taken))
    cleaned, law = _clean(raws, blocks, taken, bounds, settings)
    blocks = [block for block, _ in cleaned]
    known = _scales(blocks, _residuals(blocks, taken), taken, bounds)
    for row, raw, (block, outliers), scale, each in zip(
        rows, raws, cleaned, known, proposed, strict=True
    ):
        judged = _judge_block(raw, block, scale, each, law, settings)
        for i, one, number in zip(row, judged, outliers, strict=True):
            found[i] = replace(one, outliers=one.outliers + int(number))


def _scales(
    blocks: Sequence[Block],
    rests: Sequence[Block],
    cuts: Sequence[Sequence[list[int]]],
    phi: Sequence[Block],
) -> list[Scales]:
    counts = [np.array([len(ends) for ends in each], np.float64) for each in cuts]
    return noise.learn_scales(blocks, rests, counts, phi)


def _clean(
    raws: Sequence[Block],
    blocks: Sequence[Block],
    cuts: Sequence[Sequence[list[int]]],
    phi: Sequence[Block],
    settings: Settings,
) -> tuple[list[tuple[Block, NDArray[np.int64]]], Law]:
    """The rows without their outliers, how many those were, and the law of outliers.

    Which points are outliers is judged once more with all that is known of the noise: a row's own
    differences know it so badly that points of plain noise are among the outliers of ``blocks``,
    and what is left looks quieter than it is. Where outliers are rare, only what noise never
    reaches is taken out.
    """
    rests = _residuals(blocks, cuts)
    deviations = [
        np.maximum(scale.deviations, settings.floor) for scale in _scales(blocks, rests, cuts, phi)
    ]
    wholes = [raw - block + rest for raw, block, rest in zip(raws, blocks, rests, strict=True)]
    law = fitting.learn_law(wholes, deviations)
    cleaned = []
    for raw, deviation in zip(raws, deviations, strict=True):
        block, outliers = noise.without_outliers(
            raw, deviation, noise.FAR if law.normal else noise.OUTLIER
        )
        cleaned.append((block, outliers.sum(axis=1)))
    return cleaned, law


def _judge_block(
    raw: Block,
    block: Block,
    scale: Scales,
    proposed: Sequence[list[int]],
    law: Law,
    settings: Settings,
) -> list[Judged]:
    """Every row of a ``block`` without outliers; ``raw`` is with them."""
    nothing = np.zeros(0)
    fits, outliers = [], np.zeros(len(block), np.int64)
    for j, (cuts, known) in enumerate(zip(proposed, scale.known, strict=True)):
        if not cuts:
            freedom = block.shape[1] - 1 + known.freedom
            deviation = max(float(scale.deviations[j]), settings.floor)
            fits.append(Fit([], nothing, nothing, nothing, nothing, freedom, deviation))
            continue
        fit = fitting.judge(block[j], cuts, known, settings)
        if fit.cuts and not law.normal:
            block[j], fit, outliers[j] = fitting.without_runs(block[j], fit, law, known, settings)
        fits.append(fit)
    phi = np.array([known.phi for known in scale.known])
    pending = _newest(raw, block, fits, phi, law, settings)
    judged = []
    for row, fit, c, number, newest in zip(block, fits, phi, outliers, pending, strict=True):
        steps = _describe(row, fit, float(c), settings)
        if newest is not None:
            steps = (*steps, newest)
        judged.append(Judged(steps, fit.deviation, float(c), int(number)))
    return judged


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


def _describe(row: Block, fit: Fit, phi: float, settings: Settings) -> tuple[Step, ...]:
    from scipy import stats

    if not fit.cuts:
        return ()
    steps = []
    edges = [0, *fit.cuts, len(row)]
    width = float(stats.t.isf(0.025, fit.freedom))
    for j, cut in enumerate(fit.cuts):
        size, error = float(fit.sizes[j]), float(fit.errors[j])
        certain = bool(fit.p[j] <= settings.alone)
        # What outliers may explain is worth another look while it is new.
        if abs(np.expm1(size)) < settings.smallest or not (certain or cut == fit.cuts[-1]):
            continue
        before, after = edges[j], edges[j + 2]
        earliest, gains = fitting.where(row, (before, cut, after), phi, fit)
        here = gains[cut - earliest]
        # A step elsewhere leaves more to the noise.
        rest = fit.deviation**2 * (1 - phi * phi) * fit.freedom
        t = fit.t[j] * np.sqrt(gains / here * rest / (rest + here - gains))
        chances = fitting.chance(t, len(row), fit, settings)
        interval = np.expm1([size - width * error, size + width * error])
        steps.append(
            Step(
                position=cut,
                earliest=earliest,
                latest=earliest + len(gains) - 1,
                size=float(np.expm1(size)),
                low=float(interval[0]),
                high=float(interval[1]),
                p=float(fit.p[j]),
                before=cut - before,
                after=after - cut,
                confirmed=certain,
                chances=tuple(np.maximum(chances, fit.p[j]).tolist()),
            )
        )
    return tuple(steps)


def _newest(
    raw: Block,
    block: Block,
    fits: Sequence[Fit],
    phi: Block,
    law: Law,
    settings: Settings,
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
    if not law.normal:
        t *= [law.worth(far) for far in ((raw[:, -1] - expected) / deviation)[:, None]]
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
        relative, rare = float(np.expm1(size)), float(p[j])
        steps.append(Step(place, place, place, relative, low, high, rare, int(width[j]), 1, False))
    return steps
