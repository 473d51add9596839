"""How well a median is known, and whether it stood still: statistics of one measurement.

Samples taken one after the other are not independent (clocks wander, other work comes and
goes), have outliers on one side and sometimes two levels. So the interval is built from
ranks, which need no shape of distribution: whether a sample lies below the median is a coin
toss, and how far the share of such samples strays from one half is estimated from means of
consecutive batches, which keeps the correlation between neighbours in. Coverage is tested
by simulation (``tests/measure/noise/test_median.py``).

Besides a trend (``drift``) the samples may have been at another level for a while: a late step, a
hump, a slow wave, which a test for a trend does not see (``shift``).

Everything takes an array of series (..., n) in the unit of its samples; pure functions.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]

LEVEL = 0.95
"""Confidence that an interval is made for."""
FIRST_LOOK = 40
"""Samples before the interval is looked at for the first time: below, batches are so short
that coverage is off by more than 1 %."""
_GROWTH = 1.5
_BATCHES = 20
_FEWEST = 20
"""Below this many samples batches are too short to say anything of the correlation, and the
interval is that of independent samples."""
_STERNER = 0.962
"""What an interval is made for once it was looked at more than twice: stopping at the first
one that is narrow enough favours those that are too narrow, by about 1.5 %."""
_LENGTH = 25.0
"""Samples, in units of the correlation's inflation, from which an interval can be believed."""
_STRONGEST = 0.97
_TREND_Z = 2.8
"""Standard normal quantile of the trend test: 0.5 % false alarms on independent samples."""
_TREND_LENGTH = 2.0
_FEWEST_BATCHES = 8
_EDGE = 0.1
"""Share of the samples that a stretch has at least and leaves at least."""
_FEWEST_STRETCH = 3
_SAMPLES = 40
"""Fewest that say anything."""
_COUNTS = (15, 20, 25, 30, 40, 50, 60)
_LIMITS = (3.18, 3.46, 3.59, 3.66, 3.86, 3.93, 4.02)
"""By number of batches, what the largest standardised rank sum exceeds in 0.5 % of random orders
(25 000 to 60 000 drawn for each)."""
_INDEPENDENT = 0.15
"""Correlation of neighbours up to which they are taken for independent."""
_SHIFT_LENGTH = 3.0
"""Batches, in units of (1 + r) / (1 - r), the variance that correlated neighbours add to a mean."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval of a median. ``inflation`` is how many times more samples it took
    than independent ones would have (1: independent); ``enough`` says whether there were
    enough samples, given that, to believe the interval."""

    low: float
    high: float
    inflation: float
    enough: bool


def interval(samples: Sequence[float] | Array, looked: int = 0) -> Interval:
    """The 95 % interval of one series of at least one sample. ``looked`` is how often this
    was asked before as the series grew."""
    x = np.asarray(samples, dtype=np.float64)
    low, high, inflation = intervals(x[None, :], level_of(looked))
    enough = x.size >= max(FIRST_LOOK, _LENGTH * float(inflation[0]))
    return Interval(float(low[0]), float(high[0]), float(inflation[0]), enough)


def level_of(looked: int) -> float:
    """The level to make an interval for so that it holds with ``LEVEL``, after ``looked``
    earlier looks."""
    return LEVEL if looked < 2 else _STERNER


def intervals(x: Array, level: float = LEVEL) -> tuple[Array, Array, Array]:
    """Low ends, high ends and inflations for series ``x`` (series, n), n at least 1."""
    count, n = x.shape
    ordered = np.sort(x, axis=1)
    if n < _FEWEST:
        first = _first_rank(level, n)
        return ordered[:, first], ordered[:, n - 1 - first], np.ones(count)
    batches = min(_BATCHES, n // 2)
    length = n // batches
    inflation = _inflation(x, ordered, batches, length)
    half = _t(level, batches, length) * np.sqrt(inflation / n) / 2
    low = _at(ordered, (n + 1) * 0.5 - half * n)
    high = _at(ordered, (n + 1) * 0.5 + half * n)
    return low, high, inflation


def looks(most: int) -> list[int]:
    """Sample counts at which to look whether the interval is narrow enough, up to ``most``. Few and
    growing: each look is another chance to stop at an interval that is too narrow by luck. For the
    same reason an interval has to be narrow enough at two looks in a row."""
    found = [min(FIRST_LOOK, most)]
    while found[-1] < most:
        found.append(min(most, int(found[-1] * _GROWTH)))
    return found


def drift(samples: Sequence[float] | Array, least: float) -> str:
    """How the samples moved: empty, or ``rising 1.2 %``, ``falling 0.8 %``.

    Kendall's rank correlation of batch medians with time decides whether there is a trend
    (the batches are long compared with the correlation between neighbours), Theil and Sen's
    slope says how large. Movements below ``least`` (a share of the median) are not reported."""
    from scipy import stats

    x = np.asarray(samples, dtype=np.float64)
    middle = float(np.median(x))
    if x.size < FIRST_LOOK or middle == 0:
        return ""
    # The trend itself must not count as correlation between neighbours.
    slope = float(stats.theilslopes(_batch_medians(x, _BATCHES))[0]) / (x.size // _BATCHES)
    flat = x - slope * np.arange(x.size)
    inflation = max(1.0, float(intervals(flat[None, :])[2][0]))
    batches = int(min(_BATCHES, x.size / (_TREND_LENGTH * inflation)))
    if batches < _FEWEST_BATCHES:
        return ""
    medians = _batch_medians(x, batches)
    if np.ptp(medians) == 0:
        return ""
    found = stats.kendalltau(np.arange(batches), medians)
    if not float(found.pvalue) < 2 * float(stats.norm.sf(_TREND_Z)):
        return ""
    moved = slope * x.size / middle
    if abs(moved) < least:
        return ""
    return f"{'rising' if moved > 0 else 'falling'} {100 * abs(moved):.1f} %"


def _batch_medians(x: Array, batches: int) -> Array:
    length = x.size // batches
    found: Array = np.median(x[x.size - batches * length :].reshape(batches, length), axis=1)
    return found


def _inflation(x: Array, ordered: Array, batches: int, length: int) -> Array:
    """Variance of the share of samples below the median, over that of independent samples. From
    batch means; what short batches miss of the correlation is put back by the ratio that a Gaussian
    autoregression of the observed strength would have."""
    n = x.shape[1]
    middle = _at(ordered, np.full(len(x), (n + 1) * 0.5))[:, None]
    below = (x < middle) + 0.5 * (x == middle)
    means = below[:, n - batches * length :].reshape(len(x), batches, length).mean(axis=2)
    seen = 4 * length * means.var(axis=1, ddof=1)
    grid, ratios = _missing(batches, length)
    corrected: Array = seen * np.interp(_neighbours(x), grid, ratios)
    return corrected


def _neighbours(x: Array) -> Array:
    """Correlation of normal scores of neighbouring samples, at least 0."""
    from scipy import special

    n = x.shape[1]
    scores = np.empty_like(x)
    np.put_along_axis(
        scores, np.argsort(x, axis=1), special.ndtri(np.arange(1, n + 1) / (n + 1))[None, :], axis=1
    )
    products = (scores[:, 1:] * scores[:, :-1]).sum(axis=1)
    found: Array = np.clip(products / (scores**2).sum(axis=1) + 1 / n, 0.0, _STRONGEST)
    return found


@functools.lru_cache(maxsize=64)
def _missing(batches: int, length: int) -> tuple[Array, Array]:
    """Strengths of an autoregression, and for each the long-run variance of the coin tosses
    over what batch means of that length show of it."""
    n = batches * length
    lags = np.arange(1, n)
    grid = np.linspace(0.0, _STRONGEST, 98)
    # Two jointly normal values of correlation r are on the same side of their medians with
    # probability 1/2 + arcsin(r)/pi (Sheppard 1899).
    tosses = 2 / np.pi * np.arcsin(grid[:, None] ** lags)
    short = (1 + 2 * ((1 - lags[: length - 1] / length) * tosses[:, : length - 1]).sum(1)) / length
    whole = (1 + 2 * ((1 - lags / n) * tosses).sum(1)) / n
    return grid, n * whole / (length * batches / (batches - 1) * (short - whole))


@functools.lru_cache(maxsize=64)
def _t(level: float, batches: int, length: int) -> float:
    """Student's quantile. Means of a few coin tosses have light tails (excess kurtosis
    -2/length), so their variance is known better than that of normal values."""
    from scipy import special

    spread = 2 / (batches - 1) - 2 / (length * batches)
    return float(special.stdtrit(2 / spread, 0.5 + level / 2))


def _first_rank(level: float, n: int) -> int:
    """Position (from 0) of the order statistic at which the interval of ``n`` independent
    samples begins; 0, the whole range, for the fewest."""
    from scipy import special  # the distributions of scipy.stats take a second to import

    tail = (1 - level) / 2
    rank = int(np.ceil(special.bdtrik(tail, n, 0.5)))
    if rank and special.bdtr(rank - 1, n, 0.5) >= tail:
        rank -= 1
    return max(0, rank - 1)


def _at(ordered: Array, rank: Array) -> Array:
    """Ordered values at fractional ranks counted from 1, one for each series."""
    n = ordered.shape[1]
    position = np.clip(rank - 1, 0, n - 1)
    below = np.floor(position).astype(np.intp)
    rows = np.arange(len(ordered))
    above = np.minimum(below + 1, n - 1)
    share = position - below
    found: Array = ordered[rows, below] * (1 - share) + ordered[rows, above] * share
    return found


def is_narrow(samples: Sequence[float] | Array, width: float, looked: int = 0) -> bool:
    """Whether the median is known to ``width`` times itself: by an interval that can be
    believed, or because nearly all samples lie that close together, whatever their order."""
    x = np.asarray(samples, dtype=np.float64)
    low, middle, high = np.quantile(x, (0.025, 0.5, 0.975))
    most = width * abs(float(middle))
    if float(high - low) <= most and x.size >= FIRST_LOOK:
        return True
    found = interval(x, looked)
    return found.enough and found.high - found.low <= most


def shift(samples: Sequence[float] | Array, least: float) -> str:
    """Empty, or ``stepping up 1.2 %`` (the later level over the earlier one), ``1.2 % higher for a
    while``. What moves by less than ``least`` (a share of the median) is not reported. Of
    measurements where nothing moved 0.5 % are flagged if samples are independent, at most 5 %
    if neighbours are correlated by 0.3 to 0.8.

    Of all stretches of a tenth to nine tenths of the samples the one whose ranks stand out most
    from the rest is found (rank-sum test, Mann and Whitney 1947; a stretch that reaches an end is
    a step). Neighbours that are alike also make stretches that stand out; so the test is made on
    medians of batches that are long compared with the correlation between neighbours, as it is once
    the stretch is moved back to the others' level. What comes and goes several times counts as
    correlation, and widens the interval of the median instead."""
    x = np.asarray(samples, dtype=np.float64)
    middle = float(np.median(x))
    if x.size < _SAMPLES or middle == 0 or np.ptp(x) == 0:
        return ""
    coarse = _even_batch_medians(x, min(_COUNTS[-1], x.size))
    begin, end, _ = _stretch(coarse)
    batches = int(x.size / _batch_length(x, _inside(x.size, begin, end, coarse.size)))
    if batches < _COUNTS[0]:
        return ""
    medians = _even_batch_medians(x, min(batches, _COUNTS[-1]))
    begin, end, height = _stretch(medians)
    if height <= float(np.interp(medians.size, _COUNTS, _LIMITS)):
        return ""
    inside = _inside(x.size, begin, end, medians.size)
    moved = float(np.median(x[inside]) - np.median(x[~inside])) / middle
    return _said(moved, begin == 0, end == medians.size) if abs(moved) >= least else ""


def _said(moved: float, at_begin: bool, at_end: bool) -> str:
    size = f"{100 * abs(moved):.1f} %"
    if at_begin or at_end:
        return f"stepping {'up' if (moved > 0) == at_end else 'down'} {size}"
    return f"{size} {'higher' if moved > 0 else 'lower'} for a while"


def _stretch(x: Array) -> tuple[int, int, float]:
    """The stretch (its begin, its end) whose ranks differ most from the others', and how much, in
    standard deviations."""
    n = x.size
    ranks = np.argsort(np.argsort(x, kind="stable"), kind="stable") + 1.0
    sums = np.concatenate([[0.0], np.cumsum(ranks - (n + 1) / 2)])
    edge = max(_FEWEST_STRETCH, int(np.ceil(_EDGE * n)))
    lengths = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    possible = (lengths >= edge) & (lengths <= n - edge)
    spread = np.sqrt(np.maximum(lengths * (n - lengths), 1) * (n + 1) / 12)
    heights = np.where(possible, np.abs(sums[None, :] - sums[:, None]) / spread, 0.0)
    begin, end = np.unravel_index(int(np.argmax(heights)), heights.shape)
    return int(begin), int(end), float(heights[begin, end])


def _inside(size: int, begin: int, end: int, batches: int) -> npt.NDArray[np.bool_]:
    """Which of ``size`` samples lie in the stretch of batches."""
    at = np.arange(size) * batches / size
    found: npt.NDArray[np.bool_] = (at >= begin) & (at < end)
    return found


def _batch_length(x: Array, inside: npt.NDArray[np.bool_]) -> float:
    """Samples to a batch, so that batches are about independent once ``inside`` is moved back."""
    from scipy import special

    flat = x - np.where(inside, np.median(x[inside]) - np.median(x[~inside]), 0.0)
    n = x.size
    scores = special.ndtri((np.argsort(np.argsort(flat)) + 1) / (n + 1))
    r = float((scores[1:] * scores[:-1]).sum() / (scores**2).sum())
    r = min(_STRONGEST, r + (1 + 4 * max(r, 0.0)) / n)  # its bias (Kendall 1954)
    return 1.0 if r < _INDEPENDENT else _SHIFT_LENGTH * (1 + r) / (1 - r)


def _even_batch_medians(x: Array, batches: int) -> Array:
    """Medians of about equally long batches, of all samples."""
    if batches == x.size:
        return x
    edges = np.searchsorted(np.arange(x.size) * batches / x.size, np.arange(1, batches))
    return np.array([np.median(part) for part in np.split(x, edges)])
