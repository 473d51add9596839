"""The timer on a real device: its floor, its cold cache, what it leaves behind."""

from __future__ import annotations

import pytest
import torch

from harness.measure import roofline
from harness.measure.timer import coldness
from harness.measure.timer.graph_timer import METHOD_DIRECT, CudaTimer
from harness.measure.timer.state import monitor
from harness.records.timing import METHOD, Work
from harness.runtime.device import current_target
from tests.measure.timer.fake_engine import floor_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.fixture(scope="module")
def timer() -> CudaTimer:
    return CudaTimer()


def test_cold_is_cold_and_the_check_would_notice(
    timer: CudaTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    l2, device = current_target().l2_bytes, torch.device("cuda")
    found = coldness.examine(timer, l2, device, coldness.probe_read)
    assert found.cold, found
    assert found.telling, found

    def sleep(_: object) -> int:
        """As busy as before: an idle device would show what a replay costs to start."""
        torch.cuda._sleep(200_000)
        return 0  # the number of a note of the clocks

    monkeypatch.setattr(type(timer.engine), "flush", sleep)
    without = coldness.examine(timer, l2, device, coldness.probe_read)
    assert not without.cold, without


def test_the_floor_is_small_and_known(timer: CudaTimer) -> None:
    assert 0 < timer.engine.launch_ms <= timer.engine.floor_ms < 0.02
    x = torch.randn(1000, device="cuda")
    found = timer.measure(Work(lambda args: args[0].add_(1), [x]), 500.0)
    assert found.method == METHOD
    assert floor_of(timer, found) < 0.01
    assert found.launches > 16
    assert found.clock_mhz is not None
    assert 200 < found.clock_mhz < 4000
    assert float(x.abs().max()) < 10


def test_two_measurements_agree(timer: CudaTimer) -> None:
    a, b = (torch.randn(1 << 22, device="cuda") for _ in range(2))
    work = Work(lambda args: torch.add(args[0], 1.0, out=args[1]), [a, b])
    first, second = (timer.measure(work, 500.0) for _ in range(2))
    assert abs(first.median / second.median - 1) < 0.02


def test_compared_works_that_are_one_do_not_differ(timer: CudaTimer) -> None:
    a, b = (torch.randn(1 << 20, device="cuda") for _ in range(2))
    args = [a, b]
    works = {n: Work(lambda args: torch.add(args[0], 1.0, out=args[1]), args) for n in "ab"}
    found = timer.compare(works, 500.0)
    assert abs(found["a"].median / found["b"].median - 1) < 0.01


def test_work_that_waits_for_the_device_is_timed_as_it_is(timer: CudaTimer) -> None:
    x = torch.randn(1 << 20, device="cuda")
    found = timer.measure(Work(lambda args: float(args[0].sum()), [x]), 100.0)
    assert found.method == METHOD_DIRECT
    assert found.median > 0
    # The device can still record, and torch gives memory back.
    again = timer.measure(Work(lambda args: args[0].sin_(), [x]), 100.0)
    assert again.method == METHOD
    large = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    before = torch.cuda.memory_reserved()
    del large
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() <= before - (1 << 30)


def test_memory_comes_back(timer: CudaTimer) -> None:
    x = torch.randn(1 << 26, device="cuda")
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(3):
        timer.measure(Work(lambda args: args[0].mul(2.0), [x]), 100.0)
    assert torch.cuda.memory_allocated() <= before + (1 << 20)


def test_the_roofline_is_plausible(timer: CudaTimer) -> None:
    found = roofline.measure(timer)
    assert found.read_gbps is not None
    assert found.write_gbps is not None
    assert found.fp32_tflops is not None
    assert found.tensor_tflops is not None
    assert found.copy_gbps > 100
    assert 0.5 < found.read_gbps / found.copy_gbps < 2
    assert 0.5 < found.write_gbps / found.copy_gbps < 2
    assert found.tensor_tflops > found.fp32_tflops > 1


def test_the_state_is_read() -> None:
    made = monitor(None)
    if made is None:
        pytest.skip("no management library")
    with made:
        (reading, *_) = made.take()
    assert reading.sm_mhz
    assert reading.temperature_c
