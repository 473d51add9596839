"""How a comparison of binaries looks (``harness compare --static``), and its JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from harness.records.names import is_chosen, short
from harness.records.run import fields, to_json
from harness.report.comparison import by_graph, chosen_kernels, kernels_name, sides, verdict_column
from harness.report.documents import lone_document, match_document, side_document
from harness.report.output import Report
from harness.table import Block, Column, Fit, Row, Text, paragraphs, plural
from harness.verdicts.static_comparing import Change, GraphSum, StaticComparison, StaticRow

_MOST = 5
"""Differences printed beside the one that decided; all of them with --all and in the JSON."""


def chosen(found: StaticComparison, only: Sequence[str]) -> StaticComparison:
    """``found`` without what the patterns ``only`` do not choose."""
    graphs = tuple(graph for graph in found.graphs if is_chosen(only, graph.graph))
    return replace(found, graphs=graphs, **chosen_kernels(found, only))


def static_report(found: StaticComparison, *, everything: bool) -> Report:
    """Rows that differ (``everything``: all), graphs, what has no partner, and the counts."""
    return Report(
        lambda: list(_blocks(found, everything)),
        lambda: document(found),
        lambda: [_row_document(row) for row in found.rows],
    )


def _blocks(found: StaticComparison, everything: bool) -> Iterator[Block]:
    answer, *rules = summary(found)
    yield Text(answer, wrapped=True, style="bold")
    yield from sides(found.a, found.b, found.notes)
    shown = [r for r in found.rows if everything or r.change is not Change.SAME]
    columns = (
        verdict_column("change", 7),
        Column("kernel", kernels_name, fit=Fit.SHORTEN),
        Column("differences", lambda row: _why(row, everything), fit=Fit.BELOW),
    )
    yield from by_graph(columns, [_row_document(row) for row in shown], headed=False)
    if graphs := [g for g in found.graphs if everything or g.change is not Change.SAME]:
        yield Text()
    yield from paragraphs([_sum(graph) for graph in graphs])
    for title, kernels in (("only in A", found.vanished), ("only in B", found.appeared)):
        if kernels:
            yield from (Text(), Text(f"{title}:"))
            yield from (Text(f"  {graph}  {short(kernel.name)}") for graph, kernel in kernels)
    if len(found.rows) == 1 and found.rows[0].diff:
        yield from (Text(), Text(found.rows[0].diff))
    yield Text()
    yield from paragraphs(rules)


def _why(row: Row, everything: bool) -> str:
    why = [row["decided"], *(d for d in row["differences"] if d != row["decided"])]
    if row["default_configuration"]:
        why.insert(1, f"default configuration: {', '.join(row['default_configuration'])}")
    if len(why) > _MOST + 1 and not everything:
        why = [*why[: _MOST + 1], f"{len(why) - _MOST - 1} more"]
    return "; ".join(text for text in why if text)


def _sum(graph: GraphSum) -> str:
    line = f"{graph.change.value:<8}graph {graph.graph}: {graph.decided or 'nothing that counts'}"
    before, after = graph.kernels
    return line if before == after else f"{line}; kernels {before} → {after}"


def summary(found: StaticComparison) -> Iterator[str]:
    """The counts and the rule."""
    count = Counter(row.change for row in found.rows)
    rows = ", ".join(f"{count[c]} {c.value}" for c in Change if count[c]) or "none"
    yield f"kernels: {rows}; only in A: {len(found.vanished)}, only in B: {len(found.appeared)}"
    if found.other_defaults:
        yield (
            f"default configurations: {plural(len(found.other_defaults), 'kernel')} would run in "
            "another one untuned; only a GPU tells which is faster"
        )
    yield (
        f"compiled for {found.target.name}, no GPU involved. The first of spills, bytes, load and "
        "store width, resident warps, instructions that differs decides (docs/comparing.md)"
    )


def document(found: StaticComparison) -> dict[str, Any]:
    """The JSON (docs/json.md)."""
    return {
        "a": side_document(found.a),
        "b": side_document(found.b),
        "target": found.target.name,
        **fields(found, "worse notes"),
        "kernels": [_row_document(row) for row in found.rows],
        "graphs": to_json(found.graphs),
        "vanished": [lone_document(*item) for item in found.vanished],
        "appeared": [lone_document(*item) for item in found.appeared],
    }


def _row_document(row: StaticRow) -> dict[str, Any]:
    return {
        **match_document(row.match),
        "change": row.change.value,
        **fields(row, "decided differences diff"),
        "default_configuration": row.defaults,
    }
