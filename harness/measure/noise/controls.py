"""What moves all kernels together: offsets of a process or of a run, as a function of duration.

A device that launches 20 ns later slows a 2 µs kernel by 1 % and a 60 µs kernel not at all; a
lower clock slows all by the same share. So an offset is a curve over the logarithm of the
duration: a natural cubic spline with few knots, fitted robustly, because some of the kernels that
it is fitted to moved for reasons of their own. docs/comparing.md says what is done with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from harness.measure.noise.variance import Floats, middle, robust_fit

LEAST = 8
"""Kernels that cannot have changed from which an offset is fitted, and the noise about it."""
_KNOTS = ((16, 1), (40, 2), (100, 3), (1000, 4))
"""Fewer kernels than the first get as many knots as the second; more than all get five."""
_NARROW = 0.5
"""Durations that differ by less than this (log) show no dependence on duration."""
_BISQUARE, _LOSS = 4.685, 1.05
"""Tukey's tuning constant, and what its weights lose in variance where residuals are normal (95 %
efficient)."""
_OUTLIER = 5.0
"""Controls that lie so many robust deviations off moved for a reason of their own: 1 in 2 million
normal values does."""
_REACH = 1.5
"""An outlier may be so much larger than the largest seen."""
_TAILS = {2.0: 2.0, 4.0: 4.0, 10.0: 10.0, 100.0: 300.0}
"""Degrees of freedom that the tail of what moves between runs may have, and how likely each is
taken to be: recorded boards speak for light ones (docs/measurements/verdicts.md). None is a
normal one, which no number of controls could show as far out as a large table looks."""
_FINER = 8
"""Parts of a step of the grid over which likelihoods are looked up."""
_PART = 1e-4
"""Tails that are less likely than this share of the likeliest change no verdict."""
_ABSOLUTE_FROM = 16
"""Controls from which an absolute part of what moves between runs is looked for."""
_ABSOLUTE = np.geomspace(0.02, 2.0, 12)
"""What it may be: shares of the largest residual where a tenth of the controls are shorter."""


@dataclass(frozen=True, slots=True, eq=False)
class Offset:
    """A log offset by duration: its ``values`` at ``knots`` (log ms) with their ``covariance``,
    fitted to ``kernels``. Beyond the outer knots it stays as it is, and its variance grows by the
    square of what the slope there would make of the distance."""

    knots: Floats
    values: Floats
    covariance: Floats
    kernels: int

    def at(self, ms: Floats) -> Floats:
        """The log offset of kernels that take ``ms`` milliseconds."""
        return np.asarray(_basis(np.log(ms), self.knots) @ self.values)

    def variance(self, ms: Floats) -> Floats:
        """The variance of ``at``."""
        x = np.log(ms)
        basis = _basis(x, self.knots)
        known = np.einsum("ij,jk,ik->i", basis, self.covariance, basis)
        if len(self.knots) < 2:
            return np.asarray(known)
        slopes = np.diff(self.values) / np.diff(self.knots)
        below = np.maximum(self.knots[0] - x, 0) * slopes[0]
        above = np.maximum(x - self.knots[-1], 0) * slopes[-1]
        return np.asarray(known + below**2 + above**2)


def fit_offset(ms: Floats, differences: Floats) -> Offset:
    """The offset that log ``differences`` of at least one kernel share, by duration."""
    x = np.log(ms)
    knots = _knots(x)
    basis = _basis(x, knots)
    values, weights = robust_fit(basis, differences)
    for _ in range(10):  # from there without those that moved alone: Tukey's weights
        residuals = np.abs(differences - basis @ values)
        scale = max(middle(residuals) / 0.6745, 1e-9)
        weights = np.maximum(0.0, 1 - (residuals / (_BISQUARE * scale)) ** 2) ** 2
        root = np.sqrt(weights)
        solved = np.linalg.lstsq(basis * root[:, None], differences * root, rcond=None)
        values = np.asarray(solved[0], dtype=np.float64)
    # Short kernels scatter more than long ones: the residuals themselves say how much (White).
    inverse = np.linalg.pinv((basis * weights[:, None]).T @ basis)
    scores = basis * (weights * (differences - basis @ values))[:, None]
    left = max(1, len(x) - len(knots))
    covariance = inverse @ (scores.T @ scores) @ inverse * (_LOSS * len(x) / left)
    return _flattened(Offset(knots, values, covariance, len(x)))


def _flattened(curve: Offset) -> Offset:
    """``curve`` drawn towards a constant as far as chance may have bent it (James and Stein)."""
    more = len(curve.knots) - 1
    inverse = np.linalg.pinv(curve.covariance)
    total = float(inverse.sum())
    if not more or total <= 0:  # no scatter at all
        return curve
    level = float(inverse.sum(axis=0) @ curve.values) / total
    bend = curve.values - level
    chance = min(1.0, more / max(float(bend @ inverse @ bend), 1e-12))
    covariance = (1 - chance) * curve.covariance + chance / total
    return replace(curve, values=level + (1 - chance) * bend, covariance=covariance)


def _knots(x: Floats) -> Floats:
    count = next((knots for fewer, knots in _KNOTS if len(x) < fewer), 5)
    if count == 1 or np.ptp(x) < _NARROW:
        return np.array([np.median(x)])
    return np.unique(np.quantile(x, np.linspace(0.05, 0.95, count)))


def _basis(x: Floats, knots: Floats) -> Floats:
    """A column for each knot: the natural cubic spline that is 1 there and 0 at the others; beyond
    the outermost ones as there."""
    if len(knots) == 1:
        return np.ones((len(x), 1))
    values, bends = np.eye(len(knots)), _bends(knots)
    x = np.clip(x, knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, x, "right") - 1, 0, len(knots) - 2)
    width = np.diff(knots)[left]
    b = ((x - knots[left]) / width)[:, None]
    straight = (1 - b) * values[left] + b * values[left + 1]
    bent = ((1 - b) ** 3 - (1 - b)) * bends[left] + (b**3 - b) * bends[left + 1]
    return np.asarray(straight + bent * width[:, None] ** 2 / 6)


def _bends(knots: Floats) -> Floats:
    """The second derivatives of the splines of ``_basis`` (columns) at the knots: none at the ends,
    the first derivatives continuous at the others."""
    width = np.diff(knots)
    slopes = np.diff(np.eye(len(knots)), axis=0) / width[:, None]
    system = np.eye(len(knots))
    for n in range(1, len(knots) - 1):
        system[n, n - 1 : n + 2] = width[n - 1], 2 * (width[n - 1] + width[n]), width[n]
    jumps = np.zeros_like(system)
    jumps[1:-1] = 6 * np.diff(slopes, axis=0)
    return np.asarray(np.linalg.solve(system, jumps), np.float64)


def without_process_offsets(logs: Floats) -> Floats:
    """``logs`` of a side's medians, a row for each kernel and a column for each process (NaN: not
    timed there), without what moved all kernels of one process against the other processes. One
    process has nothing to be told from."""
    there = np.isfinite(logs)
    several = there.sum(axis=1) > 1
    if int(several.sum()) < LEAST:
        return logs
    middle = np.nanmedian(logs, axis=1)
    ms, offsets = np.exp(middle), np.zeros_like(logs)
    for process, mine in enumerate((there & several[:, None]).T):
        if int(mine.sum()) >= LEAST:
            found = fit_offset(ms[mine], logs[mine, process] - middle[mine])
            offsets[several, process] = found.at(ms[several])
    return np.asarray(logs - offsets)


@dataclass(frozen=True, slots=True)
class Session:
    """How far the same kernel moves from one run to another beyond what its processes say and
    beyond what all kernels do: ``variance`` of the log difference, and beside it the variance in
    ms² that does not depend on the duration (``absolute``), under a ``tail`` of so many degrees of
    freedom, learnt from ``kernels`` that cannot have changed. ``errors``: the variances of the
    two estimates and their covariance; 0 where the number of kernels says how good they are.
    ``weight``: how likely that tail is."""

    variance: float
    kernels: int = 0
    tail: float = np.inf
    absolute: float = 0.0
    errors: tuple[float, float, float] = (0.0, 0.0, 0.0)
    weight: float = 1.0

    def at(self, ms: Floats) -> Floats:
        """The variance of the log difference of kernels that take ``ms`` milliseconds."""
        return np.asarray(self.variance + self.absolute / ms**2)

    def error(self, ms: Floats) -> Floats:
        """The variance of ``at``."""
        relative, absolute, both = self.errors
        return np.asarray(relative + absolute / ms**4 + 2 * both / ms**2)


DEFAULT_SESSION = Session(0.002**2)
"""0.2 % between two runs, where no unchanged kernel says otherwise: what intervals are printed
with. No verdict rests on it."""


def overall(parts: Sequence[Session]) -> Session:
    """One for all ``parts``: their means by weight."""
    weights = np.array([part.weight for part in parts])
    columns = [(part.variance, part.absolute, 1 / part.tail) for part in parts]
    variance, absolute, tail = (weights @ np.array(columns)).tolist()
    return Session(variance, parts[0].kernels, 1 / tail if tail else np.inf, absolute)


def fit_sessions(
    residuals: Floats, variances: Floats, df: Floats, parts: Floats, ms: Floats | None = None
) -> list[Session]:
    """What ``residuals`` of unchanged kernels find likely for each tail, given each one's
    ``variances`` with ``df`` degrees of freedom, and which of its ``parts`` is in each residual
    (less than 1 where sides are means over several runs).

    Enough kernels of durations ``ms`` that differ get an absolute part as well. Few controls leave
    open how large either is and how heavy the tail: so both are means over all steps of a grid,
    weighted with their likelihood, and every tail counts for as much as all of its grid.
    """
    top = float(np.quantile(np.abs(residuals), 0.9)) * 2
    relative = np.concatenate([[0.0], np.geomspace(1e-5, max(top, 2e-5), 30)]) ** 2
    absolute, inverse = np.zeros(1), np.zeros_like(residuals)
    if ms is not None and len(ms) >= _ABSOLUTE_FROM and np.ptp(np.log(ms)) >= _NARROW:
        unit = max(float(np.abs(residuals).max()), 1e-6) * float(np.quantile(ms, 0.1))
        absolute, inverse = np.concatenate([[0.0], unit * _ABSOLUTE]) ** 2, ms**-2.0
    scores = np.empty((len(_TAILS), len(absolute), len(relative)))
    for row, one in enumerate(absolute):
        between = (relative[:, None] + one * inverse) * parts
        spread = variances + between
        squares, sizes = residuals**2 / spread, np.log(spread).sum(axis=1) / 2
        for column, (each, before) in enumerate(_TAILS.items()):
            freedom = np.array(each)
            if df.min() < each:
                # Satterthwaite, as in the test: processes know one part badly, not the other.
                unknown = np.maximum(variances**2 / df + between**2 / each, 1e-300)
                freedom = np.minimum(spread**2 / unknown, each)
            scores[column, row] = _log_density(squares, freedom).sum(axis=1) - sizes
            scores[column, row] += np.log(before)
    relative, scores = _finer(relative, scores, 2)
    if len(absolute) > 1:
        absolute, scores = _finer(absolute, scores, 1)
    likely = np.exp(scores - scores.max()).reshape(len(_TAILS), -1)
    weights = likely.sum(axis=1)
    values = np.stack(np.broadcast_arrays(relative, absolute[:, None])).reshape(2, -1)
    found = []
    for tail, each, weight in zip(_TAILS, likely, weights / weights.sum(), strict=True):
        if weight < _PART * weights.max() / weights.sum():
            continue
        (own, both), (_, other) = np.cov(values, aweights=each, ddof=0).tolist()
        variance, fixed = (values @ each / each.sum()).tolist()
        told = (fixed, (own, other, both), float(weight))
        found.append(Session(variance, len(residuals), tail, *told))
    return found


def _finer(values: Floats, scores: Floats, axis: int) -> tuple[Floats, Floats]:
    """A grid, of 0 and values whose logarithms are evenly spaced, and the ``scores`` on it, smooth
    between: thousands of controls know a variance better than the steps are wide."""
    zero, rest = np.split(scores, [1], axis)
    logs = np.log(values[1:])
    fine = np.linspace(logs[0], logs[-1], _FINER * (len(logs) - 1) + 1)
    between = np.moveaxis(np.tensordot(_basis(fine, logs), rest, (1, axis)), 0, axis)
    return np.r_[0.0, np.exp(fine)], np.concatenate([zero + np.log(_FINER), between], axis)


def _log_density(squares: Floats, df: Floats) -> Floats:
    """Student's, where the value's square over its scale's is one of ``squares``."""
    own = scipy.special.gammaln((df + 1) / 2) - scipy.special.gammaln(df / 2) - np.log(df) / 2
    return np.asarray(own - (df + 1) / 2 * np.log1p(squares / df))


@dataclass(frozen=True, slots=True)
class Odd:
    """Kernels that moved between two runs for no reason in the code: the ``share`` of the controls
    that did, and how far any may have (log)."""

    share: float = 0.0
    most: float = 0.0


NONE_ODD = Odd()


def odd_controls(residuals: Floats, errors: Floats) -> Odd:
    """Which controls lie off by more than the others' scatter, ``errors`` being the standard errors
    that their processes say. What a few of them do, any other kernel may have done."""
    scores = np.abs(residuals) / errors
    scale = max(float(np.median(scores)) / 0.6745, 1.0)
    far: NDArray[np.bool_] = scores > _OUTLIER * scale
    if not far.any():
        return NONE_ODD
    return Odd(float(far.mean()), _REACH * float(np.abs(residuals[far]).max()))
