"""The GPU's state by a fake management library."""

from __future__ import annotations

import itertools
import math
import re
import time
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.measure.timer.state import Monitor, Reading, reading, reasons_of, summary
from harness.records.machine import NvmlDevice, open_device


class FakeNvml:
    """Answers like ``pynvml``; ``silent`` names what it refuses."""

    class NVMLError(Exception):
        pass

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def __init__(self, bits: int = 0, silent: tuple[str, ...] = (), old: bool = False) -> None:
        self.bits, self.silent = bits, silent
        self.open = 0
        name = "Throttle" if old else "Event"
        setattr(self, f"nvmlDeviceGetCurrentClocks{name}Reasons", lambda h: self.bits)

    def nvmlInit(self) -> None:
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes) -> str:
        if uuid != b"GPU-1":
            raise self.NVMLError
        return "one"

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return "first"

    def nvmlDeviceGetClockInfo(self, handle: Any, kind: int) -> int:
        return self._say("clock", {1: 1980, 2: 2619}[kind])

    def nvmlDeviceGetTemperature(self, handle: Any, kind: int) -> int:
        return self._say("temperature", 41)

    def nvmlDeviceGetPowerUsage(self, handle: Any) -> int:
        return self._say("power", 350_500)

    def _say(self, what: str, value: int) -> int:
        if what in self.silent:
            raise self.NVMLError
        return value


def opened(nvml: FakeNvml, uuid: str) -> NvmlDevice:
    device = open_device(uuid, nvml)
    assert device is not None
    return device


def test_a_reading_has_clocks_heat_power_and_reasons() -> None:
    nvml = FakeNvml(bits=0x1 | 0x4 | 0x40)  # idle does not count
    with opened(nvml, "GPU-1") as device:
        assert reading(device, clock=lambda: 7.0) == Reading(
            7.0, 1980, 2619, 41, 350.5, ("power cap", "hardware thermal")
        )
    assert nvml.open == 0


def test_what_the_driver_does_not_say_is_none() -> None:
    nvml = FakeNvml(0x8, silent=("power", "temperature"), old=True)
    found = reading(opened(nvml, "GPU-elsewhere"))
    assert (found.power_w, found.temperature_c, found.sm_mhz) == (None, None, 1980)
    assert found.reasons == ("hardware slowdown",)


@pytest.mark.parametrize("bits", [0, 0x1, 0x2, 0x100])
def test_idling_and_chosen_clocks_are_not_throttling(bits: int) -> None:
    assert reasons_of(bits) == ()


def test_clocks_are_read_never_set() -> None:
    sources = "".join(path.read_text() for path in Path(harness.__path__[0]).rglob("*.py"))
    assert "nvmlDeviceGetClockInfo" in sources
    assert not re.search(r"nvmlDevice(Re)?[sS]et|lock-gpu-clocks|-lgc|application-clocks", sources)


def at(*times: float, slow: tuple[float, ...] = ()) -> Monitor:
    rows = iter([Reading(t, reasons=("power cap",) if t in slow else ()) for t in times])
    monitor = Monitor(lambda: next(rows))
    for _ in times:
        monitor.look()
    return monitor


def test_throttling_is_seen_at_the_readings_inside_and_next_to_a_time() -> None:
    monitor = at(0.0, 1.0, 2.0, 3.0, 4.0, slow=(2.0,))
    assert monitor.throttled(1.5, 2.5) == ("power cap",)
    assert monitor.throttled(1.2, 1.4) == ("power cap",)  # 2.0 is the next reading
    assert monitor.throttled(2.1, 2.9) == ("power cap",)  # 2.0 is the last one before
    assert monitor.throttled(3.1, 3.9) == ()
    assert monitor.throttled(0.1, 0.9) == ()
    assert monitor.throttled(9.0, 9.5) == ()
    assert Monitor(lambda: Reading(0.0)).throttled(0.0, 1.0) == ()


def test_taking_readings_keeps_the_last() -> None:
    monitor = at(0.0, 1.0, 2.0, slow=(2.0,))
    assert len(monitor.take()) == 3
    assert [r.at for r in monitor.take()] == [2.0]
    assert monitor.throttled(2.1, 2.2) == ("power cap",)


def test_the_thread_reads_until_it_is_closed() -> None:
    monitor = Monitor(lambda: Reading(time.monotonic()), interval=0.001)
    monitor.start()
    begin = time.monotonic()
    while len(monitor.take()) < 2:
        assert time.monotonic() - begin < 300
    monitor.close()
    monitor.take()
    assert len(monitor.take()) == 1


def test_throttling_is_waited_for_as_long_as_that_is_asked_for() -> None:
    slow = itertools.chain([True] * 5, itertools.repeat(False))
    reads = lambda: Reading(time.monotonic(), reasons=("power cap",) * next(slow))  # noqa: E731
    with Monitor(reads, interval=0.001) as monitor:
        monitor.start()
        monitor.patient_until = math.inf
        monitor.wait_until_unthrottled()
        assert len(monitor.take()) > 5
    forever = at(0.0, slow=(0.0,))
    forever.wait_until_unthrottled()
    assert forever.throttled(1.0, 2.0), "nobody asked to wait"


def test_the_summary_counts_each_reading_once() -> None:
    rows = [
        Reading(0.0, 1980, 2619, 40, 300.0),
        Reading(1.0, 1755, 2619, 44, 690.0, ("power cap",)),
        Reading(1.0, 1755, 2619, 44, 690.0, ("power cap",)),
        Reading(2.0, 1980, None, None, None),
    ]
    found = summary(rows)
    assert found is not None
    assert (found.samples, found.sm_mhz_low, found.sm_mhz_median, found.sm_mhz_high) == (
        3,
        1755,
        1980,
        1980,
    )
    assert (found.memory_mhz, found.temperature_c, found.power_w) == (2619, 44, 495.0)
    assert found.throttled == {"power cap": 1}
    assert summary([]) is None
