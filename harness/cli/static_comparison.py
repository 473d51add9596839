"""``harness compare --static``: gathering both sides without a GPU, and how the answer looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.cli.caching import cache_folder
from harness.cli.guard import FAILED, FINE
from harness.report import output
from harness.report.comparison import console, kernels_document, lone_document, side_document
from harness.report.output import plural
from harness.verdicts.static_comparing import Change, GraphSum, StaticComparison, StaticRow

if TYPE_CHECKING:
    from rich.console import Console

    from harness.options import Options
    from harness.verdicts.comparing import Side

_MOST = 5
"""Differences printed beside the one that decided; all of them with --all and in the JSON."""
_COLORS = {
    Change.WORSE: "bold red",
    Change.BETTER: "green",
    Change.CHANGED: "yellow",
    Change.SAME: "",
}


def compare_statically(
    options: Options, names: Sequence[str], *, everything: bool, as_json: bool
) -> int:
    """Compare two sides by their binaries and print it; the exit status."""
    import triton

    from harness.runtime.compile.compiling import CompilePool
    from harness.target import find_target
    from harness.verdicts.static_comparing import compare_static

    target = find_target(options.target)
    with (
        cache_folder(options) as cache,
        output.progress("compiling", options, quiet=as_json) as bar,
    ):
        a, b = _sides(options, names)
        bar.update("compiling for the figures", 0, 1)
        with CompilePool(options.jobs, cache) as pool:
            found = compare_static(a, b, target, triton.__version__, pool.metrics)
    if as_json:
        output.emit_json(document(found))
    else:
        print_static(found, console(color=options.color), everything=everything)
    return FAILED if found.worse else FINE


def _sides(options: Options, names: Sequence[str]) -> list[Side]:
    from pathlib import Path

    from harness.options import project_root
    from harness.session.entries import find_graphs
    from harness.verdicts.exports import commit_side
    from harness.verdicts.sides import find_static_side

    root = project_root(Path.cwd())

    def compile_at(commit: str | None, label: str) -> Side:
        graphs = find_graphs(options, "default", [])
        return commit_side(root, commit, label, graphs, options.target)

    return [find_static_side(options.results, name, compile_at) for name in names]


def print_static(found: StaticComparison, out: Console, *, everything: bool) -> None:
    """Rows that differ (``everything``: all), graphs, what has no partner, and the counts."""
    from rich.text import Text

    for name, side in (("A", found.a), ("B", found.b)):
        origin = "" if side.origin == side.label else f"  {side.origin}"
        out.print(Text(f"{name}  {side.label}{origin}"))
    for note in found.notes:
        out.print(Text(f"note: {note}"))
    shown = [r for r in found.rows if everything or r.change is not Change.SAME]
    _print_rows(shown, out, everything=everything)
    _print_graphs([g for g in found.graphs if everything or g.change is not Change.SAME], out)
    for title, kernels in (("only in A", found.vanished), ("only in B", found.appeared)):
        if kernels:
            out.print(Text(f"\n{title}:"))
            for graph, kernel in kernels:
                out.print(Text(f"  {graph}  {kernel.name.removeprefix('triton_')}"))
    if len(found.rows) == 1 and found.rows[0].diff:
        out.print(Text(f"\n{found.rows[0].diff}"))
    out.print()
    for line in summary(found):
        out.print(Text(line))


def _print_rows(rows: Sequence[StaticRow], out: Console, *, everything: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    by_graph: dict[str, list[StaticRow]] = {}
    for row in rows:
        by_graph.setdefault(row.match.graph, []).append(row)
    for graph, members in by_graph.items():
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=False)
        table.add_column(width=7, no_wrap=True)
        table.add_column(ratio=2, no_wrap=True, overflow="ellipsis")
        table.add_column(ratio=3, overflow="fold")
        for row in members:
            why = [row.decided, *(d for d in row.differences if d != row.decided)]
            if row.defaults:
                why.insert(1, f"default configuration: {', '.join(row.defaults)}")
            if len(why) > _MOST + 1 and not everything:
                why = [*why[: _MOST + 1], f"{len(why) - _MOST - 1} more"]
            table.add_row(
                Text(row.change.value, style=_COLORS[row.change]),
                Text(_name(row)),
                Text("; ".join(text for text in why if text)),
            )
        out.print()
        out.print(Text(graph or "modules", style="bold"))
        out.print(table)


def _name(row: StaticRow) -> str:
    name = row.match.a[0].name.removeprefix("triton_")
    counts = len(row.match.a), len(row.match.b)
    return name if counts == (1, 1) else f"{name} … ({counts[0]} → {counts[1]} kernels)"


def _print_graphs(graphs: Sequence[GraphSum], out: Console) -> None:
    from rich.text import Text

    if graphs:
        out.print()
    for graph in graphs:
        line = Text(f"{graph.change.value:<8}", style=_COLORS[graph.change])
        line.append(f"graph {graph.graph}: {graph.decided or 'nothing that counts'}", style="")
        if graph.kernels[0] != graph.kernels[1]:
            line.append(f"; kernels {graph.kernels[0]} → {graph.kernels[1]}", style="")
        out.print(line)


def summary(found: StaticComparison) -> list[str]:
    """The counts and the rule."""
    count = Counter(row.change for row in found.rows)
    rows = ", ".join(f"{count[c]} {c.value}" for c in Change if count[c]) or "none"
    lines = [f"kernels: {rows}; only in A: {len(found.vanished)}, only in B: {len(found.appeared)}"]
    if found.other_defaults:
        lines.append(
            f"default configurations: {plural(len(found.other_defaults), 'kernel')} would run in "
            "another one where they are not tuned; which is faster, only a GPU says"
        )
    lines.append(
        f"compiled for {found.target.name}, no GPU involved. The first of spills, bytes, load and "
        "store width, resident warps, instructions that differs decides (docs/comparing.md)"
    )
    return lines


def document(found: StaticComparison) -> dict[str, Any]:
    """The JSON (docs/json.md)."""
    return {
        "a": side_document(found.a),
        "b": side_document(found.b),
        "target": found.target.name,
        "worse": found.worse,
        "notes": list(found.notes),
        "kernels": [_row_document(row) for row in found.rows],
        "graphs": [_graph_document(graph) for graph in found.graphs],
        "vanished": [lone_document(*item) for item in found.vanished],
        "appeared": [lone_document(*item) for item in found.appeared],
    }


def _row_document(row: StaticRow) -> dict[str, Any]:
    return {
        "graph": row.match.graph,
        "region": row.match.region,
        "matched_by": row.match.how,
        "change": row.change.value,
        "decided": row.decided,
        "differences": list(row.differences),
        "a": kernels_document(row.match.a),
        "b": kernels_document(row.match.b),
        "diff": row.diff,
        "default_configuration": list(row.defaults),
    }


def _graph_document(graph: GraphSum) -> dict[str, Any]:
    return {
        "graph": graph.graph,
        "change": graph.change.value,
        "decided": graph.decided,
        "kernels": list(graph.kernels),
        "launches": list(graph.launches),
        "bytes": list(graph.bytes),
        "instructions": list(graph.instructions),
    }
