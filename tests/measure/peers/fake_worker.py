"""Stands in for the worker that compares compilers: names say what happens to it."""

from __future__ import annotations

import os
import time

from harness.devices.job import Context, Unusable
from harness.errors import HarnessError, NoDevice
from harness.measure.jobs import OpenDevice
from harness.measure.peers.jobs import TIMING, CompareJob, WarmJob
from harness.records.run import Check, RegionRecord
from harness.records.timing import Samples

HERE, REAL = "tests.measure.peers.fake_worker", "harness.measure.peers.worker"
HANDLERS = {f"{REAL}:{name}": f"{HERE}:{name}" for name in ("compare_region", "warm")}
HANDLERS["harness.measure.worker:open_device"] = f"{HERE}:take"
ON_BOARDS = {f"{REAL}:compare_region": f"{HERE}:compare_on_board", f"{REAL}:warm": f"{HERE}:warm"}


def _note(context: Context, name: str, text: str) -> None:
    assert context.cache is not None
    with (context.cache / name).open("a") as file:
        file.write(text)


def take(context: Context, _: OpenDevice) -> None:
    """Counts, in the cache folder, the processes that compare."""
    _note(context, "started", "x")


def compare_region(context: Context, job: CompareJob) -> dict[str, RegionRecord]:
    peers = {}
    for name in job.names:
        context.step(name)
        _suffer(name)
        samples = Samples((1.0, 2.0, 3.0), method="fake", stopped="count")
        peers[name] = _right(name, samples, 1e-3)
    context.step(TIMING)
    if "ruins-timing" in job.names:
        os._exit(9)
    return peers


def compare_on_board(_: Context, job: CompareJob) -> dict[str, RegionRecord]:
    """The method of every sample is the board."""
    board = os.environ["CUDA_VISIBLE_DEVICES"]
    assert "inductor" in os.environ["TORCHINDUCTOR_CACHE_DIR"]
    return {name: _right(name, Samples((1.0,) * 3, method=board), 0.0) for name in job.names}


def _right(name: str, samples: Samples, error: float) -> RegionRecord:
    return RegionRecord("", name, sets=(samples,), check=Check.PASSED, max_error=error)


def warm(context: Context, job: WarmJob) -> str:
    _note(context, "warmed", f"{job.graph and job.graph.name} {job.tuned}\n")
    time.sleep(float(os.environ.get("FAKE_WARM_SECONDS", "0")))
    return "no"


def _suffer(name: str) -> None:
    match name:
        case "crashes":
            os._exit(7)
        case "hangs":
            time.sleep(3600)
        case "faults":
            raise Unusable(HarnessError("the device's context was lost", got="illegal access"))
        case "gone":
            raise Unusable(NoDevice("the GPU cannot be used"))
