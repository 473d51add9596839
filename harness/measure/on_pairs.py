"""The worker process that times two kernels against each other, in turns, on one device.

Both get the same random contents; kernels whose arguments are described alike get the same
tensors, so that where memory happens to lie is no difference between them. Groups of
kernels are launched one after the other, as often as their graph launches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.devices.worker import Handler, Unusable
from harness.errors import CompileFailed, HarnessError, NoDevice
from harness.measure.context import device_facts, judged, no_device
from harness.measure.jobs import DeviceFacts, PairJob, PairSamples, TimedKernel
from harness.measure.measurer import release
from harness.measure.timer.graph_timer import CudaTimer
from harness.records.timing import Launch, Timer, Work
from harness.runtime import module as modules
from harness.runtime.compile.static import reason
from harness.runtime.launch.launcher import Launcher
from harness.target import Target


@dataclass(eq=False, slots=True)
class PairWorker:
    """What the process does. Nothing touches the GPU before ``open``."""

    cache: Path | None
    _facts: DeviceFacts | None = None
    _timer: Timer = field(init=False)

    def open(self, _: object = None) -> DeviceFacts:
        """Take the device, once. Raises ``NoDevice``."""
        if self._facts is None:
            try:
                self._timer = CudaTimer()
                self._facts = device_facts()
            except (RuntimeError, NoDevice) as error:
                raise Unusable(no_device(error)) from error
        return self._facts

    def time(self, job: PairJob) -> PairSamples:
        """Time both sides in turns. Raises ``HarnessError`` where one of them cannot run."""
        target = self.open().target
        try:
            return timed(job, self._timer, target, self.cache)
        except (RuntimeError, ValueError, TypeError) as error:
            raise judged(HarnessError("a kernel could not be timed", got=reason(error))) from error
        except HarnessError as error:
            raise judged(error) from error
        finally:
            release("cuda")


def timed(
    job: PairJob, timer: Timer, target: Target, cache: Path | None, device: str = "cuda"
) -> PairSamples:
    """Both sides' samples, taken in turns with ``timer``."""
    folder = None if cache is None else cache / "modules"
    shared: dict[str, modules.Arguments] = {}
    launches: dict[str, Launch] = {}
    for name in ("a", "b") if job.a_first else ("b", "a"):
        side = job.a if name == "a" else job.b
        launches[name] = _launch(side, shared, job.seed, folder, target, cache, device)
    found = timer.compare(launches, job.budget_ms, job.width)
    return PairSamples(found["a"], found["b"])


def _launch(
    side: Sequence[TimedKernel],
    shared: dict[str, modules.Arguments],
    seed: int,
    folder: Path | None,
    target: Target,
    cache: Path | None,
    device: str,
) -> Launch:
    """One side as a launch: a ``Work`` where it is a single kernel launched once."""
    works = []
    for kernel in side:
        loaded = modules.load(kernel.module_text, folder)
        key = repr((getattr(loaded.raw, "ARGS", None), loaded.outputs))
        if key not in shared or not hasattr(loaded.raw, "ARGS"):
            shared[key] = loaded.get_args(device=device, seed=seed)
        config = loaded.configs[0]
        if kernel.config is not None:
            config = modules.config_from_dict(kernel.config)
        launcher = Launcher(loaded, config, target, cache)
        _require_fit(launcher, loaded)
        works.append((Work(launcher, shared[key]), kernel.launches))
    if len(works) == 1:
        return works[0][0]

    def launch() -> None:
        for work, times in works:
            for _ in range(times):
                work()

    return launch


def _require_fit(launcher: Launcher, loaded: modules.LoadedModule) -> None:
    try:
        launcher.prepare()
    except CompileFailed as error:
        error.where = error.where or loaded.name
        raise


def handlers(cache: str | None) -> dict[str, Handler]:
    """The jobs of a worker that times pairs."""
    worker = PairWorker(None if cache is None else Path(cache))
    return {"open": worker.open, "time": worker.time}
