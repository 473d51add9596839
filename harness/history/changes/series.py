"""Series: one quantity of one kernel or graph, commit after commit, in one environment.

Numbers of different machines, drivers, methods of measuring or versions of Triton are never in
one series; where one of these changed, the series breaks. Runs of one commit make one point.
What cannot be used is left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.history.changes.continuing import Recorded, continued, under_newest_names
from harness.history.commits import order as history
from harness.history.index import Index, IndexedRun
from harness.measure.peers.jobs import SUBJECTS
from harness.records.causes import version_changes
from harness.records.metrics import Metric, Scope, named

MOSTLY = 0.5
"""Share of readings or samples under throttling from which a run or a figure is left out."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What the numbers of a series have in common. For exact metrics only the target and the
    version of Triton count, and the rest is empty; for other compilers Triton is part of them, so
    that what an upgrade makes of them is seen."""

    machine: str
    method: str
    triton: str
    target: str = ""

    def differences(self, later: Environment) -> list[str]:
        """What is different in ``later``: ``method 1 → 2``."""
        return version_changes(asdict(self), asdict(later), unknown="unknown")


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """``positions`` are those of the commits, ascending; ``values`` logarithms, or for exact
    metrics the numbers themselves; ``runs`` and ``rows`` for each point its last run and that run's
    row of the frame (-1 for a graph as a whole, whose ``kernel`` is empty, and for a region of
    another compiler, whose ``kernel`` is ``region/compiler``). Kernels are one series by what they
    compute (``schema.series_keys``); ``kernel`` is the newest one's label (``schema.labels``)."""

    metric: Metric
    graph: str
    kernel: str
    environment: Environment
    positions: NDArray[np.int64]
    values: NDArray[np.float64]
    runs: NDArray[np.int64]
    rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class History:
    """All runs in order. ``commits`` names the commit at each position (the run where there is no
    commit), ``line`` every commit of the history, measured or not, and what git does not know
    between them (none: the order is that of the runs' time). ``left_out`` counts what is in no
    series, by reason. ``frame``: every kernel of every run. Graphs have their newest names
    everywhere; ``recorded`` says which others files have."""

    frame: pd.DataFrame
    regions: pd.DataFrame
    runs: tuple[IndexedRun, ...]
    commits: tuple[str, ...]
    position_of_run: NDArray[np.int64]
    line: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)
    recorded: Recorded = field(default_factory=dict)

    def names(self, graph: str, run: int) -> set[str]:
        """What ``graph`` is and was called, but as another one is called in a ``run``."""
        pairs = (pair for names in self.recorded.values() for pair in names.items())
        every = {graph} | {old for old, new in pairs if new == graph}
        if len(every) == 1:
            return every
        others = {*self.frame["graph"][self.frame["run"].to_numpy() == run]} - {graph}
        return every - {self.name_in(run, other) for other in others}

    def name_in(self, run: int, graph: str) -> str:
        """What the file of a ``run`` calls ``graph``."""
        pairs = self.recorded.get(run, {}).items()
        return next((old for old, new in pairs if new == graph), graph)


def arrange(index: Index, repository: Path, *, by_time: bool = False) -> History:
    """The runs of ``index`` in the order of their commits in ``repository``, or of their time."""
    runs = index.runs
    usable = [_reason_to_leave_out(run) for run in runs]
    left_out = Counter(filter(None, usable))
    judged = [run for run, why in zip(runs, usable, strict=True) if run.commit and not why]
    since = {run.commit: run.created for run in reversed(judged)}
    found = history.Order() if by_time else history.order(since, repository)
    names, position = _placed(runs, usable, found, left_out)
    rows = index.rows.to_pandas()
    recorded, notes = continued(index, rows, position)
    return History(
        under_newest_names(rows, recorded),
        under_newest_names(index.regions.to_pandas(), recorded),
        tuple(_called(run, recorded.get(n, {})) for n, run in enumerate(runs)),
        tuple(names),
        position,
        found.line,
        (*found.notes, *notes),
        left_out,
        recorded,
    )


def _called(run: IndexedRun, names: Mapping[str, str]) -> IndexedRun:
    """A run, what it says of graphs under their newest ``names``."""
    if not names:
        return run
    seconds = {names.get(graph, graph): one for graph, one in run.codegen_seconds.items()}
    reasons = {names.get(graph, graph): one for graph, one in run.reasons.items()}
    return replace(run, codegen_seconds=seconds, reasons=reasons)


def _reason_to_leave_out(run: IndexedRun) -> str:
    if run.unreadable:
        return "runs that cannot be read"
    if run.misplaced:
        return "runs in the folder of another machine"
    if run.dirty:
        return "runs of a tree with uncommitted changes"
    return "runs in which the GPU was throttling" if run.throttled > MOSTLY else ""


def _placed(
    runs: Sequence[IndexedRun], usable: Sequence[str], found: history.Order, left_out: Counter[str]
) -> tuple[list[str], NDArray[np.int64]]:
    """What stands at each position, and the position of each run (-1: none): by the commits'
    history, if they were ``found`` there, else by time."""
    order: list[tuple[Any, str, int]] = []
    for i, (run, why) in enumerate(zip(runs, usable, strict=True)):
        if not why and not found.positions:
            order.append(((run.created, run.id), run.commit or run.id, i))
        elif not why and run.commit in found.positions:
            place = found.positions[run.commit]
            order.append((place, found.line[place], i))
        elif not why:
            where = "of commits off the first-parent line" if run.commit else "without a commit"
            left_out[f"runs {where}"] += 1
    position, names = np.full(len(runs), -1, np.int64), dict[str, int]()
    for _, name, i in sorted(order):
        position[i] = names.setdefault(name, len(names))
    return list(names), position


def series_of(known: History, metric: Metric) -> list[Series]:
    """Every series of ``metric``, by graph, kernel and environment."""
    table = _rows(known, metric)
    if metric.name in ("ms", "gbps"):
        # Names stay categories: as texts they take a second.
        names: dict[str, Any] = {"graph": table["graph"].dtype}
        names["kernel"] = pd.CategoricalDtype([*table["kernel"].cat.categories, ""])
        both = (each.astype(names) for each in (table, _totals(known, metric)))
        table = pd.concat(both, ignore_index=True)
    return _assembled(known, metric, table)


def region_series(known: History) -> list[Series]:
    """The time of all launches of each region, whatever its kernels; ``kernel`` is its name."""
    metric = named("ms")
    return _assembled(known, metric, _totals(known, metric, "region"))


def _assembled(known: History, metric: Metric, table: pd.DataFrame) -> list[Series]:
    """The rows of ``table`` by graph, kernel and environment, in the order of the commits."""
    environments, codes = _environments(known, metric)
    run, value = table["run"].to_numpy(np.int64), table["value"].to_numpy(np.float64)
    names = [table[name].astype("category").cat for name in ("graph", "kernel")]
    keys = [codes[run], *(name.codes.to_numpy() for name in names), known.position_of_run[run]]
    fine = np.isfinite(value) & np.all([key >= 0 for key in keys], axis=0)
    if not metric.exact:
        fine &= value > 0
        value = np.log(value, where=fine, out=value.copy())
    # Sorted once for all: by pandas' groups it took three times as long.
    order = np.flatnonzero(fine)
    order = order[np.lexsort([each[order] for each in (run, *reversed(keys))])]
    run, row, value = (each[order] for each in (run, table["row"].to_numpy(np.int64), value))
    keys = [key[order] for key in keys]
    first = _begins(keys)
    last = np.append(first, len(order))[1:] - 1
    # Exact figures of one commit agree; should they not, the last run counts. Of three runs and
    # more an outlier does not.
    values = value[last] if metric.exact else _middles(value, first, last)
    columns: tuple[NDArray[Any], ...] = (keys[-1][last], values, run[last], row[last])
    labels, found = known.frame["label"].array, []
    starts = _begins([key[last] for key in keys[:-1]])
    for start, stop in zip(starts, np.append(starts, len(last))[1:], strict=True):
        place, graph, kernel = (int(key[first[start]]) for key in keys[:-1])
        of_points = [column[start:stop] for column in columns]
        newest = int(of_points[-1][-1])
        name = names[1].categories[kernel] if newest < 0 else labels[newest]
        graph_name = str(names[0].categories[graph])
        found.append(Series(metric, graph_name, str(name), environments[place], *of_points))
    return found


def _begins(keys: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Where in rows sorted by ``keys`` another one begins."""
    changes = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return np.flatnonzero(np.append(len(keys[0]) > 0, changes))


def _middles(
    value: NDArray[np.float64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The mean of the values from each of ``first`` to its ``last``; of three and more, the
    median."""
    found = (value[first] + value[last]) / 2
    for n in np.flatnonzero(last - first > 1).tolist():
        found[n] = np.median(value[first[n] : last[n] + 1])
    return found


def _rows(known: History, metric: Metric) -> pd.DataFrame:
    match metric.scope:
        case Scope.PEER:  # the time of each region by each other compiler
            rows = known.regions[~known.regions["compiler"].isin(SUBJECTS)]
            names = rows["region"].astype(str) + "/" + rows["compiler"].astype(str)
            return rows[["run", "graph"]].assign(kernel=names, value=rows["ms"], row=-1)
        case Scope.GRAPH:
            return _graph_rows(known, metric)
        case Scope.KERNEL:
            return _kernel_rows(known, metric)


def _kernel_rows(known: History, metric: Metric) -> pd.DataFrame:
    rows = known.frame
    value = rows[metric.column].to_numpy(np.float64, na_value=np.nan)
    failed = rows["failed"].to_numpy(bool)
    bad = failed if metric.exact else failed | _throttled(rows)
    columns = rows[["run", "graph", "key"]].rename(columns={"key": "kernel"})
    table = columns.assign(value=value, row=np.arange(len(rows)))
    used = bad & np.isfinite(value) & (known.position_of_run[rows["run"].to_numpy()] >= 0)
    for reason, which in (
        ("figures of kernels that failed", used & failed),
        ("figures taken while the GPU was throttling", used & ~failed),
    ):
        if which.any():
            known.left_out[reason] = int(which.sum())
    return table[~bad]


def _throttled(rows: pd.DataFrame) -> NDArray[np.bool_]:
    kept = rows["samples"].to_numpy(np.float64, na_value=0)
    excluded = rows["excluded"].to_numpy(np.float64, na_value=0)
    return excluded > MOSTLY * np.maximum(kept + excluded, 1)


def _totals(known: History, metric: Metric, *parts: str) -> pd.DataFrame:
    """The time of all launches of a graph, where each of its kernels has one, or its GB/s; of each
    of its ``parts`` (a column), which is then called the kernel."""
    rows = known.frame
    launches = rows["launches"].to_numpy(np.float64, na_value=1)
    ms = rows["ms"].to_numpy(np.float64) * launches
    moved = rows["bytes"].to_numpy(np.float64, na_value=0) * launches
    bad = rows["failed"].to_numpy(bool) | _throttled(rows) | ~np.isfinite(ms)
    # An interrupted run may lack kernels of a graph without saying which.
    bad |= ~_complete(known)[rows["run"].to_numpy()]
    names = ["run", "graph", *parts]
    table = rows[names].assign(ms=ms, moved=moved, bad=bad)
    grouped = table.groupby(names, observed=True, sort=False)
    totals = grouped.agg(ms=("ms", "sum"), moved=("moved", "sum"), bad=("bad", "any"))
    totals = totals[~totals["bad"]].reset_index()
    value = totals["ms"] if metric.name == "ms" else totals["moved"] / (1e6 * totals["ms"])
    kernel = totals[parts[0]].astype(str) if parts else ""
    return totals[["run", "graph"]].assign(value=value, kernel=kernel, row=-1)


def _complete(known: History) -> NDArray[np.bool_]:
    """Which runs came to their end."""
    return np.array([run.complete for run in known.runs], np.bool_)


def _graph_rows(known: History, metric: Metric) -> pd.DataFrame:
    if metric.name == "codegen":
        entries = [
            (i, graph, seconds)
            for i, run in enumerate(known.runs)
            for graph, seconds in run.codegen_seconds.items()
        ]
        table = pd.DataFrame(entries, columns=["run", "graph", "value"])
    else:
        whole = known.frame[_complete(known)[known.frame["run"].to_numpy()]]
        grouped = whole.groupby(["run", "graph"], observed=True, sort=False)
        sizes = grouped.size() if metric.name == "kernels" else grouped["launches"].sum()
        table = sizes.rename("value").reset_index()
    return table.assign(kernel="", row=-1)


def _environments(known: History, metric: Metric) -> tuple[list[Environment], NDArray[np.int64]]:
    places: dict[Environment, int] = {}
    codes = np.zeros(len(known.runs), np.int64)
    for i, run in enumerate(known.runs):
        if metric.exact:
            environment = Environment("", "", run.triton, run.target)
        else:
            triton = "" if metric.scope is Scope.PEER else run.triton
            environment = Environment(run.machine, run.method, triton)
        codes[i] = places.setdefault(environment, len(places))
    return list(places), codes
