"""asv's result files (version 2) as runs."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import RecordError
from harness.files import slug
from harness.imports import values
from harness.imports.values import figure, mapping, plain, quantity, unused
from harness.records.run import KernelRecord, Machine, Run

VERSION = 2
"""Of asv's result files; the only one since 2020."""
METHOD = "asv"
_MOST = 1_000_000
"""Parameter combinations that a benchmark can be believed to have."""


def is_result(document: dict[str, Any]) -> bool:
    """Whether the document is a result file of asv's, of whatever version."""
    return "commit_hash" in document and "results" in document


def run_of(path: Path, document: dict[str, Any], left_out: Counter[str]) -> Run:
    """The run in the result file at ``path``; what it holds beside times and GB/s is counted."""
    if document.get("version") != VERSION:
        raise RecordError(
            "a result file of asv's has another version",
            str(path),
            got=str(document.get("version")),
            expected=str(VERSION),
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
        elif made := _kernels(fields, unit, where):
            kernels[plain(name)] = made
            started.append(fields.get("started_at"))
    when = min((s for s in started if isinstance(s, int | float)), default=document.get("date"))
    try:
        moment = datetime.fromtimestamp(when / 1e3 if isinstance(when, int | float) else 0, UTC)
    except (ValueError, OverflowError, OSError) as error:
        what = "a result file of asv's has a date that is none"
        raise RecordError(what, str(path), got=repr(when)[:80]) from error
    # asv compares no two environments, and no more do we.
    method = "/".join(filter(None, (METHOD, plain(document.get("env_name")))))
    return values.run(moment, document["commit_hash"], method, _machine(path, document), kernels)


def _machine(path: Path, document: dict[str, Any]) -> Machine:
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
    return next((values.read_json(file, what) for file in files if file.is_file()), {})


def _kernels(fields: dict[str, Any], unit: str, where: str) -> dict[str, KernelRecord]:
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
        if value is None:
            reason = "asv recorded no value: the benchmark failed"
            kernels[name] = KernelRecord(name, METHOD, 0, reason=reason)
        elif value in (math.inf, -math.inf):
            reason = f"asv recorded {value}, which is no figure"
            kernels[name] = KernelRecord(name, METHOD, 0, reason=reason)
        elif value == value:  # not a number: asv skipped it
            kernels[name] = _kernel(name, value, taken, unit, where)
    return kernels


def _kernel(name: str, value: Any, taken: Any, unit: str, where: str) -> KernelRecord:
    ms, gbps = quantity(figure(value, where), unit) or (None, None)
    drawn = [quantity(each, unit) for each in values.samples(taken, where)]
    kept = [found[0] for found in drawn if found and found[0] is not None]
    ms = statistics.median(kept) if kept else ms
    return KernelRecord(name, METHOD, 0, ms=ms, gbps=gbps, sets=values.sample_sets(kept))
