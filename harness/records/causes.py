"""What is different about two kernels, as words: facts, no noise. A verdict or a change-point says
that something changed; these say what could have changed it. Both sides are given as they are
known: from a run's records, or from the rows of the index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.records import metrics

CLOCK_STEP = 0.005
"""Relative difference of SM clocks from which it is named. NVIDIA's clocks move in steps of 15 MHz,
0.76 % at the 1,980 MHz of an H100: every step is named, the rounding of a mean is not."""


def metric_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """``registers 32 → 40`` for each metric (by column) known on both sides that differs, in the
    order of their rank."""
    return [
        f"{metric.title} {int(before[metric.column]):,} → {int(after[metric.column]):,}"
        for metric in metrics.by_rank()
        if differ(before.get(metric.column), after.get(metric.column))
    ]


def setting_changes(before: Mapping[str, int] | None, after: Mapping[str, int] | None) -> list[str]:
    """``XBLOCK 1 → 2`` for each setting of two launch configurations that differs."""
    if before is None or after is None:
        return []
    names = dict.fromkeys([*before, *after])
    changed = [name for name in names if before.get(name) != after.get(name)]
    return [f"{name} {before.get(name, '–')} → {after.get(name, '–')}" for name in changed]


def clock_change(before: float | None, after: float | None) -> list[str]:
    """The SM clocks in MHz, if they differ by a step."""
    # What a table does not know is NaN, which is no step either.
    step = before is not None and after is not None and abs(after / before - 1) >= CLOCK_STEP
    return [f"SM clock {before:.0f} → {after:.0f} MHz"] if step else []


def version_changes(
    before: Mapping[str, str], after: Mapping[str, str], *, unknown: str = "?"
) -> list[str]:
    """``triton 3.6.0 → 3.7.0`` for each library whose version differs."""
    return [
        f"{name} {version or unknown} → {after[name] or unknown}"
        for name, version in before.items()
        if version != after[name]
    ]


def known(value: Any) -> bool:
    """Whether a figure, or a cell of a table, says anything: neither None nor NaN."""
    return value is not None and value == value


def differ(before: Any, after: Any) -> bool:
    """Whether both are known and not the same."""
    return known(before) and known(after) and bool(before != after)
