"""The configurations of a kernel that somebody wrote by hand."""

from __future__ import annotations

from harness.errors import UsageError
from harness.heuristics.facts import Config, Facts
from harness.target import Target


def candidates(facts: Facts, target: Target) -> tuple[Config, ...]:  # noqa: ARG001 - one signature
    """The author's own list as it is, repeats left out: what its parameters mean, and which
    sizes fit them, only the author knows (``limits.spill_limit`` drops none of them either).

    Raises ``UsageError`` when there are none.
    """
    if not facts.given:
        raise UsageError(
            "a hand-written kernel has no launch configuration",
            got="an empty list",
            expected="at least one configuration: its constexpr parameters, num_warps, num_stages",
            remedy="list one; a kernel without constexpr parameters takes {'num_warps': 4}",
        )
    return tuple(dict.fromkeys(facts.given))
