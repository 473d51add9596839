"""Timing two sides' modules against each other, today, on this machine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import UnknownName, UsageError, nearest
from harness.measure.jobs import DeviceFacts, Effort, Follow, PairSamples, TimedKernel
from harness.measure.noise.judge import Rules, Times
from harness.measure.noise.variance import median_error
from harness.measure.pairs import KernelPair, time_pairs
from harness.measure.timer.graph_timer import METHOD
from harness.records.names import is_named
from harness.records.run import KernelRecord
from harness.records.timing import Samples
from harness.verdicts.causes import is_identical
from harness.verdicts.comparing import Comparison, Measured, Side, assemble
from harness.verdicts.pairing import Match, Pairing, pair

CONTROLS = 40
"""Kernels that are the same on both sides which are timed although nothing can have changed:
they say how far to trust the verdicts on the others."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where to measure: the cache folder, processes that compile, and who hears of progress."""

    cache: Path
    jobs: int
    follow: Follow = lambda _done, _total: None


def confirm(
    a: Side,
    b: Side,
    kernels: Sequence[str],
    rules: Rules,
    effort: Effort,
    place: Workplace,
    *,
    everything: bool = False,
) -> Comparison:
    """Time the matched kernels of two sides in turns, each with its recorded configuration.

    ``kernels`` are names, patterns (``*softmax*``) or graphs; none means every kernel whose code or
    configuration differs, and some that do not as controls; ``everything`` all of them. Raises
    ``UnknownName`` for a kernel that neither side has, ``UsageError`` if nothing is left to time,
    ``NoDevice`` without a GPU.
    """
    whole = pair(a.run.graphs, b.run.graphs)
    today = (a.run, replace(b.run, machine=a.run.machine, target=a.run.target))
    same = [is_identical(match, *today) for match in whole.matches]
    matches, left_out = _chosen(whole, same, kernels, effort.seed, everything=everything)
    if not matches:
        raise UsageError(
            "there is nothing to time",
            where=f"{a.label}, {b.label}",
            got=f"{len(whole.matches)} matched kernels",
            expected="at least one kernel of the two with its module recorded",
            remedy="look at what there is: harness compare A B --all",
        )
    ready = [n for n, match in enumerate(matches) if all(k.module for k in _kernels(match))]
    pairs = [KernelPair(_timed_kernels(matches[n].a), _timed_kernels(matches[n].b)) for n in ready]
    found = time_pairs(pairs, effort, place.cache, place.jobs, place.follow)
    measured = [Measured(reason="a module is not recorded")] * len(matches)
    matches = [_without_samples(match) for match in matches]
    for n, outcomes, reason in zip(ready, found.outcomes, found.reasons, strict=True):
        why = reason or ("" if outcomes else "not timed before the interruption")
        measured[n] = Measured(reason=why) if why else _measured(outcomes)
        matches[n] = _with_samples(matches[n], outcomes)
    sides = [as_of_today(side, found.device, effort.processes) for side in (a, b)]
    notes = [
        f"timed in turns on {found.device.machine.gpu or found.device.machine.key}, "
        f"{effort.processes} fresh processes, random order ({found.device.method})"
    ]
    if found.interrupted:
        done = min(
            (len(o) for o, why in zip(found.outcomes, found.reasons, strict=True) if not why),
            default=0,
        )
        notes.append(f"interrupted: what had been measured is compared (at least {done} processes)")
    if left_out:
        notes.append(
            f"{left_out} more kernels have the same code and configuration: not timed (--all)"
        )
    if any(kernel.config is None for match in matches for kernel in _kernels(match)):
        notes.append("kernels without a recorded configuration run with their module's best guess")
    pairing = Pairing(
        tuple(matches), () if kernels else whole.vanished, () if kernels else whole.appeared
    )
    return assemble(sides[0], sides[1], pairing, measured, rules, paired=True, notes=notes)


def _without_samples(match: Match) -> Match:
    """What was recorded of times and clocks is no cause of what is measured now."""
    a, b = (tuple(replace(k, sets=()) for k in side) for side in (match.a, match.b))
    return replace(match, a=a, b=b)


def _with_samples(match: Match, outcomes: Sequence[PairSamples]) -> Match:
    """A pair of single kernels with what was measured of them now."""
    if len(match.a) != 1 or len(match.b) != 1:
        return match
    ours = tuple(outcome.a.recorded(n, METHOD) for n, outcome in enumerate(outcomes))
    theirs = tuple(outcome.b.recorded(n, METHOD) for n, outcome in enumerate(outcomes))
    a, b = replace(match.a[0], sets=ours), replace(match.b[0], sets=theirs)
    return replace(match, a=(a,), b=(b,))


def as_of_today(side: Side, device: DeviceFacts, processes: int) -> Side:
    """``side`` as it was measured now, whatever its record says."""
    run = replace(
        side.run,
        machine=device.machine,
        target=f"sm_{device.target.capability}",
        method=device.method,
        processes=processes,
    )
    return replace(side, run=run)


def _kernels(match: Match) -> tuple[KernelRecord, ...]:
    return (*match.a, *match.b)


def _chosen(
    whole: Pairing, same: Sequence[bool], names: Sequence[str], seed: int, *, everything: bool
) -> tuple[list[Match], int]:
    """The matches to time, in order, and how many equal ones are left out."""
    if names:
        picked = [_named(whole.matches, name) for name in names]
        wanted = {number for numbers in picked for number in numbers}
        return [match for n, match in enumerate(whole.matches) if n in wanted], 0
    equal = [n for n, alike in enumerate(same) if alike]
    if everything or len(equal) == len(same) or len(equal) <= CONTROLS:
        return list(whole.matches), 0
    controls = set(random.Random(seed).sample(equal, CONTROLS))
    kept = [m for n, m in enumerate(whole.matches) if not same[n] or n in controls]
    return kept, len(whole.matches) - len(kept)


def _named(matches: Sequence[Match], name: str) -> list[int]:
    """Positions of the matches that ``name`` means."""
    found = [
        n
        for n, match in enumerate(matches)
        if is_named(name, match.graph) or any(is_named(name, k.name) for k in _kernels(match))
    ]
    if found:
        return found
    known = {k.name for match in matches for k in _kernels(match)} | {m.graph for m in matches}
    raise UnknownName(
        "neither side has a matched kernel or graph of that name",
        got=name,
        expected=", ".join(nearest(name, known) or sorted(known)[:3]),
        remedy="names as harness compare A B --all shows them, or a pattern like '*softmax*'",
    )


def _timed_kernels(kernels: Sequence[KernelRecord]) -> tuple[TimedKernel, ...]:
    alone = len(kernels) == 1
    return tuple(
        TimedKernel(kernel.module, kernel.config, 1 if alone else kernel.launches)
        for kernel in kernels
    )


def _measured(outcomes: Sequence[PairSamples]) -> Measured:
    """The processes' medians; processes that were throttled, or launched at another pace, most of
    the time are left out."""
    kept = [o for o in outcomes if not (o.a.disturbed or o.b.disturbed)]
    if not kept:
        return Measured(
            reason="throttled, or at another launch pace, most of the time in every process"
        )
    return Measured(_times([o.a for o in kept]), _times([o.b for o in kept]))


def _times(found: Sequence[Samples]) -> Times:
    return Times(tuple(s.median for s in found), tuple(median_error(s.ms) for s in found))
