"""GPU samples in pytest-benchmark's own tables: the ``gpu_benchmark`` fixture behind the plugin.

pytest-benchmark times what it calls with a clock of its own. Here the device has been timed
already, so its clock is a manual one (``ManualClock``): each round it calls a
function that moves the clock on by the next sample. Statistics, JSON, saving, comparing and
``--benchmark-compare-fail`` are then pytest-benchmark's own work on our samples.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.errors import CheckFailed, UsageError
from harness.records.timing import METHOD, Samples, Timer, Work
from harness.table import Column, Fit, Row, Table, plain, text_lines

if TYPE_CHECKING:
    from harness.measure.jobs import Limit, Roofline

DEFAULT_BUDGET_MS = 500.0
"""GPU time for one benchmark, at most; the timer stops earlier once it knows enough."""


@dataclass(eq=False)
class ManualClock:
    """A clock in seconds that moves only by ``advance``."""

    now: float = 0.0

    def __call__(self) -> float:
        """Seconds since the clock was made."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Move on."""
        self.now += seconds


@dataclass(frozen=True, eq=False, slots=True)
class Gpu:
    """A device to time on, and what it can do by the same method."""

    timer: Timer
    roofline: Roofline | None = None


@dataclass(eq=False, slots=True)
class GpuBenchmark:
    """Times one callable, or takes samples measured elsewhere; used once per test. ``benchmark`` is
    pytest-benchmark's fixture, ``open_gpu`` gives the device, or skips the test where there is
    none, ``report`` hears a row of the GPU section (None: no bytes, no interval are known)."""

    name: str
    benchmark: Any
    clock: ManualClock
    open_gpu: Callable[[], Gpu]
    report: Callable[[Row], None]
    budget_ms: float = DEFAULT_BUDGET_MS

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
        cores with ``tensor``). ``reference(*args)`` is compared before timing (``torch.testing``'s
        tolerances unless given; raises ``CheckFailed``): it must not change what ``function``
        reads. With benchmarks disabled (``--benchmark-disable``, xdist) the function runs once."""
        __tracebackhide__ = True  # a failure is the caller's line, not ours
        import torch

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
            # Copies of arguments may be a large part of the device's memory, which other processes
            # of the session need, and the next test.
            torch.cuda.empty_cache()
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
        self.report(
            {"name": self.name, "ms": median, "low": samples.low, "high": samples.high}
            | {"gbps": gbps, "limit": limit, "stopped": samples.stopped}
        )
        rest = iter(samples.ms)
        self.benchmark.pedantic(
            lambda: self.clock.advance(next(rest) / 1000), rounds=len(samples.ms), iterations=1
        )


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
            remedy="fix the function, or allow for its rounding with rtol= and atol=",
        ) from None


def section(rows: Sequence[Row], width: int | None = None) -> list[str]:
    """The GPU section as lines of text: a heading, then a benchmark each, in at most ``width``
    columns; None: nothing is cut."""
    return plain(text_lines([Table(_COLUMNS, rows)], width))


def _around(row: Row) -> str:
    """Half of the interval, in per cent of the median."""
    if row["low"] is None or row["high"] is None or not row["ms"]:
        return ""
    return f"{50 * (row['high'] - row['low']) / row['ms']:.2f}"


def _of_peak(row: Row) -> str:
    limit = row["limit"]
    return "" if limit is None else f"{100 * limit.fraction:.0f} % {limit.roof}"


_COLUMNS = (
    Column("benchmark", lambda row: row["name"], fit=Fit.SHORTEN),
    Column("ms", lambda row: f"{row['ms']:.4f}", right=True, least=9),
    Column("±%", _around, right=True, least=5),
    Column("GB/s", lambda row: "" if row["gbps"] is None else f"{row['gbps']:.0f}", right=True),
    Column("of peak", _of_peak, right=True, least=10),
    Column("stopped", lambda row: row["stopped"]),
)
