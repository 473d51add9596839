"""Runs that were bad as a whole: many series of a machine are outliers at one commit.

At the next one they are back. That is one event, not hundreds of slow kernels. It is left out,
with a sentence that names it; nothing is said about the commit, which has to be measured again.
Of the newest run nobody can say yet whether it was bad or its commit slow: it stays, what it
shows is suspected, and the sentence says how many series moved at once. The oldest stays, too:
nothing before it says that the next commit did not do other work.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.history.changes import noise
from harness.history.changes.series import Environment, History, Series

SHARE, FEWEST = 1 / 3, 5
"""Share and number of an environment's series that are outliers in one direction at a bad run.
Where each twentieth point is an outlier by itself, 7 of 20 series are so at one in 30,000 runs."""
_POINTS = 6
"""Points from which a series has a say."""


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
            series = replace(
                series,
                positions=series.positions[keep],
                values=series.values[keep],
                runs=series.runs[keep],
                rows=series.rows[keep],
            )
        if keep.any():
            left.append(series)
    return left, notes, newest


def _bad(
    known: History, every: Sequence[Series], floor: float
) -> tuple[dict[Environment, set[int]], list[str], set[tuple[Environment, int]]]:
    totals: Counter[tuple[Environment, int]] = Counter()
    outliers: Counter[tuple[Environment, int, bool]] = Counter()
    by_shape: dict[tuple[Environment, bytes], list[Series]] = defaultdict(list)
    for series in every:
        if len(series.values) >= _POINTS:
            by_shape[series.environment, series.positions.tobytes()].append(series)
    for (environment, _), members in by_shape.items():
        block = np.array([series.values for series in members])
        cleaned, outlier = noise.without_outliers(block, noise.scale(block, floor))
        slower = outlier & (block > cleaned)
        for column, place in enumerate(members[0].positions.tolist()):
            totals[environment, place] += len(members)
            outliers[environment, place, True] += int(slower[:, column].sum())
            outliers[environment, place, False] += int((outlier & ~slower)[:, column].sum())
    spans: dict[Environment, tuple[int, int]] = {}
    for environment, place in totals:
        first, last = spans.get(environment, (place, place))
        spans[environment] = min(first, place), max(last, place)
    bad: dict[Environment, set[int]] = defaultdict(set)
    notes, newest = [], set()
    for (environment, place, slow), number in sorted(outliers.items(), key=lambda item: item[0][1]):
        total = totals[environment, place]
        if number < FEWEST or number <= SHARE * total:
            continue
        first, last = spans[environment]
        many = f"{number} of {total} series were {'slower' if slow else 'faster'}"
        if place in (first, last):
            notes.append(_at_an_end(known, environment, place, many, newest=place == last))
            newest |= {(environment, place)} if place == last else set()
            continue
        bad[environment].add(place)
        notes.append(_left_out(known, environment, place, f"{many} there than before and after"))
    return bad, notes, newest


def _again(commit: str) -> str:
    return (
        f"Measure it again: git switch --detach {commit[:10]} && harness run; of three runs of a "
        "commit the middle one counts"
    )


def _left_out(known: History, environment: Environment, place: int, what: str) -> str:
    commit = known.commits[place]
    files = [
        known.runs[int(i)].file
        for i in np.flatnonzero(known.position_of_run == place)
        if known.runs[int(i)].machine == environment.machine
    ]
    return (
        f"left out: the run at {commit[:10]} on {environment.machine}: {what}, which is a bad run "
        f"rather than a change ({', '.join(files)}). {_again(commit)}"
    )


def _at_an_end(
    known: History, environment: Environment, place: int, many: str, *, newest: bool
) -> str:
    commit = known.commits[place]
    which, beside = ("newest", "before") if newest else ("oldest", "after")
    return (
        f"the {which} run, at {commit[:10]} on {environment.machine}: {many} than {beside}, all at "
        f"once: a commit or a bad run, which one run cannot tell. {_again(commit)}"
    )
