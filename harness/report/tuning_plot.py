"""A picture of tunings: every trial of every kernel, as its time over the best."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import HarnessError
from harness.files import write_atomically
from harness.measure.tuning import KernelTuning
from harness.records.names import short
from harness.table import shorten

_MARKS: dict[str, tuple[str, dict[str, Any]]] = {
    "descent": ("tried by the search", {"color": "#e69f00", "zorder": 1}),
    "heuristics": ("candidate", {"color": "#0072b2"}),
    "scaled": ("R block halved", {"color": "#009e73"}),
    "pinned": ("last run's", {"color": "#cc79a7"}),
    "first": ("heuristics' first choice", {"facecolors": "none", "edgecolors": "black", "s": 70}),
    "chosen": ("chosen", {"marker": "x", "color": "black"}),
}
"""What a trial is (where it came from, first of all and chosen), what that is called and how it is
drawn: Okabe and Ito's colours, which colour-blind readers can tell apart."""
_FARTHEST = 3.0
"""Slower trials are drawn at the edge: how slow is of no interest."""
_ROW_INCHES = 0.28


def draw(tunings: list[KernelTuning], path: Path, title: str) -> None:
    """One row a kernel, largest regret on top. Raises ``HarnessError`` where nothing was timed
    or matplotlib is missing, ``RecordError`` for a file that cannot be written."""
    timed = sorted((t for t in tunings if t.best is not None), key=lambda t: t.regret or 1.0)
    if not timed:
        raise HarnessError(
            "there is nothing to draw",
            got="no trial with a time",
            expected="at least one kernel that was timed",
            remedy="tune on a machine with a GPU, or show a recorded run with --run",
        )
    figure, axes = _canvas(len(timed))
    points: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for row, tuning in enumerate(timed):
        for mark, over in _marked(tuning):
            points[mark].append((min(_FARTHEST, over), row))
    for mark, (label, style) in _MARKS.items():
        if points[mark]:
            axes.scatter(*zip(*points[mark], strict=True), label=label, **{"s": 24, **style})
    axes.set_yticks(range(len(timed)), [_name(t) for t in timed], fontsize=7)
    axes.set_xscale("log")
    ticks = [1.0, 1.05, 1.1, 1.2, 1.5, 2.0, _FARTHEST]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks[:-1]] + [f"≥{_FARTHEST:g}"], fontsize=8)
    axes.minorticks_off()
    axes.grid(color="#dddddd", linewidth=0.6, zorder=0)
    axes.set_xlabel("time over the fastest trial of the same kernel", fontsize=8)
    axes.set_title(f"Tuning of {title}", fontsize=10, loc="left")
    figure.legend(loc="outside lower center", ncol=3, fontsize=7, frameon=False)
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], bbox_inches="tight", dpi=150)
    write_atomically(path, drawn.getbuffer(), mode=0o644, own=False)


def _canvas(rows: int) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise HarnessError(
            "matplotlib is needed to draw and is not installed",
            where="--plot",
            got=str(error),
            expected="matplotlib 3.7 or newer",
            remedy="pip install 'harness[plot]', or leave --plot out",
        ) from error
    figure = Figure(figsize=(9, 1.6 + _ROW_INCHES * rows), layout="constrained")
    return figure, figure.add_subplot()


def _marked(tuning: KernelTuning) -> Iterator[tuple[str, float]]:
    """What each timed trial is, with its time over the best."""
    best = tuning.best.time if tuning.best and tuning.best.time else 1.0
    for trial in tuning.timed:
        over = (trial.time or best) / best
        yield trial.origin.value, over
        if trial == tuning.first:
            yield "first", over
        if trial.config == tuning.chosen:
            yield "chosen", over


def _name(tuning: KernelTuning) -> str:
    time = tuning.best.time * 1000 if tuning.best and tuning.best.time else 0.0
    return f"{shorten(short(tuning.name), 44)}  {time:.1f} µs"
