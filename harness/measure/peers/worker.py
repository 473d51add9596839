"""What happens to the jobs that compare compilers: one region at a time, all compilers in one
worker process.

Inductor and other compilers run here and nowhere else: one that crashes or never ends takes
this process with it, and the parent, told step by step how far it came, goes on without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledRegion
from harness.devices.job import Context, Unusable
from harness.errors import HarnessError
from harness.executor import PrepareKernel, prepare_region
from harness.heuristics.facts import Config
from harness.measure.measurer import release
from harness.measure.peers import providers
from harness.measure.peers.comparing import Task, compare, copied, region_task, why
from harness.measure.peers.jobs import CompareJob, Peer, WarmJob
from harness.measure.peers.names import SUBJECTS
from harness.measure.peers.providers import Make, Provider
from harness.measure.worker import Gpu, is_lost
from harness.records.timing import Timer
from harness.runtime import module as modules
from harness.runtime.device import current_target
from harness.runtime.launch.launcher import Launcher
from harness.target import Target


def compare_region(context: Context, job: CompareJob) -> dict[str, Peer]:
    """The handler of ``CompareJob``."""
    warnings.filterwarnings("ignore")
    return context.once(_comparer).compare(job)


def _comparer(context: Context) -> Comparer:
    return Comparer(context, context.once(Gpu).timer)


def warm(_: Context, job: WarmJob) -> str:
    """The handler of ``WarmJob``. What fails fails again, with its reason, when it is compared.
    Nothing is run and the inputs take no memory: others are being timed on the device."""
    warnings.filterwarnings("ignore")
    try:
        providers.inductor(job.graph, torch.device("cuda"), job.tuned)
    except Exception as error:  # noqa: BLE001 - see above
        return why(error)
    finally:
        torch.compiler.reset()
        release("cuda")
    return ""


@dataclass(eq=False, slots=True)
class Comparer:
    """Compares all compilers on a region, on ``device``."""

    context: Context
    timer: Timer
    device: torch.device = field(default_factory=lambda: torch.device("cuda"))

    def compare(self, job: CompareJob) -> dict[str, Peer]:
        """All providers on one region. Raises ``Unusable`` when the device's context is lost."""
        task, makers = self._prepared(job)

        try:
            limits = job.budget_ms, job.width
            return compare(task, makers, self.timer, *limits, step=self.context.step)
        except (RuntimeError, HarnessError) as error:
            self._require_device(error)
            raise
        finally:
            torch.compiler.reset()
            release(str(self.device))

    def _prepared(self, job: CompareJob) -> tuple[Task, dict[str, Make]]:
        if isinstance(job.work, str):
            return self._kernel(job, job.work)
        graph = job.work.region.graph
        ours = self._ours(job, job.work)
        return region_task(graph, self.device, job.seed), {
            name: ours if name in SUBJECTS else providers.maker(name, graph, self.device)
            for name in job.names
        }

    def _ours(self, job: CompareJob, region: CompiledRegion) -> Make:
        def make(_: Sequence[Any]) -> Provider:
            kernels = compiled_kernels(current_target(), job.configs, self.context.cache)
            return region_provider(region, kernels, self.device)

        return make

    def _kernel(self, job: CompareJob, text: str) -> tuple[Task, dict[str, Make]]:
        loaded = modules.load(text, self.context.cache)
        config = job.configs.get(text, loaded.configs[0])

        def ours(inputs: Sequence[Any]) -> Provider:
            launcher = Launcher(loaded, config, current_target(), self.context.cache)
            return kernel_maker(loaded, launcher)(inputs)

        return kernel_task(loaded, self.device, job.seed), {
            name: ours if name in SUBJECTS else providers.function_maker(name, loaded.raw.expected)
            for name in job.names
        }

    def _require_device(self, error: Exception) -> None:
        """Raises ``Unusable`` with ``error`` if the device's context is lost."""
        if self.device.type == "cuda" and is_lost():
            lost = HarnessError("the device's context was lost", got=why(error))
            raise Unusable(lost) from error


def compiled_kernels(
    target: Target, configs: Mapping[str, Config], cache: Path | None
) -> PrepareKernel:
    """Compiled kernels for the current device. ``configs`` are tuned configurations by module
    text; a kernel that has none gets its default configuration. Module files go to ``cache``."""

    def kernel(module: EmittedModule) -> Launcher:
        loaded = modules.load(module.text, cache)
        return Launcher(loaded, configs.get(module.text, loaded.configs[0]), target, cache)

    return kernel


def region_provider(
    region: CompiledRegion, kernel: PrepareKernel, device: torch.device
) -> Provider:
    """``region`` as a function of its inputs. Raises ``HarnessError`` for one that has no
    kernels: running torch in their place would be another provider's time."""
    if not region.complete or region.program is None:
        raise HarnessError(
            "a region has no kernels to run",
            where=region.region.name,
            got="; ".join(str(f.error) for f in region.failures)[:500],
            expected="every kernel of the region generated",
            remedy="see the compile report",
        )
    run = prepare_region(region, kernel, device)
    return lambda tensors: run(list(tensors))


def kernel_task(loaded: modules.LoadedModule, device: torch.device, seed: int = 0) -> Task:
    """What the kernel does to its arguments: the contents of what it writes."""
    return Task(
        lambda: loaded.get_args(device=str(device), seed=seed),
        lambda outputs, _: [t for t in outputs if t is not None],
        lambda args: loaded.reference([copied(a) for a in args], wide=True),
    )


def kernel_maker(loaded: modules.LoadedModule, launch: Callable[[Sequence[Any]], None]) -> Make:
    """The kernel itself, through ``launch``."""

    def run(args: Sequence[Any]) -> list[torch.Tensor | None]:
        launch(args)
        return [args[position] for position in loaded.outputs]

    def make(_: Sequence[Any]) -> Provider:
        return run

    return make
