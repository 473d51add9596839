"""Charts as SVG: geometry in Python, colours and fonts in the style sheet, no script needed.

A history is drawn in pixels of its view box. What a reader points at is read from the data beside
it (``site.js``); without scripts the chart is still whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 840, 230
"""Size of a history in pixels; it is scaled to the page."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 22, 26
_SPARK = (104, 24)
_FLAT = 0.02
"""Relative span that a chart shows at least: noise must not look like a cliff."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A line's points in one environment: ``x`` are positions in the history, ``y`` the values."""

    x: tuple[int, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A change of level at position ``x``, which lies in ``low`` to ``high``; ``style`` is a class
    of the style sheet, ``old`` and ``new`` are the levels."""

    x: int
    low: int
    high: int
    old: float
    new: float
    style: str
    text: str


def sparkline(values: Sequence[float], style: str = "") -> Markup:
    """The last values as a line of text size, with a dot at the newest."""
    wide, high = _SPARK
    shown = [value for value in values if value > 0][-60:]
    if len(shown) < 2:
        return Markup("")
    least, most = _span(shown)
    step = (wide - 8) / (len(shown) - 1)
    points = [
        (3 + n * step, high - 3 - (high - 6) * (math.log(v / least) / math.log(most / least)))
        for n, v in enumerate(shown)
    ]
    x, y = points[-1]
    label = f"from {shown[0]:.4g} to {shown[-1]:.4g} µs over {len(shown)} commits"
    return Markup(
        '<svg class="spark {}" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<path d="{}"/><circle cx="{:.1f}" cy="{:.1f}" r="2.6"/></svg>'
    ).format(style, wide, high, label, _path(points), x, y)


def history(
    segments: Sequence[Segment], marks: Sequence[Mark], names: Sequence[str], unit: str = "µs"
) -> Markup:
    """A line over the commits called ``names``, with levels, the bands that a change lies in, and
    a gap where the environment changed."""
    values = [y for segment in segments for y in segment.y]
    if not values:
        return Markup("")
    first = min(segment.x[0] for segment in segments)
    last = max(segment.x[-1] for segment in segments)
    low, high = _span([*values, *(level for mark in marks for level in (mark.old, mark.new))])
    scale = _Scale(first, max(last, first + 1), low, high)
    title = f"{len(values)} points, newest {values[-1]:.4g} {unit}"
    parts = [
        Markup('<svg class="history" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
            WIDTH, HEIGHT, title
        ),
        *_grid(scale, unit),
        *(part for mark in marks for part in _mark(scale, mark)),
    ]
    for n, segment in enumerate(segments):
        points = [(scale.x(x), scale.y(y)) for x, y in zip(segment.x, segment.y, strict=True)]
        if n:
            parts.append(
                Markup('<line class="break" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>').format(
                    points[0][0], _TOP, HEIGHT - _BOTTOM
                )
            )
        style = "line" if n == len(segments) - 1 else "line earlier"
        parts.append(Markup('<path class="{}" d="{}"/>').format(style, _path(points)))
        if len(points) <= _DOTTED:
            parts += [
                Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="2.2"/>').format(*point)
                for point in points
            ]
    for place, anchor in ((first, "start"), (last, "end")):
        parts.append(
            Markup('<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(
                scale.x(place), HEIGHT - 8, anchor, names[place][:10]
            )
        )
    return Markup("").join([*parts, Markup("</svg>")])


_DOTTED = 60
"""Points up to which each is drawn as a dot."""


@dataclass(frozen=True, slots=True)
class _Scale:
    first: int
    last: int
    low: float
    high: float

    def x(self, position: float) -> float:
        share = (position - self.first) / (self.last - self.first)
        return _LEFT + share * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)


def geometry(segments: Sequence[Segment], names: Sequence[str]) -> dict[str, object]:
    """What a script needs to tell which point is pointed at: the points in order, and the scale."""
    ends = [place for segment in segments for place in (segment.x[0], segment.x[-1])]
    return {
        "left": _LEFT,
        "right": WIDTH - _RIGHT,
        "width": WIDTH,
        "first": min(ends),
        "last": max(*ends, min(ends) + 1),
        "x": [x for segment in segments for x in segment.x],
        "y": [float(f"{y:.5g}") for segment in segments for y in segment.y],
        "names": [names[x][:10] for segment in segments for x in segment.x],
    }


def _mark(scale: _Scale, mark: Mark) -> Iterator[Markup]:
    start, end, at = scale.x(mark.low), scale.x(mark.high), scale.x(mark.x)
    yield Markup(
        '<rect class="band {}" x="{:.1f}" y="{}" width="{:.1f}" height="{}">'
        "<title>{}</title></rect>"
    ).format(mark.style, start, _TOP, max(end - start, 2), HEIGHT - _TOP - _BOTTOM, mark.text)
    yield Markup('<path class="level {}" d="{}"/>').format(
        mark.style,
        _path(
            [
                (max(at - 90, _LEFT), scale.y(mark.old)),
                (at, scale.y(mark.old)),
                (at, scale.y(mark.new)),
                (min(at + 90, WIDTH - _RIGHT), scale.y(mark.new)),
            ]
        ),
    )
    anchor = "end" if at > WIDTH - 220 else "start"
    yield Markup('<text class="mark {}" x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(
        mark.style, at, _TOP - 8, anchor, mark.text
    )


def _grid(scale: _Scale, unit: str) -> Iterator[Markup]:
    for value in _ticks(scale.low, scale.high):
        y = scale.y(value)
        yield Markup(
            '<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>'
            '<text x="{3}" y="{4:.1f}" text-anchor="end">{5}</text>'
        ).format(_LEFT, WIDTH - _RIGHT, y, _LEFT - 8, y + 4, f"{value:g}")
    yield Markup('<text x="4" y="{}">{}</text>').format(_TOP - 8, escape(unit))


def _ticks(low: float, high: float) -> list[float]:
    """Three to six round numbers from ``low`` to ``high``."""
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    count = math.floor(high / step) - math.ceil(low / step) + 1
    return [float(f"{(math.ceil(low / step) + n) * step:.6g}") for n in range(count)]


def _span(values: Sequence[float]) -> tuple[float, float]:
    """What an axis covers: all of ``values`` and a little more."""
    low, high = min(values), max(values)
    middle = (low + high) / 2
    least = _FLAT * middle
    if high - low < least:
        low, high = middle - least / 2, middle + least / 2
    margin = 0.06 * (high - low)
    return max(low - margin, low / 2), high + margin


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
