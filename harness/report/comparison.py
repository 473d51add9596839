"""How a comparison looks: the answer first, then what became slower or faster by what it costs,
what deserves a look, the sums; the rest is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from harness import table
from harness.errors import unknown
from harness.ir.reach import gathered, grouped
from harness.measure.noise.judge import Verdict
from harness.records.names import is_chosen, launched, short
from harness.records.run import KernelRecord, fields
from harness.report import documents
from harness.report.headline import headline, looks, remarks, suite_lines, word
from harness.report.output import Case, Report
from harness.table import Block, Column, Details, Fit, Row, Table, Text, paragraphs, plural, ratio
from harness.verdicts.causes import SAME_CODE
from harness.verdicts.comparing import WAIVED, Comparison, Side
from harness.verdicts.static_comparing import StaticComparison
from harness.verdicts.totals import SUITE, Rollup, model_of, scopes

_STYLES = {
    "SLOWER": "bold red",
    "WORSE": "bold red",
    "FASTER": "green",
    "BETTER": "green",
    "RETUNED": "cyan",
    "UNSURE": "yellow",
    "CHANGED": "yellow",
    "INCOMPARABLE": "magenta",
}
_PAGE = 60_000
"""Characters of Markdown: GitHub takes 65,536 in a comment."""
_MOST_CAUSES = 4


@dataclass(frozen=True, slots=True)
class View:
    """How a comparison is looked at: with ``everything``, ``judged`` rows of which those shown may
    be a choice, by microseconds of all launches or the ratio; ``more`` is said where rows are
    folded."""

    judged: int
    everything: bool = False
    sort: Literal["us", "ratio"] = "us"
    more: str = " (--all prints them, -k NAME some)"


def comparison_report(found: Comparison, view: View) -> Report:
    """The whole answer."""
    rows = [documents.row_document(row) for row in found.rows]
    return Report(
        lambda: list(_blocks(found, rows, view)),
        lambda: _document(found, rows),
        lambda: rows,
        lambda: list(_cases(found, rows)),
        _PAGE,
    )


def chosen(found: Comparison, only: Sequence[str]) -> Comparison:
    """``found`` without what the patterns ``only`` do not choose; verdicts stay as they were given
    among all rows. Raises ``UnknownName`` if nothing is left."""
    if not only:
        return found
    rollups = tuple(r for r in found.rollups if is_chosen(only, r.name))
    kept = replace(found, rollups=rollups, **chosen_kernels(found, only))
    if not (kept.rows or kept.rollups or kept.vanished or kept.appeared):
        named = dict.fromkeys(kernel.name for row in found.rows for kernel in row.match.kernels)
        what = "no kernel or graph of the comparison is like that"
        raise unknown(what, " ".join(only), list(named), "-k", "leave -k out to see all")
    return kept


def chosen_kernels(found: Comparison | StaticComparison, only: Sequence[str]) -> dict[str, Any]:
    """What of ``found`` is of kernels that the patterns ``only`` choose, by the fields' names."""
    names = [
        (m.graph, m.region, *(k.name for k in m.kernels)) for m in (r.match for r in found.rows)
    ]
    rows = (row for row, own in zip(found.rows, names, strict=True) if is_chosen(only, *own))
    return {"rows": tuple(rows)} | {
        side: tuple(one for one in kernels if is_chosen(only, one[0], one[1].name))
        for side, kernels in {"vanished": found.vanished, "appeared": found.appeared}.items()
    }


def _blocks(found: Comparison, rows: Sequence[Row], view: View) -> Iterator[Block]:
    bad = found.regressed or found.broken
    good = found.judged and not found.problems and " slower, by " not in headline(found)
    style = "bold red" if bad else "bold green" if good else "bold yellow"
    yield Text(headline(found), wrapped=True, style=style)
    yield from paragraphs(suite_lines(found))
    yield from sides(found.a, found.b, found.notes)
    if len(rows) < view.judged:
        yield Text(f"note: {len(rows)} of {view.judged} rows, judged among all of them")
    for title, sentences in (("broken in B", found.broken), ("not usable", found.problems)):
        yield from _lone(title, sentences, view)
    yield from _kernels(found, rows, view)
    yield from _sums(found, rows, view)
    matched = {row["graph"] for row in rows}
    for side, kernels in (("A", found.vanished), ("B", found.appeared)):
        yield from _lone(f"only in {side}", list(_unmatched(kernels, matched)), view)
    yield Text()
    yield from paragraphs(remarks(found))


def _kernels(found: Comparison, rows: Sequence[Row], view: View) -> Iterator[Block]:
    """What became slower or faster, what deserves a look, what the machine did; the rest folded."""
    by = Counter(row["verdict"] for row in rows)
    moved = [row for row in rows if row["verdict"] in ("SLOWER", "FASTER")]
    machine = [row for row in rows if row["machine"]]
    # What worsened comes first, and of that what costs most.
    yield from _table("", sorted(moved, key=_key(view)))
    if view.everything:
        rest = [row for row in rows if row not in moved]
        yield from by_graph(_OF_GRAPH, rest)
        return
    waived = [row for row in rows if row["reason"] == WAIVED]
    unsure = [
        (looks(row), document)
        for row, document in zip(found.rows, rows, strict=True)
        if row.verdict is Verdict.UNSURE and row.reason != WAIVED
    ]
    if odd := [document for seems, document in unsure if seems]:
        chance = max(1, round((1 - found.rules.level) * len(unsure)))
        title = (
            f"Worth a look: {len(odd)} of the {len(unsure)} unresolved moved by more than noise "
            f"alone would; by chance about {chance} do"
        )
        yield from _table(title, sorted(odd, key=_key(view)), table.MOST)
    if machine:
        title = (
            f"The machine: {plural(len(machine), 'kernel')} of the same code on both sides whose "
            "times moved"
        )
        yield from _table(title, sorted(machine, key=_key(view)), table.MOST)
    reasons = Counter(row["reason"] for row in rows if row["verdict"] == "INCOMPARABLE")
    lines = [f"{len(waived)} {WAIVED}"] * bool(waived)
    lines += [f"{number} incomparable: {why}" for why, number in reasons.most_common()]
    yield from (Text(), *paragraphs(lines)) if lines else ()
    shown = {id(row) for row in (*moved, *odd, *machine, *waived)}
    rest = [row for row in rows if id(row) not in shown and row["verdict"] in _FOLDED]
    yield from [Text()] if rest else []
    for verdict, what in _FOLDED.items():
        mine = [row for row in rest if row["verdict"] == verdict]
        more = " more" if len(mine) < by[verdict] else ""
        summary = f"{len(mine)}{more} {what}{view.more}"
        if mine and verdict == "SAME":
            yield Text(summary)
        elif mine:
            yield Details(summary, [Table(_LISTED, sorted(mine, key=_key(view)))])


_FOLDED = {
    "RETUNED": "merely retuned: the same code in another of its configurations; --configs-from A "
    "leaves that out",
    "UNSURE": "unresolved",
    "SAME": "the same",
}
"""Verdicts that are counted, and how."""


def _key(view: View) -> Callable[[Row], tuple[bool, float]]:
    """Worse ones first, then by size: of the change in all launches, or of the ratio."""

    def key(row: Row) -> tuple[bool, float]:
        value = row["ratio"] or 1.0
        size = abs(row["change_us"] or 0.0) if view.sort == "us" else max(value, 1 / value)
        return value < 1, -size

    return key


def _table(title: str, rows: Sequence[Row], most: int | None = None) -> Iterator[Block]:
    if not rows:
        return
    yield Text()
    if title:
        yield Text(title, wrapped=True, style="bold")
    yield Table(_LISTED, rows[:most])
    if most is not None and len(rows) > most:
        yield Details(f"  and {len(rows) - most} more (--all)", [Table(_LISTED, rows[most:])])


def by_graph(
    columns: tuple[Column, ...], rows: Sequence[Row], *, headed: bool = True
) -> list[Block]:
    """A table for every graph."""
    graphs = grouped(rows, lambda row: str(row["graph"])).items()
    tables = (Table(columns, mine, graph or "modules", None, headed) for graph, mine in graphs)
    return [block for table in tables for block in (Text(), table)]


def kernels_name(row: Row) -> str:
    """The name of a row's kernels: A's first, and how many became how many."""
    before, after = row["a"], row["b"]
    counts = len(before["kernels"]), len(after["kernels"])
    if row["matched_by"] == "work" and counts != (1, 1):
        return f"{short(before['kernels'][0])} … ({counts[0]} → {counts[1]} kernels)"
    return launched(before["kernels"][0], before["launches"][0])


def verdict_column(key: str, least: int) -> Column:
    """The column of what was found, in its colour."""
    return Column(
        "verdict", lambda row: row[key], least=least, style=lambda row: _STYLES.get(row[key], "")
    )


def _why(row: Row) -> str:
    """The reason or the causes, in as many words as the verdict needs."""
    causes = row["causes"]
    if row["verdict"] == Verdict.INCOMPARABLE.value:
        return str(row["reason"])
    if row["verdict"] == Verdict.SAME.value and causes == [SAME_CODE]:
        return "same code and configuration"
    named = causes[:_MOST_CAUSES]
    if row["cycles_ratio"] is not None and any(c.startswith("SM clock") for c in causes):
        named = [*named, f"B÷A in cycles {row['cycles_ratio']:.3f}"]
    more = max(0, len(causes) - _MOST_CAUSES)
    return "; ".join([*named, f"{more} more (--json)"] if more else named)


def _interval(row: Row) -> str:
    return table.NOTHING if row["low"] is None else f"{ratio(row['low'])}–{ratio(row['high'])}"


def _change(row: Row) -> str:
    if (change := row["change_us"]) is None:
        return table.NOTHING
    return f"{change:+.1f}" if abs(change) >= 10 else f"{change:+.2f}"


def _figures(a: Callable[[Row], Any], b: Callable[[Row], Any]) -> tuple[Column, ...]:
    def timed(ms: Callable[[Row], Any]) -> Callable[[Row], str]:
        return lambda row: table.microseconds(None if row["ratio"] is None else ms(row))

    return (
        Column("A µs", timed(a), right=True, least=8),
        Column("B µs", timed(b), right=True, least=8),
        Column("B÷A", lambda row: ratio(row["ratio"]), right=True, least=6),
        Column("95 % interval", _interval, right=True),
    )


_TIMES = _figures(lambda row: row["a"]["ms"], lambda row: row["b"]["ms"])
_CAUSE = Column("cause", _why, fit=Fit.BELOW)
_LISTED = (
    verdict_column("verdict", 7),
    Column("kernel", kernels_name, fit=Fit.SHORTEN),
    Column("change µs", _change, right=True),
    *_TIMES,
    Column("graph: cause", lambda r: ": ".join(filter(None, (r["graph"], _why(r)))), fit=Fit.BELOW),
)
_OF_GRAPH = (
    verdict_column("verdict", 12),
    Column("kernel", kernels_name, fit=Fit.SHORTEN),
    *_TIMES,
    _CAUSE,
)


def _sums(found: Comparison, rows: Sequence[Row], view: View) -> Iterator[Block]:
    """The suite and its models; with everything graphs and regions, too."""
    both = zip(found.rows, rows, strict=True)
    bad = ((row.match, kernels_name(shown)) for row, shown in both if row.verdict is Verdict.SLOWER)
    slower = gathered((scope, name) for m, name in bad for scope in scopes(m.graph, m.region))
    models = {r.name for r in found.rollups if r.level == "model"}

    def is_widest(rollup: Rollup) -> bool:
        alone = rollup.level == "graph" and model_of(rollup.name) not in models
        return alone or rollup.level in (SUITE, "model")

    made = [
        {**documents.rollup_document(r), "slower": slower.get((r.level, r.name), [])}
        for r in sorted(found.rollups, key=lambda r: r.level != SUITE)
        if view.everything
        or is_widest(r)
        or (r.verdict is Verdict.SLOWER and (r.level, r.name) not in slower)
    ]
    quiet = ("SAME", "RETUNED", "UNSURE")
    shown = [r for r in made if view.everything or r["slower"] or r["verdict"] not in quiet]
    rest = [row for row in made if row not in shown and row["level"] != SUITE]
    if shown:
        yield from (Text(), Table(_SUMS, shown, "Sums"))
    if rest:
        count = Counter(row["verdict"] for row in rest)
        said = ", ".join(f"{n} {word(Verdict(v))}" for v, n in count.items())
        yield from (Text(), Details(f"{plural(len(rest), 'model')}: {said}", [Table(_SUMS, rest)]))


def _scope(row: Row) -> str:
    low = min(row["covered"])
    share = "" if low > 0.9995 else f" ({100 * low:.3g} % of it)"
    name = row["level"] if row["level"] == SUITE else f"{row['level']} {row['name']}"
    return f"{name}{share}"


def _of_sum(row: Row) -> str:
    """Why it is as it is: the kernels that became slower, the work that came or went."""
    named = [f"slower: {', '.join(row['slower'])}"] if row["slower"] else []
    return "; ".join([*named, *([row["reason"]] if row["reason"] else []), *row["work"]])


_SUMS = (
    verdict_column("verdict", 7),
    Column("sum over", _scope, fit=Fit.SHORTEN),
    Column("kernels", lambda row: str(row["kernels"]), right=True),
    *_figures(lambda row: row["a_ms"], lambda row: row["b_ms"]),
    Column("because", _of_sum, fit=Fit.BELOW),
)


def _lone(title: str, lines: Sequence[str], view: View) -> Iterator[Block]:
    if not lines:
        return
    most = len(lines) if view.everything else table.MOST
    yield from (Text(), Text(f"{title}:", style="bold"))
    yield from paragraphs([f"  {line}" for line in lines[:most]])
    if len(lines) > most:
        rest = [Text(line) for line in lines[most:]]
        yield Details(f"  and {len(rest)} more (--all)", rest)


def _unmatched(
    kernels: Sequence[tuple[str, KernelRecord]], matched: Collection[str]
) -> Iterator[str]:
    """A line for each kernel of a graph that both sides have, and one for each other graph."""
    whole = Counter(graph for graph, _ in kernels if graph not in matched)
    for graph, kernel in kernels:
        if graph in matched:
            yield f"{graph}  {launched(kernel.name, kernel.launches)}"
    for graph, number in whole.items():
        yield f"{graph}  all of it, {plural(number, 'kernel')}"


def sides(a: Side, b: Side, notes: Sequence[str]) -> Iterator[Block]:
    """What is compared, and what a reader has to know first."""
    for name, side in (("A", a), ("B", b)):
        origin = side.origin.removeprefix(f"{Path.cwd()}/")  # a line is narrow
        origin = "" if origin in ("", side.label) else f"  {origin}"
        yield Text(f"{name}  {side.label}{origin}")
    yield from paragraphs([f"note: {note}" for note in notes])


def _document(found: Comparison, rows: Sequence[Row]) -> dict[str, Any]:
    """The JSON of a comparison (docs/json.md)."""
    return {
        "headline": headline(found),
        "counts": {v.value: sum(r.verdict is v for r in found.rows) for v in Verdict},
        "resolution": found.resolution,
        "a": documents.side_document(found.a),
        "b": documents.side_document(found.b),
        "rules": fields(found.rules, "alpha margin same_alpha level"),
        **fields(found, "paired slower notes problems broken"),
        "noise": None if found.noise is None else documents.noise_document(found.noise),
        "kernels": list(rows),
        "rollups": [documents.rollup_document(rollup) for rollup in found.rollups],
        "vanished": [documents.lone_document(*item) for item in found.vanished],
        "appeared": [documents.lone_document(*item) for item in found.appeared],
    }


def _cases(found: Comparison, rows: Sequence[Row]) -> Iterator[Case]:
    """A test for each match: it fails where it is SLOWER and is skipped where nothing could be
    said; one for each sum that is SLOWER and each sentence about what is broken."""
    for row in rows:
        said = f"{row['verdict']}: B÷A {ratio(row['ratio'])}, {_interval(row)}"
        ours = "" if found.a.compiler and found.b.compiler else said
        ms = row["b"]["ms"]
        yield Case(
            row["graph"] or "modules",
            kernels_name(row),
            ours if row["verdict"] == "SLOWER" else "",
            row["reason"] or said if row["verdict"] in ("UNSURE", "INCOMPARABLE") else "",
            "; ".join(row["causes"]),
            None if ms is None else ms / 1000,
        )
    if found.regressed and all(row["verdict"] != "SLOWER" for row in rows):
        for one in (rollup for rollup in found.rollups if rollup.verdict is Verdict.SLOWER):
            yield Case("sums", f"{one.level} {one.name}", f"SLOWER: B÷A {ratio(one.effect.ratio)}")
    yield from (Case("broken", sentence, sentence) for sentence in found.broken)
