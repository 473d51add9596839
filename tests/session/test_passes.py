"""Further processes: the same configurations, a sample set each, kept kernel by kernel."""

from __future__ import annotations

import pytest

from harness.errors import NoDevice
from harness.heuristics.facts import Config
from harness.records.run import GraphRecord, KernelRecord
from harness.session.model import GraphDone, ProcessStarted, TimedAgain
from tests.measure.fakes import FakeEntry, RepeatableDevice, compiled, module, session

A, B = module("triton_poi_fused_add_0", "add"), module("triton_red_fused_sum_1", "sum")
FOUND = Config((("XBLOCK", 256),), 4, 2)


def run(device: RepeatableDevice, processes: int) -> list[object]:
    entries = FakeEntry("g", compiled(A, B)), FakeEntry("h", compiled(A))
    return list(session(*entries, device=device, processes=processes).events())


def last(events: list[object]) -> dict[str, GraphRecord]:
    return {e.record.name: e.record for e in events if isinstance(e, GraphDone)}


def test_every_kernel_is_timed_again_with_the_configuration_found_first() -> None:
    device = RepeatableDevice()
    events = run(device, 3)
    assert {config for _, _, config in device.asked} == {FOUND}
    # The same text in two graphs is timed once in a process.
    assert [(p, text) for p, text, _ in device.asked] == [
        (1, A.text),
        (1, B.text),
        (2, A.text),
        (2, B.text),
    ]
    assert [e for e in events if isinstance(e, ProcessStarted)] == [
        ProcessStarted(1, 3, 3),
        ProcessStarted(2, 3, 3),
    ]
    assert sum(isinstance(e, TimedAgain) for e in events) == 6
    kernel = last(events)["g"].kernels[0]
    assert [s.process for s in kernel.sets] == [0, 1, 2]
    assert [s.median for s in kernel.sets] == [0.002, 2.0, 3.0]
    assert kernel.ms == 2.0
    assert kernel.gbps == pytest.approx(kernel.bytes / 2.0 / 1e6)
    assert kernel.low is not None
    assert kernel.low < 2.0 < (kernel.high or 0.0)
    assert kernel.roof == "read"
    assert kernel.fraction == pytest.approx((2 / 3 + 0.5 + 0.5) / 3)


def test_a_kernel_that_fails_later_keeps_what_it_has() -> None:
    device = RepeatableDevice(broken=A.text)
    events = run(device, 3)
    bad = [e for e in events if isinstance(e, TimedAgain) and e.reason]
    assert [(e.kernel, e.reason) for e in bad] == [(A.name, "it broke")] * 2
    kernel: KernelRecord = last(events)["g"].kernels[0]
    assert [s.process for s in kernel.sets] == [0, 2]
    assert not kernel.failed


def test_one_process_and_nothing_timed_need_no_other() -> None:
    device = RepeatableDevice()
    run(device, 1)
    assert device.process == 0
    device = RepeatableDevice(unlaunchable=(A.name, B.name))
    run(device, 3)
    assert device.process == 0


def test_a_device_that_goes_ends_the_run() -> None:
    device = RepeatableDevice(gone=True)
    with pytest.raises(NoDevice):
        run(device, 2)
