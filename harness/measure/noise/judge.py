"""Verdicts: what can be said of estimated effects, with an error rate. docs/comparing.md has the
formulae."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from harness.measure.noise.modes import FalsePositive
from harness.measure.noise.variance import Floats


class Verdict(enum.Enum):
    """What can be said of B next to A, in the order in which it is counted."""

    SLOWER = "SLOWER"
    FASTER = "FASTER"
    RETUNED = "RETUNED"
    UNSURE = "UNSURE"
    SAME = "SAME"
    INCOMPARABLE = "INCOMPARABLE"


@dataclass(frozen=True, slots=True)
class Rules:
    """Error rates.

    ``alpha``: chance that a table in which nothing changed has any SLOWER or FASTER in it
    (family-wise, by Holm). ``margin``: relative change that does not matter; SAME means that the
    change is within it, which is wrong for at most ``same_alpha`` of the kernels that changed by
    more. ``level``: of the intervals printed, each on its own. ``tuning``: by how much the same
    code may differ because the tuner, which measures, chose another of the same candidates (7.3 %
    at most between three recorded runs of 259 kernels, docs/measurements/verdicts.md): RETUNED."""

    alpha: float = 0.05
    margin: float = 0.01
    same_alpha: float = 0.05
    level: float = 0.95
    tuning: float = 0.1


@dataclass(frozen=True, slots=True)
class Estimate:
    """An effect before any verdict: ``log_ratio`` of B to A, its standard error and that one's
    degrees of freedom. ``risks``: what modes between processes, and what befalls single kernels
    from run to run, which no variance shows, may make of a kernel that did not change. ``slack``:
    how far (log) it may lie from nothing without being a change. ``unknown`` says why nothing can
    be said of a change."""

    log_ratio: float
    error: float
    df: float
    risks: tuple[FalsePositive, ...] = ()
    slack: float = 0.0
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """A judged effect: ``ratio`` B ÷ A with its interval, ``p`` of no change alone and ``adjusted``
    for the table, and ``mde``: the smallest relative slowdown that this table would have
    told from nothing with 95 % probability (one within the margin is SAME all the same). Between
    the two relative changes ``undetectable``, above ``mde``, modes between processes cannot be
    ruled out; None if they can. ``unknown``: why there is no verdict of a change, whatever ``p``;
    then ``mde`` is infinite."""

    ratio: float
    low: float
    high: float
    p: float
    adjusted: float
    mde: float
    verdict: Verdict
    undetectable: tuple[float, float] | None = None
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """What a kernel adds to a sum on each side, in milliseconds, launches counted: 0 where it is
    not. ``estimate`` says how well the ratio is known."""

    estimate: Estimate
    a: float
    b: float


def combine(parts: Sequence[Part]) -> Estimate:
    """The effect on a sum of kernels, of which at least one is on each side. The standard error is
    the shares' weighted sum of the parts' own: an upper bound however the parts' errors hang
    together, and reached where one clock moves them all."""
    a, b = sum(part.a for part in parts), sum(part.b for part in parts)
    shares = [(part.a / a + part.b / b) / (2 if part.a and part.b else 1) for part in parts]
    found = [part.estimate for part in parts]
    uncertain = [one for one, share in zip(found, shares, strict=True) if one.error and share]
    most = max((one.risks for one in found), key=len)
    risks = tuple(
        FalsePositive(
            min(1.0, sum(one.risks[n].chance for one in found if one.risks)),
            min(o.risks[n].low * s for o, s in zip(found, shares, strict=True) if o.risks),
            max(o.risks[n].high * s for o, s in zip(found, shares, strict=True) if o.risks),
        )
        for n in range(len(most))
    )
    return Estimate(
        float(np.log(b / a)),
        float(sum(one.error * share for one, share in zip(found, shares, strict=True))),
        min((one.df for one in uncertain), default=np.inf),
        risks,
        sum(one.slack * share for one, share in zip(found, shares, strict=True)),
        next((one.unknown for one in found if one.unknown), ""),
    )


def judge(estimates: Sequence[Estimate], rules: Rules) -> list[Effect]:
    """A verdict on each estimate, all of them one family.

    SAME: both one-sided tests put the change inside the margin. SLOWER, FASTER: not SAME, and
    Holm's adjusted p, of a change larger than the slack, is at most ``alpha``. RETUNED: neither,
    and both one-sided tests put the change inside the slack. UNSURE: none of these. What is
    unknown is UNSURE and no part of the family."""
    if not estimates:
        return []
    d = np.array([e.log_ratio for e in estimates])
    error = np.maximum([e.error for e in estimates], 1e-9)
    df = np.array([min(e.df, 1e6) for e in estimates])
    slack = np.array([e.slack for e in estimates])
    known = np.array([not e.unknown for e in estimates])
    size = np.maximum(np.abs(d) - slack, 0.0)
    risk = [
        sum(o.chance for o in e.risks if o.low <= abs(e.log_ratio) <= o.high) for e in estimates
    ]
    p = np.minimum(1.0, 2 * scipy.special.stdtr(df, -size / error) + risk)
    adjusted = np.ones_like(p)
    adjusted[known] = holm(p[known])
    half = scipy.special.stdtrit(df, (1 + rules.level) / 2) * error
    beyond = scipy.special.stdtrit(df, 1 - rules.same_alpha) * error
    margin = np.log1p(rules.margin)
    same = known & (np.abs(d) + beyond < margin)
    retuned = known & (np.abs(d) + beyond < np.maximum(slack, margin))
    strictest = rules.alpha / max(1, int(known.sum()))
    spread = scipy.special.stdtrit(df, 0.95) * error
    clear = scipy.special.stdtrit(df, 1 - strictest / 2) * error + spread + slack
    low, high = np.exp(np.clip(d - half, -50, 50)), np.exp(np.clip(d + half, -50, 50))
    figures = np.stack((np.exp(d), low, high, p, adjusted), axis=1).tolist()
    effects = []
    for n, (one, (ratio, least, most, alone, together)) in enumerate(
        zip(estimates, figures, strict=True)
    ):
        mde, band = _mde(one, float(error[n]), float(spread[n]), float(clear[n]), strictest)
        verdict = Verdict.RETUNED if retuned[n] else Verdict.UNSURE
        if together <= rules.alpha:
            verdict = Verdict.SLOWER if ratio > 1 else Verdict.FASTER
        verdict = Verdict.SAME if same[n] else verdict
        if one.unknown:
            mde, band = float("inf"), None
        effects.append(Effect(ratio, least, most, alone, together, mde, verdict, band, one.unknown))
    return effects


def _mde(
    one: Estimate, error: float, spread: float, clear: float, strictest: float
) -> tuple[float, tuple[float, float] | None]:
    """The relative slowdown that is told from nothing with 95 % probability where the smallest p
    of a table has to be ``strictest``, and the band of modes above it in which none is. ``clear``
    is what it would be without risks, ``spread`` how far it may come out smaller."""
    found = clear
    rest = strictest - sum(risk.chance for risk in one.risks)
    certain = np.inf  # in spite of the risks
    if rest > 0:
        certain = float(scipy.special.stdtrit(one.df, 1 - rest / 2)) * error + spread
    for risk in sorted(one.risks, key=lambda risk: risk.low):
        if certain <= risk.low:
            continue
        if found + spread < risk.low:
            return _relative(found), (_relative(risk.low), _relative(risk.high))
        found = max(found, min(certain, risk.high + spread))
    return _relative(found), None


def _relative(log_ratio: float) -> float:
    return float(np.expm1(min(log_ratio, 50.0)))


def holm(p: Floats) -> Floats:
    """Adjusted p-values by Holm's step-down method (1979): rejecting those at most α keeps the
    chance of any false rejection at α, however the tests depend on each other."""
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
