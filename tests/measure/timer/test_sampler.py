"""What the tuner samples with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from harness.measure.timer import graph_timer as timers
from harness.measure.timer.graph_timer import GraphTimer
from harness.records.timing import Work
from tests.measure.timer.fake_engine import FakeEngine


def free(_: torch.device) -> int:
    return 1 << 30


def works(engine: FakeEngine, args: Sequence[Any], **seconds: float) -> dict[str, Work]:
    """Kernels on ``args`` that take so many milliseconds more than reading them."""

    def launch(extra: float) -> Any:
        def work() -> None:
            engine.now += extra

        return lambda sets: engine.touch(*sets, work=work)

    return {name: Work(launch(extra), args) for name, extra in seconds.items()}


def test_quick_kernels_are_sampled_by_themselves() -> None:
    engine = FakeEngine(floor_ms=0.004, launch_ms=0.0001)
    args = [torch.zeros(256)]
    found = GraphTimer(engine).sampler(free).rounds(works(engine, args, a=0.001, b=0.0012), 4)
    assert all(len(samples) == 4 for samples in found.values())
    net = 0.0001 + 1024 / engine.memory
    for name, extra in (("a", 0.001), ("b", 0.0012)):
        assert found[name][0] == pytest.approx(extra + net, rel=0.12)
    assert found["b"][0] / found["a"][0] == pytest.approx((0.0012 + net) / (0.001 + net), rel=0.02)


def test_a_device_that_was_just_sampled_needs_no_warming(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, now = FakeEngine(), [0.0]
    monkeypatch.setattr(timers.time, "monotonic", lambda: now[0])
    sampler = GraphTimer(engine).sampler(free)

    def flushes() -> int:
        before = engine.notes
        sampler.warm_up()
        return engine.notes - before

    assert flushes() == 100
    sampler.rounds(works(engine, [torch.zeros(256)], a=0.001), 2)
    assert flushes() == 0
    now[0] += 0.6
    assert flushes() == 100


def test_each_is_recorded_once_and_found_again() -> None:
    engine = FakeEngine()
    kernels = works(engine, [torch.zeros(256)], a=0.001, b=0.002)
    sampler = GraphTimer(engine).sampler(free)
    sampler.rounds(kernels, 2)
    engine.record = None  # type: ignore[assignment]
    again = sampler.rounds({"x": kernels["b"], "y": kernels["b"]}, 3)
    assert again["x"] == pytest.approx(again["y"])


def test_a_long_kernel_runs_on_the_arguments_themselves() -> None:
    engine = FakeEngine()
    args = [torch.zeros(256)]
    seen: list[int] = []

    def launch(sets: Sequence[Any]) -> None:
        seen.append(sets[0].data_ptr())
        engine.touch(*sets)

    engine.launch_ms = 0.5
    GraphTimer(engine).sampler(free).rounds({"": Work(launch, args)}, 2)
    assert set(seen) == {args[0].data_ptr()}


def test_what_a_kernel_changes_is_put_back_between_rounds() -> None:
    engine = FakeEngine()
    args = [torch.zeros(256)]

    def launch(sets: Sequence[Any]) -> None:
        engine.touch(*sets, work=lambda: sets[0].add_(1))

    sampler = GraphTimer(engine).sampler(free)
    work = Work(launch, args)
    sampler.rounds({"": work}, 3)
    copies = sampler._copies
    assert copies is not None and len(copies.sets) > 1
    sampler.rounds({"": work}, 1)
    assert {float(one[0][0]) for one in copies.sets} == {float(copies.sets[0][0][0])}
    assert float(copies.sets[0][0][0]) < 3 + 1 + 3


def test_copies_take_no_more_than_there_is_room_for() -> None:
    """One more holds what the others are given back."""
    for room, count in ((9 << 20, 8), ((9 << 20) - 1, 4)):
        engine = FakeEngine(memory=1e9, room_bytes=room)
        sampler = GraphTimer(engine).sampler(lambda _: 0)
        sampler.rounds(works(engine, [torch.zeros(1 << 18)], a=0.0), 1)
        assert sampler._copies is not None and len(sampler._copies.sets) == count


def test_room_is_what_is_left_when_the_first_sample_is_taken() -> None:
    """Saved outputs lie beside the copies. 64 MiB they may always take."""
    engine, left = FakeEngine(memory=1e10, room_bytes=1 << 30), [1 << 30]
    sampler = GraphTimer(engine).sampler(lambda _: left[0])
    left[0] = 0
    sampler.rounds(works(engine, [torch.zeros(1 << 21)], a=0.0), 1)
    assert sampler._copies is not None and len(sampler._copies.sets) == 4


def test_what_cannot_be_recorded_is_enqueued_in_turn() -> None:
    engine = FakeEngine(recordable=False)
    found = GraphTimer(engine).sampler(free).rounds(works(engine, [torch.zeros(256)], a=0.001), 2)
    assert found["a"][0] == pytest.approx(0.001 + engine.launch_ms + 1024 / engine.memory)


def test_right_after_samples_one_round_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, later = FakeEngine(), [0.0]
    monkeypatch.setattr(timers.time, "monotonic", lambda: engine.now / 1000 + later[0])
    timer = GraphTimer(engine)

    def dropped() -> int:
        before = engine.notes
        timer._warm({"": timer._subject(works(engine, [torch.zeros(256)], a=0.1)["a"], 1, None)})
        return engine.notes - before - 1  # less the one before the probe

    assert [dropped(), dropped()] == [2 * (timers._WARM_ROUNDS + 1) - 1, 1]
    later[0] = timers._STAYS_WARM
    assert dropped() == 2 * (timers._WARM_ROUNDS + 1) - 1
