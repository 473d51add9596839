"""What a timer answers, and what anything that times kernels expects of one."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

Launch = Callable[[], object]
"""Enqueues work on the current stream and returns at once. A ``Work`` is one too, and the
kind that a timer can measure best."""

METHOD = "graph-cold-l2/2"
"""How times are taken unless they say otherwise: replayed CUDA graphs on inputs outside the L2
cache. It names the version; times of different methods are not compared."""

WIDTH = 0.005
"""Default of what a measurement aims at: the width of the 95 % confidence interval of the
median, as a share of the median."""


DISTURBED = ("disturbed", "throttled")
"""Values of ``Samples.stopped`` where nothing but samples to be left out came, and they are what
is there. The second one is what the timer graph-cold-l2/1 said."""


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """A launch that a timer may run on copies of its arguments.

    ``launch(args)`` enqueues work on the current stream; what it returns is kept alive until the
    measurement is over. It is called with copies of ``args`` (tensors are copied, views of one
    storage stay views of one storage, everything else is passed on), is recorded in a CUDA graph,
    and so must not wait for the device after its first call. ``args`` itself is left as it is,
    unless the device has no room for copies of it. ``count`` is how many launches a sample should
    be the mean of, because another measurement had as many; the timer finds it if None."""

    launch: Callable[[Sequence[Any]], Any]
    args: Sequence[Any]
    count: int | None = None

    def __call__(self) -> None:
        """Enqueue once, on ``args`` itself."""
        self.launch(self.args)


@dataclass(frozen=True, slots=True)
class Samples:
    """What one process measured of a launch: times in milliseconds, in the order they were taken.

    ``process`` counts the run's measuring processes from 0. ``low`` and ``high`` bound the median
    (95 % confidence). ``clock_mhz`` is the median SM clock while sampling; ``excluded`` counts
    samples left out because the GPU was throttling or launched at another interval than usual.
    ``stopped`` says why no more were taken (``width``: the interval is as narrow as asked;
    ``budget``; ``count``; ``disturbed``: nothing but samples to be left out came, and they are what
    is here). ``drift`` is empty or says how the times moved (``rising 1.2 %``; of older
    runs also ``1.2 % higher for a while``). A sample is the mean of ``launches`` launches.
    ``copy_gbps`` is the copy bandwidth of its GPU. ``cycles`` is the median number of SM
    cycles of one launch: where the clock changed and the code did not, the cycles of arithmetic
    stay and the milliseconds do not. ``method`` names the way of measuring; in a record it is empty
    where it is the run's. What is not known is None.
    """

    process: int = field(default=0, kw_only=True)
    ms: tuple[float, ...] = field(repr=False)
    low: float | None = field(default=None, kw_only=True)
    high: float | None = field(default=None, kw_only=True)
    clock_mhz: float | None = field(default=None, kw_only=True)
    excluded: int = field(default=0, kw_only=True)
    stopped: str = field(default="", kw_only=True)
    drift: str = field(default="", kw_only=True)
    launches: int = field(default=1, kw_only=True)
    copy_gbps: float | None = field(default=None, kw_only=True)
    cycles: float | None = field(default=None, kw_only=True)
    method: str = field(default="", kw_only=True)

    def recorded(self, process: int, method: str) -> Samples:
        """As a run measured by ``method`` keeps those of its process number ``process``."""
        return replace(self, process=process, method="" if self.method == method else self.method)

    @property
    def median(self) -> float:
        """Median in milliseconds."""
        return statistics.median(self.ms)

    @property
    def disturbed(self) -> bool:
        """Whether they say nothing of the launch's usual time: none but samples to be left out
        came, or more than half were left out."""
        return self.stopped in DISTURBED or self.excluded > len(self.ms)


class Timer(Protocol):
    """Times launches on the device in milliseconds. ``budget_ms`` is wall clock; ``width``
    is what the confidence interval of the median should be narrower than, as a share of the
    median: sampling ends when it is, or with the budget."""

    def measure(self, launch: Launch, budget_ms: float) -> Samples:
        """Time ``launch`` for at most about ``budget_ms``."""

    def compare(
        self, launches: Mapping[str, Launch], budget_ms: float, width: float = WIDTH
    ) -> dict[str, Samples]:
        """Time several launches in rounds, each round in a random order, for at most about
        ``budget_ms`` in all. The i-th samples of all of them are of the same round. Works
        that share their ``args`` run on the same copies, at the same addresses."""
