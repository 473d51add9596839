"""What befell whole runs: common effects, bad runs, and what has no figures any more.

What moved all kernels of a run is seen in those whose code and configuration are what they were in
other runs (median polish), and taken out of every series. A level begins anew where a kernel's code
changes, so that what a commit does to the kernels that it touches is in no common effect.
A run at which many series are outliers, and back at the next, is left out. Of the newest nobody can
say yet whether it was bad: what it shows is suspected. The oldest stays as well: nothing before it
says that the next commit did not do other work.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.history.changes import noise
from harness.history.changes.changepoints import SHORTEST, detect
from harness.history.changes.fitting import Settings
from harness.history.changes.series import Environment, History, Series
from harness.ir.reach import grouped
from harness.records.names import some

LEAST = 8
"""Unchanged kernels of a run from which its common effect is known."""
_LEVEL = 3
"""Points of one code from which a kernel has a level to be away from."""
_ROUNDS = 6
SHARE, FEWEST = 1 / 3, 5
"""Share and number of an environment's series that are outliers in one direction at a bad run.
Where each twentieth point is an outlier by itself, 7 of 20 series are so at one in 30,000 runs."""
_POINTS = 6
"""Points from which a series has a say."""


def take_out(
    known: History, every: Sequence[Series], newest: Collection[tuple[Environment, int]] = ()
) -> tuple[list[Series], list[str]]:
    """The series without the common effects of their runs, and what has to be said of those. The
    ``newest`` runs that may be bad stay as they are: what they show is suspected."""
    notes: list[str] = []
    found: dict[Environment, NDArray[np.float64]] = {}
    for environment, members in grouped(every, lambda series: series.environment).items():
        effects, kernels = _effects(known, members)
        effects[[place for where, place in newest if where == environment]] = 0.0
        if kernels:
            found[environment] = effects
            notes += _steps(known, environment, members[0], effects, kernels)
    left = [
        replace(series, values=series.values - found[series.environment][series.positions])
        if series.environment in found
        else series
        for series in every
    ]
    return left, notes


def _effects(known: History, members: Sequence[Series]) -> tuple[NDArray[np.float64], int]:
    """The common log effect at every position (0 where nobody knows), and of how many kernels."""
    code, config = (known.frame[name].astype("category").cat for name in ("code", "config"))
    unknown = np.isin(code.categories.astype(str), ("", "nan", "None"))
    numbers = np.array(code.codes, np.int64)
    numbers[np.append(unknown, True)[numbers]] = -1
    configs = np.array(config.codes, np.int64)
    levels = [level for series in members for level in _levels(series, numbers, configs)]
    effects = np.zeros(len(known.commits))
    block = np.full((len(levels), len(effects)), np.nan)
    for row, (positions, values) in enumerate(levels):
        block[row, positions] = values
    seen = np.isfinite(block).sum(axis=0) >= LEAST
    if seen.sum() < SHORTEST:
        return effects, 0
    part = block[:, seen]
    part = part[np.isfinite(part).sum(axis=1) >= _LEVEL]
    effects[seen] = polished(part)
    return effects, len(part)


def polished(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """The common effect of each column of a ``block`` with a row per level (NaN: not measured),
    by median polish; their median is 0, and they are drawn to it as far as chance made them."""
    moved = np.zeros(block.shape[1])
    for _ in range(_ROUNDS):
        own = np.nanmedian(block - moved, axis=1)
        moved = np.nanmedian(block - own[:, None], axis=0)
    moved = moved - np.median(moved)
    # What a median of so many may be off by; what all of them move by beyond that is real.
    own = np.nanmedian(block - moved, axis=1)
    rest = np.nanmedian(np.abs(block - own[:, None] - moved), axis=0) / noise.NORMAL_MEDIAN
    error = np.pi / 2 * rest**2 / np.maximum(np.isfinite(block).sum(axis=0), 1)
    real = max(0.0, float((moved**2 - error).mean()))
    return np.asarray(moved * real / np.maximum(real + error, 1e-30))


def _levels(
    series: Series, codes: NDArray[np.int64], configs: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Stretches of a kernel's points with one code and configuration; none of unknown code. By row
    of the frame ``codes`` number the code (-1: unknown) and ``configs`` the configuration."""
    if not len(series.rows) or series.rows[0] < 0:
        return []
    code, config = codes[series.rows], configs[series.rows]
    ends = np.flatnonzero((code[1:] != code[:-1]) | (config[1:] != config[:-1])) + 1
    edges = [0, *ends.tolist(), len(code)]
    return [
        (series.positions[start:stop], series.values[start:stop])
        for start, stop in zip(edges, edges[1:], strict=False)
        if stop - start >= _LEVEL and code[start] >= 0
    ]


def _steps(
    known: History,
    environment: Environment,
    one: Series,
    effects: NDArray[np.float64],
    kernels: int,
) -> list[str]:
    """A sentence for each lasting common step: that is the machine's doing, or of something that
    all kernels share and none shows in its code."""
    places = np.flatnonzero(effects)
    (judged,) = detect([effects[places]], [environment], Settings())
    return [
        f"the {kernels} kernels on {environment.machine} whose code did not change became "
        f"{'worse' if one.metric.is_worse(0, step.size) else 'better'} together at "
        f"{known.commits[places[step.position]][:10]} by {100 * abs(step.size):.2g} %: the machine "
        "rather than the code. Taken out of all series"
        for step in judged.steps
        if step.confirmed
    ]


def leave_out(
    known: History, every: Sequence[Series], floor: float
) -> tuple[list[Series], list[str], set[tuple[Environment, int]]]:
    """The series without the points of bad runs, a sentence for each of those runs, and newest runs
    (environment, position) that may be bad. ``floor`` is the relative noise that is assumed at
    least."""
    bad, notes, newest = _bad(known, every, floor)
    if not bad:
        return list(every), notes, newest
    left = []
    for series in every:
        places = bad.get(series.environment, set())
        keep = np.array([int(place) not in places for place in series.positions])
        if not keep.all():
            names = ("positions", "values", "runs", "rows")
            series = replace(series, **{name: getattr(series, name)[keep] for name in names})
        if keep.any():
            left.append(series)
    return left, notes, newest


def _bad(
    known: History, every: Sequence[Series], floor: float
) -> tuple[dict[Environment, set[int]], list[str], set[tuple[Environment, int]]]:
    totals: Counter[tuple[Environment, int]] = Counter()
    outliers: Counter[tuple[Environment, int, bool]] = Counter()
    enough = (series for series in every if len(series.values) >= _POINTS)
    by_shape = grouped(enough, lambda series: (series.environment, series.positions.tobytes()))
    for (environment, _), members in by_shape.items():
        block = np.array([series.values for series in members])
        cleaned, outlier = noise.without_outliers(block, noise.scale(block, floor)[:, None])
        slower = outlier & (block > cleaned)
        for column, place in enumerate(members[0].positions.tolist()):
            totals[environment, place] += len(members)
            outliers[environment, place, True] += int(slower[:, column].sum())
            outliers[environment, place, False] += int((outlier & ~slower)[:, column].sum())
    bad: dict[Environment, set[int]] = defaultdict(set)
    notes, newest = [], set()
    for (environment, place, slow), number in sorted(outliers.items(), key=lambda item: item[0][1]):
        total = totals[environment, place]
        if number < FEWEST or number <= SHARE * total:
            continue
        places = [other for where, other in totals if where == environment]
        many = f"{number} of {total} series were {'slower' if slow else 'faster'}"
        end = {min(places): "oldest", max(places): "newest"}.get(place, "")
        notes.append(_told(known, environment, place, many, end))
        if end == "newest":
            newest.add((environment, place))
        elif not end:
            bad[environment].add(place)
    return bad, notes, newest


def _told(known: History, environment: Environment, place: int, many: str, end: str) -> str:
    """What a run that may be bad is said to be: the newest or oldest (``end``), or left out."""
    commit, beside = known.commits[place][:10], "before" if end == "newest" else "after"
    said = (
        f"the {end} run, at {commit} on {environment.machine}: {many} than {beside}, all at once: "
        "a commit or a bad run, which one run cannot tell"
    )
    if not end:
        runs = zip(known.runs, known.position_of_run.tolist(), strict=True)
        here = (run.file for run, at in runs if at == place and run.machine == environment.machine)
        said = (
            f"left out: the run at {commit} on {environment.machine}: {many} there than before and "
            f"after, which is a bad run rather than a change ({', '.join(here)})"
        )
    return (
        f"{said}. Measure it again: git switch --detach {commit} && harness run; of "
        "three runs of a commit the middle one counts"
    )


def broken(known: History) -> Iterator[str]:
    """A sentence for each graph or kernel that fails in a machine's newest run and did not in an
    earlier one."""
    for newest, earlier in _newest(known):
        run, at, now = known.runs[newest], _commit(known, newest), _rows(known, newest)
        for graph, reason in run.reasons.items():
            if any(
                graph not in known.runs[n].reasons and graph in set(_rows(known, n)["graph"])
                for n in earlier
            ):
                yield f"{graph} does not compile at {at} on {run.machine}: {reason}"
        failed = now[now["failed"].to_numpy(bool)]
        if not len(failed):
            continue
        before = known.frame[known.frame["run"].isin(earlier)]
        ran = before[~before["failed"].to_numpy(bool)]
        for row in failed[_named(failed).isin(_named(ran))].itertuples():
            what = "fails its check" if row.check == "failed" else "does not run"
            yield f"{row.graph}/{row.label} {what} at {at} on {run.machine}: its series ended"


def gone(known: History) -> Iterator[str]:
    """A sentence for each machine's newest whole run that lacks kernels which the run before it
    had, in graphs that both have: their work is in other kernels, or in none."""
    for newest, earlier in _newest(known):
        whole = [run for run in earlier if known.runs[run].complete]
        if not whole or not known.runs[newest].complete:
            continue
        now, before = _rows(known, newest), _rows(known, whole[-1])
        left = before[before["graph"].isin(set(now["graph"])) & ~_named(before).isin(_named(now))]
        if len(left):
            names = some([f"{row.graph}/{row.label}" for row in left.itertuples()])
            yield (
                f"{len(left)} series ended at {_commit(known, newest)} on "
                f"{known.runs[newest].machine}: no kernel computes the same nodes "
                f"({names}); the graphs' totals go on"
            )


def _newest(known: History) -> Iterator[tuple[int, list[int]]]:
    """For each machine its newest run and the earlier ones, oldest first."""
    used = [n for n in range(len(known.runs)) if known.position_of_run[n] >= 0]
    order = sorted(used, key=lambda n: (known.position_of_run[n], known.runs[n].created))
    for machine in dict.fromkeys(known.runs[n].machine for n in order):
        mine = [n for n in order if known.runs[n].machine == machine]
        newest = mine[-1]
        at = known.position_of_run[newest]
        yield newest, [n for n in mine if known.position_of_run[n] < at]


def _rows(known: History, run: int) -> pd.DataFrame:
    return known.frame[known.frame["run"].to_numpy() == run]


def _named(rows: pd.DataFrame) -> pd.Series[str]:
    """What tells kernels apart, in any run."""
    return rows["graph"].astype(str) + "\n" + rows["key"].astype(str)


def _commit(known: History, run: int) -> str:
    return known.commits[int(known.position_of_run[run])][:10]
