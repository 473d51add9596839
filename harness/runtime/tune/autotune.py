"""Choose a launch configuration by timing configurations on real arguments. What the kernel writes
is put back after every batch, so that all configurations see the same inputs and the caller's
tensors end up bit for bit what they were."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.errors import CompileFailed, NoDevice, NoTritonConfigsError, unknown
from harness.heuristics.facts import Config
from harness.heuristics.limits import spill_limit
from harness.records.trials import Origin, Resources, Tuned
from harness.runtime import module as modules
from harness.runtime.compile.disassembly import code_hash
from harness.runtime.compile.static import CompileJob, CompilePool
from harness.runtime.launch.launcher import Launcher
from harness.runtime.tune.race import Race, Sampler, failure
from harness.runtime.tune.saved import Room, Saved, WriteGuard, cuda_room
from harness.runtime.tune.search import SEARCHES, Search
from harness.runtime.tune.space import Space, is_given, scaled
from harness.runtime.tune.tuning_cache import LookupTable, TuningCache
from harness.target import Target

_TUNING = ("tune", "deterministic", "tuning_table")
_MANY = 4
"""Processes from which on compiling what may not be needed costs no time."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to tune. ``deterministic``: results must not depend on what was tuned, so no search for
    reductions, whose block shape decides the order of a sum. ``debug``: catch writes that
    the module does not list. ``earlier`` are configurations to try beside the candidates, and to
    keep where none is faster."""

    search: Search = field(default_factory=Search)
    deterministic: bool = False
    debug: bool = False
    earlier: tuple[Config, ...] = ()
    room: Room = cuda_room


Tuning = tuple[bool, Settings, Path | None]
"""How kernels on CUDA get their configurations: whether they are timed, how to tune, a table."""


def parsed(given: Mapping[str, Any], switches: Sequence[str]) -> tuple[dict[str, Any], Tuning]:
    """What ``torch.compile(…, backend="harness", options={…})`` may say: the ``switches`` that are
    ``given`` (``templates`` may be "timed"), and how to tune. Raises ``UsageError``."""
    where = 'torch.compile(…, backend="harness", options={…})'
    wrong = functools.partial(unknown, where=where, most=None)
    known = (*switches, *_TUNING)
    for name, value in given.items():
        if name not in known:
            what = "the backend does not know this option"
            remedy = "name one of these; a harness.backend.Compiler as the backend takes more"
            raise wrong(what, str(name), known, remedy=remedy)
        words = ("timed",) if name == "templates" else ()
        fits = value in (True, False, *words)
        if name not in ("tune", "tuning_table") and not fits:
            what = f"the option {name} is a switch"
            raise wrong(what, repr(value), ("True", "False", *words))
    tune, table = given.get("tune", False), given.get("tuning_table")
    if tune is not True and tune is not False and tune not in [*SEARCHES]:
        what = "the option tune is no way to tune"
        raise wrong(what, str(tune), ("True", "False", *SEARCHES))
    search = SEARCHES["none" if isinstance(tune, bool) else tune]()
    settings = Settings(search, bool(given.get("deterministic", False)))
    if table is not None and not (isinstance(table, str | Path) and Path(table).is_file()):
        remedy = "write it with `harness tune GRAPH --save-table FILE`"
        raise wrong("the option tuning_table is a file", str(table), ("a file",), remedy=remedy)
    chosen = {name: given[name] for name in switches if name in given}
    return chosen, (tune is not False, settings, Path(table).absolute() if table else None)


@dataclass(frozen=True, eq=False, slots=True)
class Ready:
    """A compiled configuration, and what it needs."""

    launcher: Launcher
    resources: Resources

    def __call__(self, args: Sequence[Any]) -> None:
        """Enqueue the kernel on the current stream."""
        self.launcher(args)


@dataclass(frozen=True, eq=False, slots=True)
class Compiler:
    """Compiles configurations of one module for the current device; with a ``pool`` several of
    them ahead, so that compiling them again finds a cache full."""

    loaded: modules.LoadedModule
    target: Target
    cache: Path | None = None
    pool: CompilePool | None = None

    @property
    def parallel(self) -> int:
        """How many configurations compile at a time."""
        return 1 if self.pool is None else self.pool.workers

    def ahead(self, configs: Sequence[Config]) -> None:
        """Compile ``configs`` in parallel; nothing without a pool."""
        if self.pool is not None and len(configs) > 1:
            self.pool.all([CompileJob(self.loaded.text, self.target, c) for c in configs])

    def __call__(self, config: Config) -> Ready:
        """Compile and load one configuration. Raises ``CompileFailed``."""
        launcher = Launcher(self.loaded, config, self.target, self.cache)
        needs = launcher.resources()
        binary = launcher.binary()
        name = f"{code_hash(binary.cubin)}-{binary.num_warps}"
        return Ready(launcher, Resources(needs.registers, needs.spills, binary.shared, name))


def tune(
    loaded: modules.LoadedModule,
    args: Sequence[Any],
    timer: Any,
    prepare: Compiler,
    settings: Settings | None = None,
) -> Tuned:
    """The fastest configuration of the module on ``args``: of its candidates, and of what the
    settings' search visits from the best of those. ``timer`` has a ``sampler``.

    A candidate that does not compile, does not fit the device or spills heavily is dropped with its
    reason; a single candidate is taken without timing unless there is a search. Where the device
    fails in the middle, what was timed until then decides and ``Tuned.partial`` says why. Raises
    ``NoTritonConfigsError`` with each candidate's reason when none is left, ``CheckFailed`` for a
    stray write in debug mode.
    """
    settings = settings or Settings()
    return _Tuning(loaded, args, timer.sampler(settings.room), prepare, settings).run()


@dataclass(eq=False, slots=True)
class _Tuning:
    """One tuning of one kernel."""

    loaded: modules.LoadedModule
    args: Sequence[Any]
    sampler: Sampler
    prepare: Compiler
    settings: Settings

    def run(self) -> Tuned:
        """Compile, time, search, decide."""
        began = time.perf_counter()
        race = self._race()
        target = self.prepare.target
        space = Space.of(self.loaded, target)
        search = self._search(space)
        self._compile(race, space, target)
        if search.name == "none" and len(race.compiled) == 1:
            only = race.compiled[0]
            race.trials[only] = replace(race.trials[only], reason="only one")
            return self._answer(race, only, began, "only candidate")
        partial = ""
        try:
            race.measure(race.compiled, Origin.HEURISTICS)
            for batch in search.batches(space, race):
                self.prepare.ahead(batch)
                race.measure(batch, Origin.SEARCH)
            race.final()
        except (RuntimeError, NoDevice) as error:  # what torch raises when the device fails, and we
            if race.best is None:
                raise
            partial = failure(error)
        if (chosen := race.choice(self.loaded.configs, self.settings.earlier)) is None:
            raise self._none_left(race, " when launched", "run the emitted module with --check")
        return replace(self._answer(race, chosen, began, "timed"), partial=partial)

    def _race(self) -> Race:
        loaded, args = self.loaded, self.args
        saved = Saved.of([args[i] for i in loaded.outputs], self.settings.room)
        guard = None
        if self.settings.debug:
            before = Saved.of(args, self.settings.room)
            guard = WriteGuard(args, list(loaded.signature), loaded.outputs, before)
        # A user's own list is tried as it is, spilling or not.
        limit = None if loaded.category == modules.USER else spill_limit(self.prepare.target)
        return Race(loaded, args, self.prepare, self.sampler, saved, limit, guard)

    def _search(self, space: Space) -> Search:
        reduces = self.loaded.category in ("red", "per", "spl", "mix")
        if is_given(self.loaded) or (self.settings.deterministic and reduces) or not space.free:
            return Search()
        return self.settings.search

    def _compile(self, race: Race, space: Space, target: Target) -> None:
        """Compile the candidates, the previous best, and what follows from their registers."""
        configs = self.loaded.configs
        earlier = [c for c in self.settings.earlier if space.allows(c)]
        self.prepare.ahead([*configs, *earlier, *self._likely(space)])
        race.compile(configs, Origin.HEURISTICS)
        race.compile(earlier, Origin.PREVIOUS)
        known = [(c, race.trials[c]) for c in race.compiled]
        more = scaled(self.loaded, self.args, known, target, space)
        if not self.settings.deterministic:
            self.prepare.ahead([c for c in more if not race.tried(c)])
            race.compile(more, Origin.SCALED)
        if not race.compiled and not race.admit_spilling():
            raise self._none_left(race)

    def _likely(self, space: Space) -> list[Config]:
        """What a search will ask for first, as many as idle processes compile meanwhile."""
        parallel = self.prepare.parallel
        if parallel < _MANY or self._search(space).name == "none":
            return []
        return space.around(self.loaded.configs[0])[:parallel]

    def _answer(self, race: Race, chosen: Config, began: float, source: str) -> Tuned:
        return Tuned(
            chosen,
            tuple(race.trials.values()),
            time.perf_counter() - began,
            race.noise,
            source,
            race.artifact(chosen),
        )

    def _none_left(self, race: Race, *how: str) -> NoTritonConfigsError:
        every = ((modules.config_from_dict(t.config), t.reason) for t in race.trials.values())
        return none_left(self.loaded.name, {c: why or "no time" for c, why in every}, *how)


def none_left(
    kernel: str,
    reasons: Mapping[Config, str],
    when: str = "",
    remedy: str = "see the kernel's text; the default configuration may need smaller blocks",
) -> NoTritonConfigsError:
    """One error that names every candidate with its reason."""
    lines = [f"{modules.config_text(config)}: {why}" for config, why in reasons.items()]
    what, got = f"every candidate configuration of a kernel failed{when}", "; ".join(lines)[:4000]
    expected = "one that compiles, fits the device and runs"
    return NoTritonConfigsError(what, kernel, got, expected, remedy)


@dataclass(eq=False)
class CachingAutotuner:
    """One kernel, from its text to the configuration to launch, which comes from the first that
    knows one: Triton's interpreter (the first candidate), the lookup table, the tuning cache, a
    tuning. Tunes the kernel of ``loaded`` for ``target``; binaries go below ``cache``.

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

    def known(self) -> Tuned | None:
        """The configuration that needs no timing: the interpreter's, the lookup table's, the tuning
        cache's. None: ``tune`` would time."""
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
        if (found := self.known()) is not None and self._holds(found, compiles):
            return found
        found = tune(self.loaded, args, timer, compiles, settings=self.settings)
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
