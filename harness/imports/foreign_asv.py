"""asv's result files (version 2) as runs."""

from __future__ import annotations

import itertools
import math
import statistics
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import RecordError
from harness.imports import foreign_asv_tracked as tracked
from harness.imports.foreign import (
    Imported,
    drawn,
    figure,
    graphs_of,
    per_combination,
    plain,
    quantity,
    read_json,
    sha,
    slug,
    unused,
)
from harness.records.run import GraphRecord, KernelRecord, Machine, Run
from harness.records.timing import Samples

VERSION = 2
"""Of asv's result files; the only one since 2020."""
METHOD = "asv"
_MOST = 1_000_000
"""Parameter combinations that a benchmark can be believed to have."""


def is_result(document: dict[str, Any]) -> bool:
    """Whether the document is a result file of asv's, of whatever version."""
    return "commit_hash" in document and "results" in document


def add(path: Path, document: dict[str, Any], found: Imported) -> None:
    """Add the run in the result file at ``path``."""
    version = document.get("version")
    if version != VERSION:
        raise RecordError(
            "a result file of asv's has another version",
            str(path),
            got=str(version),
            expected=str(VERSION),
            remedy="`asv update` brings its files up to date",
        )
    entries = _entries(path)
    columns = document.get("result_columns")
    if not isinstance(columns, list) or not isinstance(document["results"], dict):
        raise RecordError("a result file of asv's has no columns", str(path))
    results = {name: _fields(path, name, row, columns) for name, row in document["results"].items()}
    own = {name for name in results if tracked.is_tracked(entries.get(name, {}))}
    kernels: dict[str, dict[str, KernelRecord]] = {}
    used = set(own)
    for name, fields in results.items():
        if name in own:
            continue
        unit = _unit(name, entries)
        if unit is None or quantity(1.0, unit) is None:
            found.left_out[f"asv benchmarks in {plain(unit or 'an unknown unit')}"] += 1
        elif made := _kernels(fields, unit, f"{path}: {plain(name)}"):
            kernels[plain(name)] = made
            used.add(name)
    ours = {name: results[name] for name in sorted(own)}
    graphs = (*tracked.graphs(ours, entries, str(path)), *graphs_of(kernels))
    started = [results[name].get("started_at") for name in used]
    when = min((s for s in started if isinstance(s, int | float)), default=document.get("date"))
    found.runs.append((path, _run(path, document, when, graphs, _version(ours, entries))))


def _fields(path: Path, name: str, row: Any, columns: list[Any]) -> dict[str, Any]:
    """A result by its columns."""
    if not isinstance(row, list):
        got = f"{plain(name)}: {row!r}"[:80]
        raise RecordError("a result of asv's is no list", str(path), got=got)
    return dict(zip(columns, row, strict=False))


def _version(results: dict[str, Any], entries: dict[str, dict[str, Any]]) -> str:
    """The way in which kernels of harness's own suite were timed; empty for other suites."""
    timed = (
        str(fields.get("version") or "")
        for name, fields in results.items()
        if (entries[name]["table"], entries[name]["metric"]) == ("kernels", "seconds")
    )
    return next(timed, "")


def _run(
    path: Path, document: dict[str, Any], when: Any, graphs: tuple[GraphRecord, ...], version: str
) -> Run:
    commit = sha(document["commit_hash"])
    try:
        moment = datetime.fromtimestamp(when / 1e3 if isinstance(when, int | float) else 0, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise RecordError(
            "a result file of asv's has a date that is none", str(path), got=repr(when)[:80]
        ) from error
    return Run(
        id=f"{moment:%Y%m%d-%H%M%S}-{commit[:12] or 'imported'}",
        created=moment.isoformat(timespec="seconds"),
        machine=_machine(path, document),
        target="",
        suite=METHOD,
        commit=commit,
        method="/".join(
            filter(None, (METHOD, plain(document.get("env_name") or ""), plain(version)))
        ),
        graphs=graphs,
    )


def _machine(path: Path, document: dict[str, Any]) -> Machine:
    fields = document.get("params")
    if not isinstance(fields, dict):
        fields = {}
    file = path.parent / "machine.json"
    if file.is_file():
        fields = {**fields, **read_json(file, "asv's description of a machine")}
    requirements = document.get("requirements")
    if not isinstance(requirements, dict):
        requirements = {}

    def text(name: str) -> str:
        return plain(fields.get(name) or "")

    cores = text("num_cpu")
    return Machine(
        key=slug("asv", text("machine") or path.parent.name),
        cpu=text("cpu"),
        cores=int(cores) if cores.isdecimal() else None,
        system=" ".join(filter(None, (text("os"), text("arch")))),
        gpu=text("gpu") or None,
        driver=text("driver") or None,
        python=plain(document.get("python") or ""),
        torch=plain(requirements.get("torch") or ""),
        triton=plain(requirements.get("triton") or ""),
    )


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    """What the ``benchmarks.json`` beside the machines' folders says of each benchmark."""
    for folder in path.parents[:2]:
        file = folder / "benchmarks.json"
        if file.is_file():
            document = read_json(file, "asv's list of benchmarks")
            return {name: entry for name, entry in document.items() if isinstance(entry, dict)}
    return {}


def _unit(name: str, entries: dict[str, dict[str, Any]]) -> str | None:
    """The unit that asv recorded, else what the function's name says: ``time_`` is seconds."""
    if unit := str(entries.get(name, {}).get("unit") or ""):
        return unit
    return "seconds" if name.rpartition(".")[2].lower().startswith("time") else None


def _kernels(fields: dict[str, Any], unit: str, where: str) -> dict[str, KernelRecord]:
    result = fields.get("result")
    values = result if isinstance(result, list) else [result]
    parameters = fields.get("params") or []
    if not isinstance(parameters, list) or not all(isinstance(p, list) for p in parameters):
        raise RecordError("parameters of asv's are no lists", where, got=repr(parameters)[:80])
    expected = math.prod(len(each) for each in parameters)  # counted, not listed: may be any number
    if values == [None] and expected <= _MOST:  # its set-up failed, for all combinations at once
        values = [None] * expected
    values = per_combination(values, expected, where)
    kernels: dict[str, KernelRecord] = {}
    for place, (combination, value) in enumerate(
        zip(itertools.product(*parameters), values, strict=True)
    ):
        name = unused(plain(", ".join(map(str, combination))) or "-", kernels)
        record = _kernel(name, value, _at(fields.get("samples"), place), unit, where)
        if record is not None:
            kernels[name] = record
    return kernels


def _at(column: Any, place: int) -> Any:
    return column[place] if isinstance(column, list) and place < len(column) else None


def _kernel(name: str, value: Any, samples: Any, unit: str, where: str) -> KernelRecord | None:
    """One combination; None for one that asv skipped (not a number)."""
    if value is None:
        return KernelRecord(name, METHOD, 0, reason="asv recorded no value: the benchmark failed")
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return None
        return KernelRecord(name, METHOD, 0, reason=f"asv recorded {value}, which is no figure")
    number = figure(value, "a result of asv's is no number", where)
    ms, gbps = _converted(number, unit)
    kept = _samples(samples, unit, where)
    sets = (Samples(kept),) if kept and ms is not None else ()
    if sets:
        ms = statistics.median(kept)
    return KernelRecord(name, METHOD, 0, ms=ms, gbps=gbps, sets=sets)


def _samples(samples: Any, unit: str, where: str) -> tuple[float, ...]:
    found = [_converted(each, unit) for each in drawn(samples, where)]
    return tuple(gbps or 0.0 if ms is None else ms for ms, gbps in found)


def _converted(value: float, unit: str) -> tuple[float | None, float | None]:
    converted = quantity(value, unit)
    assert converted is not None  # the caller has asked
    return converted
