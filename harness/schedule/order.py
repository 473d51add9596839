"""Segments of a kernel: where reduction loops are closed and opened again.

Levels alternate: -1 flat, 0 looped, 1 flat, 2 looped, … What needs a finished reduction is above
it. Pointwise nests sit as close to what uses them as they can, so that no loop computes what only a
later one needs; a full-size value that two loops need and no buffer keeps is computed in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.ir.reach import reached
from harness.schedule.facts import Edge, Facts
from harness.schedule.group import Rejection, SegmentKind
from harness.schedule.space import Candidate, Level, NestView


@dataclass(frozen=True, slots=True)
class Ordered:
    """A segment of a candidate: nest numbers, in program order."""

    kind: SegmentKind
    numbers: tuple[int, ...]


def internal(candidate: Candidate, facts: Facts) -> frozenset[str]:
    """Buffers that only this candidate's nests use and nothing outside needs."""
    written = {b for v in candidate.views for b in v.writes}
    return frozenset(b for b in written if facts.vanishes(b, candidate.members))


def segments(candidate: Candidate, facts: Facts) -> tuple[Ordered, ...]:
    """The candidate's segments in order. A pointwise candidate is one flat segment. Raises nothing:
    whether the order is safe for mutated buffers is ``overwritten_too_early``'s question."""
    if not any(candidate.reduced):
        return (Ordered(SegmentKind.FLAT, tuple(v.number for v in candidate.views)),)
    levels = _levels(candidate, facts)
    inside = internal(candidate, facts)
    across = {v.number for v in candidate.views if v.level is Level.ACROSS}
    found: list[Ordered] = []
    for level in sorted(set(levels.values())):
        numbers = {n for n, at in levels.items() if at == level}
        if level % 2 == 0:
            numbers |= _recomputed(candidate, numbers, inside, facts)
        kind = SegmentKind.LOOP if level % 2 == 0 else SegmentKind.FLAT
        if numbers - across:
            found.append(Ordered(kind, tuple(sorted(numbers - across))))
    if across:
        found.append(Ordered(SegmentKind.ACROSS, tuple(sorted(across))))
    return tuple(found)


def _minimum(first: Level, at: int, second: Level, edge: Edge) -> int:
    """The lowest level of ``second`` if for ``edge`` it comes after ``first`` at level ``at``."""
    if Level.FLAT in (first, second):
        return at + (first is not second)
    return at + 2 if first is Level.REDUCE and edge.reads else at


def _levels(candidate: Candidate, facts: Facts) -> dict[int, int]:
    views = {v.number: v for v in candidate.views}
    levels: dict[int, int] = {}
    for number, view in views.items():
        low = -1 if view.level is Level.FLAT else 0
        for edge in facts.into[number]:
            if edge.first in views:
                first = views[edge.first].level
                low = max(low, _minimum(first, levels[edge.first], view.level, edge))
        levels[number] = low
    return _settle(views, levels, facts)


def _settle(views: dict[int, NestView], levels: dict[int, int], facts: Facts) -> dict[int, int]:
    """Move pointwise nests up to where they are first used."""
    last = max(at for n, at in levels.items() if views[n].level is not Level.FLAT)
    bound: dict[int, int] = {}
    for number in reversed(views):
        view = views[number]
        if number in bound and view.level is not Level.REDUCE:
            levels[number] = max(levels[number], bound[number])
        elif levels[number] < 0:
            levels[number] = last + 1
        for edge in facts.into[number]:
            if edge.first in views:
                flat = [v.level is Level.FLAT for v in (views[edge.first], view)]
                high = levels[number] - (flat[0] != flat[1])
                bound[edge.first] = min(bound.get(edge.first, high), high)
    return levels


def _recomputed(
    candidate: Candidate, numbers: set[int], inside: frozenset[str], facts: Facts
) -> set[int]:
    """Full-size nests of earlier loops whose unsaved values this loop needs."""
    views = {v.number: v for v in candidate.views}

    def needed(number: int) -> Iterator[int]:
        for edge in facts.into[number]:
            known = edge.buffer in inside and edge.first in views
            if known and views[edge.first].level is Level.FULL:
                yield edge.first

    return reached(numbers, needed).keys() - numbers


def overwritten_too_early(candidate: Candidate, facts: Facts) -> Rejection | None:
    """Whether a nest, computed again in a later loop, would read what the kernel has overwritten
    by then."""
    views = {v.number: v for v in candidate.views}
    written: dict[str, int] = {}
    for segment in segments(candidate, facts):
        for number in segment.numbers:
            for name in views[number].reads:
                if number <= written.get(name, -1):
                    again = f"{views[number].nest.name} is needed again in a later loop"
                    return Rejection("mutation hazard", f"{again}, when {name} is overwritten")
            for name in views[number].writes:
                written[name] = max(written.get(name, -1), number)
    return None
