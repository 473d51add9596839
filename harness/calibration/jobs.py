"""A calibration's jobs for a device; the handlers are in ``calibration.worker``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.devices.job import Job


@dataclass(frozen=True, slots=True)
class DurationJob(Job):
    """Answers the milliseconds of one launch of a module's kernel."""

    handler: ClassVar[str] = "harness.calibration.worker:duration"
    module_text: str


@dataclass(frozen=True, slots=True)
class CellJob(Job):
    """Measure one kernel in one process, plain twice, and slowed down. ``ms`` is how long one
    launch takes, of which ``levels`` are shares (none: not slowed down at all); the order of the
    subjects follows ``seed``.
    Answers a ``record.Cell``."""

    handler: ClassVar[str] = "harness.calibration.worker:cell"
    process: int
    kernel: str
    module_text: str
    levels: tuple[float, ...]
    ms: float
    seed: int
    budget_ms: float
    width: float
