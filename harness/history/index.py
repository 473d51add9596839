"""The index: every run's kernels without their samples and texts, quick to query.

A projection of the run files, kept as one Arrow file (``<results>/.index/runs.arrow``) that is
mapped into memory. It is never the truth: it lists the files it was made from with their sizes and
times, and whatever does not agree with the folders is read again; removing it loses nothing. Of two
writers the later wins with a file as good as the other's. A folder that cannot be written has its
index in memory.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.errors import RecordError, reason
from harness.files import write_atomically
from harness.history import schema, store
from harness.records import metrics
from harness.records.names import some
from harness.records.run import EMPTY, TWICE, Run, fields, from_json, to_json
from harness.table import plural

FOLDER = ".index"
FILE = "runs.arrow"
VERSION = "10"
"""Of the index's own format; one of another version is made again."""
_RUNS, _FORMAT = b"harness.index.runs", b"harness.index"

_TEXTS = "graph label key kernel kind region roof check config code compiler".split()
_COUNTS = "launches bytes samples excluded".split()
_FIGURES = "ms low high gbps fraction clock_mhz".split()
_PEER = ("region", "compiler", "ms", "low", "high", "check", "reason")
"""What is read of a region that another compiler was measured on (``run --against``)."""
_NAMES = {"kernel": "name", "code": "code_hash"}
"""Columns that are called something else in a run file."""
_OF_RUN = "id created commit dirty target suite method complete"
_OF_MACHINE = "gpu gpu_uuid driver torch triton".split()
_MADE = ("compiler", "key")
"""Columns that no run file has."""


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """A run file and the run as a whole. ``file`` is relative to the results folder, ``size`` and
    ``changed`` (nanoseconds) are the file's. ``unreadable`` says why there is nothing else.
    ``throttled`` is the share of state readings with the most frequent reason for throttling,
    ``reasons`` why graphs could not be compiled, ``problems`` what it should not hold: figures that
    are none are not in the rows. ``misplaced``: it was made on another machine than it says."""

    file: str
    size: int
    changed: int
    id: str = ""
    created: str = ""
    commit: str = ""
    dirty: bool = False
    machine: str = ""
    gpu: str = ""
    gpu_uuid: str = ""
    driver: str = ""
    torch: str = ""
    triton: str = ""
    target: str = ""
    suite: str = ""
    method: str = ""
    complete: bool = True
    graphs: int = 0
    kernels: int = 0
    failed: int = 0
    throttled: float = 0.0
    codegen_seconds: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    misplaced: bool = False
    unreadable: str = ""

    def days(self, now: datetime) -> float:
        """Days since the run began; one whose time cannot be read is new."""
        try:
            made = datetime.fromisoformat(self.created)
        except ValueError:
            return 0.0
        made = made if made.tzinfo else made.replace(tzinfo=UTC)
        return (now - made) / timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Index:
    """``runs`` by file name, oldest first, and ``rows``: one per kernel, whose column ``run`` is
    a position in ``runs``. ``regions`` are rows of the same columns, one per region and compiler.
    ``notes`` say what had to be made again; ``folder`` holds the runs' folders."""

    runs: tuple[IndexedRun, ...]
    rows: pa.Table
    regions: pa.Table
    notes: tuple[str, ...] = ()
    folder: Path = Path()

    @property
    def readable(self) -> tuple[IndexedRun, ...]:
        """The runs that could be read."""
        return tuple(run for run in self.runs if not run.unreadable)

    @property
    def unreadable(self) -> tuple[IndexedRun, ...]:
        """The files that could not be read, each with its reason."""
        return tuple(run for run in self.runs if run.unreadable)


def refresh(results: Path) -> Index:
    """The index of all runs below ``results``, brought up to date with the folders."""
    present = _present(results)
    known, rows, notes = _read_index(results / FOLDER / FILE)
    runs = {run.file: run for run in known if present.get(run.file) == (run.size, run.changed)}
    new = sorted(present.keys() - runs.keys())
    if new or len(runs) < len(known):
        keys = _Keys()
        read = [_read_run(results, name, *present[name], keys) for name in new]
        stays = pc.is_in(rows["file"], pa.array([*runs], pa.string()))
        whole = pa.concat_tables([rows.filter(stays), *(table for _, table in read)])
        rows = whole.unify_dictionaries().combine_chunks()
        runs |= {run.file: run for run, _ in read}
        _write_index(results / FOLDER, list(runs.values()), rows)
    places = {str(file): n for n, file in enumerate(store.in_order(map(Path, runs)))}
    order = sorted(runs.values(), key=lambda run: places[run.file])
    if ahead := [run.file for run in order if store.is_ahead(Path(run.file).name)]:
        said = f"{plural(len(ahead), 'run')} dated later than now, by a clock that was wrong"
        notes = (*notes, f"{said}: older than all others here ({some(ahead)})")
        order = [replace(run, created="" if run.file in ahead else run.created) for run in order]
    places = pc.index_in(rows["file"], pa.array([run.file for run in order], pa.string()))
    rows = rows.set_column(0, "run", places)
    ours = rows.column("compiler").is_null()
    return Index(tuple(order), rows.filter(ours), rows.filter(pc.invert(ours)), notes, results)


class _Keys:
    """What tells the kernels of a run file from each other, in the order of its rows. Kept for the
    next file: the runs of a history hold the same kernels, and text by text they took a third of
    the time of an index."""

    def __init__(self) -> None:
        self._last: tuple[pa.Table, pa.Array, bool] | None = None

    def find(self, of: pa.Table) -> tuple[pa.Array, bool]:
        """The keys (``schema.series_keys``) of kernels with these graphs, regions, nodes (in
        lines) and names, and whether these tell each kernel from all others."""
        last = self._last
        if last is None or not of.equals(last[0]):
            known = [*zip(*of.to_pydict().values(), strict=True)]
            keys = pa.array(schema.series_keys(known), pa.string()).dictionary_encode()
            self._last = last = of, keys, len({*known}) == len(known)
        return last[1:]


def _present(results: Path) -> dict[str, tuple[int, int]]:
    """The run files with size and time; one that vanishes meanwhile is none."""
    found = {}
    for path in results.glob(f"[!.]*/[!.]*{store.SUFFIX}"):
        with contextlib.suppress(OSError):
            status = path.stat()
            found[f"{path.parent.name}/{path.name}"] = (status.st_size, status.st_mtime_ns)
    return found


def _read_index(path: Path) -> tuple[list[IndexedRun], pa.Table, tuple[str, ...]]:
    """What the index file holds, nothing if it is missing; a note if it is damaged."""
    empty = _columns().empty_table()
    try:
        # Mapped, not read: a renamed file stays whole for those who have it open.
        rows = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        kept = rows.schema.metadata or {}
        if kept.get(_FORMAT) != VERSION.encode() or rows.schema.remove_metadata() != _columns():
            return [], empty, ()
        runs = [IndexedRun(**entry) for entry in json.loads(kept[_RUNS])]
        rows.validate()
        return runs, rows.replace_schema_metadata(None), ()
    except FileNotFoundError:
        return [], empty, ()
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        return [], empty, (f"{path}: the index was damaged ({reason(error)}) and is made again",)


def _write_index(folder: Path, runs: Sequence[IndexedRun], rows: pa.Table) -> None:
    """Replace the index file; a folder that refuses has its index made anew each time."""
    kept = {_FORMAT: VERSION.encode(), _RUNS: msgspec.json.encode(runs)}
    whole = rows.replace_schema_metadata(kept)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, whole.schema) as writer:
        writer.write_table(whole)
    with contextlib.suppress(RecordError):
        write_atomically(folder / FILE, memoryview(sink.getvalue()), mode=0o644)
        if not (folder / ".gitignore").exists():
            write_atomically(folder / ".gitignore", b"*\n", mode=0o644)


def _read_run(
    results: Path, name: str, size: int, changed: int, keys: _Keys
) -> tuple[IndexedRun, pa.Table]:
    """A run file's entry and rows, read without samples and texts."""
    path = results / name
    try:
        with pa.memory_map(str(path)) as source:
            file = _opened(source)
            held = file.schema_arrow
            kept = dict(held.metadata or {})
            run = from_json(Run, store.run_metadata(kept, path), str(path))
            rows, regions, problems = _projected(file, held.names, path, keys)
            rows.validate(full=True)  # texts are UTF-8
            if {*rows.column("graph").unique().to_pylist()} - {one.name for one in run.graphs}:
                raise RecordError("a run file's row belongs to no graph of the run", str(path))
        # The regions of graphs without kernels are in no row.
        bare = [(g.name, to_json(g.regions)) for g in run.graphs if not g.kernels]
        figures = [*_peers(zip(*regions.to_pydict().values(), strict=True)), *_peers(bare)]
        others = pa.Table.from_pylist(figures, schema=_columns())
        entry = _entry(run, rows, name, size, changed, problems)
        whole = pa.concat_tables([rows, others]) if figures else rows
        files = pa.DictionaryArray.from_arrays(np.zeros(whole.num_rows, np.int32), [name])
        return entry, whole.set_column(0, "file", files)
    except RecordError as error:
        reason = str(error)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = str(store.unreadable(path, error))
    return IndexedRun(name, size, changed, unreadable=reason), _columns().empty_table()


def _opened(source: Any) -> Any:
    """A run file whose texts are read as they are kept there, each once with its number."""
    try:
        return pq.ParquetFile(source, pre_buffer=False, read_dictionary=_columns_of(_TEXTS))
    except KeyError:  # one of an older version, without some of these columns
        return pq.ParquetFile(source, pre_buffer=False)


def _projected(
    file: Any, held: Sequence[str], path: Path, keys: _Keys
) -> tuple[pa.Table, pa.Table, list[str]]:
    """The rows of kernels of a ``file`` with the columns ``held``, those of graphs with their
    regions, and what is wrong with kernels. A file whose columns or checks are as they once were is
    brought up to date, which takes reading it whole."""
    kinds = _kinds()
    names = _columns_of(kinds)
    present = {*held, *(metric.column for metric in metrics.static())}
    read = None
    if {*names, "reason", "origins", "regions", "problem"} <= present:
        wanted = [n for n in names if n in held]
        wanted += ["reason", "problem", "check_note", "origins.list.element"]
        peers = [f"regions.list.element.{name}" for name in _PEER]
        read = file.read(columns=[*wanted, *peers], use_threads=False)
        full = pc.match_substring(read["check_note"], schema.LACKED_MEMORY)
        if pc.any(pc.and_(full, pc.equal(read["check"], "failed"))).as_py():
            read = None
    if read is None:
        read = schema.table(store.load(path))
    columns = {"file": pa.nulls(read.num_rows, kinds["graph"])}
    for name, kind in kinds.items():
        column = pa.nulls(read.num_rows, kind)
        if (called := _NAMES.get(name, name)) in read.column_names and name not in _MADE:
            column = read.column(called).combine_chunks().cast(kind)
        columns[name] = column
    nodes = pc.binary_join(read["origins"], "\n").combine_chunks()
    of = pa.table({n: columns.get(n, nodes) for n in ("graph", "region", "nodes", "kernel")})
    columns["key"], unlike = keys.find(of)
    failed, why = pc.equal(read["check"], "failed"), pc.not_equal(read["reason"], "")
    columns["failed"] = pc.fill_null(pc.or_kleene(failed, why), False)
    problem = read["problem"].combine_chunks()
    if not unlike:  # a graph that is there twice holds kernels of which each record knows one
        known = [*zip(*of.to_pydict().values(), columns["code"].to_pylist(), strict=True)]
        first = {one: n for n, one in reversed([*enumerate(known)])}
        again = pa.array([first[one] < n for n, one in enumerate(known)], pa.bool_())
        problem = pc.if_else(again, TWICE, problem)
    wrong = pc.not_equal(problem, "")
    for each in ("ms", "low", "high", "gbps", "fraction"):
        columns[each] = pc.if_else(wrong, None, columns[each])
    rows = pa.table(columns | {"problem": problem})
    bad = rows.select(["kernel", "graph", "problem"]).filter(wrong).to_pydict()
    texts = zip(*bad.values(), strict=True)
    said = [f"kernel {one} of {where}: {text}" for one, where, text in texts]
    rows = rows.filter(pc.not_equal(problem, TWICE)) if said else rows
    beside = read.select(["graph", "regions"])
    beside = beside.filter(pc.greater(pc.list_value_length(beside["regions"]), 0))
    return rows.drop_columns("problem"), beside, said


def _peers(graphs: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    """A row for each region of ``graphs`` (name, regions) and compiler. A figure with a reason is
    unlike the others and left out."""
    return [
        {"graph": graph, **{n: region[n] for n in _PEER if n != "reason"}, "failed": False}
        for graph, regions in graphs
        for region in regions or ()
        if region["ms"] is not None and not region["reason"] and region["check"] != "failed"
    ]


def _columns_of(names: Iterable[str]) -> list[str]:
    """What the columns ``names`` are called in a run file."""
    return [_NAMES.get(name, name) for name in names if name not in _MADE]


def _kinds() -> dict[str, pa.DataType]:
    """The columns that are taken from run files, static metrics among them."""
    return {
        **dict.fromkeys(_TEXTS, pa.dictionary(pa.int32(), pa.string())),
        **dict.fromkeys((*_COUNTS, *(metric.column for metric in metrics.static())), pa.int64()),
        **dict.fromkeys(_FIGURES, pa.float64()),
    }


def _columns() -> pa.Schema:
    kinds = _kinds()
    return pa.schema([("file", kinds["graph"]), *kinds.items(), ("failed", pa.bool_())])


def _entry(
    run: Run, rows: pa.Table, name: str, size: int, changed: int, problems: Sequence[str]
) -> IndexedRun:
    same = fields(run, _OF_RUN)
    same |= {name: getattr(run.machine, name) or "" for name in _OF_MACHINE}
    empty = [EMPTY] if run.empty and run.complete and not rows.num_rows else []
    broken = sum(bool(graph.reason) for graph in run.graphs)
    readings = run.state.samples if run.state else 0
    throttled = max(run.state.throttled.values(), default=0) if run.state else 0
    return IndexedRun(
        name,
        size,
        changed,
        machine=run.machine.key,
        graphs=len(run.graphs),
        kernels=rows.num_rows,
        failed=broken + rows["failed"].to_pylist().count(True),
        throttled=throttled / readings if readings else 0.0,
        codegen_seconds={g.name: s for g in run.graphs if (s := g.codegen_seconds) is not None},
        reasons={g.name: g.reason for g in run.graphs if g.reason},
        problems=[*([run.machine.problem] if run.machine.problem else empty), *problems],
        misplaced=bool(run.machine.problem),
        **same,
    )
