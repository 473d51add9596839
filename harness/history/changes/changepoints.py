"""Change-points of many series at once, with a stated rate of false alarms.

A series is the logarithm of a measured quantity in the order of the commits. Least squares propose
where its level may have changed; whether it did is judged by generalised least squares under the
noise that a machine's series show (``structures``), with Bonferroni over the positions a step could
have had: ``p`` is at most the chance that a flat series shows such a step. ``hold`` keeps the
family's chance. What is stated holds for normal noise; docs/measurements/changes.md shows others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit
from threadpoolctl import threadpool_limits

from harness.history.changes import fitting, noise
from harness.history.changes.fitting import Fit, Judged, Law, Settings, Step
from harness.history.changes.noise import Noise, Scales
from harness.history.changes.structures import Block, Explained, Labels, Shape, explain
from harness.ir.reach import grouped

SHORTEST = 6
"""Points below which a series is not judged: too few to know its noise."""
PROPOSALS = 9.0
"""Penalty of a proposed change in units of the noise's variance; a step that can pass the judgement
improves the fit by more than this (t above 4 at any length)."""


def detect(
    series: Sequence[NDArray[np.float64]],
    groups: Sequence[Hashable] | None = None,
    settings: Settings | None = None,
    commits: Sequence[Labels] | None = None,
    days: Sequence[Labels] | None = None,
) -> list[Judged]:
    """The steps of each series (logarithms, finite, in order). Series with the same entry in
    ``groups`` (default: all) come from one machine and method. ``commits`` numbers the commits of
    each series' points (default: point by point), ``days`` the days they were measured on
    (default: each on its own)."""
    settings = settings or Settings()
    labels = list(groups) if groups is not None else [0] * len(series)
    places = commits if commits is not None else [np.arange(len(each)) for each in series]
    days = days if days is not None else [np.arange(len(each)) for each in series]
    found = [Judged(judged=False) for _ in series]
    least = max(SHORTEST, 2 * settings.shortest_run + 1)
    long = (i for i, each in enumerate(series) if len(each) >= least)
    for mine in grouped(long, labels.__getitem__).values():
        by_shape = grouped(mine, lambda i: (places[i].tobytes(), days[i].tobytes()))
        rows = [*by_shape.values()]
        machine = _Machine(
            [np.array([series[i] for i in row]) for row in rows],
            [places[row[0]] for row in rows],
            [days[row[0]] for row in rows],
            settings,
        )
        with threadpool_limits(1, user_api="blas"):  # threads of small products wait and spin
            blocks = machine.judge()
        for row, judged in zip(rows, blocks, strict=True):
            for i, one in zip(row, judged, strict=True):
                found[i] = one
    return hold(found, places, settings)


@dataclass(slots=True)
class _Machine:
    """The series of one machine: blocks of those that were measured at the same ``places`` (of
    commits) on the same ``days``."""

    raws: list[Block]
    places: list[Labels]
    days: list[Labels]
    settings: Settings

    def judge(self) -> list[list[Judged]]:
        """Every row of every block."""
        blocks, shapes, explained, proposed = self._explain({})
        rests = _residuals(blocks, explained)
        deviations = [
            np.maximum(np.median(np.abs(rest), axis=1) / noise.NORMAL_MEDIAN, self.settings.floor)
            for rest in rests
        ]
        if by_commit := noise.scales_by_commit(rests, deviations, self.places):
            blocks, shapes, explained, proposed = self._explain(by_commit)
        blocks, laws = self._clean(blocks, shapes, explained)
        known = noise.learn_scales(blocks, shapes, explained)
        return [
            _judge_block(raw, block, scale, each, own, self.settings)
            for raw, block, scale, each, own in zip(
                self.raws, blocks, known, proposed, laws, strict=True
            )
        ]

    def _explain(
        self, by_commit: Mapping[int, float]
    ) -> tuple[list[Block], list[Shape], list[list[Explained]], list[list[list[int]]]]:
        """The rows without outliers, what they are taken for if commits are as noisy as
        ``by_commit`` says (1: usual), and where they may step."""
        scales = [
            np.array([by_commit.get(place, 1.0) for place in each.tolist()]) for each in self.places
        ]
        shapes = [Shape(days, scale) for days, scale in zip(self.days, scales, strict=True)]
        middles = [np.median(raw, axis=1, keepdims=True) for raw in self.raws]
        level = [
            noise.without_outliers(each, noise.scale(each, self.settings.floor)[:, None])[0]
            for raw, middle, scale in zip(self.raws, middles, scales, strict=True)
            for each in [(raw - middle) / scale]
        ]
        blocks = [
            each * scale + middle
            for each, middle, scale in zip(level, middles, scales, strict=True)
        ]
        proposed = [_propose(block, self.settings) for block in level]
        return blocks, shapes, explain(shapes, blocks, proposed), proposed

    def _clean(
        self,
        blocks: Sequence[Block],
        shapes: Sequence[Shape],
        explained: Sequence[Sequence[Explained]],
    ) -> tuple[list[Block], list[list[Law]]]:
        """The rows without their outliers, and each one's law of outliers.

        Which points are outliers is judged once more with all that is known of the noise: a row's
        own differences know it so badly that points of plain noise are among the outliers of
        ``blocks``, and what is left looks quieter than it is. Where outliers are rare, only what
        noise never reaches is taken out.
        """
        scales = noise.learn_scales(blocks, shapes, explained)
        floor = self.settings.floor
        deviations = [
            np.maximum(deviations[:, None] * shape.scale, floor)
            for (_, deviations), shape in zip(scales, shapes, strict=True)
        ]
        wholes = [
            raw - block + rest
            for raw, block, rest in zip(
                self.raws, blocks, _residuals(blocks, explained), strict=True
            )
        ]
        law = fitting.learn_law(wholes, deviations)
        far = noise.FAR if law.normal else noise.OUTLIER
        cleaned = [
            noise.without_outliers(raw, deviation, far)[0]
            for raw, deviation in zip(self.raws, deviations, strict=True)
        ]
        pairs = zip(wholes, deviations, strict=True)
        return cleaned, [fitting.own_laws(whole, each, law) for whole, each in pairs]


def _judge_block(
    raw: Block,
    block: Block,
    scale: Scales,
    proposed: Sequence[list[int]],
    laws: Sequence[Law],
    settings: Settings,
) -> list[Judged]:
    """Every row of a ``block`` without outliers; ``raw`` is with them."""
    nothing, (noises, deviations) = np.zeros(0), scale
    fits = []
    for j, (cuts, known) in enumerate(zip(proposed, noises, strict=True)):
        if not cuts:
            freedom = np.full(len(known.weights), block.shape[1] - 1 + known.freedom)
            deviation = max(float(deviations[j]), settings.floor)
            variance = deviation**2 / known.spread
            flat = (nothing, nothing, nothing, nothing, freedom, known.weights)
            fits.append(Fit([], *flat, variance, deviation))
            continue
        fit = fitting.judge(block[j], cuts, known, settings)
        if fit.cuts and not laws[j].normal:
            block[j], fit = fitting.without_runs(block[j], fit, laws[j], known, settings)
        fits.append(fit)
    judged = []
    for own, row, fit, known, law in zip(raw, block, fits, noises, laws, strict=True):
        newest = _newest(own, row, fit, known, law, settings)
        described = _describe(own, row, fit, known, law, settings)
        judged.append(Judged((*described, *filter(None, (newest,)))))
    return judged


def _propose(block: Block, settings: Settings) -> list[list[int]]:
    """Positions where least squares find a change of level under rather too low a penalty."""
    # Of a correlated series, differences understate the deviation, and sums of it vary more.
    phi = noise.correlation(block)
    deviation = noise.scale(block, settings.floor) / np.sqrt(1 - phi)
    unit = (block - np.median(block, axis=1, keepdims=True)) / deviation[:, None]
    penalty = PROPOSALS * (1 + phi) / (1 - phi)
    # A segmentation cannot gain more than the whole sum of squares.
    worth = ((unit - unit.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) > penalty
    found = iter(noise.levels(unit[worth], penalty, settings.shortest_run))
    return [next(found) if each else [] for each in worth]


def _residuals(blocks: Sequence[Block], explained: Sequence[Sequence[Explained]]) -> list[Block]:
    """The blocks less the level of each segment."""
    rests = [block.copy() for block in blocks]
    for rest, each in zip(rests, explained, strict=True):
        for row, one in zip(rest, each, strict=True):
            for level in np.split(row, one.cuts):
                level -= level.mean()
    return rests


def _describe(
    raw: Block, row: Block, fit: Fit, known: Noise, law: Law, settings: Settings
) -> tuple[Step, ...]:
    """The steps of a ``row``, which is ``raw`` without its outliers."""
    if not fit.cuts:
        return ()
    steps = []
    edges = [0, *fit.cuts, len(row)]
    freedom = float(fit.freedom[fit.weights.argmax()])
    width = float(stdtrit(freedom, 0.975))
    for j, cut in enumerate(fit.cuts):
        size, error = float(fit.sizes[j]), float(fit.errors[j])
        certain = bool(fit.p[j] <= settings.alone)
        # What outliers may explain is worth another look while it is new.
        if abs(np.expm1(size)) < settings.smallest or not (certain or cut == fit.cuts[-1]):
            continue
        before, after = edges[j], edges[j + 2]
        # A single point at the other level is no sign of a mode where outliers go that far.
        back, ago = (
            np.flatnonzero((raw != row) & (np.abs(raw - level) < fitting.QUIET * fit.deviation))
            if not law.reaches(way * size / fit.deviation)
            else np.zeros(0, np.int64)
            for way, level in ((-1, row[before:cut].mean()), (1, row[cut:after].mean()))
        )
        earliest, gains = fitting.where(row, j, known, fit)
        here = gains[cut - earliest]
        # A step elsewhere leaves more to the noise.
        rest = fit.variance * freedom
        t = fit.t[:, j, None] * np.sqrt(gains / here * rest / (rest + here - gains))
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
                back=next((place for place in back.tolist() if place > cut), None),
                ago=next((place for place in reversed(ago.tolist()) if place < cut), None),
            )
        )
    return tuple(steps)


def _newest(
    raw: Block, row: Block, found: Fit, known: Noise, law: Law, settings: Settings
) -> Step | None:
    """A step at the last point alone, as measured (``raw``), if it lies off the level before it."""
    last = len(row) - 1
    start = found.cuts[-1] if found.cuts else 0
    off = abs(float(raw[-1] - row[start:last].mean()))
    if last - start < 3 or off < fitting.QUIET * found.deviation:
        return None
    alone = fitting.fit(np.r_[row[:last], raw[-1]], [*found.cuts, last], known, settings)
    size, error = float(alone.sizes[-1]), float(alone.errors[-1])
    t = alone.t[:, -1] * law.worth(np.array([size / found.deviation]))
    p = float(alone.weights @ (2 * stdtr(alone.freedom, -t)))
    if p > settings.alone or abs(np.expm1(size)) < settings.smallest:
        return None
    half = error * float(stdtrit(alone.freedom[alone.weights.argmax()], 0.975))
    low, here, high = np.expm1(size + half * np.array([-1, 0, 1])).tolist()
    return Step(last, last, last, here, low, high, p, last - start, 1, False)


def hold(found: Sequence[Judged], commits: Sequence[Labels], settings: Settings) -> list[Judged]:
    """``found`` with only those steps confirmed that stand out among as many series; ``commits``
    says for each series which commit its points are. Half of the chance of a false alarm goes to
    single series (Holm), half to commits, worse and better apart (Simes: a commit that slows fifty
    kernels a little is certain long before any of them is); of the steps there, those stand of
    which on average at most ``family`` are none (Benjamini and Hochberg). A step's chance counts
    every position of its series already; one commit's changes lend nothing to another one's."""
    limit = _holm(found, settings)
    common = _commits(found, commits, settings)

    def held(step: Step, places: Labels) -> Step:
        if not step.confirmed or step.p <= limit:
            return step
        each = zip(places[step.earliest :].tolist(), step.chances, strict=False)
        together = any(p <= common.get((place, step.size > 0), -1.0) for place, p in each)
        return replace(step, confirmed=together, together=together)

    return [
        replace(judged, steps=tuple(held(step, places) for step in judged.steps))
        for judged, places in zip(found, commits, strict=True)
    ]


def _holm(found: Sequence[Judged], settings: Settings) -> float:
    """The largest chance that is certain enough for any series by itself."""
    best = sorted(
        min(step.p for step in judged.steps if step.confirmed)
        for judged in found
        if any(step.confirmed for step in judged.steps)
    )
    total = sum(judged.judged for judged in found)
    for rank, p in enumerate(best):
        allowed = settings.family / 2 / (total - rank)
        if p > allowed:
            # All steps are held to what the next series would have had to reach.
            return min(settings.alone, allowed)
    return settings.alone


def _commits(
    found: Sequence[Judged], commits: Sequence[Labels], settings: Settings
) -> dict[tuple[int, bool], float]:
    """For each commit at which something became worse or better (by sign) the largest chance that
    belongs to it."""
    chances: dict[tuple[int, bool], list[float]] = defaultdict(list)
    for judged, places in zip(found, commits, strict=True):
        for step in judged.steps:
            if step.confirmed:
                for place, p in enumerate(step.chances, start=step.earliest):
                    chances[int(places[place]), step.size > 0].append(p)
    total = sum(judged.judged for judged in found)
    common = {}
    for key, values in chances.items():
        ordered = np.sort(values)
        rates = total * ordered / np.arange(1, len(ordered) + 1)
        if rates.min() <= settings.family / 2:
            common[key] = float(ordered[rates <= settings.family].max())
    return common
