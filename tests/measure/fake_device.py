"""Stands in for the worker that has the GPU: what a kernel's text says is what happens."""

from __future__ import annotations

import os
import time as clock

from harness.devices.job import Context, Unusable
from harness.errors import CompileFailed, HarnessError, NoDevice
from harness.heuristics.facts import Config
from harness.measure.jobs import (
    CheckKernel,
    DeviceFacts,
    KnownConfigs,
    OpenDevice,
    Roofline,
    TimeKernel,
    Timing,
)
from harness.measure.timer.state import Reading
from harness.records.run import Machine
from harness.records.timing import Samples
from harness.runtime.interpret.interpreter import CheckResult
from harness.target import H100

CONFIG = Config((("XBLOCK", 256),), 4, 1)


HERE = "tests.measure.fake_device"
REAL = "harness.measure.worker"
HANDLERS = {f"{REAL}:{n}": f"{HERE}:{n}" for n in ("check", "time", "known")}
HANDLERS[f"{REAL}:open_device"] = f"{HERE}:take"


def known(_: Context, job: KnownConfigs) -> tuple[list[Config | None], list[str]]:
    return [CONFIG if "# tuned before" in text else None for text in job.module_texts], []


def take(context: Context, job: OpenDevice | None) -> DeviceFacts:
    """Counts, in the cache folder, how many processes took the device. What it can do is measured
    by those that do not know it."""
    if job and job.board:
        os.environ["CUDA_VISIBLE_DEVICES"] = job.board
    number = context.once(_number)
    machine = Machine("fake", gpu_uuid=os.environ.get("CUDA_VISIBLE_DEVICES"))
    measured = DeviceFacts(H100, machine, "fake/1", Roofline(number * 1000.0))
    facts = (job and job.known) or measured
    assert facts.roofline is not None
    os.environ["FAKE_GBPS"] = str(facts.roofline.copy_gbps)
    return facts


def _number(context: Context) -> int:
    assert context.cache is not None
    taken = context.cache / "taken"
    with taken.open("a") as file:
        file.write("x")
    number = len(taken.read_text())
    if (context.cache / "gone").exists() and number > 1:
        raise Unusable(NoDevice("the GPU cannot be used", got="no device found"))
    return number


def time(context: Context, job: TimeKernel) -> Timing:
    if "# hangs" in job.module_text:
        context.step("hangs")
        clock.sleep(3600)
    gbps = float(os.environ["FAKE_GBPS"])
    samples = Samples((0.002,) * 3, method="fake", stopped="count", copy_gbps=gbps)
    now = clock.monotonic()
    seen = (Reading(now, 1980.0), Reading(now + 1, 1755.0, reasons=("power cap",)))
    limit = Roofline(gbps).limit(samples.median, 4_000_000, 2_000_000)
    config = job.config or next(iter(job.earlier), CONFIG)
    return Timing(config, samples, limit, readings=seen)


def check(_: Context, job: CheckKernel) -> CheckResult:
    if "# faults" in job.module_text:
        raise Unusable(HarnessError("a kernel could not be run", got="illegal memory access"))
    if "# crashes" in job.module_text:
        os._exit(7)
    if "# refused" in job.module_text:
        raise CompileFailed("no")
    return CheckResult(True, 0.25, 0.5, "", 0.0)
