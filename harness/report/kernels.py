"""How runs look: the table of kernels, other compilers beside them, the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.measure.noise.processes import pooled
from harness.measure.peers.jobs import SUBJECTS
from harness.measure.peers.ratios import Ratio, RollUp, by_region, ratios, roll_up
from harness.records import metrics
from harness.records.metrics import Metric
from harness.records.names import launched
from harness.records.run import Check, GraphRecord, KernelRecord, Run, to_json
from harness.records.timing import DISTURBED
from harness.report.output import Case, Report
from harness.table import NOTHING, Block, Column, Fit, Row, Table, Text, number, paragraphs, plural

NO_GPU = "no GPU"
LEGEND = (
    "poi: pointwise, per: reduction, a row in one block, red: in a loop, mix: of rows and columns, "
    "spl: scan, several programs a row, tem: matrix product, for: several kernels in one launch; "
    "×n: launched n times. bytes: what one launch has to move. regs, spill: per thread (!: it "
    "spills); smem: shared memory per block; instr: instructions in the binary. check: largest "
    "error against float64. ms: median, cold L2; of peak: share of what the device allows such a "
    "kernel, which is bound by copying, reading, writing or computing; mde: minimum detectable "
    "effect of two such runs (harness calibrate), of two days where runs say so. More: README.md"
)
"""How to read the table; printed below it."""
RATIOS = (
    "ratio: the compiler's time over ours with its 95 % interval, above 1 ours is faster; *: not "
    "replayed as a CUDA graph, so its host's time is in it. check: relative distance from float64."
)
_REASON = 300
"""Characters of a reason that are printed; all of it is in the record."""


def run_report(run: Run, file: str | None) -> Report:
    """A run: its tables, the document of ``show --json``, a row for every kernel."""
    figures = (kernel.ms or kernel.gbps for kernel in run.kernels)
    timed = run.machine.gpu is not None or any(figures)  # imported: timed without a GPU
    return Report(
        lambda: [*graph_blocks(run.graphs, timed=timed), *summary(run, file)],
        lambda: {**_run_document(run), "file": file},
        lambda: [
            {"graph": graph.name, **_kernel_document(kernel)}
            for graph in run.graphs
            for kernel in graph.kernels
        ],
        lambda: [case for graph in run.graphs for case in _cases(graph)],
    )


def _cases(graph: GraphRecord) -> Iterator[Case]:
    """A test for each kernel, and one for a graph that could not be compiled."""
    if graph.reason:
        yield Case(graph.name, graph.name, graph.reason)
    for k in graph.kernels:
        failed = k.check is Check.FAILED
        failure = k.reason or (f"check failed, error {k.max_error}" if failed else "")
        skipped = k.check_note or "not checked" if k.check is Check.SKIPPED else ""
        seconds = None if k.ms is None else k.ms / 1000
        yield Case(graph.name, k.name, failure, "" if failure else skipped, "", seconds)


def graph_blocks(graphs: Sequence[GraphRecord], *, timed: bool) -> list[Block]:
    """Each graph as a table of its distinct kernels with reasons below, what is left to torch,
    and other compilers."""
    calibrated = any(k.detectable is not None for graph in graphs for k in graph.kernels)
    columns = _columns(timed=timed, calibrated=calibrated)
    return [block for graph in graphs for block in _graph(graph, columns)]


def _graph(graph: GraphRecord, columns: tuple[Column, ...]) -> list[Block]:
    if graph.reason:
        reason = [Text(f"  {line}") for line in graph.reason.splitlines()]
        return [Text(), Text(f"{graph.name}  FAILED"), *reason]
    calls = graph.calls.total()
    title = (
        f"{graph.name}  {plural(len(graph.kernels), 'kernel')}, "
        f"{plural(graph.launches, 'launch')}, {plural(calls, 'library call')}"
    )
    rows = [
        _kernel_document(replace(k, trials=(), sets=tuple(replace(s, ms=()) for s in k.sets)))
        for k in graph.kernels  # without samples
    ]
    alike = [note for note, n in Counter(map(_unchecked, rows)).items() if note and n > 1]
    found: list[Block] = [Text(), Table(columns, rows, title, lambda row: _remarks(row, alike))]
    for note in alike:
        count = sum(_unchecked(row) == note for row in rows)
        found.append(Text(f"  {plural(count, 'kernel')} not checked: {note}", wrapped=True))
    told = left_to_torch(to_json(graph.library_calls))
    told += [f"  timed both ways: {choice}" for choice in graph.choices]
    return [*found, *paragraphs(told), *_regions(graph)]


def left_to_torch(calls: Sequence[Mapping[str, Any]]) -> list[str]:
    """The library ``calls`` (operator, count, reason), by the reason for them."""
    by_reason: dict[str, list[str]] = {}
    for call in calls:
        reason = call["reason"].removesuffix(f" for {call['operator']}") or "for no stated reason"
        name = call["operator"].removesuffix(".default")
        by_reason.setdefault(reason, []).append(f"{name} ×{call['count']}")
    return [f"  left to torch, {why}: {', '.join(names)}" for why, names in by_reason.items()]


def _columns(*, timed: bool, calibrated: bool) -> tuple[Column, ...]:
    exact, times = ([m for m in metrics.shown() if m.exact is kind] for kind in (True, False))
    shown = [_figure(metric) for metric in times]
    if not timed:
        shown[0] = Column(times[0].head, lambda _: NO_GPU, right=True, least=times[0].width)
    mde = Column("mde", lambda row: _mde(row["detectable"]), right=True, least=6)
    alarm = {"failed": "bold red"}
    return (
        Column("kernel", lambda row: launched(row["name"], row["launches"]), fit=Fit.SHORTEN),
        *(_figure(metric) for metric in exact),
        Column("check", _check, right=True, least=8, style=lambda row: alarm.get(row["check"], "")),
        *shown,
        *([mde] if timed and calibrated else []),
    )


def _figure(metric: Metric) -> Column:
    def text(row: Row) -> str:
        value = row[metric.column]
        if metric.name == "bytes":
            value = value or None  # of an imported kernel they are not known, and recorded as 0
        if metric.name == "spills" and value:
            return f"{metric.text(value)}!"
        if metric.name == "fraction" and value is not None:
            return f"{metric.text(value)} {row['roof']}"
        return metric.text(value)

    def style(row: Row) -> str:
        return "bold red" if metric.name == "spills" and row[metric.column] else ""

    return Column(metric.head, text, right=True, least=metric.width, style=style)


def _check(row: Row) -> str:
    if row["check"] != "passed":
        return "FAILED" if row["check"] == "failed" else "skipped"
    error = row["max_error"]
    return "ok" if error is None else "ok 0" if error == 0 else f"ok {error:.0e}"


def _mde(detectable: float | None) -> str:
    """The minimum detectable effect: of one process, often none that anyone would miss."""
    if detectable is None:
        return NOTHING
    return f"{detectable:.1%}" if detectable < 1 else "> 100%"


def _unchecked(row: Row) -> str:
    return row["check_note"] if row["check"] == "skipped" else ""


def _remarks(row: Row, alike: Sequence[str]) -> list[str]:
    """Why a kernel has no numbers, what failed, and what is not as usual about its times."""
    lines = []
    if row["reason"]:
        lines.append(f"did not compile or run: {row['reason']}")
    if row["check"] == "failed":
        error = "" if row["max_error"] is None else f"error {row['max_error']:.3g}"
        allowed = "" if row["allowed"] is None else f", allowed {row['allowed']:.3g}"
        lines.append(f"check failed ({row['check_note']}) {error}{allowed}".rstrip())
    if _unchecked(row) and _unchecked(row) not in alike:
        lines.append(f"not checked: {_unchecked(row)}")
    for one in row["sets"]:
        odd = [one["drift"]] if one["drift"] else []
        if one["stopped"] in DISTURBED:
            odd.append("the GPU was throttling, or at another launch interval, all the time")
        if one["method"]:
            odd.append(f"method {one['method']}: not comparable with the others")
        if odd:
            lines.append(f"times in process {one['process'] + 1}: {'; '.join(odd)}")
    return lines


def _correct(row: Row) -> str:
    error = "" if row["max_error"] is None else f" {row['max_error']:.0e}"
    if row["check"] == "skipped":
        return NOTHING
    return f"ok{error}" if row["check"] == "passed" else f"WRONG{error}"


_REGIONS = (
    Column("region", lambda row: row["title"], once=True, fit=Fit.SHORTEN),
    Column("compiler", lambda row: row["compiler"], least=16),
    Column(
        "kernels",
        lambda row: number(row["kernels"]) if row["compiler"] in SUBJECTS else "",
        right=True,
    ),
    Column("ms", lambda row: number(row["ms"], 4), right=True, least=8),
    Column("ratio", lambda row: row["ratio"], least=20),
    Column("check", _correct, right=True, least=12),
)


def _regions(graph: GraphRecord) -> list[Block]:
    """The regions of a graph, one row per compiler, and the graph's means; nothing without
    other compilers."""
    if not (groups := by_region(graph.regions)):
        return []
    known = ratios([graph])
    rows = []
    for one in (one for group in groups for one in group):
        found = known.get((one.region, one.compiler))
        starred = "*" if one.reason and one.ms is not None else ""
        title = one.region if one.count == 1 else f"{one.region} ×{one.count}"
        made = {"title": title, "ratio": "" if found is None else _interval(found) + starred}
        rows.append({**to_json(one), **made, "why": f"{one.compiler}: {one.reason[:_REASON]}"})
    title = f"{graph.name}: other compilers"
    table = Table(_REGIONS, rows, title, lambda row: [row["why"]] if row["reason"] else [])
    return [Text(), table, *(Text(_mean(found)) for found in roll_up([graph], known))]


def _interval(found: Ratio) -> str:
    digits = 3 if found.high < 10 else 1
    value, low, high = (f"{x:.{digits}f}" for x in (found.value, found.low, found.high))
    return f"{value} [{low}, {high}]"


def _mean(found: RollUp) -> str:
    """A compiler's mean, and what took no part in it."""
    left_out = ", ".join(f"{count} × {why}" for why, count in found.left_out)
    rest = f"; left out: {left_out}" if left_out else ""
    if found.mean is None:
        return f"{found.compiler}: no region to compare{rest}"
    return (
        f"{found.compiler} over {found.subject}: {_interval(found.mean)}, geometric mean over "
        f"{plural(found.matched, 'region')}{rest}"
    )


def summary(run: Run, file: str | None) -> list[Block]:
    """What the whole run comes to."""
    counts = run.counts()
    broken = [graph.name for graph in run.graphs if graph.reason]
    lines: list[Block] = [*paragraphs(["", LEGEND] if counts["total"] else []), Text()]
    lines.append(
        Text(
            f"{plural(len(run.graphs), 'graph')}, {plural(counts['total'], 'kernel')} "
            f"({counts['distinct']} distinct by code): {counts['passed']} passed, "
            f"{counts['failed']} failed, {counts['skipped']} not checked"
        )
    )
    if broken:
        lines.append(Text(f"not compiled: {', '.join(broken)}", wrapped=True))
    if uncompiled := sum(bool(kernel.reason) for kernel in run.kernels):
        lines.append(Text(f"{plural(uncompiled, 'kernel')} did not compile or run"))
    where = run.machine.gpu or f"{run.machine.cpu or run.machine.key}, no GPU"
    made = f"compiled for {run.target}" if run.target else f"imported, measured by {run.suite}"
    lines += paragraphs([f"on {where}; {made}", *_conditions(run)])
    means = roll_up(run.graphs)
    lines += paragraphs([RATIOS, *map(_mean, means)] if means else [])
    if not run.complete:
        lines.append(Text("this run was interrupted: what it had measured is here"))
    return lines if file is None else [*lines, Text(f"run {Path(file).stem}  {file}")]


def _conditions(run: Run) -> Iterator[str]:
    """What the device could do and how it fared while it was measured, as far as is known."""
    speeds = (("copies", run.copy_gbps), ("reads", run.read_gbps), ("writes", run.write_gbps))
    parts = [f"{name} {gbps:.0f} GB/s" for name, gbps in speeds if gbps]
    rates = (("fp32", run.fp32_tflops), ("bf16 tensor cores", run.tensor_tflops))
    parts += [f"{name} {tflops:.0f} Tflop/s" for name, tflops in rates if tflops]
    if parts:
        yield f"this device, measured: {', '.join(parts)}"
    if any(kernel.sets for kernel in run.kernels):
        yield _precision(run)
    if (state := run.state) is not None and state.sm_mhz_median is not None:
        slowed = ", ".join(f"{name} in {n}" for name, n in state.throttled.items())
        low, high, mhz = map(number, (state.sm_mhz_low, state.sm_mhz_high, state.sm_mhz_median))
        span = "" if low == high else f" ({low} to {high})"
        yield (
            f"state in {state.samples} readings: SM clock {mhz}{span} MHz, up to "
            f"{number(state.temperature_c)} °C, {number(state.power_w)} W; "
            f"throttled: {slowed or 'never'}"
        )


def _precision(run: Run) -> str:
    """How well the times are known."""
    sets = [s for kernel in run.kernels for s in kernel.sets]
    parts = [f"timed in {plural(run.processes, 'process', 'processes')}"]
    if ends := Counter(s.stopped for s in sets if s.stopped):
        parts.append(f"sampling ended: {', '.join(f'{n} by {why}' for why, n in ends.items())}")
    if drifting := sum(bool(s.drift) for s in sets):
        parts.append(f"{drifting} drifted")
    if excluded := sum(s.excluded for s in sets):
        parts.append(f"{excluded} samples left out (throttled, or at another launch interval)")
    if found := pooled([kernel.sets for kernel in run.kernels]):
        parts.append(
            f"a process's median varies by {100 * found[1]:.2f} % between processes, "
            f"{100 * found[0]:.2f} % within"
        )
    return "; ".join(parts)


def _run_document(run: Run) -> dict[str, Any]:
    document = to_json(replace(run, graphs=()))
    graphs = [
        {
            **to_json(replace(graph, kernels=())),
            "library_calls": graph.calls.total(),
            "library_operators": to_json(graph.library_calls),
            "launches": graph.launches,
            "kernels": [_kernel_document(kernel) for kernel in graph.kernels],
        }
        for graph in run.graphs
    ]
    return {"run": document.pop("id"), **document, "graphs": graphs}


def _kernel_document(kernel: KernelRecord) -> dict[str, Any]:
    """Without the module, which is in the run file."""
    document = metrics.spread(to_json(replace(kernel, module="")))
    del document["module"]
    return document
