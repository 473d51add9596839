"""Other handlers in the place of a job's own: tests stand in for devices with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from harness.devices.job import Device, Job
from harness.devices.process import Process


def stand_in(monkeypatch: pytest.MonkeyPatch, handlers: Mapping[str, str]) -> None:
    """Have jobs done by others than their own ``handlers``, by name. Processes that measure import
    the modules of these alone."""
    kinds: list[type[Job]] = [Job]
    for kind in kinds:
        kinds += kind.__subclasses__()
        if (other := handlers.get(getattr(kind, "handler", ""))) is not None:
            monkeypatch.setattr(kind, "handler", other)
    modules = tuple(dict.fromkeys(name.partition(":")[0] for name in handlers.values()))
    start = Process.started

    def started(device: Device, cache: Path | None) -> Process:
        measures = any(name.startswith("harness.measure.") for name in device.imports)
        return start(replace(device, imports=modules) if measures else device, cache)

    monkeypatch.setattr(Process, "started", started)
