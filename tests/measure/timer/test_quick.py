"""The timer where few samples are asked for."""

from __future__ import annotations

import pytest

from harness.measure.noise import median
from harness.measure.timer.graph_timer import GraphTimer
from tests.measure.timer.fake_engine import FakeEngine
from tests.measure.timer.test_timer import work


def test_a_quick_timer_takes_few_samples_of_the_same_length_and_claims_no_more() -> None:
    found = {}
    for quick in (False, True):
        engine = FakeEngine(noise=0.002)
        timer = GraphTimer(engine, quick=quick)
        both = {"a": work(engine, 30_000), "b": work(engine, 60_000)}
        found[quick] = [
            timer.measure(work(engine, 600_000), 1e9),
            *timer.compare(both, 1e9).values(),
        ]
    for plain, few in zip(found[False], found[True], strict=True):
        assert (few.stopped, len(few.ms), few.launches) == ("width", 10, plain.launches)
        assert few.median == pytest.approx(plain.median, rel=0.01)
        assert few.low is not None and few.high is not None
        assert few.high - few.low == pytest.approx(4 * 0.005 * few.median)
        assert few.low <= min(few.ms) and max(few.ms) <= few.high


def test_a_quick_timer_takes_more_samples_of_what_scatters() -> None:
    engine = FakeEngine(noise=0.02)
    found = GraphTimer(engine, quick=True).measure(work(engine, 600_000), 1e9)
    assert found.stopped == "width" and len(found.ms) >= median.FIRST_LOOK
    assert found.low is not None and found.high is not None
    assert found.high - found.low <= 4 * 0.005 * found.median
