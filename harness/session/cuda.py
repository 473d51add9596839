"""The GPU as a run sees it: prepare, check, time, in a process that can be replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import cast

from harness import options
from harness.codegen.source import EmittedModule
from harness.devices.job import BESIDE_TIMING, Closing, Device
from harness.devices.pool import Pool
from harness.devices.process import Process
from harness.heuristics.facts import Config
from harness.measure import jobs as asked
from harness.measure.jobs import DeviceFacts, TimeKernel, Timing, gpu
from harness.measure.timer.state import Reading
from harness.records.timing import METHOD
from harness.records.trials import Outcome, Way
from harness.runtime.compile import binary
from harness.runtime.compile.static import CompileJob, CompilePool
from harness.runtime.interpret.interpreter import CheckResult
from harness.runtime.module import load
from harness.runtime.tune.space import CandidateJob
from harness.runtime.tune.tuning_cache import warn_once
from harness.target import Target

SECONDS = 180.0
"""What checking or timing one kernel may take, its compilation included."""


class CudaDevice(Closing):
    """The current CUDA device, or the one that ``where`` describes. ``jobs`` processes compile
    ahead of what is timed; their results, and everything else worth keeping, go below ``cache``.

    One process, ``worker``, checks and times. A kernel that takes longer than ``seconds``, or after
    which the device's context is gone, costs its own row: the worker is replaced. What the device
    can do is measured once, by the first process. Raises ``NoDevice`` where the GPU cannot be used,
    also when it cannot be any more. A device that was ``seen`` without being taken is taken by
    ``take`` or its first job; ``started`` is its process, where there is one already."""

    def __init__(
        self,
        cache: Path,
        jobs: int,
        seconds: float = SECONDS,
        where: Device | None = None,
        seen: DeviceFacts | None = None,
        started: Sequence[Process] = (),
    ) -> None:
        self._cache = cache
        self.readings: list[Reading] = []
        """The GPU's state while kernels were timed, in all processes so far."""
        self._process = 0
        self.where = where or gpu(asked.OpenDevice(bandwidths=True))
        self.worker = Pool([self.where], seconds, cache, started)
        self._pool = CompilePool(jobs, cache, niceness=BESIDE_TIMING, host=self.where.host)
        self._seen = seen
        try:
            if seen is None:
                self.worker.open()
        except BaseException:
            self.close()
            raise

    def take(self) -> None:
        """Take the device meanwhile. Where that fails the first job tries again, and says why."""
        ThreadPoolExecutor(1).submit(self.worker.open)

    def close(self) -> None:
        """End the processes."""
        self.worker.close()
        self._pool.close()

    @property
    def facts(self) -> DeviceFacts:
        """The device as the first process found it, or as it was ``seen`` before there is one."""
        found = self.worker.found
        return cast(DeviceFacts, found[0] if found or self._seen is None else self._seen)

    @property
    def name(self) -> str:
        """The board's."""
        return self.facts.machine.gpu_uuid or self.where.name

    @property
    def target(self) -> Target:
        """The device as a target."""
        return self.facts.target

    def missing(
        self, modules: Sequence[EmittedModule], given: Mapping[str, Config]
    ) -> list[CompileJob]:
        """What ``compile`` has to do for ``modules``: every candidate, of a module that was tuned
        before its winner alone, of a text with a ``given`` configuration that one; and only what is
        not kept here, so that no process is started for nothing."""
        texts = [m.text for m in modules if m.text not in given]
        known, notes = self._known(texts)
        for note in notes:
            warn_once(note)
        found: dict[str, Config | None] = {**dict(zip(texts, known, strict=True)), **given}
        jobs: list[CompileJob] = []
        for text, config in found.items():
            configs = load(text, self._cache).configs if config is None else (config,)
            kind = CandidateJob if config is None else CompileJob
            jobs += [kind(text, self.target, c) for c in configs if not self._keeps(text, c)]
        return jobs

    def _known(self, texts: Sequence[str]) -> tuple[Sequence[Config | None], Sequence[str]]:
        """The configurations that need no tuning. Where nothing was tuned before, nobody waits for
        a process that imports and takes the device."""
        tuned = self._cache / asked.TUNED
        kept = self.where.host is not None or (tuned.is_dir() and any(tuned.iterdir()))
        if not kept and options.current().tuning_table is None:
            return [None] * len(texts), ()
        return self.worker.run(asked.KnownConfigs(tuple(texts)))

    def _keeps(self, text: str, config: Config) -> bool:
        kept = binary.path(self._cache, binary.artifact(text, config, self.target))
        return self.where.host is None and kept.is_file()

    def compile(self, jobs: Sequence[CompileJob]) -> None:
        """Do ``jobs`` in parallel, in whichever thread. What fails here fails again, with its
        reason, when it is timed."""
        self._pool.all(jobs)

    def check(self, module: EmittedModule) -> CheckResult:
        """Run with poisoned outputs and compare with plain torch in float64."""
        return cast(CheckResult, self.worker.run(asked.CheckKernel(module.text)))

    def time(self, module: EmittedModule, *earlier: Config) -> Timing:
        """Time every candidate and keep the fastest, one of ``earlier`` where none is faster.
        Raises ``HarnessError`` with the reason for a kernel that cannot be timed."""
        return self._timing(self.worker.run(TimeKernel(module.text, earlier=earlier)))

    def again(self, module_text: str, config: Config, launches: int | None = None) -> Timing:
        """Time a kernel under a configuration that is known, ``launches`` to a sample (the
        timer finds how many if None). Raises as ``time`` does."""
        return self._timing(self.worker.run(TimeKernel(module_text, config, launches)))

    def spare(self, restarts: int) -> None:
        """Start what ``restart`` goes on in, of so many to come: it imports meanwhile."""
        self.worker.spare(asked.ahead(restarts))

    def restart(self) -> None:
        """Go on in a fresh process."""
        self.worker.restart()
        self._process += 1

    def _timing(self, found: Timing) -> Timing:
        self.readings.extend(found.readings)
        return replace(found, samples=found.samples.recorded(self._process, METHOD), readings=())

    def choose(self, ways: Sequence[Way]) -> Outcome:
        """The fastest of several ways to do the same work."""
        return cast(Outcome, self.worker.run(asked.ChooseWay(tuple(ways))))
