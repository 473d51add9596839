"""What ``harness tune`` does: a graph's kernels, each with everything that was tried on it.

With a GPU kernels are tuned on it, one at a time, while worker processes compile. Without one the
candidates are compiled for the target and their registers, spills and shared memory read: no times.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.codegen.source import EmittedModule
from harness.errors import HarnessError, NoDevice
from harness.heuristics.facts import Config
from harness.measure.jobs import TuneKernel
from harness.measure.tuning import KernelTuning, fitting
from harness.options import Options
from harness.records.metrics import StaticMetrics
from harness.records.run import fields, one_line
from harness.records.trials import Trial, Tuned
from harness.runtime.compile.cache import usable
from harness.runtime.compile.static import CompileJob, CompilePool
from harness.runtime.module import config_dict, load
from harness.runtime.tune.search import search_named
from harness.session.cuda import CudaDevice
from harness.session.entries import FileEntry, find_graphs
from harness.session.plan import Request, open_device
from harness.target import Target, find_target

NO_GPU = "no GPU: not timed"


@dataclass(frozen=True, slots=True)
class TuneSession:
    """Kernels ready to be tuned, each by the job ``how`` with its own text and what an earlier run
    had chosen. ``device`` is None where there is no GPU to time on."""

    how: TuneKernel
    modules: tuple[EmittedModule, ...]
    failures: tuple[str, ...]
    target: Target
    device: CudaDevice | None
    cache: Path | None
    jobs: int
    notes: tuple[str, ...] = ()

    def tunings(self, earlier: Mapping[str, Mapping[str, int]]) -> Iterator[KernelTuning]:
        """Tune, or compile, kernel by kernel. When the GPU is lost the kernels that are left come
        with the reason. Raises ``NoDevice`` where it cannot be taken at all."""
        if self.device is None:
            yield from self._static(earlier)
            return
        lost: NoDevice | None = None
        try:
            self.device.compile(self.device.missing(self.modules, {}))
        except NoDevice as error:
            if not self.device.worker.found:
                raise
            lost = error
        for module in self.modules:
            before = earlier.get(module.name)
            try:
                if lost is not None:
                    raise lost
                yield self._tuned(self.device, module, before)
            except HarnessError as error:
                lost = error if isinstance(error, NoDevice) else None
                yield KernelTuning(module.name, (), None, before, reason=one_line(error))

    def _tuned(
        self, device: CudaDevice, module: EmittedModule, earlier: Mapping[str, int] | None
    ) -> KernelTuning:
        pinned = fitting(earlier, load(module.text, self.cache).configs)
        found: Tuned = device.worker.run(replace(self.how, module_text=module.text, pinned=pinned))
        seconds = found.seconds if found.source == "timed" else None
        why = f"ended early: {found.partial}" if found.partial else ""
        chosen = config_dict(found.config)
        return KernelTuning(module.name, found.trials, chosen, earlier, seconds, found.source, why)

    def _static(self, earlier: Mapping[str, Mapping[str, int]]) -> Iterator[KernelTuning]:
        """Every candidate compiled for the target."""
        configs = {m.name: load(m.text, self.cache).configs for m in self.modules}
        jobs = [CompileJob(m.text, self.target, c) for m in self.modules for c in configs[m.name]]
        with CompilePool(self.jobs, self.cache) as pool:
            answers = iter(pool.metrics(jobs) if jobs else [])
        for name, own in configs.items():
            trials = tuple(_static_trial(config, next(answers)) for config in own)
            yield KernelTuning(name, trials, None, earlier.get(name), source="static")


@contextlib.contextmanager
def open_session(
    options: Options, request: Request, how: TuneKernel, follow: Callable[[str], object]
) -> Iterator[TuneSession]:
    """Generate the kernels while the device is taken; ``follow`` hears of both. Raises
    ``UnknownName`` for a graph, target or search that does not exist, and ``NoDevice`` where a GPU
    is demanded and there is none, before anything is compiled."""
    search_named(how.search)
    named = find_target(request.target or options.target)
    files = find_graphs(options, request.suite, request.names)
    options = replace(options, jobs=request.jobs or options.jobs)
    with contextlib.ExitStack() as stack:
        cache, note = stack.enter_context(usable(options.kept_cache))
        follow("looking for a GPU, and taking it")
        if (
            device := open_device(replace(options, cache=cache), request, options.jobs)
        ) is not None:
            stack.enter_context(device)
        target = named if device is None else device.target
        modules: dict[str, EmittedModule] = {}
        failures: list[str] = []
        for file in files:
            follow(f"generating {file.name}")
            compiled = FileEntry(file, target).full()
            modules |= {m.name: m for m, _ in compiled.distinct()}
            failures += [f"{f.region} {f.stage}: {one_line(f.error)}" for f in compiled.failures]
        made = (tuple(modules.values()), tuple(failures))
        yield TuneSession(how, *made, target, device, cache, options.jobs, (note,) if note else ())


def _static_trial(config: Config, answer: StaticMetrics | HarnessError) -> Trial:
    if isinstance(answer, HarnessError):
        return Trial(config_dict(config), reason=answer.got or answer.what)
    return Trial(config_dict(config), **fields(answer, "registers spills shared"), reason=NO_GPU)
