"""How much a kernel's time varies between processes, learnt from the whole table.

Two to five processes say little about one kernel's variance, a table a lot about the variances
there are: so each is pulled towards what kernels of its duration usually show, by as much as they
differ (Smyth 2004; docs/comparing.md). Variances are of the logarithm of a process's median: ``s² /
σ₀²(ms) ~ F(d, d₀)`` with ``d`` degrees of freedom and ``d₀``, which says how alike kernels are.
Then ``(d₀ σ₀² + d s²) / (d₀ + d)`` makes ``effect ÷ its standard error`` a t with ``d₀ + d``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from harness.measure.noise import median
from harness.measure.noise.processes import NORMAL

Floats: TypeAlias = NDArray[np.float64]

LEAST_KERNELS = 8
"""Kernels from which a table says more about variances than the stated default does."""
_TREND_KERNELS = 30
"""Kernels from which the variance may follow a kernel's duration by a parabola."""
_LEAST_DF, _MOST_DF = 1.0, 100.0
"""Bounds of the prior's degrees of freedom: below one a variance has no scale at all; a hundred
cannot be told from infinity by a few hundred kernels."""
FLOOR = 1e-10
"""Least variance: a standard deviation of 0.001 %, finer than any timer here. Medians of
processes can agree to the last digit that the timer has."""
_HUBER = 1.345
"""Tuning constant of Huber's weights: 95 % efficient where the residuals are normal."""

_SETTLED = 1e-6
"""Weights that change by less than this have been found."""

DEFAULT_DF = 3.0
"""Weight of the stated default in degrees of freedom: kernels differ much in their noise."""
OLD_METHOD = "events-cold-l2/1"
_DEFAULTS = {OLD_METHOD: (0.007, 1e-4)}
_DEFAULT = (0.0015, 5e-5)
"""Where nothing has been learnt, the standard deviation between processes: a share of the time, and
milliseconds. Measured on an H100 (docs/measurements/comparing.md), rounded up: by the old method
between two runs of 187 unchanged kernels, since then between three processes of 252."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What is known of a kernel's variance before it is measured.

    ``log σ₀²`` is a polynomial (``trend``, lowest power first) in ``log ms - centre``, within the
    durations it was fitted to (``shortest``, ``longest``). Without a ``trend`` σ₀ is the stated
    default: ``share`` of the time and ``tick`` milliseconds.
    ``df`` is its weight in degrees of freedom, ``kernels`` how many it was learnt from.

    Kernels whose samples scatter more than others' of their duration inside a process do so between
    processes as well: ``log σ₀²`` has ``slope`` times their lead added, which is the logarithm of
    a median's squared error less ``usual``, a polynomial like ``trend``."""

    df: float
    kernels: int = 0
    trend: tuple[float, ...] = ()
    centre: float = 0.0
    shortest: float = 0.0
    longest: float = np.inf
    share: float = _DEFAULT[0]
    tick: float = _DEFAULT[1]
    slope: float = 0.0
    usual: tuple[float, ...] = ()

    def variance(self, ms: Floats, within: Floats | None = None) -> Floats:
        """σ₀² of kernels that take ``ms`` milliseconds. ``within``: the squared relative error of
        the median of one process (NaN where unknown); without it as of the usual kernel."""
        if not self.trend:
            return self.share**2 + (self.tick / ms) ** 2
        x = np.log(np.clip(ms, self.shortest, self.longest)) - self.centre
        found = np.polynomial.polynomial.polyval(x, np.array(self.trend))
        if self.usual and within is not None:
            found = found + self.slope * _lead(x, within, np.array(self.usual))
        return np.asarray(np.exp(found))


def stated(method: str = "") -> Prior:
    """The prior of a table too small to learn from, measured by ``method``."""
    share, tick = _DEFAULTS.get(method, _DEFAULT)
    return Prior(DEFAULT_DF, share=share, tick=tick)


def _lead(x: Floats, within: Floats, usual: Floats) -> Floats:
    """By how much the logarithm of ``within`` is above the usual of its duration; 0 if unknown."""
    known = np.isfinite(within)
    logs = np.log(np.maximum(np.where(known, within, 1.0), FLOOR))
    return np.where(known, logs - np.polynomial.polynomial.polyval(x, usual), 0.0)


def fit_prior(ms: Floats, variances: Floats, df: Floats, within: Floats | None = None) -> Prior:
    """The prior that ``variances`` with ``df`` degrees of freedom each suggest for kernels that
    take ``ms`` milliseconds and whose medians' squared errors are ``within`` (NaN: unknown).
    Kernels without degrees of freedom are left out; the stated default if fewer than
    ``LEAST_KERNELS`` are left."""
    used = df > 0
    if int(used.sum()) < LEAST_KERNELS:
        return stated()
    ms, variances, df = ms[used], np.maximum(variances[used], FLOOR), df[used]
    x = np.log(ms)
    centre = float(x.mean())
    x = x - centre
    # log s² is log σ² plus the logarithm of a chi-square over d, whose mean is known.
    observed = np.log(variances) - (scipy.special.digamma(df / 2) - np.log(df / 2))
    degree = 2 if len(ms) >= _TREND_KERNELS and float(np.ptp(x)) > 0 else 0
    slope, usual, lead = 0.0, np.zeros(0), np.zeros_like(x)
    if within is not None and degree:
        slope, usual, lead = _slope(x, observed, within[used], degree)
    trend = _robust_polynomial(x, observed - slope * lead, degree)
    ratio = variances / np.exp(np.polynomial.polynomial.polyval(x, trend) + slope * lead)
    shift, prior_df = _most_likely(ratio, df)
    trend[0] += shift
    return Prior(
        prior_df,
        len(ms),
        tuple(float(c) for c in trend),
        centre,
        float(ms.min()),
        float(ms.max()),
        slope=slope,
        usual=tuple(float(c) for c in usual),
    )


def _slope(
    x: Floats, observed: Floats, within: Floats, degree: int
) -> tuple[float, Floats, Floats]:
    """How strongly the variance between processes follows the scatter inside them (0: not at
    all, 1: in proportion), the usual logarithm of the latter, and each kernel's lead over it."""
    known = np.isfinite(within)
    if int(known.sum()) < _TREND_KERNELS:
        return 0.0, np.zeros(0), np.zeros_like(x)
    usual = _robust_polynomial(x[known], np.log(np.maximum(within[known], FLOOR)), degree)
    lead = _lead(x, within, usual)
    # Both without what follows from the duration: the slope of what is left is the partial one.
    rest = observed - np.polynomial.polynomial.polyval(x, _robust_polynomial(x, observed, degree))
    slope = robust_fit(np.column_stack([np.ones(int(known.sum())), lead[known]]), rest[known])[0][1]
    return float(np.clip(slope, 0.0, 1.0)), usual, lead


def _robust_polynomial(x: Floats, y: Floats, degree: int) -> Floats:
    """Coefficients, lowest power first, by Huber's weights."""
    return robust_fit(np.vander(x, degree + 1, increasing=True), y)[0]


def robust_fit(basis: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Coefficients of ``basis`` (a column each) by Huber's weights, and these."""
    weights = np.ones_like(y)
    found: Floats = np.zeros(basis.shape[1])
    for _ in range(30):
        root = np.sqrt(weights)
        found = np.asarray(np.linalg.lstsq(basis * root[:, None], y * root, rcond=None)[0])
        residual = np.abs(y - basis @ found)
        scale = middle(residual) / 0.6745
        if scale == 0:
            break
        before, weights = weights, np.minimum(1.0, _HUBER * scale / np.maximum(residual, 1e-12))
        if np.abs(weights - before).max() < _SETTLED:
            break
    return np.asarray(found, dtype=np.float64), weights


def middle(values: Floats) -> float:
    """The median of a row, bit by bit numpy's, which takes ten times as long for short ones."""
    low, high = (len(values) - 1) // 2, len(values) // 2
    parts = np.partition(values, (low, high))
    return float((parts[low] + parts[high]) / 2)


def _most_likely(ratio: Floats, df: Floats) -> tuple[float, float]:
    """The shift of ``log σ₀²`` and the ``d₀`` under which ``ratio ~ F(df, d₀)`` is likeliest. A
    grid, refined three times: the likelihood has one peak, and grids need no derivatives."""
    shift, size = 0.0, float(np.log(_MOST_DF * _LEAST_DF)) / 2
    reach_shift, reach_size = 2.0, float(np.log(_MOST_DF / _LEAST_DF)) / 2
    for _ in range(4):
        shifts = shift + np.linspace(-reach_shift, reach_shift, 13)
        sizes = np.clip(
            size + np.linspace(-reach_size, reach_size, 13), np.log(_LEAST_DF), np.log(_MOST_DF)
        )
        scores = np.array([_log_likelihoods(ratio, df, shifts, float(np.exp(z))) for z in sizes])
        row, column = np.unravel_index(int(np.argmax(scores)), scores.shape)
        shift, size = float(shifts[column]), float(sizes[row])
        reach_shift, reach_size = reach_shift / 5, reach_size / 5
    return shift, float(np.exp(size))


def _log_likelihoods(ratio: Floats, df: Floats, shifts: Floats, prior_df: float) -> Floats:
    """Of the logarithm of ``ratio``, as ``exp(shift)`` times F(df, prior_df), by shift."""
    scaled = df * ratio / prior_df
    odds = np.exp(-shifts)[:, None] * scaled
    fixed = float((df / 2 * np.log(scaled) - scipy.special.betaln(df / 2, prior_df / 2)).sum())
    return np.asarray(fixed - shifts * float(df.sum()) / 2 - np.log1p(odds) @ (df + prior_df) / 2)


def moderated(
    expected: Floats, prior_df: Floats, variances: Floats, df: Floats
) -> tuple[Floats, Floats]:
    """Each kernel's moderated variance and its degrees of freedom, ``expected`` being σ₀² and
    ``prior_df`` its weight. ``variances`` of kernels with no degrees of freedom count for nothing.
    """
    own = np.where(df > 0, variances, 0.0)
    total = prior_df + df
    return (prior_df * expected + df * own) / total, total


_FREEDOMS = np.geomspace(1.0, 1e6, 300)


def student(weights: Floats, errors: Floats, df: Floats, rare: float) -> tuple[Floats, Floats]:
    """Standard errors and degrees of freedom of Student's t that is exceeded (on either side) in
    5 % and in a share of ``rare`` of cases where a mixture is: of t with ``errors`` and ``df``
    (a row for each part), by ``weights``."""
    usual = 0.05
    at = []
    for chance in (usual, rare):
        each = scipy.special.stdtrit(df, 1 - chance / 2) * errors
        low, high = each.min(axis=0), each.max(axis=0)
        for _ in range(25):
            middle = np.sqrt(low * high)
            above = weights @ scipy.special.stdtr(df, -middle / errors) * 2 > chance
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        at.append(np.sqrt(low * high))
    reach = scipy.special.stdtrit
    ratios = reach(_FREEDOMS, 1 - rare / 2) / reach(_FREEDOMS, 1 - usual / 2)
    freedom = np.exp(np.interp(at[1] / at[0], ratios[::-1], np.log(_FREEDOMS)[::-1]))
    return at[0] / reach(freedom, 1 - usual / 2), freedom


def medians(series: Sequence[Sequence[float]]) -> tuple[Floats, Floats]:
    """The median of each of ``series`` and its standard error relative to it, from its interval
    (``median.intervals``: neighbours that hang together are not counted as independent; 0 for fewer
    than two samples). Those of one length are computed together."""
    errors, middles = np.zeros(len(series)), np.zeros(len(series))
    lengths = np.array([len(samples) for samples in series])
    for length in np.unique(lengths):
        mine = np.flatnonzero(lengths == length)
        values = np.array([series[int(n)] for n in mine], np.float64)
        middles[mine] = middle = np.median(values, axis=1)
        if length > 1:
            low, high, _ = median.intervals(values)
            known = middle > 0
            errors[mine[known]] = ((high - low) / 2 / NORMAL)[known] / middle[known]
    return middles, errors
