"""Run kernels without a GPU, in worker processes with Triton's interpreter. Triton decides when it
is imported whether kernels are compiled or interpreted, so the interpreter lives in processes of
its own and the parent's Triton stays a compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from harness.devices.job import Device, Job, cores
from harness.devices.pool import Pool
from harness.heuristics.facts import Config

if TYPE_CHECKING:  # it imports torch
    from harness.runtime.interpret import shared

_SECONDS = 300.0
_ENVIRONMENT = (
    ("TRITON_INTERPRET", "1"),
    # One core each: the pool is what runs in parallel.
    ("OMP_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
)


@dataclass(frozen=True, slots=True)
class CheckJob(Job):
    """Check one module on fresh random inputs drawn with ``seed``; ``config`` None means
    the module's default configuration, ``sizes`` are values of sizes that the module does not know.
    Answers a ``CheckResult``."""

    handler: ClassVar[str] = "harness.runtime.interpret.interpreting:check"
    module_text: str
    config: Config | None = None
    seed: int = 0
    sizes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found: the largest error against the reference and the largest that passes, in
    the module's own terms, what else it did wrong, and how long it took in seconds."""

    passed: bool
    max_error: float
    allowed: float | None = None
    message: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LaunchJob(Job):
    """Launch one module on arguments in shared memory. Answers the positions it writes."""

    handler: ClassVar[str] = "harness.runtime.interpret.interpreting:launch"
    module_text: str
    package: shared.Package
    config: Config | None = None


class InterpreterPool(Pool):
    """``workers`` processes that interpret kernels. They take a few seconds to start."""

    def __init__(self, workers: int, cache: Path | None = None) -> None:
        alike = Device("", _ENVIRONMENT, ("harness.runtime.interpret.interpreting",))
        super().__init__(cores(workers, alike), _SECONDS, cache)

    def launch(self, module_text: str, args: Sequence[Any], config: Config | None = None) -> None:
        """Run one kernel on CPU tensors; the ones it writes are changed in place."""
        from harness.runtime.interpret.shared import Parcel

        with Parcel(args) as parcel:
            parcel.fetch(self.run(LaunchJob(module_text, parcel.package, config)))
