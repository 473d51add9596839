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
import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import RecordError, UsageError
from harness.files import slug
from harness.history import schema, store
from harness.records.run import GraphRecord, KernelRecord, Machine, Run, from_json
from harness.records.timing import Samples


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
        document = read_json(file, "a file to import")
        if document.keys() >= {"commit_hash", "results"}:  # of whatever version
            found.runs.append((file, _of_asv(file, document, found.left_out)))
        elif document.keys() >= {"benchmarks", "machine_info"}:
            found.runs.append((file, _of_pytest(file, document)))
    except RecordError as error:
        found.damaged.append(error)


def save(results: Path, run: Run) -> Path | None:
    """Store ``run`` unless it is there already; None if it is. Of several processes that import
    the same file one stores it. Raises ``RecordError`` where nothing can be written."""

    def is_same(path: Path) -> bool:
        try:
            there, _ = schema.known(store.load(path))
        except RecordError:
            return False
        return bool(there.equals(schema.known(run)[0], check_metadata=True))

    return store.save_new(results, run, is_same)


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


def _run(
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


def unused(name: str, taken: Mapping[str, Any]) -> str:
    """``name``, with a number behind it if it is taken: no figure may displace another."""
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return next(each for each in itertools.chain((name,), numbered) if each not in taken)


_ASV_VERSION = 2
"""Of asv's result files; the only one since 2020."""
ASV = "asv"
_MOST = 1_000_000
"""Parameter combinations that a benchmark can be believed to have."""


def _of_asv(path: Path, document: dict[str, Any], left_out: Counter[str]) -> Run:
    """The run in asv's result file at ``path``; what it holds beside times and GB/s is counted."""
    if document.get("version") != _ASV_VERSION:
        raise RecordError(
            "a result file of asv's has another version",
            str(path),
            got=str(document.get("version")),
            expected=str(_ASV_VERSION),
            remedy="`asv update` brings its files up to date",
        )
    columns, results = document.get("result_columns"), document["results"]
    if not isinstance(columns, list) or not isinstance(results, dict):
        raise RecordError("a result file of asv's has no columns", str(path))
    listed = _beside(path, "benchmarks.json", "asv's list of benchmarks", 2)
    kernels: dict[str, dict[str, KernelRecord]] = {}
    started = []
    for name, row in results.items():
        where = f"{path}: {plain(name)}"
        if not isinstance(row, list):
            raise RecordError("a result of asv's is no list", where, got=repr(row)[:80])
        fields = dict(zip(columns, row, strict=False))
        # The unit that asv recorded, else what the function's name says: ``time_`` is seconds.
        timed = name.rpartition(".")[2].lower().startswith("time")
        unit = str(mapping(listed.get(name)).get("unit") or "") or "seconds" * timed
        if quantity(1.0, unit) is None:
            left_out[f"asv benchmarks in {plain(unit or 'an unknown unit')}"] += 1
        elif made := _asv_kernels(fields, unit, where):
            kernels[plain(name)] = made
            started.append(fields.get("started_at"))
    when = min((s for s in started if isinstance(s, int | float)), default=document.get("date"))
    try:
        moment = datetime.fromtimestamp(when / 1e3 if isinstance(when, int | float) else 0, UTC)
    except (ValueError, OverflowError, OSError) as error:
        what = "a result file of asv's has a date that is none"
        raise RecordError(what, str(path), got=repr(when)[:80]) from error
    # asv compares no two environments, and no more do we.
    method = "/".join(filter(None, (ASV, plain(document.get("env_name")))))
    return _run(moment, document["commit_hash"], method, _asv_machine(path, document), kernels)


def _asv_machine(path: Path, document: dict[str, Any]) -> Machine:
    described = _beside(path, "machine.json", "asv's description of a machine", 1)
    known = {**mapping(document.get("params")), **described}
    fields = {name: plain(value) for name, value in known.items()}
    requirements = mapping(document.get("requirements"))
    cores = fields.get("num_cpu", "")
    return Machine(
        key=slug("asv", fields.get("machine") or path.parent.name),
        cpu=fields.get("cpu", ""),
        cores=int(cores) if cores.isdecimal() else None,
        system=" ".join(filter(None, (fields.get("os"), fields.get("arch")))),
        gpu=fields.get("gpu") or None,
        driver=fields.get("driver") or None,
        python=plain(document.get("python")),
        torch=plain(requirements.get("torch")),
        triton=plain(requirements.get("triton")),
    )


def _beside(path: Path, name: str, what: str, levels: int) -> dict[str, Any]:
    """The document called ``name`` in the folder of ``path`` or above it; empty without one."""
    files = (folder / name for folder in path.parents[:levels])
    return next((read_json(file, what) for file in files if file.is_file()), {})


def _asv_kernels(fields: dict[str, Any], unit: str, where: str) -> dict[str, KernelRecord]:
    result = fields.get("result")
    values = result if isinstance(result, list) else [result]
    parameters = fields.get("params") or []
    if not isinstance(parameters, list) or not all(isinstance(p, list) for p in parameters):
        raise RecordError("parameters of asv's are no lists", where, got=repr(parameters)[:80])
    expected = math.prod(len(each) for each in parameters)  # counted, not listed: may be any number
    if values == [None] and expected <= _MOST:  # its set-up failed, for all combinations at once
        values = [None] * expected
    if len(values) != expected:
        raise RecordError(
            "a result of asv's does not have a value per parameter combination",
            where,
            got=f"{len(values)} values",
            expected=f"{expected}",
        )
    kept = fields.get("samples")
    every = itertools.chain(kept if isinstance(kept, list) else (), itertools.repeat(None))
    kernels: dict[str, KernelRecord] = {}
    for combination, value, taken in zip(
        itertools.product(*parameters), values, every, strict=False
    ):
        name = unused(plain(", ".join(map(str, combination))) or "-", kernels)
        if value in (None, math.inf, -math.inf):
            told = "no value: the benchmark failed" if value is None else f"{value}, no figure"
            kernels[name] = KernelRecord(name, ASV, 0, reason=f"asv recorded {told}")
        elif value == value:  # not a number: asv skipped it
            kernels[name] = _asv_kernel(name, value, taken, unit, where)
    return kernels


def _asv_kernel(name: str, value: Any, taken: Any, unit: str, where: str) -> KernelRecord:
    ms, gbps = quantity(figure(value, where), unit) or (None, None)
    drawn = [quantity(each, unit) for each in samples(taken, where)]
    kept = [found[0] for found in drawn if found and found[0] is not None]
    ms = statistics.median(kept) if kept else ms
    sets = (Samples(tuple(kept)),) if kept else ()
    return KernelRecord(name, ASV, 0, ms=ms, gbps=gbps, sets=sets)


PYTEST = "pytest-benchmark"
_FACTS = ("gbps", "bytes", "median_low_ms", "median_high_ms", "share_of_roof")
"""Numbers that a benchmark may have in its ``extra_info``; those of the harness's plugin have
all of them."""


def _of_pytest(path: Path, document: dict[str, Any]) -> Run:
    """The run in pytest-benchmark's file at ``path``, of which nothing is left out."""
    benchmarks = document["benchmarks"]
    if not isinstance(benchmarks, list):
        raise RecordError("a file of pytest-benchmark's has no list of benchmarks", str(path))
    kernels: dict[str, dict[str, KernelRecord]] = {}
    for number, entry in enumerate(benchmarks):
        where = f"{path}: benchmarks[{number}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("stats"), dict):
            raise RecordError("a benchmark of pytest-benchmark's has no figures", where)
        full = plain(entry.get("fullname") or entry.get("name"))
        others = kernels.setdefault(plain(entry.get("group") or full.partition("::")[0]), {})
        name = plain(entry.get("name"))
        if name in others:  # a group across files or classes: their full names differ
            name = unused(full, others)
        others[name] = _pytest_kernel(name, entry, where)
    commit = mapping(document.get("commit_info"))
    when = str(document.get("datetime"))
    try:
        moment = datetime.fromisoformat(when)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        what = "a file of pytest-benchmark's does not say when it was made"
        raise RecordError(what, str(path), got=when) from error
    machine, dirty = _pytest_machine(document["machine_info"], path), bool(commit.get("dirty"))
    return _run(moment, commit.get("id"), PYTEST, machine, kernels, dirty)


def _pytest_machine(info: Any, path: Path) -> Machine:
    if not isinstance(info, dict):
        raise RecordError("a file of pytest-benchmark's describes no machine", str(path))
    if isinstance(info.get("harness"), dict):  # the harness's own plugin adds it
        ours = from_json(Machine, info["harness"], f"{path}: machine_info.harness")
        return replace(ours, key=slug(ours.key))
    cpu = mapping(info.get("cpu"))
    names = (cpu.get("brand_raw"), cpu.get("brand"), info.get("processor"), info.get("machine"))
    name = plain(next(filter(None, names), ""))
    cores = cpu.get("count")
    return Machine(
        key=slug("pytest", name),
        cpu=name,
        cores=cores if isinstance(cores, int) else None,
        system=" ".join(plain(info[key]) for key in ("system", "machine") if info.get(key)),
        python=plain(info.get("python_version")),
    )


def _pytest_kernel(name: str, entry: dict[str, Any], where: str) -> KernelRecord:
    stats, extra = entry["stats"], mapping(entry.get("extra_info"))
    data = stats.get("data")
    kept = [1e3 * each for each in samples(data if isinstance(data, list) else None, where)]
    ms = statistics.median(kept) if kept else 1e3 * figure(stats.get("median"), where)
    facts = {
        key: figure(extra[key], f"{where}.extra_info.{key}")
        for key in _FACTS
        if isinstance(extra.get(key), int | float) and not isinstance(extra[key], bool)
    }
    each = stats["iterations"] if isinstance(stats.get("iterations"), int) else 1
    return KernelRecord(
        name,
        PYTEST,
        int(facts.get("bytes", 0)),
        ms=ms,
        low=facts.get("median_low_ms"),
        high=facts.get("median_high_ms"),
        gbps=facts.get("gbps"),
        fraction=facts.get("share_of_roof"),
        roof=plain(extra.get("roof")),
        sets=(Samples(tuple(kept), launches=each),) if kept else (),
    )
