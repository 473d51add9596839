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

from harness.measure.noise import modes, variance
from harness.measure.noise.modes import FalsePositive
from harness.measure.noise.variance import Floats, Prior, Session


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
    """One kernel on one side: the median of each process in milliseconds, each one's standard
    error relative to it (0 where unknown), from the samples of that process, and which of several
    ``runs`` it belongs to (empty: all to one)."""

    ms: tuple[float, ...]
    errors: tuple[float, ...] = ()
    runs: tuple[int, ...] = ()

    def by_run(self) -> list[Floats]:
        """Logarithms of the medians, an array for each run."""
        logs, runs = np.log(self.ms), np.array(self.runs or (0,) * len(self.ms))
        return [logs[runs == run] for run in np.unique(runs)]


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
    degrees of freedom. ``risks``: what modes between processes, which no variance shows, may make
    of a kernel that did not change."""

    log_ratio: float
    error: float
    df: float
    risks: tuple[FalsePositive, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """A judged effect: ``ratio`` B ÷ A with its interval, ``p`` of no change alone and ``adjusted``
    for the table, and ``mde``: the smallest relative slowdown that this table would have
    told from nothing with 95 % probability (one within the margin is SAME all the same). Between
    the two relative changes ``undetectable``, above ``mde``, modes between processes cannot be
    ruled out; None if they can."""

    ratio: float
    low: float
    high: float
    p: float
    adjusted: float
    mde: float
    verdict: Verdict
    undetectable: tuple[float, float] | None = None


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
    be 0; None if there are none. ``bimodal``: how many kernels were seen at two modes, a
    process at a time."""

    source: Source
    prior: Prior
    session: Session
    shift: float | None = None
    bimodal: int = 0


def estimate(
    pairs: Sequence[Pair], *, paired: bool, method: str = ""
) -> tuple[list[Estimate], Noise]:
    """The effect of each pair, and the noise that the table as a whole showed.

    ``paired``: process i of A is process i of B, in which both were interleaved; what such a
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
    same = np.array([pair.identical for pair in pairs], dtype=bool)
    shift = float(np.median(difference[same])) if same.any() else None
    seen = _modes(pairs, ms, np.where(df > 0, own, np.nan), same, paired=paired)
    errors = _errors(pairs)
    prior, source = _prior(_Table(ms, difference, own, df, share, same, seen, errors), method)
    # Of a difference's variance the stated default knows one side's share.
    scale = 2.0 if paired and source is Source.DEFAULT else 1.0
    # A kernel seen at two modes is not one of those the prior was learnt from.
    odd = seen.bimodal & (df > 0)
    weight = np.where(odd, min(variance.DEFAULT_DF, prior.df), prior.df)
    expected = scale * prior.variance(ms, errors)
    between, total_df = variance.moderated(expected, weight, own, df)
    # What several processes scatter includes what the samples do; one process shows the latter.
    within = np.array([_within(pair) for pair in pairs])
    squared = np.maximum(between * share, np.where(df > 0, 0.0, within))
    session, sessions = Session(0.0), np.array([_sessions(pair) for pair in pairs])
    if not paired and source is not Source.IDENTICAL:
        session = variance.fit_session(
            difference[same], squared[same], total_df[same], sessions[same]
        )
    error = np.sqrt(squared + session.variance * sessions)
    columns = np.stack((difference, error, total_df), axis=1).tolist()
    found = [
        Estimate(log_ratio, spread, freedom, risks)
        for (log_ratio, spread, freedom), risks in zip(columns, seen.risks, strict=True)
    ]
    return found, Noise(source, prior, session, shift, int(seen.bimodal.sum()))


@dataclass(frozen=True, slots=True)
class _Table:
    """Columns of a table, a row for each pair: duration (ms), log difference, own variance and its
    degrees of freedom, by how much to multiply it for the difference, whether both sides are the
    same kernel, modes, and the mean squared error of a process's median (NaN: unknown)."""

    ms: Floats
    difference: Floats
    own: Floats
    df: Floats
    share: Floats
    same: NDArray[np.bool_]
    seen: modes.Modes
    within: Floats


def _prior(table: _Table, method: str) -> tuple[Prior, Source]:
    """What the table says of variances, and from what."""
    # Kernels seen at two modes vary for a reason of their own: they say nothing of the others.
    usual = ~table.seen.bimodal
    several, same = (table.df > 0) & usual, table.same & usual
    if int(several.sum()) >= variance.LEAST_KERNELS:
        return (
            variance.fit_prior(
                table.ms[several], table.own[several], table.df[several], table.within[several]
            ),
            Source.PROCESSES,
        )
    if int(same.sum()) >= variance.LEAST_KERNELS:
        # The difference of two equal kernels is an estimate of its own variance, mean known.
        alone = (table.difference**2 / table.share)[same]
        return variance.fit_prior(table.ms[same], alone, np.ones(len(alone))), Source.IDENTICAL
    # Kernels that show nothing of their own variance get the wider of the defaults.
    known = method if (table.df > 0).any() else variance.OLD_METHOD
    return variance.stated(known), Source.DEFAULT


def _modes(
    pairs: Sequence[Pair], ms: Floats, own: Floats, same: NDArray[np.bool_], *, paired: bool
) -> modes.Modes:
    """``modes.find`` of a table. Kernels that are identical on both sides show their modes
    between the sides as well; of others only a side's own scatter counts (NaN: unknown)."""
    together = same & (not paired)
    every = [np.log((*p.a.ms, *p.b.ms)) for p in pairs]
    whole = [float(np.var(logs, ddof=1)) for logs in every]
    taken = [
        modes.Processes(
            len(p.a.ms),
            len(p.b.ms),
            [logs] if both else [logs[: len(p.a.ms)], logs[len(p.a.ms) :]],
        )
        for p, logs, both in zip(pairs, every, together, strict=True)
    ]
    return modes.find(ms, np.where(together, whole, own), taken, paired=paired)


def _errors(pairs: Sequence[Pair]) -> Floats:
    """The mean squared error of a process's median; NaN where it is not known of all."""
    found = []
    for pair in pairs:
        every = [*pair.a.errors, *pair.b.errors]
        whole = len(every) == len(pair.a.ms) + len(pair.b.ms) and all(e > 0 for e in every)
        found.append(float(np.mean(np.square(every))) if whole else np.nan)
    return np.array(found)


def _middle(pair: Pair) -> float:
    """The geometric mean of both sides, in milliseconds."""
    return float(np.exp((np.mean(np.log(pair.a.ms)) + np.mean(np.log(pair.b.ms))) / 2))


def _means(pair: Pair) -> tuple[float, float, float, float]:
    """Difference of the means, pooled variance within runs, its degrees of freedom, and by how much
    to multiply the variance for that of the difference."""
    a, b = np.log(pair.a.ms), np.log(pair.b.ms)
    runs = [*pair.a.by_run(), *pair.b.by_run()]
    df = len(a) + len(b) - len(runs)
    squares = sum(float(((run - run.mean()) ** 2).sum()) for run in runs)
    return float(b.mean() - a.mean()), squares / max(df, 1), df, 1 / len(a) + 1 / len(b)


def _sessions(pair: Pair) -> float:
    """What part of the variance between two runs is in the difference: 1 if each side is one run,
    less if it is the mean over processes of several."""
    shares = [len(run) / len(side.ms) for side in (pair.a, pair.b) for run in side.by_run()]
    return sum(share**2 for share in shares) / 2


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
    causes = zip(*(e.risks for e, _, _ in parts), strict=True)
    shares = [in_a / a for _, in_a, _ in parts]
    risks = tuple(
        FalsePositive(
            min(1.0, sum(one.chance for one in cause)),
            min(one.low * share for one, share in zip(cause, shares, strict=True)),
            max(one.high * share for one, share in zip(cause, shares, strict=True)),
        )
        for cause in causes
    )
    return Estimate(float(np.log(b / a)), float(error), min(e.df for e, _, _ in parts), risks)


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
    size = np.abs(d)
    risk = [
        sum(o.chance for o in e.risks if o.low <= abs(e.log_ratio) <= o.high) for e in estimates
    ]
    p = np.minimum(1.0, 2 * special.stdtr(df, -size / error) + risk)
    adjusted = holm(p)
    half = special.stdtrit(df, (1 + rules.level) / 2) * error
    beyond = special.stdtrit(df, 1 - rules.same_alpha) * error
    same = (d + beyond < np.log1p(rules.margin)) & (d - beyond > -np.log1p(rules.margin))
    strictest = rules.alpha / len(estimates)
    spread = special.stdtrit(df, 0.95) * error
    clear = special.stdtrit(df, 1 - strictest / 2) * error + spread
    found = [
        _mde(one, float(error[n]), float(spread[n]), float(clear[n]), strictest)
        for n, one in enumerate(estimates)
    ]
    low, high = np.exp(np.clip(d - half, -50, 50)), np.exp(np.clip(d + half, -50, 50))
    figures = np.stack((np.exp(d), low, high, p, adjusted), axis=1).tolist()
    return [
        Effect(
            ratio,
            least,
            most,
            alone,
            together,
            found[n][0],
            _verdict(bool(same[n]), together <= rules.alpha, ratio > 1),
            found[n][1],
        )
        for n, (ratio, least, most, alone, together) in enumerate(figures)
    ]


def _mde(
    one: Estimate, error: float, spread: float, clear: float, strictest: float
) -> tuple[float, tuple[float, float] | None]:
    """The relative slowdown that is told from nothing with 95 % probability where the smallest p
    of a table has to be ``strictest``, and the band of modes above it in which none is. ``clear``
    is what it would be without risks, ``spread`` how far it may come out smaller."""
    found = clear
    if not one.risks:
        return _relative(found), None
    rest = strictest - sum(risk.chance for risk in one.risks)
    certain = np.inf  # in spite of the risks
    if rest > 0:
        certain = float(special.stdtrit(one.df, 1 - rest / 2)) * error + spread
    for risk in sorted(one.risks, key=lambda risk: risk.low):
        if found - spread > risk.high or certain <= risk.low:
            continue
        if found + spread < risk.low:
            return _relative(found), (_relative(risk.low), _relative(risk.high))
        found = max(found, min(certain, risk.high + spread))
    return _relative(found), None


def _relative(log_ratio: float) -> float:
    return float(np.expm1(min(log_ratio, 50.0)))


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
