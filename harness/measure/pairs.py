"""Pairs of kernels timed against each other in fresh processes, in random order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.devices.job import Device
from harness.devices.pool import Pool
from harness.errors import HarnessError, NoDevice
from harness.measure import jobs as device_jobs
from harness.measure.jobs import DeviceFacts, Effort, Follow, PairJob, PairSamples, TimedKernel
from harness.records.run import one_line
from harness.runtime.compile.compiling import CompileJob, compile_ahead
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


Kept = MutableMapping[str, PairSamples]
"""What an interrupted measurement left, by what was asked of a pair in a process."""


def time_pairs(
    pairs: Sequence[KernelPair],
    effort: Effort,
    cache: Path,
    jobs: int,
    follow: Follow = lambda _done, _total: None,
    handlers: Mapping[str, str] | None = None,
    device: Device | None = None,
    kept: Kept | None = None,
) -> PairResults:
    """Time every pair in every process, on ``device`` (the current GPU if None). A pair that hangs
    or fails is a reason and is not tried in later processes; the others go on. Ctrl-C and a GPU
    that gives out end it early. What is ``kept`` is not measured again. Raises ``NoDevice`` where
    nothing could be measured."""
    kept = {} if kept is None else kept
    asked = [[_asked(pair, effort, n) for n in range(effort.processes)] for pair in pairs]
    outcomes = [{n: kept[one] for n, one in enumerate(each) if one in kept} for each in asked]
    reasons = [""] * len(pairs)
    interrupted, lost = False, ""

    def wanted(process: int, number: int) -> bool:
        return not reasons[number] and process not in outcomes[number]

    with Pool([device or device_jobs.gpu()], effort.job_seconds, cache, handlers) as pool:
        pool.spare(device_jobs.ahead(effort.processes - 1))
        facts: DeviceFacts = pool.open()[0]
        compile_ahead(_compile_jobs(pairs, facts), jobs, cache)
        try:
            for process, number, chance in device_jobs.in_fresh_processes(
                pool, len(pairs), effort, wanted, follow
            ):
                pair, seed = pairs[number], effort.seed + process
                a_first = chance.random() < 0.5
                limits = (effort.budget_ms, effort.width)
                try:
                    found = pool.run(PairJob(pair.a, pair.b, a_first, seed, *limits))
                    outcomes[number][process] = kept[asked[number][process]] = found
                except NoDevice:
                    raise
                except HarnessError as error:
                    reasons[number] = one_line(error)
        except NoDevice as error:
            if not any(outcomes):
                raise
            lost = one_line(error)
        except KeyboardInterrupt:
            interrupted = True
    ordered = tuple(tuple(each[n] for n in sorted(each)) for each in outcomes)
    return PairResults(facts, ordered, tuple(reasons), interrupted, lost)


def _asked(pair: KernelPair, effort: Effort, process: int) -> str:
    """What tells a measurement from every other."""
    said = repr((pair, effort.seed + process, effort.budget_ms, effort.width))
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def find_device(cache: Path) -> DeviceFacts:
    """The device, seen from a process of its own. Raises ``NoDevice``."""
    with Pool([device_jobs.gpu()], Effort().job_seconds, cache) as pool:
        found: DeviceFacts = pool.open()[0]
        return found


def _compile_jobs(pairs: Sequence[KernelPair], device: DeviceFacts) -> list[CompileJob]:
    """Every kernel once."""
    wanted = dict.fromkeys(
        (kernel.module_text, tuple((kernel.config or {}).items()))
        for pair in pairs
        for kernel in (*pair.a, *pair.b)
        if not kernel.triton
    )
    return [
        CompileJob(text, device.target, config_from_dict(dict(config)) if config else None)
        for text, config in wanted
    ]
