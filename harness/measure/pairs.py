"""Pairs of kernels timed against each other in fresh processes, in random order."""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.devices.job import Device
from harness.devices.pool import Pool
from harness.errors import HarnessError, NoDevice, WorkerDied
from harness.measure import jobs as device_jobs
from harness.measure.jobs import DeviceFacts, Effort, PairJob, PairSamples, TimedKernel
from harness.records.run import one_line
from harness.runtime.compile.static import CompileJob, CompilePool
from harness.runtime.module import config_from_dict


@dataclass(frozen=True, slots=True)
class KernelPair:
    """Kernels of A against kernels of B."""

    a: tuple[TimedKernel, ...]
    b: tuple[TimedKernel, ...]


@dataclass(frozen=True, slots=True)
class PairResults:
    """What the processes measured of each pair, in the order of the processes, or a reason.
    ``interrupted``: the user ended it early, ``lost``: why the device gave out; what had been
    measured is here. ``notes``: GPUs that gave out whose pairs others timed."""

    device: DeviceFacts
    outcomes: tuple[tuple[PairSamples, ...], ...]
    reasons: tuple[str, ...]
    interrupted: bool = False
    lost: str = ""
    notes: tuple[str, ...] = ()


MOVED = "was lost, others timed its pairs"
Kept = MutableMapping[str, PairSamples]
"""What an interrupted measurement left, by what was asked of a pair in a process."""


@dataclass(eq=False, slots=True)
class _Pairs:
    """What is known of ``pairs``: their samples by process, or why there are none. ``homes`` are
    the boards that time them, where there are several; ``lost`` is why boards gave out, ``died``
    how often a process ended with a pair in hand."""

    pairs: Sequence[KernelPair]
    effort: Effort
    kept: Kept
    follow: Callable[[int, int], None]
    until: float
    outcomes: list[dict[int, PairSamples]]
    reasons: list[str]
    homes: dict[int, str | None] = field(default_factory=dict)
    lost: dict[str | None, NoDevice] = field(default_factory=dict)
    died: Counter[int] = field(default_factory=Counter)

    def place(self, numbers: Sequence[int], boards: Sequence[str | None]) -> None:
        """Give ``numbers`` to ``boards``, with what is kept of them there and nothing else. A pair
        whose process ended on a board that is lost since may try once more: it need not have been
        the pair's doing."""
        for at, number in enumerate(numbers):
            self.homes[number] = boards[at % len(boards)]
            self.reasons[number] = "" if self.died[number] == 1 else self.reasons[number]
            asked = [self._asked(number, process) for process in range(self.effort.processes)]
            self.outcomes[number] = {n: self.kept[k] for n, k in enumerate(asked) if k in self.kept}

    def wanted(self, process: int, number: int) -> bool:
        """Whether a pair has to be timed in a process."""
        gone = self.reasons[number] or self.homes[number] in self.lost
        return not gone and process not in self.outcomes[number]

    def time(self, pool: Pool) -> None:
        """Time what is wanted."""
        effort, total = self.effort, self.effort.processes * len(self.pairs)
        self.follow(sum(map(len, self.outcomes)), total)
        for process, order, chance in device_jobs.fresh_processes(
            pool, len(self.pairs), effort, self.wanted
        ):
            numbers = [n for n in order if self.wanted(process, n)]
            jobs = [self._job(n, effort.seed + process, chance.random() < 0.5) for n in numbers]
            for index, found in pool.each(jobs):
                number = numbers[index]
                if isinstance(found, NoDevice):
                    self.lost[self.homes[number]] = found
                elif isinstance(found, HarnessError):
                    self.reasons[number] = one_line(found)
                    self.died[number] += isinstance(found, WorkerDied)
                else:
                    self.outcomes[number][process] = found
                    self.kept[self._asked(number, process)] = found
                self.follow(sum(map(len, self.outcomes)), total)
                if time.monotonic() > self.until:
                    return

    def _job(self, number: int, seed: int, a_first: bool) -> PairJob:
        pair, limits = self.pairs[number], (self.effort.budget_ms, self.effort.width)
        return PairJob(pair.a, pair.b, a_first, seed, *limits, place=self.homes[number])

    def _asked(self, number: int, process: int) -> str:
        """What tells a measurement from every other."""
        effort, home = self.effort, self.homes[number]
        said = (self.pairs[number], effort.seed + process, effort.budget_ms, effort.width)
        return hashlib.sha256(repr((*said, home) if home else said).encode()).hexdigest()[:32]


def time_pairs(
    pairs: Sequence[KernelPair],
    effort: Effort,
    cache: Path,
    jobs: int,
    follow: Callable[[int, int], None] = lambda _done, _total: None,
    devices: Sequence[Device] = (),
    kept: Kept | None = None,
) -> PairResults:
    """Time every pair in every process, on the current GPU, or each on one of several ``devices``;
    what one had not finished when it was lost is timed on the others. A pair that hangs or fails is
    a reason and is not tried in later processes; the others go on. Ctrl-C and the last GPU that
    gives out end it early. What is ``kept`` is not measured again. ``follow`` hears how many of how
    many measurements are done. Raises ``NoDevice`` where nothing could be measured."""
    devices = devices or (device_jobs.gpu(),)
    boards = [device.name if len(devices) > 1 else None for device in devices]
    known: tuple[list[dict[int, PairSamples]], list[str]] = [{} for _ in pairs], [""] * len(pairs)
    seconds = math.inf if effort.seconds is None else effort.seconds
    found = _Pairs(pairs, effort, {} if kept is None else kept, follow, seconds, *known)
    left, interrupted = list(range(len(pairs))), False
    with Pool(devices, effort.job_seconds, cache) as pool:
        pool.spare(device_jobs.ahead(effort.processes - 1))
        opened: list[DeviceFacts] = pool.open()
        every = (k for pair in pairs for k in (*pair.a, *pair.b) if not k.triton)
        texts = ((k.module_text, k.config and config_from_dict(k.config)) for k in every)
        wanted = dict.fromkeys(CompileJob(text, opened[0].target, c or None) for text, c in texts)
        for host in dict.fromkeys(device.host for device in devices):
            with CompilePool(min(jobs, len(wanted)), cache, host=host) as compilers:
                compilers.all(list(wanted))
        try:
            found.until += time.monotonic()
            while left and len(found.lost) < len(boards) and time.monotonic() < found.until:
                found.place(left, [board for board in boards if board not in found.lost])
                found.time(pool)
                left = [n for n in left if found.homes[n] in found.lost]
        except KeyboardInterrupt:
            interrupted = True
    gone = [one_line(error) for error in found.lost.values()]
    if len(gone) == len(boards) and not any(found.outcomes):
        raise next(reversed(found.lost.values()))
    uuids = "+".join(sorted({facts.machine.gpu_uuid or "" for facts in opened}))
    machine = replace(opened[0].machine, gpu_uuid=uuids) if boards[0] else opened[0].machine
    return PairResults(
        replace(opened[0], machine=machine),
        tuple(tuple(each[n] for n in sorted(each)) for each in found.outcomes),
        tuple(found.reasons),
        interrupted,
        gone[-1] if len(gone) == len(boards) else "",
        tuple(f"{board} {MOVED}: {one_line(e)}" for board, e in found.lost.items() if board),
    )
