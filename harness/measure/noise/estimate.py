"""The effects in a table of kernels, and the noise that the table as a whole shows.

The unit is the fresh process: repeats inside one share its addresses, clocks and neighbours, so
that hundreds of them know no more of the next process than one does. Everything is done on
logarithms of process medians; the effect is a ratio B ÷ A. docs/comparing.md has the formulae.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from harness.measure.noise import controls, modes, variance
from harness.measure.noise.controls import LEAST, Odd, Offset, Session
from harness.measure.noise.judge import Estimate
from harness.measure.noise.modes import FalsePositive
from harness.measure.noise.variance import Floats, Prior, student


@dataclass(frozen=True, slots=True)
class Times:
    """One kernel on one side: the median of each process in milliseconds, each one's standard
    error relative to it (0 where unknown), from the samples of that process, which of several
    ``runs`` it belongs to (empty: all to one), and the ``processes`` by number, the same ones for
    all kernels of the side (empty: from 0)."""

    ms: tuple[float, ...]
    errors: tuple[float, ...] = ()
    runs: tuple[int, ...] = ()
    processes: tuple[int, ...] = ()

    @classmethod
    def of(cls, series: Sequence[Sequence[float]], **more: tuple[int, ...]) -> Times:
        """What the samples of each process say: their medians with the errors of those."""
        return cls(*(tuple(column.tolist()) for column in variance.medians(series)), **more)


@dataclass(frozen=True, slots=True)
class Pair:
    """One kernel on both sides. ``identical``: same code, configuration and arguments, so that any
    difference is noise or the machine. ``alike``: other text, but compiled to the same registers,
    memory and instructions by number, which stands in where few are identical."""

    a: Times
    b: Times
    identical: bool = False
    alike: bool = False

    @property
    def means(self) -> tuple[float, float]:
        """The geometric means of both sides' processes."""
        a, b = (float(np.exp(np.mean(np.log(times.ms)))) for times in (self.a, self.b))
        return a, b


@dataclass(frozen=True, slots=True)
class Noise:
    """What a table says of noise: ``prior`` between processes, and ``session`` between runs (0 for
    kernels timed against each other in one process). ``shift`` is the median log ratio of the
    kernels that are identical on both sides, which should be 0; None if there are none. ``offset``
    is what all kernels moved by between the runs, as the controls show it, and is in no estimate;
    ``alike`` says that kernels which are not the same text were among them. ``odd``: controls that
    moved alone. ``bimodal``: how many kernels were seen at two modes, a process at a time."""

    prior: Prior
    session: Session
    shift: float | None = None
    bimodal: int = 0
    offset: Offset | None = None
    alike: bool = False
    odd: Odd = controls.NONE_ODD


@dataclass(frozen=True, slots=True)
class Between:
    """What earlier runs of a machine say of a difference between two: the variance of what moved
    all kernels together (``common``), what moved each (``specific``) and what moved alone
    (``odd``), learnt from ``runs`` pairs of runs."""

    common: float
    specific: Session
    runs: int
    odd: Odd = controls.NONE_ODD


_ALIKE = 20.0
"""Degrees of freedom up to which a table knows how alike its kernels are: one disturbed process
hides that some are noisier, which the few that stand out later show."""
_FAMILY, _FEW = 0.05, 10
"""The chance at which verdicts are made, and kernels among which it is shared at least."""
ONE_PROCESS = "one process on a side, so the noise between processes is unknown"
NO_CONTROLS = "too few unchanged kernels to tell a change from another day"


def estimate(
    pairs: Sequence[Pair], *, paired: bool, method: str = "", between: Between | None = None
) -> tuple[list[Estimate], Noise]:
    """The effect of each pair, and the noise that the table as a whole showed.

    ``paired``: process i of A is process i of B, in which both were interleaved; what such a
    process does to both cancels. Otherwise the processes belong to two runs: what moved all
    kernels between processes and runs is taken out, as far as kernels that cannot have changed
    show it, and what is left between runs is added to the error. Where there are fewer than
    ``LEAST`` of those, ``between`` says what is known of the machine's runs; without it, nothing
    can be said of a change. Every side needs at least one process. ``method`` names the way
    of measuring, for what is taken to be known of a table too small to say itself."""
    same = np.array([pair.identical for pair in pairs], dtype=bool)
    control = same | np.array([pair.alike for pair in pairs], dtype=bool)
    borrowed = int(same.sum()) < LEAST <= int(control.sum())
    control = control if borrowed else same
    apart = not paired and int(control.sum()) >= LEAST
    a, b = _side([pair.a for pair in pairs]), _side([pair.b for pair in pairs])
    shift = float(np.median((b.mean - a.mean)[same])) if same.any() else None
    if apart:
        a, b = (replace(x, logs=controls.without_process_offsets(x.logs)) for x in (a, b))
    table = _table(a, b, same, paired=paired)
    # Kernels seen at two modes vary for a reason of their own: they say nothing of the others.
    steady = (table.df > 0) & ~table.bimodal
    prior = variance.fit_prior(*(x[steady] for x in (table.ms, table.own, table.df, table.within)))
    if not prior.kernels:
        # Kernels that show nothing of their own variance get the wider of the defaults.
        prior = variance.stated(method if (table.df > 0).any() else variance.OLD_METHOD)
    # Of a difference's variance the stated default knows one side's share.
    scale = 1.0 if prior.kernels or not paired else 2.0
    # A kernel seen at two modes is not one of those the prior was learnt from.
    odd = table.bimodal & (table.df > 0)
    weight = np.where(odd, min(variance.DEFAULT_DF, prior.df), min(prior.df, _ALIKE))
    expected = scale * prior.variance(table.ms, table.within)
    moderate, df = variance.moderated(expected, weight, table.own, table.df)
    # What several processes scatter includes what the samples do; one process shows the latter.
    within = sum(np.nansum(side.squares, axis=1) / side.count**2 for side in (a, b))
    squared = np.maximum(moderate * table.share, np.where(table.df > 0, 0.0, within))
    drift = _Drift(table.difference, np.sqrt(squared), df, Session(0.0))
    if apart:
        drift = _between_runs(table, control, squared, df)
    elif not paired:
        drift = _unshown(table, squared, df, between)
    known = "" if paired or apart or between is not None else NO_CONTROLS
    alone = np.minimum(a.count, b.count) < 2
    # Of a kernel that cannot have changed it is no risk but the finding.
    risk = (FalsePositive(drift.odd.share, 0.0, drift.odd.most),) if drift.odd.share else ()
    columns = (drift.difference, drift.errors, drift.df, alone, same)
    found = [
        Estimate(
            *(log_ratio, error, freedom, (*risks, *(() if finding else risk))),
            unknown=ONE_PROCESS if one else known,
        )
        for log_ratio, error, freedom, one, finding, risks in zip(
            *(column.tolist() for column in columns), table.risks, strict=True
        )
    ]
    bimodal, alike = int(table.bimodal.sum()), borrowed and apart
    return found, Noise(prior, drift.session, shift, bimodal, drift.offset, alike, drift.odd)


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a table, a row for each kernel and a column for each process: ``logs`` of the
    medians and their squared relative errors (``squares``, 0: unknown), both NaN where a kernel
    was not timed, and which of the ``runs`` each belongs to."""

    logs: Floats
    squares: Floats
    runs: NDArray[np.int64]

    @property
    def count(self) -> NDArray[np.int64]:
        """How many processes timed each kernel."""
        return np.asarray(np.isfinite(self.logs).sum(axis=1))

    @property
    def mean(self) -> Floats:
        """Of the logarithms of each kernel."""
        return np.asarray(np.nanmean(self.logs, axis=1))

    @property
    def median(self) -> Floats:
        """The logarithm of the median over processes of each kernel."""
        return np.asarray(np.log(np.nanmedian(np.exp(self.logs), axis=1)))

    def by_run(self) -> Floats:
        """Of each kernel: the squares of deviations from its means over a run's processes, their
        degrees of freedom, and what part of the variance between runs is in its mean: 1 if the
        side is one run, less if it is several."""
        there, found = np.isfinite(self.logs), np.zeros((3, len(self.logs)))
        for run in np.unique(self.runs[there]):
            mine = there & (self.runs == run)
            count = mine.sum(axis=1)
            mean = np.where(mine, self.logs, 0.0).sum(axis=1) / np.maximum(count, 1)
            squares = np.where(mine, (self.logs - mean[:, None]) ** 2, 0.0).sum(axis=1)
            found += squares, np.maximum(count - 1, 0), (count / self.count) ** 2
        return found


def _side(times: Sequence[Times]) -> _Side:
    """``times`` as columns: by number of process where these are known."""
    sizes = np.array([len(one.ms) for one in times], dtype=np.int64)
    rows = np.repeat(np.arange(len(times)), sizes)
    columns = np.array(
        [n for one in times for n in one.processes or range(len(one.ms))], dtype=np.int64
    )
    shape = len(times), int(columns.max(initial=0)) + 1
    logs, squares = np.full(shape, np.nan), np.full(shape, np.nan)
    runs = np.zeros(shape, dtype=np.int64)
    logs[rows, columns] = np.log([ms for one in times for ms in one.ms])
    errors = [e for one in times for e in one.errors or (0.0,) * len(one.ms)]
    squares[rows, columns] = np.square(errors)
    runs[rows, columns] = [run for one in times for run in one.runs or (0,) * len(one.ms)]
    return _Side(logs, squares, runs)


@dataclass(frozen=True, slots=True)
class _Table:
    """Columns of a table, a row for each pair: duration (ms), log difference, own variance and its
    degrees of freedom, by how much to multiply it for the difference, and the variance between two
    runs (``parts``), modes and their risks, the mean squared error of a process's median (NaN:
    unknown), and the log difference between the sides' medians over processes, which one odd
    process does not move."""

    ms: Floats
    difference: Floats
    own: Floats
    df: Floats
    share: Floats
    parts: Floats
    bimodal: NDArray[np.bool_]
    risks: Sequence[tuple[FalsePositive, ...]]
    within: Floats
    medians: Floats


def _table(a: _Side, b: _Side, same: NDArray[np.bool_], *, paired: bool) -> _Table:
    ms = np.exp((a.mean + b.mean) / 2)
    difference, medians = b.mean - a.mean, b.median - a.median
    squares, df, parts = a.by_run() + b.by_run()
    share, parts = 1 / a.count + 1 / b.count, parts / 2
    if paired:
        each = b.logs - a.logs
        df, share = a.count - 1.0, 1 / a.count
        squares = np.nansum((each - difference[:, None]) ** 2, axis=1)
    own = squares / np.maximum(df, 1)
    apart = np.zeros_like(ms)
    if not paired and int(same.sum()) >= LEAST:
        # What moved all kernels between the sides is no mode of any.
        apart = controls.fit_offset(ms[same], medians[same]).at(ms)
    # Kernels that are identical on both sides show their modes between the sides as well; of
    # others only a side's own scatter counts.
    sides, together = (a.logs, b.logs - apart[:, None]), same & (not paired)
    whole = np.nanvar(np.hstack(sides), axis=1, ddof=1)
    inner = np.where(df > 0, own, np.nan)
    seen = modes.find(ms, np.where(together, whole, inner), inner, sides, together, paired=paired)
    errors = np.hstack((a.squares, b.squares))
    within = np.where((errors == 0).any(axis=1), np.nan, np.nanmean(errors, axis=1))
    return _Table(ms, difference, own, df, share, parts, *seen, within, medians)


@dataclass(frozen=True, slots=True)
class _Drift:
    """Differences without what moved all kernels between two runs, their standard errors and
    degrees of freedom with what is left, and what that is."""

    difference: Floats
    errors: Floats
    df: Floats
    session: Session
    offset: Offset | None = None
    odd: Odd = controls.NONE_ODD


def _between_runs(table: _Table, control: NDArray[np.bool_], squared: Floats, df: Floats) -> _Drift:
    """What the ``control`` kernels, which cannot have changed, say of two runs. The error of a
    difference is a mixture over tails, and its test the t that is exceeded as rarely."""
    ms, parts = table.ms, table.parts
    # A kernel at two modes says nothing of what moved the others.
    steady = control & ~table.bimodal
    steady = steady if int(steady.sum()) >= LEAST else control
    offset = controls.fit_offset(ms[steady], table.medians[steady])
    difference = table.difference - offset.at(ms)
    count, taken = int(steady.sum()), len(offset.knots)
    left = max(1, count - taken)
    # As far as they would lie off had they no say in the offset.
    residuals = difference[steady] * (count / left) ** 0.5
    found = controls.fit_sessions(residuals, *(x[steady] for x in (squared, df, parts, ms)))
    session = controls.overall(found)
    # Modes within a side are in a kernel's own error; what parts A from B cleanly is not.
    own = squared + session.at(ms) * parts
    odd = controls.odd_controls(difference[control], np.sqrt(own[control]))
    variances, freedoms = [], []
    for one in found:
        between = one.at(ms) * parts
        inexact = one.error(ms) * parts**2 * count / (2 * left)
        inexact = np.clip(inexact, between**2 / left, between**2)
        # The mean of a variance that is known as inverse chi-square is larger than its scale.
        between = between * max(1 - 2 / left, 0.0)
        whole = squared + between
        # Satterthwaite: processes know the first part, the controls the second, by their number,
        # or less well where few of them are as short.
        freedom = whole**2 / (squared**2 / df + inexact)
        freedoms.append(np.minimum(freedom, one.tail))
        variances.append(whole + offset.variance(ms))
    weights = np.array([one.weight for one in found])
    rare = _FAMILY / max(_FEW, int((~control).sum()))
    error, freedom = student(weights, np.sqrt(variances), np.array(freedoms), rare)
    return _Drift(difference, error, freedom, session, offset, odd)


def _unshown(table: _Table, squared: Floats, df: Floats, between: Between | None) -> _Drift:
    """Two runs whose kernels do not show what moved between them."""
    session, odd, least = controls.DEFAULT_SESSION, controls.NONE_ODD, np.inf
    if between is not None:
        odd, least = between.odd, min(float(between.runs), between.specific.tail)
        whole = between.common + between.specific.variance
        session = replace(between.specific, variance=whole, kernels=0, tail=least)
    error = np.sqrt(squared + session.at(table.ms) * table.parts)
    return _Drift(table.difference, error, np.minimum(df, least), session, odd=odd)
