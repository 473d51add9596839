"""How compilers side by side look: a block of rows per region, and the means of a run."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from harness.measure.peers.names import SUBJECTS
from harness.measure.peers.ratios import Ratio, RollUp, by_region, ratios, roll_up
from harness.records.run import Check, GraphRecord, RegionRecord, Run
from harness.report.output import Column, heading, number, row, width

COLUMNS = (
    Column("region", 0),
    Column("compiler", 16),
    Column("kernels", 7, right=True),
    Column("ms", 8, right=True),
    Column("ratio", 20),
    Column("check", 12, right=True),
)
REASON = 300
"""Characters of a reason that are printed; all of it is in the record."""
LEGEND = (
    "ratio: the compiler's time over ours with its 95 % interval, above 1 ours is faster; *: not "
    "replayed as a CUDA graph, so its host's time is in it. check: relative distance from float64."
)


def region_lines(graph: GraphRecord) -> list[str]:
    """The regions of a graph, one row per compiler, and the graph's means; nothing without
    other compilers."""
    groups = by_region(graph.regions)
    if not groups:
        return []
    known = ratios([graph])
    lines = ["", f"{graph.name}: other compilers", heading(COLUMNS)]
    for group in groups:
        for position, one in enumerate(group):
            found = known.get((one.region, one.compiler))
            lines.extend(_lines(one, found, first=position == 0))
    return [*lines, *(roll_up_line(found) for found in roll_up([graph], known))]


def _lines(one: RegionRecord, found: Ratio | None, *, first: bool) -> list[str]:
    starred = bool(one.reason and one.ms is not None)
    times = "" if one.count == 1 else f" ×{one.count}"
    cells = [
        f"{one.region}{times}" if first else "",
        one.compiler,
        number(one.kernels) if one.compiler in SUBJECTS else "",
        number(one.ms, 4),
        _ratio(found) + ("*" if starred else ""),
        _check(one),
    ]
    lines = [row(COLUMNS, cells)]
    if one.reason:
        lines.append(f"  {one.compiler}: {one.reason[:REASON]}")
    return lines


def _ratio(found: Ratio | None) -> str:
    if found is None:
        return ""
    digits = 3 if found.high < 10 else 1
    value, low, high = (f"{x:.{digits}f}" for x in (found.value, found.low, found.high))
    return f"{value} [{low}, {high}]"


def _check(one: RegionRecord) -> str:
    error = "" if one.max_error is None else f" {one.max_error:.0e}"
    match one.check:
        case Check.PASSED:
            return f"ok{error}"
        case Check.FAILED:
            return f"WRONG{error}"
        case Check.SKIPPED:
            return "–"


def summary_lines(run: Run) -> list[str]:
    """What a run's other compilers come to, one line each; nothing without them."""
    found = roll_up(run.graphs)
    means = [roll_up_line(one) for one in found]
    return [*textwrap.wrap(LEGEND, width(), break_on_hyphens=False), *means] if found else []


def roll_up_line(found: RollUp) -> str:
    """A compiler's mean, and what took no part in it."""
    left_out: Sequence[str] = [f"{count} × {why}" for why, count in found.left_out]
    rest = f"; left out: {', '.join(left_out)}" if left_out else ""
    if found.mean is None:
        return f"{found.compiler}: no region to compare{rest}"
    return (
        f"{found.compiler} over {found.subject}: {_ratio(found.mean)}, geometric mean over "
        f"{found.matched} {'region' if found.matched == 1 else 'regions'}{rest}"
    )
