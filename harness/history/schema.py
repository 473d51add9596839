"""The columns of a run file, and how files of older versions are brought up to date.

Version 1: one row per kernel, ``samples_ms`` a list. Version 2: samples by process (``sets``),
every configuration that tuning tried (``trials``), regions of other compilers in the metadata.
Version 3: those regions in a column, because their samples are most of a file.

Columns only ever get added within a version; one that is renamed or changes its meaning makes a new
version, with a step in ``UPGRADES`` and a file of the old version in ``tests/history/fixtures``.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import statistics
import types
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.json import decode

from harness.records import metrics
from harness.records import run as records
from harness.records.run import KernelRecord, RegionRecord, Run, fields, from_json, to_json
from harness.records.timing import DISTURBED

RUN_KEY = b"harness.run"
VERSION_KEY = b"harness.schema"
LACKED_MEMORY = "OutOfMemoryError: CUDA out of memory"
"""In the note of a check for which there was no memory, from when that counted as failed."""
_OF_RUN = "created commit target method copy_gbps"
_LEVEL = 12
"""Of zstd: from 13 on it takes ten times as long, for 4 % less."""
_BITS = 17
"""Of the mantissa of a figure in a file, which so is known to 7.6e-6 of its value. Of repeated
samples the noise is 1e-3, of medians of several processes 2e-3 (docs/store.md)."""
_FEWER_BITS = {"samples_ms": 14, "error": 8}
"""Of a tuning's samples, known to 6.1e-5: an event ticks every 32 ns, 5e-4 of the 70 µs that such a
sample takes, and the noise of longer ones is 1e-3; and of the standard error of their median, which
so few samples give to a tenth."""

RowUpgrade = Callable[[dict[str, Any]], dict[str, Any]]


def _row_1_to_2(row: dict[str, Any]) -> dict[str, Any]:
    """Version 1 kept the samples of its one process without saying how they were taken."""
    rest = {name: value for name, value in row.items() if name != "samples_ms"}
    samples = row.get("samples_ms")
    return {**rest, "sets": [{"process": 0, "ms": samples}] if samples else [], "trials": []}


UPGRADES: dict[int, RowUpgrade] = {1: _row_1_to_2, 2: dict}
"""For each old version the step to the next: a kernel's row, in a run file or in a journal. Version
2 kept the regions with the graphs, in the metadata, where they still are read."""


def upgrade_row(row: dict[str, Any], version: int) -> dict[str, Any]:
    """A kernel's ``row`` of schema ``version`` as the fields of a ``KernelRecord``."""
    for step in range(version, records.SCHEMA_VERSION):
        row = UPGRADES[step](row)
    if row.get("check") == "failed" and LACKED_MEMORY in row.get("check_note", ""):
        row = {**row, "check": "skipped"}
    return metrics.gathered(row)


def labels(kernels: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """What the kernels of a graph (name, origins) are called in the history, in order. A kernel's
    own name says what was fused and counts kernels, so it changes with either. The last graph node
    that it computes stays, whatever else comes to share the kernel."""
    seen: Counter[str] = Counter()
    found = []
    for name, origins in kernels:
        label = origins[-1] if origins else name
        seen[label] += 1
        found.append(label if seen[label] == 1 else f"{label}+{seen[label]}")
    return found


def series_keys(kernels: Iterable[tuple[str, str | None, str | None, str]]) -> list[str]:
    """What tells each kernel (graph, region, its nodes in lines, name) of a run from the others, in
    every run in which it computes the same nodes: its region, its nodes, and the ordinal among
    those that agree in both. A kernel without known nodes has its name."""
    seen: dict[tuple[str, str], int] = {}
    found = []
    for graph, region, origins, name in kernels:
        key = f"{region or ''} {_in_order(origins)}" if origins else name
        seen[graph, key] = number = seen.get((graph, key), 0) + 1
        found.append(f"{key} {number}")
    return found


def identities(graph: records.GraphRecord) -> list[tuple[str, str]]:
    """Key (``series_keys``) and label (``labels``) of each kernel of ``graph``, in order."""
    every = graph.kernels
    keys = series_keys((graph.name, k.region, "\n".join(k.origins), k.name) for k in every)
    return [*zip(keys, labels((k.name, k.origins) for k in every), strict=True)]


@functools.lru_cache(maxsize=1 << 14)
def _in_order(lines: str) -> str:
    """Kept, since the runs of a history hold the same kernels."""
    return " ".join(sorted(lines.split("\n")))


def table(run: Run) -> pa.Table:
    """``run`` as a table of kernels, everything else in the table's metadata. What other compilers
    made of a graph's regions is a list in the graph's first row."""
    key = fields(run, _OF_RUN)
    key |= {"run": run.id, "machine": run.machine.key, "gpu": run.machine.gpu}
    rows = []
    for graph in run.graphs:
        names = labels((kernel.name, kernel.origins) for kernel in graph.kernels)
        each = zip(graph.kernels, names, graph.problems, strict=True)
        for place, (kernel, label, why) in enumerate(each):
            packed = _converted(KernelRecord, metrics.spread(to_json(kernel)), json.dumps)
            mine = () if place else graph.regions
            regions = [_converted(RegionRecord, to_json(one), json.dumps) for one in mine]
            more = {"graph": graph.name, "regions": regions, "label": label, "problem": why}
            rows.append({**key, **packed, **more, **_derived(kernel)})
    # What of a graph is not in rows: of one without kernels, everything.
    bare = (replace(g, kernels=(), regions=()) if g.kernels else g for g in run.graphs)
    whole = to_json(replace(run, graphs=tuple(bare)))
    # Nine of ten fields of a corpus' graphs are as they are by default.
    whole["graphs"] = [{k: v for k, v in g.items() if v or v == 0} for g in whole["graphs"]]
    version = str(records.SCHEMA_VERSION).encode()
    metadata = {RUN_KEY: json.dumps(whole).encode(), VERSION_KEY: version}
    return pa.Table.from_pylist(rows, schema=columns().with_metadata(metadata))


def write(run: Run, sink: Any) -> None:
    """Write ``run`` as a Parquet file, so that it takes little room: figures as far as they are
    known, byte by byte, those of one rank together; a module once, beside those whose text begins
    alike; and no second copy of the metadata, as Arrow keeps one for itself."""
    rows, kinds = known(run)
    metadata, place = rows.schema.metadata, rows.column_names.index("module")
    texts = pa.array(sorted({*rows["module"].to_pylist()}), pa.string())
    numbers = pc.index_in(rows["module"].combine_chunks(), texts)
    modules = pa.DictionaryArray.from_arrays(numbers, texts)
    rows = rows.set_column(place, "module", modules).replace_schema_metadata(None)
    with pq.ParquetWriter(
        sink,
        rows.schema,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=[path for path, is_figure in kinds.items() if not is_figure],
        use_byte_stream_split=[path for path, is_figure in kinds.items() if is_figure],
        dictionary_pagesize_limit=1 << 30,
        store_schema=False,
    ) as writer:
        writer.write_table(rows, row_group_size=max(rows.num_rows, 1))
        writer.add_key_value_metadata(metadata)


def known(run: Run) -> tuple[pa.Table, dict[str, bool]]:
    """As ``table``, with figures as far as a file keeps them, so that a run and what was read of
    its file are equal; and the columns that it consists of, and whether they hold figures."""
    made, kinds = table(run), dict[str, bool]()
    columns = [_known(made[name].combine_chunks(), name, kinds) for name in made.column_names]
    return pa.table(columns, schema=made.schema), kinds


def _known(array: Any, path: str, kinds: dict[str, bool]) -> Any:
    """What stands in a file at ``path``, with its figures as far as they are known. ``kinds`` gets
    the columns that it consists of, and whether they hold figures."""
    kind, lacks = array.type, array.is_null()
    if pa.types.is_list(kind):
        values = _known(array.values, f"{path}.list.element", kinds)
        return pa.ListArray.from_arrays(array.offsets, values, kind, mask=lacks)
    if pa.types.is_struct(kind):
        held = [_known(array.field(each.name), f"{path}.{each.name}", kinds) for each in kind]
        return pa.StructArray.from_arrays(held, fields=list(kind), mask=lacks)
    kinds[path] = pa.types.is_floating(kind)
    if not kinds[path]:
        return array
    bits = _FEWER_BITS.get(path.removesuffix(".list.element").rpartition(".")[2], _BITS)
    values = array.to_numpy(zero_copy_only=False)
    mantissa, exponent = np.frexp(values)
    with np.errstate(over="ignore"):
        rounded = np.ldexp(np.round(mantissa * 2.0**bits), exponent - bits)
    known = np.where(np.isfinite(rounded), rounded, values)  # the largest number stays one
    return pa.array(known, kind, mask=lacks.to_numpy(zero_copy_only=False))


def kernel_of(row: dict[str, Any], version: int, where: str) -> KernelRecord:
    """The kernel in a ``row`` of a file of schema ``version``."""
    fields = _converted(KernelRecord, row, decode)
    return from_json(KernelRecord, upgrade_row(fields, version), where)


def regions_of(row: dict[str, Any], where: str) -> tuple[RegionRecord, ...]:
    """The regions in the ``row`` of a graph's first kernel."""
    packed = [_converted(RegionRecord, each, decode) for each in row.get("regions") or ()]
    return from_json(tuple[RegionRecord, ...], packed, where)


def _converted(kind: Any, row: dict[str, Any], convert: Callable[[Any], Any]) -> dict[str, Any]:
    """``row``, a ``kind`` of record as JSON values, with its mappings converted, at any depth:
    a file holds them as JSON text, because their keys (block sizes, groups of instructions) differ
    from kernel to kernel."""
    found = dict(row)
    for name, item in _nested(kind).items():
        if (value := found.get(name)) is not None and item is None:
            found[name] = convert(value)
        elif value is not None:
            found[name] = [_converted(item, each, convert) for each in value]
    return found


@functools.cache
def _nested(kind: Any) -> dict[str, Any]:
    """The fields of a record that hold records in a list, with the record's type, and those that
    hold a mapping, with None."""
    found: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(kind).items():
        inner = _inner(hint)
        if typing.get_origin(inner) is dict:
            found[name] = None
        elif typing.get_origin(inner) is tuple and dataclasses.is_dataclass(inner.__args__[0]):
            found[name] = inner.__args__[0]
    return found


def _inner(hint: Any) -> Any:
    """``hint`` without its None."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        (hint,) = (each for each in typing.get_args(hint) if each is not type(None))
    return hint


def _derived(kernel: KernelRecord) -> dict[str, Any]:
    """What the index needs of the nested columns and of the module, so that it need not read
    those; readers of a run ignore it. Samples of a process that saw nothing but disturbance were
    kept for want of others, and count as excluded."""
    fine = [each for each in kernel.sets if each.stopped not in DISTURBED]
    every = sum(len(each.ms) + each.excluded for each in kernel.sets)
    samples = sum(len(each.ms) for each in fine)
    clocks = [each.clock_mhz for each in kernel.sets if each.clock_mhz is not None]
    return {
        "code_hash": kernel.code_hash if kernel.module else "",
        "samples": samples,
        "excluded": every - samples,
        "clock_mhz": statistics.median(clocks) if clocks else None,
    }


def columns() -> pa.Schema:
    """The columns of a run file."""
    texts = ("run", "created", "commit", "machine", "gpu", "target", "method")
    return pa.schema(
        [
            *((name, pa.string()) for name in texts),
            ("copy_gbps", pa.float64()),
            ("graph", pa.string()),
            *_fields(KernelRecord),
            ("regions", pa.list_(pa.struct(_fields(RegionRecord)))),
            *((name, pa.string()) for name in ("label", "code_hash", "problem")),
            *((name, pa.int64()) for name in ("samples", "excluded")),
            ("clock_mhz", pa.float64()),
        ]
    )


def _fields(kind: Any) -> Iterator[tuple[str, pa.DataType]]:
    """The columns of a record, from its annotations."""
    hints = typing.get_type_hints(kind)
    for each in dataclasses.fields(kind):
        if kind is KernelRecord and each.name == "metrics":
            yield from ((metric.column, _type(int)) for metric in metrics.static())
        else:
            yield each.name, _type(hints[each.name])


def _type(hint: Any) -> pa.DataType:
    inner = _inner(hint)
    if typing.get_origin(inner) is tuple:
        return pa.list_(_type(typing.get_args(inner)[0]))
    if dataclasses.is_dataclass(inner):
        return pa.struct(_fields(inner))
    scalars = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    return scalars.get(inner, pa.string())  # text, enumerations, mappings as JSON
