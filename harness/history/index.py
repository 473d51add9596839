"""The index: every run's kernels without their samples and texts, quick to query.

One Arrow file per machine folder below ``<results>/.index``, mapped into memory. It is never the
truth: it lists the run files it was made from with their sizes and times, and whatever does not
agree with the folder is read again from the run files; removing it loses nothing. It is written
to a temporary file and renamed, so a reader sees a whole one, and of two writers the later wins
with a file as good as the other's. A folder that cannot be written has its index in memory.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import RecordError
from harness.history import schema, store
from harness.records import metrics
from harness.records.run import KernelRecord, Run, StateSummary, from_json

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = ".index"
VERSION = "3"
"""Of the index's own format; one of another version is made again."""
_RUNS, _FORMAT = b"harness.index.runs", b"harness.index"

TEXTS = (
    "graph",
    "label",
    "kernel",
    "kind",
    "region",
    "roof",
    "check",
    "config",
    "code",
    "compiler",
)
COUNTS = ("launches", "bytes", "samples", "excluded")
FIGURES = ("ms", "low", "high", "gbps", "fraction", "clock_mhz")
PEER = ("region", "compiler", "ms", "low", "high", "check")
"""What is kept of a region that another compiler was measured on (``run --against``)."""
_COMPILER = "regions.list.element.compiler"
_NAMES = {"kernel": "name", "code": "code_digest"}
"""Columns that are called something else in a run file."""


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """A run file and the run as a whole. ``file`` is relative to the results folder, ``size`` and
    ``changed`` (nanoseconds) are the file's. ``unreadable`` says why there is nothing else.
    ``throttled`` is the share of state readings that showed the GPU throttling.
    """

    file: str
    size: int
    changed: int
    id: str = ""
    created: str = ""
    commit: str = ""
    dirty: bool = False
    machine: str = ""
    gpu: str = ""
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
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """``runs`` by file name, oldest first, and ``rows``: one per kernel, whose column ``run`` is
    a position in ``runs``. ``regions`` are rows of the same columns, one per region and compiler.
    ``notes`` say what had to be made again."""

    runs: tuple[IndexedRun, ...]
    rows: pa.Table
    regions: pa.Table
    notes: tuple[str, ...] = ()

    @property
    def readable(self) -> tuple[IndexedRun, ...]:
        """The runs that could be read."""
        return tuple(run for run in self.runs if not run.unreadable)

    @property
    def unreadable(self) -> tuple[IndexedRun, ...]:
        """The files that could not be read, each with its reason."""
        return tuple(run for run in self.runs if run.unreadable)


def refresh(results: Path) -> Index:
    """The index of all runs below ``results``, brought up to date with the folder."""
    import pyarrow as pa

    runs: list[IndexedRun] = []
    tables: list[Any] = []
    notes: list[str] = []
    for folder in machine_folders(results):
        shard_runs, shard_rows, note = _refresh_folder(results, folder)
        if note:
            notes.append(note)
        numbers = shard_rows.column("run").to_numpy() + len(runs)
        runs.extend(shard_runs)
        tables.append(shard_rows.set_column(0, "run", pa.array(numbers, pa.int32())))
    rows = pa.concat_tables(tables) if tables else _empty()
    return _oldest_first(runs, rows, tuple(notes))


def machine_folders(results: Path) -> list[Path]:
    """The folders below ``results`` that hold runs of a machine each."""
    try:
        entries = sorted(results.iterdir())
    except OSError:
        return []
    return [entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")]


def _oldest_first(runs: list[IndexedRun], rows: pa.Table, notes: tuple[str, ...]) -> Index:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    order = sorted(range(len(runs)), key=lambda i: (Path(runs[i].file).name, runs[i].file))
    places = np.empty(len(runs), np.int32)
    places[order] = np.arange(len(runs), dtype=np.int32)
    moved = places[rows.column("run").to_numpy()] if len(runs) else np.zeros(0, np.int32)
    rows = rows.set_column(0, "run", pa.array(moved, pa.int32()))
    regions = rows.slice(0, 0)
    if rows.column("compiler").null_count < rows.num_rows:
        compiled = rows.column("compiler").is_valid()
        rows, regions = rows.filter(pc.invert(compiled)), rows.filter(compiled)
    return Index(tuple(runs[i] for i in order), rows, regions, notes)


def _refresh_folder(results: Path, folder: Path) -> tuple[list[IndexedRun], pa.Table, str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    shard = results / FOLDER / f"{folder.name}.arrow"
    present = _present(results, folder)
    known, rows, note = _read_shard(shard)
    same = {run.file for run in known if present.get(run.file) == (run.size, run.changed)}
    if len(same) == len(known) == len(present):
        return known, rows, note
    kept = [i for i, run in enumerate(known) if run.file in same]
    runs = [known[i] for i in kept]
    tables = []
    if len(kept) == len(known):
        tables.append(rows)
    elif kept:
        new = {i: place for place, i in enumerate(kept)}
        places = pa.array([new.get(i) for i in range(len(known))], pa.int32())
        column = places.take(rows.column("run").combine_chunks()).cast(pa.int32())
        rows = rows.set_column(0, "run", column)
        tables.append(rows.filter(pc.is_valid(rows.column("run"))))
    for name in sorted(set(present) - same):
        run, table = _read_run(results, name, *present[name])
        number = pa.array([len(runs)] * table.num_rows, pa.int32())
        runs.append(run)
        tables.append(table.add_column(0, "run", number))
    rows = pa.concat_tables(tables).unify_dictionaries() if tables else _empty()
    rows = rows.combine_chunks()
    _write_shard(shard, runs, rows)
    return runs, rows, note


def _present(results: Path, folder: Path) -> dict[str, tuple[int, int]]:
    """The run files of ``folder`` with size and time; one that vanishes meanwhile is none."""
    found = {}
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(store.SUFFIX) and not entry.name.startswith("."):
                with contextlib.suppress(OSError):
                    status = entry.stat()
                    name = (Path(entry.path).relative_to(results)).as_posix()
                    found[name] = (status.st_size, status.st_mtime_ns)
    return found


def _read_shard(shard: Path) -> tuple[list[IndexedRun], pa.Table, str]:
    """What the index file holds, nothing if it is missing; a note if it is damaged."""
    import pyarrow as pa

    try:
        # Mapped, not read: a renamed file stays whole for those who have it open.
        rows = pa.ipc.open_file(pa.memory_map(str(shard))).read_all()
        metadata = rows.schema.metadata or {}
        if metadata.get(_FORMAT) != VERSION.encode():
            return [], _empty(), ""
        runs = [IndexedRun(**entry) for entry in json.loads(metadata[_RUNS])]
        rows.validate()
    except FileNotFoundError:
        return [], _empty(), ""
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return [], _empty(), f"{shard}: the index was damaged ({reason}) and is made again"
    if rows.schema.remove_metadata() != _columns():
        return [], _empty(), ""
    return runs, rows.replace_schema_metadata(None), ""


def _write_shard(shard: Path, runs: list[IndexedRun], rows: pa.Table) -> None:
    """Replace the index file; a folder that refuses has its index made anew each time."""
    import pyarrow as pa

    metadata = {_FORMAT: VERSION.encode(), _RUNS: json.dumps([asdict(r) for r in runs]).encode()}
    whole = rows.replace_schema_metadata(metadata)
    temporary: Path | None = None
    try:
        shard.parent.mkdir(parents=True, exist_ok=True)
        ignore = shard.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        handle, name = tempfile.mkstemp(dir=shard.parent, prefix=".", suffix=".tmp")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file, pa.ipc.new_file(file, whole.schema) as writer:
            writer.write_table(whole)
        temporary.replace(shard)
    except OSError:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _read_run(results: Path, name: str, size: int, changed: int) -> tuple[IndexedRun, pa.Table]:
    """A run file's entry and rows, read without samples and, where it has digests, texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = results / name
    try:
        with pa.memory_map(str(path)) as source:
            file = pq.ParquetFile(source, pre_buffer=False)
            metadata: Mapping[bytes, bytes] = file.schema_arrow.metadata or {}
            run = from_json(Run, store.run_metadata(dict(metadata), path), str(path))
            table, regions = _rows_of(file), _regions_of(file, run)
            table.validate(full=True)  # texts are UTF-8
    except RecordError as error:
        return IndexedRun(name, size, changed, unreadable=str(error)), _empty_rows()
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        return (
            IndexedRun(name, size, changed, unreadable=str(store.unreadable(path, error))),
            _empty_rows(),
        )
    entry = _entry(run, table, name, size, changed)
    return entry, pa.concat_tables([table, regions]) if regions.num_rows else table


def _rows_of(file: Any) -> pa.Table:
    import pyarrow as pa

    present = set(file.schema_arrow.names)
    wanted = [_NAMES.get(name, name) for name in _kinds()]
    extra = ["reason"] if "code_digest" in present else ["reason", "module"]
    if "label" not in present:
        extra.append("origins")
    read = file.read(columns=[n for n in (*wanted, *extra) if n in present], use_threads=False)
    columns: dict[str, Any] = {}
    for name, kind in _kinds().items():
        source = _NAMES.get(name, name)
        if source in read.column_names:
            column = read.column(source).combine_chunks()
        elif source == "code_digest" and "module" in read.column_names:
            column = pa.array(_digests(read))
        elif name == "label" and "origins" in read.column_names:
            column = pa.array(_labels(read))
        else:
            column = pa.nulls(read.num_rows, kind)
        columns[name] = _as(column, kind)
    failed = [
        check == "failed" or bool(reason)
        for check, reason in zip(
            columns["check"].to_pylist(), read.column("reason").to_pylist(), strict=True
        )
    ]
    columns["failed"] = pa.array(failed, pa.bool_())
    return pa.table(columns)


def _regions_of(file: Any, run: Run) -> pa.Table:
    """The regions of other compilers, without samples: a column of graphs' first rows, or in files
    of older versions the metadata. A figure with a reason is unlike the others and left out."""
    import pyarrow as pa

    found = [
        (graph.name, {**asdict(region), "check": region.check.value})
        for graph in run.graphs
        for region in graph.regions
    ]
    if "regions" in file.schema_arrow.names and _has_values(file, _COMPILER):
        wanted = [f"regions.list.element.{name}" for name in (*PEER, "reason")]
        read = file.read(columns=["graph", *wanted], use_threads=False)
        lists = read.column("regions").combine_chunks()
        pairs = zip(read.column("graph").to_pylist(), lists.to_pylist(), strict=True)
        found += [(graph, region) for graph, regions in pairs for region in regions or ()]
    rows = [
        {"graph": graph, **{name: region[name] for name in PEER}, "failed": False}
        for graph, region in found
        if region["ms"] is not None and not region["reason"] and region["check"] != "failed"
    ]
    schema = _empty_rows().schema
    if not rows:
        return schema.empty_table()
    plain = [pa.string() if pa.types.is_dictionary(each.type) else each.type for each in schema]
    table = pa.Table.from_pylist(
        rows, schema=pa.schema(list(zip(schema.names, plain, strict=True)))
    )
    columns = [_as(table.column(each.name).combine_chunks(), each.type) for each in schema]
    return pa.table(columns, schema=schema)


def _has_values(file: Any, path: str) -> bool:
    """Whether a nested column holds anything, so far as the file's statistics say."""
    names = [file.schema.column(i).path for i in range(len(file.schema))]
    place = names.index(path) if path in names else None
    if place is None:
        return False
    for group in range(file.num_row_groups):
        statistics = file.metadata.row_group(group).column(place).statistics
        if statistics is None or statistics.has_min_max:
            return True
    return False


def _labels(read: pa.Table) -> list[str]:
    """Labels of a file that was written before there were any. Graphs come one after another."""
    columns = [read.column(name).to_pylist() for name in ("graph", "name", "origins")]
    found: list[str] = []
    for _, rows in itertools.groupby(zip(*columns, strict=True), key=lambda row: row[0]):
        found.extend(schema.labels((name, origins or ()) for _, name, origins in rows))
    return found


def _digests(read: pa.Table) -> list[str]:
    names, modules = read.column("name").to_pylist(), read.column("module").to_pylist()
    pairs = zip(names, modules, strict=True)
    return [schema.code_digest(KernelRecord(n, "", 0, module=m or "")) for n, m in pairs]


def _as(column: Any, kind: pa.DataType) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return column.cast(pa.string()).dictionary_encode()
    return column.cast(kind)


def _kinds() -> dict[str, pa.DataType]:
    """The columns that are taken from run files, static metrics among them."""
    import pyarrow as pa

    counts = (*COUNTS, *(metric.column for metric in metrics.static()))
    return {
        **dict.fromkeys(TEXTS, pa.dictionary(pa.int32(), pa.string())),
        **dict.fromkeys(counts, pa.int64()),
        **dict.fromkeys(FIGURES, pa.float64()),
    }


def _columns() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([("run", pa.int32()), *_kinds().items(), ("failed", pa.bool_())])


def _empty() -> pa.Table:
    return _columns().empty_table()


def _empty_rows() -> pa.Table:
    return _empty().drop_columns(["run"])


def _entry(run: Run, rows: pa.Table, name: str, size: int, changed: int) -> IndexedRun:
    broken = sum(bool(graph.reason) for graph in run.graphs)
    return IndexedRun(
        file=name,
        size=size,
        changed=changed,
        id=run.id,
        created=run.created,
        commit=run.commit,
        dirty=run.dirty,
        machine=run.machine.key,
        gpu=run.machine.gpu or "",
        driver=run.machine.driver or "",
        torch=run.machine.torch,
        triton=run.machine.triton,
        target=run.target,
        suite=run.suite,
        method=run.method,
        complete=run.complete,
        graphs=len(run.graphs),
        kernels=rows.num_rows,
        failed=broken + sum(rows.column("failed").to_pylist()),
        throttled=_throttled(run.state),
        codegen_seconds={
            graph.name: graph.codegen_seconds
            for graph in run.graphs
            if graph.codegen_seconds is not None
        },
    )


def _throttled(state: StateSummary | None) -> float:
    """The share of readings that showed the reason for throttling seen most often."""
    if state is None or not state.samples:
        return 0.0
    return max(state.throttled.values(), default=0) / state.samples
