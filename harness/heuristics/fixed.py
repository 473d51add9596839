"""The one configuration of a kernel whose text leaves nothing to choose."""

from __future__ import annotations

from harness.heuristics.facts import Config, Facts
from harness.heuristics.limits import Draft, exactly_one, finish_all
from harness.target import Target


def candidates(facts: Facts, target: Target) -> tuple[Config, ...]:
    """Exactly one: the one given, or the pinned blocks with warps by their product."""
    if facts.given:
        return exactly_one(facts)
    wanted = tuple((prefix, 1024 if prefix == "x" else 1) for prefix, _ in facts.sizes)
    return finish_all(facts, [Draft(wanted)], target)[:1]
