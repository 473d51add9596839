"""Comparing two sides: rows of matched kernels with verdicts, roll-ups, and what has no partner."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from harness.errors import UsageError
from harness.measure.noise.judge import (
    Effect,
    Estimate,
    Noise,
    Pair,
    Rules,
    Source,
    Times,
    Verdict,
    combine,
    estimate,
    judge,
)
from harness.measure.noise.variance import median_error
from harness.records.run import Check, KernelRecord, Run
from harness.records.timing import Samples
from harness.verdicts.causes import causes, clock, is_identical
from harness.verdicts.pairing import Match, Pairing, pair, region_of


@dataclass(frozen=True, slots=True)
class Pool:
    """Which runs a side is made of, newest first, and the number of each one's first process.
    ``left_out``: runs of the commit that are not in it, and why.

    Processes of one run share its temperature and clocks, so they are not as good as processes of
    different ones: the verdicts count what moves between runs once for each run.
    """

    runs: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()

    def run_of(self, process: int) -> int:
        """The position in ``runs`` of the run that ``process`` belongs to."""
        return max(0, bisect_right(self.starts, process) - 1)


_ONE_RUN = Pool()


@dataclass(frozen=True, slots=True)
class Side:
    """A or B: what the user called it, and its kernels as a run. ``origin`` says what it is (a run
    file's path, a folder of modules); ``compiler`` is set where its kernels are regions as a
    compiler made them; ``pool`` says which runs it is made of, if of several."""

    label: str
    run: Run
    origin: str = ""
    compiler: str = ""
    pool: Pool = field(default_factory=Pool)


Measured: TypeAlias = Pair | str
"""The times of a match on both sides, or the reason why there are none."""


@dataclass(frozen=True, slots=True)
class Row:
    """A match and what can be said of it. ``a_ms`` and ``b_ms`` are the geometric means of the
    processes' medians: of one launch, or of all launches of a group of kernels."""

    match: Match
    verdict: Verdict
    causes: tuple[str, ...]
    identical: bool
    reason: str = ""
    a_ms: float | None = None
    b_ms: float | None = None
    processes: tuple[int, int] = (0, 0)
    effect: Effect | None = None

    @property
    def cycles_ratio(self) -> float | None:
        """B ÷ A in SM cycles, which a change of the clock leaves as it is where the kernel waits
        for the multiprocessors; None where a clock was not read."""
        before, after = clock(self.match.a), clock(self.match.b)
        if self.effect is None or not before or not after:
            return None
        return self.effect.ratio * after / before


@dataclass(frozen=True, slots=True)
class Rollup:
    """A region, graph or model (a graph's forward and backward): the sum over its ``kernels``
    matched and timed kernels, launches counted. ``covered`` is the share of each side's timed work
    that this is: what vanished or appeared is not in the sums."""

    level: str
    name: str
    kernels: int
    a_ms: float
    b_ms: float
    covered: tuple[float, float]
    effect: Effect


@dataclass(frozen=True, slots=True)
class Comparison:
    """B next to A. ``notes`` are what a reader has to know before the rows; ``noise`` is None where
    nothing could be timed; ``paired`` says that both sides were timed interleaved."""

    a: Side
    b: Side
    rules: Rules
    rows: tuple[Row, ...]
    rollups: tuple[Rollup, ...]
    vanished: tuple[tuple[str, KernelRecord], ...]
    appeared: tuple[tuple[str, KernelRecord], ...]
    noise: Noise | None
    notes: tuple[str, ...] = ()
    paired: bool = False

    @property
    def slower(self) -> bool:
        """Whether any kernel or roll-up is SLOWER."""
        return any(row.verdict is Verdict.SLOWER for row in self.rows) or any(
            rollup.effect.verdict is Verdict.SLOWER for rollup in self.rollups
        )

    @property
    def regressed(self) -> bool:
        """Whether something of ours became slower: which of two compilers is the slower one is no
        regression of either."""
        return self.slower and not (self.a.compiler and self.b.compiler)


def compare(a: Side, b: Side, rules: Rules) -> Comparison:
    """Compare by the times that both sides recorded. Two compilers of one run were interleaved
    in each of its processes. Raises ``UsageError`` for a sample that is no number."""
    for side in (a, b):
        _require_finite(side)
    pairing = pair(a.run.graphs, b.run.graphs)
    unlike = unlike_reason(a.run, b.run)
    together = bool(a.compiler and b.compiler) and a.run.id == b.run.id
    measured = [
        unlike or recorded_times(match, together=together, pools=(a.pool, b.pool))
        for match in pairing.matches
    ]
    return assemble(a, b, pairing, measured, rules, paired=together)


def _require_finite(side: Side) -> None:
    for graph in side.run.graphs:
        for kernel in graph.kernels:
            odd = next((ms for s in kernel.sets for ms in s.ms if not math.isfinite(ms)), None)
            if odd is not None:
                raise UsageError(
                    "a sample is not a finite number",
                    where=f"{side.origin or side.label}: kernel {kernel.name} of {graph.name}",
                    got=str(odd),
                    expected="milliseconds",
                    remedy="the file is damaged or was made by something else: measure again",
                )


def unlike_reason(a: Run, b: Run) -> str:
    """Why no times of the two runs can be compared; empty if they can."""
    one, other = a.machine, b.machine
    if one.gpu != other.gpu:
        return f"different machines: {one.gpu or one.key} and {other.gpu or other.key}"
    if one.driver != other.driver:
        return f"different drivers: {one.driver or 'unknown'} and {other.driver or 'unknown'}"
    if one.key != other.key:
        return f"different machines: {one.key} and {other.key}"
    if a.method != b.method:
        return f"different methods of measuring: {a.method or 'none'} and {b.method or 'none'}"
    return ""


def recorded_times(
    match: Match, *, together: bool = False, pools: tuple[Pool, Pool] = (_ONE_RUN, _ONE_RUN)
) -> Measured:
    """The times in the records of a match; ``together``: only of processes that timed both sides,
    in the same order. ``pools``: whose runs the processes are.
    """
    for name, kernels in (("A", match.a), ("B", match.b)):
        why = _untimed(kernels)
        if why:
            return f"{why} in {name}"
    ours, theirs = _processes(match.a), _processes(match.b)
    if together:
        ours = theirs = ours & theirs
    if not ours or not theirs:
        which = "on both sides" if together else f"in {'B' if ours else 'A'}"
        return f"no process timed all of its kernels {which}"
    return Pair(_times(match.a, ours, pools[0]), _times(match.b, theirs, pools[1]))


def _untimed(kernels: Sequence[KernelRecord]) -> str:
    """Why the times of ``kernels`` cannot be used; empty if they can."""
    for kernel in kernels:
        if kernel.check is Check.FAILED:
            return "computes something else (check failed)"
        if kernel.reason:
            return f"did not run ({kernel.reason})"
        if not any(s.ms for s in kernel.sets):
            return "throttled throughout" if any(s.excluded for s in kernel.sets) else "not timed"
        if all(s.disturbed for s in kernel.sets):
            return "throttled, or at another launch interval, most of the time"
    return ""


def _processes(kernels: Sequence[KernelRecord]) -> set[int]:
    """The processes that timed all of ``kernels``, throttled ones left out."""
    return set.intersection(*({s.process for s in _usable(kernel)} for kernel in kernels))


def _usable(kernel: KernelRecord) -> list[Samples]:
    return [s for s in kernel.sets if s.ms and s.median > 0 and not s.disturbed]


def _times(kernels: Sequence[KernelRecord], processes: set[int], pool: Pool) -> Times:
    """One kernel's launch, or all launches of several, in each of ``processes``."""
    single = len(kernels) == 1
    by_process = [{s.process: s for s in _usable(kernel)} for kernel in kernels]
    medians, errors = [], []
    for process in sorted(processes):
        total, squares = 0.0, 0.0
        for kernel, found in zip(kernels, by_process, strict=True):
            weight = 1 if single else kernel.launches
            median = float(np.median(found[process].ms))
            total += weight * median
            squares += (weight * median * median_error(found[process].ms)) ** 2
        medians.append(total)
        errors.append(squares**0.5 / total)
    runs = tuple(pool.run_of(process) for process in sorted(processes))
    return Times(tuple(medians), tuple(errors), runs)


def assemble(
    a: Side,
    b: Side,
    pairing: Pairing,
    measured: Sequence[Measured],
    rules: Rules,
    *,
    paired: bool,
    notes: Sequence[str] = (),
) -> Comparison:
    """Judge the times of ``pairing``'s matches, all rows and roll-ups as one family."""
    same = [is_identical(match, a.run, b.run) for match in pairing.matches]
    timed = {
        n: replace(found, identical=same[n])
        for n, found in enumerate(measured)
        if isinstance(found, Pair)
    }
    pairs = list(timed.values())
    estimates, noise = estimate(pairs, paired=paired, method=a.run.method)
    found = dict(zip(timed, estimates, strict=True))
    sums = _sums(pairing.matches, timed, found)
    effects = judge([*estimates, *(total.estimate for total in sums.values())], rules)
    by_row = dict(zip(timed, effects, strict=False))
    by_sum = dict(zip(sums, effects[len(timed) :], strict=True))
    rows = tuple(
        _row(match, measured[n], same[n], by_row.get(n), a.run, b.run)
        for n, match in enumerate(pairing.matches)
    )
    rollups = _rollups(a.run, b.run, pairing.matches, list(found), sums, by_row | by_sum)
    remarks = (
        *notes,
        *_pooled(a, b),
        *_notes(a.run, b.run, pairs, noise if pairs else None),
    )
    return Comparison(
        a,
        b,
        rules,
        rows,
        rollups,
        pairing.vanished,
        pairing.appeared,
        noise if pairs else None,
        remarks,
        paired,
    )


def _row(match: Match, found: Measured, same: bool, effect: Effect | None, a: Run, b: Run) -> Row:
    why = tuple(causes(match, a, b))
    if effect is None or isinstance(found, str):
        return Row(match, Verdict.INCOMPARABLE, why, same, str(found))
    return Row(
        match,
        effect.verdict,
        why,
        same,
        "",
        _mean(found.a),
        _mean(found.b),
        (len(found.a.ms), len(found.b.ms)),
        effect,
    )


def _mean(times: Times) -> float:
    return float(np.exp(np.mean(np.log(times.ms))))


@dataclass(frozen=True, slots=True)
class _Sum:
    estimate: Estimate
    a_ms: float
    b_ms: float


def scopes(match: Match) -> tuple[tuple[str, str], ...]:
    """The roll-ups a match belongs to: its region, its graph, its model."""
    return _scopes(match.graph, match.region)


def _scopes(graph: str, region: str) -> tuple[tuple[str, str], ...]:
    model = graph.removesuffix("_forward").removesuffix("_backward")
    found = (("region", region), ("graph", graph), ("model", model))
    return tuple((level, name) for level, name in found if name)


Members = tuple[int, ...]


def _members(matches: Sequence[Match], timed: Sequence[int]) -> dict[tuple[str, str], Members]:
    """The timed matches of every roll-up."""
    found: dict[tuple[str, str], list[int]] = {}
    for n in timed:
        for scope in scopes(matches[n]):
            found.setdefault(scope, []).append(n)
    return {scope: tuple(members) for scope, members in found.items()}


def _weighted(match: Match, found: Pair) -> tuple[float, float]:
    """A match's time on both sides, launches counted. One kernel against one counts A's launches
    on both sides, so that a ratio is about kernels and not about how equal ones are shared."""
    weight = match.a[0].launches if len(match.a) == len(match.b) == 1 else 1
    return weight * _mean(found.a), weight * _mean(found.b)


def _sums(
    matches: Sequence[Match], timed: Mapping[int, Pair], found: Mapping[int, Estimate]
) -> dict[Members, _Sum]:
    """Each distinct sum of two matches or more; a roll-up of one match is that match."""
    sums: dict[Members, _Sum] = {}
    for members in _members(matches, list(found)).values():
        if len(members) > 1 and members not in sums:
            parts = [(found[n], *_weighted(matches[n], timed[n])) for n in members]
            sums[members] = _Sum(
                combine(parts), sum(part[1] for part in parts), sum(part[2] for part in parts)
            )
    return sums


def _rollups(
    a: Run,
    b: Run,
    matches: Sequence[Match],
    timed: Sequence[int],
    sums: dict[Members, _Sum],
    effects: dict[int | Members, Effect],
) -> tuple[Rollup, ...]:
    """Graphs; their regions and their models where those are other sums than the graph's."""
    members = _members(matches, timed)
    graphs = {found for (level, _), found in members.items() if level == "graph"}
    rollups = []
    for (level, name), found in members.items():
        if found not in sums or (level != "graph" and found in graphs):
            continue
        total = sums[found]
        ours = [kernel for n in found for kernel in matches[n].a]
        theirs = [kernel for n in found for kernel in matches[n].b]
        covered = (_covered(a, ours, level, name), _covered(b, theirs, level, name))
        rollups.append(
            Rollup(level, name, len(found), total.a_ms, total.b_ms, covered, effects[found])
        )
    return tuple(rollups)


def _covered(run: Run, matched: Sequence[KernelRecord], level: str, name: str) -> float:
    """The share of a scope's recorded time that ``matched`` kernels have; 1 if none is known."""
    chosen = {_identity(kernel) for kernel in matched}
    regions = {region_of(kernel) for kernel in matched}
    total = part = 0.0
    for graph in run.graphs:
        for kernel in graph.kernels:
            mine = _identity(kernel) in chosen
            inside = mine or (
                region_of(kernel) in regions
                if level == "region"
                else (level, name) in _scopes(graph.name, "")
            )
            if inside and kernel.ms:
                total += kernel.ms * kernel.launches
                part += kernel.ms * kernel.launches if mine else 0.0
    return part / total if total else 1.0


def _identity(kernel: KernelRecord) -> tuple[str, str, str]:
    """What tells a kernel from the others of its run."""
    return kernel.name, region_of(kernel), kernel.module


def _pooled(a: Side, b: Side) -> list[str]:
    """Which runs a side was made of, and which were left out."""
    notes = []
    for label, side in (("A", a), ("B", b)):
        if len(side.pool.runs) > 1:
            names = ", ".join(side.pool.runs)
            notes.append(f"{label} is {len(side.pool.runs)} runs of the commit pooled: {names}")
        notes += [f"{label} leaves out run {other}" for other in side.pool.left_out]
    return notes


def _notes(a: Run, b: Run, pairs: Sequence[Pair], noise: Noise | None) -> list[str]:
    """What limits the comparison as a whole."""
    notes: list[str] = []
    untimed: list[str] = []
    for label, run in (("A", a), ("B", b)):
        if not run.complete:
            notes.append(f"{label} was interrupted: what it had measured is compared")
        if not any(kernel.sets for graph in run.graphs for kernel in graph.kernels):
            untimed.append(label)
        if run.dirty:
            notes.append(f"{label} was made from a tree that differs from its commit")
    if a.machine.gpu_uuid and b.machine.gpu_uuid and a.machine.gpu_uuid != b.machine.gpu_uuid:
        notes.append(
            "another GPU of the same kind: compare with harness confirm before blaming code"
        )
    if noise is None:
        if untimed:
            notes.append(
                f"{' and '.join(untimed)} without times: compare binaries with --static, or time "
                "both now with --remeasure"
            )
        return notes
    if noise.bimodal:
        notes.append(
            f"{noise.bimodal} kernels are bimodal between processes: where their "
            "number of processes cannot rule it out, a difference of that size is UNSURE"
        )
    few = min((min(len(p.a.ms), len(p.b.ms)) for p in pairs), default=0)
    if few == 1:
        notes.append(_one_process(noise))
    return notes


def _one_process(noise: Noise) -> str:
    """What stands in for the variance between processes where a side has one."""
    match noise.source:
        case Source.PROCESSES:
            return (
                "some kernels were timed in one process on a side: the others' variance stands in"
            )
        case Source.IDENTICAL:
            return (
                "one process a side: the variance between processes is taken from "
                f"{noise.prior.kernels} kernels whose code is the same on both sides"
            )
        case Source.DEFAULT:
            return (
                "one process a side and few kernels whose code is the same: the variance between "
                "processes is a stated default (docs/comparing.md), so most verdicts are UNSURE"
            )
