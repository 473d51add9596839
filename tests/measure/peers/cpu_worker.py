"""The real worker on the CPU, with a clock that says how long names are."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from harness.devices.job import Context
from harness.measure.peers.jobs import CompareJob
from harness.measure.peers.worker import compared
from harness.records.run import RegionRecord
from harness.records.timing import Launch, Samples


class FakeTimer:
    """Every launch takes as many milliseconds as its name has letters."""

    method = "fake"
    width = 0.0
    """That the latest comparison was asked for."""

    def measure(self, launch: Launch, budget_ms: float, width: float = 0.005) -> Samples:
        return self.compare({"": launch}, budget_ms, width)[""]

    def compare(
        self, launches: Mapping[str, Launch], budget_ms: float, width: float = 0.005
    ) -> dict[str, Samples]:
        self.width = width
        for launch in launches.values():
            launch()
        return {
            n: Samples((float(len(n)),) * 3, method=self.method, stopped="count") for n in launches
        }


HANDLERS = {
    "harness.measure.peers.worker:compare_region": "tests.measure.peers.cpu_worker:compare_region",
    "harness.measure.worker:open_device": "harness.devices.process:idle",
}


def compare_region(context: Context, job: CompareJob) -> dict[str, RegionRecord]:
    return compared(job, context, FakeTimer(), torch.device("cpu"))
