"""The columns of a run file, and how files of older versions are brought up to date.

Version 1: one row per kernel, ``samples_ms`` a list. Version 2: samples by process (``sets``),
every configuration that tuning tried (``trials``), regions of other compilers.

Columns only ever get added within a version; one that is renamed or changes its meaning makes a
new version, with a step in ``UPGRADES`` and a file of the old version in ``tests/track/fixtures``.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.bench.record import SCHEMA_VERSION, KernelRecord, Run, SampleSet, TrialRecord, to_json

if TYPE_CHECKING:
    import pyarrow as pa

RUN_KEY = b"harness.run"
VERSION_KEY = b"harness.schema"
JSON_TEXT = ("config", "mix")
"""Columns whose keys differ from kernel to kernel."""

RowUpgrade = Callable[[dict[str, Any]], dict[str, Any]]


def _row_1_to_2(row: dict[str, Any]) -> dict[str, Any]:
    """Version 1 kept the samples of its one process without saying how they were taken."""
    rest = {name: value for name, value in row.items() if name != "samples_ms"}
    samples = row.get("samples_ms")
    return {**rest, "sets": [{"process": 0, "ms": samples}] if samples else [], "trials": []}


UPGRADES: dict[int, RowUpgrade] = {1: _row_1_to_2}
"""For each old version the step to the next: a kernel's row, in a run file or in a journal."""


def upgrade_row(row: dict[str, Any], version: int) -> dict[str, Any]:
    """A kernel's ``row`` of schema ``version`` as one of the current version."""
    for step in range(version, SCHEMA_VERSION):
        row = UPGRADES[step](row)
    return row


def code_digest(kernel: KernelRecord) -> str:
    """Short digest of what the GPU runs; empty without a module."""
    return digest_of_code(kernel.code) if kernel.module else ""


def digest_of_code(code: str) -> str:
    """Short digest of a kernel's code."""
    return hashlib.blake2b(code.encode(), digest_size=8).hexdigest()


def table(run: Run) -> pa.Table:
    """``run`` as a table of kernels, everything else in the table's metadata."""
    import pyarrow as pa

    key = {
        "run": run.id,
        "created": run.created,
        "commit": run.commit,
        "machine": run.machine.key,
        "gpu": run.machine.gpu,
        "target": run.target,
        "method": run.method,
        "copy_gbps": run.copy_gbps,
    }
    rows = []
    for graph in run.graphs:
        for kernel in graph.kernels:
            row = {**key, "graph": graph.name, **to_json(kernel), **_derived(kernel)}
            for name in JSON_TEXT:
                row[name] = None if row[name] is None else json.dumps(row[name])
            for trial in row["trials"]:
                trial["config"] = json.dumps(trial["config"])
            rows.append(row)
    whole = to_json(replace(run, graphs=tuple(replace(g, kernels=()) for g in run.graphs)))
    metadata = {RUN_KEY: json.dumps(whole).encode(), VERSION_KEY: str(SCHEMA_VERSION).encode()}
    return pa.Table.from_pylist(rows, schema=columns().with_metadata(metadata))


def _derived(kernel: KernelRecord) -> dict[str, Any]:
    """What the index needs of the nested columns and of the module, so that it need not read
    those; readers of a run ignore it."""
    clocks = [each.clock_mhz for each in kernel.sets if each.clock_mhz is not None]
    return {
        "code_digest": code_digest(kernel),
        "samples": sum(len(each.ms) for each in kernel.sets),
        "excluded": sum(each.excluded for each in kernel.sets),
        "clock_mhz": statistics.median(clocks) if clocks else None,
    }


def columns() -> pa.Schema:
    """The columns of a run file."""
    import pyarrow as pa

    keys = [
        ("run", pa.string()),
        ("created", pa.string()),
        ("commit", pa.string()),
        ("machine", pa.string()),
        ("gpu", pa.string()),
        ("target", pa.string()),
        ("method", pa.string()),
        ("copy_gbps", pa.float64()),
        ("graph", pa.string()),
    ]
    floats = ("max_error", "allowed", "ms", "gbps", "fraction", "low", "high", "detectable")
    texts = ("name", "kind", "check", "check_note", "reason", "module", "region", "roof")
    types = {
        "origins": pa.list_(pa.string()),
        "sets": pa.list_(_struct(SampleSet)),
        "trials": pa.list_(_struct(TrialRecord)),
        **dict.fromkeys(floats, pa.float64()),
        **dict.fromkeys((*texts, *JSON_TEXT), pa.string()),
    }
    kernel = [(name, types.get(name, pa.int64())) for name in KernelRecord.__slots__]
    derived = [
        ("code_digest", pa.string()),
        ("samples", pa.int64()),
        ("excluded", pa.int64()),
        ("clock_mhz", pa.float64()),
    ]
    return pa.schema([*keys, *kernel, *derived])


def _struct(kind: type[SampleSet] | type[TrialRecord]) -> pa.DataType:
    """The columns of a record inside a kernel's row. Configurations are JSON text, because
    each kernel names its own block sizes."""
    import pyarrow as pa

    types = {
        **dict.fromkeys(("low", "high", "clock_mhz", "copy_gbps", "cycles", "level"), pa.float64()),
        **dict.fromkeys(("ms", "samples_ms"), pa.list_(pa.float64())),
        **dict.fromkeys(("stopped", "drift", "method", "origin", "reason", "config"), pa.string()),
    }
    return pa.struct([(name, types.get(name, pa.int64())) for name in kind.__slots__])
