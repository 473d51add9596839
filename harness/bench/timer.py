"""Times launches on a CUDA device with device events and a cold L2 cache.

Method ``events-cold-l2/1``. Before every sample a kernel reads a buffer several times the
size of the L2 cache, so that neither inputs nor earlier results are in it, and the lines
it leaves are clean: the launch under test does not pay for writing back somebody else's.
That kernel runs for tens of microseconds, during which the host enqueues event, launch
and event, so the GPU never waits for the host between them. Nothing is subtracted: a
sample includes the few microseconds that an empty kernel shows. Launches that are
compared take turns within each round, and the order turns with the rounds.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.runtime.device import current_target, require
from harness.runtime.timing import WIDTH, Launch, Samples

METHOD = "events-cold-l2/1"

_FLUSH_FACTOR = 4
_LEAST_FLUSH_BYTES = 128 << 20
_WARM_UP_MS = 20.0
_ROUNDS_PER_BATCH = 10
_LEAST_SAMPLES = 10
_MOST_SAMPLES = 400
_STEADY = 0.002
"""Stop once the median's standard error is below this share of the median."""


@dataclass(eq=False, slots=True)
class CudaTimer:
    """Times on the current device. Holds the flush buffer; drop it to free that memory."""

    _source: torch.Tensor = field(init=False)
    _sums: torch.Tensor = field(init=False)

    def __post_init__(self) -> None:
        device = require()
        wanted = max(_LEAST_FLUSH_BYTES, _FLUSH_FACTOR * current_target(device).l2_bytes)
        rows = 4096
        columns = -(-wanted // (4 * rows))
        self._source = torch.ones(rows, columns, dtype=torch.float32, device=device)
        self._sums = torch.empty(rows, dtype=torch.float32, device=device)

    def flush(self) -> None:
        """Enqueue the read that leaves nothing of use in the L2 cache."""
        torch.sum(self._source, dim=1, out=self._sums)

    def measure(self, launch: Launch, budget_ms: float, width: float = WIDTH) -> Samples:
        """Time ``launch`` for about ``budget_ms`` of wall clock (at least ten samples)."""
        return self.compare({"": launch}, budget_ms, width)[""]

    def compare(
        self,
        launches: Mapping[str, Launch],
        budget_ms: float,
        width: float = WIDTH,  # noqa: ARG002
    ) -> dict[str, Samples]:
        """Time several launches in turns, ``budget_ms`` of wall clock in all."""
        return collect(launches, budget_ms, self._warm_up, self._batch)

    def _warm_up(self, launch: Launch) -> None:
        """Run until modules are loaded and clocks have had time to rise."""
        launch()
        torch.cuda.synchronize()
        end = time.perf_counter() + _WARM_UP_MS / 1000
        while time.perf_counter() < end:
            self.flush()
            launch()
            torch.cuda.synchronize()

    def _batch(self, launches: Mapping[str, Launch], rounds: int) -> dict[str, list[float]]:
        """``rounds`` samples of each launch, taken in turns, read after one wait."""
        names = list(launches)
        pairs: dict[str, list[tuple[Any, Any]]] = {name: [] for name in names}
        for turn in range(rounds):
            first = turn % len(names)
            for name in (*names[first:], *names[:first]):
                begin, end = _event(), _event()
                self.flush()
                begin.record()
                launches[name]()
                end.record()
                pairs[name].append((begin, end))
        torch.cuda.synchronize()
        return {n: [float(b.elapsed_time(e)) for b, e in pairs[n]] for n in names}


def _event() -> Any:
    cuda: Any = torch.cuda
    return cuda.Event(enable_timing=True)


def collect(
    launches: Mapping[str, Launch],
    budget_ms: float,
    warm_up: Any,
    batch: Any,
) -> dict[str, Samples]:
    """Batches of samples until one of three reasons to stop.

    ``steady``: every launch's median is known to 0.2 %; ``count``: 400 samples each;
    ``budget``: the wall clock is used up. At least ten samples each are taken.
    """
    for launch in launches.values():
        warm_up(launch)
    began = time.perf_counter()
    samples: dict[str, list[float]] = {name: [] for name in launches}
    stopped = ""
    while not stopped:
        for name, taken in batch(launches, _ROUNDS_PER_BATCH).items():
            samples[name].extend(taken)
        count = min(len(s) for s in samples.values())
        if count < _LEAST_SAMPLES:
            continue
        if all(_is_steady(s) for s in samples.values()):
            stopped = "steady"
        elif count >= _MOST_SAMPLES:
            stopped = "count"
        elif (time.perf_counter() - began) * 1000 >= budget_ms:
            stopped = "budget"
    return {n: Samples(tuple(s), METHOD, stopped) for n, s in samples.items()}


def _is_steady(samples: list[float]) -> bool:
    """Whether the median is known well: 1.25 × standard deviation (from the quartiles,
    which stray samples do not move) over the square root of the count."""
    if len(samples) < 3 * _LEAST_SAMPLES:
        return False
    low, middle, high = statistics.quantiles(samples, n=4)
    deviation = (high - low) / 1.349
    return 1.2533 * deviation / len(samples) ** 0.5 <= _STEADY * middle


@dataclass(frozen=True, slots=True)
class _Replay:
    """A recorded launch. The graph holds addresses only, so the launch, which owns the
    tensors behind them, has to live as long."""

    graph: Any
    launch: Launch

    def __call__(self) -> None:
        self.graph.replay()


def graph_of(launch: Launch) -> Launch:
    """``launch`` recorded as a CUDA graph, so that replaying it costs the host one call.

    ``launch`` runs a few times on a side stream first, as capturing requires.
    """
    device = require()
    cuda: Any = torch.cuda
    side = cuda.Stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(side):
        for _ in itertools.repeat(None, 3):
            launch()
    torch.cuda.current_stream(device).wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    return _Replay(graph, launch)
