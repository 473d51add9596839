"""What else is different about a kernel or a graph between two points of its history."""

from __future__ import annotations

import json
from typing import Any

from harness.history.changes.series import History, Series
from harness.records import metrics
from harness.records.metrics import Scope

_CLOCK = 0.01
"""Relative difference of SM clocks from which it is named."""


def causes(known: History, series: Series, before: int, after: int) -> tuple[str, ...]:
    """What changed between the points ``before`` and ``after`` of ``series``."""
    if series.metric.scope is Scope.PEER:
        return _of_peer(known, int(series.runs[before]), int(series.runs[after]))
    if series.kernel:
        frame = known.frame
        old, new = int(series.rows[before]), int(series.rows[after])
        return _of_kernel(frame.iloc[old], frame.iloc[new])
    return _of_graph(known, series.graph, int(series.runs[before]), int(series.runs[after]))


def _of_peer(known: History, old: int, new: int) -> tuple[str, ...]:
    """Another compiler changes with its version, not with our commits."""
    before, after = known.runs[old], known.runs[new]
    pairs = (("torch", before.torch, after.torch), ("triton", before.triton, after.triton))
    found = tuple(f"{name} {a or '?'} → {b or '?'}" for name, a, b in pairs if a != b)
    return found or ("same versions of torch and triton",)


def _of_kernel(old: Any, new: Any) -> tuple[str, ...]:
    found = []
    if _differs(old["code"], new["code"]):
        found.append("code")
    if _work(old["kernel"]) != _work(new["kernel"]):
        found.append(f"{_work(old['kernel'])} → {_work(new['kernel'])}")
    found.extend(_configuration(old["config"], new["config"]))
    figures = [(metric.column, metric.title) for metric in metrics.by_rank()]
    for column, name in (*figures, ("launches", "launches")):
        if _differs(old[column], new[column]):
            found.append(f"{name} {int(old[column])} → {int(new[column])}")
    a, b = old["clock_mhz"], new["clock_mhz"]
    if _known(a) and _known(b) and abs(b / a - 1) > _CLOCK:
        found.append(f"SM clock {a:.0f} → {b:.0f} MHz")
    if not found:
        known_code = _known(old["code"]) and _known(new["code"]) and bool(old["code"])
        found.append("same code and configuration" if known_code else "nothing known")
    return tuple(found)


def _work(name: Any) -> str:
    """A kernel's name without the number that it has among its graph's."""
    return str(name).removeprefix("triton_").rstrip("0123456789").rstrip("_")


def _configuration(old: Any, new: Any) -> list[str]:
    """``XBLOCK 1 → 2`` for each setting that differs."""
    if not _differs(old, new):
        return []
    try:
        before, after = json.loads(old), json.loads(new)
    except (TypeError, ValueError):
        return ["configuration"]
    names = dict.fromkeys((*before, *after))
    return [
        f"{name} {before.get(name, '–')} → {after.get(name, '–')}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def _of_graph(known: History, graph: str, old: int, new: int) -> tuple[str, ...]:
    frame = known.frame
    sides = []
    for run in (old, new):
        rows = frame[(frame["run"] == run) & (frame["graph"] == graph)]
        sides.append({str(row["label"]): row for _, row in rows.iterrows()})
    before, after = sides
    found = []
    both = [name for name in before if name in after]
    counted = (
        ("kernels new", len(after) - len(both)),
        ("kernels gone", len(before) - len(both)),
        ("kernels with other code", _count(before, after, both, "code")),
        ("kernels with another configuration", _count(before, after, both, "config")),
    )
    for what, number in counted:
        if number:
            found.append(f"{number} {what if number > 1 else what.replace('kernels', 'kernel')}")
    if found:
        return tuple(found)
    known_code = both and all(before[name]["code"] and after[name]["code"] for name in both)
    return ("same kernels, code and configurations" if known_code else "nothing known",)


def _count(before: dict[str, Any], after: dict[str, Any], both: list[str], column: str) -> int:
    return sum(_differs(before[name][column], after[name][column]) for name in both)


def _known(value: Any) -> bool:
    return value is not None and value == value


def _differs(old: Any, new: Any) -> bool:
    return _known(old) and _known(new) and bool(old != new)
