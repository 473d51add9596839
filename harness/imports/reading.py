"""What asv and pytest-benchmark measured, as runs: ``harness import``.

Times become milliseconds, GB/s stay GB/s; samples are kept where they were recorded. A benchmark is
a graph, each of its parameter combinations a kernel. What is neither a time nor GB/s (memory,
counts) is left out and counted. A file is read as JSON and nothing else, and what it says never
decides where anything is written: names of folders and files are made of plain characters only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import RecordError, UsageError
from harness.history import store
from harness.imports import asv_files, pytest_files, values
from harness.records.run import Run


@dataclass(slots=True)
class Imported:
    """Runs made of other tools' files, with what was left out (reason: count) and where each is
    from. ``damaged`` says of the files that could not be read why."""

    runs: list[tuple[Path, Run]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    damaged: list[RecordError] = field(default_factory=list)


def read(paths: list[Path], follow: Callable[[str, int, int], None] = lambda *_: None) -> Imported:
    """What the files and folders ``paths`` hold: asv's results folder or single result files, and
    pytest-benchmark's JSON.

    A damaged file does not keep the others from being read. Raises ``UsageError`` for a path that
    holds neither kind, ``RecordError`` if all that could be imported is damaged."""
    found = Imported()
    for path in paths:
        if not path.exists():
            raise UsageError("there is no such file or folder", where=str(path))
        skipped = ("machine.json", "benchmarks.json")
        inside = (file for file in sorted(path.rglob("*.json")) if file.name not in skipped)
        files = [path] if path.is_file() else list(inside)
        before = len(found.runs) + len(found.damaged)
        for number, file in enumerate(files):
            follow(f"reading {file.name}", number, len(files))
            _add(file, found)
        if len(found.runs) + len(found.damaged) == before:
            raise UsageError(
                "there is nothing to import",
                where=str(path),
                got=f"{len(files)} JSON files, none of them results" if files else "no JSON file",
                expected="asv's results folder, or a JSON file of pytest-benchmark",
            )
    if len(found.damaged) == 1 and not found.runs:
        raise found.damaged[0]
    return found


def _add(file: Path, found: Imported) -> None:
    """Add what ``file`` holds, or why it cannot be read; nothing if it is not for us."""
    try:
        document = values.read_json(file, "a file to import")
        for kind in (asv_files, pytest_files):
            if kind.is_result(document):
                found.runs.append((file, kind.run_of(file, document, found.left_out)))
                return
    except RecordError as error:
        found.damaged.append(error)


def save(results: Path, run: Run) -> Path | None:
    """Store ``run`` unless it is there already; None if it is. Of several processes that import
    the same file one stores it. Raises ``RecordError`` where nothing can be written."""

    def is_same(path: Path) -> bool:
        try:
            return store.load(path) == run
        except RecordError:
            return False

    try:
        return store.save_new(results, run, is_same)
    except RecordError as error:
        error.remedy = error.remedy.removesuffix(store.UNRECORDED)  # it helps only who measures
        raise
