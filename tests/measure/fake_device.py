"""Stands in for the worker that has the GPU: what a kernel's text says is what happens."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from harness.devices.worker import Handler, Unusable
from harness.errors import CompileFailed, HarnessError, NoDevice
from harness.heuristics.facts import Config
from harness.measure.measurer import Measurement
from harness.measure.on_device import Opened
from harness.measure.roofline import Roofline
from harness.measure.timer.state import Reading
from harness.records.run import Machine
from harness.records.timing import Samples
from harness.runtime.interpret.interpreter import CheckResult
from harness.target import H100

CONFIG = Config((("XBLOCK", 256),), 4, 1)


def known(texts: list[str]) -> list[Config | None]:
    return [CONFIG if "# tuned before" in text else None for text in texts]


def notes(_: object) -> list[str]:
    return []


def handlers(cache: str | None) -> dict[str, Handler]:
    """Counts, in the cache folder, how many processes took the device."""
    assert cache is not None
    taken = Path(cache) / "taken"
    opened: list[Opened] = []

    def take(_: object) -> Opened:
        if not opened:
            with taken.open("a") as file:
                file.write("x")
            number = len(taken.read_text())
            if (Path(cache) / "gone").exists() and number > 1:
                raise Unusable(NoDevice("the GPU cannot be used", got="no device found"))
            opened.append(Opened(H100, 1000.0 * number, Machine("fake")))
        return opened[0]

    def check(text: str) -> CheckResult:
        take(None)
        return _checked(text)

    def measure(text: str) -> Measurement:
        if "# hangs" in text:
            time.sleep(60)
        samples = Samples((0.002,) * 3, method="fake", stopped="count")
        gbps = take(None).copy_gbps
        now = time.monotonic()
        seen = (Reading(now, 1980.0), Reading(now + 1, 1755.0, reasons=("power cap",)))
        limit = Roofline(gbps).limit(samples.median, 4_000_000, 2_000_000)
        return Measurement("k", 4_000_000, CONFIG, samples, (), gbps, "", limit, seen)

    def again(job: tuple[str, Config, int]) -> Measurement:
        return replace(measure(job[0]), config=job[1])

    return {
        "open": take,
        "check": check,
        "time": measure,
        "again": again,
        "known": known,
        "notes": notes,
    }


def _checked(text: str) -> CheckResult:
    if "# faults" in text:
        raise Unusable(HarnessError("a kernel could not be run", got="illegal memory access"))
    if "# crashes" in text:
        os._exit(7)
    if "# refused" in text:
        raise CompileFailed("no")
    return CheckResult(True, 0.25, 0.5, "", 0.0)
