"""The worker process that compares compilers: one region at a time, all of them in it.

Inductor and other compilers run here and nowhere else: one that crashes or never ends takes
this process with it, and the parent, told by a file how far it came, goes on without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from harness.compiled import CompiledRegion
from harness.devices.worker import Handler, Unusable
from harness.errors import HarnessError, NoDevice
from harness.graph.replay import random_inputs
from harness.measure.context import is_lost, no_device
from harness.measure.measurer import release
from harness.measure.peers.comparing import Task, compare, region_task, why
from harness.measure.peers.jobs import CompareJob, RegionComparison, WarmJob
from harness.measure.peers.kernels import kernel_maker, kernel_task
from harness.measure.peers.names import SUBJECTS
from harness.measure.peers.providers import (
    TUNED_OPTIONS,
    Make,
    Provider,
    function_maker,
    inductor,
    maker,
)
from harness.measure.peers.regional import compiled_launch, region_provider
from harness.measure.timer.graph_timer import CudaTimer
from harness.records.timing import Timer
from harness.runtime import module as modules
from harness.runtime.device import current_target
from harness.runtime.launch.launcher import LauncherCache


@dataclass(eq=False, slots=True)
class PeerWorker:
    """What the process does. Nothing touches the GPU before the first job.

    ``timer`` and ``device`` are given by tests.
    """

    cache: Path | None
    device: torch.device = field(default_factory=lambda: torch.device("cuda"))
    timer: Timer | None = None
    _launchers: LauncherCache | None = None

    def compare(self, job: CompareJob) -> RegionComparison:
        """All providers on one region. Raises ``Unusable`` when the device's context is lost."""
        warnings.filterwarnings("ignore")
        timer = self._open()
        task, makers = self._prepared(job)

        def step(name: str) -> None:
            job.progress.write_text(name)

        try:
            return compare(task, makers, timer, job.budget_ms, step)
        except (RuntimeError, HarnessError) as error:
            self._require_device(error)
            raise
        finally:
            self._forget()

    def warm(self, job: WarmJob) -> str:
        """Compile one graph with Inductor; why not, if it cannot. It fails again, with its
        reason, when it is compared. Nothing is run: kernels are tuned where nobody disturbs."""
        warnings.filterwarnings("ignore")
        try:
            inputs = random_inputs(job.graph, self.device)
            inductor(job.graph, inputs, TUNED_OPTIONS if job.tuned else None)
        except Exception as error:  # noqa: BLE001 - see above
            return why(error)
        finally:
            torch.compiler.reset()
            release(str(self.device))
        return ""

    def _open(self) -> Timer:
        if self.timer is None:
            try:
                self.timer = CudaTimer()
            except (RuntimeError, NoDevice) as error:
                raise Unusable(no_device(error)) from error
        return self.timer

    def _prepared(self, job: CompareJob) -> tuple[Task, dict[str, Make]]:
        if isinstance(job.work, str):
            return self._kernel(job, job.work)
        graph = job.work.region.graph
        ours = self._ours(job, job.work)
        return region_task(graph, self.device, job.seed), {
            name: ours if name in SUBJECTS else maker(name, graph, self.device)
            for name in job.names
        }

    def _ours(self, job: CompareJob, region: CompiledRegion) -> Make:
        def make(_: Sequence[Any]) -> Provider:
            launch = compiled_launch(self._launchers_here(), job.configs, self._folder)
            return region_provider(region, launch, self.device)

        return make

    def _kernel(self, job: CompareJob, text: str) -> tuple[Task, dict[str, Make]]:
        loaded = modules.load(text, self._folder)
        config = job.configs.get(text)

        def ours(inputs: Sequence[Any]) -> Provider:
            launcher = self._launchers_here().get(loaded, config)
            return kernel_maker(loaded, launcher)(inputs)

        return kernel_task(loaded, self.device, job.seed), {
            name: ours if name in SUBJECTS else function_maker(name, loaded.raw.expected)
            for name in job.names
        }

    def _launchers_here(self) -> LauncherCache:
        if self._launchers is None:
            self._launchers = LauncherCache(current_target(), self.cache)
        return self._launchers

    @property
    def _folder(self) -> Path | None:
        return None if self.cache is None else self.cache / "modules"

    def _require_device(self, error: Exception) -> None:
        """Raises ``Unusable`` with ``error`` if the device's context is lost."""
        if self.device.type == "cuda" and is_lost():
            lost = HarnessError("the device's context was lost", got=why(error))
            raise Unusable(lost) from error

    def _forget(self) -> None:
        if self._launchers is not None:
            self._launchers.clear()
        torch.compiler.reset()
        release(str(self.device))


def handlers(cache: str | None) -> dict[str, Handler]:
    """The jobs of the worker."""
    worker = PeerWorker(None if cache is None else Path(cache))
    return {"compare": worker.compare, "warm": worker.warm}
