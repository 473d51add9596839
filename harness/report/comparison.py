"""How a comparison looks: the table, the roll-ups, what to read them by, and its JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from harness.measure.noise.estimate import Noise, Source
from harness.measure.noise.judge import Effect, Verdict
from harness.records import metrics
from harness.records.names import is_chosen, short
from harness.records.run import KernelRecord
from harness.report.output import Report
from harness.table import (
    NOTHING,
    Block,
    Column,
    Fit,
    Row,
    Table,
    Text,
    microseconds,
    paragraphs,
    plural,
    ratio,
)
from harness.verdicts import comparing
from harness.verdicts.causes import SAME_CODE, clock, figure, mix
from harness.verdicts.comparing import Comparison, Side
from harness.verdicts.pairing import Match
from harness.verdicts.totals import Rollup

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
_MOST_CAUSES = 6
_MOST_ALIKE = 5
"""Rows that cannot be compared for one reason and are still printed one by one."""
_ORDER = (
    Verdict.SLOWER,
    Verdict.FASTER,
    Verdict.RETUNED,
    Verdict.UNSURE,
    Verdict.SAME,
    Verdict.INCOMPARABLE,
)


def comparison_report(found: Comparison, judged: int, *, everything: bool) -> Report:
    """The whole answer, of ``judged`` rows. Those that are SAME are counted; ``everything`` prints
    them too."""
    return Report(
        lambda: list(_blocks(found, everything, judged)),
        lambda: document(found),
        lambda: [_row_document(row) for row in found.rows],
    )


def chosen(found: Comparison, only: Sequence[str]) -> Comparison:
    """``found`` without what the patterns ``only`` do not choose; verdicts stay as they were given
    among all rows."""
    if not only:
        return found
    return replace(
        found,
        rows=tuple(row for row in found.rows if matches(only, row.match)),
        rollups=tuple(r for r in found.rollups if is_chosen(only, r.name)),
        vanished=tuple(lone for lone in found.vanished if is_chosen(only, lone[0], lone[1].name)),
        appeared=tuple(lone for lone in found.appeared if is_chosen(only, lone[0], lone[1].name)),
    )


def matches(only: Sequence[str], match: Match) -> bool:
    """Whether the patterns ``only`` choose a match."""
    return is_chosen(only, match.graph, match.region, *(k.name for k in (*match.a, *match.b)))


def _blocks(found: Comparison, everything: bool, judged: int) -> Iterator[Block]:
    yield from sides(found.a, found.b, found.notes)
    if len(found.rows) < judged:
        yield Text(f"note: {len(found.rows)} of {judged} rows, judged among all of them")
    alike = Counter[str]() if everything else _alike(found.rows)
    shown = [row for row in found.rows if everything or row.verdict is not Verdict.SAME]
    rows = [_row_document(row) for row in shown if not alike[row.reason]]
    yield from by_graph(_ROWS, rows)
    if alike:
        yield Text()
    for reason, number in alike.items():
        yield Text(f"INCOMPARABLE {number} kernels: {reason}", wrapped=True)
    sums = [r for r in found.rollups if everything or r.verdict is not Verdict.SAME]
    if sums:
        yield Text()
        yield Table(_SUMS, [_rollup_document(rollup) for rollup in sums])
    matched = {row.match.graph for row in found.rows}
    for title, kernels in (("only in A", found.vanished), ("only in B", found.appeared)):
        if kernels:
            yield from (Text(), Text(f"{title}:"))
            yield from (Text(f"  {line}") for line in _unmatched(kernels, matched))
    yield from _machine(found)
    for title, sentences in (("broken in B", found.broken), ("not usable", found.problems)):
        if sentences:
            yield from (Text(), Text(f"{title}:"))
            yield from (Text(f"  {sentence}", wrapped=True) for sentence in sentences)
    yield Text()
    yield from paragraphs(summary(found))


def _machine(found: Comparison) -> Iterator[Block]:
    """Kernels whose code did not change and whose time did."""
    if found.machine:
        yield from (
            Text(),
            Text("the machine: the code of these is the same on both sides, and their times moved"),
            Table(_ROWS, [_row_document(row) for row in found.machine]),
        )


def sides(a: Side, b: Side, notes: Sequence[str]) -> Iterator[Block]:
    """What is compared, and what a reader has to know first."""
    for name, side in (("A", a), ("B", b)):
        origin = "" if side.origin in ("", side.label) else f"  {side.origin}"
        yield Text(f"{name}  {side.label}{origin}")
    yield from paragraphs([f"note: {note}" for note in notes])


def by_graph(
    columns: tuple[Column, ...], rows: Sequence[Row], *, headed: bool = True
) -> list[Block]:
    """A table for every graph."""
    graphs: dict[str, list[Row]] = {}
    for row in rows:
        graphs.setdefault(row["graph"], []).append(row)
    tables = [
        Table(columns, mine, graph or "modules", None, headed) for graph, mine in graphs.items()
    ]
    return [block for table in tables for block in (Text(), table)]


def _unmatched(
    kernels: Sequence[tuple[str, KernelRecord]], matched: Collection[str]
) -> Iterator[str]:
    """A line for each kernel of a graph that both sides have, and one for each other graph."""
    whole = Counter(graph for graph, _ in kernels if graph not in matched)
    for graph, kernel in kernels:
        if graph in matched:
            yield f"{graph}  {_launched(short(kernel.name), kernel.launches)}"
    for graph, number in whole.items():
        yield f"{graph}  all of it, {plural(number, 'kernel')}"


def _alike(rows: Sequence[comparing.Row]) -> Counter[str]:
    """Reasons that so many rows share that one line says it better."""
    count = Counter(row.reason for row in rows if row.reason)
    return Counter({reason: number for reason, number in count.items() if number > _MOST_ALIKE})


def kernels_name(row: Row) -> str:
    """The name of a row's kernels: A's first, and how many became how many."""
    before, after = row["a"], row["b"]
    first = short(before["kernels"][0])
    counts = len(before["kernels"]), len(after["kernels"])
    if row["matched_by"] == "work" and counts != (1, 1):
        return f"{first} … ({counts[0]} → {counts[1]} kernels)"
    return _launched(first, before["launches"][0])


def _launched(name: str, launches: int) -> str:
    return f"{name} ×{launches}" if launches > 1 else name


def verdict_column(key: str, least: int, head: str = "verdict") -> Column:
    """The column of what was found, in its colour."""
    return Column(
        head, lambda row: row[key], least=least, style=lambda row: _STYLES.get(row[key], "")
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
    return NOTHING if row["low"] is None else f"{ratio(row['low'])}–{ratio(row['high'])}"


def _figures(a: Callable[[Row], Any], b: Callable[[Row], Any]) -> tuple[Column, ...]:
    def timed(ms: Callable[[Row], Any]) -> Callable[[Row], str]:
        return lambda row: microseconds(None if row["ratio"] is None else ms(row))

    return (
        Column("A µs", timed(a), right=True, least=8),
        Column("B µs", timed(b), right=True, least=8),
        Column("B÷A", lambda row: ratio(row["ratio"]), right=True, least=6),
        Column("95 % interval", _interval, right=True),
    )


_ROWS = (
    verdict_column("verdict", 12),
    Column("kernel", kernels_name, fit=Fit.SHORTEN),
    *_figures(lambda row: row["a"]["ms"], lambda row: row["b"]["ms"]),
    Column("cause", _why, fit=Fit.BELOW),
)


def _scope(row: Row) -> str:
    low = min(row["covered"])
    share = "" if low > 0.9995 else f" ({100 * low:.0f} % of it)"
    return f"{row['level']} {row['name']}{share}"


_SUMS = (
    verdict_column("verdict", 12),
    Column("sum over", _scope, fit=Fit.SHORTEN),
    Column("kernels", lambda row: str(row["kernels"]), right=True),
    *_figures(lambda row: row["a_ms"], lambda row: row["b_ms"]),
)


def summary(found: Comparison) -> list[str]:
    """The counts, the error rates and where the noise figures come from."""
    lines = [_counts("kernels", [row.verdict for row in found.rows])]
    if found.rollups:
        lines.append(_counts("sums", [rollup.verdict for rollup in found.rollups]))
    if found.vanished or found.appeared:
        lines.append(f"only in A: {len(found.vanished)}, only in B: {len(found.appeared)}")
    if found.noise is None:
        return [*lines, "nothing could be timed on both sides"]
    rules = found.rules
    lines.append(
        f"SLOWER, FASTER: {100 * rules.alpha:g} % chance of any false one in this table (Holm). "
        f"SAME: within ±{100 * rules.margin:g} %, each wrong with at most "
        f"{100 * rules.same_alpha:g} % chance."
    )
    lines.append(_noise(found.noise, paired=found.paired))
    same = [row for row in found.rows if row.identical and row.effect is not None]
    if same and found.noise.shift is not None:
        flagged = len(found.machine)
        lines.append(
            f"{plural(len(same), 'kernel has', 'kernels have')} the same code and "
            f"configuration on both sides: {flagged} of "
            f"them flagged, median B÷A {ratio(2.718281828**found.noise.shift)}"
        )
    unsure = sum(
        row.verdict is Verdict.UNSURE and all(k.module for k in (*row.match.a, *row.match.b))
        for row in found.rows
    )
    if unsure and not found.paired:
        lines.append(
            f"to settle the {unsure} UNSURE: harness confirm {found.a.label} {found.b.label}"
        )
    return lines


def _counts(what: str, verdicts: Iterable[Verdict]) -> str:
    count = Counter(verdicts)
    return f"{what}: " + ", ".join(f"{count[v]} {v.value}" for v in _ORDER if count[v])


def _noise(noise: Noise, *, paired: bool) -> str:
    import numpy as np

    spread = [
        100 * float(noise.prior.variance(np.array([us / 1000]))[0]) ** 0.5 for us in (5.0, 50.0)
    ]
    what = "of the difference within a process" if paired else "between processes"
    where = {
        Source.PROCESSES: f"learnt from {noise.prior.kernels} kernels",
        Source.DEFAULT: "a stated default",
    }[noise.source]
    text = f"noise {what}: {spread[0]:.2g} % at 5 µs, {spread[1]:.2g} % at 50 µs ({where})"
    if noise.session.variance:
        source = (
            f"{noise.session.kernels} identical kernels" if noise.session.kernels else "default"
        )
        text += f"; between runs {100 * noise.session.variance**0.5:.2g} % ({source})"
    return text


def document(found: Comparison) -> dict[str, Any]:
    """The JSON of a comparison (docs/json.md)."""
    rules = ("alpha", "margin", "same_alpha", "level")
    return {
        "a": side_document(found.a),
        "b": side_document(found.b),
        "rules": {name: getattr(found.rules, name) for name in rules},
        "paired": found.paired,
        "slower": found.slower,
        "notes": list(found.notes),
        "problems": list(found.problems),
        "broken": list(found.broken),
        "noise": None if found.noise is None else _noise_document(found.noise),
        "kernels": [_row_document(row) for row in found.rows],
        "rollups": [_rollup_document(rollup) for rollup in found.rollups],
        "vanished": [lone_document(*item) for item in found.vanished],
        "appeared": [lone_document(*item) for item in found.appeared],
    }


def side_document(side: Side) -> dict[str, Any]:
    """The JSON of A or B."""
    run = side.run
    names = ("commit", "dirty", "method", "processes")
    return {
        "name": side.label,
        "origin": side.origin,
        "run": run.id,
        "machine": run.machine.key,
        "driver": run.machine.driver,
        **{name: getattr(run, name) for name in names},
        "pooled": list(side.pool.runs),
    }


def _noise_document(noise: Noise) -> dict[str, Any]:
    return {
        "source": noise.source.value,
        "kernels": noise.prior.kernels,
        "prior_df": noise.prior.df,
        "between_runs": noise.session.variance**0.5,
        "identical_shift": noise.shift,
        "controls": 0 if noise.offset is None else noise.offset.kernels,
        "odd_controls": noise.odd.share,
    }


def match_document(match: Match) -> dict[str, Any]:
    """The JSON of what is compared with what; figures of several kernels are sums or the worst."""
    found: dict[str, Any] = {
        "graph": match.graph,
        "region": match.region,
        "matched_by": match.how,
    }
    for name, kernels in (("a", match.a), ("b", match.b)):
        found[name] = {
            "kernels": [kernel.name for kernel in kernels],
            "launches": [kernel.launches for kernel in kernels],
            "config": [kernel.config for kernel in kernels],
            **{metric.column: figure(kernels, metric) for metric in metrics.by_rank()},
            "mix": mix(kernels),
            "clock_mhz": clock(kernels),
        }
    return found


def _row_document(row: comparing.Row) -> dict[str, Any]:
    match = match_document(row.match)
    for side, ms, processes in zip("ab", (row.a_ms, row.b_ms), row.processes, strict=True):
        match[side] |= {"ms": ms, "processes": processes}
    return {
        "graph": row.match.graph,
        "verdict": row.verdict.value,
        "reason": row.reason,
        "causes": list(row.causes),
        "identical": row.identical,
        "retuned": row.retuned,
        "machine": row.identical and row.moved,
        **match,
        **_effect_document(row.effect),
        "cycles_ratio": row.cycles_ratio,
    }


def _effect_document(effect: Effect | None) -> dict[str, Any]:
    names = ("ratio", "low", "high", "p", "adjusted", "mde", "undetectable")
    keys = {"mde": "detectable", "undetectable": "blind"}
    told = () if effect is None or not effect.unknown else ("mde", "low", "high", "p", "adjusted")
    return {
        keys.get(name, name): None if effect is None or name in told else getattr(effect, name)
        for name in names
    }


def _rollup_document(rollup: Rollup) -> dict[str, Any]:
    names = ("level", "name", "kernels", "a_ms", "b_ms")
    return {
        **{name: getattr(rollup, name) for name in names},
        "covered": list(rollup.covered),
        "verdict": rollup.verdict.value,
        "lone": rollup.lone,
        "work": list(rollup.work),
        "reason": rollup.reason,
        **_effect_document(rollup.effect),
    }


def lone_document(graph: str, kernel: KernelRecord) -> dict[str, Any]:
    """The JSON of a kernel without a partner."""
    names = ("region", "launches", "ms", "bytes")
    return {"graph": graph, "kernel": kernel.name, **{n: getattr(kernel, n) for n in names}}
