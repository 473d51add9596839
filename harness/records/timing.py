"""What a timer answers, and what anything that times kernels expects of one."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Launch = Callable[[], None]
"""Enqueues work on the current stream and returns at once. A ``Work`` is one too, and the
kind that a timer can measure best."""

WIDTH = 0.005
"""Default of what a measurement aims at: the width of the 95 % confidence interval of the
median, as a share of the median."""


DISTURBED = ("disturbed", "throttled")
"""Values of ``Samples.stopped`` where nothing but samples to be left out came, and they are what
is there. The second one is what the timer graph-cold-l2/1 said."""


def is_disturbed(stopped: str, kept: int, excluded: int) -> bool:
    """Whether a process's samples say nothing of a kernel's usual time: it got none but samples to
    be left out, or left out more than the ``kept`` ones."""
    return stopped in DISTURBED or excluded > kept


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """A launch that a timer may run on copies of its arguments.

    ``launch(args)`` enqueues work on the current stream; what it returns is kept alive until
    the measurement is over. It is called with copies of ``args`` (tensors are copied, views
    of one storage stay views of one storage, everything else is passed on), is recorded in a
    CUDA graph, and so must not wait for the device after its first call. ``args`` itself is
    left as it is, unless the device has no room for copies of it. ``count`` is how many launches
    a sample should be the mean of, because another measurement had as many; the timer finds
    it if None.
    """

    launch: Callable[[Sequence[Any]], Any]
    args: Sequence[Any]
    count: int | None = None

    def __call__(self) -> None:
        """Enqueue once, on ``args`` itself."""
        self.launch(self.args)


@dataclass(frozen=True, slots=True)
class Samples:
    """Measured times of one launch in milliseconds, in the order they were taken.

    ``method`` names how, ``stopped`` why no more were taken (``width``: the interval is as
    narrow as asked; ``budget``; ``count``; ``disturbed``: nothing but samples to be left out
    came, and they are what is here). ``low`` and ``high`` are the 95 % confidence interval of the
    median in milliseconds; ``drift`` is empty or says how the times moved (``rising 1.2 %``,
    ``stepping up 1.2 %``, ``1.2 % higher for a while``).
    ``excluded`` counts samples left out because the GPU was throttling, or launched kernels at
    another pace than it usually does. ``launches`` is how
    many launches a sample is the mean of, ``floor`` the timer's own share of a sample (0.01:
    1 %). ``clock_mhz`` is the median SM clock while the samples were taken, ``cycles`` the
    median SM cycles of one launch. What is not known is None.
    """

    ms: tuple[float, ...]
    method: str
    stopped: str
    low: float | None = None
    high: float | None = None
    drift: str = ""
    excluded: int = 0
    clock_mhz: float | None = None
    cycles: float | None = None
    launches: int = 1
    floor: float | None = None

    @property
    def median(self) -> float:
        """Median in milliseconds."""
        return statistics.median(self.ms)

    @property
    def disturbed(self) -> bool:
        """Whether they say nothing of the launch's usual time (``is_disturbed``)."""
        return is_disturbed(self.stopped, len(self.ms), self.excluded)

    @property
    def width(self) -> float | None:
        """Width of the confidence interval over the median; None if it is not known."""
        if self.low is None or self.high is None or self.median == 0:
            return None
        return (self.high - self.low) / self.median

    @property
    def spread(self) -> float:
        """Interquartile range over the median; 0 for fewer than four samples."""
        if len(self.ms) < 4 or self.median == 0:
            return 0.0
        low, _, high = statistics.quantiles(self.ms, n=4)
        return (high - low) / self.median


class Timer(Protocol):
    """Times launches on the device in milliseconds. ``budget_ms`` is wall clock; ``width``
    is what the confidence interval of the median should be narrower than, as a share of the
    median: sampling ends when it is, or with the budget."""

    def measure(self, launch: Launch, budget_ms: float, width: float = WIDTH) -> Samples:
        """Time ``launch`` for at most about ``budget_ms``."""
        ...

    def compare(
        self, launches: Mapping[str, Launch], budget_ms: float, width: float = WIDTH
    ) -> dict[str, Samples]:
        """Time several launches in rounds, each round in a random order, for at most about
        ``budget_ms`` in all. The i-th samples of all of them are of the same round. Works
        that share their ``args`` run on the same copies, at the same addresses."""
        ...
