"""Stands in for the worker that compares compilers: names say what happens to it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from harness.devices.worker import Handler, Unusable
from harness.errors import HarnessError, NoDevice
from harness.measure.peers.jobs import TIMING, CompareJob, Peer, RegionComparison, WarmJob
from harness.records.timing import Samples


def handlers(cache: str | None) -> dict[str, Handler]:
    """Counts, in the cache folder, processes and what was compiled ahead."""
    assert cache is not None
    with (Path(cache) / "started").open("a") as file:
        file.write("x")

    def compare(job: CompareJob) -> RegionComparison:
        peers = {}
        for name in job.names:
            job.progress.write_text(name)
            _suffer(name)
            peers[name] = Peer(
                Samples((1.0, 2.0, 3.0), method="fake", stopped="count"), 1e-3, "", True
            )
        job.progress.write_text(TIMING)
        if "ruins-timing" in job.names:
            os._exit(9)
        return RegionComparison("r", peers, 1e-2)

    def warm(job: WarmJob) -> str:
        with (Path(cache) / "warmed").open("a") as file:
            file.write(f"{job.graph.name} {job.tuned}\n")
        return "no"

    return {"compare": compare, "warm": warm}


def _suffer(name: str) -> None:
    match name:
        case "crashes":
            os._exit(7)
        case "hangs":
            time.sleep(60)
        case "faults":
            raise Unusable(HarnessError("the device's context was lost", got="illegal access"))
        case "gone":
            raise Unusable(NoDevice("the GPU cannot be used"))
