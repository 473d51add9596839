"""What a timer answers, and what anything that times kernels expects of one."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

Launch = Callable[[], None]
"""Enqueues work on the current stream and returns at once."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Measured times of one launch in milliseconds, in the order they were taken.

    ``method`` names how, ``stopped`` why no more were taken (``budget``, ``count``,
    ``steady``).
    """

    ms: tuple[float, ...]
    method: str
    stopped: str

    @property
    def median(self) -> float:
        """Median in milliseconds."""
        return statistics.median(self.ms)

    @property
    def spread(self) -> float:
        """Interquartile range over the median; 0 for fewer than four samples."""
        if len(self.ms) < 4 or self.median == 0:
            return 0.0
        low, _, high = statistics.quantiles(self.ms, n=4)
        return (high - low) / self.median


class Timer(Protocol):
    """Times launches on the device in milliseconds."""

    def measure(self, launch: Launch, budget_ms: float) -> Samples:
        """Time ``launch`` for about ``budget_ms`` of wall clock."""
        ...

    def compare(self, launches: Mapping[str, Launch], budget_ms: float) -> dict[str, Samples]:
        """Time several launches interleaved, for about ``budget_ms`` in all."""
        ...
