"""What changed in the history of the runs, where, by how much, and what else changed there.
Quantities with noise are judged by ``changepoints``; static ones are exact. A change for the
worse that was neither waived nor recovered since is a regression."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness.history.changes import events, whole_runs
from harness.history.changes.changepoints import detect
from harness.history.changes.events import Event
from harness.history.changes.fitting import Settings
from harness.history.changes.series import Environment, History, Series, series_of
from harness.history.changes.waivers import Waiver
from harness.ir.reach import grouped
from harness.records import causes as wording
from harness.records.causes import clock_change, differ
from harness.records.metrics import Metric, Scope
from harness.records.names import DIGITS
from harness.records.run import fields
from harness.table import plural

_RATES = ("gbps", "fraction")
_SAME_WORK = 0.002
"""Rates say something of the same work only: bytes that agree to 0.2 %, as far as a recorded rate
has digits."""
_DATE = len("2026-01-31")
"""What of a time in ISO form is its date."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level of one series.

    ``commit`` is the first measured at the new level, ``before`` the last measured at the old one;
    with 95 % confidence the change lies after ``lowest`` and up to ``highest``. ``size`` is
    relative with its 95 % interval (None for a static figure that was 0), ``old`` and ``new`` are
    levels in the metric's unit. ``p``: at most the chance of such a step in a flat series, 0 for a
    static figure. ``confirmed`` is false for one that needs more points or does not stand out among
    as many series, or leads to a level that the series had before; ``together`` is true where it
    stands out only with the others of its commit. ``machine``: what runs on either side is the same
    code in the same configuration, so that no commit did it. ``recovered`` is the commit from which
    the old level is back. ``name`` is the kernel's own name at ``commit``.
    """

    series: Series
    name: str
    worse: bool
    before: str
    commit: str
    lowest: str
    highest: str
    old: float
    new: float
    size: float | None
    low: float | None = None
    high: float | None = None
    p: float = 0.0
    confirmed: bool = True
    together: bool = False
    machine: bool = False
    points_before: int = 0
    points_after: int = 0
    causes: tuple[str, ...] = ()
    recovered: str = ""
    waived: Waiver | None = None

    @property
    def verdict(self) -> str:
        """What is to be done about it: the section that it is reported in."""
        if self.series.metric.scope is Scope.PEER:
            return "peer"
        if self.machine:
            return "machine"
        if not self.confirmed:
            return "suspected"
        if self.waived is not None:
            return "acknowledged"
        if self.recovered:
            return "undone"
        return "regression" if self.worse else "improvement"

    @property
    def regression(self) -> bool:
        """Whether somebody has to look at it."""
        return self.verdict == "regression"

    @property
    def suspected(self) -> bool:
        """Whether it may be a regression that has to be measured once more."""
        stands = self.worse and not self.recovered and self.waived is None
        return stands and self.verdict == "suspected"


@dataclass(frozen=True, slots=True)
class Break:
    """Series that begin anew at ``commit`` because their environment changed."""

    metric: Metric
    commit: str
    earlier: Environment
    later: Environment
    series: int


@dataclass(frozen=True, slots=True)
class Report:
    """All of it. ``judged`` counts the series long enough to be judged, ``short`` the others;
    ``stale`` are waivers of nothing. ``chance`` is that of a step that is at least suspected in a
    flat series. ``broken``: sentences about what ran in earlier runs and fails in the newest;
    ``problems``: about what files should not hold. ``timed``: the series of times, as measured."""

    changes: tuple[Change, ...]
    breaks: tuple[Break, ...]
    judged: int
    short: int
    points: int
    stale: tuple[Waiver, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)
    chance: float = 0.0
    broken: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    timed: tuple[Series, ...] = ()

    @property
    def regressions(self) -> tuple[Change, ...]:
        """The changes that somebody has to look at."""
        return tuple(change for change in self.changes if change.regression)

    @property
    def suspected(self) -> tuple[Change, ...]:
        """The changes for the worse that have to be measured once more."""
        return tuple(change for change in self.changes if change.suspected)


def find(
    known: History, metrics: Sequence[Metric], settings: Settings, waived: Sequence[Waiver] = ()
) -> Report:
    """The changes of ``metrics``."""
    changes: list[Change] = []
    breaks: list[Break] = []
    notes: list[str] = []
    timed: tuple[Series, ...] = ()
    judged = short = points = 0
    # The chance of an alarm is that of the whole report. Other compilers raise none.
    noisy = sum(not metric.exact and metric.scope is not Scope.PEER for metric in metrics)
    settings = replace(settings, family=settings.family / max(1, noisy))
    for metric in metrics:
        every = series_of(known, metric)
        timed = tuple(every) if metric.name == "ms" else timed
        points += sum(len(series.values) for series in every)
        breaks.extend(_breaks(known, every))
        if metric.exact:
            judged += len(every)
            found = [change for series in every for change in _exact(known, series)]
        else:
            every, bad, newest = whole_runs.leave_out(known, every, settings.floor)
            every, moved = whole_runs.take_out(known, every, newest)
            notes.extend([*bad, *moved])
            found, long = _noisy(known, every, settings)
            judged += long
            short += len(every) - long
        changes.extend(found)
    chosen, stale = _waive(known, changes, waived, metrics)
    chosen.sort(key=_rank)
    return Report(
        tuple(chosen),
        tuple(breaks),
        judged,
        short,
        points,
        stale,
        (*known.notes, *notes, *whole_runs.gone(known)),
        known.left_out,
        settings.alone if noisy else 0.0,
        tuple(whole_runs.broken(known)),
        tuple(f"{run.file}: {problem}" for run in known.runs for problem in run.problems),
        timed,
    )


def _rank(change: Change) -> tuple[object, ...]:
    """What has to be looked at first, then by size."""
    size = abs(change.size) if change.size is not None else np.inf
    series = change.series
    return (
        not change.regression,
        not change.suspected,
        not change.confirmed,
        not change.worse,
        -size,
        series.metric.name,
        series.graph,
        series.kernel,
        change.commit,
    )


def _noisy(known: History, every: Sequence[Series], settings: Settings) -> tuple[list[Change], int]:
    # For each run a number for its day and board.
    days = [(r.created[:_DATE], r.gpu_uuid) if r.created else n for n, r in enumerate(known.runs)]
    places = {day: n for n, day in enumerate(dict.fromkeys(days))}
    of_run = np.array([places[day] for day in days], np.int64)
    judged = detect(
        [series.values for series in every],
        [series.environment for series in every],
        settings,
        [series.positions for series in every],
        [of_run[series.runs] for series in every],
    )
    found = []
    for series, judgement in zip(every, judged, strict=True):
        for event in events.events(judgement.steps, settings):
            ends = event.first.position - 1, event.last.position
            if series.metric.name not in _RATES or not _other_work(known, series, *ends):
                found.append(_of_step(known, series, event, settings))
    return found, sum(judgement.judged for judgement in judged)


def _other_work(known: History, series: Series, before: int, after: int) -> bool:
    """Whether a kernel or a graph moves other bytes at one point than at another: its rate is then
    that of other work, and what became of it is told by its time."""
    frame = known.frame
    moved = frame["bytes"].to_numpy(np.float64, na_value=np.nan)
    # Figures that were imported have no bytes of their own.
    moved = np.where(moved > 0, moved, 1e6 * (frame["ms"] * frame["gbps"]).to_numpy(np.float64))
    if series.kernel:
        one, other = (moved[int(series.rows[point])] for point in (before, after))
    else:
        whole = moved * frame["launches"].to_numpy(np.float64, na_value=1)
        mine = (frame["graph"] == series.graph).to_numpy()
        runs = frame["run"].to_numpy()
        one, other = (whole[mine & (runs == series.runs[n])].sum() for n in (before, after))
    return bool(abs(other - one) > _SAME_WORK * one)


def _of_step(known: History, series: Series, event: Event, settings: Settings) -> Change:
    step, last = event.first, event.last
    worse = series.metric.is_worse(0, event.size)
    at = series.positions
    start, stop = step.position - step.before, last.position + last.after
    names = [known.commits[i] for i in at]
    ends = _ends(event)
    causes, same = _causes(known, series, *ends)
    confirmed, back = event.certain, event.recovered(settings)
    if back is not None and not event.returns and not same:
        # The machine brings no code back; but it has shown that this code may take either time.
        ours = [e for e in event.later if not _causes(known, series, *_ends(e))[1]]
        again, back = back, replace(event, later=tuple(ours)).recovered(settings)
        if back is None:
            confirmed = False
            causes = (*causes, f"back at {names[again][:DIGITS]} with the code unchanged")
    perhaps = event.recovered(settings, sure=False)
    if confirmed and back is None and perhaps is not None and not same:
        confirmed, causes = False, (*causes, f"perhaps back at {names[perhaps][:DIGITS]}")
    if confirmed and event.seen is not None and not same:
        causes = (*causes, f"at this level before, last at {names[event.seen][:DIGITS]}")
        if same is None or event.again:
            # Unless the code that it had then came back with it, a mode may have.
            confirmed = bool(_causes(known, series, event.seen, ends[1])[1])
    return Change(
        series,
        _name(known, series, step.position),
        worse=worse,
        before=names[step.position - 1],
        commit=names[step.position],
        lowest=names[step.earliest - 1],
        highest=names[last.latest],
        # Medians: an outlier belongs to neither level.
        old=float(np.exp(np.median(series.values[start : step.position]))),
        new=float(np.exp(np.median(series.values[last.position : stop]))),
        **fields(event, "size low high p together"),
        confirmed=confirmed,
        machine=bool(same),
        points_before=step.before,
        points_after=last.after,
        causes=causes,
        recovered="" if back is None else names[back],
    )


def _ends(event: Event) -> tuple[int, int]:
    """The last point that surely lies before it and the first that surely lies behind it."""
    return event.first.earliest - 1, event.last.latest


def _name(known: History, series: Series, point: int) -> str:
    row = int(series.rows[point])
    return "" if row < 0 else str(known.frame["kernel"].iloc[row])


def _exact(known: History, series: Series) -> Iterator[Change]:
    values = series.values
    places = np.flatnonzero(np.diff(values) != 0) + 1
    edges = [0, *places.tolist(), len(values)]
    for number, place in enumerate(places, start=1):
        old, new = float(values[place - 1]), float(values[place])
        worse = series.metric.is_worse(old, new)
        sign = 1 if new > old else -1
        back = np.flatnonzero(sign * (values[place:] - old) <= 0)
        names = [known.commits[i] for i in series.positions]
        yield Change(
            series,
            _name(known, series, int(place)),
            worse=worse,
            before=names[place - 1],
            commit=names[place],
            lowest=names[place - 1],
            highest=names[place],
            old=old,
            new=new,
            size=new / old - 1 if old else None,
            points_before=int(place - edges[number - 1]),
            points_after=int(edges[number + 1] - place),
            causes=_causes(known, series, int(place) - 1, int(place))[0],
            recovered=names[place + back[0]] if len(back) else "",
        )


def _causes(
    known: History, series: Series, before: int, after: int
) -> tuple[tuple[str, ...], bool | None]:
    """What changed between the points ``before`` and ``after`` of ``series``, and whether what runs
    is the same at both; None where nobody knows."""
    if series.metric.scope is Scope.PEER:
        # Another compiler changes with its version, not with our commits.
        runs = (known.runs[int(series.runs[point])] for point in (before, after))
        found = wording.version_changes(*(fields(run, "torch triton") for run in runs))
        return tuple(found) or ("same versions of torch and triton",), None
    if series.kernel:
        frame = known.frame
        old, new = int(series.rows[before]), int(series.rows[after])
        return _of_kernel(frame.iloc[old], frame.iloc[new])
    return _of_graph(known, series.graph, int(series.runs[before]), int(series.runs[after]))


def _of_kernel(old: Any, new: Any) -> tuple[tuple[str, ...], bool | None]:
    found = []
    if differ(old["code"], new["code"]):
        found.append("code")
    if _work(old["kernel"]) != _work(new["kernel"]):
        found.append(f"{_work(old['kernel'])} → {_work(new['kernel'])}")
    found.extend(_settings(old["config"], new["config"]))
    found += wording.metric_changes(old, new)
    if differ(old["launches"], new["launches"]):
        found.append(f"launches {int(old['launches'])} → {int(new['launches'])}")
    codes = old["code"], new["code"]
    same = False if found else (all(map(wording.known, codes)) and all(codes)) or None
    found += clock_change(old["clock_mhz"], new["clock_mhz"])
    if not found:
        found.append("same code and configuration" if same else "nothing known")
    return tuple(found), same


def _work(name: Any) -> str:
    """A kernel's name without the number that it has among its graph's."""
    return str(name).removeprefix("triton_").rstrip("0123456789").rstrip("_")


def _settings(old: Any, new: Any) -> list[str]:
    """``XBLOCK 1 → 2`` for each setting that differs."""
    if not differ(old, new):
        return []
    try:
        before, after = json.loads(old), json.loads(new)
    except (TypeError, ValueError):
        return ["configuration"]
    return wording.setting_changes(before, after)


def _of_graph(
    known: History, graph: str, old: int, new: int
) -> tuple[tuple[str, ...], bool | None]:
    frame = known.frame
    sides = []
    for run in (old, new):
        rows = frame[(frame["run"] == run) & (frame["graph"] == graph)]
        sides.append({str(row["key"]): row for _, row in rows.iterrows()})
    before, after = sides
    found = []
    both = [name for name in before if name in after]
    launches = [sum(int(row["launches"] or 1) for row in side.values()) for side in sides]
    if launches[0] != launches[1]:
        found.append(f"launches {launches[0]} → {launches[1]}")
    counted = (
        ("new", len(after) - len(both)),
        ("gone", len(before) - len(both)),
        *(
            (f"with {what}", sum(differ(before[n][one], after[n][one]) for n in both))
            for what, one in (("other code", "code"), ("another configuration", "config"))
        ),
    )
    found += [f"{plural(number, 'kernel')} {what}" for what, number in counted if number]
    if found:
        return tuple(found), False
    same = bool(both) and all(_of_kernel(before[name], after[name])[1] for name in both)
    return ("same kernels, code and configurations" if same else "nothing known",), same or None


def _waive(
    known: History, changes: Sequence[Change], waived: Sequence[Waiver], metrics: Sequence[Metric]
) -> tuple[list[Change], tuple[Waiver, ...]]:
    line, today = known.line or known.commits, dt.datetime.now(dt.UTC).date()
    places = {commit: i for i, commit in enumerate(line)}
    answered = []
    for change in changes:
        series = change.series
        at = int(np.searchsorted(series.positions, known.commits.index(change.commit)))
        graphs = known.names(series.graph, int(series.runs[at]))
        names = [f"{graph}/{name}" for graph in graphs for name in {series.kernel, change.name}]
        # All commits of the line that the change may be, measured or not.
        commits = line[places[change.lowest] + 1 : places[change.highest] + 1]
        ratio = None if change.size is None else 1 + abs(change.size)
        about = series.metric.name, names, commits, places
        first = (one for one in waived if one.covers(*about) and one.allows(ratio, today))
        answered.append(replace(change, waived=next(first, None)))
    used = {change.waived for change in answered}
    asked = {"*", *(metric.name for metric in metrics)}
    return answered, tuple(a for a in waived if a not in used and a.metric in asked)


def _breaks(known: History, every: Sequence[Series]) -> Iterator[Break]:
    """Where one environment ends and another one goes on with the same kernels."""
    found = grouped(every, lambda series: series.environment).items()
    kernels = {e: {(series.graph, series.kernel) for series in its} for e, its in found}
    ends = {e: [int(one.positions[n]) for one in its for n in (0, -1)] for e, its in found}
    spans = {e: (min(each), max(each)) for e, each in ends.items()}
    order = sorted(spans, key=lambda e: (spans[e], e.machine, e.method, e.triton, e.target))
    for place, later in enumerate(order):
        for earlier in reversed(order[:place]):
            shared = len(kernels[earlier] & kernels[later])
            if shared and spans[earlier][1] <= spans[later][0]:
                commit = known.commits[spans[later][0]]
                yield Break(every[0].metric, commit, earlier, later, shared)
                break
