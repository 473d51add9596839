"""What else is different about a kernel or a graph between two points of its history."""

from __future__ import annotations

import json
from typing import Any

from harness.history.changes.series import History, Series
from harness.records.causes import (
    clock_change,
    differ,
    metric_changes,
    setting_changes,
    version_changes,
)
from harness.records.causes import known as is_known
from harness.records.metrics import Scope


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
    found = version_changes(
        *({"torch": run.torch, "triton": run.triton} for run in (before, after))
    )
    return tuple(found) or ("same versions of torch and triton",)


def _of_kernel(old: Any, new: Any) -> tuple[str, ...]:
    found = []
    if differ(old["code"], new["code"]):
        found.append("code")
    if _work(old["kernel"]) != _work(new["kernel"]):
        found.append(f"{_work(old['kernel'])} → {_work(new['kernel'])}")
    found.extend(_configuration(old["config"], new["config"]))
    found += metric_changes(old, new)
    if differ(old["launches"], new["launches"]):
        found.append(f"launches {int(old['launches'])} → {int(new['launches'])}")
    found += clock_change(old["clock_mhz"], new["clock_mhz"])
    if not found:
        known_code = is_known(old["code"]) and is_known(new["code"]) and bool(old["code"])
        found.append("same code and configuration" if known_code else "nothing known")
    return tuple(found)


def _work(name: Any) -> str:
    """A kernel's name without the number that it has among its graph's."""
    return str(name).removeprefix("triton_").rstrip("0123456789").rstrip("_")


def _configuration(old: Any, new: Any) -> list[str]:
    """``XBLOCK 1 → 2`` for each setting that differs."""
    if not differ(old, new):
        return []
    try:
        before, after = json.loads(old), json.loads(new)
    except (TypeError, ValueError):
        return ["configuration"]
    return setting_changes(before, after)


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
    return sum(differ(before[name][column], after[name][column]) for name in both)
