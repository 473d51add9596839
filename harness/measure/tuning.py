"""Tunings as data: what a record answers about the heuristics, and about last run's choice.

*Regret* is the time of the heuristics' first choice over the time of the best trial: 1.07
means that without tuning the kernel would take 7 % longer. *Pinned against retuned*: the time
of an earlier run's configuration on today's code over the best of today's trials.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.heuristics.facts import Config
from harness.records.run import KernelRecord, Run
from harness.records.trials import Origin, Trial
from harness.runtime.module import config_dict, config_from_dict

_CLOSE = 1.02
"""Two configurations within this ratio are called equally fast: what two timings of one small
kernel differ by."""


@dataclass(frozen=True, slots=True)
class KernelTuning:
    """A kernel's tuning, as a record holds it. ``chosen`` is the configuration it runs in,
    ``earlier`` the one it ran in in an earlier run (None: no such run). ``seconds`` is what the
    tuning took, ``source`` how the choice was made; None and empty where a record does not say."""

    name: str
    trials: tuple[Trial, ...]
    chosen: Mapping[str, int] | None
    earlier: Mapping[str, int] | None = None
    seconds: float | None = None
    source: str = ""
    reason: str = ""

    @property
    def timed(self) -> tuple[Trial, ...]:
        """Trials with a time."""
        return tuple(t for t in self.trials if t.time is not None)

    @property
    def best(self) -> Trial | None:
        """The fastest trial."""
        return min(self.timed, key=lambda trial: trial.time or 0.0, default=None)

    @property
    def first(self) -> Trial | None:
        """The heuristics' first choice, with a time or without."""
        return next((t for t in self.trials if t.origin is Origin.HEURISTICS), None)

    @property
    def regret(self) -> float | None:
        """Time of the heuristics' first choice over the best; None if one has no time."""
        return _ratio(self.first, self.best)

    @property
    def pinned(self) -> float | None:
        """Time of the earlier run's configuration on today's code over the best of today's;
        None if it was not timed."""
        if self.earlier is None:
            return None
        wanted = dict(self.earlier)
        return _ratio(next((t for t in self.timed if t.config == wanted), None), self.best)

    @property
    def verdict(self) -> str:
        """What the earlier configuration is worth today: ``same configuration``, ``as fast``,
        ``slower``, ``not timed``, or empty without an earlier run."""
        if self.earlier is None:
            return ""
        if self.best is not None and dict(self.earlier) == self.best.config:
            return "same configuration"
        if self.pinned is None:
            return "not timed"
        return "as fast" if self.pinned <= _CLOSE else "slower"


def tunings_of(kernels: Iterable[KernelRecord], earlier: Run | None = None) -> list[KernelTuning]:
    """The tunings that records hold; with ``earlier``, what that run had chosen beside."""
    before = chosen_before(earlier)
    return [
        KernelTuning(k.name, k.trials, k.config, before.get(k.name), reason=k.reason)
        for k in kernels
    ]


def chosen_before(run: Run | None) -> dict[str, dict[str, int]]:
    """The configuration of every kernel of a run that was timed, by the kernel's name."""
    if run is None:
        return {}
    return {k.name: dict(k.config) for k in run.kernels if k.config and k.ms is not None}


def fitting(config: Mapping[str, int] | None, candidates: Sequence[Config]) -> tuple[Config, ...]:
    """``config`` as something to try beside ``candidates``: nothing if today's kernel has other
    fields."""
    if config is None or not candidates or set(config) != set(config_dict(candidates[0])):
        return ()
    return (config_from_dict(config),)


def totals(tunings: Sequence[KernelTuning]) -> dict[str, Any]:
    """What tunings say together: sums, and geometric means over the kernels that have the figure
    (None of none); ``worst`` is the name and the regret of one kernel."""
    regrets = {t.name: t.regret for t in tunings if t.regret is not None}
    pinned = [t.pinned for t in tunings if t.pinned is not None]
    seconds = [t.seconds for t in tunings if t.seconds is not None]
    return {
        "kernels": len(tunings),
        "trials": sum(len(t.trials) for t in tunings),
        "seconds": sum(seconds) if seconds else None,
        "regret": _mean([*regrets.values()]),
        "pinned": _mean(pinned),
        "pinned_kernels": len(pinned),
        "worst": max(regrets.items(), key=lambda item: item[1], default=None),
    }


def _mean(values: Sequence[float]) -> float | None:
    return statistics.geometric_mean(values) if values else None


def _ratio(over: Trial | None, best: Trial | None) -> float | None:
    if over is None or best is None or not over.time or not best.time:
        return None
    return over.time / best.time
