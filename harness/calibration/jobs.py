"""What the worker process of a calibration is asked; it answers with ``record.Cell``."""

from __future__ import annotations

from dataclasses import dataclass

ROLE = "harness.calibration.worker:handlers"


@dataclass(frozen=True, slots=True)
class CellJob:
    """Measure one kernel in one process. ``ms`` is how long one launch takes (None: find out
    first), of which ``levels`` are shares; the order of the subjects follows ``seed``."""

    process: int
    kernel: str
    module_text: str
    levels: tuple[float, ...]
    ms: float | None
    seed: int
    budget_ms: float
    width: float
