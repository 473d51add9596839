"""The GPU as a run sees it: prepare, check, time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.bench.check import check_on_device
from harness.bench.measure import Measurer
from harness.bench.roofline import copy_bandwidth
from harness.bench.session import CheckOutcome, Timing
from harness.bench.timer import CudaTimer
from harness.codegen.source import EmittedModule
from harness.errors import CheckFailed
from harness.runtime.compiling import CompileJob, CompilePool
from harness.runtime.device import current_target
from harness.runtime.module import load
from harness.target import Target


class CudaDevice:
    """The current CUDA device. ``jobs`` processes compile ahead of what is timed; their
    results, and everything else worth keeping, go below ``cache``."""

    def __init__(self, cache: Path, jobs: int) -> None:
        self.target = current_target()
        self._cache = cache
        self._pool = CompilePool(jobs, cache)
        self._timer = CudaTimer()
        self._copy = copy_bandwidth(self._timer)
        self._measurer = Measurer(self.target, self._timer, self._copy.gbps, cache)

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
        """End the compiling processes."""
        self._pool.close()

    @property
    def copy_gbps(self) -> float:
        """Copy bandwidth, measured in this process by the same method."""
        return self._copy.gbps

    @property
    def timer(self) -> CudaTimer:
        """The timer behind ``time``."""
        return self._timer

    def prepare(self, modules: Sequence[EmittedModule]) -> None:
        """Compile every candidate of every module in parallel. What fails here fails again,
        with its reason, when it is timed."""
        self._pool.warm(warm_jobs([m.text for m in modules], self.target, self._cache))

    def check(self, module: EmittedModule) -> CheckOutcome:
        """Run with poisoned outputs and compare with plain torch in float64."""
        found = check_on_device(module.text, cache=self._cache)
        return CheckOutcome(found.passed, found.max_error, found.allowed)

    def time(self, module: EmittedModule) -> Timing:
        """Time every candidate and keep the fastest. Raises ``HarnessError`` with the reason
        for a kernel that cannot be timed."""
        found = self._measurer.measure(module.text)
        if found.samples is None or found.config is None:
            raise CheckFailed(
                "a kernel could not be timed",
                where=module.name,
                got=found.reason,
                expected="at least one candidate that runs",
                remedy="run the emitted module with --all-configs",
            )
        return Timing(found.config, found.samples.median, found.samples.ms)


def warm_jobs(module_texts: Sequence[str], target: Target, cache: Path | None) -> list[CompileJob]:
    """One compile job for each distinct module and candidate."""
    folder = None if cache is None else cache / "modules"
    return [
        CompileJob(text, target, config)
        for text in dict.fromkeys(module_texts)
        for config in load(text, folder).configs
    ]
