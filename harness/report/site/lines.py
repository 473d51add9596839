"""The histories that the pages draw: of kernels, graphs and regions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.history.changes.series import region_series, series_of
from harness.records import metrics
from harness.report.site.data import Earlier, Kernel, Line, Region, Segment

if TYPE_CHECKING:
    import pandas as pd

    from harness.history.changes.changes import Change, Report
    from harness.history.changes.series import History, Series


def lines_of(known: History, machine: str, report: Report) -> dict[tuple[str, str], Line]:
    """The history of every kernel's time by graph and key, that of a graph as a whole under an
    empty key."""
    keys = known.frame["key"]
    found: dict[tuple[str, str], list[Series]] = defaultdict(list)
    for series in series_of(known, metrics.named("ms")):
        if series.environment.machine == machine:
            found[series.graph, _key(series, keys)].append(series)
    changes: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in report.changes:
        if change.series.metric.name == "ms" and change.series.environment.machine == machine:
            changes[change.series.graph, _key(change.series, keys)].append(change)
    return {
        where: Line(_segments(several), tuple(changes.get(where, ())))
        for where, several in found.items()
    }


def _segments(several: Sequence[Series]) -> tuple[Segment, ...]:
    """The same in different environments, oldest first."""
    return tuple(
        Segment(tuple(one.positions.tolist()), tuple((1000 * np.exp(one.values)).tolist()))
        for one in sorted(several, key=lambda one: int(one.positions[-1]))
    )


def regions_of(known: History, machine: str, kernels: Iterable[Kernel]) -> list[Region]:
    """The regions of ``kernels`` whose history is not that of a kernel: there are several in it, or
    there were."""
    found: dict[tuple[str, str], list[Series]] = defaultdict(list)
    for series in region_series(known):
        if series.environment.machine == machine:
            found[series.graph, series.kernel].append(series)
    members: dict[tuple[str, str], list[Kernel]] = defaultdict(list)
    for kernel in kernels:
        members[kernel.graph, kernel.record.region].append(kernel)
    regions = []
    in_order = sorted(members.items(), key=lambda one: (one[0][0], len(one[0][1]), one[0][1]))
    for (graph, name), mine in in_order:
        segments = _segments(found.get((graph, name), ()))
        points = sum(len(one.x) for one in segments)
        if len(mine) > 1 or points > sum(len(one.x) for one in mine[0].line.segments):
            changes = tuple(change for kernel in mine for change in kernel.line.changes)
            regions.append(Region(graph, name, len(mine), Line(segments, changes, summed=True)))
    return regions


def _key(series: Series, keys: pd.Series[Any]) -> str:
    row = int(series.rows[-1])
    return "" if row < 0 else str(keys.cat.categories[keys.array.codes[row]])


def with_history(
    kernels: Iterable[Kernel],
    lines: Mapping[tuple[str, str], Line],
    known: History,
    report: Report,
    earlier: Mapping[tuple[str, str], tuple[Earlier, ...]],
) -> tuple[Kernel, ...]:
    """The kernels with their histories and what they were before; what takes most time first."""
    exact: dict[tuple[str, str], list[Change]] = defaultdict(list)
    keys = known.frame["key"]
    for change in report.changes:
        if change.series.metric.exact and change.series.kernel:
            key = _key(change.series, keys)
            exact[change.series.graph, key].append(change)
    return tuple(
        replace(
            kernel,
            line=lines.get((kernel.graph, kernel.key), Line()),
            exact=tuple(exact.get((kernel.graph, kernel.key), ())),
            earlier=earlier.get((kernel.graph, kernel.key), ()),
        )
        for kernel in sorted(kernels, key=lambda kernel: -(kernel.total_us or 0.0))
    )
