"""Run kernels without a GPU, in worker processes with Triton's interpreter.

Triton decides when it is imported whether kernels are compiled or interpreted, so the
interpreter lives in processes of its own and the parent's Triton stays a compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.devices.closing import Closing
from harness.devices.pool import WorkerPool
from harness.errors import HarnessError
from harness.heuristics.facts import Config
from harness.runtime.interpret import shared

_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class CheckJob:
    """Check one module on fresh random inputs drawn with ``seed``; ``config`` None means
    the module's best guess, ``sizes`` are values of sizes that the module does not know."""

    module_text: str
    config: Config | None = None
    seed: int = 0
    sizes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found: the largest error relative to what is allowed for it, in the
    module's own terms, and how long it took in seconds."""

    passed: bool
    max_error: float
    allowed: float
    message: str
    seconds: float


@dataclass(frozen=True, slots=True)
class LaunchJob:
    """Launch one module on arguments in shared memory."""

    module_text: str
    package: shared.Package
    config: Config | None = None


class InterpreterPool(Closing):
    """``workers`` processes that interpret kernels; each job may take ``seconds``.

    They start with the first job, take a few seconds to do so, and are reused. Use as a
    context manager, or ``close``.
    """

    def __init__(self, workers: int, cache: Path | None = None, seconds: float = _SECONDS) -> None:
        environment = {
            "TRITON_INTERPRET": "1",
            # One core each: the pool is what runs in parallel.
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self._pool = WorkerPool(
            "harness.runtime.interpret.interpreting:handlers", workers, seconds, cache, environment
        )

    def start(self) -> None:
        """Start the workers now, without waiting for them."""
        self._pool.start()

    def close(self) -> None:
        """End the workers."""
        self._pool.close()

    def check(self, module_text: str, config: Config | None = None, seed: int = 0) -> CheckResult:
        """Check one module. Raises ``HarnessError`` where the kernel cannot be run."""
        answer = self._pool.run("check", CheckJob(module_text, config, seed))
        assert isinstance(answer, CheckResult)
        return answer

    def check_all(
        self, jobs: Sequence[CheckJob]
    ) -> Iterator[tuple[int, CheckResult | HarnessError]]:
        """(index, result or error) of each job as they finish."""
        yield from self._pool.each([("check", job) for job in jobs])

    def launch(self, module_text: str, args: Sequence[Any], config: Config | None = None) -> None:
        """Run one kernel on CPU tensors; the ones it writes are changed in place."""
        with shared.Parcel(args) as parcel:
            written = self._pool.run("launch", LaunchJob(module_text, parcel.package, config))
            parcel.fetch(written)
