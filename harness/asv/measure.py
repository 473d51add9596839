"""What asv tracks: one commit's kernels measured once, and the look-ups into that.

``collect`` runs in asv's ``setup_cache``, once per commit, with the working tree's measuring
code; the modules it measures are those that the commit's compiler emitted. Its result is plain
data: per graph and per kernel a value for each metric. A value is a number, samples in the form
asv keeps (``{"samples": [...], "number": 1}``), a reason why there is none (``{"failed": ...}``,
a failure in asv), or missing (``n/a`` in asv).

A kernel is known across commits by the graph and the last graph node that it computes
(``llama_block_forward/mul_12``): graphs stay, while names, numbers and fusion change.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.asv.timing import Checked, Device, slowed, take
from harness.errors import (
    CheckFailed,
    CommitUnusable,
    HarnessError,
    UnknownName,
    nearest,
)
from harness.options import Options, Overlay
from harness.records import metrics

STATIC_METHOD = "static/1"
"""Compiled with the best guess, so that a tuner's choice between equals moves nothing."""
CODEGEN_METHOD = "codegen-cpu/2"
"""Graph to emitted modules in warm processes of the commit's own, Triton not included; processor
time. One process says too little: where its memory lies moves its times by 10 % and more."""

CONFIGURATION = ("XBLOCK", "YBLOCK", "R0_BLOCK", "num_warps", "num_stages")
"""What is tracked of the configuration under which a kernel was timed."""

NOTE, TOOK = "harness: ", "harness took: "
"""Begin a line of the measuring process that asv's user should see: a warning, and how long the
parts of the measurement took."""

if TYPE_CHECKING:
    from harness.heuristics.facts import Config

Value: TypeAlias = "float | int | dict[str, Any]"
Row: TypeAlias = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Emitted:
    """A module as exported; has what a device reads of ``codegen.source.EmittedModule``."""

    name: str
    text: str
    bytes_moved: int
    category: str
    launches: int
    label: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to measure: ``graphs`` of the suite by name, kernels in ``processes`` processes, at
    most ``samples`` samples kept per series, ``repeats`` timed compilations per graph in each of
    ``compilers`` processes.
    ``open_device`` gives what times kernels, or the sentence that says why nothing does.
    """

    graphs: tuple[str, ...]
    samples: int = 25
    repeats: int = 3
    compilers: int = 3
    processes: int = 2
    open_device: Callable[[Options], Device | str] = lambda _: "no device is declared"


def labels(graph: str, kernels: Sequence[Mapping[str, Any]]) -> list[str]:
    """The series names of a graph's kernels, in order."""
    from harness.history import schema

    known = schema.labels((kernel["name"], kernel["origins"]) for kernel in kernels)
    return [f"{graph}/{label}" for label in known]


def emitted(answer: Mapping[str, Any], graph: str) -> list[Emitted]:
    """The modules of ``graph`` in what a commit exported."""
    kernels = answer["graphs"].get(graph, {}).get("kernels", [])
    return [
        Emitted(k["name"], k["text"], k["bytes"], k["kind"], k["launches"], label)
        for k, label in zip(kernels, labels(graph, kernels), strict=True)
    ]


def look_up(cache: Mapping[str, Any], table: str, row: str, metric: str) -> Value:
    """The value of a series at this commit, for asv. Raises ``CheckFailed`` with the reason
    for one that failed; NaN, which asv shows as n/a, where there is nothing to measure."""
    value: Value = cache[table].get(row, {}).get(metric, math.nan)
    if isinstance(value, dict) and "failed" in value:
        raise CheckFailed("nothing could be measured", where=row, got=value["failed"])
    return value


def collect(overlay: Overlay, options: Options, wanted: Wanted) -> dict[str, Any]:
    """Measure the commit of ``overlay``, as far as its metrics are asked for. Prints a note for
    what the user should know."""
    if not overlay.exported:
        raise CommitUnusable(
            "the compiler of a commit cannot be used",
            where=overlay.commit[:12],
            remedy="see what was said when it was laid over",
        )
    answer = json.loads(Path(overlay.exported).read_text(encoding="utf-8"))
    chosen = chosen_graphs(options, wanted)
    modules = [m for graph in chosen for m in emitted(answer, graph)]
    kernels: dict[str, Row] = {m.label: {} for m in modules}
    for module in modules:
        kernels[module.label]["bytes"] = module.bytes_moved
    took: dict[str, float] = {}
    notes: list[str] = []
    seconds: dict[str, list[float]] = {}
    if overlay.wants(*(metric.column for metric in metrics.static())):
        with _clocked(took, "static metrics"):
            _add_static(modules, kernels, overlay, options)
    if overlay.wants("seconds", "gbps", *CONFIGURATION):
        kept = options.cache / "asv" / overlay.series_of if options.use_cache else None
        with _clocked(took, "times"):
            notes = _add_times(modules, kernels, options, wanted, Checked(kept))
    if overlay.wants("codegen_seconds"):
        with _clocked(took, "code generation"):
            seconds = _code_generation(overlay, options, chosen, wanted)
    graphs = {
        graph: _graph_row(answer["graphs"].get(graph), emitted(answer, graph), kernels)
        | ({"codegen_seconds": _samples(seconds[graph])} if seconds.get(graph) else {})
        for graph in chosen
    }
    said = [f"{NOTE}{note}" for note in notes]
    for line in (*said, f"{TOOK}{_said(len(modules), took)}"):
        print(line)  # noqa: T201 - asv hands on what this process prints
    return {"graphs": graphs, "kernels": kernels}


@contextlib.contextmanager
def _clocked(took: dict[str, float], what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    took[what] = time.monotonic() - began


def _said(kernels: int, took: Mapping[str, float]) -> str:
    parts = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in took.items())
    return f"{sum(took.values()):.1f} s for {kernels} kernels: {parts or 'nothing but counted'}"


def _add_static(
    modules: Sequence[Emitted], kernels: dict[str, Row], overlay: Overlay, options: Options
) -> None:
    from harness.runtime.compile.compiling import CompileJob, CompilePool
    from harness.target import TARGETS

    cache = options.cache if options.use_cache else None
    with CompilePool(options.jobs, cache) as pool:
        found = pool.metrics([CompileJob(m.text, TARGETS[overlay.target]) for m in modules])
    for module, answer in zip(modules, found, strict=True):
        row = kernels[module.label]
        if isinstance(answer, HarnessError):
            row |= dict.fromkeys((metric.column for metric in metrics.static()), _failed(answer))
        else:
            row |= metrics.read_static(answer)


def _add_times(
    modules: Sequence[Emitted],
    kernels: dict[str, Row],
    options: Options,
    wanted: Wanted,
    checked: Checked,
) -> list[str]:
    """Times and GB/s; notes about what was left out."""
    device = wanted.open_device(options)
    if isinstance(device, str):
        return [f"times and GB/s are left out (n/a): {device}"]
    found = take(device, modules, wanted.processes, checked)
    clocks: dict[str, float] = {}
    for module, timed in zip(modules, found, strict=True):
        row = kernels[module.label]
        if timed.error is not None:
            row["seconds"] = row["gbps"] = _failed(timed.error)
            continue
        seconds = [ms / 1e3 for ms in _thinned(timed.ms, wanted.samples)]
        row["seconds"] = _samples(seconds)
        row["gbps"] = _samples([module.bytes_moved / s / 1e9 for s in seconds])
        row |= _configuration(timed.config)
        if timed.clock_mhz is not None:
            clocks[module.label] = timed.clock_mhz
    slow, note = slowed(clocks)
    for label in slow:
        del kernels[label]["seconds"], kernels[label]["gbps"]
    return [note] if note else []


def _configuration(config: Config | None) -> Row:
    """The configuration that was timed, a number for each of ``CONFIGURATION`` that it has."""
    if config is None:
        return {}
    found = {**dict(config.blocks), "num_warps": config.num_warps, "num_stages": config.num_stages}
    return {name: found[name] for name in CONFIGURATION if name in found}


def chosen_graphs(options: Options, wanted: Wanted) -> tuple[str, ...]:
    """The declared graphs, or those of them that the options choose. Raises ``UnknownName``."""
    for name in options.asv_graphs:
        if name not in wanted.graphs:
            near = ", ".join(nearest(name, wanted.graphs))
            raise UnknownName(
                "asv's suite declares no such graph",
                where="HARNESS_ASV_GRAPHS",
                got=name,
                expected=near or ", ".join(wanted.graphs),
                remedy="name declared graphs, or unset the variable to measure all of them",
            )
    return options.asv_graphs or wanted.graphs


def _code_generation(
    overlay: Overlay, options: Options, graphs: Sequence[str], wanted: Wanted
) -> dict[str, list[float]]:
    """Seconds of each repeat, by graph, in fresh processes with the commit's package."""
    from harness.history.commits.tree import export

    files = graph_files(options, graphs)
    tree = Path(overlay.tree)
    seconds: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(wanted.compilers):
        answer = export(tree, overlay.commit, files, overlay.target, wanted.repeats, overlay.search)
        for name, found in answer["graphs"].items():
            seconds[name].extend(found.get("seconds", []))
    return seconds


def graph_files(options: Options, graphs: Sequence[str]) -> dict[str, Path]:
    """The working tree's files of ``graphs``: every commit compiles the same ones. Raises
    ``UnknownName``."""
    from harness.session.entries import find_graphs

    return {file.name: file.path for file in find_graphs(options, "default", graphs)}


def _graph_row(
    exported: Mapping[str, Any] | None, modules: Sequence[Emitted], kernels: Mapping[str, Row]
) -> Row:
    if exported is None or exported.get("reason"):
        failed = {"failed": "not exported" if exported is None else exported["reason"]}
        return dict.fromkeys(("kernels", "launches", "library_calls", "bytes"), failed)
    moved = sum(m.launches * m.bytes_moved for m in modules)
    row: Row = {
        "kernels": len(modules),
        "launches": sum(m.launches for m in modules),
        "library_calls": exported["library_calls"],
        "failures": len(exported["failures"]),
        "bytes": moved,
    }
    values = [kernels[m.label].get("seconds") for m in modules]
    measured = [v for v in values if isinstance(v, dict)]
    failed_ones = [v for v in measured if "failed" in v]
    if failed_ones:
        row["seconds"] = row["gbps"] = failed_ones[0]
    elif modules and len(measured) == len(modules):
        pairs = zip(modules, measured, strict=True)
        totals = _totals([(m.launches, v["samples"]) for m, v in pairs])
        row["seconds"] = _samples(totals)
        row["gbps"] = _samples([moved / s / 1e9 for s in totals])
    return row


def _totals(parts: Sequence[tuple[int, Sequence[float]]]) -> list[float]:
    """Sums over the kernels, one sample of each at a time (fewer samples are gone round)."""
    count = max(len(samples) for _, samples in parts)
    return [sum(n * samples[i % len(samples)] for n, samples in parts) for i in range(count)]


def _thinned(samples: Sequence[float], most: int) -> list[float]:
    """At most ``most`` of ``samples``, evenly spread over the time they were taken in."""
    if len(samples) <= most:
        return list(samples)
    return [samples[i * len(samples) // most] for i in range(most)]


def _samples(values: Sequence[float]) -> dict[str, Any]:
    return {"samples": [float(f"{v:.6g}") for v in values], "number": 1}


def _failed(error: HarnessError) -> dict[str, Any]:
    from harness.records.run import one_line

    return {"failed": one_line(error)}
