"""What happens to measuring jobs in the worker process that has the GPU.

A kernel that reads or writes outside its memory ruins the CUDA context of its process, and
one that never ends blocks it; so the process that runs kernels is one that can be replaced.
The first one measures the GPU's bandwidths when asked to; all watch its state.
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import torch

from harness import options
from harness.devices.job import Context, Unusable
from harness.errors import CheckFailed, HarnessError, NoDevice, OutOfMemory, reason
from harness.heuristics.facts import Config
from harness.measure import jobs, roofline
from harness.measure.jobs import DeviceFacts, PairJob, PairSamples, Roofline, Timing
from harness.measure.roofline import bytes_written
from harness.measure.timer.graph_timer import CudaTimer
from harness.measure.timer.state import Reading
from harness.records.machine import current_uuid, fingerprint
from harness.records.timing import METHOD, Launch, Timer, Work
from harness.records.trials import Outcome, Trial, Tuned
from harness.runtime import module as modules
from harness.runtime.compile.static import CompilePool, untuned
from harness.runtime.device import current_target
from harness.runtime.interpret.interpreter import CheckResult
from harness.runtime.interpret.interpreting import lacks_memory, result
from harness.runtime.launch.launcher import Launcher
from harness.runtime.launch.selecting import SelectedKernels
from harness.runtime.tune.autotune import CachingAutotuner, Compiler, Settings
from harness.runtime.tune.choosing import Chooser
from harness.runtime.tune.saved import free_room
from harness.runtime.tune.search import search_named
from harness.runtime.tune.tuning_cache import LookupTable, TuningCache, device_identity
from harness.target import Target

_FLUSHES = 500
"""Some tens of milliseconds of work: long enough to read the clocks meanwhile."""
_KEPT = 0.25
"""The part of a device's memory that torch may hold from one kernel to the next. Drivers need some
beside it, for code and recordings, as do the contexts of processes that compile."""
_TIME_MS = 300.0
"""Wall clock for the samples of a chosen configuration, at most."""
_UNTHROTTLED_SECONDS = 3.0
"""What the clocks are given to come back after the product of matrices before one is timed."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class Measurer:
    """Measures modules on one device, which can do what ``roofline`` says. ``device`` is where
    arguments are made; ``readings`` are the GPU's states since it was last asked. What was tuned is
    in ``tuning_cache``, what need not be in ``table``; ``pool`` compiles, ``load`` loads one."""

    target: Target
    timer: Timer
    roofline: Roofline
    cache: Path | None = None
    device: str = "cuda"
    readings: Callable[[], tuple[Reading, ...]] = tuple
    tuning_cache: TuningCache | None = None
    table: LookupTable | None = None
    pool: CompilePool | None = None
    load: modules.Load = field(default_factory=modules.keeping)

    def check(self, module_text: str) -> CheckResult:
        """Run the first candidate, as it was compiled ahead, with poisoned outputs, and compare
        with plain torch in float64. Raises ``HarnessError`` where the kernel cannot be run."""
        began = clock.perf_counter()
        loaded = self.load(module_text, self.cache)
        try:
            launch = self._prepare(loaded)(loaded.configs[0])
            found = loaded.check(loaded.get_args(device=self.device), launch=launch)
        except HarnessError:
            raise
        except Exception as error:
            kind = OutOfMemory if lacks_memory(error) else CheckFailed
            raise kind(
                "a kernel could not be run",
                where=loaded.name,
                got=reason(error),
                expected="a kernel that runs to its end",
                remedy=f"run the emitted module with --check; its text is in {loaded.path}",
            ) from error
        return result(found, clock.perf_counter() - began)

    def measure(
        self,
        module_text: str,
        config: Config | None = None,
        launches: int | None = None,
        earlier: tuple[Config, ...] = (),
    ) -> Timing:
        """Tune and time one module, keeping one of ``earlier`` where none is faster; with
        ``config`` only time it, ``launches`` to a sample, both of which another process has found.
        Raises what loading, tuning and launching fail with."""
        self.readings()  # what was read before concerns another kernel
        loaded = self.load(module_text, self.cache)
        args = loaded.get_args(device=self.device)
        prepare = self._prepare(loaded)
        trials: tuple[Trial, ...] = ()
        if config is None:
            tuner = self.tuner(module_text, Settings(earlier=earlier, room=free_room))
            tuned = tuner.tune(args, self.timer, prepare)
            config, trials = tuned.config, tuned.trials
        samples = self.timer.measure(Work(prepare(config), args, launches), _TIME_MS)
        ms, moved = samples.median, loaded.bytes_moved
        written = bytes_written(moved, args, loaded.outputs)
        limit = self.roofline.limit(ms, moved, written, loaded.flops, loaded.tensor)
        samples = replace(samples, copy_gbps=self.roofline.copy_gbps)
        return Timing(config, samples, limit, trials, self.readings())

    def tuner(self, module_text: str, settings: Settings, fresh: bool = False) -> CachingAutotuner:
        """What chooses the configuration of a module; ``settings`` ask for a search, ``fresh`` for
        a tuning whatever is known."""
        places = (self.tuning_cache, self.table, self.pool)
        loaded = self.load(module_text, self.cache)
        return CachingAutotuner(loaded, self.target, self.cache, settings, *places, fresh)

    def tune(self, module_text: str, settings: Settings, fresh: bool = False) -> Tuned:
        """Only tune; raises what tuning fails with."""
        tuner = self.tuner(module_text, settings, fresh)
        args = tuner.loaded.get_args(device=self.device)
        return tuner.tune(args, self.timer, self._prepare(tuner.loaded))

    def _prepare(self, loaded: modules.LoadedModule) -> Compiler:
        return Compiler(loaded, self.target, self.cache, self.pool)


class Gpu:
    """The CUDA device of this process, from ``OpenDevice`` on; ``measurer`` measures kernels where
    that asked for bandwidths. Raises ``NoDevice``, and ``RuntimeError`` where the driver does."""

    measurer: Measurer

    def __init__(self, context: Context) -> None:
        self.timer = CudaTimer()
        self.target: Target = current_target()
        self.notes: list[str] = []
        self.chooser: Chooser | None = None
        self._cache, self._load = context.cache, context.once(modules.keeping)

    def facts(self, job: jobs.OpenDevice) -> DeviceFacts:
        """What the device is; with ``bandwidths`` what it can do, and kernels can be measured. What
        is ``known`` of the same device is not measured again."""
        timer, bandwidths, known = self.timer, job.bandwidths, job.known
        if known is None or known.machine.gpu_uuid != current_uuid():
            machine = fingerprint(
                (lambda: [timer.engine.flush() for _ in range(_FLUSHES)]) if bandwidths else None
            )
            limits = roofline.measure(timer) if bandwidths else None
            if bandwidths and timer.watch is not None:
                timer.watch.patient_until = clock.monotonic() + _UNTHROTTLED_SECONDS
            known = DeviceFacts(self.target, machine, METHOD, limits)
        timer.quick = job.quick  # from here on: what the device can do is measured as ever
        if known.roofline is None:
            return known
        tuned = None
        if self._cache is not None:
            device = device_identity(torch.cuda.current_device())
            tuned = TuningCache(self._cache / jobs.TUNED, device, self.notes.append)
        self.measurer = Measurer(
            self.target,
            timer,
            known.roofline,
            self._cache,
            readings=tuple if timer.watch is None else timer.watch.take,
            tuning_cache=tuned,
            table=LookupTable.load(options.current().tuning_table),
            load=self._load,
            pool=CompilePool(job.compilers, self._cache) if job.compilers > 1 else None,
        )
        if self.measurer.pool is not None:
            self.measurer.pool.start()
        return known


def no_device(error: Exception) -> NoDevice:
    """Why the device cannot be taken."""
    # The driver has no memory for a context, torch's allocator none for a tensor.
    full = isinstance(error, torch.OutOfMemoryError) or "out of memory" in str(error)
    return NoDevice(
        "the GPU has too little free memory" if full else "the GPU cannot be used",
        got=error.got if isinstance(error, HarnessError) else reason(error),
        expected="a CUDA device with about 3 GiB free",
        remedy="end what else runs on it (nvidia-smi lists it), or use --no-timing",
    )


def is_lost() -> bool:
    """Whether a launch ruined this process's CUDA context: every call fails from then on."""
    try:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def surviving(work: Callable[[], T]) -> T:
    """``work``'s result; gives memory back. Raises ``HarnessError``, or ``Unusable`` with it
    where the device's context did not survive, so that the pool replaces the process; whether there
    is still a device is for the next one to say."""
    try:
        found = work()
    except HarnessError as error:
        failed = error
    except (RuntimeError, ValueError, TypeError) as error:
        kind = OutOfMemory if lacks_memory(error) else HarnessError
        failed = kind("a kernel could not be timed", got=reason(error))
    else:
        give_back()
        return found
    # Tracebacks hold tensors, of causes too: the next kernel may need their memory.
    failed.__traceback__ = failed.__cause__ = failed.__context__ = None
    if is_lost():
        lost = HarnessError("the device's context was lost", where=failed.where, got=failed.got)
        raise Unusable(lost if isinstance(failed, NoDevice) else failed)
    torch.cuda.empty_cache()
    raise failed


def give_back() -> None:
    """Give back what torch holds beside its tensors, once that is much: the device has to be still
    for it, and the next kernel has to ask for as much again."""
    kept = torch.cuda.memory_reserved()
    if kept and kept > _KEPT * torch.cuda.get_device_properties().total_memory:
        torch.cuda.empty_cache()


def open_device(context: Context, job: jobs.OpenDevice) -> DeviceFacts:
    """The handler of ``OpenDevice``."""
    if job.board:  # no import calls the driver, which reads this when it is first called
        os.environ["CUDA_VISIBLE_DEVICES"] = job.board
    try:
        return context.once(Gpu).facts(job)
    except (RuntimeError, NoDevice) as error:
        raise Unusable(no_device(error)) from error


def check(context: Context, job: jobs.CheckKernel) -> CheckResult:
    """The handler of ``CheckKernel``."""
    measurer = context.once(Gpu).measurer
    return surviving(lambda: measurer.check(job.module_text))


def time(context: Context, job: jobs.TimeKernel) -> Timing:
    """The handler of ``TimeKernel``."""
    measurer = context.once(Gpu).measurer
    how = (job.module_text, job.config, job.launches)
    return surviving(lambda: measurer.measure(*how, earlier=job.earlier))


def known(context: Context, job: jobs.KnownConfigs) -> tuple[list[Config | None], list[str]]:
    """The handler of ``KnownConfigs``."""
    gpu = context.once(Gpu)
    settings = Settings(room=free_room)
    found = [gpu.measurer.tuner(text, settings).known() for text in job.module_texts]
    notes = list(gpu.notes)
    gpu.notes.clear()
    return [None if tuned is None else tuned.config for tuned in found], notes


def choose(context: Context, job: jobs.ChooseWay) -> Outcome:
    """The handler of ``ChooseWay``."""
    gpu = context.once(Gpu)
    if gpu.chooser is None:
        known, number = gpu.measurer.tuning_cache, torch.cuda.current_device()
        assert known is not None, "a run has a cache"
        settings, own = Settings(room=free_room), options.current()
        places = (gpu.target, gpu.timer, context.cache, number, own.jobs, known, settings)
        kernels = SelectedKernels(*places, LookupTable.load(own.tuning_table))
        gpu.chooser = Chooser(kernels, gpu.timer, known)
    chooser = gpu.chooser
    return surviving(lambda: chooser.choose(job.ways))


def tune(context: Context, job: jobs.TuneKernel) -> Tuned:
    """The handler of ``TuneKernel``."""
    measurer = context.once(Gpu).measurer
    how = (job.deterministic, job.debug, job.pinned, free_room)
    settings = Settings(search_named(job.search), *how)
    return surviving(lambda: measurer.tune(job.module_text, settings, job.fresh))


def time_pair(context: Context, job: PairJob) -> PairSamples:
    """The handler of ``PairJob``."""
    gpu = context.once(Gpu)
    return surviving(lambda: paired(job, gpu.timer, gpu.target, context.cache))


def paired(
    job: PairJob, timer: Timer, target: Target, cache: Path | None, device: str = "cuda"
) -> PairSamples:
    """Both sides' samples, interleaved. Both get the same random contents; kernels whose
    arguments are described alike get the same tensors, so that where memory happens to lie is no
    difference between them. Groups of kernels are launched one after the other, as often as their
    graph launches them. Raises ``HarnessError`` where one of them cannot run."""
    shared: dict[str, modules.Arguments] = {}

    def work(kernel: jobs.TimedKernel) -> Work:
        loaded = modules.load(kernel.module_text, cache)
        key = repr((getattr(loaded.raw, "ARGS", None), loaded.outputs))
        if key not in shared or not hasattr(loaded.raw, "ARGS"):
            shared[key] = loaded.get_args(device=device, seed=job.seed)
        config = untuned(kernel.module_text, target, cache) or loaded.configs[0]
        if kernel.config is not None:
            config = modules.config_from_dict(kernel.config)
        launcher = Launcher(loaded, config, target, cache, triton=kernel.triton)
        launcher.resources()
        return Work(launcher, shared[key])

    sides = (("a", job.a), ("b", job.b))[:: 1 if job.a_first else -1]
    launches = {name: _together([(work(k), k.launches) for k in side]) for name, side in sides}
    found = timer.compare(launches, job.budget_ms, job.width)
    return PairSamples(found["a"], found["b"])


def _together(works: Sequence[tuple[Work, int]]) -> Launch:
    """One side as a launch: the ``Work`` itself where it is a single kernel."""
    if len(works) == 1:
        return works[0][0]

    def launch() -> None:
        for work, times in works:
            for _ in range(times):
                work()

    return launch
