"""The real worker on the CPU, with a clock that says how long names are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from harness.bench.peers.worker import PeerWorker
from harness.runtime.timing import Launch, Samples
from harness.runtime.worker import Handler


class FakeTimer:
    """Every launch takes as many milliseconds as its name has letters."""

    def measure(self, launch: Launch, budget_ms: float) -> Samples:
        raise NotImplementedError

    def compare(self, launches: Mapping[str, Launch], budget_ms: float) -> dict[str, Samples]:
        for launch in launches.values():
            launch()
        return {n: Samples((float(len(n)),) * 3, "fake", "count") for n in launches}


def same(launch: Launch) -> Launch:
    return launch


def handlers(cache: str | None) -> dict[str, Handler]:
    worker = PeerWorker(Path(cache or "."), torch.device("cpu"), FakeTimer(), same)
    return {"compare": worker.compare, "warm": worker.warm}
