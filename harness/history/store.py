"""The store: one immutable Parquet file per run, below ``<results>/<machine>/``.

A row is a kernel; samples are a nested list, the emitted module's text is a column, and what
belongs to the run as a whole is repeated in key columns and kept in full in the file's metadata.
pandas, DuckDB and Spark read the files as they are.

Writing is atomic and never replaces a file (``files.publish``). A run in progress is a journal
beside it (``history.journal``). A run is found as the latest, by its path, or by an unambiguous
beginning of its identifier.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness import files
from harness.errors import RecordError, UnknownName, UsageError, unknown
from harness.files import publish
from harness.history import schema
from harness.history.schema import RUN_KEY, VERSION_KEY
from harness.records.lines import known_version
from harness.records.run import SCHEMA_VERSION, GraphRecord, KernelRecord, Run, from_json

SUFFIX = ".parquet"
LATEST = "latest"
_FEWEST = 4
"""Digits by which a commit may be named, as in git."""
_ABBREVIATED = 12
"""Digits of the commit in a run's identifier (``session.plan.new_run``)."""


def run_path(results: Path, run: Run) -> Path:
    """Where ``run`` is stored below ``results`` (the name its identifier gives). Raises
    ``RecordError`` for a machine or an identifier that names another place."""
    for name in (run.machine.key, run.id):
        if not name or name.startswith(".") or "/" in name or "\\" in name or "\0" in name:
            raise RecordError(
                "a run's name leads out of the results folder",
                str(results),
                got=repr(name)[:80],
                expected="a machine and an identifier without separators",
            )
    return results / run.machine.key / f"{run.id}{SUFFIX}"


def save(results: Path, run: Run) -> Path:
    """Write ``run`` and return the file's path; the folder is made if it is missing. A file of that
    name is left alone: the new one gets a number behind its name. Raises ``RecordError`` when the
    folder cannot be written or the disk is full; nothing half-written stays behind."""
    path = save_new(results, run, lambda _: False)
    assert path is not None
    return path


def save_new(results: Path, run: Run, is_same: Callable[[Path], bool]) -> Path | None:
    """As ``save``; None, and nothing is written, if a file of that name ``is_same``."""
    path = run_path(results, run)
    sink = pa.BufferOutputStream()
    schema.write(run, sink)
    try:
        return publish(path, memoryview(sink.getvalue()), is_same)
    except OSError as error:
        raise write_error(path, error) from error


def load(path: str | os.PathLike[str]) -> Run:
    """The run in the file at ``path``. Raises ``RecordError`` for a file that is missing, torn, of
    another kind, or of a later schema version. Loading executes nothing that the file holds."""
    path = Path(path)
    run, table = _read(path)
    version = int(table.schema.metadata[VERSION_KEY])
    kernels: dict[str, list[KernelRecord]] = {graph.name: [] for graph in run.graphs}
    regions = {graph.name: graph.regions for graph in run.graphs}
    for number, row in enumerate(table.to_pylist()):
        place = f"{path}: row {number}"
        try:
            kernel = schema.kernel_of(row, version, place)
            found = schema.regions_of(row, place)
        except ValueError as error:  # a mapping that is no JSON
            raise RecordError("a run file's row is damaged", place, got=str(error)) from error
        if row["graph"] not in kernels:
            raise RecordError(
                "a run file's row belongs to no graph of the run",
                str(path),
                got=str(row["graph"]),
                expected=", ".join(kernels),
            )
        kernels[row["graph"]].append(kernel)
        regions[row["graph"]] += found
    made = (replace(g, kernels=tuple(kernels[g.name]), regions=regions[g.name]) for g in run.graphs)
    return replace(run, graphs=tuple(made))


def load_modules(path: Path, graphs: Collection[str]) -> list[GraphRecord]:
    """``graphs`` of the run in the file at ``path``, of their kernels no more than names, launches
    and modules. Raises as ``load``."""
    run, table = _read(path, ["graph", "name", "launches", "module"])
    rows = table.filter(pc.is_in(table["graph"], pa.array(graphs, pa.string()))).to_pylist()
    kernels: dict[str, list[KernelRecord]] = {name: [] for name in graphs}
    for row in rows:
        launches, module = row.get("launches") or 1, row.get("module") or ""
        made = KernelRecord(row["name"], "", 0, launches=launches, module=module)
        kernels[row["graph"]].append(made)
    return [replace(g, kernels=tuple(kernels[g.name])) for g in run.graphs if g.name in kernels]


def _read(path: Path, columns: Sequence[str] | None = None) -> tuple[Run, pa.Table]:
    """What a run file says of the run, and its rows."""
    try:
        # One thread, no file object: pyarrow's pools may otherwise still be starting a thread
        # when a short command ends, and the process aborts.
        whole = pa.BufferReader(path.read_bytes())
        table = pq.ParquetFile(whole, pre_buffer=False).read(columns, use_threads=False)
        table.validate(full=True)
    except FileNotFoundError as error:
        raise RecordError("there is no such run file", str(path)) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unreadable(path, error) from error
    metadata: dict[bytes, bytes] = dict(table.schema.metadata or {})
    return from_json(Run, run_metadata(metadata, path), str(path)), table


def unreadable(path: Path, error: Exception) -> RecordError:
    """The ``RecordError`` for a run file at ``path`` that is torn or none."""
    remedy = "the file is torn or no run: restore it from version control or remove it"
    return files.read_error(path, error, "a run file", remedy)


def run_metadata(metadata: dict[bytes, bytes], path: Path) -> Any:
    """The JSON of a run in a file's ``metadata``; ``RecordError`` if the file at ``path`` holds
    none, or one of a later schema version."""
    if RUN_KEY not in metadata or VERSION_KEY not in metadata:
        raise RecordError(
            "a Parquet file is not a run of the harness",
            str(path),
            got="no run in its metadata",
            expected="a file written by harness run",
        )
    version = metadata[VERSION_KEY].decode(errors="replace")
    known_version(
        int(version) if version.isdecimal() else version, SCHEMA_VERSION, "a run file", str(path)
    )
    try:
        return json.loads(metadata[RUN_KEY])
    except ValueError as error:
        raise RecordError("a run file's metadata is no JSON", str(path), got=str(error)) from error


def write_error(path: Path, error: OSError) -> RecordError:
    """The ``RecordError`` for a failed write of a run at ``path``."""
    elsewhere = "name another folder (HARNESS_RESULTS=/some/folder)"
    return files.write_error(path, error, "a run cannot be recorded", elsewhere)


def runs(results: Path, machine: str = "*") -> list[Path]:
    """All run files below ``results``, or a ``machine``'s, oldest first (``in_order``)."""
    return in_order(results.glob(f"{machine}/*{SUFFIX}"))


def in_order(paths: Iterable[Path]) -> list[Path]:
    """Files of runs or nights, oldest first: their names begin with the time. Those of a clock that
    was ahead are older than all others: nobody knows when they were made."""
    return sorted(paths, key=lambda one: (not is_ahead(one.name), one.name, str(one.parent)))


def is_ahead(name: str) -> bool:
    """Whether a run's name begins with a time (UTC) that is more than a day from now."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    return name[:8].isdigit() and name[:15] > f"{tomorrow:%Y%m%d-%H%M%S}"


def find(results: Path, name: str = LATEST) -> Path:
    """The run file that ``name`` means: ``latest`` (an imported one only where there is no other),
    a path, or the beginning of the identifier or of the commit of exactly one run. Raises
    ``UnknownName`` if there is none, ``UsageError`` if there are several."""
    if name.endswith(SUFFIX) or "/" in name:
        path = Path(name)
        if path.is_file():
            return path
    if not (known := runs(results)):
        raise no_runs(results)
    if name == LATEST:
        return ([path for path in known if not is_imported(path)] or known)[-1]
    matches = [path for path in known if path.stem.startswith(name)]
    given = name.lower()
    if not matches and len(given) >= _FEWEST:
        both = [(path, _commit(path)) for path in known]
        matches = [p for p, one in both if one.startswith(given) or given.startswith(one)]
    if matches:
        return the_one(matches, name)
    newest, remedy = [path.stem for path in reversed(known)], "list them: harness list --runs"
    raise unknown("there is no such run", name, newest, str(results), remedy)


def the_one(matches: Sequence[Path], name: str, kind: str = "runs") -> Path:
    """Of files of ``kind`` that begin with ``name`` the only one, or the one that is called
    so. Raises ``UsageError`` if there are several."""
    if len(matches) == 1 or any(path.stem == name for path in matches):
        return next((path for path in matches if path.stem == name), matches[0])
    raise UsageError(
        f"{len(matches)} {kind} begin like that",
        got=name,
        expected=", ".join(path.stem for path in matches[-5:]),
        remedy="give more of the identifier",
    )


def no_runs(results: Path) -> UnknownName:
    """That nothing is recorded."""
    return UnknownName("there are no runs yet", str(results), remedy="make one: harness run")


def is_imported(path: Path) -> bool:
    """Whether the run in the file at ``path`` was made by another tool (``harness import``)."""
    return "-imported" in path.stem


def of_commit(results: Path, commit: str) -> list[Path]:
    """The run files of the commit with this full identifier, oldest first."""
    return [path for path in runs(results) if _commit(path) == commit[:_ABBREVIATED]]


def _commit(path: Path) -> str:
    """The abbreviated commit at the end of a run's identifier."""
    return path.stem.rpartition("-")[2]
