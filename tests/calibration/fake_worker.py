"""A calibration's worker on a simulated machine; what a module's text says happens to it."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

from harness.calibration.jobs import CellJob
from harness.calibration.record import Cell
from harness.devices.worker import Handler, Unusable
from harness.errors import HarnessError, NoDevice
from harness.measure.jobs import DeviceFacts
from harness.records.run import Machine as MachineRecord
from harness.target import H100
from tests.calibration.simulation import Machine


def handlers(cache: str | None) -> dict[str, Handler]:
    folder = Path(cache or ".")

    def note(text: str) -> None:
        with (folder / "log").open("a") as file:
            file.write(f"{text}\n")

    def open_(_: object) -> DeviceFacts:
        if (folder / "gone").exists():
            raise Unusable(NoDevice("the GPU cannot be used"))
        return DeviceFacts(H100, MachineRecord("fake-gpu", gpu="Fake GPU"), "fake/1")

    def duration(text: str) -> float:
        note("duration")
        return 0.001 * (2 + zlib.crc32(text.encode()) % 60)

    def cell(job: CellJob) -> Cell:
        note(f"cell {job.process} {job.kernel}")
        if (folder / "stop").exists():
            (folder / "gone").touch()
            raise Unusable(NoDevice("the GPU cannot be used"))
        if "# crashes" in job.module_text:
            os._exit(3)
        if "# fails" in job.module_text:
            raise HarnessError("it could not be timed", got="out of memory")
        assert job.ms is not None
        return Machine().cell(job.process, job.kernel, job.ms, zlib.crc32(job.kernel.encode()))

    return {"open": open_, "duration": duration, "cell": cell}
