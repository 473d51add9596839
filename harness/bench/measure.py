"""Measure one emitted module on the GPU: tune, time, compare with the copy bandwidth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from harness.errors import CompileFailed, HarnessError
from harness.heuristics.facts import Config
from harness.runtime import module as modules
from harness.runtime.autotune import Prepare, Settings, Trial, Tuned, compiler
from harness.runtime.caching import CachingAutotuner
from harness.runtime.compiling import CompilePool
from harness.runtime.lookup_table import LookupTable
from harness.runtime.saved import free_room
from harness.runtime.static import reason
from harness.runtime.timing import Samples, Timer
from harness.runtime.winners import Winners
from harness.target import Target

Preparer = Callable[[modules.LoadedModule], Prepare]
"""Gives what compiles the candidates of a module; the device's compiler by default."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A kernel on this device. Without ``samples`` the ``reason`` says why.

    ``gbps`` counts the modelled bytes; ``fraction`` is ``gbps`` over the copy bandwidth
    measured in the same process.
    """

    name: str
    nbytes: int
    config: Config | None = None
    samples: Samples | None = None
    trials: tuple[Trial, ...] = ()
    copy_gbps: float | None = None
    reason: str = ""
    tuned: Tuned | None = None

    @property
    def ms(self) -> float | None:
        """Median in milliseconds."""
        return None if self.samples is None else self.samples.median

    @property
    def gbps(self) -> float | None:
        """Bytes moved per second, in 10^9."""
        return None if self.ms is None or self.ms == 0 else self.nbytes / self.ms / 1e6

    @property
    def fraction(self) -> float | None:
        """Share of the copy bandwidth."""
        if self.gbps is None or not self.copy_gbps:
            return None
        return self.gbps / self.copy_gbps


@dataclass(frozen=True, eq=False, slots=True)
class Measurer:
    """Measures modules on one device. ``device`` is where arguments are made;
    ``tune_ms`` and ``time_ms`` are wall clock for a candidate and for the winner. ``winners``
    keeps what was tuned, ``table`` says what is not to be; ``pool`` compiles in parallel."""

    target: Target
    timer: Timer
    copy_gbps: float | None = None
    cache: Path | None = None
    device: str = "cuda"
    tune_ms: float = 20.0
    time_ms: float = 100.0
    preparer: Preparer | None = None
    winners: Winners | None = None
    table: LookupTable | None = None
    pool: CompilePool | None = None

    def measure(self, module_text: str, seed: int = 0) -> Measurement:
        """Tune and time one module. A kernel that cannot be measured is a row with its
        reason; the memory it used is given back either way."""
        name, nbytes = "", 0
        try:
            loaded = modules.load(module_text, self.folder)
            name, nbytes = loaded.name, loaded.bytes_moved
            return self._measured(loaded, seed)
        except HarnessError as error:
            return Measurement(name, nbytes, reason=one_line(error))
        except (RuntimeError, ValueError, TypeError) as error:
            # torch and the driver report what they cannot run (out of memory, a bad
            # launch) as RuntimeError; an emitted module's own mistake is one of these.
            return Measurement(name, nbytes, reason=reason(error))
        finally:
            release(self.device)

    @property
    def folder(self) -> Path | None:
        """Where module files are written."""
        return None if self.cache is None else self.cache / "modules"

    def _measured(self, loaded: modules.LoadedModule, seed: int) -> Measurement:
        args = loaded.get_args(device=self.device, seed=seed)
        prepare = self._prepare(loaded)
        tuned = self.tuner(loaded.text).tune(args, self.timer, prepare)
        launch, _ = prepare(tuned.config)
        samples = self.timer.measure(lambda: launch(args), self.time_ms)
        return Measurement(
            loaded.name,
            loaded.bytes_moved,
            tuned.config,
            samples,
            tuned.trials,
            self.copy_gbps,
            tuned=tuned,
        )

    def tuner(
        self, module_text: str, settings: Settings | None = None, fresh: bool = False
    ) -> CachingAutotuner:
        """What chooses the configuration of a module; ``settings`` ask for a search, ``fresh`` for
        a tuning whatever is known."""
        chosen = settings or Settings(budget_ms=self.tune_ms, room=free_room)
        places = (self.winners, self.table, self.pool)
        return CachingAutotuner(module_text, self.target, self.cache, chosen, *places, fresh)

    def tune(
        self, module_text: str, settings: Settings, fresh: bool = False, seed: int = 0
    ) -> Tuned:
        """Only tune; raises what tuning fails with. Memory is given back either way."""
        tuner = self.tuner(module_text, settings, fresh)
        try:
            args = tuner.loaded.get_args(device=self.device, seed=seed)
            make = self.preparer
            return tuner.tune(args, self.timer, None if make is None else make(tuner.loaded))
        finally:
            args = []
            release(self.device)

    def _prepare(self, loaded: modules.LoadedModule) -> Prepare:
        make = self.preparer
        return compiler(loaded, self.target, self.cache) if make is None else make(loaded)


def one_line(error: HarnessError) -> str:
    """An error for a table's cell: its condition and what was got."""
    kind = "" if isinstance(error, CompileFailed) else f"{type(error).__name__}: "
    got = f": {error.got.splitlines()[0]}" if error.got else ""
    return f"{kind}{error.what}{got}"[:300]


def release(device: str) -> None:
    """Give memory that torch keeps back to the device."""
    if device.startswith("cuda") and torch.cuda.is_available():
        torch.cuda.empty_cache()
