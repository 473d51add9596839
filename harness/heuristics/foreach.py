"""The configuration of a kernel that does the work of many small ones in one launch.

All parts share their block sizes, and no part's sizes say much about the others': without a
measurement 1024 points, or 32 x 32, or 256 along a reduction, and 8 warps.
"""

from __future__ import annotations

from harness.heuristics.facts import Config, Facts
from harness.heuristics.limits import Draft, exactly_one, finish_all, is_reduction
from harness.target import Target

_REDUCTION = 256


def candidates(facts: Facts, target: Target) -> tuple[Config, ...]:
    """Exactly one: the one given, else the defaults above. ``facts.sizes`` are those of the
    largest part."""
    if facts.given:
        return exactly_one(facts)
    parallel = [prefix for prefix, _ in facts.sizes if not is_reduction(prefix)]
    reduced = [prefix for prefix, _ in facts.sizes if is_reduction(prefix)]
    if reduced:
        wanted = [(p, 1) for p in parallel] + [(p, _REDUCTION) for p in reduced]
    elif len(parallel) == 1:
        wanted = [(parallel[0], 1024)]
    else:
        wanted = [(p, 32 if p in parallel[-2:] else 1) for p in parallel]
    return finish_all(facts, [Draft(tuple(wanted), warps=8)], target)[:1]
