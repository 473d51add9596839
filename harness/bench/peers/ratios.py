"""How much faster: ratios with their intervals, and means over matched coverage only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.bench.peers.names import SUBJECTS
from harness.bench.record import Check, GraphRecord, RegionRecord

_NORMAL_95 = 1.959964
"""Half width of a 95 % interval in standard errors."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A compiler's time over that of what it is compared with (above 1: ours is faster), with
    its 95 % interval where both times have one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class RollUp:
    """A compiler over many regions: the geometric mean of its ratios over the ``matched`` ones,
    where both were timed in the same way and are right. ``left_out`` counts the others by why."""

    compiler: str
    mean: Ratio | None
    matched: int
    left_out: tuple[tuple[str, int], ...] = ()


def by_region(rows: Iterable[RegionRecord]) -> list[tuple[RegionRecord, ...]]:
    """Rows grouped by region, in their order; what others are compared with comes first."""
    groups: dict[str, list[RegionRecord]] = {}
    for row in rows:
        groups.setdefault(row.region, []).append(row)
    return [
        tuple(sorted(group, key=lambda r: r.compiler not in SUBJECTS)) for group in groups.values()
    ]


def ratio(ours: RegionRecord, other: RegionRecord) -> Ratio | None:
    """``other`` over ``ours``; None where one of them has no time."""
    if not ours.ms or not other.ms:
        return None
    value = other.ms / ours.ms
    errors = [_relative_error(row) for row in (ours, other)]
    if None in errors:
        return Ratio(value)
    spread = math.exp(_NORMAL_95 * math.hypot(*(e for e in errors if e is not None)))
    return Ratio(value, value / spread, value * spread)


def _relative_error(row: RegionRecord) -> float | None:
    """Standard error of the logarithm of a row's time."""
    if not row.low or not row.high:
        return None
    return math.log(row.high / row.low) / (2 * _NORMAL_95)


def roll_up(graphs: Sequence[GraphRecord]) -> tuple[RollUp, ...]:
    """Every compiler in ``graphs`` but ours, over all of their regions, each distinct one once."""
    groups = [group for graph in graphs for group in by_region(graph.regions)]
    names = dict.fromkeys(
        row.compiler for group in groups for row in group if row.compiler not in SUBJECTS
    )
    return tuple(_roll_up(name, groups) for name in names)


def _roll_up(name: str, groups: Sequence[tuple[RegionRecord, ...]]) -> RollUp:
    found: list[Ratio] = []
    missing: Counter[str] = Counter()
    for group in groups:
        other = next((row for row in group if row.compiler == name), None)
        if other is None:
            continue
        ours = group[0]
        why = _left_out(ours, other)
        one = None if why else ratio(ours, other)
        if one is None:
            missing[why or "not timed"] += 1
        else:
            found.append(one)
    return RollUp(name, _geometric_mean(found), len(found), tuple(sorted(missing.items())))


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


def _geometric_mean(ratios: Sequence[Ratio]) -> Ratio | None:
    """The mean, and its interval from those of the ratios, which are independent."""
    if not ratios:
        return None
    count = len(ratios)
    mean = math.exp(math.fsum(math.log(r.value) for r in ratios) / count)
    squares = [math.log(r.high / r.low) ** 2 / 4 for r in ratios if r.low and r.high]
    if len(squares) < count:
        return Ratio(mean)
    spread = math.exp(math.sqrt(math.fsum(squares)) / count)
    return Ratio(mean, mean / spread, mean * spread)
