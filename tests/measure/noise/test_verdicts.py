"""Verdicts of single estimates and of sums, by what their definitions say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from harness.measure.noise.judge import Estimate, Part, Rules, Verdict, combine, judge
from harness.measure.noise.modes import FalsePositive

RULES = Rules()
MANY = 1e9
"""Degrees of freedom."""
CERTAIN, DOUBTFUL = 0.0005, 0.2


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (Estimate(0.0, CERTAIN, MANY), Verdict.SAME),
        (Estimate(0.1, CERTAIN, MANY), Verdict.SLOWER),
        (Estimate(-0.1, CERTAIN, MANY), Verdict.FASTER),
        (Estimate(0.1, DOUBTFUL, MANY), Verdict.UNSURE),
        (Estimate(0.0, DOUBTFUL, MANY), Verdict.UNSURE),
        # a change that is certain and does not matter
        (Estimate(0.005, CERTAIN, MANY), Verdict.SAME),
        # so many standard errors are something else where their size is not well known
        (Estimate(0.1, 0.02, MANY), Verdict.SLOWER),
        (Estimate(0.1, 0.02, 1), Verdict.UNSURE),
        # what a tuner's luck explains, and what it does not
        (Estimate(0.05, CERTAIN, MANY, slack=0.1), Verdict.RETUNED),
        (Estimate(-0.05, CERTAIN, MANY, slack=0.1), Verdict.RETUNED),
        (Estimate(0.2, CERTAIN, MANY, slack=0.1), Verdict.SLOWER),
        (Estimate(0.05, DOUBTFUL, MANY, slack=0.1), Verdict.UNSURE),
        (Estimate(0.001, CERTAIN, MANY, slack=0.1), Verdict.SAME),
        # what modes may make of a kernel that did not change, and what they may not
        (Estimate(0.1, CERTAIN, MANY, (FalsePositive(0.2, 0.05, 0.15),)), Verdict.UNSURE),
        (Estimate(-0.1, CERTAIN, MANY, (FalsePositive(0.2, 0.05, 0.15),)), Verdict.UNSURE),
        (Estimate(0.1, CERTAIN, MANY, (FalsePositive(0.01, 0.05, 0.15),)), Verdict.SLOWER),
        (Estimate(0.2, CERTAIN, MANY, (FalsePositive(0.2, 0.05, 0.15),)), Verdict.SLOWER),
        (Estimate(0.04, CERTAIN, MANY, (FalsePositive(0.2, 0.05, 0.15),)), Verdict.SLOWER),
        # nothing is said of what nothing is known of
        (Estimate(0.0, CERTAIN, MANY, unknown="why"), Verdict.UNSURE),
        (Estimate(0.1, CERTAIN, MANY, unknown="why"), Verdict.UNSURE),
        (Estimate(0.05, CERTAIN, MANY, slack=0.1, unknown="why"), Verdict.UNSURE),
    ],
)
def test_a_verdict_follows_from_the_estimate(one: Estimate, verdict: Verdict) -> None:
    (effect,) = judge([one], RULES)
    assert effect.verdict is verdict
    assert effect.ratio == pytest.approx(math.exp(one.log_ratio))
    assert effect.unknown == one.unknown and math.isinf(effect.mde) == bool(one.unknown)


def test_what_nothing_is_known_of_is_no_part_of_the_family() -> None:
    """A p of 4 % is enough alone, and not beside another kernel."""
    error = 0.01
    one = Estimate(-float(scipy.special.ndtri(0.02)) * error, error, MANY)
    unknown, other = Estimate(0.0, error, MANY, unknown="why"), Estimate(0.0, error, MANY)
    alone, beside = judge([one, unknown], RULES)
    assert alone.verdict is Verdict.SLOWER and alone.adjusted == pytest.approx(0.04, rel=1e-4)
    assert beside.adjusted == 1.0
    assert judge([one], RULES)[0].mde == alone.mde < judge([one, other], RULES)[0].mde
    assert judge([one, other], RULES)[0].verdict is Verdict.UNSURE
    assert judge([one, other], RULES)[0].adjusted == pytest.approx(0.08, rel=1e-4)


@pytest.mark.parametrize(
    "risks",
    [
        (),
        (FalsePositive(0.2, 0.0, 0.01),),  # below what is detectable anyway
        (FalsePositive(0.2, 0.03, 0.1),),
        (FalsePositive(0.2, 0.2, 0.3),),  # far above it
        (FalsePositive(0.01, 0.03, 0.1),),  # detectable all the same
        (FalsePositive(0.01, 0.04, 0.1),),
        (FalsePositive(0.01, 0.1, 0.15),),
        (FalsePositive(0.2, 0.2, 0.3), FalsePositive(0.2, 0.03, 0.1)),
        (FalsePositive(0.04, 0.03, 0.06), FalsePositive(0.06, 0.05, 0.1)),
    ],
)
def test_what_is_detectable_is_detected_and_nothing_less(risks: tuple[FalsePositive, ...]) -> None:
    """In 95 of 100 measurements, whatever modes there may be; between two limits in fewer."""
    error, draws = 0.01, scipy.special.ndtri((np.arange(1000) + 0.5) / 1000)
    (effect,) = judge([Estimate(0.0, error, MANY, risks)], RULES)

    def detected(change: float) -> float:
        seen = (Estimate(math.log1p(change) + error * z, error, MANY, risks) for z in draws)
        return float(np.mean([judge([one], RULES)[0].p <= RULES.alpha for one in seen]))

    assert detected(effect.mde) >= 0.949 and detected(effect.mde * 0.94) < 0.95
    if effect.undetectable is not None:
        low, high = effect.undetectable
        assert effect.mde < low and detected((low + high) / 2) < 0.95
        assert detected(high * 1.2) >= 0.949
    assert (effect.undetectable is None) == all(risk.low < 0.2 for risk in risks)


def test_a_sum_is_known_as_its_parts_are_by_their_shares() -> None:
    """Half of a part's share is what it has of A, and half of B: all where one side has it."""
    modes = FalsePositive(0.7, 0.1, 0.2), FalsePositive(0.6, 0.3, 0.9)
    parts = [
        Part(Estimate(0.7, 0.02, 4, modes[:1], 0.05), 3.0, 6.0),
        Part(Estimate(0.0, 0.01, 5, modes[1:], 0.02), 3.0, 2.0),
        Part(Estimate(0.0, 0.0, 1, unknown="why"), 2.0, 3.0),  # what has no error has no doubt
        Part(Estimate(0.0, 0.03, 9, unknown="why not"), 2.0, 0.0),
        Part(Estimate(0.0, 0.03, 2), 0.0, 0.0),  # nor has what takes no time
        Part(Estimate(0.0, 0.04, 9), 0.0, 1.0),
    ]
    whole = combine(parts)
    shares = [(3 / 10 + 6 / 12) / 2, (3 / 10 + 2 / 12) / 2, (2 / 10 + 3 / 12) / 2, 2 / 10]
    assert whole.log_ratio == pytest.approx(math.log(12 / 10))
    assert whole.error == pytest.approx(
        0.02 * shares[0] + 0.01 * shares[1] + 0.03 * shares[3] + 0.04 / 12
    )
    assert whole.df == 4 and whole.unknown == "why"
    assert whole.slack == pytest.approx(0.05 * shares[0] + 0.02 * shares[1])
    (risk,) = whole.risks
    assert risk.chance == 1.0
    assert risk.low == pytest.approx(min(0.1 * shares[0], 0.3 * shares[1]))
    assert risk.high == pytest.approx(max(0.2 * shares[0], 0.9 * shares[1]))


def test_a_sum_of_what_is_certain_is_certain() -> None:
    whole = combine([Part(Estimate(0.1, 0.0, 1), 1.0, 1.1), Part(Estimate(0.1, 0.0, 2), 2.0, 2.2)])
    assert (whole.error, whole.df, whole.risks, whole.unknown) == (0.0, math.inf, (), "")
