"""The journal: a run in progress, one line of JSON per thing learnt.

The first line describes the run, each further one a graph or a kernel. A line is
on disk before the next kernel starts, so that an interrupted run keeps what it
had measured; the next command turns a journal whose writer is gone into a run
file (``recover``). The writer holds a lock on the file for as long as it lives.

A disk that fills up does not end a run: it goes on in memory, and what it measured goes
to the temporary folder where the results folder still refuses it at the end.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness.errors import RecordError
from harness.history import schema, store
from harness.history.lines import journal_lines
from harness.records.run import (
    SCHEMA_VERSION,
    GraphRecord,
    KernelRecord,
    RegionRecord,
    Run,
    from_json,
    to_json,
)

SUFFIX = ".journal"


class Journal:
    """Writes one run as it happens; a context manager.

    On leaving, also by an exception, the journal becomes a run file (``path``), marked
    incomplete unless ``finish`` was called. What cannot be written after the first line ends
    nothing: ``refused`` becomes true, ``warn`` hears a sentence, and the run is kept in memory
    until, on leaving, its file is tried again, at last below the temporary folder. ``path``
    is None if that failed too; the journal then stays with what it holds.
    """

    def __init__(
        self, results: Path, run: Run, warn: Callable[[str], None] = lambda _: None
    ) -> None:
        """Start a journal for ``run`` (its ``graphs`` are ignored) below ``results``.

        Raises ``RecordError`` if the folder cannot be written.
        """
        self.results = results
        self.path: Path | None = None
        self.refused = False
        self.journal = results / run.machine.key / f"{run.id}{SUFFIX}"
        self._warn = warn
        self._whole = True
        self._run = replace(run, graphs=(), complete=False)
        self._graphs: dict[str, GraphRecord] = {}
        try:
            self.journal.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.journal.open("x", encoding="utf-8")
        except OSError as error:
            raise store.write_error(self.journal.parent, error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self._write({"schema": SCHEMA_VERSION, "run": to_json(self._run)})
        except OSError as error:
            self._close()
            self._remove_journal()  # else each later command meets a journal of no run
            raise store.write_error(self.journal.parent, error) from error

    def add_kernel(self, graph: str, kernel: KernelRecord) -> None:
        """Keep a kernel of the graph called ``graph``, which is still in progress."""
        self._append({"kernel": to_json(kernel), "of": graph})
        _add_kernel(self._graphs, graph, kernel)

    def add_regions(self, graph: str, rows: tuple[RegionRecord, ...]) -> None:
        """Keep what compilers made of a region of a graph that is still in progress."""
        self._append({"regions": to_json(rows), "of": graph})
        _add_regions(self._graphs, graph, rows)

    def add_graph(self, graph: GraphRecord) -> None:
        """Keep a finished graph; it replaces what was kept of it one by one."""
        self._append({"graph": to_json(graph)})
        self._graphs[graph.name] = graph

    def update(self, run: Run) -> None:
        """Replace what is known of the run as a whole (``graphs`` ignored)."""
        self._run = replace(run, graphs=(), complete=self._run.complete)
        self._append({"run": to_json(self._run)})

    def finish(self) -> None:
        """Mark the run complete."""
        self._run = replace(self._run, complete=True)

    @property
    def run(self) -> Run:
        """The run as known so far."""
        return replace(self._run, graphs=tuple(self._graphs.values()))

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _append(self, line: dict[str, Any]) -> None:
        if not self._whole:  # behind a torn line a further one would be damage
            return
        try:
            self._write(line)
        except OSError as error:
            self._whole = False
            self.refused = True
            failure = store.write_error(self.journal, error)
            self._warn(
                f"{_what(failure)}; the run goes on in memory and its file is tried again at "
                "the end: free some space meanwhile, or start again with another folder "
                "(HARNESS_RESULTS=/some/folder)"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()
        if not self._graphs and not self._run.complete:
            self._remove_journal()
            return
        try:
            self.path = store.save(self.results, self.run)
        except RecordError as failure:
            self.refused = True
            self._rescue(failure)
        else:
            self._remove_journal()

    def _rescue(self, failure: RecordError) -> None:
        """Keep the run although its file could not be written where it belongs.

        The journal is several times the size of the run file. Once a copy is safe elsewhere,
        removing the journal often makes the room that was missing.
        """
        spare: Path | None = None
        try:
            spare = Path(tempfile.mkdtemp(prefix="harness-results-"))
            copy = store.save(spare, self.run)
        except (RecordError, OSError) as second:
            if spare is not None:
                shutil.rmtree(spare, ignore_errors=True)
            self._warn(f"{_what(failure)}; {_nowhere(second)}; {self._left()}")
            return
        self._remove_journal()
        try:
            self.path = store.save(self.results, self.run)
        except RecordError:
            self.path = copy
            self._warn(
                f"{_what(failure)}; its file is {copy}: move it to {self.journal.parent}, or "
                f"read it where it is with HARNESS_RESULTS={spare}"
            )
        else:
            shutil.rmtree(spare, ignore_errors=True)

    def _left(self) -> str:
        if self._whole:
            return (
                f"what was measured is kept in {self.journal}: free some space, then any harness "
                "command makes a run of it"
            )
        return f"the first part of it is kept in {self.journal}, all of it only in what is printed"

    def _close(self) -> None:
        with contextlib.suppress(OSError):  # a full disk refuses the last buffer again
            self._file.close()

    def _remove_journal(self) -> None:
        with contextlib.suppress(OSError):
            self.journal.unlink(missing_ok=True)


class Memory:
    """Keeps a run in memory alone, for a run that is not to be recorded."""

    path: Path | None = None
    refused = False

    def __init__(self, run: Run) -> None:
        """Start with ``run``, its ``graphs`` ignored."""
        self._run = replace(run, graphs=(), complete=False)
        self._graphs: dict[str, GraphRecord] = {}

    def add_kernel(self, graph: str, kernel: KernelRecord) -> None:
        """Keep a kernel of the graph called ``graph``, which is still in progress."""
        _add_kernel(self._graphs, graph, kernel)

    def add_regions(self, graph: str, rows: tuple[RegionRecord, ...]) -> None:
        """Keep what compilers made of a region of a graph that is still in progress."""
        _add_regions(self._graphs, graph, rows)

    def add_graph(self, graph: GraphRecord) -> None:
        """Keep a finished graph; it replaces what was kept of it one by one."""
        self._graphs[graph.name] = graph

    def update(self, run: Run) -> None:
        """Replace what is known of the run as a whole (``graphs`` ignored)."""
        self._run = replace(run, graphs=(), complete=self._run.complete)

    def finish(self) -> None:
        """Mark the run complete."""
        self._run = replace(self._run, complete=True)

    @property
    def run(self) -> Run:
        """The run as known so far."""
        return replace(self._run, graphs=tuple(self._graphs.values()))


def _add_kernel(graphs: dict[str, GraphRecord], name: str, kernel: KernelRecord) -> None:
    graph = graphs.get(name) or GraphRecord(name)
    graphs[name] = replace(graph, kernels=(*graph.kernels, kernel))


def _add_regions(graphs: dict[str, GraphRecord], name: str, rows: tuple[RegionRecord, ...]) -> None:
    graph = graphs.get(name) or GraphRecord(name)
    graphs[name] = replace(graph, regions=(*graph.regions, *rows))


def _what(error: RecordError) -> str:
    return f"{error.where}: {error.what}"


def _nowhere(error: RecordError | OSError) -> str:
    if isinstance(error, RecordError):
        return f"nor can it in {error.where} ({error.what.rpartition(': ')[2]})"
    return f"nor can it in the temporary folder ({error.strerror or error})"


def read(path: Path) -> Run:
    """The run in the journal at ``path``; a torn last line is left out.

    Raises ``RecordError`` for a damaged line before that or a later schema version.
    """
    run: Run | None = None
    version = SCHEMA_VERSION
    graphs: dict[str, GraphRecord] = {}
    for where, line in journal_lines(path):
        version = _known_version(line, version, where)
        if "run" in line:
            run = from_json(Run, line["run"], where)
        if "kernel" in line:
            kernel = from_json(KernelRecord, _upgraded(line["kernel"], version), where)
            _add_kernel(graphs, str(line.get("of", "")), kernel)
        if "regions" in line:
            rows = from_json(tuple[RegionRecord, ...], line["regions"], where)
            _add_regions(graphs, str(line.get("of", "")), rows)
        if "graph" in line:
            graph = from_json(GraphRecord, _upgraded_graph(line["graph"], version), where)
            graphs[graph.name] = graph
    if run is None:
        raise RecordError(
            "a journal does not say which run it is",
            str(path),
            expected="the run in its first line",
            remedy="remove the file; what it holds cannot be told apart",
        )
    return replace(run, graphs=tuple(graphs.values()), complete=False)


def _upgraded(kernel: Any, version: int) -> Any:
    """A kernel as an older harness wrote it; what is no object is left for ``from_json``."""
    return schema.upgrade_row(kernel, version) if isinstance(kernel, dict) else kernel


def _upgraded_graph(graph: Any, version: int) -> Any:
    if not isinstance(graph, dict) or not isinstance(graph.get("kernels"), list):
        return graph
    return {**graph, "kernels": [_upgraded(kernel, version) for kernel in graph["kernels"]]}


def _known_version(line: Any, current: int, where: str) -> int:
    """The schema version that ``line`` states, else the ``current`` one of the lines before."""
    if not isinstance(line, dict):
        raise RecordError(
            "a journal has a damaged line",
            where,
            got=type(line).__name__,
            expected="a JSON object",
            remedy="remove the line, or the file, and try again",
        )
    version = line.get("schema", current)
    if not isinstance(version, int) or not 1 <= version <= SCHEMA_VERSION:
        raise RecordError(
            "a journal was written by a newer harness",
            where,
            got=f"schema version {version}",
            expected=f"schema version {SCHEMA_VERSION} or older",
            remedy="update this checkout of the harness",
        )
    return version


def recover(results: Path, warn: Callable[[RecordError], None] | None = None) -> list[Path]:
    """Turn every journal below ``results`` whose writer is gone into a run file.

    Returns the new files, oldest first. A journal without a graph is removed. One that
    cannot be read or stored stays where it is, keeps no other from being recovered and is told
    to ``warn``; without that the first such ``RecordError`` is raised in the end.
    """
    found: list[Path] = []
    failed: list[RecordError] = []
    for path in sorted(results.glob(f"*/*{SUFFIX}")):
        try:
            file = path.open("r+b")
        except OSError:
            continue  # finished in the meantime, or not ours to touch
        with file:
            if not _take_lock(file.fileno()):
                continue
            try:
                found += _recovered(results, path)
            except RecordError as error:
                failed.append(error)
    for failure in failed:
        if warn is None:
            raise failure
        warn(failure)
    return found


def _recovered(results: Path, path: Path) -> list[Path]:
    """The run file made of a journal that is locked; none of one that holds nothing."""
    run = read(path) if path.stat().st_size else None
    stored = [store.save(results, run)] if run is not None and run.graphs else []
    path.unlink()
    return stored


def is_being_written(path: Path) -> bool:
    """Whether the run of the journal at ``path`` is in progress."""
    try:
        with path.open("r+b") as file:
            return not _take_lock(file.fileno())
    except OSError:
        return False


def _take_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
