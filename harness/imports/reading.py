"""What asv and pytest-benchmark measured, as runs: ``harness import``.

Times become milliseconds, GB/s stay GB/s; samples are kept where they were recorded. A benchmark is
a graph, each of its parameter combinations a kernel. What is neither a time nor GB/s (memory,
counts) is left out and counted. A file is read as JSON and nothing else, and what it says never
decides where anything is written: names of folders and files are made of plain characters only.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.errors import RecordError, UsageError
from harness.history import store
from harness.records.run import GraphRecord, Machine, Run
from harness.records.timing import Samples

_TO_MS = {
    **dict.fromkeys(("s", "second", "seconds"), 1e3),
    **dict.fromkeys(("ms", "milliseconds"), 1.0),
    **dict.fromkeys(("us", "µs", "microseconds"), 1e-3),
    **dict.fromkeys(("ns", "nanoseconds"), 1e-6),
}
"""Milliseconds in a unit of time."""
_GBPS = ("gb/s", "gbps")


@dataclass(slots=True)
class Imported:
    """Runs made of other tools' files, with what was left out (reason: count) and where each is
    from. ``damaged`` says of the files that could not be read why."""

    runs: list[tuple[Path, Run]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    damaged: list[RecordError] = field(default_factory=list)


def quantity(value: float, unit: str) -> tuple[float | None, float | None] | None:
    """``value`` as (milliseconds, GB/s), one of them None; None for any other unit."""
    name = unit.strip().lower()
    if name in _TO_MS:
        return value * _TO_MS[name], None
    return (None, value) if name in _GBPS else None


def read_json(path: Path, what: str) -> dict[str, Any]:
    """The JSON object in the file at ``path``; ``RecordError`` if it is torn or something else."""
    try:
        document = json.loads(path.read_bytes())
        if isinstance(document, dict):
            return document
        got = type(document).__name__
    except (OSError, ValueError, RecursionError) as error:
        got = str(error)
    raise RecordError(
        f"{what} is no whole JSON document",
        str(path),
        got=got,
        expected="a JSON object in UTF-8, as asv or pytest-benchmark writes it",
        remedy="it may be half-written: make it again, or restore it",
    )


def read(paths: list[Path]) -> Imported:
    """What the files and folders ``paths`` hold: asv's results folder or single result files, and
    pytest-benchmark's JSON.

    A damaged file does not keep the others from being read. Raises ``UsageError`` for a path that
    holds neither kind, ``RecordError`` if all that could be imported is damaged.
    """
    found = Imported()
    for path in paths:
        if not path.exists():
            raise UsageError("there is no such file or folder", where=str(path))
        skipped = ("machine.json", "benchmarks.json")
        inside = (file for file in sorted(path.rglob("*.json")) if file.name not in skipped)
        files = [path] if path.is_file() else list(inside)
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
    from harness.imports import asv_files, pytest_files

    try:
        document = read_json(file, "a file to import")
        for kind in (asv_files, pytest_files):
            if kind.is_result(document):
                found.runs.append((file, kind.run_of(file, document, found.left_out)))
                return True
    except RecordError as error:
        found.damaged.append(error)
        return True
    return False


def run(
    moment: datetime, commit: Any, method: str, machine: Machine, kernels: Any, dirty: bool = False
) -> Run:
    """A run that was imported, which its identifier says. ``kernels`` by name and graph: nothing
    launches them together, so without a number of launches the history adds up no total."""
    made_of = str(commit or "")
    if not re.fullmatch(r"[0-9a-f]{4,64}", made_of):  # it becomes part of a file's name
        made_of = ""
    return Run(
        id="-".join(filter(None, (f"{moment:%Y%m%d-%H%M%S}", "imported", made_of[:12]))),
        created=moment.isoformat(timespec="seconds"),
        machine=machine,
        target="",
        suite=method.partition("/")[0],
        commit=made_of,
        dirty=dirty,
        method=method,
        graphs=tuple(
            GraphRecord(name, kernels=tuple(replace(k, launches=0) for k in found.values()))
            for name, found in sorted(kernels.items())
        ),
    )


def mapping(value: Any) -> dict[str, Any]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def plain(value: Any) -> str:
    """``value`` as text that can be stored and shown, empty for None: half a surrogate pair cannot
    be stored, and control characters would be orders to a terminal."""
    text = "" if value is None else str(value).encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "\N{REPLACEMENT CHARACTER}", text)


def figure(value: Any, where: str) -> float:
    """``value`` as a finite number; ``RecordError`` for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # an integer of hundreds of digits
            number = math.inf
        if math.isfinite(number):
            return number
    raise RecordError("a figure to import is no number", where, got=repr(value)[:80])


def samples(values: Any, where: str) -> list[float]:
    """Samples that a tool kept; none where it kept none."""
    if values is not None and not isinstance(values, list):
        raise RecordError("a sample to import is no number", where, got=repr(values)[:80])
    return [figure(each, where) for each in values or ()]


def sample_sets(ms: Iterable[float], launches: int = 1) -> tuple[Samples, ...]:
    """The samples of the one process that took them, if there are any."""
    kept = tuple(ms)
    return (Samples(kept, launches=launches),) if kept else ()


def unused(name: str, taken: Mapping[str, Any]) -> str:
    """``name``, with a number behind it if it is taken: no figure may displace another."""
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return next(each for each in itertools.chain((name,), numbered) if each not in taken)


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
        # Without the advice that only helps who measures.
        remedy = error.remedy.removesuffix(store.UNRECORDED)
        raise RecordError(error.what, error.where, error.got, error.expected, remedy) from error
