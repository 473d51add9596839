"""How runs look: the table of kernels, the summary, and the JSON of ``run``."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Any

from harness.records import metrics
from harness.records.metrics import Display, Metric
from harness.records.run import Check, GraphRecord, KernelRecord, Run, StateSummary, to_json
from harness.records.timing import DISTURBED
from harness.report import region_tables
from harness.report.output import Column, count, heading, number, plural, row, width

KERNEL, CHECK = Column("kernel", 0), Column("check", 8, right=True)
FINDS = Column("finds", 6, right=True)
"""Shown where the machine is calibrated."""
ROOMY = 100
"""Columns of a terminal from which a table without times keeps its empty columns."""
NO_GPU = "no GPU"
LEGEND = (
    "poi: pointwise, per: reduction with the row in one block, red: reduction in a loop; "
    "×n: launched n times. bytes: what one launch has to move. regs, spill: per thread; smem: "
    "shared memory per block; instr: instructions in the binary. check: largest error against "
    "float64. ms: median, cold L2; roof%: share of what the device allows such a kernel, "
    "c: copying, r: reading, w: writing, a: arithmetic; finds: the smallest change that two such "
    "runs tell from noise (harness calibrate). More: README.md"
)
"""How to read the table; printed below it."""


def graph_lines(graph: GraphRecord, *, timed: bool) -> list[str]:
    """A graph as a block of lines: title, one row per distinct kernel, reasons below."""
    if graph.reason:
        reason = [f"  {line}" for line in graph.reason.splitlines()]
        return ["", f"{graph.name}  FAILED", *reason]
    calls = sum(call.count for call in graph.library_calls)
    title = (
        f"{graph.name}  {plural(len(graph.kernels), 'kernel')}, "
        f"{plural(graph.launches, 'launch', 'launches')}, {plural(calls, 'library call')}"
    )
    calibrated = any(kernel.detectable is not None for kernel in graph.kernels)
    shown = columns(timed=timed, calibrated=calibrated)
    lines = ["", title]
    if graph.kernels:
        lines.append(heading(shown))
    for kernel in graph.kernels:
        lines.append(kernel_line(kernel, shown, timed=timed))
        lines.extend(_reasons(kernel))
    return [*lines, *region_tables.region_lines(graph)]


def columns(*, timed: bool, calibrated: bool = False) -> tuple[Column, ...]:
    """The table's columns. In a narrow terminal the kernel's name gets the room of the columns
    that would only hold dashes.
    """
    exact, times = (
        [Column(m.head, m.width, right=True) for m in metrics.shown() if m.exact is kind]
        for kind in (True, False)
    )
    if not timed and width() < ROOMY:
        times = times[:1]
    finds = [FINDS] if timed and calibrated else []
    return (KERNEL, *exact, CHECK, *times, *finds)


def kernel_line(kernel: KernelRecord, shown: tuple[Column, ...], *, timed: bool) -> str:
    """One row of the table."""
    name = kernel.name.removeprefix("triton_")
    time = [_figure(kernel, metric) for metric in metrics.shown() if not metric.exact]
    cells = [
        name if kernel.launches <= 1 else f"{name} ×{kernel.launches}",
        *(_figure(kernel, metric) for metric in metrics.shown() if metric.exact),
        _check(kernel),
        *(time if timed else (NO_GPU, *("–" for _ in time[1:]))),
        _finds(kernel.detectable),
    ]
    return row(shown, cells[: len(shown)])


def _figure(kernel: KernelRecord, metric: Metric) -> str:
    """A cell of the table."""
    value = metric.of(kernel)
    match metric.display:
        case Display.PLAIN:
            return number(value)
        case Display.SCALED:
            # Of an imported kernel the bytes are not known, and recorded as 0.
            return count(None if metric.name == "bytes" and not value else value)
        case Display.MILLISECONDS:
            return milliseconds(value)
        case Display.SHARE_OF_PEAK:
            return "–" if value is None else f"{100 * value:.0f} {_ROOFS.get(kernel.roof, '?')}"


def _finds(detectable: float | None) -> str:
    """The smallest change that can be told: of one process, often none that anyone would miss."""
    if detectable is None:
        return "–"
    return f"{detectable:.1%}" if detectable < 1 else "> 100%"


def summary_lines(run: Run) -> list[str]:
    """What the whole run comes to, in three or four lines."""
    counts = run.counts()
    broken = [graph.name for graph in run.graphs if graph.reason]
    totals = (
        f"{plural(len(run.graphs), 'graph')}, {plural(counts['total'], 'kernel')} "
        f"({counts['distinct']} distinct by code): {counts['passed']} passed, "
        f"{counts['failed']} failed, {counts['skipped']} not checked"
    )
    lines = ["", *legend(), "", totals] if counts["total"] else ["", totals]
    if broken:
        lines.append(f"not compiled: {', '.join(broken)}")
    uncompiled = sum(bool(kernel.reason) for graph in run.graphs for kernel in graph.kernels)
    if uncompiled:
        lines.append(f"{plural(uncompiled, 'kernel')} did not compile or run")
    where = run.machine.gpu or f"{run.machine.cpu or run.machine.key}, no GPU"
    made = f"compiled for {run.target}" if run.target else f"imported, measured by {run.suite}"
    lines.append(f"on {where}; {made}")
    lines.extend(machine_lines(run))
    lines.extend(region_tables.summary_lines(run))
    if not run.complete:
        lines.append("this run was interrupted: what it had measured is here")
    return lines


def machine_lines(run: Run) -> list[str]:
    """What the device could do and how it fared while it was measured, as far as is known."""
    speeds = (
        ("copies", run.copy_gbps),
        ("reads", run.read_gbps),
        ("writes", run.write_gbps),
    )
    parts = [f"{name} {gbps:.0f} GB/s" for name, gbps in speeds if gbps]
    rates = (("fp32", run.fp32_tflops), ("bf16 tensor cores", run.tensor_tflops))
    parts += [f"{name} {tflops:.0f} Tflop/s" for name, tflops in rates if tflops]
    lines = [f"this device, measured: {', '.join(parts)}"] if parts else []
    kernels = [k for graph in run.graphs for k in graph.kernels if k.sets]
    if kernels:
        lines.append(_noise_line(run, kernels))
    state = run.state
    if state is not None and state.sm_mhz_median is not None:
        slowed = ", ".join(f"{name} in {n}" for name, n in state.throttled.items())
        lines.append(
            f"state in {state.samples} readings: SM clock {_span(state)} MHz, up to "
            f"{number(state.temperature_c)} °C, {number(state.power_w)} W; "
            f"throttled: {slowed or 'never'}"
        )
    return lines


def _noise_line(run: Run, kernels: list[KernelRecord]) -> str:
    """How well the times are known."""
    from harness.measure.noise.processes import pooled

    sets = [s for kernel in kernels for s in kernel.sets]
    ends = ", ".join(
        f"{n} by {why}" for why, n in Counter(s.stopped for s in sets if s.stopped).items()
    )
    parts = [f"timed in {plural(run.processes, 'process', 'processes')}"]
    if ends:
        parts.append(f"sampling ended: {ends}")
    drifting = sum(bool(s.drift) for s in sets)
    excluded = sum(s.excluded for s in sets)
    if drifting:
        parts.append(f"{drifting} drifted")
    if excluded:
        parts.append(f"{excluded} samples left out (throttled, or at another pace of launching)")
    found = pooled([kernel.sets for kernel in kernels])
    if found is not None:
        parts.append(
            f"a process's median varies by {100 * found.between:.2f} % between processes, "
            f"{100 * found.within:.2f} % within"
        )
    return "; ".join(parts)


def _span(state: StateSummary) -> str:
    low, high = number(state.sm_mhz_low), number(state.sm_mhz_high)
    middle = number(state.sm_mhz_median)
    return middle if low == high else f"{middle} ({low} to {high})"


def legend() -> list[str]:
    """The footnote of the table, in lines that fit the terminal."""
    return textwrap.wrap(LEGEND, width(), break_on_hyphens=False)


def run_document(run: Run) -> dict[str, Any]:
    """The JSON of a run."""
    return {
        "run": run.id,
        "created": run.created,
        "complete": run.complete,
        "commit": run.commit,
        "dirty": run.dirty,
        "suite": run.suite,
        "target": run.target,
        "method": run.method,
        "machine": to_json(run.machine),
        "copy_gbps": run.copy_gbps,
        "read_gbps": run.read_gbps,
        "write_gbps": run.write_gbps,
        "fp32_tflops": run.fp32_tflops,
        "tensor_tflops": run.tensor_tflops,
        "processes": run.processes,
        "state": to_json(run.state),
        "graphs": [_graph_document(graph) for graph in run.graphs],
    }


def _graph_document(graph: GraphRecord) -> dict[str, Any]:
    return {
        "name": graph.name,
        "library_calls": sum(call.count for call in graph.library_calls),
        "library_operators": [to_json(call) for call in graph.library_calls],
        "launches": graph.launches,
        "codegen_seconds": graph.codegen_seconds,
        "reason": graph.reason,
        "kernels": [_kernel_document(kernel) for kernel in graph.kernels],
        "regions": [to_json(row) for row in graph.regions],
    }


def _kernel_document(kernel: KernelRecord) -> dict[str, Any]:
    document = metrics.spread(to_json(kernel))
    del document["module"]  # in the run file; `harness emit` writes it
    return document


def _check(kernel: KernelRecord) -> str:
    match kernel.check:
        case Check.FAILED:
            return "FAILED"
        case Check.SKIPPED:
            return "skipped"
        case Check.PASSED:
            error = kernel.max_error
            return "ok" if error is None else f"ok {_short(error)}"


def milliseconds(value: float | None) -> str:
    """``value`` in at most seven characters up to ten seconds: 0.0140, 33.1420, 250.000."""
    if value is None:
        return number(value)
    return number(value, next((n for n, end in ((4, 100), (3, 1e3), (2, 1e4)) if value < end), 0))


def _short(error: float) -> str:
    """A small positive number in five characters: ``1e-07``."""
    return "0" if error == 0 else f"{error:.0e}"


_ROOFS = {"copy": "c", "read": "r", "write": "w", "compute": "a"}


def _reasons(kernel: KernelRecord) -> list[str]:
    lines = []
    if kernel.reason:
        lines.append(f"  did not compile or run: {kernel.reason}")
    if kernel.check is Check.FAILED:
        error = "" if kernel.max_error is None else f"error {kernel.max_error:.3g}"
        allowed = "" if kernel.allowed is None else f", allowed {kernel.allowed:.3g}"
        lines.append(f"  check failed ({kernel.check_note}) {error}{allowed}".rstrip())
    if kernel.check is Check.SKIPPED and kernel.check_note:
        lines.append(f"  not checked: {kernel.check_note}")
    return [*lines, *_remarks(kernel)]


def _remarks(kernel: KernelRecord) -> list[str]:
    """What is not as usual about the times of a kernel, process by process."""
    lines = []
    for one in kernel.sets:
        odd = [one.drift] if one.drift else []
        if one.stopped in DISTURBED:
            odd.append("the GPU was throttling, or launched at another pace, all the time")
        if one.method:
            odd.append(f"method {one.method}: not comparable with the others")
        if odd:
            lines.append(f"  times in process {one.process + 1}: {'; '.join(odd)}")
    return lines
