"""The timer on a fake device: cold arguments, enough launches, reasons to stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from harness.measure.noise import median
from harness.measure.timer import coldness
from harness.measure.timer import graph_timer as timers
from harness.measure.timer.graph_timer import METHOD_DIRECT, GraphTimer
from harness.records.timing import METHOD, Launch, Work
from tests.measure.timer.fake_engine import FakeEngine, floor_of


def reader(engine: FakeEngine) -> Any:
    return lambda args: engine.touch(*args)


def work(engine: FakeEngine, *sizes: int) -> Work:
    return Work(reader(engine), [torch.zeros(n, dtype=torch.uint8) for n in sizes])


@pytest.mark.parametrize("size", [64, 400, 12_000, 4_000_000])
def test_the_floor_is_under_one_percent_and_the_time_is_right(size: int) -> None:
    engine = FakeEngine(room_bytes=1 << 26)
    timer = GraphTimer(engine)
    found = timer.measure(work(engine, size), 1e9)
    assert floor_of(timer, found) < 0.005
    assert found.median == pytest.approx(0.001 + size / 3e6, rel=0.01)
    assert found.method == METHOD
    assert math.log2(found.launches).is_integer()
    assert (found.launches == 1) == (size == 4_000_000)


def test_memory_bounds_the_copies_and_the_floor_says_so() -> None:
    engine = FakeEngine(room_bytes=8_000)
    timer = GraphTimer(engine)
    found = timer.measure(work(engine, 3_000), 1e9)
    assert found.launches == 4
    assert floor_of(timer, found) > 0.1
    engine = FakeEngine(room_bytes=2_000)
    found = GraphTimer(engine).measure(work(engine, 3_000), 1e9)  # no room for any copy
    assert found.launches == 1


def test_copies_take_more_of_the_memory_where_else_the_floor_is_above_one_percent() -> None:
    engine = FakeEngine()

    def launches(size: int, room: int, restored: bool = False, others: int = 0) -> int:
        """Of a kernel that takes 0.04 ms, on arguments of ``size`` bytes."""
        engine.room_bytes = room
        args = [torch.zeros(size, dtype=torch.uint8), torch.zeros(120_000, dtype=torch.uint8)]

        def run(args: Sequence[Any]) -> None:
            engine.touch(args[1], work=(lambda: args[1].add_(1)) if restored else None)

        works = {str(n): Work(run, args) for n in range(1 + others)}
        timer = GraphTimer(engine)
        found = timer.compare(works, 1e9)["0"]
        assert (floor_of(timer, found) < 0.01) == (found.launches > 8)
        return found.launches

    # 32 launches make the floor 0.3 %, 16 make it 0.6 %, 8 make it 1.2 %.
    assert launches(1_000, 1 << 28) == 32
    assert launches(880_000, 18_000_000) == 16
    assert launches(880_000, 8_400_000) == 16
    assert launches(880_000, 8_400_000, restored=True) == 8
    assert launches(880_000, 8_400_000, others=1) == 8
    assert launches(880_000, 5_000_000) == 8
    assert launches(880_000, 2_500_000) == 4


def test_launches_run_cold_on_copies_of_their_own() -> None:
    engine = FakeEngine(cache_bytes=1 << 24)
    seen: list[int] = []

    def launch(args: Sequence[Any]) -> None:
        engine.touch(*args, work=lambda: seen.append(args[0].data_ptr()))

    original = torch.zeros(4_000, dtype=torch.uint8)
    found = GraphTimer(engine).measure(Work(launch, [original]), 1e9)
    assert original.data_ptr() not in seen
    last = seen[-found.launches :]
    assert len(set(last)) == found.launches
    assert found.median == pytest.approx(0.001 + 4_000 / 3e6, rel=0.01)


def read_all(engine: FakeEngine) -> coldness.Read:
    return lambda tensor: engine.touch(tensor)


def test_coldness_is_shown_and_its_absence_is_found() -> None:
    engine = FakeEngine(launch_ms=1e-6)
    cpu = torch.device("cpu")
    good = coldness.examine(GraphTimer(engine), 1 << 17, cpu, read_all(engine))
    assert good.cold
    assert good.telling
    engine = FakeEngine(launch_ms=1e-6, flushes=False)
    bad = coldness.examine(GraphTimer(engine), 1 << 17, cpu, read_all(engine))
    assert not bad.cold and bad.flushed > 2 * bad.elsewhere


def test_what_a_replay_costs_to_start_on_a_loaded_host_is_no_slow_memory() -> None:
    class Idle(FakeEngine):
        """A device that has nothing to do waits for the host, which takes long."""

        def record(self, enqueue: Callable[[], object]) -> Launch:
            replay = super().record(enqueue)

            def late() -> None:
                if self.log[-1] != "flush":
                    self.now += 0.5
                replay()

            return late

    engine = Idle(launch_ms=1e-6)
    found = coldness.examine(GraphTimer(engine), 1 << 17, torch.device("cpu"), read_all(engine))
    assert found.cold, found


@pytest.mark.parametrize("slower", [0.4, 1.0, 2.5])
def test_a_floor_that_has_moved_since_the_timer_began_is_no_cache(slower: float) -> None:
    engine = FakeEngine()
    timer = GraphTimer(engine)
    engine.record = with_floor(engine, slower * engine.floor_ms)  # type: ignore[method-assign]
    found = coldness.examine(timer, 1 << 17, torch.device("cpu"), read_all(engine))
    assert found.cold and found.telling, found
    # Bytes a millisecond of the fake's memory and cache, in GB/s.
    assert (found.flushed, found.elsewhere) == pytest.approx((3.0, 3.0), rel=0.01)
    assert found.memory == pytest.approx(3.0, rel=0.01) and found.cached > 8.5


def with_floor(engine: FakeEngine, floor_ms: float) -> Callable[[Callable[[], object]], Launch]:
    """The engine's ``record``, whose replays start as if its floor were ``floor_ms``."""
    record, by = engine.record, floor_ms - engine.floor_ms

    def recorded(enqueue: Callable[[], object]) -> Launch:
        replay = record(enqueue)

        def later() -> None:
            engine.now += by
            replay()

        return later

    return recorded


def test_coldness_finds_copies_that_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine(launch_ms=1e-6)
    whole = timers.copy

    def one(args: Sequence[Any], count: int) -> Any:
        made = whole(args, 1)
        object.__setattr__(made, "sets", made.sets * count)
        return made

    monkeypatch.setattr(timers, "copy", one)
    bad = coldness.examine(GraphTimer(engine), 1 << 17, torch.device("cpu"), read_all(engine))
    assert bad.copied > 2 * bad.memory
    assert not bad.cold


def test_a_kernel_that_uses_what_it_wrote_is_restored_before_each_sample() -> None:
    engine = FakeEngine()
    values: list[float] = []

    def double(args: Sequence[Any]) -> None:
        def run() -> None:
            values.append(float(args[0][0]))
            args[0].mul_(2.0)

        engine.touch(*args, work=run)

    original = torch.full((1000,), 3.0)
    GraphTimer(engine).measure(Work(double, [original]), 1e9)
    assert float(original[0]) == 3.0
    assert set(values[5:]) == {3.0}
    assert max(values) < 3.0 * 2**6


def test_a_kernel_that_does_not_is_not_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine()
    monkeypatch.setattr(timers.Copies, "restore", lambda _: pytest.fail("restored"))
    fill = Work(lambda args: engine.touch(*args, work=lambda: args[0].fill_(1.0)), [torch.ones(9)])
    GraphTimer(engine).measure(fill, 1e9)


def test_samples_count_from_when_the_device_is_warm() -> None:
    engine = FakeEngine(stretch=lambda note: max(1.0, 3.0 - 0.05 * note))
    found = GraphTimer(engine).measure(work(engine, 600_000), 1e9)
    assert max(found.ms) < 1.05 * found.median
    assert found.median == pytest.approx(0.001 + 600_000 / 3e6, rel=0.01)


def test_sampling_stops_when_the_interval_is_narrow_at_two_looks() -> None:
    engine = FakeEngine(noise=0.003)
    found = GraphTimer(engine).measure(work(engine, 600_000), 1e9)
    assert found.stopped == "width"
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low <= 0.005 * found.median
    assert found.low <= found.median <= found.high
    assert 60 <= len(found.ms) < 400
    engine = FakeEngine(noise=0.02)
    more = GraphTimer(engine).measure(work(engine, 600_000), 1e9)
    assert len(more.ms) > 2 * len(found.ms)


def test_one_look_is_enough_at_an_interval_much_narrower_than_asked_for() -> None:
    engine = FakeEngine(noise=0.001)
    found = GraphTimer(engine).measure(work(engine, 600_000), 1e9)
    assert (found.stopped, len(found.ms)) == ("width", 40)
    both = (found.low or 0.0, found.high or 0.0)
    plain = median.interval(found.ms)
    assert both[0] <= plain[0] and plain[1] <= both[1]  # looked at once, and made for that
    assert both[1] - both[0] <= 0.5 * 0.005 * found.median


def test_sampling_stops_at_the_count_and_at_the_budget() -> None:
    engine = FakeEngine(noise=0.3)
    found = GraphTimer(engine).measure(work(engine, 600_000), 1e9)
    assert (found.stopped, len(found.ms)) == ("count", 1500)
    found = GraphTimer(engine).measure(work(engine, 600_000), 0.0)
    assert (found.stopped, len(found.ms)) == ("budget", 5)


def test_drift_is_recorded() -> None:
    engine = FakeEngine(noise=0.002, stretch=lambda note: 1 + 0.0005 * note)
    assert GraphTimer(engine).measure(work(engine, 600_000), 1e9).drift.startswith("rising")
    engine = FakeEngine(noise=0.002)
    assert GraphTimer(engine).measure(work(engine, 600_000), 1e9).drift == ""


class Throttle:
    """Slow at certain looks."""

    def __init__(self, *slow: int) -> None:
        self.slow = slow
        self.looks = 0
        self.waits = list[int]()

    def wait_until_unthrottled(self) -> None:
        self.waits.append(self.looks)

    def throttled(self, begin: float, end: float) -> tuple[str, ...]:
        self.looks += 1
        return ("thermal",) if not self.slow or self.looks in self.slow else ()


def test_throttled_samples_are_left_out_and_counted() -> None:
    engine = FakeEngine()
    found = GraphTimer(engine, Throttle(2)).measure(work(engine, 600_000), 1e9)
    assert found.excluded > 0
    assert found.stopped == "width"
    assert len(found.ms) >= 40
    watch = Throttle()
    found = GraphTimer(engine, watch).measure(work(engine, 600_000), 1e9)
    assert (found.stopped, found.excluded) == ("disturbed", 0)
    assert found.ms
    assert watch.waits == [0], "what measuring bandwidths did to the clocks is waited for first"


def test_cycles_tell_a_clock_from_a_code_change() -> None:
    slow = FakeEngine(mhz=lambda _: 750.0, stretch=lambda _: 2.0)
    fast = FakeEngine()
    a = GraphTimer(fast).measure(work(fast, 600_000), 1e9)
    b = GraphTimer(slow).measure(work(slow, 600_000), 1e9)
    assert b.median == pytest.approx(2 * a.median, rel=0.005)
    assert (a.clock_mhz, b.clock_mhz) == (1500.0, 750.0)
    assert a.cycles == pytest.approx(a.median * 1.5e6)
    assert b.cycles == pytest.approx(a.cycles, rel=0.005)
    blind = FakeEngine(mhz=lambda _: None)
    assert GraphTimer(blind).measure(work(blind, 64), 1e9).cycles is None


def test_compared_works_take_turns_in_random_order_on_the_same_copies() -> None:
    engine = FakeEngine()
    order: list[str] = []
    args = [torch.zeros(4_000, dtype=torch.uint8)]
    places: dict[str, set[int]] = {"a": set(), "b": set()}

    def named(name: str) -> Work:
        def run(args: Sequence[Any]) -> None:
            order.append(name)
            places[name].add(args[0].data_ptr())

        return Work(lambda args: engine.touch(*args, work=lambda: run(args)), args)

    found = GraphTimer(engine).compare({"a": named("a"), "b": named("b")}, 1e9)
    assert len(found["a"].ms) == len(found["b"].ms)
    assert found["a"].launches == found["b"].launches
    assert len(places["a"] & places["b"]) >= found["a"].launches
    firsts = order[-40 * found["a"].launches :: 2 * found["a"].launches]
    assert set(firsts) == {"a", "b"}


def test_a_launch_that_cannot_be_recorded_says_so() -> None:
    engine = FakeEngine(recordable=False)
    found = GraphTimer(engine).measure(work(engine, 600_000), 1e9)
    assert found.method == METHOD_DIRECT
    assert found.launches > 1


def test_what_takes_much_longer_gets_fewer_launches_than_what_it_is_compared_with() -> None:
    engine = FakeEngine()
    args = [torch.zeros(n, dtype=torch.uint8) for n in (600_000, 40_000)]

    def touching(*which: int) -> Work:
        return Work(lambda args: engine.touch(*(args[n] for n in which)), args)

    both = {"short": touching(1), "near": touching(1, 1), "long": touching(0)}
    timer = GraphTimer(engine)
    found = timer.compare(both, 1e9)
    alone = timer.measure(touching(0), 1e9)
    assert found["short"].launches == found["near"].launches == 128
    assert found["long"].launches == alone.launches == 8
    assert floor_of(timer, found["long"]) == pytest.approx(floor_of(timer, alone))
    assert {s.stopped for s in found.values()} == {"width"}
    # So does what is many small launches: the floor, which both show, does not hide it.
    tiny = [torch.zeros(4, dtype=torch.uint8)]
    few = Work(lambda args: engine.touch(*args), tiny)
    many = Work(lambda args: [engine.touch(*args) for _ in range(10)], tiny)
    found = timer.compare({"few": few, "many": many}, 1e9)
    assert found["few"].launches == 1024
    assert found["many"].launches == timer.measure(many, 1e9).launches == 128
    # A host that takes its time is not taken for a kernel that does.
    slow_host = Work(lambda args: _delayed(engine, 5.0, args[1]), args)
    found = GraphTimer(engine).compare({"short": touching(1), "host": slow_host}, 1e9)
    assert found["short"].launches == found["host"].launches


def test_the_hosts_time_makes_no_fewer_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of many launches, for whose next one the device waits until it is recorded."""
    engine = FakeEngine()
    monkeypatch.setattr(timers.time, "monotonic", lambda: engine.now / 1000)
    args = [torch.zeros(40_000, dtype=torch.uint8)]
    plain = Work(lambda args: engine.touch(args[0]), args)
    slow = Work(lambda args: _delayed(engine, 0.2, args[0]), args)
    launches = [GraphTimer(engine).measure(one, 1e9).launches for one in (plain, slow)]
    assert launches == [128, 128]
    found = GraphTimer(engine).compare({"a": slow, "b": slow}, 1e9)
    assert [samples.launches for samples in found.values()] == [128, 128]


def _delayed(engine: FakeEngine, ms: float, tensor: torch.Tensor) -> None:
    engine.host(ms)
    engine.touch(tensor)


def test_a_budget_that_ends_when_the_width_is_reached_is_no_lack_of_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = FakeEngine(noise=0.001)
    monkeypatch.setattr(timers.time, "monotonic", lambda: engine.now / 1000)
    # 50 samples of 1.6 ms: looked at once, by the plan, which is not enough to stop early.
    found = GraphTimer(engine).measure(work(engine, 600_000), 50 * 1.6)
    assert 40 <= len(found.ms) < 60
    assert found.low is not None
    assert found.high is not None
    assert (found.stopped, found.high - found.low < 0.005 * found.median) == ("width", True)
    found = GraphTimer(engine).measure(work(engine, 600_000), 30 * 1.6)
    assert 25 < len(found.ms) < 40
    assert found.stopped == "budget"


def test_samples_at_an_unusual_pace_of_launching_are_left_out() -> None:
    timer = GraphTimer(FakeEngine(noise=0.002))
    for _ in range(10):
        timer.measure(work(timer.engine, 600_000), 1e9)  # says what is usual
    begin = timer.engine.notes
    engine = timer.engine
    engine.stretch = engine.interval = lambda note: 0.7 if begin + 15 < note < begin + 60 else 1.0
    usual = 0.001 + 600_000 / 3e6
    found = timer.measure(work(engine, 600_000), 1e9)
    assert found.excluded > 10
    assert min(found.ms) > 0.9 * usual
    assert found.stopped == "width"


def _with_an_episode(ms: float, monkeypatch: pytest.MonkeyPatch) -> tuple[GraphTimer, FakeEngine]:
    """A timer that has measured 11 kernels, on a device that then launches at another interval for
    so many milliseconds; the wall clock is the device's."""
    engine = FakeEngine(noise=0.001)
    monkeypatch.setattr(timers.time, "monotonic", lambda: engine.now / 1000)
    timer = GraphTimer(engine)
    for _ in range(11):
        timer.measure(work(engine, 600_000), 300.0)
    end = engine.now + ms
    engine.interval = engine.stretch = lambda _: 0.7 if engine.now < end else 1.0
    return timer, engine


def test_an_episode_longer_than_the_budget_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second, four kernels long, as an H100 has them."""
    timer, engine = _with_an_episode(1000.0, monkeypatch)
    usual = 0.001 + 600_000 / 3e6
    for _ in range(8):
        found = timer.measure(work(engine, 600_000), 300.0)
        assert found.stopped == "width"
        assert found.median == pytest.approx(usual, rel=0.02)


def test_an_interval_that_a_recording_keeps_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An H200 kept it up for as long as one measurement went on, and had the usual one after it."""
    timer, engine = _with_an_episode(1e9, monkeypatch)
    engine.interval = engine.stretch = lambda _: 1.0 if "rest" in engine.log else 0.7
    began = engine.now
    found = timer.measure(work(engine, 600_000), 300.0)
    assert (found.stopped, found.excluded) == ("width", 0)
    assert found.median == pytest.approx(0.001 + 600_000 / 3e6, rel=0.02)
    assert engine.now - began < 1000


def test_waiting_ends_and_is_said_to_be_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    timer, engine = _with_an_episode(1e9, monkeypatch)
    began = engine.now
    found = timer.measure(work(engine, 600_000), 300.0)
    assert (found.stopped, found.excluded) == ("disturbed", 0)
    assert 8000 < engine.now - began < 9500, "the patience, and at most the budget"
    began = engine.now
    found = timer.measure(work(engine, 600_000), 300.0)
    assert found.stopped == "disturbed"
    assert engine.now - began < 500, "what follows is not held up"


def test_a_short_budget_waits_no_more_than_a_few_of_its_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timer, engine = _with_an_episode(1e9, monkeypatch)
    began = engine.now
    timer.measure(work(engine, 600_000), 10.0)
    assert engine.now - began < 500


def test_an_episode_over_several_kernels_is_waited_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Six seconds, as an H100 had them after other processes; patience is back afterwards."""
    timer, engine = _with_an_episode(6000.0, monkeypatch)
    for at in range(2):
        began = engine.now
        found = timer.measure(work(engine, 600_000), 300.0)
        assert found.stopped == "width"
        assert (engine.now - began > 5000) == (at == 0)
    end = engine.now + 6000.0
    engine.interval = engine.stretch = lambda _: 0.7 if engine.now < end else 1.0
    assert timer.measure(work(engine, 600_000), 300.0).stopped == "width"


def test_a_throttled_device_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Throttled(Throttle):
        def throttled(self, begin: float, end: float) -> tuple[str, ...]:
            return ("power cap",)

    engine = FakeEngine()
    monkeypatch.setattr(timers.time, "monotonic", lambda: engine.now / 1000)
    found = GraphTimer(engine, Throttled()).measure(work(engine, 600_000), 300.0)
    assert found.stopped == "disturbed"
    assert engine.now < 1000


def test_a_pace_that_stays_becomes_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine()
    monkeypatch.setattr(timers.time, "monotonic", lambda: engine.now / 1000)
    timer = GraphTimer(engine)
    timer.measure(work(engine, 600_000), 1e9)
    engine.interval = lambda _: 0.7
    for _ in range(30):
        found = timer.measure(work(engine, 600_000), 1e9)
    assert (found.excluded, found.stopped) == (0, "width")


def test_the_number_of_launches_can_be_given() -> None:
    engine = FakeEngine()
    args = [torch.zeros(700_000, dtype=torch.uint8)]
    found = GraphTimer(engine).measure(Work(reader(engine), args, 4), 1e9)
    assert found.launches == 4
    engine.room_bytes = 1_500_000
    assert GraphTimer(engine).measure(Work(reader(engine), args, 64), 1e9).launches == 2
