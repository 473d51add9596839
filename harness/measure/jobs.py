"""Jobs for a device, and what they answer; and how much to measure. Plain data without torch, so
that it travels between processes and a worker that stands in for a GPU starts at once. The handlers
are in ``measure.worker``."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.devices.job import Device, Job
from harness.devices.pool import Pool
from harness.heuristics.facts import Config
from harness.measure.timer.state import Reading
from harness.records.run import Machine
from harness.records.timing import Samples
from harness.records.trials import Trial, Way
from harness.target import Target

TUNED = "tuned"
"""The folder, below a cache, of the tuning cache."""
_WORKER = "harness.measure.worker"
_IMPORTS = (_WORKER, "harness.measure.timer.probes", "scipy.special")
_AHEAD = 3
"""Processes that import while another one measures, on four cores each: importing takes 4 s, and
measuring few subjects less."""
_MOSTLY = 0.1
"""Share of reads or of writes below which a kernel is one that only writes or only reads."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What holds a kernel back: ``copy``, ``read``, ``write`` or ``compute``, and the share of
    the limit that it reaches."""

    roof: str
    fraction: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """Bandwidths in GB/s (10^9 bytes per second; a copy counts bytes read and bytes written),
    throughputs in 10^12 floating-point operations per second; None if not measured."""

    copy_gbps: float
    read_gbps: float | None = None
    write_gbps: float | None = None
    fp32_tflops: float | None = None
    tensor_tflops: float | None = None

    def gbps(self, written: float) -> float:
        """The limit of a kernel whose bytes are writes to the share ``written`` (0 to 1)."""
        read = self.read_gbps or self.copy_gbps
        write = self.write_gbps or self.copy_gbps
        side, share = (read, 1 - 2 * written) if written < 0.5 else (write, 2 * written - 1)
        return 1 / (share / side + (1 - share) / self.copy_gbps)

    def limit(
        self, ms: float, nbytes: int, written: int, flops: int = 0, tensor: bool = False
    ) -> Limit | None:
        """Of a kernel that takes ``ms`` for ``nbytes``, of which ``written`` are writes, and
        ``flops`` operations, on the tensor cores or not. None for a kernel that does nothing."""
        share = min(1.0, written / nbytes) if nbytes else 0.5
        moving = nbytes / self.gbps(share) / 1e6
        throughput = self.tensor_tflops if tensor else self.fp32_tflops
        computing = flops / throughput / 1e9 if throughput else 0.0
        if ms <= 0 or not (moving or computing):
            return None
        if computing > moving:
            return Limit("compute", computing / ms)
        roof = "read" if share < _MOSTLY else "write" if share > 1 - _MOSTLY else "copy"
        return Limit(roof, moving / ms)


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """The device as a worker process found it; ``method`` names how it times, ``roofline`` is what
    it can do, where that was measured."""

    target: Target
    machine: Machine
    method: str
    roofline: Roofline | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """A kernel as one process timed it: its fastest configuration, that one's samples, what holds
    the kernel back, every configuration that the tuning tried, and the GPU's state meanwhile."""

    config: Config
    samples: Samples
    limit: Limit | None = None
    trials: tuple[Trial, ...] = ()
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenDevice(Job):
    """Take the device, the one with the identifier ``board`` if that is given; with ``bandwidths``,
    measure what it can do, unless the first process has. ``quick``: take few samples. More than one
    of ``compilers`` are processes, which start now, for a search. Answers ``DeviceFacts``."""

    handler: ClassVar[str] = f"{_WORKER}:open_device"
    bandwidths: bool = False
    board: str = ""
    quick: bool = False
    compilers: int = 1


def gpu(opening: OpenDevice | None = None, environment: tuple[tuple[str, str], ...] = ()) -> Device:
    """The CUDA device that ``opening`` takes; a process imports before what measuring needs."""
    opening = opening or OpenDevice()
    alone = (("CUDA_VISIBLE_DEVICES", opening.board),) if opening.board else ()
    return Device(opening.board or "cuda", (*environment, *alone), _IMPORTS, opening)


@dataclass(frozen=True, slots=True)
class CheckKernel(Job):
    """Run a module with poisoned outputs and compare with plain torch in float64. Answers a
    ``CheckResult``."""

    handler: ClassVar[str] = f"{_WORKER}:check"
    module_text: str


@dataclass(frozen=True, slots=True)
class TimeKernel(Job):
    """Time a module. Answers a ``Timing``. With ``config`` under that configuration,
    ``launches`` to a sample, both of which another process has found; else every candidate, and
    the fastest is kept, one of ``earlier`` where none is faster."""

    handler: ClassVar[str] = f"{_WORKER}:time"
    module_text: str
    config: Config | None = None
    launches: int | None = None
    earlier: tuple[Config, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownConfigs(Job):
    """Answers the configuration of every module that needs no tuning, None for the others, and
    what the user should hear of the cache, each once."""

    handler: ClassVar[str] = f"{_WORKER}:known"
    module_texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TuneKernel(Job):
    """Tune a module by the search called ``search``. ``pinned`` are configurations to try
    beside its candidates; ``fresh``: whatever was tuned before. Answers ``Tuned``."""

    handler: ClassVar[str] = f"{_WORKER}:tune"
    module_text: str
    search: str = "none"
    pinned: tuple[Config, ...] = ()
    fresh: bool = False
    debug: bool = False
    deterministic: bool = False


@dataclass(frozen=True, slots=True)
class ChooseWay(Job):
    """Time ways to do the same work against each other. Answers an ``Outcome``."""

    handler: ClassVar[str] = f"{_WORKER}:choose"
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class TimedKernel:
    """A kernel: its module's text, its configuration (None: the module's default), how often it is
    launched. ``triton``: the binary that this version compiled, which is in the cache (empty: the
    version installed)."""

    module_text: str
    config: dict[str, int] | None = None
    launches: int = 1
    triton: str = ""


@dataclass(frozen=True, slots=True)
class PairJob(Job):
    """Time kernels of A against kernels of B, interleaved. ``a_first`` says which is named first;
    ``seed`` makes the arguments; ``budget_ms`` is wall clock, ``width`` what each median's interval
    should be narrower than (a share). Answers ``PairSamples``."""

    handler: ClassVar[str] = f"{_WORKER}:time_pair"
    a: tuple[TimedKernel, ...]
    b: tuple[TimedKernel, ...]
    a_first: bool
    seed: int
    budget_ms: float
    width: float


@dataclass(frozen=True, slots=True)
class PairSamples:
    """What one process measured of a job."""

    a: Samples
    b: Samples


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure: ``processes`` fresh ones, in each every subject for ``budget_ms`` of
    wall clock or until its medians are known to ``width``. ``seed`` decides orders and contents;
    ``job_seconds`` is the limit for one subject in one process, its binaries loaded included;
    nothing new is begun after ``seconds``."""

    processes: int = 5
    budget_ms: float = 150.0
    width: float = 0.004
    seed: int = 0
    job_seconds: float = 90.0
    seconds: float | None = None


Follow = Callable[[str, int, int], None]
"""Hears what is being done, and how many of how many of it are."""


def ahead(left: int) -> int:
    """How many of the ``left`` processes to start before it is their turn."""
    return min(left, max(1, min(_AHEAD, (os.cpu_count() or 1) // 4)))


def fresh_processes(
    pool: Pool, subjects: int, effort: Effort, wanted: Callable[[int, int], bool]
) -> Iterator[tuple[int, list[int], random.Random]]:
    """(process, subjects, chance) for every process that has something to measure, its subjects in
    a random order; ``pool`` is fresh processes each time. ``wanted`` says whether a process has to
    measure a subject, ``chance`` is for what else is random."""
    used = False
    for process in range(effort.processes):
        if not any(wanted(process, subject) for subject in range(subjects)):
            continue
        if used:
            pool.restart()
        used = True
        pool.spare(ahead(effort.processes - process - 1))  # they import meanwhile
        chance = random.Random(f"{effort.seed} {process}")
        order = list(range(subjects))
        chance.shuffle(order)
        yield process, order, chance
