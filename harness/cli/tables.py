"""How runs look: the table of kernels, the summary, and the JSON of ``run``."""

from __future__ import annotations

import textwrap
from typing import Any

from harness.bench.record import Check, GraphRecord, KernelRecord, Run, to_json
from harness.cli import region_tables
from harness.cli.output import Column, count, heading, number, row, width

COLUMNS = (
    Column("kernel", 0),
    Column("bytes", 5, right=True),
    Column("regs", 4, right=True),
    Column("spill", 5, right=True),
    Column("smem", 5, right=True),
    Column("instr", 5, right=True),
    Column("check", 8, right=True),
    Column("ms", 7, right=True),
    Column("GB/s", 6, right=True),
    Column("copy%", 5, right=True),
)
FINDS = Column("finds", 6, right=True)
"""Shown where the machine is calibrated."""
ROOMY = 100
"""Columns of a terminal from which a table without times keeps its empty columns."""
NO_GPU = "no GPU"
LEGEND = (
    "poi: pointwise, per: reduction with the row in one block, red: reduction in a loop; "
    "×n: launched n times. bytes: what one launch has to move. regs, spill: per thread; smem: "
    "shared memory per block; instr: instructions in the binary. check: largest error against "
    "float64. ms: median, cold L2; copy%: GB/s as a share of a copy's; finds: the smallest change "
    "that two such runs tell from noise (harness calibrate). More: README.md"
)
"""How to read the table; printed below it."""


def graph_lines(graph: GraphRecord, *, timed: bool) -> list[str]:
    """A graph as a block of lines: title, one row per distinct kernel, reasons below."""
    if graph.reason:
        reason = [f"  {line}" for line in graph.reason.splitlines()]
        return ["", f"{graph.name}  FAILED", *reason]
    calls = sum(call.count for call in graph.library_calls)
    title = (
        f"{graph.name}  {_plural(len(graph.kernels), 'kernel')}, "
        f"{_plural(graph.launches, 'launch', 'launches')}, {_plural(calls, 'library call')}"
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
    if timed and calibrated:
        return (*COLUMNS, FINDS)
    return COLUMNS if timed or width() >= ROOMY else COLUMNS[:-2]


def kernel_line(kernel: KernelRecord, shown: tuple[Column, ...], *, timed: bool) -> str:
    """One row of the table."""
    name = kernel.name.removeprefix("triton_")
    time = (number(kernel.ms, 4), number(kernel.gbps), _percent(kernel.fraction))
    cells = [
        name if kernel.launches == 1 else f"{name} ×{kernel.launches}",
        count(kernel.bytes),
        number(kernel.registers),
        number(kernel.spills),
        count(kernel.shared),
        number(kernel.instructions),
        _check(kernel),
        *(time if timed else (NO_GPU, "–", "–")),
        "–" if kernel.detectable is None else f"{kernel.detectable:.1%}",
    ]
    return row(shown, cells[: len(shown)])


def summary_lines(run: Run) -> list[str]:
    """What the whole run comes to, in three or four lines."""
    counts = run.counts()
    broken = [graph.name for graph in run.graphs if graph.reason]
    totals = (
        f"{_plural(len(run.graphs), 'graph')}, {_plural(counts['total'], 'kernel')} "
        f"({counts['distinct']} distinct by code): {counts['passed']} passed, "
        f"{counts['failed']} failed, {counts['skipped']} not checked"
    )
    lines = ["", *legend(), "", totals] if counts["total"] else ["", totals]
    if broken:
        lines.append(f"not compiled: {', '.join(broken)}")
    uncompiled = sum(bool(kernel.reason) for graph in run.graphs for kernel in graph.kernels)
    if uncompiled:
        lines.append(f"{_plural(uncompiled, 'kernel')} did not compile or run")
    where = run.machine.gpu or f"{run.machine.cpu or run.machine.key}, no GPU"
    copy = f", copies at {run.copy_gbps:.0f} GB/s" if run.copy_gbps else ""
    lines.append(f"on {where}{copy}; compiled for {run.target}")
    lines.extend(region_tables.summary_lines(run))
    if not run.complete:
        lines.append("this run was interrupted: what it had measured is here")
    return lines


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
    document: dict[str, Any] = to_json(kernel)
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


def _short(error: float) -> str:
    """A small positive number in five characters: ``1e-07``."""
    return "0" if error == 0 else f"{error:.0e}"


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.0f}"


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
    return lines


def _plural(quantity: int, noun: str, several: str = "") -> str:
    return f"{quantity} {noun if quantity == 1 else several or noun + 's'}"
