"""Which way is worse, without running asv's commands (``test_asv`` runs them)."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("asv")

from asv import util
from asv.commands import compare
from asv.step_detect import detect_regressions

from suites.tracking import direction

positive = st.floats(1e-6, 1e6)


def rate_of(value: float) -> Any:
    return direction.marked_value(value, "higher")


@given(positive, positive, st.floats(1.001, 3))
def test_a_rate_is_better_exactly_when_its_time_is(a: float, b: float, factor: float) -> None:
    judge = direction.directed(compare._is_result_better)
    rate = judge(rate_of(1 / a), rate_of(1 / b), None, None, factor)
    # 1/(1/a) may differ from a in the last place, so a tie in the factor is left out.
    if abs(a * factor / b - 1) > 1e-9:
        assert rate == judge(a, b, None, None, factor)


def test_significance_is_judged_on_the_values_own_samples() -> None:
    judge = direction.directed(compare._is_result_better)
    wide = {"ci_99_a": 1.0, "ci_99_b": 400.0, "repeat": 3, "q_25": 50.0, "q_75": 250.0}
    noisy = (wide, [50.0, 100.0, 250.0])
    assert judge(rate_of(200), rate_of(100), None, None, 1.1)
    assert not judge(rate_of(200), rate_of(100), noisy, noisy, 1.1)


def test_what_is_a_fact_is_never_better_or_worse() -> None:
    judge = direction.directed(compare._is_result_better)
    for value in (32, 32.5):
        fact = direction.marked_value(value, "neither")
        assert fact == value
        assert not judge(fact, direction.marked_value(99, "neither"), None, None, 1.1)
        assert not judge(direction.marked_value(99, "neither"), fact, None, None, 1.1)
    assert direction.marked_value(None, "neither") is None


def steps(*levels: float) -> list[tuple[Any, ...]]:
    return [(10 * i, 10 * i + 10, level, level, 0.001 * level) for i, level in enumerate(levels)]


def test_a_step_down_of_a_rate_is_a_regression_told_as_a_rate() -> None:
    detect = direction.directed_detector(detect_regressions)
    last, best, jumps = detect(direction.RateSteps(steps(2000.0, 1500.0)), 0.03)
    assert (last, best) == pytest.approx((1500, 2000))
    assert [(round(old), round(new)) for _, _, old, new in jumps] == [(2000, 1500)]
    assert detect(direction.RateSteps(steps(1500.0, 2000.0)), 0.03)[2] is None
    assert detect(direction.RateSteps(steps(2000.0, 1980.0)), 0.03)[2] is None, "under 3 %"
    assert detect(steps(2000.0, 1500.0), 0.03)[2] is None, "of a time a step down is no loss"
    assert detect(direction.RateSteps([]), 0.03) == (None, None, None)


def test_find_turns_the_sign_of_rates_and_needs_values() -> None:
    class Results:
        commit_hash = "0123456789abcdef"
        errcode = 0

        def get_result_value(self, name: str, params: Any) -> list[float | None]:
            return {"rate": [2.0, None], "time": [2.0], "part": [9.0, 7.0], "gone": [float("nan")]}[
                name
            ]

    class Benchmarks(dict[str, Any]):
        benchmark_selection: ClassVar[Any] = {"rate": [0, 1], "time": None, "part": [1]}

    turned = direction.Turned(Results(), Benchmarks(rate={"better": "higher"}))
    assert turned.get_result_value("rate", []) == [-2.0, None]
    assert turned.get_result_value("part", []) == [None, 7.0], (
        "another graph's value is not searched"
    )
    assert turned.get_result_value("time", []) == [2.0]
    assert turned.errcode == 0
    with pytest.raises(util.UserError, match="gone was not measured on 01234567: there is nothing"):
        turned.get_result_value("gone", [])
