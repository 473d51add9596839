"""Measuring a calibration: every kernel in every process, cell by cell."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.calibration.jobs import ROLE, CellJob
from harness.calibration.record import LEVELS, Cell, Subject
from harness.devices.pool import WorkerPool
from harness.errors import HarnessError, NoDevice
from harness.measure.jobs import DeviceFacts
from harness.records.run import one_line
from harness.runtime.compile.compiling import CompileJob, CompilePool

_SECONDS = 90.0
"""What one kernel may take in one process, loading included."""
LONG_MS, SHORT_MS = 0.020, 0.003
"""Size classes: above 20 µs, 3 to 20 µs, below."""
_LEVELS = {"long": LEVELS[:3], "medium": LEVELS[1:], "short": LEVELS[2:]}


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure: ``processes`` fresh ones, in each every kernel for at most
    ``budget_ms`` of wall clock, or until every median is known to ``width``. No new kernel is
    begun after ``seconds``. ``seed`` decides orders and contents."""

    processes: int = 6
    budget_ms: float = 200.0
    width: float = 0.004
    seconds: float | None = None
    seed: int = 0
    cell_seconds: float = _SECONDS


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel to calibrate with, and its module."""

    subject: Subject
    module_text: str


def size_class(ms: float) -> str:
    """``long`` above 20 µs, ``medium`` from 3 µs up, else ``short``."""
    if ms > LONG_MS:
        return "long"
    return "medium" if ms >= SHORT_MS else "short"


def levels_for(ms: float) -> tuple[float, ...]:
    """Slowdowns worth injecting into a kernel of ``ms``: those near what can be found there."""
    return _LEVELS[size_class(ms)]


Follow = Callable[[int, int], None]
"""Hears how many of how many cells are done."""


@contextlib.contextmanager
def opened(
    cache: Path, effort: Effort, role: str = ROLE
) -> Iterator[tuple[DeviceFacts, list[WorkerPool]]]:
    """The device as its first process finds it, and one pool of one process each. Raises
    ``NoDevice``."""
    with contextlib.ExitStack() as stack:
        pools = [
            stack.enter_context(WorkerPool(role, 1, effort.cell_seconds, cache))
            for _ in range(effort.processes)
        ]
        device: DeviceFacts = pools[0].run("open", None)
        yield device, pools


def compile_ahead(
    candidates: Sequence[Candidate], device: DeviceFacts, cache: Path, jobs: int
) -> None:
    """Every kernel once, in parallel. What fails here fails again, with its reason."""
    compiles = [CompileJob(one.module_text, device.target) for one in candidates]
    with CompilePool(max(1, min(jobs, len(compiles))), cache) as pool:
        pool.warm(compiles)


def cells(
    candidates: Sequence[Candidate],
    effort: Effort,
    pools: Sequence[WorkerPool],
    done: Collection[tuple[int, str]] = (),
    durations: Mapping[str, float] | None = None,
    follow: Follow = lambda _done, _total: None,
) -> Iterator[Subject | Cell]:
    """Measure what is not ``done`` yet: (process, key) pairs.

    A ``Subject`` tells how long a kernel takes, once, before its first cell (``durations`` are
    those known already); a cell with a reason says that a kernel failed, which is then left
    out. Raises ``NoDevice`` when the GPU is gone.
    """
    began = time.monotonic()
    known = dict(durations or {})
    failed: set[str] = set()
    total = effort.processes * len(candidates)
    count = 0
    for process, pool in enumerate(pools):
        order = list(candidates)
        random.Random(f"{effort.seed} {process}").shuffle(order)
        for later in pools[process + 1 : process + 2]:
            later.start()  # it imports meanwhile, and takes the device when asked to
        for one in order:
            follow(count, total)
            count += 1
            key = one.subject.key
            if key in failed or (process, key) in done:
                continue
            if effort.seconds is not None and time.monotonic() - began > effort.seconds:
                return
            for found in _one(pool, one, process, effort, known):
                if isinstance(found, Cell) and found.reason:
                    failed.add(key)
                yield found
        pool.close()
    follow(total, total)


def _one(
    pool: WorkerPool, one: Candidate, process: int, effort: Effort, known: dict[str, float]
) -> Iterator[Subject | Cell]:
    key = one.subject.key
    try:
        pool.run("open", None)  # a worker that replaces a lost one says if the device is gone
        if key not in known:
            known[key] = pool.run("duration", one.module_text)
            yield replace(one.subject, ms=known[key])
        yield pool.run("cell", _job(one, process, effort, known[key]))
    except NoDevice:
        raise
    except HarnessError as error:
        yield Cell(process, key, reason=one_line(error))


def _job(one: Candidate, process: int, effort: Effort, ms: float) -> CellJob:
    return CellJob(
        process,
        one.subject.key,
        one.module_text,
        levels_for(ms),
        ms,
        effort.seed + process,
        effort.budget_ms,
        effort.width,
    )
