"""``harness show`` and ``harness list``: a recorded run, and what can be named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.arguments import Suite
from harness.cli.command import FAILED, FINE, Answer, command
from harness.records.names import find, is_chosen
from harness.report import output
from harness.report.output import Report
from harness.table import Column, Fit, Row, Table, Text

if TYPE_CHECKING:
    from harness.graph.suite import Entry, SuiteEntry
    from harness.history.index import Index
    from harness.options import Options
    from harness.records.run import Run


@command(table=True, only=True)
def show(
    answer: Answer,
    run: Annotated[
        str,
        typer.Argument(help="`latest`, a run file, or the beginning of a run's or commit's name."),
    ] = "latest",
    kernel: Annotated[
        str | None,
        typer.Option("--module", help="Print the emitted module of this kernel instead."),
    ] = None,
) -> int:
    """Print a recorded run.

    Exit status 1 if a kernel in it failed.

    \b
    harness show
    harness show 20260102 -k softmax
    harness show latest --csv > run.csv
    harness show latest --module triton_per_fused_mul_0 > kernel.py
    """
    from harness.history import lookup, store
    from harness.report.kernels import run_report

    answer.recover()
    path = lookup.find(answer.options.results, run)
    found = chosen(store.load(path), answer.only)
    if kernel is not None:
        output.emit_file(_module(found, kernel))
        return FINE
    answer.tell(run_report(found, str(path)))
    return FAILED if found.failed else FINE


def chosen(run: Run, only: Sequence[str]) -> Run:
    """``run`` with the graphs and kernels that the patterns ``only`` choose."""
    if not only:
        return run
    graphs = []
    for graph in run.graphs:
        kernels = tuple(k for k in graph.kernels if is_chosen(only, graph.name, k.name))
        if kernels or is_chosen(only, graph.name):
            regions = graph.regions if is_chosen(only, graph.name) else ()
            graphs.append(replace(graph, kernels=kernels, regions=regions))
    return replace(run, graphs=tuple(graphs))


def _module(run: Run, name: str) -> str:
    from harness.errors import UnknownName, nearest

    modules = {k.name: k.module for g in run.graphs for k in g.kernels}
    found = find(name, modules)
    if len(found) == 1:
        return modules[found[0]].rstrip("\n")
    near = found[:5] or nearest(name, modules) or sorted(modules)[:3]
    raise UnknownName(
        "several kernels of the run are called so" if found else "the run has no such kernel",
        where=run.id,
        got=name,
        expected=", ".join(near),
        remedy="see the names: harness show",
    )


@command(table=True, only=True)
def list_(
    answer: Answer,
    suite: Suite = "default",
    runs: Annotated[bool, typer.Option("--runs", help="List recorded runs instead.")] = False,
    targets: Annotated[bool, typer.Option("--targets", help="List targets instead.")] = False,
) -> None:
    """List the graphs of a suite, the recorded runs, or the targets.

    \b
    harness list
    harness list -k llama
    harness list --runs --csv
    """
    options = answer.options
    if runs:
        answer.recover()
        answer.tell(_table(_runs(options), answer.only, "runs", _RUN_COLUMNS))
    elif targets:
        answer.tell(_table(_targets(), answer.only, "targets", _TARGET_COLUMNS))
    else:
        answer.tell(_suite(options, suite, answer.only))


def _suite(options: Options, suite: str, only: Sequence[str]) -> Report:
    from harness.graph.suite import load_suite

    entries = [
        (entry, names)
        for entry in load_suite(suite, options.suites).entries
        if (names := [n for n in entry.entry.graph_names if is_chosen(only, n, entry.name)])
    ]
    graphs = sum(len(names) for _, names in entries)

    def lines() -> list[Text]:
        found = []
        for entry, names in entries:
            found.append(Text(entry.entry.title))
            for name in names:
                missing = "" if entry.path(name).is_file() else "  (not captured)"
                found.append(Text(f"  {name}{missing}"))
        total = f"suite {suite}: {len(entries)} entries, {graphs} graphs in {options.suites}"
        return [*found, Text(), Text(total)]

    def rows() -> list[Row]:
        named = [(entry, name) for entry, names in entries for name in names]
        return [{**_entry(entry.entry), **_graph(entry, name)} for entry, name in named]

    def document() -> dict[str, Any]:
        made = [
            {**_entry(entry.entry), "graphs": [_graph(entry, name) for name in names]}
            for entry, names in entries
        ]
        return {"suite": suite, "entries": made}

    return Report(lines, document, rows)


def _entry(declared: Entry) -> dict[str, Any]:
    return {
        "name": declared.name,
        "title": declared.title,
        "origin": declared.origin,
        "mode": declared.mode,
        "dtype": declared.dtype.short,
        "target": declared.target,
        "sizes": dict(declared.real),
        "small_sizes": dict(declared.small),
        "tags": list(declared.tags),
    }


def _graph(entry: SuiteEntry, name: str) -> dict[str, Any]:
    path = entry.path(name)
    return {"name": name, "file": str(path), "captured": path.is_file()}


def _column(key: str, right: bool = False, least: int = 0) -> Column:
    fit = Fit.SHORTEN if key == "machine" else Fit.KEEP
    return Column(key, lambda row: str(row[key]), right, fit, least)


_RUN_COLUMNS = (
    *(_column(key) for key in ("run", "machine")),
    *(_column(key, right=True) for key in ("graphs", "kernels", "failed")),
    _column("suite"),
)
_TARGET_COLUMNS = (
    *(_column(key, least=8) for key in ("name", "device")),
    *(_column(key, right=True) for key in ("capability", "multiprocessors", "gbps")),
)


def _table(
    rows: Sequence[Row], only: Sequence[str], what: str, columns: tuple[Column, ...]
) -> Report:
    names = ("run", "machine", "suite", "name", "device")
    kept = [row for row in rows if is_chosen(only, *(row[n] for n in names if n in row))]
    return Report(
        lambda: [Table(columns, kept) if kept else Text(f"no {what} yet")],
        lambda: {what: kept},
        lambda: kept,
    )


def _runs(options: Options) -> list[dict[str, Any]]:
    from harness.history import index

    found = index.refresh(options.results)
    say_unreadable(found, options.results)
    return [
        {
            "run": Path(run.file).stem,
            "machine": run.gpu or run.machine,
            "graphs": run.graphs,
            "kernels": run.kernels,
            "failed": run.failed,
            "suite": run.suite,
            "file": str(options.results / run.file),
        }
        for run in found.readable
    ]


def say_unreadable(found: Index, results: Path) -> None:
    """Say which run files cannot be read. Raises ``RecordError`` if none can."""
    from harness.errors import RecordError

    for note in found.notes:
        output.note(note)
    for run in found.unreadable:
        output.note(f"error: {run.unreadable}")
    if found.runs and not found.readable:
        raise RecordError(
            f"none of the {len(found.runs)} run files can be read",
            str(results),
            remedy="the lines above say why, file by file",
        )


def _targets() -> list[dict[str, Any]]:
    from harness.target import TARGETS

    return [
        {
            "name": name,
            "device": target.name,
            "capability": f"{target.capability / 10:.1f}",
            "multiprocessors": target.multiprocessors,
            "gbps": target.memory_gbps,
        }
        for name, target in TARGETS.items()
    ]
