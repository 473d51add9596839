"""Compile pool: static metrics, and kernels compiled ahead, in parallel processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.errors import HarnessError
from harness.heuristics.facts import Config
from harness.runtime.pool import WorkerPool
from harness.runtime.static import StaticMetrics
from harness.runtime.worker import Handler
from harness.target import Target

_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class CompileJob:
    """One kernel under one configuration for one target; the module's best guess if None."""

    module_text: str
    target: Target
    config: Config | None = None


class CompilePool:
    """Compiles kernels in ``workers`` processes. Answers are ``StaticMetrics`` or the
    ``HarnessError`` (mostly ``CompileFailed``) of that kernel alone."""

    def __init__(self, workers: int, cache: Path | None = None, seconds: float = _SECONDS) -> None:
        self._pool = WorkerPool("compile", workers, seconds, cache)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        self._pool.close()

    def each(
        self, jobs: Sequence[CompileJob]
    ) -> Iterator[tuple[int, StaticMetrics | HarnessError]]:
        """(index, answer) as they finish."""
        yield from self._pool.each([("metrics", job) for job in jobs])

    def metrics(self, jobs: Sequence[CompileJob]) -> list[StaticMetrics | HarnessError]:
        """Answers in the order of the jobs."""
        return self._pool.all([("metrics", job) for job in jobs])

    def warm_each(self, jobs: Sequence[CompileJob]) -> Iterator[tuple[int, HarnessError | None]]:
        """As ``warm``: (index, None or error) as they finish."""
        yield from self._pool.each([("warm", job) for job in jobs])

    def warm(self, jobs: Sequence[CompileJob]) -> list[HarnessError | None]:
        """Only compile, so that a later launch in another process finds Triton's cache
        full; None for each kernel that compiled."""
        return self._pool.all([("warm", job) for job in jobs])


def handlers(cache: str | None) -> dict[str, Handler]:
    """What a compile worker can do."""
    from harness.runtime import module as modules
    from harness.runtime import static

    folder = None if cache is None else Path(cache)

    def measure(job: CompileJob) -> StaticMetrics:
        return static.metrics(job.module_text, job.target, job.config, folder)

    def warm(job: CompileJob) -> None:
        loaded = modules.load(job.module_text, None if folder is None else folder / "modules")
        static.compile_for(loaded, job.target, job.config or loaded.configs[0], cache=folder)

    return {"metrics": measure, "warm": warm}
