"""The caching autotuner: one kernel, from its text to the configuration to launch. A configuration
comes from the first that knows one: Triton's interpreter (the first candidate), the lookup table,
the tuning cache, a tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import CompileFailed
from harness.records.trials import Tuned
from harness.runtime import module as modules
from harness.runtime.compile.compiling import CompilePool
from harness.runtime.tune.autotune import Compiler, Settings, tune
from harness.runtime.tune.tuning_cache import LookupTable, TuningCache
from harness.target import Target


@dataclass(eq=False)
class CachingAutotuner:
    """Tunes the kernel of ``loaded`` for ``target``; binaries go below ``cache``.

    ``tuning_cache`` and ``table`` are asked before anything is timed (None: not asked; with neither
    and no ``cache`` nothing persists). ``pool`` compiles candidates in parallel. ``fresh``: tune
    even where the answer is known.
    """

    loaded: modules.LoadedModule
    target: Target
    cache: Path | None = None
    settings: Settings = field(default_factory=Settings)
    tuning_cache: TuningCache | None = None
    table: LookupTable | None = None
    pool: CompilePool | None = None
    fresh: bool = False
    tuned: Tuned | None = None

    def known(self) -> Tuned | None:
        """The configuration that needs no timing: tuned before in this object, the interpreter's,
        the lookup table's, the tuning cache's. None: ``tune`` would time."""
        if self.tuned is not None:
            return self.tuned
        if self.loaded.interpreted:
            return Tuned(self.loaded.configs[0], (), source="interpreter")
        if self.fresh:
            return None
        if self.table is not None and (config := self.table.get(self.loaded)) is not None:
            return Tuned(config, (), source="lookup table")
        if self.tuning_cache is None:
            return None
        search = self.settings.search.name if self.settings.search.name != "none" else ""
        return self.tuning_cache.get(self.loaded, search, self.settings.deterministic)

    def tune(self, args: Sequence[Any], timer: Any, prepare: Compiler | None = None) -> Tuned:
        """The configuration for ``args``: a known one if it still compiles to the binary that
        was timed, else the result of ``autotune.tune`` (whose errors are raised), which is
        kept. ``prepare`` compiles for the device (default: for the current one)."""
        compiles = prepare or Compiler(self.loaded, self.target, self.cache, self.pool)
        found = self.known()
        if found is not None and self._holds(found, compiles):
            self.tuned = found
            return found
        found = tune(self.loaded, args, timer, compiles, settings=self.settings)
        self.tuned = found
        if self.tuning_cache is not None:
            name, exact = self.settings.search.name, self.settings.deterministic
            self.tuning_cache.put(self.loaded, found, name, exact)
        return found

    def _holds(self, found: Tuned, prepare: Compiler) -> bool:
        """Whether a cached configuration still compiles to what was timed."""
        if found.source != "cache":
            return True
        assert self.tuning_cache is not None
        try:
            now = prepare(found.config).resources.artifact
        except CompileFailed as error:
            self.tuning_cache.reject(self.loaded, f"it does not compile any more: {error.got}")
            return False
        if found.artifact and now and now != found.artifact:
            self.tuning_cache.reject(self.loaded, "it compiles to another binary now")
            return False
        return True
