"""What charts are drawn from. A history is drawn by ``site.js`` at the size that it has on the
page; a sparkline is small enough to stand in the page as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_SPARK = (104, 24)
"""Size of a sparkline in pixels."""
_MOST = 60
"""Points of a sparkline, the newest."""
_FLAT = 0.02
"""Relative span that is shown at least: noise must not look like a cliff."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A line's points in one environment: ``x`` are positions in the history, ``y`` the values."""

    x: tuple[int, ...]
    y: tuple[float, ...]


def sparkline(values: Sequence[float], style: str = "") -> Markup:
    """The last values as a line of text size, on a logarithmic scale, with a dot at the newest."""
    wide, high = _SPARK
    newest = [value for value in values if value > 0][-_MOST:]
    shown = [math.log(value) for value in newest]
    if len(shown) < 2:
        return Markup("")
    middle, span = (max(shown) + min(shown)) / 2, max(max(shown) - min(shown), _FLAT)
    step = (wide - 8) / (len(shown) - 1)
    points = [
        (3 + n * step, high / 2 - (high - 6) * (value - middle) / span)
        for n, value in enumerate(shown)
    ]
    ends = [math.exp(value) for value in (shown[0], shown[-1])]
    label = f"from {ends[0]:.4g} to {ends[1]:.4g} µs over {len(shown)} commits"
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    x, y = points[-1]
    return Markup(  # numbers of ours, but for the class
        f'<svg class="spark {escape(style)}" viewBox="0 0 {wide} {high}" role="img"'
        f' aria-label="{label}"><path d="M{path}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"/></svg>'
    )
