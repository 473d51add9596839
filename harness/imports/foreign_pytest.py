"""pytest-benchmark's JSON as a run."""

from __future__ import annotations

import statistics
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import RecordError
from harness.imports.foreign import Imported, figure, graphs_of, plain, sha, slug, unused
from harness.records.run import KernelRecord, Machine, Run, from_json
from harness.records.timing import Samples

METHOD = "pytest-benchmark"
_NO_NUMBER = "a figure of pytest-benchmark's is no number"
_FACTS = ("gbps", "bytes", "median_low_ms", "median_high_ms", "share_of_roof")
"""Numbers that a benchmark may have in its ``extra_info``; those of the harness's plugin have
all of them."""


def is_result(document: dict[str, Any]) -> bool:
    """Whether the document is what ``--benchmark-json`` or ``--benchmark-save`` writes."""
    return "benchmarks" in document and "machine_info" in document


def add(path: Path, document: dict[str, Any], found: Imported) -> None:
    """Add the run in the file at ``path``."""
    benchmarks = document["benchmarks"]
    if not isinstance(benchmarks, list):
        raise RecordError("a file of pytest-benchmark's has no list of benchmarks", str(path))
    kernels: dict[str, dict[str, KernelRecord]] = {}
    for number, entry in enumerate(benchmarks):
        where = f"{path}: benchmarks[{number}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("stats"), dict):
            raise RecordError("a benchmark of pytest-benchmark's has no figures", where)
        full = plain(entry.get("fullname") or entry.get("name"))
        graph = plain(entry.get("group") or full.partition("::")[0])
        others = kernels.setdefault(graph, {})
        name = plain(entry.get("name"))
        if name in others:  # a group across files or classes: their full names differ
            name = unused(full, others)
        others[name] = _kernel(name, entry, where)
    commit = _mapping(document.get("commit_info"))
    moment = _moment(document.get("datetime"), path)
    made_of = sha(commit.get("id"))
    found.runs.append(
        (
            path,
            Run(
                id=f"{moment:%Y%m%d-%H%M%S}-{made_of[:12] or 'imported'}",
                created=moment.isoformat(timespec="seconds"),
                machine=_machine(document["machine_info"], path),
                target="",
                suite=METHOD,
                commit=made_of,
                dirty=bool(commit.get("dirty")),
                method=METHOD,
                graphs=graphs_of(kernels),
            ),
        )
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _moment(text: Any, path: Path) -> datetime:
    try:
        moment = datetime.fromisoformat(str(text))
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise RecordError(
            "a file of pytest-benchmark's does not say when it was made", str(path), got=str(text)
        ) from error


def _machine(info: Any, path: Path) -> Machine:
    if not isinstance(info, dict):
        raise RecordError("a file of pytest-benchmark's describes no machine", str(path))
    if isinstance(info.get("harness"), dict):  # the harness's own plugin adds it
        ours = from_json(Machine, info["harness"], f"{path}: machine_info.harness")
        return replace(ours, key=slug(ours.key))
    cpu = _mapping(info.get("cpu"))
    name = plain(
        cpu.get("brand_raw")
        or cpu.get("brand")
        or info.get("processor")
        or info.get("machine")
        or ""
    )
    cores = cpu.get("count")
    return Machine(
        key=slug("pytest", name),
        cpu=name,
        cores=cores if isinstance(cores, int) else None,
        system=" ".join(plain(info[key]) for key in ("system", "machine") if info.get(key)),
        python=plain(info.get("python_version") or ""),
    )


def _kernel(name: str, entry: dict[str, Any], where: str) -> KernelRecord:
    stats = entry["stats"]
    samples = stats.get("data")
    kept: tuple[float, ...] = ()
    if isinstance(samples, list):
        kept = tuple(1e3 * figure(each, _NO_NUMBER, f"{where}.stats.data") for each in samples)
    ms = statistics.median(kept) if kept else 1e3 * figure(stats.get("median"), _NO_NUMBER, where)
    extra = _mapping(entry.get("extra_info"))
    facts = {
        key: figure(extra[key], _NO_NUMBER, f"{where}.extra_info.{key}")
        for key in _FACTS
        if isinstance(extra.get(key), int | float) and not isinstance(extra[key], bool)
    }
    launches = stats.get("iterations")
    sets = (Samples(kept, launches=launches if isinstance(launches, int) else 1),) if kept else ()
    return KernelRecord(
        name,
        METHOD,
        int(facts.get("bytes", 0)),
        ms=ms,
        low=facts.get("median_low_ms"),
        high=facts.get("median_high_ms"),
        gbps=facts.get("gbps"),
        fraction=facts.get("share_of_roof"),
        roof=plain(extra.get("roof") or ""),
        sets=sets,
    )
