"""A picture of tunings: every trial of every kernel, as its time over the best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.errors import HarnessError, RecordError
from harness.measure.tuning import KernelTuning

_ORIGINS = {
    "heuristics": ("#0072b2", "candidate"),
    "scaled": ("#009e73", "R block halved"),
    "descent": ("#e69f00", "tried by the search"),
    "pinned": ("#cc79a7", "last run's"),
}
"""Where trials came from: Okabe and Ito's colours, which colour-blind readers can tell apart, and
what they are called."""
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
    drawn: dict[str, Any] = {}
    for row, tuning in enumerate(timed):
        _row(axes, row, tuning, drawn)
    _finish(axes, timed, title, drawn)
    try:
        figure.savefig(path, bbox_inches="tight", dpi=150)
    except OSError as error:
        raise RecordError(
            "the plot could not be written",
            where=str(path),
            got=error.strerror or str(error),
            expected="a folder that may be written, on a disk with space left",
            remedy="name another file with --plot",
        ) from error


def _canvas(rows: int) -> tuple[Any, Any]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise HarnessError(
            "matplotlib is needed to draw and is not installed",
            where="--plot",
            got=str(error),
            expected="matplotlib 3.7 or newer",
            remedy="pip install 'harness[plot]', or leave --plot out",
        ) from error
    figure = Figure(figsize=(9, 1.6 + _ROW_INCHES * rows))
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _row(axes: Any, row: int, tuning: KernelTuning, drawn: dict[str, Any]) -> None:
    best = tuning.best.time if tuning.best and tuning.best.time else 1.0
    axes.axhline(row, color="#eeeeee", linewidth=0.8, zorder=0)
    for origin, (colour, label) in _ORIGINS.items():
        times = [t.time for t in tuning.timed if t.origin.value == origin and t.time]
        places = [min(_FARTHEST, ms / best) for ms in times]
        if places:
            style: dict[str, Any] = {"color": colour, "s": 22, "alpha": 0.75, "linewidths": 0}
            style["zorder"] = 1 if origin == "descent" else 2
            drawn[label] = axes.scatter(places, [row] * len(places), **style)
    first = tuning.first
    if first is not None and first.time:
        ring = {"facecolors": "none", "edgecolors": "black", "s": 70, "linewidths": 1.1}
        at = min(_FARTHEST, first.time / best)
        drawn["heuristics' first choice"] = axes.scatter([at], [row], zorder=3, **ring)
    chosen = next((t for t in tuning.timed if t.config == tuning.chosen), None)
    if chosen is not None and chosen.time:
        at = min(_FARTHEST, chosen.time / best)
        cross = {"marker": "x", "color": "black", "s": 26, "linewidths": 1.2, "zorder": 4}
        drawn["chosen"] = axes.scatter([at], [row], **cross)


def _finish(axes: Any, timed: list[KernelTuning], title: str, drawn: dict[str, Any]) -> None:
    axes.set_yticks(range(len(timed)))
    labels = []
    for t in timed:
        name = t.name.removeprefix("triton_")
        short = name if len(name) <= 44 else f"{name[:28]}…{name[-15:]}"
        time = t.best.time * 1000 if t.best and t.best.time else 0.0
        labels.append(f"{short}  {time:.1f} µs")
    axes.set_yticklabels(labels, fontsize=7)
    axes.set_ylim(-0.7, len(timed) - 0.3)
    axes.set_xscale("log")
    axes.set_xlim(0.985, _FARTHEST * 1.03)
    ticks = [1.0, 1.05, 1.1, 1.2, 1.5, 2.0, _FARTHEST]
    axes.set_xticks(ticks)
    axes.set_xticklabels([f"{t:g}" for t in ticks[:-1]] + [f"≥{_FARTHEST:g}"], fontsize=8)
    axes.minorticks_off()
    axes.grid(axis="x", color="#dddddd", linewidth=0.6, zorder=0)
    axes.set_xlabel("time over the fastest trial of the same kernel", fontsize=8)
    axes.set_title(f"Tuning of {title}", fontsize=10, loc="left")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    below = (0.5, -0.9 / (1.6 + _ROW_INCHES * len(timed)))
    look = {"ncol": 3, "fontsize": 7, "frameon": False, "loc": "upper center"}
    axes.legend(drawn.values(), drawn.keys(), bbox_to_anchor=below, **look)
