"""How much faster: ratios with their intervals, and means over matched coverage only. Intervals
come from what ``harness compare`` judges with: a region's compilers were interleaved in each
process, so that what a process does to all of them cancels."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.ir.reach import grouped
from harness.measure.peers.jobs import OURS, SUBJECTS
from harness.records.run import Check, GraphRecord, RegionRecord


class Ratio(NamedTuple):
    """A compiler's time over that of what it is compared with (above 1: ours is faster), with
    its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RollUp:
    """A compiler over many regions: the geometric mean of its ratios over the ``matched`` ones,
    where both were timed in the same way and are right. ``left_out`` counts the others by why.
    The interval is an upper bound: it holds however the regions' errors hang together. What they
    are compared with is ``subject``, hand-written kernels among them or not."""

    compiler: str
    mean: Ratio | None
    matched: int
    left_out: tuple[tuple[str, int], ...] = ()
    subject: str = OURS


Key = tuple[str, str]
"""Names of a region and of a compiler."""


def by_region(rows: Iterable[RegionRecord]) -> list[tuple[RegionRecord, ...]]:
    """Rows grouped by region, in their order; what others are compared with comes first."""
    groups = grouped(rows, lambda row: row.region).values()
    return [tuple(sorted(group, key=lambda r: r.compiler not in SUBJECTS)) for group in groups]


def ratios(graphs: Sequence[GraphRecord]) -> dict[Key, Ratio]:
    """Of every region's compilers that have times, over what they are compared with. What is
    known of the spread between processes is learnt from all of them together."""
    pairs: dict[Key, tuple[RegionRecord, RegionRecord]] = {}
    for graph in graphs:
        for group in by_region(graph.regions):
            for other in group:
                if group[0].compiler in SUBJECTS and other.compiler not in SUBJECTS:
                    pairs[other.region, other.compiler] = (group[0], other)
    pairs = {key: pair for key, pair in pairs.items() if all(row.ms for row in pair)}
    if not pairs:
        return {}
    from harness.measure.noise.estimate import Pair, Times, estimate
    from harness.measure.noise.judge import Rules, judge
    from harness.measure.noise.variance import medians

    taken = {}
    for key, rows in pairs.items():
        sides = [{s.process: s.ms for s in row.sets if s.ms} for row in rows]
        if common := sorted(sides[0].keys() & sides[1].keys()):
            taken[key] = [[side[n] for n in common] for side in sides]
    series = [ms for both in taken.values() for side in both for ms in side]
    each = zip(*(column.tolist() for column in medians(series)), strict=True)

    def times(side: Sequence[object]) -> Times:
        return Times(*zip(*itertools.islice(each, len(side)), strict=True))

    found, _ = estimate([Pair(times(a), times(b)) for a, b in taken.values()], paired=True)
    effects = judge(found, Rules())
    return {k: Ratio(e.ratio, e.low, e.high) for k, e in zip(taken, effects, strict=True)}


def roll_up(
    graphs: Sequence[GraphRecord], known: dict[Key, Ratio] | None = None
) -> tuple[RollUp, ...]:
    """Every compiler in ``graphs`` but ours, over all of their regions, each distinct one once;
    ``known`` are the ``ratios`` of the graphs, if the caller has them."""
    groups = [group for graph in graphs for group in by_region(graph.regions)]
    known = ratios(graphs) if known is None else known
    names = dict.fromkeys(
        row.compiler for group in groups for row in group if row.compiler not in SUBJECTS
    )
    return tuple(_roll_up(name, groups, known) for name in names)


def _roll_up(
    name: str, groups: Sequence[tuple[RegionRecord, ...]], known: dict[Key, Ratio]
) -> RollUp:
    found: list[Ratio] = []
    missing: Counter[str] = Counter()
    for group in groups:
        if (other := next((row for row in group if row.compiler == name), None)) is None:
            continue
        why = _left_out(group[0], other)
        one = None if why else known.get((other.region, name))
        if one is None:
            missing[why or "not timed in the same process"] += 1
        else:
            found.append(one)
    subjects = dict.fromkeys(g[0].compiler for g in groups if g[0].compiler in SUBJECTS)
    left_out = tuple(sorted(missing.items()))
    mean = Ratio(*map(statistics.geometric_mean, zip(*found, strict=True))) if found else None
    return RollUp(name, mean, len(found), left_out, " and ".join(subjects) or OURS)


def _left_out(ours: RegionRecord, other: RegionRecord) -> str:
    """Why a pair takes no part in means; empty if it does."""
    if ours.compiler not in SUBJECTS:
        return "nothing to compare with"
    for row in (ours, other):
        who = row.compiler
        if row.ms is None:
            return f"{who} failed"
        if row.check is not Check.PASSED:
            return f"{who} is wrong"
        if row.reason:
            return f"{who} was timed with its host"
    return ""
