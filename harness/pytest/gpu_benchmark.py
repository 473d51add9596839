"""GPU samples in pytest-benchmark's own tables: the ``gpu_benchmark`` fixture behind the plugin.

pytest-benchmark times what it calls with a clock of its own. Here the device has been timed
already, so its clock is a manual one (``ManualClock``): each round it calls a
function that moves the clock on by the next sample. Statistics, JSON, saving, comparing and
``--benchmark-compare-fail`` are then pytest-benchmark's own work on our samples.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from harness.errors import CheckFailed, UsageError
from harness.measure.timer.graph_timer import METHOD
from harness.records.timing import Samples, Work

if TYPE_CHECKING:
    from harness.measure.roofline import Limit, Roofline
    from harness.records.timing import Timer

DEFAULT_BUDGET_MS = 500.0
"""GPU time for one benchmark, at most; the timer stops earlier once it knows enough."""

_FIGURES = len("  0.0000000  00.00  0000000  0000000  disturbed")
"""Columns of the section beside the name."""
_SHORTEST = 24


class ManualClock:
    """A clock in seconds that moves only by ``advance``."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        """Seconds since the clock was made."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move on."""
        self._now += seconds


class Benchmark(Protocol):
    """What is used of pytest-benchmark's fixture."""

    disabled: bool
    extra_info: dict[str, Any]
    group: str | None

    def pedantic(self, target: Callable[[], None], *, rounds: int, iterations: int) -> None:
        """Call ``target`` once a round and keep what the clock says."""


@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark in the GPU section. ``ms`` is the median of a launch, ``low`` and ``high``
    bound it where the timer says so; ``gbps`` is None where no bytes are known, ``limit`` is what
    holds the kernel back on this device."""

    name: str
    ms: float
    low: float | None = None
    high: float | None = None
    gbps: float | None = None
    limit: Limit | None = None
    stopped: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Gpu:
    """A device to time on, and what it can do by the same method."""

    timer: Timer
    roofline: Roofline | None = None


@dataclass(eq=False, slots=True)
class GpuBenchmark:
    """Times one callable, or takes samples measured elsewhere; used once per test.

    ``open_gpu`` gives the device, or skips the test where there is none.
    """

    name: str
    benchmark: Benchmark
    clock: ManualClock
    open_gpu: Callable[[], Gpu]
    report: Callable[[Row], None]
    budget_ms: float = DEFAULT_BUDGET_MS
    _info: dict[str, Any] = field(default_factory=dict)

    def __call__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        *,
        bytes: int | None = None,  # noqa: A002 - the word users write
        flops: int = 0,
        tensor: bool = False,
        reference: Callable[..., Any] | None = None,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> Any:
        """Time ``function(*args)`` on the device and return its result.

        ``bytes`` is what one call has to move; with it GB/s and the share of what a copy reaches
        are reported; with ``flops`` too, of the arithmetic where that is the limit (of the tensor
        cores with ``tensor``).
        ``reference(*args)`` is compared before timing (``torch.testing``'s tolerances unless
        given; raises ``CheckFailed``): it must not change what ``function`` reads. With
        benchmarks disabled (``--benchmark-disable``, xdist) the function runs once.
        """
        __tracebackhide__ = True  # a failure is the caller's line, not ours
        gpu = self.open_gpu()
        if bytes is not None and bytes <= 0:
            raise UsageError(
                "a kernel that moves nothing cannot have a bandwidth",
                where=self.name,
                got=f"bytes={bytes}",
                expected="the bytes that one call reads and writes, or nothing",
                remedy="count the tensors that are read and written, or leave bytes= out",
            )
        expected = None if reference is None else reference(*args)
        result = function(*args)
        if reference is not None:
            _compare(self.name, result, expected, rtol, atol)
        if self.benchmark.disabled:
            return result
        work = Work(lambda copies: function(*copies), args)
        try:
            samples = gpu.timer.measure(work, self.budget_ms)
        finally:
            _give_memory_back()
        limit = None
        if gpu.roofline is not None and bytes is not None:
            # Reads and writes are not told apart here: half of each, as in a copy.
            limit = gpu.roofline.limit(samples.median, bytes, bytes // 2, flops, tensor)
        self.take(samples, nbytes=bytes, limit=limit)
        return result

    def take(
        self,
        samples: Samples,
        *,
        nbytes: int | None = None,
        limit: Limit | None = None,
        **extra: Any,
    ) -> None:
        """Enter samples that were measured already: ``nbytes`` moved by a launch, what holds it
        back, and ``extra`` facts for the JSON."""
        if not samples.ms:
            raise UsageError(
                "a benchmark without samples",
                where=self.name,
                expected="at least one measured time",
            )
        median = statistics.median(samples.ms)
        gbps = None if nbytes is None or median == 0 else nbytes / median / 1e6
        self.benchmark.extra_info.update(
            {
                "bytes": nbytes,
                "gbps": gbps,
                "roof": None if limit is None else limit.roof,
                "share_of_roof": None if limit is None else limit.fraction,
                "method": samples.method or METHOD,
                "stopped": samples.stopped,
                "median_low_ms": samples.low,
                "median_high_ms": samples.high,
                "drift": samples.drift,
                "excluded": samples.excluded,
                "launches_per_sample": samples.launches,
                "clock_mhz": samples.clock_mhz,
                **extra,
            }
        )
        row = Row(self.name, median, samples.low, samples.high, gbps, limit, samples.stopped)
        self.report(row)
        rest = iter(samples.ms)
        self.benchmark.pedantic(
            lambda: self.clock.advance(next(rest) / 1000), rounds=len(samples.ms), iterations=1
        )


def _give_memory_back() -> None:
    """Copies of arguments may be a large part of the device's memory, which other processes of
    the session need, and the next test."""
    from harness.measure.measurer import release

    release("cuda")


def _compare(name: str, result: Any, expected: Any, rtol: float | None, atol: float | None) -> None:
    import torch

    __tracebackhide__ = True
    try:
        torch.testing.assert_close(result, expected, rtol=rtol, atol=atol)
    except AssertionError as error:
        raise CheckFailed(
            "a benchmarked function differs from its reference",
            where=name,
            got=str(error).strip().replace("\n", " ")[:500],
            expected="the reference's result, within tolerance",
            remedy="mend the function, or allow for its rounding with rtol= and atol=",
        ) from None


def section(rows: Sequence[Row], columns: int | None = None) -> list[str]:
    """The GPU section as lines of text: a heading, then a benchmark each. Names are cut in the
    middle where the lines would be longer than ``columns``; both ends tell them apart."""
    width = max([len(row.name) for row in rows] + [len("benchmark")])
    if columns is not None:
        width = min(width, max(_SHORTEST, columns - _FIGURES))
    lines = [f"{'benchmark':{width}}  {'ms':>9}  {'±%':>5}  {'GB/s':>7}  {'roof%':>7}  stopped"]
    for row in rows:
        around = ""
        if row.low is not None and row.high is not None and row.ms:
            around = f"{50 * (row.high - row.low) / row.ms:.2f}"
        gbps = "" if row.gbps is None else f"{row.gbps:.0f}"
        share = "" if row.limit is None else f"{100 * row.limit.fraction:.0f} {row.limit.roof[0]}"
        name = f"{_cut(row.name, width):{width}}"
        lines.append(f"{name}  {row.ms:9.4f}  {around:>5}  {gbps:>7}  {share:>7}  {row.stopped}")
    return lines


def _cut(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    end = (width - 1) // 2
    return f"{name[: width - 1 - end]}…{name[len(name) - end :]}"
