"""pytest-benchmark's JSON as a run."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import RecordError
from harness.files import slug
from harness.imports import values
from harness.imports.values import figure, mapping, plain, unused
from harness.records.run import KernelRecord, Machine, Run, from_json

METHOD = "pytest-benchmark"
_FACTS = ("gbps", "bytes", "median_low_ms", "median_high_ms", "share_of_roof")
"""Numbers that a benchmark may have in its ``extra_info``; those of the harness's plugin have
all of them."""


def is_result(document: dict[str, Any]) -> bool:
    """Whether the document is what ``--benchmark-json`` or ``--benchmark-save`` writes."""
    return "benchmarks" in document and "machine_info" in document


def run_of(path: Path, document: dict[str, Any], left_out: Counter[str]) -> Run:  # noqa: ARG001
    """The run in the file at ``path``, of which nothing is left out."""
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
        others[name] = _kernel(name, entry, where)
    commit = mapping(document.get("commit_info"))
    when = str(document.get("datetime"))
    try:
        moment = datetime.fromisoformat(when)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        what = "a file of pytest-benchmark's does not say when it was made"
        raise RecordError(what, str(path), got=when) from error
    machine, dirty = _machine(document["machine_info"], path), bool(commit.get("dirty"))
    return values.run(moment, commit.get("id"), METHOD, machine, kernels, dirty)


def _machine(info: Any, path: Path) -> Machine:
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


def _kernel(name: str, entry: dict[str, Any], where: str) -> KernelRecord:
    stats, extra = entry["stats"], mapping(entry.get("extra_info"))
    data = stats.get("data")
    kept = [1e3 * each for each in values.samples(data if isinstance(data, list) else None, where)]
    ms = statistics.median(kept) if kept else 1e3 * figure(stats.get("median"), where)
    facts = {
        key: figure(extra[key], f"{where}.extra_info.{key}")
        for key in _FACTS
        if isinstance(extra.get(key), int | float) and not isinstance(extra[key], bool)
    }
    launches = stats.get("iterations")
    return KernelRecord(
        name,
        METHOD,
        int(facts.get("bytes", 0)),
        ms=ms,
        low=facts.get("median_low_ms"),
        high=facts.get("median_high_ms"),
        gbps=facts.get("gbps"),
        fraction=facts.get("share_of_roof"),
        roof=plain(extra.get("roof")),
        sets=values.sample_sets(kept, launches if isinstance(launches, int) else 1),
    )
