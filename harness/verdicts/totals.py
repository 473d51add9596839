"""Sums over regions, graphs and models: all that each side launches, with a partner or without."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.ir.reach import gathered, grouped
from harness.measure.noise.estimate import Noise
from harness.measure.noise.judge import Effect, Estimate, Part, Verdict, combine
from harness.records.names import MOST_NAMED, short, some
from harness.records.run import KernelRecord, Run, region_of
from harness.verdicts.causes import launch_change
from harness.verdicts.pairing import Match, Pairing

Scope = tuple[str, str]
"""``region``, ``graph``, ``model`` or ``suite``, and its name."""
SUITE = "suite"
_SAME_AS = {"region": ("graph",), "model": ("graph",), SUITE: ("graph", "model")}
"""Sums that are not told where another one is of the same kernels."""
Key = tuple[tuple[int, ...], ...]
"""What a sum is over: positions of matches, and of kernels that one side alone has."""
TUNING, TUNED = "tuning", "of unchanged code"
"""The level and name of the sum over kernels of the same code in other configurations."""
TUNING_KEY: Key = ((), (), ())
_FEWEST_TUNED, _LEAST_EVEN = 5, 3.0
"""Kernels from which something is said of their tuning; of so many equal ones it has to be worth
(by the squares of their times), or one kernel's choice is all there is."""
UNCHANGED = Estimate(0.0, 0.0, float("inf"))
"""The effect of code that did not change, whatever the machine made of it: none."""


@dataclass(frozen=True, slots=True)
class Rollup:
    """A region, graph or model (a graph's forward and backward): the sum over its ``kernels``
    matched kernels and the ``lone`` ones without a partner, launches counted. The ratio is of B's
    own launches, without what moved all kernels between the runs; ``a_ms`` and ``b_ms`` are as
    measured. ``covered`` is the share of each side's timed work that this is. ``work`` says what
    one side launches and the other does not. ``reason``: why it could not be judged."""

    level: str
    name: str
    kernels: int
    a_ms: float
    b_ms: float
    covered: tuple[float, float]
    effect: Effect
    lone: int = 0
    work: tuple[str, ...] = ()
    reason: str = ""

    @property
    def verdict(self) -> Verdict:
        """What is said of the sum."""
        return Verdict.INCOMPARABLE if self.reason else self.effect.verdict


@dataclass(frozen=True, slots=True)
class Timed:
    """A match with its times in milliseconds, of a launch or of a group's launches, and what is
    known of its effect; ``ms`` is as measured in A, and as measured in B."""

    match: Match
    ms: tuple[float, float]
    estimate: Estimate


@dataclass(slots=True)
class Total:
    """What a scope holds: positions of timed matches, and of kernels that A, or B, alone has."""

    timed: list[int] = field(default_factory=list)
    lone: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))

    @property
    def key(self) -> Key:
        """Equal for scopes that hold the same."""
        return tuple(self.timed), *map(tuple, self.lone)

    def alone(self, pairing: Pairing) -> list[list[KernelRecord]]:
        """The kernels that A alone has, and B."""
        both = zip(pairing.lone, self.lone, strict=True)
        return [[kernels[n][1] for n in places] for kernels, places in both]


def model_of(graph: str) -> str:
    """The model that ``graph`` belongs to."""
    return graph.removesuffix("_forward").removesuffix("_backward")


def scopes(graph: str, region: str) -> tuple[Scope, ...]:
    """The roll-ups that a kernel of ``region`` in ``graph`` belongs to."""
    found = (("region", region), ("graph", graph), ("model", model_of(graph)), (SUITE, SUITE))
    return tuple((level, name) for level, name in found if name)


def totals(a: Run, b: Run, pairing: Pairing, timed: Mapping[int, Timed]) -> dict[Scope, Total]:
    """What each scope holds that has a timed match. Kernels without a partner count where both runs
    are whole and both have the graph: else they may only not have been measured."""
    every = ((s, n) for n, one in timed.items() for s in scopes(one.match.graph, one.match.region))
    found = {scope: Total(own) for scope, own in gathered(every).items()}
    if a.complete and b.complete:
        both = {graph.name for graph in a.graphs} & {graph.name for graph in b.graphs}
        for side, lone in enumerate(pairing.lone):
            for n, (graph, kernel) in enumerate(lone):
                held = set(scopes(graph, region_of(kernel))) if graph in both else set[Scope]()
                for scope in held & found.keys():
                    found[scope].lone[side].append(n)
    return found


def estimates(
    found: Mapping[Scope, Total], pairing: Pairing, timed: Mapping[int, Timed], noise: Noise
) -> dict[Key, Estimate]:
    """The effect on each distinct sum that is more than one matched kernel launched as before."""
    sums: dict[Key, Estimate] = {}
    for total in found.values():
        several = len(total.timed) > 1 or any(total.lone)
        several = several or len(set(timed[total.timed[0]].match.launches)) > 1
        if total.key in sums or not several:
            continue
        parts = [_part(timed[n]) for n in total.timed]
        gone, new = ([_alone(k, noise) for k in side if k.ms] for side in total.alone(pairing))
        parts += [Part(known, ms, 0.0) for known, ms in gone]
        parts += [Part(known, 0.0, ms) for known, ms in new]
        sums[total.key] = combine(parts)
    return sums


def tuning(retuned: Sequence[Timed], noise: Noise) -> Estimate | None:
    """What tuning did to all kernels of the same code whose configurations differ; None if they are
    too few. A tuner's luck is a kernel's own, so it is the kernels' scatter that says how far their
    sum may be off; what none may lose is in no slack here: all of them together lose nothing."""
    weights = np.array([one.match.launches[0] * one.ms[0] for one in retuned])
    if len(weights) < _FEWEST_TUNED:
        return None
    even = float(weights.sum() ** 2 / (weights**2).sum())
    if even < _LEAST_EVEN:
        return None
    share = weights / weights.sum()
    logs = np.array([one.estimate.log_ratio for one in retuned])
    middle = float(share @ logs)
    variance = float(share**2 @ (logs - middle) ** 2) * even / (even - 1)
    if noise.offset is not None:
        variance += float(share @ noise.offset.variance(np.array([o.ms[0] for o in retuned])))
    why = next((one.estimate.unknown for one in retuned if one.estimate.unknown), "")
    return Estimate(middle, variance**0.5, even - 1, unknown=why)


def all_launches(several: Sequence[Timed]) -> list[float]:
    """The milliseconds of all launches of A, and of B."""
    return [sum(one.match.launches[n] * one.ms[n] for one in several) for n in (0, 1)]


def _part(one: Timed) -> Part:
    before, after = one.match.launches
    ratio = math.exp(one.estimate.log_ratio)
    return Part(one.estimate, before * one.ms[0], after * one.ms[0] * ratio)


def _alone(kernel: KernelRecord, noise: Noise) -> tuple[Estimate, float]:
    """A timed kernel that one side has, and its launches' time: known as well as a process's median
    is."""
    here = np.array([kernel.ms], float)
    variance = float(noise.prior.variance(here)[0] + noise.session.at(here)[0])
    return Estimate(0.0, variance**0.5, noise.prior.df), _time([kernel])


def rollups(
    a: Run,
    b: Run,
    pairing: Pairing,
    timed: Mapping[int, Timed],
    found: Mapping[Scope, Total],
    effects: Mapping[int | Key, Effect],
) -> tuple[Rollup, ...]:
    """Graphs; regions, models and the suite where those are other sums than the graph's."""
    narrower = {
        level: {t.key for (other, _), t in found.items() if other in inner}
        for level, inner in _SAME_AS.items()
    }
    rows, recorded = [], (_Recorded(a), _Recorded(b))
    # Library calls are in no run's times.
    left = [{("graph", graph.name): graph.calls for graph in run.graphs} for run in (a, b)]
    for (level, name), total in found.items():
        if total.key not in effects or total.key in narrower.get(level, ()):
            continue
        ours, lone = [timed[n] for n in total.timed], total.alone(pairing)
        ms = [all_ + _time(rest) for all_, rest in zip(all_launches(ours), lone, strict=True)]
        counted = ([*(k for one in ours for k in one.match.sides[n]), *lone[n]] for n in (0, 1))
        shares = [r.covered(its, (level, name)) for r, its in zip(recorded, counted, strict=True)]
        before, after = (each.get((level, name), Counter[str]()) for each in left)
        both = ((one, before[one], after[one]) for one in {**before, **after})
        calls = [(one, old, new) for one, old, new in both if old != new]
        effect, alone = effects[total.key], [*lone[0], *lone[1]]
        said = (f"library calls of {n} {old} → {new}, which are not timed" for n, old, new in calls)
        work, why = (*_work(ours, *lone), *said), _unknown(effect.verdict, alone, calls)
        figures = (ms[0], ms[1], (shares[0], shares[1]), effect)
        rows.append(Rollup(level, name, len(ours), *figures, len(alone), work, why))
    return tuple(rows)


def _time(kernels: Iterable[KernelRecord]) -> float:
    return sum((kernel.ms or 0.0) * kernel.launches for kernel in kernels)


def _work(
    ours: Sequence[Timed], gone: Sequence[KernelRecord], new: Sequence[KernelRecord]
) -> Iterator[str]:
    """What one side launches more than the other."""
    for one in ours:
        yield from (f"{text} ({short(one.match.a[0].name)})" for text in launch_change(one.match))
    for kernels, side in ((gone, "A"), (new, "B")):
        if kernels:
            names = some([short(kernel.name) for kernel in kernels])
            yield f"only in {side}: {1000 * _time(kernels):.4g} µs, {names}"


def _unknown(
    verdict: Verdict, lone: Sequence[KernelRecord], calls: Iterable[tuple[str, int, int]]
) -> str:
    """Why the sum of the kernels does not say it: work that nobody timed can only add to the side
    that has it."""
    if untimed := [short(kernel.name) for kernel in lone if not kernel.ms]:
        return f"not timed: {', '.join(untimed[:MOST_NAMED])}"
    hidden = (Verdict.SLOWER if old < new else Verdict.FASTER for _, old, new in calls)
    if any(verdict is not one for one in hidden):
        return "work went to or came from library calls, which are not timed"
    return ""


class _Recorded:
    """The kernels of a run, to be found by what they are and by the scopes that hold them."""

    def __init__(self, run: Run) -> None:
        every = [(graph.name, kernel) for graph in run.graphs for kernel in graph.kernels]
        self._ms = [_time([kernel]) for _, kernel in every]
        self._alike = grouped(range(len(every)), lambda n: _identity(every[n][1]))
        held = ((*scopes(graph, ""), ("region", region_of(kernel))) for graph, kernel in every)
        self._inside = gathered((scope, n) for n, of in enumerate(held) for scope in of)

    def covered(self, counted: Sequence[KernelRecord], scope: Scope) -> float:
        """The share of a scope's recorded time that ``counted`` kernels have; 1 if none is known.
        A region is that of the kernels, whichever side named it."""
        names = {_identity(kernel) for kernel in counted}
        mine = {place for name in names for place in self._alike.get(name, ())}
        held = {scope}
        if scope[0] == "region":
            held = {("region", region_of(kernel)) for kernel in counted}
        inside = mine.union(*(self._inside.get(one, ()) for one in held))
        total = sum(self._ms[place] for place in sorted(inside))
        return sum(self._ms[place] for place in sorted(mine)) / total if total else 1.0


def _identity(kernel: KernelRecord) -> tuple[str, str, str]:
    """What tells a kernel from the others of its run."""
    return kernel.name, region_of(kernel), kernel.module
