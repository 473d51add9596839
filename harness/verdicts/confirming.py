"""Timing two sides against each other, today, on this machine: emitted modules of two runs,
interleaved in fresh processes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.devices.job import Device
from harness.errors import HarnessError, UsageError
from harness.measure.jobs import Effort, PairSamples, TimedKernel
from harness.measure.noise.estimate import Pair, Times
from harness.measure.noise.judge import Rules
from harness.measure.pairs import Kept, KernelPair, time_pairs
from harness.records import modules
from harness.records.run import GraphRecord, KernelRecord, fields
from harness.records.timing import METHOD
from harness.runtime.compile import binary
from harness.runtime.module import config_from_dict
from harness.table import plural
from harness.target import H100, Target
from harness.verdicts.bisecting import Made, PairTimes, TimePairs
from harness.verdicts.causes import is_identical
from harness.verdicts.comparing import Comparison, Measured, Side, aligned, assemble
from harness.verdicts.pairing import Match, Pairing, named, pair

CONTROLS = 40
"""Kernels that are the same on both sides which are timed although nothing can have changed:
they say how far to trust the verdicts on the others."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where and how to measure: the cache folder, processes that compile, how much, by which rules
    it is judged, and who hears of progress. ``triton`` is the version that compiled A's binaries,
    if it is another one; ``devices`` are the GPUs to spread pairs over (none: the current
    one); what is ``kept`` is not measured again."""

    cache: Path
    jobs: int
    rules: Rules = field(default_factory=Rules)
    effort: Effort = field(default_factory=Effort)
    follow: Callable[[int, int], None] = lambda _done, _total: None
    triton: str = ""
    target: Target = H100
    devices: Sequence[Device] = ()
    kept: Kept | None = None

    def keeps(self, kernel: KernelRecord) -> bool:
        """Whether the cache has the binary of ``kernel`` that ``triton`` compiled for ``target``:
        that one is timed then."""
        if not self.triton or kernel.config is None:
            return False
        config = config_from_dict(kernel.config)
        name = binary.artifact(kernel.module, config, self.target, (), self.triton)
        return binary.path(self.cache, name).is_file()


def confirm(
    a: Side, b: Side, kernels: Sequence[str], place: Workplace, *, everything: bool = False
) -> Comparison:
    """Time the matched kernels of two sides interleaved, each with its recorded configuration.

    ``kernels`` are names, patterns (``*mean*``) or graphs; none means every kernel whose code or
    configuration differs, and some that do not as controls; ``everything`` all of them. Raises
    ``UnknownName`` for a kernel that neither side has, ``UsageError`` if nothing is left to time,
    ``NoDevice`` without a GPU."""
    a, notes = aligned(a, b)
    whole = pair(a.run.graphs, b.run.graphs)
    today = (a.run, replace(b.run, machine=a.run.machine, target=a.run.target))
    same = [is_identical(match, *today) for match in whole.matches]
    matches, left_out = _chosen(whole, same, kernels, place.effort.seed, everything=everything)
    if not matches:
        raise UsageError(
            "there is nothing to time",
            where=f"{a.label}, {b.label}",
            got=f"{len(whole.matches)} matched kernels",
            expected="at least one kernel of the two with its module recorded",
            remedy="look at what there is: harness compare A B --all",
        )
    if left_out:
        same_code = "more kernels have the same code and configuration"
        notes.append(f"{left_out} {same_code}: not timed (--all)")
    lone = () if kernels else whole.vanished, () if kernels else whole.appeared
    return time_matches((a, b), Pairing(tuple(matches), *lone), place, notes)


def in_configs_of(
    source: Sequence[GraphRecord], graphs: Sequence[GraphRecord]
) -> tuple[tuple[GraphRecord, ...], int]:
    """``graphs``, each kernel in the configuration that ``source`` recorded of the one it matches,
    if its module has the same block sizes; how many stay as they are."""
    matches = pair(source, graphs).matches
    recorded = {id(m.b[0]): m.a[0].config for m in matches if len(m.a) == len(m.b) == 1}
    left = 0

    def pinned(kernel: KernelRecord) -> KernelRecord:
        nonlocal left
        config, best = recorded.get(id(kernel)), modules.facts(kernel.module).best
        if config and best and config.keys() == best.keys():
            return replace(kernel, config=dict(config))
        left += 1
        return kernel

    return tuple(replace(g, kernels=tuple(map(pinned, g.kernels))) for g in graphs), left


def sides_in_configs_of(source: Side, sides: Sequence[Side]) -> tuple[list[Side], list[str]]:
    """``sides`` in the configurations of ``source``, and notes of that."""
    found, others = [], 0
    for side in sides:
        graphs, left = in_configs_of(source.run.graphs, side.run.graphs)
        found.append(replace(side, run=replace(side.run, graphs=graphs)))
        others += left
    notes = [f"both sides run in the configurations of {source.label}"]
    rest = (
        f"{plural(others, 'kernel')} with other block sizes, or without a match there: in its own"
    )
    return found, notes + [rest] * bool(others)


NOT_REACHED = "not timed before the end"
LOST = "the GPU was lost"


def time_matches(
    both: tuple[Side, Side], pairing: Pairing, place: Workplace, notes: Sequence[str] = ()
) -> Comparison:
    """Time every match of ``pairing`` interleaved. A GPU that gives out on the way is said in a
    note, and what had been measured is compared. Raises ``NoDevice`` where nothing could be."""
    matches, effort = list(pairing.matches), place.effort
    ready = [n for n, match in enumerate(matches) if all(k.module for k in match.kernels)]
    pairs = []
    for a, b in (matches[n].sides for n in ready):
        triton = place.triton if all(map(place.keeps, a)) else ""
        ours = _timed_kernels(a, triton, alone=len(a) == 1)
        pairs.append(KernelPair(ours, _timed_kernels(b, alone=len(b) == 1)))
    where = (place.cache, place.jobs, place.follow)
    found = time_pairs(pairs, effort, *where, devices=place.devices, kept=place.kept)
    measured: list[Measured] = ["a module is not recorded"] * len(matches)
    # What was recorded of times and clocks is no cause of what is measured now.
    bare = ([tuple(replace(k, sets=()) for k in side) for side in one.sides] for one in matches)
    matches = [replace(one, a=a, b=b) for one, (a, b) in zip(matches, bare, strict=True)]
    for n, outcomes, reason in zip(ready, found.outcomes, found.reasons, strict=True):
        why = reason or ("" if outcomes else NOT_REACHED)
        measured[n] = why or _measured(outcomes)
        matches[n] = _with_samples(matches[n], outcomes)
    # As they were measured now, whatever their records say.
    now = {**fields(found.device, "machine method"), "processes": effort.processes}
    now["target"] = f"sm_{found.device.target.capability}"
    sides = [replace(side, run=replace(side.run, **now)) for side in both]
    if place.triton:  # another binary, whatever its text
        was = replace(sides[0].run.machine, triton=place.triton)
        sides[0] = replace(sides[0], run=replace(sides[0].run, machine=was))
    notes = [
        *notes,
        f"timed interleaved on {found.device.machine.gpu or found.device.machine.key}, "
        f"{effort.processes} fresh processes, random order ({found.device.method})",
        *found.notes,
    ]
    ended = "interrupted" if found.interrupted else found.lost and f"{LOST}: {found.lost}"
    if ended:
        tried = zip(found.outcomes, found.reasons, strict=True)
        done = min((len(o) for o, why in tried if not why), default=0)
        notes.append(f"{ended}: what had been measured is compared (at least {done} processes)")
    if any(kernel.config is None for match in matches for kernel in match.kernels):
        notes.append("kernels without a recorded configuration run with their module's default")
    pairing = replace(pairing, matches=tuple(matches))
    return assemble(sides[0], sides[1], pairing, measured, place.rules, paired=True, notes=notes)


def _with_samples(match: Match, outcomes: Sequence[PairSamples]) -> Match:
    """A pair of single kernels with what was measured of them now."""
    if not match.single:
        return match
    ours = tuple(outcome.a.recorded(n, METHOD) for n, outcome in enumerate(outcomes))
    theirs = tuple(outcome.b.recorded(n, METHOD) for n, outcome in enumerate(outcomes))
    a, b = replace(match.a[0], sets=ours), replace(match.b[0], sets=theirs)
    return replace(match, a=(a,), b=(b,))


def _chosen(
    whole: Pairing, same: Sequence[bool], names: Sequence[str], seed: int, *, everything: bool
) -> tuple[list[Match], int]:
    """The matches to time, in order, and how many equal ones are left out."""
    if names:
        picked = [named(whole.matches, name) for name in names]
        wanted = {number for numbers in picked for number in numbers}
        return [match for n, match in enumerate(whole.matches) if n in wanted], 0
    equal = [n for n, alike in enumerate(same) if alike]
    if everything or len(equal) == len(same) or len(equal) <= CONTROLS:
        return list(whole.matches), 0
    controls = set(random.Random(seed).sample(equal, CONTROLS))
    kept = [m for n, m in enumerate(whole.matches) if not same[n] or n in controls]
    return kept, len(whole.matches) - len(kept)


def _timed_kernels(
    kernels: Sequence[KernelRecord], triton: str = "", *, alone: bool
) -> tuple[TimedKernel, ...]:
    return tuple(
        TimedKernel(k.module, k.config, 1 if alone else k.launches, triton) for k in kernels
    )


def pinned(time: TimePairs, recorded: GraphRecord) -> TimePairs:
    """``time``, of kernels in the configurations that a run ``recorded`` of them."""

    def fitted(made: Made) -> Made:
        (graph,), _ = in_configs_of([recorded], [replace(recorded, kernels=tuple(made.kernels))])
        return replace(made, kernels=graph.kernels)

    return lambda good, other, start, end: time(fitted(good), fitted(other), start, end)


def time_kernels(
    cache: Path, jobs: int, good: Made, other: Made, start: int, end: int
) -> PairTimes:
    """``TimePairs`` on this GPU: every pair interleaved in fresh processes, each in its
    configuration, else in its module's default."""
    launches = [[k.launches for k in side.kernels] for side in (good, other)]
    alone = launches[0] == launches[1] and len(launches[0]) == 1
    chosen = [_timed_kernels(side.kernels, alone=alone) for side in (good, other)]
    found = time_pairs([KernelPair(*chosen)], Effort(end - start, seed=start), cache, jobs)
    if found.interrupted:
        raise KeyboardInterrupt
    if found.reasons[0]:
        raise HarnessError("a kernel could not be timed", got=found.reasons[0])
    return [(o.a.median, o.b.median) for o in _undisturbed(found.outcomes[0])]


def _measured(outcomes: Sequence[PairSamples]) -> Measured:
    """The processes' medians; processes that were throttled, or launched at another interval, most
    of the time are left out."""
    if not (kept := _undisturbed(outcomes)):
        return "throttled, or at another launch interval, most of the time in every process"
    return Pair(Times.of([o.a.ms for o in kept]), Times.of([o.b.ms for o in kept]))


def _undisturbed(outcomes: Sequence[PairSamples]) -> list[PairSamples]:
    return [o for o in outcomes if not (o.a.disturbed or o.b.disturbed)]
