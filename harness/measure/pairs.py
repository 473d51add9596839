"""Pairs of kernels timed against each other in fresh processes, in random order."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.devices.pool import WorkerPool
from harness.errors import HarnessError, NoDevice
from harness.measure.jobs import PAIRS, DeviceFacts, PairJob, PairSamples, TimedKernel
from harness.records.run import one_line
from harness.runtime.compile.compiling import CompileJob, CompilePool
from harness.runtime.module import config_from_dict

_SECONDS = 60.0
"""What one pair may take in one process, loading its binaries included."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure: ``processes`` fresh ones, in each every pair for ``budget_ms`` of wall
    clock or until both medians are known to ``width``. ``seed`` decides orders and contents;
    ``seconds`` is the limit for one pair in one process."""

    processes: int = 5
    budget_ms: float = 150.0
    width: float = 0.004
    seed: int = 0
    seconds: float = _SECONDS


@dataclass(frozen=True, slots=True)
class KernelPair:
    """Kernels of A against kernels of B."""

    a: tuple[TimedKernel, ...]
    b: tuple[TimedKernel, ...]


@dataclass(frozen=True, slots=True)
class PairResults:
    """What the processes measured of each pair, in the order of the processes, or a reason.
    ``interrupted``: the user ended it early; what had been measured is here."""

    device: DeviceFacts
    outcomes: tuple[tuple[PairSamples, ...], ...]
    reasons: tuple[str, ...]
    interrupted: bool = False


Follow = Callable[[int, int], None]
"""Hears how many of how many measurements are done."""


@dataclass(eq=False, slots=True)
class _Progress:
    """What is known of each pair so far."""

    outcomes: list[list[PairSamples]]
    reasons: list[str]

    def left(self) -> list[int]:
        """Pairs that have not failed yet."""
        return [number for number, reason in enumerate(self.reasons) if not reason]


def time_pairs(
    pairs: Sequence[KernelPair],
    effort: Effort,
    cache: Path,
    jobs: int,
    follow: Follow = lambda _done, _total: None,
    role: str = PAIRS,
) -> PairResults:
    """Time every pair in every process. A pair that hangs or fails is a reason and is not tried in
    later processes; the others go on. Ctrl-C ends it early. Raises ``NoDevice`` where the GPU
    cannot be used.
    """
    progress = _Progress([[] for _ in pairs], ["" for _ in pairs])
    total = effort.processes * len(pairs)
    interrupted = False
    with contextlib.ExitStack() as stack:
        pools = [
            stack.enter_context(WorkerPool(role, 1, effort.seconds, cache))
            for _ in range(effort.processes)
        ]
        device: DeviceFacts = pools[0].run("open", None)
        _compile_ahead(pairs, device, cache, jobs)
        try:
            for process, pool in enumerate(pools):
                pool.run("open", None)
                for later in pools[process + 1 : process + 2]:
                    later.start()  # it imports meanwhile, and takes the device when asked to
                for done, job in _pair_jobs(pairs, progress, effort, process):
                    follow(process * len(pairs) + done, total)
                    _measure(pool, job[0], job[1], progress)
                pool.close()
        except KeyboardInterrupt:
            interrupted = True
    follow(total, total)
    outcomes = tuple(tuple(found) for found in progress.outcomes)
    return PairResults(device, outcomes, tuple(progress.reasons), interrupted)


def find_device(effort: Effort, cache: Path, role: str = PAIRS) -> DeviceFacts:
    """The device, seen from a process of its own. Raises ``NoDevice``."""
    with WorkerPool(role, 1, effort.seconds, cache) as pool:
        found: DeviceFacts = pool.run("open", None)
        return found


def _pair_jobs(
    pairs: Sequence[KernelPair], progress: _Progress, effort: Effort, process: int
) -> Iterator[tuple[int, tuple[int, PairJob]]]:
    """The pairs that can still be timed, in a random order of this process."""
    chance = random.Random(f"{effort.seed} {process}")
    order = progress.left()
    chance.shuffle(order)
    for done, number in enumerate(order):
        yield done, (number, _pair_job(pairs[number], effort, process, chance))


def _measure(pool: WorkerPool, number: int, job: PairJob, progress: _Progress) -> None:
    """One job; a failure of the pair is its reason. Raises ``NoDevice``."""
    try:
        progress.outcomes[number].append(_once(pool, job))
    except NoDevice:
        raise
    except HarnessError as error:
        progress.reasons[number] = one_line(error)


def _once(pool: WorkerPool, job: PairJob) -> PairSamples:
    pool.run("open", None)  # a worker that replaces a lost one says so if the device is gone
    found: PairSamples = pool.run("time", job)
    return found


def _pair_job(pair: KernelPair, effort: Effort, process: int, chance: random.Random) -> PairJob:
    a_first = chance.random() < 0.5
    seed = effort.seed + process
    return PairJob(pair.a, pair.b, a_first, seed, effort.budget_ms, effort.width)


def _compile_ahead(
    pairs: Sequence[KernelPair], device: DeviceFacts, cache: Path, jobs: int
) -> None:
    """Every kernel once, in parallel. What fails here fails again, with its reason."""
    wanted = dict.fromkeys(
        (kernel.module_text, tuple((kernel.config or {}).items()))
        for pair in pairs
        for kernel in (*pair.a, *pair.b)
    )
    compiles = [
        CompileJob(text, device.target, config_from_dict(dict(config)) if config else None)
        for text, config in wanted
    ]
    with CompilePool(max(1, min(jobs, len(compiles))), cache) as pool:
        pool.warm(compiles)
