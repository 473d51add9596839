"""What the host does while samples are taken, and what a device that was just sampled is spared."""

from __future__ import annotations

import pytest

from harness.measure.noise import median
from harness.measure.timer import graph_timer as timers
from harness.measure.timer.graph_timer import GraphTimer
from tests.measure.timer.fake_engine import FakeEngine
from tests.measure.timer.test_timer import work


def test_the_host_does_something_else_once_while_samples_are_taken() -> None:
    """It does it after all samples until the first look are enqueued, and before it waits."""
    engine = FakeEngine(noise=1e-4)
    enqueued: list[int] = []

    def meanwhile() -> None:
        last = len(engine.log) - engine.log[::-1].index("wait")
        enqueued.append(engine.log[last:].count("replay"))

    timer = GraphTimer(engine, meanwhile=meanwhile)
    found = timer.compare({"a": work(engine, 30_000), "b": work(engine, 60_000)}, 1e9)
    assert enqueued == [2 * (median.FIRST_LOOK - timers._LEAST_SAMPLES)]
    assert timer.meanwhile is None
    assert [len(samples.ms) for samples in found.values()] == [median.FIRST_LOOK] * 2


def test_what_the_host_does_meanwhile_is_not_the_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, waited = FakeEngine(noise=0.05), [0.0]
    monkeypatch.setattr(timers.time, "monotonic", lambda: engine.now / 1000 + waited[0])

    def samples(seconds: float) -> int:
        def meanwhile() -> None:
            waited[0] += seconds

        timer = GraphTimer(engine, meanwhile=meanwhile)
        found = timer.measure(work(engine, 3_000_000), 400.0, 1e-6)
        assert found.stopped == "budget"
        return len(found.ms)

    assert samples(9.0) == pytest.approx(samples(0.0), rel=0.1)


def test_right_after_samples_one_round_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, later = FakeEngine(), [0.0]
    monkeypatch.setattr(timers.time, "monotonic", lambda: engine.now / 1000 + later[0])
    timer = GraphTimer(engine)

    def dropped() -> int:
        before = engine.notes
        timer._warm({"": timer._subject(work(engine, 4_000), 1, None)})
        return engine.notes - before - 1  # less the one before the probe

    assert [dropped(), dropped()] == [2 * (timers._WARM_ROUNDS + 1) - 1, 1]
    later[0] = timers._STAYS_WARM
    assert dropped() == 2 * (timers._WARM_ROUNDS + 1) - 1
