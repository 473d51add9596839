"""asv's results of harness's own suite (``suites/asv``) as a run with its graphs and kernels.

The suite says of each tracked function which ``table`` and which ``metric`` it reads; asv keeps
both in ``benchmarks.json``. So a kernel comes back with its times, bytes and static figures under
the graph that it belongs to. What all launches of a graph take is a row of its own, below
``WHOLE``: how often each kernel was launched is not recorded, and a sum would be another number.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.asv.measure import CONFIGURATION
from harness.errors import RecordError
from harness.imports.foreign import drawn, figure, per_combination, plain
from harness.records import metrics
from harness.records.run import GraphRecord, KernelRecord
from harness.records.timing import Samples

WHOLE = "whole graphs"
"""The graph of an imported run that lists what whole graphs take."""
_KIND = "asv"


@dataclass(slots=True)
class _Row:
    """What is known of a kernel or a graph, by metric; failures have a reason."""

    values: dict[str, float] = field(default_factory=dict)
    samples: tuple[float, ...] = ()
    reason: str = ""


def is_tracked(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of ``benchmarks.json`` is one of the suite's."""
    return entry.get("table") in ("graphs", "kernels") and isinstance(entry.get("metric"), str)


def graphs(
    results: Mapping[str, dict[str, Any]], entries: Mapping[str, Mapping[str, Any]], where: str
) -> tuple[GraphRecord, ...]:
    """The graphs in ``results`` (columns by benchmark, all of them tracked). Raises
    ``RecordError`` for a value that is none."""
    tables: dict[str, dict[str, _Row]] = {"graphs": {}, "kernels": {}}
    for name, columns in results.items():
        entry = entries[name]
        for label, value, samples in _cells(columns, f"{where}: {name}"):
            row = tables[entry["table"]].setdefault(label, _Row())
            _enter(row, entry["metric"], value, samples, f"{where}: {name}")
    kernels: dict[str, list[KernelRecord]] = {}
    for label, row in tables["kernels"].items():
        graph, _, kernel = label.partition("/")
        kernels.setdefault(graph, []).append(_record(kernel or graph, row))
    named = sorted(kernels.keys() | tables["graphs"].keys())
    seconds = {g: r.values.get("codegen_seconds") for g, r in tables["graphs"].items()}
    found = [
        GraphRecord(
            graph, kernels=tuple(kernels.get(graph, ())), codegen_seconds=seconds.get(graph)
        )
        for graph in named
    ]
    whole = tuple(_record(graph, row) for graph, row in sorted(tables["graphs"].items()))
    return (*found, GraphRecord(WHOLE, kernels=whole)) if whole else tuple(found)


def _cells(columns: Mapping[str, Any], where: str) -> Iterator[tuple[str, float | None, Any]]:
    """Label, value (None: failed) and samples of each row that has any."""
    parameters = columns.get("params")
    given = parameters if isinstance(parameters, list) else []
    if len(given) != 1 or not isinstance(given[0], list):
        raise RecordError("a result of harness's asv suite has another shape", where)
    labels = [plain(each).strip("'") for each in given[0]]
    result = columns.get("result")
    values = result if isinstance(result, list) and result != [None] else [None] * len(labels)
    values = per_combination(values, len(labels), where)
    every = columns.get("samples")
    kept = every if isinstance(every, list) else [None] * len(labels)
    for label, value, samples in zip(labels, values, kept, strict=True):
        if isinstance(value, float) and math.isnan(value):
            continue
        number = None if value is None else figure(value, "a result of asv's is no number", where)
        yield label, number, samples


def _enter(row: _Row, metric: str, value: float | None, samples: Any, where: str) -> None:
    if value is None:
        row.reason = f"asv recorded no {metric}: it failed"
        return
    row.values[metric] = value
    if metric == "seconds" and samples is not None:
        row.samples = tuple(1e3 * each for each in drawn(samples, where))


def _record(name: str, row: _Row) -> KernelRecord:
    values = row.values

    columns = [metric.column for metric in metrics.static()]
    static = {name: int(values[name]) for name in columns if name in values}
    ms = values["seconds"] * 1e3 if "seconds" in values else None
    return KernelRecord(
        name,
        _KIND,
        int(values.get("bytes", 0)),
        launches=0,
        metrics=static,
        config=_config(values),
        ms=statistics.median(row.samples) if row.samples else ms,
        gbps=values.get("gbps"),
        reason=row.reason,
        sets=(Samples(row.samples),) if row.samples else (),
    )


def _config(values: Mapping[str, float]) -> dict[str, int] | None:
    """The configuration that was timed."""
    found = {name: int(values[name]) for name in CONFIGURATION if name in values}
    return found or None
