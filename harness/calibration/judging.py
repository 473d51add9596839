"""What a calibration says, by the very functions that ``harness compare`` judges with; also of
kernels that are measured later.

Two ways of comparing are rehearsed with the same samples. *In turns*: process i of A is
process i of B, as ``harness confirm`` measures. *Two runs*: even processes are A's, odd ones
B's, as ``harness compare`` finds two runs. For power a tenth of the kernels are slowed down at a
time, the others stand as they are, so that a table looks like one after a real commit: a few
changes among many kernels that are the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import special

from harness.calibration import record
from harness.calibration.record import AGAIN, PLAIN, Calibration, Cell, Mode, Share, Subject, slowed
from harness.ir.reach import grouped
from harness.measure.noise.controls import Session
from harness.measure.noise.estimate import Noise, Pair, Times, estimate
from harness.measure.noise.judge import Effect, Estimate, Rules, Verdict, judge
from harness.measure.noise.variance import Prior
from harness.records.run import GraphRecord, KernelRecord, fields

GROUPS = 10
"""Of so many groups of kernels one at a time is slowed down."""
IN_TURNS, TWO_RUNS = "in turns", "two runs"
SIZES = ("long", "medium", "short")
_CHANGED = (Verdict.SLOWER, Verdict.FASTER)
_PRIOR = "df kernels trend centre shortest longest"


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel's processes: median and error of each subject, in the order of the processes."""

    subject: Subject
    ms: float
    times: Mapping[str, Times]
    truth: Mapping[float, float]


def judged(
    start: Calibration, subjects: Sequence[Subject], cells: Iterable[Cell], rules: Rules
) -> Calibration:
    """``start`` with both ways of comparing, what can be told of each kernel, and the noise found.
    Kernels that no two processes have measured are left out."""
    if not (kernels := _kernels(subjects, cells)):
        return start
    turns, _ = _table(IN_TURNS, kernels, {}, rules)
    apart, noise = _table(TWO_RUNS, kernels, {}, rules)
    modes = (_mode(IN_TURNS, kernels, turns, rules), _mode(TWO_RUNS, kernels, apart, rules))
    names = [fields(k.subject, "key name graph") for k in kernels]
    detectable = tuple(
        record.Detectable(
            **name, ms=k.ms, two_runs=two.mde, in_turns=one.mde, blind=two.undetectable
        )
        for name, k, one, two in zip(names, kernels, turns, apart, strict=True)
    )
    medians = (
        record.Medians(**name, **fields(kernel.times[PLAIN], "ms errors"))
        for name, kernel in zip(names, kernels, strict=True)
    )
    known = fields(noise.prior, _PRIOR) | {"session": noise.session.variance}
    model = record.NoiseModel(**known, absolute=noise.session.absolute)
    return replace(start, modes=modes, kernels=detectable, noise=model, medians=tuple(medians))


def _kernels(subjects: Sequence[Subject], cells: Iterable[Cell]) -> list[_Kernel]:
    by_kernel = grouped(cells, lambda cell: cell.kernel)
    found = []
    for subject in subjects:
        every = by_kernel.get(subject.key, [])
        own = {cell.process: cell for cell in every}
        if any(cell.reason for cell in every) or len(own) < 2 or subject.ms is None:
            continue
        taken = [own[process] for process in sorted(own)]
        names = set.intersection(*(set(cell.samples) for cell in taken))
        times = {name: Times.of([cell.samples[name] for cell in taken]) for name in names}
        ms = float(np.median(times[PLAIN].ms))
        found.append(_Kernel(subject, ms, times, _truth(taken, subject.ms, times)))
    return found


def _truth(cells: Sequence[Cell], ms: float, times: Mapping[str, Times]) -> dict[float, float]:
    """For each level what the timer saw of the injected time, as a share of what the device's
    clocks say."""
    base = slowed(0.0)
    found = {}
    for level in record.levels_for(ms):
        name = slowed(level)
        if name not in times or base not in times:
            continue
        seen = [
            (one - other) / (1e-6 * (c.truth[name] - c.truth[base]))
            for one, other, c in zip(times[name].ms, times[base].ms, cells, strict=True)
            if c.truth[name] > c.truth[base]
        ]
        if seen:
            found[level] = float(np.median(seen))
    return found


def _mode(name: str, kernels: Sequence[_Kernel], effects: Sequence[Effect], rules: Rules) -> Mode:
    """A way of comparing; ``effects`` are those on the kernels as they are."""
    alarmed = [k.subject for k, e in zip(kernels, effects, strict=True) if e.verdict in _CHANGED]
    power = []
    for level in sorted({level for k in kernels for level in k.truth}):
        verdicts = _slowed(name, kernels, level, rules)
        for size in SIZES:
            mine = {n: v for n, v in verdicts.items() if record.size_class(kernels[n].ms) == size}
            if mine:
                counts = Counter(mine.values())
                found = share(counts[Verdict.SLOWER], len(mine))
                seen = [kernels[n].truth[level] for n in mine if level in kernels[n].truth]
                effect = float(np.median(seen)) if seen else None
                power.append(record.Power(size, level, found, counts[Verdict.FASTER], effect))
    return Mode(
        name,
        max(len(k.times[PLAIN].ms) for k in kernels),
        share(len(alarmed), len(kernels)),
        tuple(f"{one.graph}: {one.name}" for one in alarmed),
        tuple(power),
    )


def _slowed(
    name: str, kernels: Sequence[_Kernel], level: float, rules: Rules
) -> dict[int, Verdict]:
    """The verdict on each kernel (by position) that was slowed down by ``level``."""
    able = [n for n, k in enumerate(kernels) if slowed(level) in k.times]
    found: dict[int, Verdict] = {}
    for group in range(GROUPS):
        chosen = able[group::GROUPS]
        effects, _ = _table(name, kernels, dict.fromkeys(chosen, level), rules)
        found.update((n, effects[n].verdict) for n in chosen)
    return found


def _table(
    name: str, kernels: Sequence[_Kernel], levels: Mapping[int, float], rules: Rules
) -> tuple[list[Effect], Noise]:
    """One comparison of all kernels, those in ``levels`` slowed down."""
    pairs = []
    for n, kernel in enumerate(kernels):
        level = levels.get(n)
        a, b = (PLAIN, AGAIN) if level is None else (slowed(0.0), slowed(level))
        one, other = kernel.times[a], kernel.times[b]
        if name == TWO_RUNS:
            both = enumerate((one, other))
            one, other = (Times(each.ms[n::2], each.errors[n::2]) for n, each in both)
        pairs.append(Pair(one, other, identical=level is None))
    found, noise = estimate(pairs, paired=name == IN_TURNS)
    return judge(found, rules), noise


def share(found: int, of: int) -> Share:
    """``found`` of ``of``, with its exact 95 % interval (Clopper and Pearson)."""
    low = found and special.betaincinv(found, of - found + 1, 0.025)
    high = found == of or special.betaincinv(found + 1, of - found, 0.975)
    return Share(found, of, float(low), float(high))


def detectable(
    model: record.NoiseModel,
    ms: float,
    processes: int,
    family: int,
    rules: Rules,
    days: Session | None = None,
) -> float:
    """The smallest slowdown of a kernel of ``ms`` that comparing two runs of ``processes`` each
    finds with 95 % probability in a table of ``family`` kernels: runs of one session or,
    if that is more, such as ``days`` says how far they move a kernel, processes included."""
    prior = Prior(**fields(model, _PRIOR))
    between = model.session + model.absolute / ms**2
    variance = float(prior.variance(np.array([ms]))[0]) * 2 / max(1, processes) + between
    df = model.df + 2 * max(1, processes) - 2
    if days is not None and (apart := float(days.at(np.array([ms]))[0])) > variance:
        variance, df = apart, min(days.kernels, days.tail)
    return judge([Estimate(0.0, variance**0.5, df)] * max(1, family), rules)[0].mde


class Detector:
    """The smallest slowdown of a kernel that two runs like this one would tell, by a calibration
    of the machine. A kernel that was calibrated with keeps what it showed itself; others get what
    kernels of their duration show. Both halves of a calibration are one session: where earlier runs
    say what moves a kernel between two of them (``days``), it is that, if it is more."""

    def __init__(self, calibration: Calibration, days: Session | None = None) -> None:
        assert calibration.noise is not None, "record.newest looks for one that has it"
        rules = Rules(alpha=calibration.alpha, margin=calibration.margin)
        many, self._days, self._own = len(calibration.kernels), days, dict[str, float]()
        self._usual = partial(detectable, calibration.noise, family=many, rules=rules)
        for one in calibration.kernels:
            own = one.two_runs / self._usual(one.ms, calibration.processes // 2)
            self._own[one.key] = own if math.isfinite(own) else 1.0  # one process a side knew none

    def kernel(self, kernel: KernelRecord) -> KernelRecord:
        """``kernel`` with its smallest detectable change; none for one process, of which two runs
        tell nothing."""
        if not kernel.ms or len(kernel.sets) < 2:
            return kernel
        ways = (None, self._days)
        one, apart = (self._usual(kernel.ms, len(kernel.sets), days=each) for each in ways)
        return replace(kernel, detectable=max(one * self._own.get(kernel.code_hash, 1.0), apart))

    def graph(self, graph: GraphRecord) -> GraphRecord:
        """``graph`` with those of its kernels."""
        return replace(graph, kernels=tuple(self.kernel(kernel) for kernel in graph.kernels))
