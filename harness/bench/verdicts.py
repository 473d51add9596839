"""Verdicts: what two sets of times say about two kernels, with an error rate.

The unit is the fresh process: repeats inside one share its addresses, clocks and
neighbours, so that hundreds of them know no more of the next process than one does.
Everything is done on logarithms of process medians; the effect is a ratio B ÷ A.
docs/comparing.md has the formulae.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from harness.bench import variance
from harness.bench.variance import Floats, Prior, Session


class Verdict(enum.Enum):
    """What can be said of B next to A."""

    SAME = "SAME"
    FASTER = "FASTER"
    SLOWER = "SLOWER"
    UNSURE = "UNSURE"
    INCOMPARABLE = "INCOMPARABLE"


@dataclass(frozen=True, slots=True)
class Rules:
    """Error rates.

    ``alpha``: chance that a table in which nothing changed has any SLOWER or FASTER in it
    (family-wise, by Holm). ``margin``: relative change that does not matter; SAME means that the
    change is within it, which is wrong for at most ``same_alpha`` of the kernels that changed by
    more. ``level``: of the intervals printed, each on its own.
    """

    alpha: float = 0.05
    margin: float = 0.01
    same_alpha: float = 0.05
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class Times:
    """One kernel on one side: the median of each process in milliseconds, and each one's
    standard error relative to it (0 where unknown), from the samples of that process."""

    ms: tuple[float, ...]
    errors: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """One kernel on both sides. ``identical``: same code, configuration and arguments, so that any
    difference is noise or the machine."""

    a: Times
    b: Times
    identical: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """An effect before any verdict: ``log_ratio`` of B to A, its standard error and that one's
    degrees of freedom. ``doubt`` is the chance that levels between processes, which no variance
    shows, make a difference of up to ``reach`` (as ``log_ratio``)."""

    log_ratio: float
    error: float
    df: float
    doubt: float = 0.0
    reach: float = 0.0


@dataclass(frozen=True, slots=True)
class Effect:
    """A judged effect: ``ratio`` B ÷ A with its interval, ``p`` of no change alone and ``adjusted``
    for the table, and ``detectable``: the smallest relative slowdown that this table would have
    called SLOWER with 95 % probability."""

    ratio: float
    low: float
    high: float
    p: float
    adjusted: float
    detectable: float
    verdict: Verdict


class Source(enum.Enum):
    """What a table's variances were learnt from."""

    PROCESSES = "processes"
    IDENTICAL = "identical kernels"
    DEFAULT = "stated default"


@dataclass(frozen=True, slots=True)
class Noise:
    """What a table says of noise: ``prior`` between processes, learnt from ``source``, and
    ``session`` between runs (0 for kernels timed against each other in one process).
    ``shift`` is the median log ratio of the kernels that are identical on both sides, which should
    be 0; None if there are none."""

    source: Source
    prior: Prior
    session: Session
    shift: float | None = None


def estimate(
    pairs: Sequence[Pair], *, paired: bool, method: str = ""
) -> tuple[list[Estimate], Noise]:
    """The effect of each pair, and the noise that the table as a whole showed.

    ``paired``: process i of A is process i of B, in which both were timed in turns; what such a
    process does to both cancels. Otherwise the processes belong to two runs, and what may
    change between runs is added. Every side needs at least one process. ``method`` names the way
    of measuring, for what is taken to be known of a table too small to say itself.
    """
    raw = [_differences(pair) if paired else _means(pair) for pair in pairs]
    ms = np.array([_middle(pair) for pair in pairs])
    difference, own, df, share = (
        (np.array(column, dtype=np.float64) for column in zip(*raw, strict=True))
        if raw
        else (np.zeros(0),) * 4
    )
    within = np.array([_within(pair) for pair in pairs])
    same = np.array([pair.identical for pair in pairs], dtype=bool)
    shift = float(np.median(difference[same])) if same.any() else None
    scale = 2.0 if paired else 1.0  # a difference has both sides' variance
    if int((df > 0).sum()) >= variance.LEAST_KERNELS:
        prior, source = variance.fit_prior(ms, own, df), Source.PROCESSES
    elif int(same.sum()) >= variance.LEAST_KERNELS:
        # The difference of two equal kernels is an estimate of its own variance, mean known.
        alone = difference**2 / share
        prior, source = (
            variance.fit_prior(ms[same], alone[same], np.ones(int(same.sum()))),
            Source.IDENTICAL,
        )
    else:
        # Kernels that show nothing of their own variance get the wider of the defaults.
        known = method if (df > 0).any() else variance.OLD_METHOD
        prior, source = variance.stated(known), Source.DEFAULT
    between, total_df = variance.moderated(
        prior, ms, own, df, scale if source is Source.DEFAULT else 1.0
    )
    # What several processes scatter includes what the samples do; one process shows the latter.
    squared = np.maximum(between * share, np.where(df > 0, 0.0, within))
    session = Session(0.0)
    if not paired and source is not Source.IDENTICAL:
        session = variance.fit_session(difference[same], squared[same], total_df[same])
    error = np.sqrt(squared + session.variance)
    doubt, reach = _doubts(pairs, ms, np.where(df > 0, own, np.nan), same, paired=paired)
    # b − a = 2 ms sinh(d / 2), ms being the geometric mean of the two.
    columns = (difference, error, total_df, doubt, 2 * np.arcsinh(reach / ms / 2))
    found = [Estimate(*row) for row in np.stack(columns, axis=1).tolist()]
    return found, Noise(source, prior, session, shift)


def _doubts(
    pairs: Sequence[Pair], ms: Floats, own: Floats, same: NDArray[np.bool_], *, paired: bool
) -> tuple[Floats, Floats]:
    """``variance.levels`` of a table. Kernels that are identical on both sides show their levels
    between the sides as well; of others only a side's own scatter counts (NaN: unknown)."""
    if not paired:
        whole = [float(np.var(np.log((*p.a.ms, *p.b.ms)), ddof=1)) for p in pairs]
        own = np.where(same, whole, own)
    ranges = [_range(p, together=bool(s) and not paired) for p, s in zip(pairs, same, strict=True)]
    count = [len(p.a.ms) if paired else len(p.a.ms) + len(p.b.ms) for p in pairs]
    processes = np.array(count, dtype=np.float64)
    return variance.levels(ms, own, np.array(ranges), processes, paired=paired)


def _range(pair: Pair, *, together: bool) -> float:
    """How far the processes lie apart, in milliseconds: those of a side, or all."""
    groups = [(*pair.a.ms, *pair.b.ms)] if together else [pair.a.ms, pair.b.ms]
    return max(max(group) - min(group) for group in groups)


def _middle(pair: Pair) -> float:
    """The geometric mean of both sides, in milliseconds."""
    return float(np.exp((np.mean(np.log(pair.a.ms)) + np.mean(np.log(pair.b.ms))) / 2))


def _means(pair: Pair) -> tuple[float, float, float, float]:
    """Difference of the means, pooled variance, its degrees of freedom, and by how much to
    multiply the variance for that of the difference."""
    a, b = np.log(pair.a.ms), np.log(pair.b.ms)
    df = len(a) + len(b) - 2
    squares = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
    return float(b.mean() - a.mean()), squares / max(df, 1), df, 1 / len(a) + 1 / len(b)


def _differences(pair: Pair) -> tuple[float, float, float, float]:
    """The same for differences within processes."""
    d = np.log(pair.b.ms) - np.log(pair.a.ms)
    df = len(d) - 1
    return float(d.mean()), float(((d - d.mean()) ** 2).sum()) / max(df, 1), df, 1 / len(d)


def _within(pair: Pair) -> float:
    """Variance of the difference that the samples' own scatter explains."""
    return sum(
        sum(e**2 for e in side.errors) / max(1, len(side.ms)) ** 2 for side in (pair.a, pair.b)
    )


def combine(parts: Sequence[tuple[Estimate, float, float]]) -> Estimate:
    """The effect on a sum of kernels, each given as (effect, its time in A, its time in B),
    launches counted.

    The standard error is the shares' weighted sum of the parts' own: an upper bound however the
    parts' errors hang together, and reached where one clock moves them all.
    """
    a, b = sum(part[1] for part in parts), sum(part[2] for part in parts)
    error = sum(e.error * (in_a / a + in_b / b) / 2 for e, in_a, in_b in parts)
    doubt = min(1.0, sum(e.doubt for e, _, _ in parts))
    reach = max(e.reach * in_a / a for e, in_a, _ in parts)
    return Estimate(
        float(np.log(b / a)), float(error), min(e.df for e, _, _ in parts), doubt, reach
    )


def judge(estimates: Sequence[Estimate], rules: Rules) -> list[Effect]:
    """A verdict on each estimate, all of them one family.

    SAME: both one-sided tests put the change inside the margin. SLOWER, FASTER: not SAME, and
    Holm's adjusted p is at most ``alpha``. UNSURE: neither.
    """
    if not estimates:
        return []
    d = np.array([e.log_ratio for e in estimates])
    error = np.maximum([e.error for e in estimates], 1e-9)
    df = np.array([e.df for e in estimates])
    doubt = np.array([e.doubt if abs(e.log_ratio) <= e.reach else 0.0 for e in estimates])
    p = np.minimum(1.0, 2 * special.stdtr(df, -np.abs(d) / error) + doubt)
    adjusted = holm(p)
    half = special.stdtrit(df, (1 + rules.level) / 2) * error
    reach = special.stdtrit(df, 1 - rules.same_alpha) * error
    same = (d + reach < np.log1p(rules.margin)) & (d - reach > -np.log1p(rules.margin))
    strictest = special.stdtrit(df, 1 - rules.alpha / 2 / len(estimates))
    detectable = np.expm1(np.minimum((strictest + special.stdtrit(df, 0.95)) * error, 50.0))
    verdicts = [
        _verdict(bool(same[i]), bool(adjusted[i] <= rules.alpha), bool(d[i] > 0))
        for i in range(len(d))
    ]
    low, high = np.exp(np.clip(d - half, -50, 50)), np.exp(np.clip(d + half, -50, 50))
    columns = (np.exp(d), low, high, p, adjusted, detectable)
    figures = np.stack(columns, axis=1).tolist()
    return [
        Effect(ratio, least, most, alone, together, found, verdict)
        for (ratio, least, most, alone, together, found), verdict in zip(
            figures, verdicts, strict=True
        )
    ]


def _verdict(same: bool, changed: bool, up: bool) -> Verdict:
    if same:
        return Verdict.SAME
    if changed:
        return Verdict.SLOWER if up else Verdict.FASTER
    return Verdict.UNSURE


def holm(p: Floats) -> Floats:
    """Adjusted p-values by Holm's step-down method (1979): rejecting those at most α keeps the
    chance of any false rejection at α, however the tests depend on each other."""
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
