"""Times configurations against the best one known, as many rounds as it takes and no more.

A batch is run in rounds; after each stage the configurations that are behind beyond doubt leave it.
The best one known runs in every batch, which takes slow drift out of comparisons across batches;
and it runs there twice, under two names: the difference between two timings of one binary (an A/A
control) is the noise, and nothing counts as faster unless it is by more than that.

In some thousand trials on an H100 a handful of medians were 7 to 42 times off, mostly the
first launch of a kernel's; a configuration that is far behind is therefore timed again,
later, before it is believed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from harness.errors import CompileFailed, HarnessError, reason
from harness.heuristics.facts import Config
from harness.records.run import fields
from harness.records.timing import Work
from harness.records.trials import Origin, Trial, standard_error
from harness.runtime.module import LoadedModule, config_dict
from harness.runtime.tune.saved import Saved, WriteGuard, reset_zeros

if TYPE_CHECKING:
    from harness.runtime.tune.autotune import Compiler, Ready


class Sampler(Protocol):
    """Times launches of one kernel in milliseconds, with a cold L2 cache. Launches are interleaved,
    so that a change of clocks or a busy moment of the host meets all of them alike."""

    def settle(self) -> None:
        """Wait for everything enqueued; raises what a launch failed with."""

    def warm_up(self) -> None:
        """Bring the device to the state that samples are taken in."""

    def rounds(self, works: Mapping[str, Work], count: int) -> dict[str, list[float]]:
        """``count`` samples of every launch: those of one call can be compared."""


_STAGES = (5, 5, 10, 20)
"""Rounds of a batch, stage by stage: 40 samples for what stays to the end."""
_FINAL_STAGES = (20, 20)
_SURE = 3.0
"""Standard errors that a difference must exceed to count."""
_FINE = 0.002
"""A median's standard error, relative, below which more samples are not worth their time."""
_SUSPECT = 2.5
"""Times the best from which on a trial is taken a second time before it is believed."""
_CONTENDERS = 4
_CLOSE = 0.03
"""How far behind the best a configuration may be to be in the final."""
_BASELINE = "baseline"
_CONTROL = "control"


@dataclass(eq=False, slots=True)
class Race:
    """Trials of one kernel on one set of arguments. ``spill_limit`` is the number of registers
    a configuration may spill (None: any). ``saved`` restores what the kernel writes."""

    loaded: LoadedModule
    args: Sequence[Any]
    prepare: Compiler
    sampler: Sampler
    saved: Saved
    spill_limit: int | None
    guard: WriteGuard | None = None
    trials: dict[Config, Trial] = field(default_factory=dict)
    best: Config | None = None
    nulls: list[float] = field(default_factory=list)
    _compiled: dict[Config, Ready] = field(default_factory=dict)
    _works: dict[Config, Work] = field(default_factory=dict)
    _binaries: dict[tuple[str, tuple[int, int, int]], Config] = field(default_factory=dict)

    @property
    def noise(self) -> float:
        """The relative difference that two timings of one binary may show: 2.5 deviations, the
        deviation from the median of those seen, which one stray timing does not move."""
        return max(_FINE, 2.5 * statistics.median(self.nulls) / 0.6745) if self.nulls else 0.0

    @property
    def times(self) -> dict[Config, float]:
        """The time of everything that was timed, in milliseconds, drift taken out."""
        return {c: t.time for c, t in self.trials.items() if t.time is not None}

    def artifact(self, config: Config) -> str:
        """The name of the binary of ``config``, which has compiled."""
        return self._compiled[config].resources.artifact

    def tried(self, config: Config) -> bool:
        """Whether there is a trial of ``config``, timed or refused."""
        return config in self.trials

    def improves(self, config: Config, over: Config) -> bool:
        """Whether ``config`` is faster than ``over`` by more than the measured noise."""
        new, old = self.trials.get(config), self.trials.get(over)
        if new is None or old is None or new.time is None or old.time is None:
            return False
        doubt = _SURE * math.hypot(new.error or 0.0, old.error or 0.0)
        return old.time - new.time > max(doubt, self.noise * old.time)

    def compile(self, configs: Iterable[Config], origin: Origin) -> None:
        """Compile those of ``configs`` that have no trial yet; nothing is launched."""
        for config in dict.fromkeys(configs):
            if config not in self.trials:
                self._prepared(config, origin)

    @property
    def compiled(self) -> list[Config]:
        """What compiled and does not spill too much, in the order it was compiled."""
        return [config for config in self._compiled if not self.trials[config].reason]

    def measure(self, configs: Iterable[Config], origin: Origin) -> None:
        """Compile those of ``configs`` that have no trial yet, and time what is not timed yet."""
        wanted = list(dict.fromkeys(configs))
        self.compile(wanted, origin)
        group = []
        for config in wanted:
            trial = self.trials[config]
            fresh = not (trial.samples_ms or trial.reason)
            if fresh and not self._is_twin(config) and self._launched(config):
                group.append(config)
        if group:
            self._run(group, _STAGES)

    def admit_spilling(self) -> list[Config]:
        """Let in the configurations that were passed over because they spill; which ones."""
        admitted = [config for config in self._compiled if self.trials[config].reason]
        self.trials.update({c: replace(self.trials[c], reason="") for c in admitted})
        return admitted

    def final(self) -> None:
        """Race those close to the best once more, so that the choice rests on more samples."""
        close = self._close()[:_CONTENDERS]
        if len(close) > 1:
            self._run(close, _FINAL_STAGES)

    def choice(self, given: Sequence[Config], earlier: Sequence[Config] = ()) -> Config | None:
        """The fastest; what is not in ``earlier`` (the previous best) has to be faster than that by
        more than the noise, and what is not in ``given`` (the candidates) than those. None if
        nothing was timed."""
        close = self._close()
        equal = [c for c in close if c == close[0] or not self.improves(close[0], c)]
        ranks = {c: (c not in earlier, c not in given, self.trials[c].time, _key(c)) for c in equal}
        return min(equal, key=ranks.__getitem__, default=None)

    def _close(self) -> list[Config]:
        """Configurations that may be the fastest, fastest first."""
        times = self.times
        limit = min(times.values(), default=0.0) * (1 + max(_CLOSE, self.noise))
        return sorted((c for c in times if times[c] <= limit), key=lambda c: (times[c], _key(c)))

    def _prepared(self, config: Config, origin: Origin) -> None:
        """Compile ``config`` and enter it, or the reason why it is not to be timed."""
        try:
            launch = self.prepare(config)
        except CompileFailed as error:
            self.trials[config] = Trial(config_dict(config), origin, reason=error.got or error.what)
            return
        needs, text = fields(launch.resources, "registers spills shared"), ""
        spills = needs["spills"] or 0
        if self.spill_limit is not None and spills > self.spill_limit:
            text = f"spills {spills} registers, more than {self.spill_limit}"
        self._compiled[config] = launch
        self.trials[config] = Trial(config_dict(config), origin, reason=text, **needs)

    def _is_twin(self, config: Config) -> bool:
        """Whether the same binary on the same grid was timed; its times are taken over then."""
        trial = self.trials[config]
        if not (artifact := self.artifact(config)):
            return False
        key = (artifact, self.loaded.grid(config, self.args))
        twin = self._binaries.setdefault(key, config)
        known = self.trials[twin]
        if not known.samples_ms:
            return False
        self._compiled[config] = self._compiled[twin]
        self.trials[config] = replace(known, config=trial.config, origin=trial.origin)
        return True

    def _launched(self, config: Config) -> bool:
        """Launch once, so that what fails, fails alone, and nothing is loaded while timing."""
        try:
            reset_zeros(self.args, self.loaded.zeroed)
            self._compiled[config](self.args)
            self.sampler.settle()
            if self.guard is not None:
                self.guard.verify(f"{self.loaded.name} {config_dict(config)}")
        except CompileFailed as error:
            self.trials[config] = replace(self.trials[config], reason=error.got or error.what)
            return False
        finally:
            self.saved.restore()
        return True

    def _run(self, group: Sequence[Config], stages: Sequence[int]) -> None:
        """Time ``group`` together with the best one known and its control."""
        # Before anything was timed the first of them, the default, stands in for the best.
        batch = _Batch(self, group, self.best or group[0], list(group))
        try:
            self.sampler.warm_up()
            for count in stages:
                batch.stage(count)
                if batch.settled():
                    break
            batch.second_look()
        finally:
            # What was timed counts even where the device was lost in the middle.
            batch.close()
            self.saved.restore()

    def bound(self, config: Config) -> Work:
        """The launch of ``config`` on the arguments, always the same one."""
        launch, zeroed = self._compiled[config], self.loaded.zeroed

        def with_zeros(args: Sequence[Any]) -> None:
            reset_zeros(args, zeroed)
            launch(args)

        return self._works.setdefault(config, Work(with_zeros if zeroed else launch, self.args))


@dataclass(eq=False, slots=True)
class _Batch:
    """Configurations in one batch, each compared, round by round, with the ``baseline``: the best
    one known. ``shares`` are times over the baseline's in the same round. ``alive`` are still in
    the race."""

    race: Race
    group: Sequence[Config]
    baseline: Config
    alive: list[Config]
    samples: dict[Config, list[float]] = field(default_factory=dict)
    shares: dict[Config, list[float]] = field(default_factory=dict)
    control: list[float] = field(default_factory=list)

    def stage(self, count: int) -> None:
        """``count`` rounds for everything still in the race, then drop what is behind."""
        self._take(self.alive, count)
        best = min(_low_high(s)[1] for s in self.shares.values())
        if len(self.alive) > 1:
            self.alive = [c for c in self.alive if _low_high(self.shares[c])[0] <= best]

    def settled(self) -> bool:
        """Whether more rounds would change nothing: the baseline is left alone in front, or all
        that are left are known finely."""
        left = (self.shares[c] for c in self.alive)
        return all(standard_error(tuple(s)) <= _FINE * statistics.median(s) for s in left)

    def second_look(self) -> None:
        """Time again what is far behind; the lower of two medians that disagree is believed."""
        front = min(statistics.median(s) for s in self.shares.values())
        far = [c for c in self.group if statistics.median(self.shares[c]) > _SUSPECT * front]
        if not far:
            return
        before = {c: (self.samples.pop(c), self.shares.pop(c)) for c in far}
        self._take(far, _STAGES[0])
        for config, (samples, shares) in before.items():
            if statistics.median(self.shares[config]) > 0.8 * statistics.median(shares):
                self.samples[config] = samples + self.samples[config]
                self.shares[config] = shares + self.shares[config]
        if again := [c for c in far if statistics.median(self.shares[c]) <= _SUSPECT * front]:
            self._take(again, sum(_STAGES[1:3]))

    def close(self) -> None:
        """Enter what was found into the race."""
        race, baseline = self.race, self.baseline
        if not self.shares:
            return
        # What a share is a share of: the baseline's time when it was first timed, whatever the
        # clocks have done since.
        level = race.trials[baseline].level
        unit = statistics.median(self.samples[baseline]) if level is None else level
        if self.control:
            race.nulls.append(abs(statistics.median(self.control) - 1))
        for config, taken in self.samples.items():
            trial = race.trials[config]
            shares = tuple(self.shares.get(config, ()))
            race.trials[config] = replace(
                trial,
                samples_ms=(*trial.samples_ms, *taken),
                level=statistics.median(shares) * unit if shares else unit,
                error=_finite(standard_error(shares)) * unit,
            )
        front = min((*self.group, baseline), key=lambda c: race.trials[c].time or math.inf)
        if race.trials[baseline].time is None or race.improves(front, baseline):
            race.best = front
        elif race.best is None:
            race.best = baseline

    def _take(self, configs: Sequence[Config], count: int) -> None:
        race = self.race
        rivals = [c for c in configs if c != self.baseline]
        launches = {str(n): race.bound(c) for n, c in enumerate(rivals)}
        launches[_BASELINE] = race.bound(self.baseline)
        launches[_CONTROL] = race.bound(self.baseline)
        found = race.sampler.rounds(launches, count)
        race.saved.restore()
        baseline = found[_BASELINE]
        for number, config in enumerate(rivals):
            self.samples.setdefault(config, []).extend(found[str(number)])
            self.shares.setdefault(config, []).extend(_shares(found[str(number)], baseline))
        self.samples.setdefault(self.baseline, []).extend(baseline)
        self.shares.setdefault(self.baseline, []).extend(1.0 for _ in baseline)
        self.control.extend(_shares(found[_CONTROL], baseline))


def _shares(taken: Sequence[float], baseline: Sequence[float]) -> list[float]:
    return [t / b if b else 1.0 for t, b in zip(taken, baseline, strict=True)]


def _low_high(samples: Sequence[float]) -> tuple[float, float]:
    """The median less and plus three standard errors."""
    middle = statistics.median(samples)
    doubt = max(_SURE * _finite(standard_error(tuple(samples))), _FINE * middle)
    return middle - doubt, middle + doubt


def _finite(error: float) -> float:
    return error if math.isfinite(error) else 0.0


def _key(config: Config) -> tuple[object, ...]:
    return (config.num_warps, config.blocks)


def failure(error: BaseException) -> str:
    """Why a device or a kernel failed, in one line."""
    return (error.got or error.what) if isinstance(error, HarnessError) else reason(error)
