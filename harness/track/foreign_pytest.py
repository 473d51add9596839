"""pytest-benchmark's JSON as a run."""

from __future__ import annotations

import statistics
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.bench.record import KernelRecord, Machine, Run, SampleSet, from_json
from harness.errors import RecordError
from harness.track.foreign import Imported, graphs_of, slug

METHOD = "pytest-benchmark"
_FACTS = ("gbps", "bytes")
"""Numbers that a benchmark may have in its ``extra_info``."""


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
        full = str(entry.get("fullname") or entry.get("name"))
        graph = str(entry.get("group") or full.partition("::")[0])
        name = str(entry.get("name"))
        kernels.setdefault(graph, {})[name] = _kernel(name, entry, where)
    commit = _mapping(document.get("commit_info"))
    moment = _moment(document.get("datetime"), path)
    sha = str(commit.get("id") or "")
    sha = sha if sha.strip("0123456789abcdef") == "" else ""
    found.runs.append(
        (
            path,
            Run(
                id=f"{moment:%Y%m%d-%H%M%S}-{sha[:12] or 'imported'}",
                created=moment.isoformat(timespec="seconds"),
                machine=_machine(document["machine_info"], path),
                target="",
                suite=METHOD,
                commit=sha,
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
    except ValueError as error:
        raise RecordError(
            "a file of pytest-benchmark's does not say when it was made", str(path), got=str(text)
        ) from error
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _machine(info: Any, path: Path) -> Machine:
    if not isinstance(info, dict):
        raise RecordError("a file of pytest-benchmark's describes no machine", str(path))
    if isinstance(info.get("harness"), dict):  # the harness's own plugin adds it
        return from_json(Machine, info["harness"], f"{path}: machine_info.harness")
    cpu = _mapping(info.get("cpu"))
    name = str(cpu.get("brand_raw") or info.get("processor") or info.get("machine") or "")
    cores = cpu.get("count")
    return Machine(
        key=slug("pytest", name),
        cpu=name,
        cores=cores if isinstance(cores, int) else None,
        system=" ".join(str(info[key]) for key in ("system", "machine") if info.get(key)),
        python=str(info.get("python_version") or ""),
    )


def _kernel(name: str, entry: dict[str, Any], where: str) -> KernelRecord:
    stats = entry["stats"]
    samples = stats.get("data")
    kept: tuple[float, ...] = ()
    if isinstance(samples, list):
        kept = tuple(1e3 * _number(each, f"{where}.stats.data") for each in samples)
    ms = statistics.median(kept) if kept else 1e3 * _number(stats.get("median"), where)
    extra = _mapping(entry.get("extra_info"))
    facts = {
        key: float(extra[key])
        for key in _FACTS
        if isinstance(extra.get(key), int | float) and not isinstance(extra.get(key), bool)
    }
    launches = stats.get("iterations")
    sets = (
        (SampleSet(0, kept, launches=launches if isinstance(launches, int) else 1),) if kept else ()
    )
    return KernelRecord(
        name, METHOD, int(facts.get("bytes", 0)), ms=ms, gbps=facts.get("gbps"), sets=sets
    )


def _number(value: Any, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise RecordError(
            "a figure of pytest-benchmark's is no number", where, got=repr(value)[:80]
        )
    return float(value)
