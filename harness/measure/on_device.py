"""The worker process that has the GPU: checks and times one kernel at a time.

A kernel that reads or writes outside its memory ruins the CUDA context of its process, and
one that never ends blocks it; so the process that runs kernels is one that can be replaced.
It measures its own bandwidths when it starts, and watches the GPU's state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import torch

from harness import options
from harness.devices.worker import Handler, Unusable
from harness.errors import HarnessError, NoDevice
from harness.heuristics.facts import Config
from harness.measure import roofline
from harness.measure.check import check_on_device
from harness.measure.context import is_lost, judged, no_device
from harness.measure.measurer import Measurement, Measurer
from harness.measure.roofline import Roofline
from harness.measure.timer.graph_timer import CudaTimer
from harness.records.machine import fingerprint
from harness.records.run import Machine
from harness.records.trials import Tuned
from harness.runtime.compile.compiling import CompilePool
from harness.runtime.device import current_target
from harness.runtime.interpret.interpreter import CheckResult
from harness.runtime.tune.autotune import Settings
from harness.runtime.tune.lookup_table import LookupTable
from harness.runtime.tune.saved import free_room
from harness.runtime.tune.search import search_named
from harness.runtime.tune.winners import Winners, device_identity
from harness.target import Target

ROLE = "harness.measure.on_device:handlers"
_FLUSHES = 500
"""Some tens of milliseconds of work: long enough to read the clocks meanwhile."""
_CALM_SECONDS = 3.0
"""What the clocks are given to come back after the product of matrices."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Opened:
    """The device as the worker found it; ``copy_gbps`` and the rest of the ``roofline`` were
    measured in its process."""

    target: Target
    copy_gbps: float
    machine: Machine
    roofline: Roofline | None = None


@dataclass(frozen=True, slots=True)
class TuneJob:
    """A kernel to tune by the search called ``search``. ``pinned`` are configurations to try
    beside its candidates; ``fresh``: whatever was tuned before; ``jobs`` processes compile."""

    module_text: str
    search: str = "none"
    pinned: tuple[Config, ...] = ()
    fresh: bool = False
    debug: bool = False
    deterministic: bool = False
    jobs: int = 1


@dataclass(eq=False, slots=True)
class DeviceWorker:
    """What the process does. Nothing touches the GPU before ``open``."""

    cache: Path | None
    _opened: Opened | None = None
    _pool: CompilePool | None = None
    _told: list[str] = field(default_factory=list)
    _measurer: Measurer = field(init=False)

    def open(self, _: object = None) -> Opened:
        """Take the device and measure what it can do, once. Raises ``NoDevice``."""
        if self._opened is None:
            try:
                timer = CudaTimer()
                machine = fingerprint(lambda: _busy(timer))
                limits = roofline.measure(timer)
                if timer.state is not None:
                    timer.state.calm(_CALM_SECONDS)
                target = current_target()
            except (RuntimeError, NoDevice) as error:
                raise Unusable(no_device(error)) from error
            readings = tuple if timer.state is None else timer.state.take
            self._measurer = Measurer(
                target,
                timer,
                limits.copy_gbps,
                self.cache,
                roofline=limits,
                readings=readings,
                winners=self._winners(),
                table=self._table(),
            )
            self._opened = Opened(target, limits.copy_gbps, machine, limits)
        return self._opened

    def check(self, module_text: str) -> CheckResult:
        """Run with poisoned outputs and compare with plain torch in float64."""
        self.open()
        return self._surviving(lambda: check_on_device(module_text, cache=self.cache))

    def time(self, module_text: str) -> Measurement:
        """Time every candidate and keep the fastest."""
        self.open()
        return self._surviving(lambda: self._measurer.measure(module_text))

    def again(self, job: tuple[str, Config, int | None]) -> Measurement:
        """Time a module under a configuration that is known, so many launches a sample."""
        self.open()
        return self._surviving(lambda: self._measurer.again(*job))

    def known(self, module_texts: Sequence[str]) -> list[Config | None]:
        """The configuration of every module that needs no tuning."""
        self.open()
        found = (self._measurer.tuner(text).known() for text in module_texts)
        return [None if tuned is None else tuned.config for tuned in found]

    def tune(self, job: TuneJob) -> Tuned:
        """Choose a configuration as ``job`` asks, and keep it."""
        self.open()
        return self._surviving(lambda: self._tuned(job))

    def compilers(self, jobs: int) -> None:
        """Start the processes that compile for ``tune``, without waiting for them."""
        if jobs > 1 and self._pool is None:
            self._pool = CompilePool(jobs, self.cache)
            self._pool.start()

    def _tuned(self, job: TuneJob) -> Tuned:
        self.compilers(job.jobs)
        settings = Settings(
            search_named(job.search),
            deterministic=job.deterministic,
            debug=job.debug,
            pinned=job.pinned,
            room=free_room,
        )
        measurer = replace(self._measurer, pool=self._pool)
        return measurer.tune(job.module_text, settings, job.fresh)

    def notes(self, _: object = None) -> list[str]:
        """What the user should hear of the cache, each once."""
        told = list(self._told)
        self._told.clear()
        return told

    def _winners(self) -> Winners | None:
        if self.cache is None:
            return None
        device = device_identity(torch.cuda.current_device())
        return Winners(self.cache / "tuned", device, self._told.append)

    def _table(self) -> LookupTable | None:
        path = options.current().tuning_table
        return None if path is None else LookupTable.load(path)

    def _surviving(self, work: Callable[[], T]) -> T:
        """``work``'s result; ``Unusable`` if the device's context did not survive it."""
        try:
            found = work()
        except HarnessError as error:
            raise judged(error) from error
        if isinstance(found, Measurement) and found.reason and is_lost():
            raise Unusable(HarnessError(found.reason, where=found.name))
        return found


def _busy(timer: CudaTimer) -> None:
    for _ in range(_FLUSHES):
        timer.flush()


def handlers(cache: str | None) -> dict[str, Handler]:
    """The jobs of the worker that has the GPU."""
    worker = DeviceWorker(None if cache is None else Path(cache))
    return {
        "open": worker.open,
        "check": worker.check,
        "time": worker.time,
        "again": worker.again,
        "known": worker.known,
        "notes": worker.notes,
        "tune": worker.tune,
        "compilers": worker.compilers,
    }
