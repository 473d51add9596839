"""``harness list``: what can be named on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness import options as settings
from harness.cli.arguments import AsJson, Debug, Suite
from harness.cli.guard import guarded
from harness.report import output

if TYPE_CHECKING:
    from harness.graph.suite import SuiteEntry
    from harness.options import Options


@guarded
def list_(
    suite: Suite = "default",
    runs: Annotated[bool, typer.Option("--runs", help="List recorded runs instead.")] = False,
    targets: Annotated[bool, typer.Option("--targets", help="List targets instead.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """List the graphs of a suite, the recorded runs, or the targets.

    \b
    harness list
    harness list --runs
    harness list --json
    """
    options = settings.current()
    if runs:
        _print(_runs(options), as_json, "runs", _RUN_COLUMNS)
    elif targets:
        _print(_targets(), as_json, "targets", _TARGET_COLUMNS)
    else:
        _list_suite(options, suite, as_json)


def _list_suite(options: Options, suite: str, as_json: bool) -> None:
    from harness.graph.suite import load_suite

    entries = load_suite(suite, options.suites).entries
    if as_json:
        document = {"suite": suite, "entries": [_entry_document(entry) for entry in entries]}
        output.emit_json(document)
        return
    for entry in entries:
        output.emit(entry.entry.title)
        for name in entry.entry.graph_names:
            missing = "" if entry.path(name).is_file() else "  (not captured)"
            output.emit(f"  {name}{missing}")
    graphs = sum(len(entry.entry.graph_names) for entry in entries)
    output.emit()
    output.emit(f"suite {suite}: {len(entries)} entries, {graphs} graphs in {options.suites}")


def _entry_document(entry: SuiteEntry) -> dict[str, Any]:
    declared = entry.entry
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
        "graphs": [
            {"name": name, "file": str(entry.path(name)), "captured": entry.path(name).is_file()}
            for name in declared.graph_names
        ],
    }


_RUN_COLUMNS = (
    output.Column("run", 29),
    output.Column("machine", 0),
    output.Column("graphs", 6, right=True),
    output.Column("kernels", 7, right=True),
    output.Column("failed", 6, right=True),
    output.Column("suite", 10),
)
_TARGET_COLUMNS = (
    output.Column("name", 8),
    output.Column("device", 8),
    output.Column("capability", 10, right=True),
    output.Column("multiprocessors", 15, right=True),
    output.Column("gbps", 0, right=True),
)


def _runs(options: Options) -> list[dict[str, Any]]:
    from harness.cli.recovery import recover
    from harness.errors import RecordError
    from harness.history import index

    recover(options.results)
    found = index.refresh(options.results)
    for note in found.notes:
        output.note(note)
    for run in found.unreadable:
        output.note(f"error: {run.unreadable}")
    if found.runs and not found.readable:
        raise RecordError(
            f"none of the {len(found.runs)} run files can be read",
            str(options.results),
            remedy="the lines above say why, file by file",
        )
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


def _print(
    rows: list[dict[str, Any]], as_json: bool, what: str, columns: tuple[output.Column, ...]
) -> None:
    if as_json:
        output.emit_json({what: rows})
        return
    if not rows:
        output.emit(f"no {what} yet")
        return
    output.emit(output.heading(columns))
    for row in rows:
        output.emit(output.row(columns, [str(row[column.title]) for column in columns]))
