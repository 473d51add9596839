"""How the changes in a history look: tables by what has to be done, and JSON."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from harness.records.metrics import Scope
from harness.report import output
from harness.report.output import plural

if TYPE_CHECKING:
    from rich.console import Console

    from harness.history.changes.changes import Break, Change, Report
    from harness.history.changes.series import History
    from harness.options import Options
    from harness.records.metrics import Metric

_ROOMY = 120
"""Columns from which changes are a table."""
_SHORT = 10
"""Digits of a commit that are shown."""
_PAIRS = 3
"""Commits with suspected regressions for which the next command is shown."""
LEGEND = (
    "size: relative, 95 % interval in brackets; confidence: at least, that a flat series would not "
    "show this (together: certain with the others of its commit, of which at most 5 % are none); "
    "commits: last at the old level, first at the new one, in parentheses the 95 % "
    "range if it is wider; n: points before + after"
)


def print_report(
    report: Report, known: History, metrics: Sequence[Metric], options: Options
) -> None:
    """Print the report for people."""
    from rich.console import Console

    console = Console(
        width=output.width(), no_color=not options.color, highlight=False, soft_wrap=False
    )
    for title, changes in _sections(report):
        if changes and console.width >= _ROOMY:
            console.print(_table(title, changes))
        elif changes:
            _print_narrow(title, changes, console)
    for each in report.breaks:
        _say(_break_line(each), console)
    if report.changes:
        _say(LEGEND, console, style="dim")
    for line in _summary(report, known, metrics):
        _say(line, console)


def _sections(report: Report) -> list[tuple[str, list[Change]]]:
    def chosen(wanted: str) -> list[Change]:
        return [change for change in report.changes if verdict(change) == wanted]

    return [
        ("Regressions", chosen("regression")),
        (
            "Suspected regressions: measure once more (too few points, or not certain among as "
            "many series)",
            [change for change in chosen("suspected") if change.suspected],
        ),
        ("Improvements", chosen("improvement")),
        ("Acknowledged", chosen("acknowledged")),
        ("Undone since", chosen("undone")),
        (
            "Suspected improvements",
            [change for change in chosen("suspected") if not change.suspected],
        ),
        ("Other compilers: no regressions of ours", chosen("peer")),
    ]


def verdict(change: Change) -> str:
    """The section of a change: what is to be done about it."""
    if change.series.metric.scope is Scope.PEER:
        return "peer"
    if not change.confirmed:
        return "suspected"
    if change.acknowledged is not None:
        return "acknowledged"
    if change.undone:
        return "undone"
    return "regression" if change.worse else "improvement"


def _print_narrow(title: str, changes: Sequence[Change], console: Console) -> None:
    """A change in three lines: what, how much, why. Columns this narrow would break every name."""
    _say(title, console, style="bold")
    for change in changes:
        style = "red" if change.regression else ""
        _say("  ".join(_where(change).split("\n")), console, 1, style)
        size = " ".join(_size(change).split("\n"))
        when = " ".join(_commits(change).split("\n"))
        points = f"{change.points_before}+{change.points_after}"
        figures = f"{change.series.metric.name} {size}; {_confidence(change)}; {when}; n {points}"
        _say(figures, console, 5, style)
        _say(_cause(change).replace("\n", "; "), console, 5, style)
    console.print()


def _say(text: str, console: Console, indent: int = 0, style: str = "") -> None:
    """Print ``text`` in lines that end where words do, without blanks behind them."""
    from rich.text import Text

    room = console.width - indent
    for line in textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False) or [""]:
        console.print(Text(" " * indent + line, style=style), soft_wrap=True)


def _table(title: str, changes: Sequence[Change]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", expand=True, box=None)
    table.add_column("graph / kernel", ratio=5, overflow="fold")
    table.add_column("metric", no_wrap=True)
    table.add_column("size", ratio=3, justify="right", overflow="fold")
    table.add_column("confidence", justify="right", no_wrap=True)
    table.add_column("commits", ratio=4, overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("cause", ratio=4, overflow="fold")
    for change in changes:
        style = "red" if change.regression else ""
        cells = (
            _where(change),
            change.series.metric.name,
            _size(change),
            _confidence(change),
            _commits(change),
            f"{change.points_before}+{change.points_after}",
            _cause(change),
        )
        table.add_row(*(Text(cell, style=style) for cell in cells))
    return table


def _where(change: Change) -> str:
    """Graph, node and the kernel's name of today."""
    if not change.series.kernel:
        return f"{change.series.graph}\n(whole graph)"
    lines = [change.series.graph, change.series.kernel]
    if change.name != change.series.kernel:
        lines.append(change.name.removeprefix("triton_"))
    return "\n".join(lines)


def _size(change: Change) -> str:
    levels = f"{_level(change.old)} → {_level(change.new)} {change.series.metric.unit}".rstrip()
    if change.size is None:
        return levels
    text = f"{100 * change.size:+.1f} %"
    if change.low is not None and change.high is not None:
        text += f"\n[{100 * change.low:+.1f}, {100 * change.high:+.1f}]"
    return f"{text}\n{levels}"


def _level(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.4g}"


def _confidence(change: Change) -> str:
    if change.series.metric.exact:
        return "exact"
    text = "> 99.99 %" if change.p < 1e-4 else f"{100 * (1 - change.p):.2f} %"
    return f"{text}\ntogether" if change.together else text


def _commits(change: Change) -> str:
    text = f"{change.before[:_SHORT]} → {change.commit[:_SHORT]}"
    if (change.lowest, change.highest) != (change.before, change.commit):
        text += f"\n({change.lowest[:_SHORT]} → {change.highest[:_SHORT]})"
    if change.undone:
        text += f"\nundone at {change.undone[:_SHORT]}"
    return text


def _cause(change: Change) -> str:
    text = ", ".join(change.causes)
    if change.acknowledged is not None:
        text += f"\nline {change.acknowledged.line}: {change.acknowledged.reason}"
    return text


def _break_line(each: Break) -> str:
    what = "; ".join(each.earlier.differences(each.later))
    return (
        f"series break at {each.commit[:_SHORT]} ({each.metric.name}, "
        f"{plural(each.series, 'series', 'series')}): {what}; levels before and after are "
        "not compared"
    )


def _summary(report: Report, known: History, metrics: Sequence[Metric]) -> list[str]:
    order = "history's order" if known.by_history else "the order of the runs' time"
    names = ", ".join(metric.name for metric in metrics)
    lines = [
        "",
        f"{names}: {plural(report.judged, 'series', 'series')} judged over "
        f"{plural(len(known.commits), 'commit')} in {order}; "
        f"{plural(len(report.regressions), 'regression')} to look at"
        + (f", {len(report.suspected)} suspected" if report.suspected else ""),
    ]
    lines.extend(_suspects(report, known))
    if report.short:
        lines.append(
            f"{plural(report.short, 'series', 'series')} too short to be judged (fewer than 6 "
            "points in one environment): harness compare A B tells two runs apart"
        )
    lines.extend(f"left out: {what}: {n}" for what, n in sorted(report.left_out.items()))
    lines.extend(report.notes)
    lines.extend(
        f"acknowledged changes, line {each.line}: nothing changed there, so it can go "
        f"({each.last[:_SHORT]} {each.metric} {each.series})"
        for each in report.stale
    )
    return lines


def _suspects(report: Report, known: History) -> list[str]:
    """What to do about suspected regressions, and how many of such rows mean nothing."""
    if not report.suspected:
        return []
    # Half of a flat series' steps go up; as many again are newest points alone.
    expected = report.chance * report.judged
    lines = [
        f"suspected: without any change up to {expected:.1g} such rows would be expected among "
        f"{plural(report.judged, 'series', 'series')}"
    ]
    pairs = Counter((change.before, change.commit) for change in report.suspected)
    for pair, number in pairs.most_common(_PAIRS):
        before, commit = (_spoken(known, name) for name in pair)
        lines.append(
            f"to be sure of the {number} at {commit}: harness confirm {before} {commit} (the "
            "kernels of both, in turns), or measure one more commit"
        )
    return lines


def _spoken(known: History, name: str) -> str:
    """A commit as commands take it; the name of a run is left as it is."""
    return name[:_SHORT] if any(run.commit.startswith(name) for run in known.runs) else name


def changes_document(report: Report, known: History) -> dict[str, Any]:
    """The JSON of the report."""
    return {
        "regressions": len(report.regressions),
        "suspected": len(report.suspected),
        "judged": report.judged,
        "short": report.short,
        "points": report.points,
        "order": "history" if known.by_history else "time",
        "changes": [_change_document(change) for change in report.changes],
        "breaks": [
            {
                "metric": each.metric.name,
                "commit": each.commit,
                "series": each.series,
                "differences": each.earlier.differences(each.later),
            }
            for each in report.breaks
        ],
        "stale": [asdict(each) for each in report.stale],
        "left_out": dict(sorted(report.left_out.items())),
        "notes": list(report.notes),
    }


def _change_document(change: Change) -> dict[str, Any]:
    series = change.series
    return {
        "verdict": verdict(change),
        "metric": series.metric.name,
        "graph": series.graph,
        "kernel": series.kernel,
        "name": change.name,
        "machine": series.environment.machine,
        "worse": change.worse,
        "size": change.size,
        "low": change.low,
        "high": change.high,
        "old": change.old,
        "new": change.new,
        "p": change.p,
        "together": change.together,
        "before": change.before,
        "commit": change.commit,
        "lowest": change.lowest,
        "highest": change.highest,
        "points_before": change.points_before,
        "points_after": change.points_after,
        "causes": list(change.causes),
        "undone": change.undone,
        "acknowledged": None if change.acknowledged is None else asdict(change.acknowledged),
    }
