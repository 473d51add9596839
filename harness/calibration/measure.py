"""Measuring a calibration: every kernel in every process, cell by cell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.calibration.jobs import CellJob, DurationJob
from harness.calibration.record import LEVELS, Cell, Subject
from harness.devices.pool import Pool
from harness.errors import HarnessError, NoDevice
from harness.measure.jobs import Effort, Follow, in_fresh_processes
from harness.records.run import one_line

LONG_MS, SHORT_MS = 0.020, 0.003
"""Size classes: above 20 µs, 3 to 20 µs, below."""
_LEVELS = {"long": LEVELS[:3], "medium": LEVELS[1:], "short": LEVELS[2:]}


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


def cells(
    candidates: Sequence[Candidate],
    effort: Effort,
    pool: Pool,
    done: Collection[tuple[int, str]] = (),
    durations: Mapping[str, float] | None = None,
    follow: Follow = lambda _done, _total: None,
) -> Iterator[Subject | Cell]:
    """Measure what is not ``done`` yet: (process, key) pairs.

    A ``Subject`` tells how long a kernel takes, once, before its first cell (``durations`` are
    those known already); a cell with a reason says that a kernel failed, which is then left
    out. Raises ``NoDevice`` when the GPU is gone.
    """
    known = dict(durations or {})
    failed: set[str] = set()

    def wanted(process: int, number: int) -> bool:
        key = candidates[number].subject.key
        return key not in failed and (process, key) not in done

    for process, number, _ in in_fresh_processes(pool, len(candidates), effort, wanted, follow):
        one = candidates[number]
        key = one.subject.key
        try:
            if key not in known:
                known[key] = pool.run(DurationJob(one.module_text))
                yield replace(one.subject, ms=known[key])
            yield pool.run(_job(one, process, effort, known[key]))
        except NoDevice:
            raise
        except HarnessError as error:
            failed.add(key)
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
