"""What asv and pytest-benchmark measured, as runs: ``harness import``.

Times become milliseconds, GB/s stay GB/s; samples are kept where they were recorded. A benchmark is
a graph, each of its parameter combinations a kernel. What is neither a time nor GB/s (memory,
counts) is left out and counted. A file is read as JSON and nothing else.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.bench.record import GraphRecord, KernelRecord, Run
from harness.errors import RecordError, UsageError
from harness.track import store

_TO_MS = {
    "s": 1e3,
    "seconds": 1e3,
    "second": 1e3,
    "ms": 1.0,
    "milliseconds": 1.0,
    "us": 1e-3,
    "µs": 1e-3,
    "microseconds": 1e-3,
    "ns": 1e-6,
    "nanoseconds": 1e-6,
}
"""Milliseconds in a unit of time."""
_GBPS = ("gb/s", "gbps")


@dataclass(slots=True)
class Imported:
    """Runs made of foreign files, with what was left out (reason: count) and where each is from."""

    runs: list[tuple[Path, Run]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def quantity(value: float, unit: str) -> tuple[float | None, float | None] | None:
    """``value`` as (milliseconds, GB/s), one of them None; None for any other unit."""
    name = unit.strip().lower()
    if name in _TO_MS:
        return value * _TO_MS[name], None
    if name in _GBPS:
        return None, value
    return None


def read_json(path: Path, what: str) -> dict[str, Any]:
    """The JSON object in the file at ``path``; ``RecordError`` if it is torn or something else."""
    try:
        document = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise RecordError(
            f"{what} cannot be read", str(path), got=error.strerror or str(error)
        ) from error
    except UnicodeDecodeError as error:
        raise RecordError(
            f"{what} is not UTF-8", str(path), got=f"byte 0x{error.object[error.start]:02x}"
        ) from error
    except ValueError as error:
        raise RecordError(
            f"{what} is no whole JSON document",
            str(path),
            got=str(error),
            remedy="it may be half-written: make it again, or restore it",
        ) from error
    if not isinstance(document, dict):
        raise RecordError(f"{what} is no JSON object", str(path), got=type(document).__name__)
    return document


def read(paths: list[Path]) -> Imported:
    """What the files and folders ``paths`` hold: asv's results folder or single result files, and
    pytest-benchmark's JSON.

    Raises ``UsageError`` for a path that holds neither, ``RecordError`` for a damaged file.
    """
    from harness.track import foreign_asv, foreign_pytest

    found = Imported()
    for path in paths:
        files = _files(path)
        known = False
        for file in files:
            document = read_json(file, "a file to import")
            if foreign_asv.is_result(document):
                foreign_asv.add(file, document, found)
            elif foreign_pytest.is_result(document):
                foreign_pytest.add(file, document, found)
            else:
                continue
            known = True
        if not known:
            raise UsageError(
                "there is nothing to import",
                where=str(path),
                got=f"{len(files)} JSON files, none of them results" if files else "no JSON file",
                expected="asv's results folder, or a JSON file of pytest-benchmark",
            )
    return found


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError("there is no such file or folder", where=str(path))
    skipped = ("machine.json", "benchmarks.json")
    return [file for file in sorted(path.rglob("*.json")) if file.name not in skipped]


def slug(*words: str) -> str:
    """Words as the name of a machine's folder."""
    text = " ".join(word for word in words if word)
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "unknown"


def graphs_of(kernels: dict[str, dict[str, KernelRecord]]) -> tuple[GraphRecord, ...]:
    """Graphs in order of their names. Nothing launches these kernels together: without a number
    of launches the history adds up no total of them."""
    return tuple(
        GraphRecord(graph, kernels=tuple(replace(k, launches=0) for k in kernels[graph].values()))
        for graph in sorted(kernels)
    )


def save(results: Path, run: Run) -> Path | None:
    """Store ``run`` unless it is there already; None if it is."""
    path = store.run_path(results, run)
    for present in sorted(path.parent.glob(f"{path.stem}*{store.SUFFIX}")):
        try:
            if store.load(present) == run:
                return None
        except RecordError:
            continue
    return store.save(results, run)
