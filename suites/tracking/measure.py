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
import functools
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.errors import CheckFailed, CommitUnusable, HarnessError, NoDevice, UnknownName, nearest
from harness.history.commits.tree import export
from harness.options import Options
from harness.records import metrics
from harness.records.run import one_line
from harness.runtime.module import config_dict, text_hash
from suites.tracking.overlay import GRAPHS, Overlay, asked_graphs

TUNING = "race/1"
"""How the configuration to time is chosen; part of the series. Raise it when the device's tuner
would choose otherwise, or a better tuner looks like faster kernels."""
STATIC_METHOD = "static/1"
"""Compiled with the default configuration: a tuner's choice between equals moves nothing."""
CODEGEN_METHOD = "codegen-cpu/2"
"""Graph to emitted modules in warm processes of the commit's own, Triton not included; processor
time. One process says too little: where its memory lies moves its times by 10 % and more."""

CONFIGURATION = ("XBLOCK", "YBLOCK", "R0_BLOCK", "num_warps", "num_stages")
"""What is tracked of the configuration under which a kernel was timed."""

_CLOCK_SHARE = 0.97
"""A kernel timed below this share of the run's fastest clock is not comparable with the rest."""

NOTE, TOOK = "harness: ", "harness took: "
"""Begin a line of the measuring process that asv's user should see: a warning, and how long the
parts of the measurement took."""

if TYPE_CHECKING:
    from harness.measure.jobs import Timing
    from harness.runtime.interpret.interpreter import CheckResult

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
    ``open_device`` gives what times kernels (a ``session.cuda.CudaDevice``), or the sentence that
    says why nothing does.
    """

    graphs: tuple[str, ...]
    samples: int = 25
    repeats: int = 3
    compilers: int = 3
    processes: int = 2
    open_device: Callable[[Options], Any] = lambda _: "no device is declared"


def open_cuda(options: Options) -> Any:
    """The GPU at hand, or the sentence that says why there is none."""
    from harness.runtime.device import require

    try:
        require()
    except NoDevice as error:
        return f"{error.what} ({error.got})"
    from harness.session.cuda import CudaDevice

    return CudaDevice(options.cache, options.jobs)


def labels(graph: str, kernels: Sequence[Mapping[str, Any]]) -> list[str]:
    """The series names of a graph's kernels, in order."""
    from harness.history.schema import labels as names

    known = names((kernel["name"], kernel["origins"]) for kernel in kernels)
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
            remedy="see what was said when it was exported",
        )
    from harness.runtime.compile.cache import trusted

    options = replace(options, cache=trusted(options.cache))
    answer = json.loads(Path(overlay.exported).read_text(encoding="utf-8"))
    chosen = chosen_graphs(wanted)
    modules = [m for graph in chosen for m in emitted(answer, graph)]
    kernels: dict[str, Row] = {m.label: {"bytes": m.bytes_moved} for m in modules}
    graphs: dict[str, Row] = {graph: {} for graph in chosen}
    parts: dict[str, tuple[bool, Callable[[], list[str]]]] = {
        "static metrics": (
            overlay.wants(*_static()),
            lambda: _add_static(modules, kernels, overlay, options),
        ),
        "times": (
            overlay.wants("seconds", "gbps", *CONFIGURATION),
            lambda: _add_times(modules, kernels, options, wanted, _checked(overlay, options)),
        ),
        "code generation": (
            overlay.wants("codegen_seconds"),
            lambda: _add_code_generation(graphs, overlay, options, wanted),
        ),
    }
    took: dict[str, float] = {}
    for part, (asked, measure) in parts.items():
        if asked:
            began = time.monotonic()
            for note in measure():
                print(f"{NOTE}{note}")  # noqa: T201 - asv hands on what this process prints
            took[part] = time.monotonic() - began
    for graph in chosen:
        graphs[graph] |= _graph_row(answer["graphs"].get(graph), emitted(answer, graph), kernels)
    said = ", ".join(f"{part} {seconds:.1f} s" for part, seconds in took.items())
    total = f"{sum(took.values()):.1f} s for {len(modules)} kernels"
    print(f"{TOOK}{total}: {said or 'nothing but counted'}")  # noqa: T201 - as above
    return {"graphs": graphs, "kernels": kernels}


def _checked(overlay: Overlay, options: Options) -> Path | None:
    """Where it is kept which kernels were found right, by machine, versions and method."""
    return options.cache / "asv" / overlay.series_of if options.use_cache else None


def _static() -> list[str]:
    return [metric.column for metric in metrics.static()]


def _add_static(
    modules: Sequence[Emitted], kernels: dict[str, Row], overlay: Overlay, options: Options
) -> list[str]:
    from harness.runtime.compile.static import CompileJob, CompilePool
    from harness.target import TARGETS

    with CompilePool(options.jobs, options.kept_cache) as pool:
        found = pool.metrics([CompileJob(m.text, TARGETS[overlay.target]) for m in modules])
    for module, answer in zip(modules, found, strict=True):
        if isinstance(answer, HarnessError):
            kernels[module.label] |= dict.fromkeys(_static(), _failed(answer))
        else:
            kernels[module.label] |= metrics.read_static(answer)
    return []


def _add_times(
    modules: Sequence[Emitted],
    kernels: dict[str, Row],
    options: Options,
    wanted: Wanted,
    checked: Path | None,
) -> list[str]:
    """Times and GB/s; notes about what was left out."""
    device = wanted.open_device(options)
    if isinstance(device, str):
        return [f"times and GB/s are left out (n/a): {device}"]
    clocks: dict[str, float] = {}
    found = _timed(device, modules, wanted.processes, checked)
    for module, timings in zip(modules, found, strict=True):
        row = kernels[module.label]
        if isinstance(timings, HarnessError):
            row["seconds"] = row["gbps"] = _failed(timings)
            continue
        taken = [ms / 1e3 for timing in timings for ms in timing.samples.ms]
        seconds = _thinned(taken, wanted.samples)
        row["seconds"] = _samples(seconds)
        row["gbps"] = _samples([module.bytes_moved / s / 1e9 for s in seconds])
        row |= _configuration(timings[0])
        known = [t.samples.clock_mhz for t in timings if t.samples.clock_mhz]
        if known:
            clocks[module.label] = min(known)
    slow, note = slowed(clocks)
    for label in slow:
        del kernels[label]["seconds"], kernels[label]["gbps"]
    return [note] if note else []


def _timed(
    device: Any, modules: Sequence[Emitted], processes: int, checked: Path | None
) -> list[list[Timing] | HarnessError]:
    """A timing from each of ``processes`` processes, one after the other, for each module that is
    right, or why there is none. Raises ``NoDevice`` when nothing can be timed any more."""
    with device:
        device.compile(device.missing(modules, {}))
        first = (functools.partial(_first, device, module, checked) for module in modules)
        found = [_attempt(time_it, []) for time_it in first]
        for _ in range(1, processes):
            device.restart()
            for place, (module, so_far) in enumerate(zip(modules, found, strict=True)):
                if isinstance(so_far, HarnessError):
                    continue
                launches = so_far[0].samples.launches
                given = (module.text, so_far[0].config, launches)
                found[place] = _attempt(functools.partial(device.again, *given), so_far)
    return found


def _attempt(
    time_it: Callable[[], Timing], before: Sequence[Timing]
) -> list[Timing] | HarnessError:
    try:
        return [*before, time_it()]
    except NoDevice:
        raise
    except HarnessError as error:
        return error


def _first(device: Any, module: Emitted, checked: Path | None) -> Timing:
    """Tuned and timed, after a check against torch: the same text is checked once on a machine
    (an empty file in ``checked`` says so), a wrong one each time."""
    mark = None if checked is None else checked / text_hash(module.text)
    if mark is None or not mark.is_file():
        graph = f"{module.label.partition('/')[0]}, at that commit"
        require_passed(device.check(module), module.name, graph)
        if mark is not None:
            with contextlib.suppress(OSError):  # it is checked again then
                mark.parent.mkdir(parents=True, exist_ok=True)
                mark.touch()
    timing: Timing = device.time(module)
    return timing


def require_passed(found: CheckResult, where: str, graph: str) -> None:
    """Raises ``CheckFailed`` where the kernel ``where`` of ``graph`` did not pass."""
    if not found.passed:
        raise CheckFailed(
            "a kernel differs from its reference",
            where=where,
            got="; ".join(filter(None, (f"error {found.max_error:.3g}", found.message))),
            expected="" if found.allowed is None else f"at most {found.allowed:.3g}",
            remedy=f"see where: harness run {graph}",
        )


def slowed(clocks: Mapping[str, float]) -> tuple[list[str], str]:
    """Which kernels (by label, with the SM clock in MHz while they were timed) ran while the
    clock was down, and the sentence about them; nothing and an empty one if none did."""
    best = max(clocks.values(), default=0.0)
    slow = [label for label, clock in clocks.items() if clock < _CLOCK_SHARE * best]
    if not slow:
        return [], ""
    return slow, (
        f"the SM clock fell from {best:.0f} to {min(clocks.values()):.0f} MHz during the run: "
        f"{len(slow)} of {len(clocks)} kernels were timed below {_CLOCK_SHARE:.0%} of it and are "
        "left out (n/a), as are the totals of their graphs; measure this commit again once the "
        "GPU is idle and cool"
    )


def _configuration(timing: Timing) -> Row:
    """The configuration that was timed, a number for each of ``CONFIGURATION`` that it has."""
    found = config_dict(timing.config)
    return {name: found[name] for name in CONFIGURATION if name in found}


def chosen_graphs(wanted: Wanted) -> tuple[str, ...]:
    """The declared graphs, or those of them that the user names. Raises ``UnknownName``."""
    asked = asked_graphs()
    for name in asked:
        if name not in wanted.graphs:
            near = ", ".join(nearest(name, wanted.graphs))
            raise UnknownName(
                "asv's suite declares no such graph",
                where=GRAPHS,
                got=name,
                expected=near or ", ".join(wanted.graphs),
                remedy="name declared graphs, or unset the variable to measure all of them",
            )
    return asked or wanted.graphs


def _add_code_generation(
    graphs: dict[str, Row], overlay: Overlay, options: Options, wanted: Wanted
) -> list[str]:
    """Seconds of each repeat after a first, by graph, in fresh processes with the commit's
    package."""
    files = graph_files(options, tuple(graphs))
    times = {f"{graph} {n}": f for graph, f in files.items() for n in range(wanted.repeats + 1)}
    given = (Path(overlay.tree), overlay.commit[:12], times, overlay.target, overlay.search)
    answers = [export(*given)["graphs"] for _ in range(wanted.compilers)]
    for graph, row in graphs.items():
        found = [a.get(f"{graph} {n}", {}) for a in answers for n in range(1, wanted.repeats + 1)]
        if seconds := [one["seconds"] for one in found if "seconds" in one]:
            row["codegen_seconds"] = _samples(seconds)
    return []


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
    return {"failed": one_line(error)}
