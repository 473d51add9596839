"""What the pages are made of, read from the results: runs, earlier modules, commits, the night,
histories of kernels, graphs and regions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.files import readable, slug
from harness.history import nights, store
from harness.history.between import learnt
from harness.history.changes.changes import Report
from harness.history.changes.series import History, Series, region_series
from harness.history.nights import Night, NightCommit
from harness.history.renaming import inside_of, under
from harness.ir.reach import grouped
from harness.measure.noise.judge import Rules
from harness.records import git, metrics
from harness.records.run import KernelRecord, Run
from harness.report.site import data
from harness.report.site.data import Earlier, Kernel, Line, Place, Region, Segment, Site
from harness.report.site.tonight import Tonight, first_page
from harness.table import Row
from harness.verdicts.comparing import Comparison, Side, compare
from harness.verdicts.night_record import night_of

_MONTH = timedelta(days=30)
_READERS = 2
"""Threads that read run files: decoding leaves Python alone."""
_FEWEST = 0.5
"""Share of the newest run's kernels that a run has to have to be compared with it."""


def folders(known: History, machine: str) -> dict[str, str]:
    """Where below the site each machine's pages are: those of the one measured last are the site's
    first. Of ``machine`` (a part of its name) alone, if it is given. Raises ``UnknownName``."""
    first, _ = data.choose_machine(known, machine)
    others = {run.machine for run in known.runs if not run.unreadable and not machine} - {first}
    return {first: ".", **{name: f"machines/{slug(name)}" for name in sorted(others)}}


def gather(
    results: Path,
    repository: Path,
    known: History,
    report: Report,
    machine: str,
    places: Mapping[str, str],
    earlier: Mapping[Place, Sequence[Earlier]],
    step: Callable[[str], None],
) -> tuple[Site, Tonight]:
    """Read what the pages of ``machine`` show, its first page apart; ``places`` are the folders of
    all machines' pages, ``earlier`` what ``earlier_of`` says. ``step`` is told what is being done.
    Raises ``UnknownName``, ``RecordError``."""
    machine, latest = data.choose_machine(known, machine)
    step("reading the newest runs")
    numbers = sorted({*latest.values()})  # none where no run holds a graph
    numbers = numbers or [n for n, run in enumerate(known.runs) if run.machine == machine][-1:]
    newest_names = {n: known.recorded.get(n, {}) for n in numbers}
    runs = {n: under(newest_names[n], store.load(results / known.runs[n].file)) for n in numbers}
    number = max(runs, key=lambda n: known.runs[n].created)
    newest = runs[number]
    graphs = [(g, run) for n, run in runs.items() for g in run.graphs if latest.get(g.name) == n]
    drawn, keys = lines_of(known, machine, report), known.frame["key"]
    exact = [c for c in report.changes if c.series.metric.exact and c.series.kernel]
    changed = grouped(exact, lambda change: _place(change.series, keys))
    kernels = data.kernels_of(graphs, drawn, changed, earlier)
    regions, month = regions_of(known, machine, kernels), _month_ago(known, machine)
    of_night, unreadable = _night_of(results, newest, newest_names[number])
    names = dict.fromkeys((*known.commits, *(run.commit for run in runs.values() if run.commit)))
    site = Site(
        machine,
        _links(known, machine, places),
        commits_called(repository, list(names))[: len(known.commits)],
        kernels,
        data.models_of([graph for graph, _ in graphs], kernels, drawn, month, regions),
        tuple(c for c in report.changes if c.series.environment.machine in ("", machine)),
        (*report.notes, *report.broken, *unreadable),
        newest,
        "" if places[machine] == "." else os.path.relpath(".", places[machine]) + "/",
    )
    if of_night is None:
        step("comparing the two newest runs")
        found = _compared(results, known, number, newest)
        if found is not None:
            of_night = night_of(found, _between(repository, known, found))
    return site, first_page(site, of_night)


def _night_of(
    results: Path, newest: Run, names: Mapping[str, str]
) -> tuple[Night | None, list[str]]:
    """The newest night of a run (others' may be later), its graphs under their newest ``names``,
    and which files cannot be read."""
    unreadable: list[str] = []
    paths = reversed(nights.nights(results, newest.machine.key))
    every = readable(nights.load, paths, unreadable.append)
    if (night := next((one for one in every if one.run == newest.id), None)) is None:
        return None, unreadable
    findings = (
        replace(f, graph=now, series=inside_of(f.graph, now, f.series))
        for f in night.findings
        for now in [names.get(f.graph, f.graph)]
    )
    return replace(night, findings=tuple(findings)), unreadable


def _links(known: History, machine: str, places: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The other machines, with the folders of their pages as seen from those of ``machine``."""
    newest = {run.machine: run for run in known.runs if not run.unreadable}
    said = {
        name: ", ".join(filter(None, (run.gpu or name, run.driver, run.created[:10])))
        for name, run in newest.items()
    }
    return tuple(
        (said[name], os.path.relpath(place, places[machine]) + "/")
        for name, place in places.items()
        if name != machine
    )


def _month_ago(known: History, machine: str) -> int:
    """The last position in the history that was measured thirty days before the newest, or -1."""
    mine = [
        (run.created, int(place))
        for run, place in zip(known.runs, known.position_of_run, strict=True)
        if run.machine == machine and place >= 0 and run.created
    ]
    limit = (datetime.fromisoformat(max(mine)[0]) - _MONTH).isoformat() if mine else ""
    return max((place for created, place in mine if created <= limit), default=-1)


def commits_called(repository: Path, names: Sequence[str]) -> tuple[NightCommit, ...]:
    """The commits of these names, with what git says of those that it knows."""
    asked = "".join(f"{name}\n" for name in names if len(name) >= 40)
    form = "--format=%H%x1f%s%x1f%an%x1f%as"
    options = ("--no-walk=unsorted", "--ignore-missing", "--stdin")
    said = git.ask(repository, "log", form, *options, given=asked)[0] if asked else ""
    known = {line.split("\x1f")[0]: line.split("\x1f") for line in said.splitlines()}
    return tuple(NightCommit(*known.get(name, [name])) for name in names)


def earlier_of(results: Path, known: History, machine: str) -> dict[Place, list[Earlier]]:
    """What each kernel of ``machine``, by graph and key, was before it last changed."""
    found, frame = data.versions(known, *data.choose_machine(known, machine)), known.frame
    columns = ["run", "graph", "kernel", "kind", "code", "config"]
    columns += [metric.column for metric in metrics.by_rank()]
    chosen = sorted({row for pairs in found.values() for pair in pairs for row in pair})
    records: list[Any] = frame.iloc[chosen][columns].to_dict("records")
    rows: dict[int, Row] = dict(zip(chosen, records, strict=True))
    codes = {row: of_row["code"] for row, of_row in rows.items()}
    wanted = [a for pairs in found.values() for a, b in pairs if codes[a] != codes[b]]
    texts = _modules(results, known, {row: rows[row] for row in wanted})

    def commit(row: int) -> str:
        return known.commits[int(known.position_of_run[rows[row]["run"]])]

    return {
        where: [
            Earlier(commit(old), commit(new), _record(rows[old], texts.get(old, "")))
            for old, new in pairs
        ]
        for where, pairs in found.items()
    }


def _record(row: Row, module: str) -> KernelRecord:
    static = {metric.column: row[metric.column] for metric in metrics.static()}
    config = row["config"]
    return KernelRecord(
        str(row["kernel"]),
        str(row["kind"]),
        int(row["bytes"]),
        metrics={name: int(v) for name, v in static.items() if v == v and v is not None},
        config=json.loads(config) if isinstance(config, str) else None,
        module=module,
    )


def _modules(results: Path, known: History, rows: Mapping[int, Row]) -> dict[int, str]:
    """The modules of rows of the history. A file that cannot be read any more has none."""
    by_run = grouped(rows, lambda row: int(rows[row]["run"]))
    with ThreadPoolExecutor(_READERS) as pool:
        found = pool.map(
            lambda n: _texts(
                results / known.runs[n].file,
                {
                    (known.name_in(n, str(rows[row]["graph"])), str(rows[row]["kernel"])): row
                    for row in by_run[n]
                },
            ),
            by_run,
        )
        return {row: text for texts in found for row, text in texts.items()}


def _texts(path: Path, wanted: Mapping[Place, int]) -> dict[int, str]:
    """The modules of the ``wanted`` kernels (graph, name) of a run file."""
    try:
        file = pq.ParquetFile(path, pre_buffer=False)
        names = file.read(columns=["graph", "name"], use_threads=False).to_pydict()
        every = enumerate(zip(names["graph"], names["name"], strict=True))
        rows = {n: wanted[name] for n, name in every if name in wanted}
        # Decoded up to the last that is asked for, not to the end.
        most = max(rows, default=0) + 1
        batch = next(file.iter_batches(most, columns=["module"], use_threads=False), None)
    except (pa.ArrowException, OSError):
        return {}
    return {} if batch is None else {row: batch[0][n].as_py() or "" for n, row in rows.items()}


def _compared(results: Path, known: History, number: int, newest: Run) -> Comparison | None:
    """The newest run next to the last one before it, of the same suite, that it can be compared
    with."""
    last = known.runs[number]
    alike = [
        run
        for run in known.runs
        if (run.machine, run.method, run.driver, run.suite)
        == (last.machine, last.method, last.driver, last.suite)
        and not run.unreadable
        and run.created < last.created
        and run.kernels >= _FEWEST * last.kernels
    ]
    if not alike or not any(k.ms for graph in newest.graphs for k in graph.kernels):
        return None
    other = [run for run in alike if run.commit != last.commit] or alike
    before = store.load(results / other[-1].file)
    sides = [Side(run.id, run, str(results)) for run in (before, newest)]
    return compare(sides[0], sides[1], Rules(), learnt(known.runs, known.frame, before, newest))


def _between(repository: Path, known: History, found: Comparison) -> tuple[NightCommit, ...]:
    """The commits after A's up to B's, newest first."""
    line = known.line or known.commits
    first, last = found.a.run.commit, found.b.run.commit
    if first not in line or last not in line:
        return commits_called(repository, [last] if last else [])
    names = line[line.index(first) + 1 : line.index(last) + 1]
    return tuple(reversed(commits_called(repository, names)))


def lines_of(known: History, machine: str, report: Report) -> dict[Place, Line]:
    """The history of every kernel's time by graph and key, that of a graph as a whole under an
    empty key."""
    keys = known.frame["key"]
    every = [series for series in report.timed if series.environment.machine == machine]
    timed = [c for c in report.changes if c.series.metric.name == "ms"]
    mine = [change for change in timed if change.series.environment.machine == machine]
    changes = grouped(mine, lambda change: _place(change.series, keys))
    return {
        where: Line(_segments(several), tuple(changes.get(where, ())))
        for where, several in grouped(every, lambda one: _place(one, keys)).items()
    }


def _segments(several: Sequence[Series]) -> tuple[Segment, ...]:
    """The same in different environments, oldest first."""
    return tuple(
        Segment(tuple(one.positions.tolist()), tuple((1000 * np.exp(one.values)).tolist()))
        for one in sorted(several, key=lambda one: int(one.positions[-1]))
    )


def regions_of(known: History, machine: str, kernels: Iterable[Kernel]) -> Iterator[Region]:
    """The regions of ``kernels`` whose history is not that of a kernel: there are several in it, or
    there were."""
    every = [s for s in region_series(known) if s.environment.machine == machine]
    found = grouped(every, lambda series: (series.graph, series.kernel))
    members = grouped(kernels, lambda kernel: (kernel.graph, kernel.record.region))
    in_order = sorted(members.items(), key=lambda one: (one[0][0], len(one[0][1]), one[0][1]))
    for (graph, name), mine in in_order:
        segments = _segments(found.get((graph, name), ()))
        points = sum(len(one.x) for one in segments)
        if len(mine) > 1 or points > sum(len(one.x) for one in mine[0].line.segments):
            changes = tuple(change for kernel in mine for change in kernel.line.changes)
            yield Region(graph, name, len(mine), Line(segments, changes, summed=True))


def _place(series: Series, keys: pd.Series[Any]) -> Place:
    row = int(series.rows[-1])
    return series.graph, "" if row < 0 else str(keys.cat.categories[keys.array.codes[row]])
