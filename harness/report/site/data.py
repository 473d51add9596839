"""What the pages show, as plain records: the history of a machine and the newest runs, joined.
Everything here is computed from what is passed; nothing is drawn and nothing is written."""

from __future__ import annotations

import difflib
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from harness.errors import unknown
from harness.files import slug
from harness.history import schema
from harness.history.changes.changes import Change
from harness.history.changes.series import History
from harness.history.nights import NightCommit
from harness.ir.reach import grouped
from harness.records import metrics, modules
from harness.records.causes import setting_changes
from harness.records.names import short
from harness.records.run import GraphRecord, KernelRecord, Run
from harness.table import plural
from harness.verdicts.totals import model_of

_CONTEXT = 4
"""Unchanged lines around a difference."""
NOWHERE = "not timed in a run that the history takes"
_DIGITS = 7
"""Digits of a commit that are taken for its name, as git does."""
Place: TypeAlias = tuple[str, str]
"""A graph, and what a kernel of it computes."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A line's points in one environment: ``x`` are positions in the history, ``y`` the values."""

    x: tuple[int, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A history: ``segments`` of points (µs) in one environment each, oldest first, and the
    ``changes`` of its time; of a sum (``summed``) those of its parts."""

    segments: tuple[Segment, ...] = ()
    changes: tuple[Change, ...] = ()
    summed: bool = False

    @property
    def values(self) -> tuple[float, ...]:
        """The points of the newest environment."""
        return self.segments[-1].y if self.segments else ()


@dataclass(frozen=True, slots=True)
class Earlier:
    """The kernel as it was up to ``commit``, before its code or configuration changed at
    ``until``. ``record`` holds no more than name, configuration, static metrics and, where the code
    changed, the module."""

    commit: str
    until: str
    record: KernelRecord


@dataclass(frozen=True)
class Kernel:
    """A kernel of the newest run that has its graph. ``page`` is its file's name, ``label`` what
    the history calls it, ``line`` its time, ``exact`` the changes of its static metrics,
    ``earlier`` what it was before it last changed, and before its code did."""

    page: str
    graph: str
    key: str
    label: str
    record: KernelRecord
    run: Run
    line: Line = field(default_factory=Line)
    exact: Sequence[Change] = ()
    earlier: Sequence[Earlier] = ()

    @property
    def name(self) -> str:
        """Its own name, as tables print it."""
        return short(self.record.name)

    @property
    def model(self) -> str:
        """The model that its graph is of."""
        return model_of(self.graph)

    @property
    def total_us(self) -> float | None:
        """Microseconds of all launches."""
        return None if self.record.ms is None else 1000 * self.record.ms * self.record.launches

    @cached_property
    def flops(self) -> int:
        """Floating-point operations of a launch (modelled); 0 where the module does not say."""
        return int(modules.stated(self.record.module, "FLOPS") or 0)

    @cached_property
    def parts(self) -> tuple[str, str]:
        """The module's text that is its own, and the rest that every module has."""
        own, mark, rest = self.record.module.partition("\n# What follows is no different")
        return own.rstrip(), (mark + rest).strip()

    @cached_property
    def about(self) -> tuple[str, ...]:
        """The lines of source that it came from."""
        text = self.record.module.lstrip()
        said = text.split('"""')[1] if text.startswith('"""') else ""
        return tuple(line.strip() for line in said.splitlines()[1:] if line.strip())

    @cached_property
    def recoded(self) -> Earlier | None:
        """What it was before its code last changed."""
        return next((one for one in self.earlier if one.record.module), None)

    @cached_property
    def difference(self) -> tuple[str, ...]:
        """A unified diff from the earlier code to today's."""
        if self.recoded is None:
            return ()
        before, after = (modules.code(r.module) for r in (self.recoded.record, self.record))
        old, new = (commit[:10] for commit in (self.recoded.commit, self.recoded.until))
        lines = difflib.unified_diff(
            before.split("\n"), after.split("\n"), old, new, n=_CONTEXT, lineterm=""
        )
        return tuple(lines)

    @property
    def settings(self) -> list[str]:
        """What its configuration differs in from what it was before."""
        before = self.earlier[0].record.config if self.earlier else None
        return setting_changes(before, self.record.config)

    @property
    def figures(self) -> list[tuple[str, str, str]]:
        """Static metrics: title, value, and the earlier value where that was another one."""
        rows = []
        for metric in metrics.by_rank():
            now = metric.of(self.record)
            then = metric.of(self.earlier[0].record) if self.earlier else None
            if now is not None:
                old = metric.text(then) if then is not None and then != now else ""
                unit = f", {metric.unit}" if metric.unit not in ("", metric.title) else ""
                rows.append((f"{metric.title}{unit}", metric.text(now), old))
        return rows


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a graph; ``line`` is the time of all launches of the ``kernels`` that it has now
    and had before."""

    graph: str
    name: str
    kernels: int
    line: Line


@dataclass(frozen=True, slots=True)
class Model:
    """A model (a graph's forward and backward together). ``line`` is the sum of its graphs' times;
    ``month`` that sum thirty days ago, ``against`` other compilers' time over ours."""

    name: str
    page: str
    graphs: tuple[GraphRecord, ...]
    kernels: tuple[Kernel, ...]
    line: Line
    parts: Mapping[str, Line]
    month: float | None = None
    regions: tuple[Region, ...] = ()

    @property
    def today(self) -> float | None:
        """Microseconds of all its launches: the newest point, else the sum of what was timed."""
        if self.line.values:
            return self.line.values[-1]
        timed = [kernel.total_us for kernel in self.kernels if kernel.total_us is not None]
        return sum(timed) if timed else None

    @property
    def points(self) -> int:
        """Commits at which all of it was timed."""
        return sum(len(segment.x) for segment in self.line.segments)

    @property
    def missing(self) -> str:
        """Why its newest run is no point of its history; empty if it is one."""
        if not all(kernel.run.complete for kernel in self.kernels):
            return "the run was interrupted and may lack kernels"
        if untimed := sum(kernel.total_us is None for kernel in self.kernels):
            return f"{plural(untimed, 'kernel')} without a time"
        if self.points:
            return ""
        whole = len(self.parts) == len(self.graphs)
        return "no commit timed all of its graphs" if whole else NOWHERE


@dataclass(frozen=True)
class Site:
    """All of it, for one machine. ``commits`` are those of the history, by position; ``links`` are
    the other machines and where their pages are, as seen from this one's; ``newest`` is the run
    measured last; ``first`` is the way to the site's first folder, empty if this is it."""

    machine: str
    links: tuple[tuple[str, str], ...]
    commits: tuple[NightCommit, ...]
    kernels: tuple[Kernel, ...]
    models: tuple[Model, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    newest: Run
    first: str = ""

    @cached_property
    def called(self) -> dict[tuple[str, str], Kernel]:
        """Kernels by graph and name, what they compute, or what the history calls them."""
        names = (attrgetter("record.name"), attrgetter("key"), attrgetter("label"))
        return {(kernel.graph, of(kernel)): kernel for of in names for kernel in self.kernels}

    @cached_property
    def places(self) -> dict[str, int]:
        """Positions of commits by their full name."""
        return {commit.sha: place for place, commit in enumerate(self.commits)}

    def commit(self, name: str) -> NightCommit:
        """The commit of that name (or its first digits), with what is known of it."""
        begun = (one for one in self.commits if len(name) >= _DIGITS and one.sha.startswith(name))
        known = self.places.get(name)
        return next(begun, NightCommit(name)) if known is None else self.commits[known]

    def is_newest(self, change: Change) -> bool:
        """Whether a change is of the newest commit."""
        return bool(self.commits) and change.commit == self.commits[-1].sha

    def model(self, name: str) -> Model:
        """The model of that name."""
        return next(model for model in self.models if model.name == name)


def choose_machine(known: History, wanted: str) -> tuple[str, dict[str, int]]:
    """The machine whose name holds ``wanted`` and was measured last, and for each of its graphs the
    newest run that has it. Raises ``UnknownName`` if no run is of such a machine."""
    readable = [n for n, run in enumerate(known.runs) if not run.unreadable]
    if not (mine := [n for n in readable if wanted.lower() in known.runs[n].machine]):
        machines = sorted({known.runs[n].machine for n in readable})
        remedy = "name one of these, or measure: harness run"
        raise unknown("no run is of such a machine", wanted, machines, remedy=remedy)
    placed = [n for n in mine if known.position_of_run[n] >= 0] or mine
    order = sorted(placed, key=lambda n: (known.position_of_run[n], known.runs[n].created))
    name = known.runs[max(order, key=lambda n: known.runs[n].created)].machine
    rows = known.frame[["run", "graph"]].drop_duplicates()
    graphs = grouped(zip(rows["run"], rows["graph"], strict=True), lambda pair: int(pair[0]))
    latest: dict[str, int] = {}
    for n in order:
        if known.runs[n].machine == name:
            its = [str(graph) for _, graph in graphs.get(n, ())]
            latest.update(dict.fromkeys((*its, *known.runs[n].reasons), n))
    return name, latest


def kernels_of(
    graphs: Iterable[tuple[GraphRecord, Run]],
    lines: Mapping[Place, Line],
    exact: Mapping[Place, Sequence[Change]],
    earlier: Mapping[Place, Sequence[Earlier]],
) -> tuple[Kernel, ...]:
    """Every kernel of ``graphs``, each with its run, and of its history what there is; what takes
    most time first."""
    found = []
    for graph, run in graphs:
        names = schema.identities(graph)
        for (key, label), record in zip(names, graph.kernels, strict=True):
            # Its file's name stays while the kernel computes the same nodes.
            digest = hashlib.sha256(f"{graph.name}\n{key}".encode()).hexdigest()[:8]
            page = f"{slug(graph.name)[:40]}.{slug(label)[:40]}.{digest}.html"
            at = graph.name, key
            history = lines.get(at, Line()), exact.get(at, ()), earlier.get(at, ())
            found.append(Kernel(page, graph.name, key, label, record, run, *history))
    return tuple(sorted(found, key=lambda kernel: -(kernel.total_us or 0.0)))


def versions(
    known: History, machine: str, latest: Mapping[str, int]
) -> dict[Place, list[tuple[int, int]]]:
    """For each kernel (graph, key) of ``latest`` where it last changed in code or configuration,
    and before that in code: rows of the last run with what it was, and of the first with what it
    is now."""
    frame, at = known.frame, known.position_of_run[known.frame["run"]]
    mine = np.array([run.machine == machine for run in known.runs], bool)[frame["run"]]
    rows = frame[["graph", "key", "run"]].assign(at=at, row=frame.index)
    rows = rows.assign(**{name: frame[name].cat.codes for name in ("code", "config")})
    rows = rows[mine & (at >= 0) & frame["graph"].isin(latest)]
    rows = rows.sort_values(["graph", "key", "at", "run"])
    before = rows.groupby(["graph", "key"], observed=True)[["row", "code", "config"]].shift()
    code, config = (before[n].notna() & (before[n] != rows[n]) for n in ("code", "config"))
    rows = rows.assign(before=before["row"])
    found: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    for changed in (code | config, code):
        last = rows[changed].drop_duplicates(["graph", "key"], keep="last")
        for graph, key, old, new in last[["graph", "key", "before", "row"]].itertuples(index=False):
            if (pair := (int(old), int(new))) not in found[graph, key]:
                found[graph, key].append(pair)
    return dict(found)


def models_of(
    graphs: Iterable[GraphRecord],
    kernels: Sequence[Kernel],
    lines: Mapping[Place, Line],
    month: int,
    regions: Iterable[Region],
) -> tuple[Model, ...]:
    """The models of ``graphs``; ``month`` is the position in the history that thirty days ago
    comes to (-1: the history is not as old)."""
    kernels_by_model = grouped(kernels, lambda kernel: kernel.model)
    regions_by_model = grouped(regions, lambda region: model_of(region.graph))
    found = []
    in_order = sorted(graphs, key=lambda graph: graph.name)
    for name, mine in grouped(in_order, lambda graph: model_of(graph.name)).items():
        parts = {graph.name: lines[graph.name, ""] for graph in mine if (graph.name, "") in lines}
        total = _sum(list(parts.values())) if len(parts) == len(mine) else Line()
        then = [
            value
            for segment in total.segments[-1:]
            for place, value in zip(segment.x, segment.y, strict=True)
            if place <= month
        ]
        page = f"{slug(name)[:60]}.{hashlib.sha256(name.encode()).hexdigest()[:6]}.html"
        inside = tuple(kernels_by_model.get(name, ())), total, parts, then[-1] if then else None
        found.append(Model(name, page, tuple(mine), *inside, tuple(regions_by_model.get(name, ()))))
    return tuple(found)


def _sum(lines: Sequence[Line]) -> Line:
    """The sum of several histories where all of them have points, by environment."""
    changes = tuple(change for line in lines for change in line.changes)
    if len(lines) == 1:
        return Line(lines[0].segments, changes)
    segments = []
    for group in zip(*(reversed(line.segments) for line in lines), strict=False):
        known = [dict(zip(segment.x, segment.y, strict=True)) for segment in group]
        if common := sorted(set.intersection(*map(set, known))):
            sums = tuple(sum(values[place] for values in known) for place in common)
            segments.append(Segment(tuple(common), sums))
    return Line(tuple(reversed(segments)), changes, summed=True)


def chart(line: Line, site: Site) -> dict[str, Any]:
    """What ``site.js`` draws a history from: segments of positions and values, and the changes. A
    mark stands at ``x`` and lies in ``low`` to ``high``; ``style`` is a class of the style sheet,
    ``old`` and ``new`` are the levels, None where the line is of a sum."""
    places = site.places
    marks = [
        {
            "x": places[change.commit],
            "low": places.get(change.lowest, places[change.commit]),
            "high": places.get(change.highest, places[change.commit]),
            "old": None if line.summed else 1000 * change.old,
            "new": None if line.summed else 1000 * change.new,
            "style": change.verdict if change.confirmed else "suspected",
            "text": f"{change.series.kernel.rpartition('/')[2] or change.series.graph} "
            * line.summed
            + f"{100 * (change.size or 0):+.1f} % {change.commit[:10]}",
        }
        for change in line.changes
        if change.commit in places
    ]
    return {
        "segments": [{"x": one.x, "y": _rounded(one.y)} for one in line.segments],
        "marks": sorted(marks, key=lambda mark: mark["style"] != "regression"),
    }


def _rounded(values: Sequence[float]) -> list[float]:
    """Five digits of each."""
    given = np.asarray(values, float)
    scale = 10.0 ** (4 - np.floor(np.log10(given)))
    return (np.rint(given * scale) / scale).tolist()
