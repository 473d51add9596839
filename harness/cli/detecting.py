"""A run's kernels get the smallest change that this machine's calibration can tell."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.records.run import Run
    from harness.session.model import Event


def detecting(
    events: Generator[Event, None, None], results: Path, run: Run
) -> Generator[Event, None, None]:
    """``events``, kernels with their smallest detectable change, by the newest calibration below
    ``results`` that fits the run's machine and method; without one as they are."""
    from harness.calibration import store as calibrations

    with contextlib.closing(events):
        found = calibrations.newest(results, run.machine.key, run.method)
        if found is None:
            yield from events
            return
        from harness.calibration.lookup import Detector
        from harness.session.model import GraphDone, KernelDone

        detector = Detector(found)
        for event in events:
            if isinstance(event, KernelDone):
                event = replace(event, kernel=detector.kernel(event.kernel))
            elif isinstance(event, GraphDone):
                event = replace(event, record=detector.graph(event.record))
            yield event
