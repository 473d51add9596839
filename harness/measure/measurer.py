"""Measure one emitted module on the GPU: tune, time, compare with the copy bandwidth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.errors import CheckFailed, HarnessError, OutOfMemory, reason
from harness.heuristics.facts import Config
from harness.measure.jobs import Timing
from harness.measure.roofline import Roofline, bytes_written
from harness.measure.timer.state import Reading
from harness.records.timing import Timer, Work
from harness.records.trials import Trial, Tuned
from harness.runtime import module as modules
from harness.runtime.compile.compiling import CompilePool
from harness.runtime.interpret.interpreter import CheckResult
from harness.runtime.interpret.interpreting import lacks_memory, result
from harness.runtime.tune.autotune import CachingAutotuner, Compiler, Settings
from harness.runtime.tune.saved import free_room
from harness.runtime.tune.tuning_cache import LookupTable, TuningCache
from harness.target import Target


@dataclass(frozen=True, eq=False, slots=True)
class Measurer:
    """Measures modules on one device, which can do what ``roofline`` says. ``device`` is where
    arguments are made; ``time_ms`` is wall clock for the chosen configuration, at most.
    ``readings`` gives the GPU's state since it was last asked. ``tuning_cache`` keeps what was
    tuned, ``table`` says what is not to be; ``pool`` compiles in parallel. ``preparer`` gives what
    compiles the candidates of a module; the device's compiler by default. ``load`` loads it."""

    target: Target
    timer: Timer
    roofline: Roofline
    cache: Path | None = None
    device: str = "cuda"
    time_ms: float = 300.0
    preparer: Callable[[modules.LoadedModule], Compiler] | None = None
    readings: Callable[[], tuple[Reading, ...]] = tuple
    tuning_cache: TuningCache | None = None
    table: LookupTable | None = None
    pool: CompilePool | None = None
    load: modules.Load = field(default_factory=modules.keeping)

    def check(self, module_text: str) -> CheckResult:
        """Run the first candidate, as it was compiled ahead, with poisoned outputs, and compare
        with plain torch in float64. Raises ``HarnessError`` where the kernel cannot be run."""
        began = time.perf_counter()
        loaded = self.load(module_text, self.cache)
        try:
            launch = self._prepare(loaded)(loaded.configs[0])
            found = loaded.check(loaded.get_args(device=self.device, seed=0), launch=launch)
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
        return result(found, time.perf_counter() - began)

    def measure(
        self,
        module_text: str,
        config: Config | None = None,
        launches: int | None = None,
        seed: int = 0,
        earlier: tuple[Config, ...] = (),
    ) -> Timing:
        """Tune and time one module, keeping one of ``earlier`` where none is faster; with
        ``config`` only time it, ``launches`` to a sample, both of which another process has found.
        Raises what loading, tuning and launching fail with."""
        self.readings()  # what was read before concerns another kernel
        loaded = self.load(module_text, self.cache)
        args = loaded.get_args(device=self.device, seed=seed)
        prepare = self._prepare(loaded)
        trials: tuple[Trial, ...] = ()
        if config is None:
            tuner = self.tuner(module_text, Settings(earlier=earlier, room=free_room))
            tuned = tuner.tune(args, self.timer, prepare)
            config, trials = tuned.config, tuned.trials
        samples = self.timer.measure(Work(prepare(config), args, launches), self.time_ms)
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

    def tune(
        self, module_text: str, settings: Settings, fresh: bool = False, seed: int = 0
    ) -> Tuned:
        """Only tune; raises what tuning fails with."""
        tuner = self.tuner(module_text, settings, fresh)
        args = tuner.loaded.get_args(device=self.device, seed=seed)
        return tuner.tune(args, self.timer, self._prepare(tuner.loaded))

    def _prepare(self, loaded: modules.LoadedModule) -> Compiler:
        make = self.preparer or (lambda m: Compiler(m, self.target, self.cache, self.pool))
        return make(loaded)
