"""Peers as a run sees them: compile ahead, compare a region, in processes that can be lost. The
compiler that a lost process was about to run gets the reason as its row, and the others are
compared without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from harness.devices.job import BESIDE_TIMING, Closing, Device, cores, tried
from harness.devices.pool import Pool
from harness.errors import HarnessError
from harness.heuristics.facts import Config
from harness.measure.jobs import gpu
from harness.measure.noise.processes import combined
from harness.measure.peers.jobs import (
    INDUCTOR,
    OURS,
    SUBJECTS,
    TIMING,
    TUNED,
    USER,
    Comparable,
    CompareJob,
    WarmJob,
)
from harness.records.run import Check, RegionRecord, one_line
from harness.records.timing import METHOD

_SECONDS = 300.0
"""What comparing one region may take, compiling and tuning by every compiler included."""
_MOST_WARMING = 8
"""Processes that compile ahead (a region: 3 s), each of which holds a context on the device."""
_INDUCTOR = ("harness.measure.peers.worker", "torch._inductor.compile_fx")
_TIMING_FAILED = "the process was lost while all compilers were timed, interleaved"


class PeerPool(Closing):
    """Compares the compilers ``against`` with ours, in each of ``processes`` fresh processes.
    ``jobs`` processes compile ahead; everything worth keeping goes below ``cache``. Comparing a
    region may take ``seconds`` in one process. ``first`` is a process that times other things as
    well, with the ``environment`` of peers: one that takes turns with another process on a device
    finds it disturbed for seconds each time. ``on`` is the device that all have (None: the current
    one).

    A compiler that fails, crashes or hangs costs its own row. Raises ``NoDevice`` where the
    GPU cannot be used any more."""

    def __init__(
        self,
        against: Sequence[str],
        cache: Path,
        jobs: int,
        seconds: float = _SECONDS,
        processes: int = 1,
        first: Pool | None = None,
        on: Device | None = None,
    ) -> None:
        self.against = tuple(against)
        self._tuned = [name == TUNED for name in against if name in (INDUCTOR, TUNED)]
        self._seconds = seconds
        on = on or gpu(environment=environment(cache))
        # Compiling ahead is what runs in parallel, so each process compiles alone.
        alone = (*on.environment, ("TORCHINDUCTOR_COMPILE_THREADS", "1"), ("OMP_NUM_THREADS", "1"))
        self._own = [Pool([on], seconds, cache) for _ in range(processes - (first is not None))]
        self._workers = self._own if first is None else [first, *self._own]
        alike = Device("", alone, _INDUCTOR, niceness=BESIDE_TIMING, host=on.host)
        self._warming = Pool(cores(min(jobs, _MOST_WARMING), alike), seconds, cache)
        if self._tuned:
            self._warming.start()  # imports take seconds
            # And in the process that compares, the first compilation: while code is generated.
            ThreadPoolExecutor(1).submit(self._workers[0].all, [WarmJob(None, seconds=seconds)])

    def close(self) -> None:
        """End the processes."""
        for pool in (self._warming, *self._own):
            pool.close()

    def prepare(self, work: Sequence[Comparable]) -> None:
        """Compile with Inductor what ``compare`` will need, in parallel, beside what is timed. What
        fails here fails again, with its reason, when it is compared."""
        graphs = [one.work.region.graph for one in work if not isinstance(one.work, str)]
        every = [(graph, tuned) for tuned in self._tuned for graph in graphs]
        self._warming.all([WarmJob(*one, seconds=self._seconds) for one in every])

    def compare(self, one: Comparable, configs: Mapping[str, Config]) -> tuple[RegionRecord, ...]:
        """A row for ours and for each of the others, in that order. ``configs`` are tuned
        configurations by module text."""
        subject = USER if isinstance(one.work, str) else OURS
        rows = {name: RegionRecord(one.name, name) for name in (subject, *self.against)}
        for process, worker in enumerate(self._workers):
            left = [name for name, row in rows.items() if process == 0 or row.sets]
            for name, row in self._compared(worker, one, left, configs).items():
                rows[name] = _joined(rows[name], one, process, row)
        return tuple(rows.values())

    def _compared(
        self, worker: Pool, one: Comparable, names: Sequence[str], configs: Mapping[str, Config]
    ) -> dict[str, RegionRecord]:
        """The compilers called ``names`` in one process, and in another where that is lost."""
        lost: dict[str, RegionRecord] = {}
        while left := [name for name in names if name not in lost]:
            job = CompareJob(one.work, tuple(left), dict(configs), seconds=self._seconds)
            if not isinstance(found := tried(worker.run, job), HarnessError):
                return {**found, **lost}
            lost.update(_blamed(left, found))
        return lost


def environment(cache: Path) -> tuple[tuple[str, str], ...]:
    """What a process that runs other compilers has in its environment."""
    return (("TORCHINDUCTOR_CACHE_DIR", str(cache / "inductor")),)


def _blamed(left: Sequence[str], error: HarnessError) -> dict[str, RegionRecord]:
    """The compiler that was being run when the process was lost; all of them if it was none."""
    why = one_line(error)
    if error.step in left:
        left = [error.step]
    why = f"{_TIMING_FAILED}: {why}" if error.step == TIMING else why
    return {name: RegionRecord("", name, reason=why) for name in left}


def _joined(row: RegionRecord, one: Comparable, process: int, found: RegionRecord) -> RegionRecord:
    """``row`` with what one more process found. A compiler that fails later on keeps what it
    has; one that is wrong once is wrong."""
    if row.sets and not found.sets:
        return row
    sets = (*row.sets, *(samples.recorded(process, METHOD) for samples in found.sets))
    errors = [e for e in (row.max_error, found.max_error) if e is not None]
    ms, low, high = combined(sets) if sets else (row.ms, row.low, row.high)
    return replace(
        row,
        ms=ms,
        low=low,
        high=high,
        kernels=one.kernels if row.compiler in SUBJECTS else None,
        sets=sets,
        check=Check.FAILED if row.check is Check.FAILED else found.check,
        max_error=max(errors, default=None),
        reason=found.reason,
        count=one.count,
    )
