"""What asv and pytest-benchmark measured, as runs: ``harness import``.

Times become milliseconds, GB/s stay GB/s; samples are kept where they were recorded. A benchmark is
a graph, each of its parameter combinations a kernel. What is neither a time nor GB/s (memory,
counts) is left out and counted. A file is read as JSON and nothing else, and what it says never
decides where anything is written: names of folders and files are made of plain characters only.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import math
import os
import re
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.errors import RecordError, UsageError
from harness.history import store
from harness.records.run import GraphRecord, KernelRecord, Run

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
_LONGEST = 100
"""Characters of a folder's name; file systems end at 255 bytes."""


@dataclass(slots=True)
class Imported:
    """Runs made of foreign files, with what was left out (reason: count) and where each is from.
    ``damaged`` says of the files that could not be read why."""

    runs: list[tuple[Path, Run]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    damaged: list[RecordError] = field(default_factory=list)


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
    except RecursionError as error:
        raise RecordError(
            f"{what} is nested too deeply", str(path), expected="JSON as asv or pytest writes it"
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

    A damaged file does not keep the others from being read. Raises ``UsageError`` for a path that
    holds neither kind, ``RecordError`` if all that could be imported is damaged.
    """
    found = Imported()
    for path in paths:
        files = _files(path)
        known = [_add(file, found) for file in files]
        if not any(known):
            raise UsageError(
                "there is nothing to import",
                where=str(path),
                got=f"{len(files)} JSON files, none of them results" if files else "no JSON file",
                expected="asv's results folder, or a JSON file of pytest-benchmark",
            )
    if len(found.damaged) == 1 and not found.runs:
        raise found.damaged[0]
    return found


def _add(file: Path, found: Imported) -> bool:
    """Add what ``file`` holds, or why it cannot be read; whether it is for us at all."""
    from harness.imports import foreign_asv, foreign_pytest

    try:
        document = read_json(file, "a file to import")
        for kind in (foreign_asv, foreign_pytest):
            if kind.is_result(document):
                kind.add(file, document, found)
                return True
    except RecordError as error:
        found.damaged.append(error)
        return True
    return False


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
    return re.sub(r"[^a-z0-9.]+", "-", text.lower())[:_LONGEST].strip("-.") or "unknown"


def sha(value: Any) -> str:
    """A commit's hash; empty for anything else, because it becomes part of a file's name."""
    text = str(value or "")
    return text if re.fullmatch(r"[0-9a-f]{4,64}", text) else ""


def plain(value: Any) -> str:
    """``value`` as text that can be stored and shown: half a surrogate pair cannot be stored, and
    control characters would be orders to a terminal."""
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "\N{REPLACEMENT CHARACTER}", text)


def figure(value: Any, what: str, where: str) -> float:
    """``value`` as a finite number; ``RecordError`` for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # an integer of hundreds of digits
            number = math.inf
        if math.isfinite(number):
            return number
    raise RecordError(what, where, got=repr(value)[:80])


def per_combination(values: list[Any], expected: int, where: str) -> list[Any]:
    """``values`` of asv's, if there is one for each of the ``expected`` parameter combinations."""
    if len(values) != expected:
        raise RecordError(
            "a result of asv's does not have a value per parameter combination",
            where,
            got=f"{len(values)} values",
            expected=f"{expected}",
        )
    return values


def drawn(samples: Any, where: str) -> list[float]:
    """Samples of asv's; none where it kept none."""
    if samples is None:
        return []
    what = "a sample of asv's is no number"
    if not isinstance(samples, list):
        raise RecordError(what, where, got=repr(samples)[:80])
    return [figure(each, what, where) for each in samples]


def unused(name: str, taken: Container[str]) -> str:
    """``name``, with a number behind it if it is taken: no figure may displace another."""
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return next(each for each in itertools.chain((name,), numbered) if each not in taken)


def graphs_of(kernels: dict[str, dict[str, KernelRecord]]) -> tuple[GraphRecord, ...]:
    """Graphs in order of their names. Nothing launches these kernels together: without a number
    of launches the history adds up no total of them."""
    return tuple(
        GraphRecord(graph, kernels=tuple(replace(k, launches=0) for k in kernels[graph].values()))
        for graph in sorted(kernels)
    )


def save(results: Path, run: Run) -> Path | None:
    """Store ``run`` unless it is there already; None if it is. Of several processes that import
    the same file one stores it. Raises ``RecordError`` where nothing can be written."""
    path = store.run_path(results, run)
    try:
        with _alone(path.parent):
            for present in sorted(path.parent.glob(f"{path.stem}*{store.SUFFIX}")):
                if _holds(present, run):
                    return None
            return store.save(results, run)
    except OSError as error:
        raise _refused(store.write_error(path.parent, error)) from error
    except RecordError as error:
        raise _refused(error) from error


def _holds(path: Path, run: Run) -> bool:
    try:
        return store.load(path) == run
    except RecordError:
        return False


def _refused(error: RecordError) -> RecordError:
    """``error`` without the advice that only helps who measures."""
    remedy = error.remedy.removesuffix(store.UNRECORDED)
    return RecordError(error.what, error.where, error.got, error.expected, remedy)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other imports out of ``folder``, which is made if it is missing. The lock is on the
    folder itself, so that nothing is left behind."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
