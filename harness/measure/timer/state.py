"""The GPU's state while it is measured: clocks, temperature, power, reasons for throttling, and
whether it launches kernels at its usual interval. A thread asks the driver's management library
(NVML) at a steady rate. Everything is read, nothing is set. Without the library, or where the
driver refuses, there are no readings."""

from __future__ import annotations

import functools
import statistics
import threading
import time
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from harness.devices.job import Closing
from harness.records.machine import NvmlDevice, open_device
from harness.records.run import StateSummary

INTERVAL_SECONDS = 0.02
"""Between readings. The driver itself refreshes some of them no faster than this."""
_MOST_READINGS = 100_000

REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal",
    0x40: "hardware thermal",
    0x80: "power brake",
}
"""Bits of nvmlClocksEventReasons (nvml.h) that slow a busy GPU down. The others (idle, clocks
that somebody chose, display) do not come and go under load."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One look. ``at`` is on the clock of ``time.monotonic``; what the driver does not say is
    None. ``reasons`` are values of ``REASONS``."""

    at: float
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    reasons: tuple[str, ...] = ()


def reading(device: NvmlDevice, clock: Callable[[], float] = time.monotonic) -> Reading:
    """One look at ``device``."""

    def number(function: str, *arguments: Any) -> float | None:
        found = device.ask(function, *arguments)
        return None if found is None else float(found)

    nvml = device.nvml
    power = number("nvmlDeviceGetPowerUsage")
    # The library's newer name first; drivers before 535 know only the older one.
    asked = (device.ask(f"nvmlDeviceGetCurrentClocks{n}Reasons") for n in ("Event", "Throttle"))
    return Reading(
        clock(),
        number("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
        number("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM),
        number("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
        None if power is None else power / 1000,  # milliwatts
        reasons_of(next((bits for bits in asked if bits is not None), 0)),
    )


def reasons_of(bits: int) -> tuple[str, ...]:
    """The reasons for throttling among ``bits``."""
    return tuple(name for bit, name in REASONS.items() if bits & bit)


@dataclass(eq=False, slots=True)
class Monitor(Closing):
    """Reads every ``interval`` seconds in a thread until closed. ``patient_until`` is the moment of
    ``time.monotonic`` until which throttling is waited for."""

    read: Callable[[], Reading]
    interval: float = INTERVAL_SECONDS
    patient_until: float = 0.0
    _readings: list[Reading] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read; the first reading is there when this returns."""
        self.look()
        self._thread = threading.Thread(target=self._loop, name="GPU state", daemon=True)
        self._thread.start()

    def look(self) -> None:
        """Take one reading now."""
        found = self.read()
        with self._lock:
            self._readings.append(found)
            del self._readings[:-_MOST_READINGS]

    def close(self) -> None:
        """Stop reading."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def throttled(self, begin: float, end: float) -> tuple[str, ...]:
        """Reasons seen between two times, or at the readings next to them."""
        with self._lock:
            at = [reading.at for reading in self._readings]
            first, last = bisect_left(at, begin) - 1, bisect_right(at, end)
            near = self._readings[max(0, first) : last + 1]
        return tuple(dict.fromkeys(r for reading in near for r in reading.reasons))

    def wait_until_unthrottled(self) -> None:
        """Wait until nothing throttles, as long as that is waited for."""
        while (now := time.monotonic()) < self.patient_until and self.throttled(now, now):
            self._over.wait(self.interval)

    def take(self) -> tuple[Reading, ...]:
        """The readings since this was last asked. The latest one is kept as well, as what
        the next interval begins with."""
        with self._lock:
            taken = tuple(self._readings)
            del self._readings[:-1]
        return taken

    def _loop(self) -> None:
        while not self._over.wait(self.interval):
            self.look()


def summary(readings: Iterable[Reading]) -> StateSummary | None:
    """What a run keeps of its readings; None without any."""
    if not (known := list({r.at: r for r in readings}.values())):
        return None
    sm, memory, heat, power = (
        [value for r in known if (value := getattr(r, name)) is not None]
        for name in ("sm_mhz", "memory_mhz", "temperature_c", "power_w")
    )
    return StateSummary(
        samples=len(known),
        sm_mhz_low=min(sm, default=None),
        sm_mhz_median=statistics.median(sm) if sm else None,
        sm_mhz_high=max(sm, default=None),
        memory_mhz=statistics.median(memory) if memory else None,
        temperature_c=max(heat, default=None),
        power_w=statistics.median(power) if power else None,
        throttled=dict(Counter(reason for r in known for reason in r.reasons)),
    )


def monitor(uuid: str | None) -> Monitor | None:
    """A monitor of the device that is running, or None where there is no way to ask."""
    if (device := open_device(uuid)) is None:
        return None
    made = Monitor(functools.partial(reading, device))
    made.start()
    return made


_FAR = 0.06
"""How far a probe may be from what is usual; the known change is 0.3 of a probe."""
_MEASUREMENTS = 15
"""Measurements that say what is usual: an interval that stays is the usual one after 8."""
_PATIENCE_MS = 8000.0
"""What measurements may wait in all for one episode to end. Those seen took 1 to 6 s; a longer
one is no episode, and what follows is not held up by it."""


@dataclass(eq=False, slots=True)
class LaunchIntervals:
    """What probes showed, in milliseconds, in one process.

    An H100 launches kernels 0.35 µs quicker than usual now and then: for about a second, and for
    some five seconds of work after other processes had the device. What is usual is the median over
    the latest measurements, each counted once however long it took: a measurement that comes into
    such a second takes many probes, so probes must not be what is counted."""

    _usual: deque[float] = field(default_factory=lambda: deque(maxlen=_MEASUREMENTS))
    _here: list[float] = field(default_factory=list)
    _waited_ms: float = 0.0

    @property
    def patience_ms(self) -> float:
        """For how long the end of the present episode is still worth waiting for."""
        return max(0.0, _PATIENCE_MS - self._waited_ms)

    def begin(self) -> None:
        """A measurement begins."""
        self._here.clear()

    def end(self, lost_ms: float) -> None:
        """The measurement is over and has lost so much time to an unusual interval: if that is
        still there, it has been waited for so long. The measurement counts with its median."""
        self._waited_ms = self._waited_ms + lost_ms if self.unusual() else 0.0
        if self._here:
            self._usual.append(statistics.median(self._here))

    def add(self, ms: float) -> None:
        """One probe."""
        self._here.append(ms)

    def unusual(self) -> bool:
        """Whether the latest probe of this measurement, or the one before, at the other end of
        the samples between them, is far from what is usual."""
        # Of two measurements the slower one, because the known episodes are quicker than usual.
        if not self._here:
            return False
        usual = statistics.median_high(self._usual or self._here)
        return any(abs(ms - usual) > _FAR * usual for ms in self._here[-2:])
