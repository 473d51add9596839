"""A calibration's worker on a simulated machine; what a module's text says happens to it."""

from __future__ import annotations

import os
import zlib
from dataclasses import replace
from pathlib import Path

from harness.calibration.record import Cell, CellJob
from harness.devices.job import Context, Unusable
from harness.errors import HarnessError, NoDevice
from harness.measure.jobs import DeviceFacts, OpenDevice
from harness.records.run import Machine as MachineRecord
from harness.target import H100
from tests.calibration.simulation import Machine

HERE, REAL = "tests.calibration.fake_worker", "harness.calibration.worker"
HANDLERS = {f"{REAL}:cell": f"{HERE}:cell"}
HANDLERS["harness.measure.worker:open_device"] = f"{HERE}:take"


def _folder(context: Context) -> Path:
    return context.cache or Path()


def note(context: Context, text: str) -> None:
    with (_folder(context) / "log").open("a") as file:
        file.write(f"{text}\n")


def take(context: Context, _: OpenDevice) -> DeviceFacts:
    if (_folder(context) / "gone").exists():
        raise Unusable(NoDevice("the GPU cannot be used"))
    return DeviceFacts(H100, MachineRecord("fake-gpu", gpu="Fake GPU"), "fake/1")


def cell(context: Context, job: CellJob) -> Cell:
    note(context, f"cell {job.process} {job.kernel}")
    if (_folder(context) / "stop").exists():
        (_folder(context) / "gone").touch()
        raise Unusable(NoDevice("the GPU cannot be used"))
    if "# crashes" in job.module_text:
        os._exit(3)
    if "# fails" in job.module_text:
        raise HarnessError("it could not be timed", got="out of memory")
    if not job.ms:
        note(context, "duration")
    ms = job.ms or 0.001 * (2 + zlib.crc32(job.module_text.encode()) % 60)
    seed = zlib.crc32(job.kernel.encode())
    return replace(Machine().cell(job.process, job.kernel, ms, seed, job.slowed), ms=ms)
