"""The caching autotuner: one kernel, from its text to the configuration to launch.

A configuration comes from the first that knows one: Triton's interpreter (the first
candidate), the lookup table, the disk cache of winners, a tuning. It can be pickled at any
time, so that a worker process compiles and hands it over: what cannot travel (locks, loaded
modules, launchers) is made again on the other side.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import CompileFailed, HarnessError
from harness.heuristics.facts import Config
from harness.records.timing import Timer
from harness.records.trials import Tuned
from harness.runtime import module as modules
from harness.runtime.compile.compiling import CompileJob, CompilePool
from harness.runtime.compile.static import compile_for
from harness.runtime.tune.autotune import Compiler, Settings, tune
from harness.runtime.tune.lookup_table import LookupTable
from harness.runtime.tune.race import Ahead, Prepare
from harness.runtime.tune.sampling import Sampler
from harness.runtime.tune.winners import Winners
from harness.target import Target

_UNPICKLED = ("_lock", "_loaded", "pool")


@dataclass(eq=False)
class CachingAutotuner:
    """Tunes the kernel of ``module_text`` for ``target``; binaries go below ``cache``.

    ``winners`` and ``table`` are asked before anything is timed (None: not asked; with neither
    and no ``cache`` nothing persists). ``pool`` compiles candidates in parallel. ``fresh``: tune
    even where the answer is known. ``refused``
    holds, after ``compile``, the candidates that cannot be used, each with its reason.
    """

    module_text: str
    target: Target
    cache: Path | None = None
    settings: Settings = field(default_factory=Settings)
    winners: Winners | None = None
    table: LookupTable | None = None
    pool: CompilePool | None = None
    fresh: bool = False
    tuned: Tuned | None = None
    refused: dict[Config, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._loaded: modules.LoadedModule | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in _UNPICKLED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.pool = None
        self.__post_init__()

    @property
    def loaded(self) -> modules.LoadedModule:
        """The module. Raises ``CompileFailed`` for text that is none."""
        with self._lock:
            if self._loaded is None:
                self._loaded = modules.load(self.module_text, self.cache)
            return self._loaded

    def compile(self) -> list[Config]:
        """Compile every candidate for the target, in the pool if there is one; those that
        compile. Needs no GPU. In Triton's interpreter nothing is compiled."""
        configs = list(self.loaded.configs)
        if self.loaded.interpreted:
            return configs[:1]
        for config, error in zip(configs, self._compiled(configs), strict=True):
            if error is not None:
                self.refused[config] = error.got or error.what
        return [c for c in configs if c not in self.refused]

    def known(self) -> Tuned | None:
        """The configuration that needs no timing: tuned before in this object, the interpreter's,
        the lookup table's, the cached winner's. None: ``tune`` would time."""
        if self.tuned is not None:
            return self.tuned
        if self.loaded.interpreted:
            return Tuned(self.loaded.configs[0], (), source="interpreter")
        if self.fresh:
            return None
        if self.table is not None and (config := self.table.get(self.loaded)) is not None:
            return Tuned(config, (), source="lookup table")
        if self.winners is None:
            return None
        search = self.settings.search.name if self.settings.search.name != "none" else ""
        return self.winners.get(self.loaded, search, self.settings.deterministic)

    def tune(
        self, args: Sequence[Any], timer: Timer | Sampler, prepare: Prepare | None = None
    ) -> Tuned:
        """The configuration for ``args``: a known one if it still compiles to the binary that
        was timed, else the result of ``autotune.tune`` (whose errors are raised), which is
        kept. ``prepare`` compiles for the device (default: for the current one)."""
        with self._lock:
            parallel = 1 if self.pool is None else self.pool.workers
            compiles = prepare or Compiler(
                self.loaded, self.target, self.cache, self._ahead(), parallel
            )
            found = self.known()
            if found is not None and self._holds(found, compiles):
                self.tuned = found
                return found
            found = tune(self.loaded, args, timer, compiles, settings=self.settings)
            self.tuned = found
            if self.winners is not None:
                name, exact = self.settings.search.name, self.settings.deterministic
                self.winners.put(self.loaded, found, name, exact)
            return found

    def _holds(self, found: Tuned, prepare: Prepare) -> bool:
        """Whether a cached winner still is what was timed."""
        if found.source != "cache":
            return True
        assert self.winners is not None
        try:
            now = prepare(found.config).resources.artifact
        except CompileFailed as error:
            self.winners.reject(self.loaded, f"it does not compile any more: {error.got}")
            return False
        if found.artifact and now and now != found.artifact:
            self.winners.reject(self.loaded, "it compiles to another binary now")
            return False
        return True

    def _ahead(self) -> Ahead | None:
        pool = self.pool
        if pool is None:
            return None

        def ahead(configs: Sequence[Config]) -> None:
            pool.warm([CompileJob(self.module_text, self.target, c) for c in configs])

        return ahead

    def _compiled(self, configs: Sequence[Config]) -> list[HarnessError | None]:
        if self.pool is not None:
            jobs = [CompileJob(self.module_text, self.target, c) for c in configs]
            return self.pool.warm(jobs)
        return [self._error(c) for c in configs]

    def _error(self, config: Config) -> HarnessError | None:
        try:
            compile_for(self.loaded, self.target, config, (), self.cache)
        except CompileFailed as error:
            return error
        return None
