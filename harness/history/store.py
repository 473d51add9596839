"""The store: one immutable Parquet file per run, below ``<results>/<machine>/``.

A row is a kernel; samples are a nested list, the emitted module's text is a
column, and what belongs to the run as a whole is repeated in key columns and
kept in full in the file's metadata. pandas, DuckDB and Spark read the files as
they are.

Writing is atomic: a temporary file, fsync, then a link to the final name, which
never replaces a file. A run in progress is a journal beside it (``track.journal``).
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import RecordError
from harness.history import schema
from harness.history.schema import RUN_KEY, VERSION_KEY
from harness.records.run import SCHEMA_VERSION, GraphRecord, KernelRecord, Run, from_json

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".parquet"
UNRECORDED = ", or measure without recording: --no-record"
"""The advice for a run that cannot be written, beside what to do about the folder."""


def run_path(results: Path, run: Run) -> Path:
    """Where ``run`` is stored below ``results`` (the name its identifier gives).

    Raises ``RecordError`` for a machine or an identifier that names another place.
    """
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
    """Write ``run`` and return the file's path; the folder is made if it is missing.

    A file of that name is left alone: the new one gets a number behind its name.
    Raises ``RecordError`` when the folder cannot be written or the disk is full; nothing
    half-written stays behind.
    """
    path = run_path(results, run)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".run-", suffix=".tmp")
    except OSError as error:
        raise write_error(path.parent, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            _write_table(schema.table(run), file)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        final = _publish(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)
    return final


def load(path: Path) -> Run:
    """The run in the file at ``path``.

    Raises ``RecordError`` for a file that is missing, torn, of another kind, or of a later
    schema version. Loading executes nothing that the file holds.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # One thread, no file object: pyarrow's pools may otherwise still be starting a thread
        # when a short command ends, and the process aborts.
        whole = pa.BufferReader(path.read_bytes())
        table = pq.ParquetFile(whole, pre_buffer=False).read(use_threads=False)
        rows = table.to_pylist()
    except FileNotFoundError as error:
        raise RecordError("there is no such run file", str(path)) from error
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: text that is no UTF-8
        raise unreadable(path, error) from error
    metadata: dict[bytes, bytes] = dict(table.schema.metadata or {})
    run = from_json(Run, run_metadata(metadata, path), str(path))
    version = int(metadata[VERSION_KEY])
    return replace(run, graphs=_with_kernels(run, rows, str(path), version))


def unreadable(path: Path, error: Exception) -> RecordError:
    """The ``RecordError`` for a run file at ``path`` that is torn or none."""
    return RecordError(
        "a run file cannot be read",
        str(path),
        got=str(error).splitlines()[0] if str(error) else type(error).__name__,
        expected="a whole Parquet file, as the harness writes it",
        remedy="the file is torn or no run: restore it from version control or remove it",
    )


def run_metadata(metadata: dict[bytes, bytes], path: Path) -> Any:
    """The JSON of a run in a file's ``metadata``; ``RecordError`` if the file at ``path`` holds
    none, or one of a later schema version."""
    if RUN_KEY not in metadata or VERSION_KEY not in metadata:
        raise RecordError(
            "a Parquet file is no run of the harness",
            str(path),
            got="no run in its metadata",
            expected="a file written by harness run",
        )
    version = metadata[VERSION_KEY].decode(errors="replace")
    if not version.isdecimal() or int(version) > SCHEMA_VERSION:
        raise RecordError(
            "a run file was written by a newer harness",
            str(path),
            got=f"schema version {version}",
            expected=f"schema version {SCHEMA_VERSION} or older",
            remedy="update this checkout of the harness",
        )
    try:
        return json.loads(metadata[RUN_KEY])
    except ValueError as error:
        raise RecordError("a run file's metadata is no JSON", str(path), got=str(error)) from error


def _with_kernels(
    run: Run, rows: list[dict[str, Any]], where: str, version: int
) -> tuple[GraphRecord, ...]:
    kernels: dict[str, list[KernelRecord]] = {graph.name: [] for graph in run.graphs}
    regions = {graph.name: graph.regions for graph in run.graphs}
    for number, row in enumerate(rows):
        place = f"{where}: row {number}"
        try:
            kernel = schema.kernel_of(row, version, place)
            found = schema.regions_of(row, place)
        except ValueError as error:  # a mapping that is no JSON
            raise RecordError("a run file's row is damaged", place, got=str(error)) from error
        if row["graph"] not in kernels:
            raise RecordError(
                "a run file's row belongs to no graph of the run",
                where,
                got=str(row["graph"]),
                expected=", ".join(kernels),
            )
        kernels[row["graph"]].append(kernel)
        regions[row["graph"]] += found
    return tuple(
        replace(g, kernels=tuple(kernels[g.name]), regions=regions[g.name]) for g in run.graphs
    )


def _write_table(table: pa.Table, file: Any) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file, compression="zstd")


def _publish(temporary: Path, path: Path) -> Path:
    """Give ``temporary`` the first free name from ``path`` on, replacing nothing."""
    for number in itertools.count(1):
        final = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        try:
            os.link(temporary, final)
        except FileExistsError:
            continue
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
                raise
            # A file system without hard links: the gap between looking and renaming is
            # harmless there, because identifiers hold the second and the process.
            if final.exists():
                continue
            temporary.rename(final)
        return final
    raise AssertionError("itertools.count ended")


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_error(path: Path, error: OSError) -> RecordError:
    """The ``RecordError`` for a failed write below ``path``."""
    remedies = {
        errno.ENOSPC: ("the disk is full", "free some space"),
        errno.EDQUOT: ("the disk quota is used up", "free some space"),
        errno.EROFS: (
            "the file system is read-only",
            "name another folder (HARNESS_RESULTS=/some/folder)",
        ),
        errno.EACCES: (
            "the folder may not be written",
            "name another folder (HARNESS_RESULTS=/some/folder)",
        ),
        errno.EPERM: (
            "the folder may not be written",
            "name another folder (HARNESS_RESULTS=/some/folder)",
        ),
        errno.ENOTDIR: (
            "a file stands where a folder should be",
            "name another folder (HARNESS_RESULTS=/some/folder)",
        ),
    }
    what, remedy = remedies.get(
        error.errno or 0,
        (
            f"writing failed ({error.strerror or error})",
            "name another folder (HARNESS_RESULTS=/some/folder)",
        ),
    )
    return RecordError(
        f"a run cannot be recorded: {what}",
        str(path),
        remedy=f"{remedy}{UNRECORDED}",
    )
