"""What a file to import says, as plain values and as a run: numbers that are numbers, text that
can be stored and shown."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.errors import RecordError
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
