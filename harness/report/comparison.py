"""How a comparison looks: the table, the roll-ups, what to read them by, and its JSON."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.measure.noise.judge import Effect, Noise, Source, Verdict
from harness.records import metrics
from harness.records.run import KernelRecord
from harness.report.output import plural, shorten
from harness.verdicts.causes import SAME_CODE, clock, figure, mix
from harness.verdicts.comparing import Comparison, Rollup, Row, Side

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_NARROWEST, _WIDEST, _NOBODY = 80, 200, 100
_ROOMY = 120
"""Columns from which causes stand beside the figures and not below them."""
_COLORS = {
    Verdict.SLOWER: "bold red",
    Verdict.FASTER: "green",
    Verdict.UNSURE: "yellow",
    Verdict.INCOMPARABLE: "magenta",
    Verdict.SAME: "",
}
_FIGURES = (("A µs", 8), ("B µs", 8), ("B÷A", 6), ("95 % interval", 13))
"""Titles and widths of a row's figures."""
_MOST_CAUSES = 6
_MOST_ALIKE = 5
"""Rows that cannot be compared for one reason and are still printed one by one."""
_ORDER = (
    Verdict.SLOWER,
    Verdict.FASTER,
    Verdict.UNSURE,
    Verdict.SAME,
    Verdict.INCOMPARABLE,
)


def console(*, color: bool) -> Console:
    """A console on standard output as wide as the terminal, within reason."""
    from rich.console import Console

    columns = shutil.get_terminal_size((_NOBODY, 24)).columns
    width = max(_NARROWEST, min(_WIDEST, columns))
    return Console(
        file=sys.stdout, width=width, no_color=not color, highlight=False, soft_wrap=False
    )


def print_comparison(found: Comparison, out: Console, *, everything: bool) -> None:
    """The whole answer. Rows that are SAME are counted; ``everything`` prints them too."""
    from rich.text import Text

    def say(line: str = "") -> None:
        out.print(Text(line))

    for name, side in (("A", found.a), ("B", found.b)):
        # A path that is broken into lines can be neither read nor copied.
        out.print(Text(f"{name}  {_side(side.label, side.origin)}"), soft_wrap=True)
    for note in found.notes:
        say(f"note: {note}")
    alike = Counter() if everything else _alike(found.rows)
    shown = [row for row in found.rows if everything or row.verdict is not Verdict.SAME]
    _print_rows([row for row in shown if not alike[row.reason]], out)
    if alike:
        say()
    for reason, number in alike.items():
        say(f"INCOMPARABLE {number} kernels: {reason}")
    rollups = [r for r in found.rollups if everything or r.effect.verdict is not Verdict.SAME]
    _print_rollups(rollups, out)
    matched = {row.match.graph for row in found.rows}
    for title, kernels in (("only in A", found.vanished), ("only in B", found.appeared)):
        if kernels:
            say()
            say(f"{title}, in no sum:")
            for line in _unmatched(kernels, matched):
                say(f"  {line}")
    say()
    for line in summary(found):
        say(line)


def _unmatched(
    kernels: Sequence[tuple[str, KernelRecord]], matched: Collection[str]
) -> Iterator[str]:
    """A line for each kernel of a graph that both sides have, and one for each other graph."""
    whole = Counter(graph for graph, _ in kernels if graph not in matched)
    for graph, kernel in kernels:
        if graph in matched:
            yield f"{graph}  {_short(kernel)}{_launches(kernel)}"
    for graph, number in whole.items():
        yield f"{graph}  all of it, {plural(number, 'kernel')}"


def _alike(rows: Sequence[Row]) -> Counter[str]:
    """Reasons that so many rows share that one line says it better."""
    count = Counter(row.reason for row in rows if row.reason)
    return Counter({reason: number for reason, number in count.items() if number > _MOST_ALIKE})


def _side(label: str, origin: str) -> str:
    return label if not origin or origin == label else f"{label}  {origin}"


def _print_rows(rows: Sequence[Row], out: Console) -> None:
    from rich.text import Text

    by_graph: dict[str, list[Row]] = {}
    for row in rows:
        by_graph.setdefault(row.match.graph, []).append(row)
    for graph, members in by_graph.items():
        out.print()
        out.print(Text(graph or "modules", style="bold"))
        if out.width >= _ROOMY:
            out.print(_table(members, out.width))
        else:
            _print_narrow(members, out)


def _table(rows: Sequence[Row], width: int) -> Table:
    """Causes beside the figures."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), width=width, show_edge=False)
    table.add_column("verdict", no_wrap=True, width=12)
    table.add_column("kernel", no_wrap=True, overflow="ellipsis", ratio=2)
    for title, room in _FIGURES:
        table.add_column(title, justify="right", no_wrap=True, width=room)
    table.add_column("cause", overflow="fold", ratio=3)
    for row in rows:
        verdict = Text(row.verdict.value, style=_COLORS[row.verdict])
        table.add_row(verdict, Text(_name(row)), *_figures(row), Text(_why(row)))
    return table


def _print_narrow(rows: Sequence[Row], out: Console) -> None:
    """Causes below the figures."""
    from rich.text import Text

    room = out.width - 13 - sum(width + 1 for _, width in _FIGURES)
    titles = [title.rjust(width) for title, width in _FIGURES]
    out.print(Text(" ".join(["verdict".ljust(12), "kernel".ljust(room), *titles])))
    for row in rows:
        line = Text(row.verdict.value.ljust(12), style=_COLORS[row.verdict])
        cells = zip(_figures(row), _FIGURES, strict=True)
        figures = [cell.rjust(width) for cell, (_, width) in cells]
        name = shorten(_name(row), room).ljust(room)
        line.append(" " + " ".join([name, *figures]), style="not bold default")
        out.print(line)
        if not (row.identical and row.verdict is Verdict.SAME):
            for text in textwrap.wrap(_why(row), out.width - 13, break_on_hyphens=False):
                out.print(Text(" " * 13 + text, style="dim"))


def _why(row: Row) -> str:
    """The reason or the causes, in as many words as the verdict needs."""
    if row.reason:
        return row.reason
    if row.verdict is Verdict.SAME and row.causes == (SAME_CODE,):
        return "same code and configuration"
    named = row.causes[:_MOST_CAUSES]
    if row.cycles_ratio is not None and any(c.startswith("SM clock") for c in row.causes):
        named = (*named, f"B÷A in cycles {row.cycles_ratio:.3f}")
    more = max(0, len(row.causes) - _MOST_CAUSES)
    return "; ".join((*named, f"{more} more (--json)") if more else named)


def _figures(row: Row) -> list[str]:
    if row.effect is None:
        return ["–"] * 4
    return [_us(row.a_ms), _us(row.b_ms), *_effect(row.effect)]


def _effect(effect: Effect) -> list[str]:
    return [_ratio(effect.ratio), f"{_ratio(effect.low)}–{_ratio(effect.high)}"]


def _ratio(value: float) -> str:
    return f"{value:.3f}" if value < 9.9995 else f"{value:.1f}" if value < 1000 else "1000+"


def _us(ms: float | None) -> str:
    if ms is None:
        return "–"
    return f"{ms * 1000:.2f}" if ms < 0.1 else f"{ms * 1000:.1f}"


def _name(row: Row) -> str:
    first = row.match.a[0]
    if row.match.how == "work" and (len(row.match.a), len(row.match.b)) != (1, 1):
        return f"{_short(first)} … ({len(row.match.a)} → {len(row.match.b)} kernels)"
    return f"{_short(first)}{_launches(first)}"


def _short(kernel: KernelRecord) -> str:
    return kernel.name.removeprefix("triton_")


def _launches(kernel: KernelRecord) -> str:
    return f" ×{kernel.launches}" if kernel.launches > 1 else ""


def _print_rollups(rollups: Sequence[Rollup], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    if not rollups:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), width=out.width, show_edge=False)
    table.add_column("verdict", no_wrap=True, width=12)
    table.add_column("sum over", no_wrap=True, overflow="ellipsis", ratio=1)
    for title, room in (
        ("kernels", 7),
        ("A µs", 8),
        ("B µs", 8),
        ("B÷A", 6),
        ("95 % interval", 13),
    ):
        table.add_column(title, justify="right", no_wrap=True, width=room)
    for rollup in rollups:
        low = min(rollup.covered)
        share = "" if low > 0.9995 else f" ({100 * low:.0f} % of it)"
        table.add_row(
            Text(rollup.effect.verdict.value, style=_COLORS[rollup.effect.verdict]),
            Text(f"{rollup.level} {rollup.name}{share}"),
            str(rollup.kernels),
            _us(rollup.a_ms),
            _us(rollup.b_ms),
            *_effect(rollup.effect),
        )
    out.print()
    out.print(table)


def summary(found: Comparison) -> list[str]:
    """The counts, the error rates and where the noise figures come from."""
    lines = [_counts("kernels", [row.verdict for row in found.rows])]
    if found.rollups:
        lines.append(_counts("sums", [rollup.effect.verdict for rollup in found.rollups]))
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
        flagged = sum(row.verdict in (Verdict.SLOWER, Verdict.FASTER) for row in same)
        lines.append(
            f"{plural(len(same), 'kernel has', 'kernels have')} the same code and "
            f"configuration on both sides: {flagged} of "
            f"them flagged, median B÷A {_ratio(2.718281828**found.noise.shift)}"
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
        Source.IDENTICAL: f"learnt from {noise.prior.kernels} identical kernels",
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
    return {
        "a": side_document(found.a),
        "b": side_document(found.b),
        "rules": {
            "alpha": found.rules.alpha,
            "margin": found.rules.margin,
            "same_alpha": found.rules.same_alpha,
            "level": found.rules.level,
        },
        "paired": found.paired,
        "slower": found.slower,
        "notes": list(found.notes),
        "noise": None if found.noise is None else _noise_document(found.noise),
        "kernels": [_row_document(row) for row in found.rows],
        "rollups": [_rollup_document(rollup) for rollup in found.rollups],
        "vanished": [lone_document(*item) for item in found.vanished],
        "appeared": [lone_document(*item) for item in found.appeared],
    }


def side_document(side: Side) -> dict[str, Any]:
    """The JSON of A or B."""
    run = side.run
    return {
        "name": side.label,
        "origin": side.origin,
        "run": run.id,
        "commit": run.commit,
        "dirty": run.dirty,
        "machine": run.machine.key,
        "driver": run.machine.driver,
        "method": run.method,
        "processes": run.processes,
        "pooled": list(side.pool.runs),
    }


def _noise_document(noise: Noise) -> dict[str, Any]:
    return {
        "source": noise.source.value,
        "kernels": noise.prior.kernels,
        "prior_df": noise.prior.df,
        "between_runs": noise.session.variance**0.5,
        "identical_shift": noise.shift,
    }


def _row_document(row: Row) -> dict[str, Any]:
    return {
        "graph": row.match.graph,
        "region": row.match.region,
        "matched_by": row.match.how,
        "verdict": row.verdict.value,
        "reason": row.reason,
        "causes": list(row.causes),
        "identical": row.identical,
        "a": {**kernels_document(row.match.a), **_times(row.a_ms, row.processes[0])},
        "b": {**kernels_document(row.match.b), **_times(row.b_ms, row.processes[1])},
        **_effect_document(row.effect),
        "cycles_ratio": row.cycles_ratio,
    }


def kernels_document(kernels: Sequence[KernelRecord]) -> dict[str, Any]:
    """The JSON of a match's kernels on one side; figures of several are sums or the worst."""
    return {
        "kernels": [kernel.name for kernel in kernels],
        "launches": [kernel.launches for kernel in kernels],
        "config": [kernel.config for kernel in kernels],
        **{metric.column: figure(kernels, metric) for metric in metrics.by_rank()},
        "mix": mix(kernels),
        "clock_mhz": clock(kernels),
    }


def _times(ms: float | None, processes: int) -> dict[str, Any]:
    return {"ms": ms, "processes": processes}


def _effect_document(effect: Effect | None) -> dict[str, Any]:
    names = ("ratio", "low", "high", "p", "adjusted", "detectable", "blind")
    return {name: None if effect is None else getattr(effect, name) for name in names}


def _rollup_document(rollup: Rollup) -> dict[str, Any]:
    return {
        "level": rollup.level,
        "name": rollup.name,
        "kernels": rollup.kernels,
        "a_ms": rollup.a_ms,
        "b_ms": rollup.b_ms,
        "covered": list(rollup.covered),
        "verdict": rollup.effect.verdict.value,
        **_effect_document(rollup.effect),
    }


def lone_document(graph: str, kernel: KernelRecord) -> dict[str, Any]:
    """The JSON of a kernel without a partner."""
    return {
        "graph": graph,
        "kernel": kernel.name,
        "region": kernel.region,
        "launches": kernel.launches,
        "ms": kernel.ms,
        "bytes": kernel.bytes,
    }
