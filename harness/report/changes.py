"""How the changes in a history look: tables by what has to be done, and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from harness.history.changes.changes import Break, Change, Report
from harness.history.changes.series import History
from harness.records.metrics import Metric
from harness.records.names import DIGITS, is_chosen, short
from harness.records.run import fields
from harness.report import output
from harness.table import MOST, Block, Column, Fit, Row, Table, Text, paragraphs, plural

_PAIRS = 3
"""Commits with suspected regressions for which the next command is shown."""
LEGEND = (
    "size: relative, 95 % interval in brackets; confidence: at least, that a flat series would not "
    "show this (together: certain with the others of its commit, of which at most 5 % are none); "
    "commits: last at the old level, first at the new one, in parentheses the 95 % "
    "range if it is wider; n: points before + after"
)
_SECTIONS = (
    ("Regressions", "regression", None),
    (
        "Suspected regressions: measure once more (too few points, not certain among as many "
        "series, or a level that it had before)",
        "suspected",
        True,
    ),
    ("Improvements", "improvement", None),
    ("Waived", "acknowledged", None),
    ("Recovered since", "undone", None),
    ("Suspected improvements", "suspected", False),
    ("The machine: the same code in the same configuration, so no commit's doing", "machine", None),
    ("Other compilers: no regressions of ours", "peer", None),
)
"""Title and verdict of each table, and whether its changes are for the worse (None: either)."""


def chosen(report: Report, only: Sequence[str]) -> Report:
    """``report`` with the changes of the graphs and kernels that the patterns ``only`` choose."""
    kept = tuple(
        c for c in report.changes if is_chosen(only, c.series.graph, c.series.kernel, c.name)
    )
    return replace(report, changes=kept)


def changes_report(report: Report, known: History, metrics: Sequence[Metric]) -> output.Report:
    """The report."""
    return output.Report(
        lambda: list(_blocks(report, known, metrics)),
        lambda: changes_document(report, known),
        lambda: [_change_document(change) for change in report.changes],
    )


def _blocks(report: Report, known: History, metrics: Sequence[Metric]) -> Iterator[Block]:
    yield from (Text(_answer(report, known, metrics), wrapped=True), Text())
    rows = [
        {**_change_document(change), "red": change.regression, "suspected": bool(change.suspected)}
        | fields(change.series.metric, "unit exact")
        for change in report.changes
    ]
    for title, verdict, worse in _SECTIONS:
        if mine := [r for r in rows if r["verdict"] == verdict and worse in (None, r["suspected"])]:
            yield from (Table(_COLUMNS, mine, title), Text())
    for title, sentences in (("Broken", report.broken), ("Not usable", report.problems)):
        if sentences:
            more = [f"and {len(sentences) - MOST} more (--json)"] * (len(sentences) > MOST)
            yield from (Text(title), *paragraphs([*sentences[:MOST], *more]), Text())
    yield from paragraphs([_break_line(each) for each in report.breaks])
    if report.changes:
        yield Text(LEGEND, wrapped=True, style="dim")
    yield from paragraphs(_summary(report, known))


def _where(row: Row) -> str:
    """Graph, node and the kernel's name of today."""
    if not row["kernel"]:
        return f"{row['graph']}\n(whole graph)"
    named = [row["graph"], row["kernel"]]
    return "\n".join(named if row["name"] == row["kernel"] else [*named, short(row["name"])])


def _size(row: Row) -> str:
    levels = f"{_level(row['old'])} → {_level(row['new'])} {row['unit']}".rstrip()
    if row["size"] is None:
        return levels
    text = f"{100 * row['size']:+.1f} %"
    if row["low"] is not None and row["high"] is not None:
        text += f"\n[{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]"
    return f"{text}\n{levels}"


def _level(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.4g}"


def _confidence(row: Row) -> str:
    if row["exact"]:
        return "exact"
    text = "> 99.99 %" if row["p"] < 1e-4 else f"{100 * (1 - row['p']):.2f} %"
    return f"{text}\ntogether" if row["together"] else text


def _commits(row: Row) -> str:
    text = f"{row['before'][:DIGITS]} → {row['commit'][:DIGITS]}"
    if (row["lowest"], row["highest"]) != (row["before"], row["commit"]):
        text += f"\n({row['lowest'][:DIGITS]} → {row['highest'][:DIGITS]})"
    if row["undone"]:
        text += f"\nrecovered at {row['undone'][:DIGITS]}"
    return text


def _cause(row: Row) -> str:
    text = ", ".join(row["causes"])
    waived = row["acknowledged"]
    return text if waived is None else f"{text}\nline {waived['line']}: {waived['reason']}"


_COLUMNS = (
    Column("graph / kernel", _where, style=lambda row: "red" if row["red"] else ""),
    Column("metric", lambda row: row["metric"]),
    Column("size", _size, right=True),
    Column("confidence", _confidence, right=True),
    Column("commits", _commits),
    Column("n", lambda row: f"{row['points_before']}+{row['points_after']}", right=True),
    Column("cause", _cause, fit=Fit.BELOW),
)


def _break_line(each: Break) -> str:
    what = "; ".join(each.earlier.differences(each.later))
    return (
        f"series break at {each.commit[:DIGITS]} ({each.metric.name}, "
        f"{plural(each.series, 'series', 'series')}): {what}; levels before and after are "
        "not compared"
    )


def _answer(report: Report, known: History, metrics: Sequence[Metric]) -> str:
    order = "history's order" if known.line else "the order of the runs' time"
    others = ((report.suspected, "suspected"), (report.broken, "broken"))
    return (
        f"{plural(len(report.regressions), 'regression')} to look at"
        + "".join(f", {len(found)} {what}" for found, what in others if found)
        + f"; {', '.join(metric.name for metric in metrics)}: "
        f"{plural(report.judged, 'series', 'series')} judged over "
        f"{plural(len(known.commits), 'commit')} in {order}"
    )


def _summary(report: Report, known: History) -> Iterator[str]:
    yield from _suspects(report, known)
    if report.short:
        yield (
            f"{plural(report.short, 'series', 'series')} too short to be judged (fewer than 6 "
            "points in one environment): harness compare A B tells two runs apart"
        )
    yield from (f"left out: {what}: {n}" for what, n in sorted(report.left_out.items()))
    yield from report.notes
    yield from (
        f"waived changes, line {each.line}: it waives nothing, so it can go "
        f"({each.last[:DIGITS]} {each.metric} {each.series})"
        for each in report.stale
    )


def _suspects(report: Report, known: History) -> Iterator[str]:
    """What to do about suspected regressions, and how many of such rows mean nothing."""
    if not report.suspected:
        return
    # Half of a flat series' steps go up; as many again are newest points alone.
    expected = report.chance * report.judged
    yield (
        f"suspected: without any change up to {expected:.1g} such rows would be expected among "
        f"{plural(report.judged, 'series', 'series')}"
    )
    pairs = Counter((change.before, change.commit) for change in report.suspected)
    for pair, number in pairs.most_common(_PAIRS):
        # As commands take them: the name of a run is left as it is.
        commits = {name for name in pair if any(r.commit.startswith(name) for r in known.runs)}
        before, commit = (name[:DIGITS] if name in commits else name for name in pair)
        yield (
            f"to be sure of the {number} at {commit}: harness confirm {before} {commit} (the "
            "kernels of both, interleaved), or measure one more commit"
        )


def changes_document(report: Report, known: History) -> dict[str, Any]:
    """The JSON of the report."""
    return {
        "regressions": len(report.regressions),
        "suspected": len(report.suspected),
        **fields(report, "judged short points broken problems notes"),
        "order": "history" if known.line else "time",
        "changes": [_change_document(change) for change in report.changes],
        "breaks": [
            {"metric": b.metric.name, "commit": b.commit, "series": b.series}
            | {"differences": b.earlier.differences(b.later)}
            for b in report.breaks
        ],
        "stale": [asdict(each) for each in report.stale],
        "left_out": dict(sorted(report.left_out.items())),
    }


_OF_CHANGE = (
    "verdict name worse size low high old new p together before commit lowest highest "
    "points_before points_after causes"
)


def _change_document(change: Change) -> dict[str, Any]:
    series, waived = change.series, change.waived
    return {
        "metric": series.metric.name,
        **fields(series, "graph kernel"),
        "machine": series.environment.machine,
        **fields(change, _OF_CHANGE),
        "undone": change.recovered,
        "acknowledged": None if waived is None else asdict(waived),
    }
