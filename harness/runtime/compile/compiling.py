"""Compile pool: static metrics, and kernels compiled ahead, in parallel processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.devices.closing import Closing
from harness.devices.pool import WorkerPool
from harness.devices.worker import Handler
from harness.errors import HarnessError
from harness.records.metrics import StaticMetrics
from harness.runtime.compile.static import CompileJob, known

__all__ = ["CompileJob", "CompilePool"]

_SECONDS = 180.0


_TOGETHER = 16
"""Kernels one worker reads together: enough that starting the disassembler (as long as
compiling three kernels takes) is spread thin, few enough that results keep coming in."""


class CompilePool(Closing):
    """Compiles kernels in ``workers`` processes. Answers are ``StaticMetrics`` or the
    ``HarnessError`` (mostly ``CompileFailed``) of that kernel alone."""

    def __init__(self, workers: int, cache: Path | None = None, seconds: float = _SECONDS) -> None:
        self._cache = cache
        self._pool = WorkerPool(
            "harness.runtime.compile.compiling:handlers", workers, seconds, cache
        )

    def close(self) -> None:
        """End the workers."""
        self._pool.close()

    def start(self) -> None:
        """Start the workers without waiting for them."""
        self._pool.start()

    @property
    def workers(self) -> int:
        """How many processes compile."""
        return self._pool.workers

    def each(
        self, jobs: Sequence[CompileJob]
    ) -> Iterator[tuple[int, StaticMetrics | HarnessError]]:
        """(index, answer) as they finish. What the cache knows needs no worker."""
        unknown = []
        for index, job in enumerate(jobs):
            found = known(job, self._cache)
            if found is None:
                unknown.append(index)
            else:
                yield index, found
        # Of jobs that were lost together with their worker, one is to blame: each alone, then.
        lost: list[int] = []
        size = min(_TOGETHER, -(-len(unknown) // self._pool.workers))
        yield from self._together(jobs, unknown, size, lost)
        yield from self._together(jobs, lost, 1, [])

    def _together(
        self, jobs: Sequence[CompileJob], indices: Sequence[int], size: int, lost: list[int]
    ) -> Iterator[tuple[int, StaticMetrics | HarnessError]]:
        """Answers, ``size`` jobs going to a worker at a time. Where such a group fails as a
        whole its jobs are added to ``lost``; a single job's failure is its answer."""
        groups = [indices[at : at + size] for at in range(0, len(indices), max(1, size))]
        packed = [("metrics", [jobs[i] for i in group]) for group in groups]
        for number, answer in self._pool.each(packed):
            group = groups[number]
            if not isinstance(answer, HarnessError):
                yield from zip(group, answer, strict=True)
            elif len(group) == 1:
                yield group[0], answer
            else:
                lost.extend(group)

    def metrics(self, jobs: Sequence[CompileJob]) -> list[StaticMetrics | HarnessError]:
        """Answers in the order of the jobs."""
        found = dict(self.each(jobs))
        return [found[index] for index in range(len(jobs))]

    def warm_each(self, jobs: Sequence[CompileJob]) -> Iterator[tuple[int, HarnessError | None]]:
        """As ``warm``: (index, None or error) as they finish."""
        yield from self._pool.each([("warm", job) for job in jobs])

    def warm(self, jobs: Sequence[CompileJob]) -> list[HarnessError | None]:
        """Only compile, so that a later launch in another process finds the binary; None for
        each kernel that compiled."""
        return self._pool.all([("warm", job) for job in jobs])


def handlers(cache: str | None) -> dict[str, Handler]:
    """What a compile worker can do."""
    from harness.runtime import module as modules
    from harness.runtime.compile import static
    from harness.runtime.launch.launcher import compiled_binary

    folder = None if cache is None else Path(cache)

    def measure(jobs: list[CompileJob]) -> list[StaticMetrics | HarnessError]:
        return static.measure(jobs, folder)

    def warm(job: CompileJob) -> None:
        loaded = modules.load(job.module_text, folder)
        compiled_binary(loaded, job.target, job.config or loaded.configs[0], cache=folder)

    return {"metrics": measure, "warm": warm}
