"""The journal: a run in progress, one line of JSON per thing learnt.

The first line describes the run, each further one a graph or a kernel. A line is on disk before the
next kernel starts, so that an interrupted run keeps what it had measured; the next command turns a
journal whose writer is gone into a run file (``recover``).

A disk that fills up does not end a run: it goes on in memory, and what it measured goes
to the temporary folder where the results folder still refuses it at the end.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from harness.errors import RecordError
from harness.history import schema, store
from harness.records import run as records
from harness.records.lines import LineWriter, known_version, locked, read_lines
from harness.records.run import GraphRecord, KernelRecord, RegionRecord, Run, from_json, to_json

SUFFIX = ".journal"


class Memory:
    """Gathers a run in memory, graph by graph and kernel by kernel: all that is kept of a run that
    is not to be recorded."""

    path: Path | None = None
    refused = False

    def __init__(self, run: Run) -> None:
        """Start with ``run``, its ``graphs`` ignored."""
        self._run = replace(run, graphs=(), complete=False)
        self._graphs: dict[str, GraphRecord] = {}

    def add_kernel(self, graph: str, kernel: KernelRecord) -> None:
        """Keep a kernel of the graph called ``graph``, which is still in progress."""
        known = self._graphs.get(graph) or GraphRecord(graph)
        self._graphs[graph] = replace(known, kernels=(*known.kernels, kernel))
        self._keep(kernel=kernel, of=graph)

    def add_regions(self, graph: str, rows: tuple[RegionRecord, ...]) -> None:
        """Keep what compilers made of a region of a graph that is still in progress."""
        known = self._graphs.get(graph) or GraphRecord(graph)
        self._graphs[graph] = replace(known, regions=(*known.regions, *rows))
        self._keep(regions=rows, of=graph)

    def add_graph(self, graph: GraphRecord) -> None:
        """Keep a finished graph; it replaces what was kept of it one by one."""
        self._graphs[graph.name] = graph
        self._keep(graph=graph)

    def update(self, run: Run) -> None:
        """Replace what is known of the run as a whole (``graphs`` and ``id`` ignored)."""
        self._run = replace(run, id=self._run.id, graphs=(), complete=self._run.complete)
        self._keep(run=self._run)

    def finish(self) -> None:
        """Mark the run complete."""
        self._run = replace(self._run, complete=True)

    @property
    def run(self) -> Run:
        """The run as known so far."""
        return replace(self._run, graphs=tuple(self._graphs.values()))

    def _keep(self, **line: Any) -> None:
        """Hears of everything that is added."""


class Journal(Memory):
    """Writes one run as it happens; a context manager.

    On leaving, also by an exception, the journal becomes a run file (``path``), marked
    incomplete unless ``finish`` was called. What cannot be written after the first line ends
    nothing: ``warn`` hears a sentence, and the run is kept in memory until, on leaving, its file is
    tried again, at last below the temporary folder: then ``refused`` is true. ``path`` is None if
    that failed too; the journal then stays with what it holds."""

    def __init__(
        self, results: Path, run: Run, warn: Callable[[str], None] = lambda _: None
    ) -> None:
        """Start a journal for ``run`` (its ``graphs`` are ignored) below ``results``. A run that
        was started in the same second as another has a number in its identifier. Raises
        ``RecordError`` if the folder cannot be written."""
        super().__init__(run)
        self.results = results
        self._warn = warn
        self._whole = True
        self._lines = self._started(results, run.id)
        self.journal = self._lines.path

    def _started(self, results: Path, name: str) -> LineWriter:
        day, _, rest = name.partition("-")
        second, dash, commit = rest.partition("-")
        number = 1
        while True:
            place = store.run_path(results, self._run)
            head = {"schema": records.SCHEMA_VERSION, "run": to_json(self._run)}
            try:
                if not place.exists():
                    return LineWriter.start(place.with_suffix(SUFFIX), head)
            except FileExistsError:
                pass  # that run is in progress
            except OSError as error:
                failure = store.write_error(place.parent, error)
                failure.remedy += ", or measure without recording: harness run --no-record"
                raise failure from error
            number += 1
            self._run = replace(self._run, id=f"{day}-{second}.{number}{dash}{commit}")

    def _keep(self, **line: Any) -> None:
        if not self._whole:  # behind a torn line a further one would be damage
            return
        try:
            self._lines.append({name: to_json(value) for name, value in line.items()})
        except OSError as error:
            self._whole = False
            failure = store.write_error(self.journal, error)
            self._warn(
                f"{_what(failure)}; the run goes on in memory and its file is tried again at "
                "the end: free some space meanwhile, or start again with another folder "
                "(HARNESS_RESULTS=/some/folder)"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        if not self._graphs and not self._run.complete:
            self._lines.remove()
            return
        try:
            self.path = store.save(self.results, self.run)
        except RecordError as failure:
            self._rescue(failure)
        else:
            self._lines.remove()

    def _rescue(self, failure: RecordError) -> None:
        """Keep the run although its file could not be written where it belongs. The journal is
        several times the size of the run file. Once a copy is safe elsewhere, removing the journal
        often makes the room that was missing."""
        spare: Path | None = None
        try:
            spare = Path(tempfile.mkdtemp(prefix="harness-results-"))
            copy = store.save(spare, self.run)
        except (RecordError, OSError) as second:
            if spare is not None:
                shutil.rmtree(spare, ignore_errors=True)
            where, why = "the temporary folder", getattr(second, "strerror", "") or second
            if isinstance(second, RecordError):
                where, why = second.where, second.what.rpartition(": ")[2]
            left = (
                f"what was measured is kept in {self.journal}: free some space, then any harness "
                "command makes a run of it"
                if self._whole
                else f"the first part of it is kept in {self.journal}, all of it only in what is "
                "printed"
            )
            self._warn(f"{_what(failure)}; nor can it in {where} ({why}); {left}")
            self.refused = True
            return
        self._lines.remove()
        try:
            self.path = store.save(self.results, self.run)
        except RecordError:
            self.path, self.refused = copy, True
            self._warn(
                f"{_what(failure)}; its file is {copy}: move it to {self.journal.parent}, or "
                f"read it where it is with HARNESS_RESULTS={spare}"
            )
        else:
            shutil.rmtree(spare, ignore_errors=True)


def _what(error: RecordError) -> str:
    return f"{error.where}: {error.what}"


def read(path: Path) -> Run:
    """The run in the journal at ``path``; a torn last line is left out. Raises ``RecordError`` for
    a damaged line before that or a later schema version."""
    found: Memory | None = None
    newest = version = records.SCHEMA_VERSION
    for where, line in read_lines(path):
        version = known_version(line.get("schema", version), newest, "a journal", where)
        if "run" in line:
            run = from_json(Run, line["run"], where)
            if found is None:
                found = Memory(run)
            found.update(run)
        if found is None:
            break
        of = str(line.get("of", ""))
        if "kernel" in line:
            found.add_kernel(of, from_json(KernelRecord, _upgraded(line["kernel"], version), where))
        if "regions" in line:
            found.add_regions(of, from_json(tuple[RegionRecord, ...], line["regions"], where))
        if "graph" in line:
            graph = line["graph"]
            if isinstance(graph, dict) and isinstance(graph.get("kernels"), list):
                graph = {**graph, "kernels": [_upgraded(k, version) for k in graph["kernels"]]}
            found.add_graph(from_json(GraphRecord, graph, where))
    if found is None:
        raise RecordError(
            "a journal does not say which run it is",
            str(path),
            expected="the run in its first line",
            remedy="remove the file; what it holds cannot be told apart",
        )
    return found.run


def _upgraded(kernel: Any, version: int) -> Any:
    """A kernel as an older harness wrote it; what is no object is left for ``from_json``."""
    return schema.upgrade_row(kernel, version) if isinstance(kernel, dict) else kernel


def recover(results: Path, warn: Callable[[RecordError], None]) -> list[Path]:
    """Turn every journal below ``results`` whose writer is gone into a run file.

    Returns the new files, oldest first. A journal without a graph is removed. One that
    cannot be read or stored stays where it is, keeps no other from being recovered and is told
    to ``warn``."""
    found: list[Path] = []
    for path in sorted(results.glob(f"*/*{SUFFIX}")):
        with locked(path) as free:
            if not free:
                continue
            try:
                run = read(path) if path.stat().st_size else None
                if run is not None and run.graphs:
                    found.append(store.save(results, run))
                path.unlink()
            except RecordError as error:
                warn(error)
    return found
