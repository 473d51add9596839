"""Compile pool: static metrics, and kernels compiled ahead, in parallel processes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.devices.job import Context, Device, Host, Job, cores, tried
from harness.devices.pool import Pool
from harness.errors import HarnessError
from harness.records.metrics import StaticMetrics
from harness.runtime import module as modules
from harness.runtime.compile import static
from harness.runtime.compile.binary import KernelBinary
from harness.runtime.compile.disassembly import resources
from harness.runtime.compile.static import CompileJob, compiled_binary, known, spills_much

__all__ = ["CompileJob", "CompilePool"]

_SECONDS = 180.0
_TOGETHER = 16
"""Kernels one worker reads together: enough that starting the disassembler (as long as
compiling three kernels takes) is spread thin, few enough that results keep coming in."""


@dataclass(frozen=True, slots=True)
class MetricsJob(Job):
    """Answers the static metrics, or the ``HarnessError``, of each of ``kernels``."""

    handler: ClassVar[str] = "harness.runtime.compile.compiling:measure"
    kernels: tuple[CompileJob, ...]


class CompilePool(Pool):
    """Compiles kernels in ``workers`` processes (``niceness``, ``host``: as of ``Device``). Answers
    are ``StaticMetrics`` or the ``HarnessError`` (mostly ``CompileFailed``) of a kernel alone; of
    ``all`` and ``each``, which only compile for a later launch to find it, None or that: what fails
    there fails again, with its reason, when it is launched."""

    def __init__(
        self, workers: int, cache: Path | None = None, niceness: int = 0, host: Host | None = None
    ) -> None:
        imports = ("harness.runtime.compile.quick",)
        alike = Device("", imports=imports, niceness=niceness, host=host)
        super().__init__(cores(workers, alike), _SECONDS, cache)

    def metrics_each(
        self, jobs: Sequence[CompileJob]
    ) -> Iterator[tuple[int, StaticMetrics | HarnessError]]:
        """(index, answer) as they finish. What the cache knows needs no worker."""
        unknown = []
        for index, job in enumerate(jobs):
            found = known(job, self.cache)
            if found is None:
                unknown.append(index)
            else:
                yield index, found
        # Of jobs that were lost together with their worker, one is to blame: each alone, then.
        lost: list[int] = []
        size = min(_TOGETHER, -(-len(unknown) // self.workers))
        yield from self._together(jobs, unknown, size, lost)
        yield from self._together(jobs, lost, 1, [])

    def _together(
        self, jobs: Sequence[CompileJob], indices: Sequence[int], size: int, lost: list[int]
    ) -> Iterator[tuple[int, StaticMetrics | HarnessError]]:
        """Answers, ``size`` jobs going to a worker at a time. Where such a group fails as a
        whole its jobs are added to ``lost``; a single job's failure is its answer."""
        groups = [indices[at : at + size] for at in range(0, len(indices), max(1, size))]
        packed = [MetricsJob(tuple(jobs[i] for i in group)) for group in groups]
        for number, answer in self.each(packed):
            group = groups[number]
            if not isinstance(answer, HarnessError):
                yield from zip(group, answer, strict=True)
            elif len(group) == 1:
                yield group[0], answer
            else:
                lost.extend(group)

    def metrics(
        self, jobs: Sequence[CompileJob], follow: Callable[[int, int], None] = lambda *_: None
    ) -> list[StaticMetrics | HarnessError]:
        """Answers in the order of the jobs; ``follow`` hears how far it is."""
        found = {}
        for index, answer in self.metrics_each(jobs):
            found[index] = answer
            follow(len(found), len(jobs))
        return [found[index] for index in range(len(jobs))]


def measure(context: Context, job: MetricsJob) -> list[StaticMetrics | HarnessError]:
    """The handler of ``MetricsJob``."""
    return static.measure(job.kernels, context.cache)


def warm(context: Context, job: CompileJob) -> None:
    """The handler of ``CompileJob``."""
    loaded = modules.load(job.module_text, context.cache)
    compiled = functools.partial(compiled_binary, loaded, job.target, cache=context.cache)
    *first, last = (job.config or loaded.configs[0], *job.others)
    for config in first:
        made = tried(compiled, config)
        if isinstance(made, KernelBinary):
            _, stack = resources(made.cubin, made.name)
            if not spills_much(stack, job.target):
                return
    compiled(last)
