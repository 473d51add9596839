"""Comparing two sides: rows of matched kernels with verdicts, roll-ups, and what has no partner."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from harness.history import renaming
from harness.measure.noise import estimate as estimating
from harness.measure.noise.controls import Offset
from harness.measure.noise.estimate import Between, Noise, Pair, Times, estimate
from harness.measure.noise.judge import Effect, Estimate, Rules, Verdict, judge
from harness.measure.noise.variance import medians
from harness.records.run import KernelRecord, Run
from harness.verdicts import problems, totals
from harness.verdicts.causes import causes, clock, is_alike, is_identical, is_retuned
from harness.verdicts.pairing import Lone, Match, Pairing, pair
from harness.verdicts.totals import TUNING_KEY, UNCHANGED, Key, Rollup, Timed


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


CLOCKS = 0.02
"""Relative difference of SM clocks up to which milliseconds are compared: boards of one kind differ
by one or two steps of 15 MHz (0.8 and 1.5 % of 1,980), which unchanged kernels show."""

WAIVED = "waived"
"""The reason of a row that is SLOWER and waived."""

_ARITHMETIC = "compute"
"""What a kernel's record says of its limit where it is the SM's clock alone."""

ByProcess: TypeAlias = Mapping[int, tuple[float, float]]
"""A kernel's median in each process, in milliseconds, and its relative error."""
Measured: TypeAlias = Pair | str
"""The times of a match on both sides, or the reason why there are none."""


@dataclass(frozen=True, slots=True)
class Row:
    """A match and what can be said of it. ``a_ms`` and ``b_ms`` are the geometric means of the
    processes' medians: of one launch, or of all launches of a group of kernels. A kernel that is
    ``identical`` on both sides is SAME, whatever its times; what these say of the machine is
    in ``effect``. ``retuned``: the same code in another of its configurations."""

    match: Match
    verdict: Verdict
    causes: tuple[str, ...]
    identical: bool
    reason: str = ""
    a_ms: float | None = None
    b_ms: float | None = None
    processes: tuple[int, int] = (0, 0)
    effect: Effect | None = None
    retuned: bool = False

    @property
    def moved(self) -> bool:
        """Whether its time changed, whatever did that."""
        return self.effect is not None and self.effect.verdict in (Verdict.SLOWER, Verdict.FASTER)

    @property
    def change_us(self) -> float | None:
        """Microseconds that all launches of B take more than those of A, without what moved all
        kernels between the runs; None if it was not timed."""
        if self.effect is None or self.a_ms is None:
            return None
        before, after = self.match.launches
        return 1000 * self.a_ms * (after * self.effect.ratio - before)

    @property
    def cycles_ratio(self) -> float | None:
        """B ÷ A in SM cycles, which a change of the clock leaves as it is where the kernel waits
        for the multiprocessors; None where a clock was not read."""
        before, after = clock(self.match.a), clock(self.match.b)
        if self.effect is None or not before or not after:
            return None
        # Beyond the limit the ratio already is one of cycles.
        in_cycles = abs(after / before - 1) > CLOCKS
        return self.effect.ratio * (1.0 if in_cycles else after / before)


@dataclass(frozen=True, slots=True)
class Comparison:
    """B next to A. ``notes`` are what a reader has to know before the rows; ``noise`` is None where
    nothing could be timed; ``paired`` says that both sides were timed interleaved. ``problems`` are
    sentences about what the files should not hold; ``broken`` about what worked in A and does not
    in B."""

    a: Side
    b: Side
    rules: Rules
    rows: tuple[Row, ...]
    rollups: tuple[Rollup, ...]
    vanished: Lone
    appeared: Lone
    noise: Noise | None
    notes: tuple[str, ...] = ()
    paired: bool = False
    problems: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def slower(self) -> bool:
        """Whether any kernel or roll-up is SLOWER."""
        found = (*(row.verdict for row in self.rows), *(sum_.verdict for sum_ in self.rollups))
        return Verdict.SLOWER in found

    @property
    def regressed(self) -> bool:
        """Whether something of ours became slower: which of two compilers is the slower one is no
        regression of either."""
        return self.slower and not (self.a.compiler and self.b.compiler)

    @property
    def machine(self) -> tuple[Row, ...]:
        """Kernels whose code did not change and whose time did: the machine's doing, no verdict on
        the code."""
        return tuple(row for row in self.rows if row.identical and row.moved)

    @property
    def judged(self) -> bool:
        """Whether anything could be said of any kernel."""
        return any(row.effect and (row.identical or not row.effect.unknown) for row in self.rows)

    @property
    def resolution(self) -> float | None:
        """The relative slowdown that would have been told from nothing in half of the kernels; None
        where nothing could be. Of a retuned one that is a matter of its choices, not of noise."""
        effects = [row.effect for row in self.rows if row.effect and not row.retuned]
        known = [effect.mde for effect in effects if not effect.unknown]
        middle = statistics.median(known) if known else math.inf
        return middle if middle < math.inf else None


def aligned(a: Side, b: Side) -> tuple[Side, list[str]]:
    """A, its graphs under the names that B has for them, and what has to be said of it."""
    found = renaming.aligned(a.run, b.run)
    return replace(a, run=found.run), [*found.notes, *found.doubts]


def compare(a: Side, b: Side, rules: Rules, between: Between | None = None) -> Comparison:
    """Compare by the times that both sides recorded. Two compilers of one run were interleaved
    in each of its processes. ``between`` is what earlier runs say of this machine."""
    a, said = aligned(a, b)
    pairing = pair(*(problems.without_duplicates(side.run.graphs) for side in (a, b)))
    unlike = problems.unlike_reason(a.run, b.run)
    together = bool(a.compiler and b.compiler) and a.run.id == b.run.id
    measured: Sequence[Measured] = [unlike] * len(pairing.matches)
    if not unlike:
        measured = recorded_times(pairing.matches, together=together, pools=(a.pool, b.pool))
    notes = [*said, *pairing.alike]
    made = assemble(a, b, pairing, measured, rules, paired=together, between=between, notes=notes)
    return replace(made, problems=problems.problems_of(a, b))


def recorded_times(
    matches: Sequence[Match], *, together: bool, pools: tuple[Pool, Pool]
) -> list[Measured]:
    """The times in the records of ``matches``; ``together``: only of processes that timed both
    sides, in the same order. ``pools``: whose runs the processes are."""
    kernels = {id(kernel): kernel for match in matches for kernel in match.kernels}
    why = {key: problems.untimed(kernel) for key, kernel in kernels.items()}
    # Of the processes the throttled ones are left out.
    usable = {
        key: [s for s in one.sets if not why[key] and s.ms and s.median > 0 and not s.disturbed]
        for key, one in kernels.items()
    }
    middles, errors = medians([s.ms for several in usable.values() for s in several])
    each = zip(middles.tolist(), errors.tolist(), strict=True)
    known = {key: {s.process: next(each) for s in several} for key, several in usable.items()}
    return [_recorded(match, known, why, together, pools) for match in matches]


def _recorded(
    match: Match,
    known: Mapping[int, ByProcess],
    untimed: Mapping[int, str],
    together: bool,
    pools: tuple[Pool, Pool],
) -> Measured:
    for name, kernels in zip("AB", match.sides, strict=True):
        if why := next(filter(None, (untimed[id(kernel)] for kernel in kernels)), ""):
            return f"{why} in {name}"
    change = _clock_change(match)
    if isinstance(change, str):
        return change
    sides = [[(kernel, known[id(kernel)]) for kernel in side] for side in match.sides]
    ours, theirs = (set.intersection(*(set(by) for _, by in side)) for side in sides)
    if together:
        ours = theirs = ours & theirs
    if not ours or not theirs:
        which = "on both sides" if together else f"in {'B' if ours else 'A'}"
        return f"no process timed all of its kernels {which}"
    before, after = _times(sides[0], ours, pools[0]), _times(sides[1], theirs, pools[1])
    return Pair(before, replace(after, ms=tuple(ms * change for ms in after.ms)))


def _clock_change(match: Match) -> float | str:
    """By what B's times have to be multiplied to be compared with A's: 1 where both ran at the same
    SM clock, the ratio of the clocks for what waits for the multiprocessors alone, so that cycles
    are compared. Why they cannot be compared, for everything else."""
    before, after = clock(match.a), clock(match.b)
    if not before or not after or abs(after / before - 1) <= CLOCKS:
        return 1.0
    if all(kernel.roof == _ARITHMETIC for kernel in match.kernels):
        return after / before
    return (
        f"the SM clock was {before:.0f} MHz in A and {after:.0f} MHz in B, and not all that it "
        "does follows that clock"
    )


def _times(
    kernels: Sequence[tuple[KernelRecord, ByProcess]], processes: set[int], pool: Pool
) -> Times:
    """One kernel's launch, or all launches of several, in each of ``processes``."""
    single = len(kernels) == 1
    order = sorted(processes)
    total, squares = np.zeros(len(order)), np.zeros(len(order))
    for kernel, by_process in kernels:
        weight = 1 if single else kernel.launches
        found = np.array([by_process[process] for process in order])
        total += weight * found[:, 0]
        squares += (weight * found[:, 0] * found[:, 1]) ** 2
    runs = np.searchsorted(pool.starts[1:], order, "right")  # which each process belongs to
    errors = (np.sqrt(squares) / total).tolist()
    return Times(tuple(total.tolist()), tuple(errors), tuple(runs.tolist()), tuple(order))


def assemble(
    a: Side,
    b: Side,
    pairing: Pairing,
    measured: Sequence[Measured],
    rules: Rules,
    *,
    paired: bool,
    notes: Sequence[str] = (),
    between: Between | None = None,
) -> Comparison:
    """Judge the times of ``pairing``'s matches. The kernels that may have changed and the sums are
    one family; those that are identical on both sides are another, which is about the machine."""
    matches = pairing.matches
    identical = [is_identical(match, a.run, b.run) for match in matches]
    tuned = [not identical[n] and is_retuned(m, a.run, b.run) for n, m in enumerate(matches)]
    pairs = {
        n: replace(found, identical=identical[n], alike=identical[n] or is_alike(matches[n]))
        for n, found in enumerate(measured)
        if isinstance(found, Pair)
    }
    estimates, noise = estimate(
        list(pairs.values()), paired=paired, method=a.run.method, between=between
    )
    found = dict(zip(pairs, estimates, strict=True))
    retuned = [n for n in found if tuned[n] and not paired]
    found |= {n: replace(found[n], slack=math.log1p(rules.tuning)) for n in retuned}
    same = {n: UNCHANGED for n in found if identical[n]}
    timed = {n: Timed(matches[n], pairs[n].means, same.get(n, one)) for n, one in found.items()}
    held = totals.totals(a.run, b.run, pairing, timed)
    sums = totals.estimates(held, pairing, timed, noise)
    if together := totals.tuning([timed[n] for n in retuned], noise):
        sums[TUNING_KEY] = together
    # What only launches differ in is certain: it takes nothing of the family's chance.
    known = dict[int | Key, Estimate]([*found.items(), *sums.items()])
    certain = [key for key, one in sums.items() if not one.error]
    effects: dict[int | Key, Effect] = {}
    for keys in (known.keys() - same.keys() - set(certain), certain, same):
        family = [key for key in known if key in keys]
        effects.update(zip(family, judge([known[key] for key in family], rules), strict=True))
    bare = (
        Row(m, Verdict.INCOMPARABLE, tuple(causes(m, a.run, b.run)), identical[n], retuned=tuned[n])
        for n, m in enumerate(matches)
    )
    rows = tuple(_row(row, measured[n], effects.get(n)) for n, row in enumerate(bare))
    of_rows = [effects[n] for n in sorted(found, key=same.__contains__)]
    learnt = noise if pairs else None
    clocks = () if paired else _clocks(pairing)
    remarks = (*notes, *_pooled(a, b), *_notes(a.run, b.run, of_rows, learnt), *clocks)
    rollups = totals.rollups(a.run, b.run, pairing, timed, held, effects)
    if together:
        before, after = totals.all_launches([timed[n] for n in retuned])
        whole = (before, after, (1.0, 1.0), effects[TUNING_KEY])
        rollups = (*rollups, Rollup(totals.TUNING, totals.TUNED, len(retuned), *whole))
    broken = problems.broken_in(a, b, pairing.matches)
    return Comparison(
        a, b, rules, rows, rollups, *pairing.lone, learnt, remarks, paired=paired, broken=broken
    )


def _row(bare: Row, found: Measured, effect: Effect | None) -> Row:
    """``bare`` with what was measured of it, or why nothing was."""
    if effect is None or isinstance(found, str):
        return replace(bare, reason=str(found))
    same, (a_ms, b_ms) = bare.identical, found.means
    verdict, unknown = (Verdict.SAME, "") if same else (effect.verdict, effect.unknown)
    counts = (len(found.a.ms), len(found.b.ms))
    timed = replace(bare, a_ms=a_ms, b_ms=b_ms, processes=counts, effect=effect)
    return replace(timed, verdict=verdict, reason=unknown)


def _pooled(a: Side, b: Side) -> Iterator[str]:
    """Which runs a side was made of, and which were left out."""
    if a.run == b.run:
        yield "A and B are the same run: it is compared with itself"
    for label, side in (("A", a), ("B", b)):
        if len(side.pool.runs) > 1:
            names = ", ".join(side.pool.runs)
            yield f"{label} is {len(side.pool.runs)} runs of the commit pooled: {names}"
        yield from (f"{label} leaves out run {other}" for other in side.pool.left_out)


def _notes(a: Run, b: Run, effects: Collection[Effect], noise: Noise | None) -> Iterator[str]:
    """What limits the comparison as a whole."""
    for label, run in (("A", a), ("B", b)):
        yield from problems.limits(label, run)
    boards = {run.machine.gpu_uuid for run in (a, b) if run.machine.gpu == a.machine.gpu} - {None}
    if len(boards) > 1:
        yield "another GPU of the same kind: harness confirm tells it from the code"
    if noise is None:
        bare = [side for side, run in (("A", a), ("B", b)) if not any(k.sets for k in run.kernels)]
        if bare:
            yield (
                f"{' and '.join(bare)} without times: compare binaries with --static, or time "
                "both now: harness confirm"
            )
        return
    if noise.bimodal:
        yield (
            f"{noise.bimodal} kernels are bimodal between processes: where their "
            "number of processes cannot rule it out, a difference of that size is UNSURE"
        )
    if noise.offset is not None:
        yield _moved(noise, noise.offset)
    if noise.odd.share:
        yield (
            f"{100 * noise.odd.share:.2g} % of the unchanged kernels moved alone: what moved by "
            f"less than {100 * math.expm1(noise.odd.most):.2g} % may be another of them"
        )
    for reason in dict.fromkeys(one.unknown for one in effects if one.unknown):
        yield f"changed kernels are UNSURE at most: {reason}. {_REMEDIES[reason]}"


_REMEDIES = {
    estimating.ONE_PROCESS: "Measure again: harness run --processes 3",
    estimating.NO_CONTROLS: "Measure the whole suite, or several commits of this machine; "
    "harness confirm times both now, interleaved, and needs neither",
}


def _clocks(pairing: Pairing) -> Iterator[str]:
    if changed := [m for m in pairing.matches if _clock_change(m) != 1.0]:
        before, after = clock(changed[0].a), clock(changed[0].b)
        yield (
            f"the SM clock of {len(changed)} kernels differs ({before:.0f} → {after:.0f} MHz): "
            "those bound by arithmetic are compared in cycles, shown as ms at A's clock"
        )


def _moved(noise: Noise, offset: Offset) -> str:
    """What the unchanged kernels say of the machine, and what was done about it."""
    shortest, longest = float(np.exp(offset.knots[0])), float(np.exp(offset.knots[-1]))
    values = [100 * math.expm1(float(v)) for v in offset.at(np.array([shortest, longest]))]
    which = "alike" if noise.alike else "unchanged"
    if len(offset.knots) == 1:
        said = f"{values[0]:+.2f} %"
    else:
        said = (
            f"{values[0]:+.2f} % at {1000 * shortest:.3g} µs to {values[1]:+.2f} % at "
            f"{1000 * longest:.3g} µs"
        )
    return f"{offset.kernels} {which} kernels moved together by {said}: B÷A is corrected for it"
