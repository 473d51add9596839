"""The real worker on the CPU, with a clock that says how long names are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from harness.devices.worker import Handler
from harness.measure.peers.worker import PeerWorker
from harness.records.timing import Launch, Samples


class FakeTimer:
    """Every launch takes as many milliseconds as its name has letters."""

    method = "fake"

    def measure(self, launch: Launch, budget_ms: float, width: float = 0.005) -> Samples:
        return self.compare({"": launch}, budget_ms, width)[""]

    def compare(
        self, launches: Mapping[str, Launch], budget_ms: float, width: float = 0.005
    ) -> dict[str, Samples]:
        for launch in launches.values():
            launch()
        return {
            n: Samples((float(len(n)),) * 3, method=self.method, stopped="count") for n in launches
        }


def handlers(cache: str | None) -> dict[str, Handler]:
    worker = PeerWorker(Path(cache or "."), torch.device("cpu"), FakeTimer())
    return {"compare": worker.compare, "warm": worker.warm}
