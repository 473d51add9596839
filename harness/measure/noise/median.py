"""How well a median is known, and whether it stood still: statistics of one measurement.

Samples taken one after the other are not independent (clocks wander, other work comes and
goes), have outliers on one side and sometimes two levels. So the interval is built from
ranks, which need no shape of distribution: whether a sample lies below the median is a coin
toss, and how far the share of such samples strays from one half is estimated from means of
consecutive batches, which keeps the correlation between neighbours in. Coverage is tested
by simulation (``tests/measure/noise/test_median.py``).

Everything takes an array of series (..., n) in the unit of its samples; pure functions.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy  # its parts are loaded where they are used: compiling a model uses none

Array: TypeAlias = npt.NDArray[np.float64]

LEVEL = 0.95
"""Confidence that an interval is made for."""
FIRST_LOOK = 40
"""Samples before the interval is looked at for the first time: below, batches are so short
that coverage is off by more than 1 %."""
QUICK_LOOK = 10
"""The same where few are asked for: below ``FIRST_LOOK`` all have to lie close together."""
_GROWTH = 1.5
_BATCHES = 20
_FEWEST = 20
"""Below this many samples batches are too short to say anything of the correlation, and the
interval is that of independent samples."""
_STERNER = 0.962
"""What an interval is made for once it was looked at more than twice: stopping at the first
one that is narrow enough favours those that are too narrow, by about 1.5 %."""
CLEAR, CLEAR_SHARE = 0.98, 0.5
"""An interval made for that, narrower than that share of what is asked for, needs no second look:
one that is narrow by luck is still wide enough (simulated: it holds in 93.9 to 98.2 %)."""
_LENGTH = 25.0
"""Samples, in units of the correlation's inflation, from which an interval can be believed."""
_STRONGEST = 0.97
_TREND_Z = 2.8
"""Standard normal quantile of the trend test: 0.5 % false alarms on independent samples."""
_TREND_LENGTH = 2.0
_FEWEST_BATCHES = 8


def level(looked: int) -> float:
    """What intervals are made for that were asked for so often as the series grew."""
    return LEVEL if looked < 3 else _STERNER


def interval(samples: Sequence[float] | Array, level: float = LEVEL) -> tuple[float, float, bool]:
    """The interval of one series of at least one sample that is made for ``level``, and whether
    there were enough, given how they depend on each other, to believe it."""
    x = np.asarray(samples, dtype=np.float64)
    low, high, inflation = intervals(x[None, :], level)
    enough = x.size >= max(FIRST_LOOK, _LENGTH * float(inflation[0]))
    return float(low[0]), float(high[0]), enough


def intervals(x: Array, level: float = LEVEL) -> tuple[Array, Array, Array]:
    """Low ends, high ends and inflations for series ``x`` (series, n), n at least 1."""
    (count, n), ordered = x.shape, np.sort(x, axis=1)
    if n < _FEWEST:
        # The order statistic at which the interval of independent samples begins. (No level that is
        # asked for lies where rounding decides: on a whole number of 2**-n.)
        first = max(0, int(np.ceil(scipy.special.bdtrik((1 - level) / 2, n, 0.5))) - 1)
        return ordered[:, first], ordered[:, n - 1 - first], np.ones(count)
    batches = min(_BATCHES, n // 2)
    length = n // batches
    inflation = _inflation(x, ordered, batches, length)
    half = _t(level, batches, length) * np.sqrt(inflation / n) / 2
    low = _at(ordered, (n + 1) * 0.5 - half * n)
    return low, _at(ordered, (n + 1) * 0.5 + half * n), inflation


def looks(most: int, first: int = FIRST_LOOK) -> list[int]:
    """Sample counts at which to look whether the interval is narrow enough, up to ``most``. Few and
    growing: each look is another chance to stop at an interval that is too narrow by luck. For the
    same reason an interval has to be narrow enough at two looks in a row, or ``CLEAR``."""
    found = [min(first, most)]
    while found[-1] < most:
        found.append(min(most, int(found[-1] * _GROWTH)))
    return found


def drift(samples: Sequence[float] | Array, least: float) -> str:
    """How the samples moved: empty, or ``rising 1.2 %``, ``falling 0.8 %``.

    Kendall's rank correlation of batch medians with time decides whether there is a trend
    (the batches are long compared with the correlation between neighbours), Theil and Sen's
    slope says how large. Movements below ``least`` (a share of the median) are not reported."""
    x = np.asarray(samples, dtype=np.float64)
    middle = float(np.median(x))
    if x.size < FIRST_LOOK or middle == 0:
        return ""
    # The trend itself must not count as correlation between neighbours.
    slope = _trend(_batch_medians(x, _BATCHES))[0] / (x.size // _BATCHES)
    flat = x - slope * np.arange(x.size)
    inflation = max(1.0, float(intervals(flat[None, :])[2][0]))
    batches = int(min(_BATCHES, x.size / (_TREND_LENGTH * inflation)))
    if batches < _FEWEST_BATCHES:
        return ""
    moved = slope * x.size / middle
    if abs(moved) < least or _trend(_batch_medians(x, batches))[1] <= _TREND_Z:
        return ""
    return f"{'rising' if moved > 0 else 'falling'} {100 * abs(moved):.1f} %"


def _trend(values: Array) -> tuple[float, float]:
    """Theil and Sen's slope of ``values`` by their places, and Kendall's rank correlation with
    these as a normal deviate (Mann's test, for values that may agree)."""
    n = len(values)
    early, late = np.triu_indices(n, 1)
    steps = values[late] - values[early]
    alike = np.unique(values, return_counts=True)[1]
    less = (alike * (alike - 1) * (2 * alike + 5)).sum()
    variance = max(1, n * (n - 1) * (2 * n + 5) - less) / 18
    strength = abs(np.sign(steps).sum()) / np.sqrt(variance)
    return float(np.median(steps / (late - early))), float(strength)


def _batch_medians(x: Array, batches: int) -> Array:
    length = x.size // batches
    return np.median(x[x.size - batches * length :].reshape(batches, length), axis=1)


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
    return seen * np.interp(_neighbours(x), grid, ratios)


def _neighbours(x: Array) -> Array:
    """Correlation of normal scores of neighbouring samples, at least 0."""
    n = x.shape[1]
    scores = np.empty_like(x)
    normal = scipy.special.ndtri(np.arange(1, n + 1) / (n + 1))[None, :]
    np.put_along_axis(scores, np.argsort(x, axis=1), normal, axis=1)
    products = (scores[:, 1:] * scores[:, :-1]).sum(axis=1)
    return np.clip(products / (scores**2).sum(axis=1) + 1 / n, 0.0, _STRONGEST)


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
    spread = 2 / (batches - 1) - 2 / (length * batches)
    return float(scipy.special.stdtrit(2 / spread, 0.5 + level / 2))


def _at(ordered: Array, rank: Array) -> Array:
    """Ordered values at fractional ranks counted from 1, one for each series."""
    n = ordered.shape[1]
    position = np.clip(rank - 1, 0, n - 1)
    below = np.floor(position).astype(np.intp)
    rows = np.arange(len(ordered))
    above = np.minimum(below + 1, n - 1)
    share = position - below
    return ordered[rows, below] * (1 - share) + ordered[rows, above] * share


def is_narrow(samples: Sequence[float] | Array, width: float, level: float = LEVEL) -> bool:
    """Whether the median is known to ``width`` times itself: by an interval that can be
    believed, or because nearly all samples, of few ones all, lie that close together, whatever
    their order."""
    tail = 0.025 if len(samples) >= FIRST_LOOK else 0.0
    first, middle, last = np.quantile(samples, (tail, 0.5, 1 - tail)).tolist()
    most = width * abs(middle)
    low, high, enough = (first, last, True) if last - first <= most else interval(samples, level)
    return enough and high - low <= most
