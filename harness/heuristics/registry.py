"""Which rule makes which kernel's candidates: one literal table."""

from __future__ import annotations

from collections.abc import Callable

from harness.heuristics import (
    cooperative,
    fixed,
    foreach,
    persistent,
    pointwise,
    reduction,
    split_scan,
    template,
    user,
)
from harness.heuristics.facts import Config, Facts, Family
from harness.target import Target

Heuristic = Callable[[Facts, Target], tuple[Config, ...]]

RULES: dict[Family, Heuristic] = {
    Family.POINTWISE: pointwise.candidates,
    Family.REDUCTION: reduction.candidates,
    Family.PERSISTENT: persistent.candidates,
    Family.COOPERATIVE: cooperative.candidates,
    Family.SPLIT_SCAN: split_scan.candidates,
    Family.TEMPLATE: template.candidates,
    Family.FIXED: fixed.candidates,
    Family.FOREACH: foreach.candidates,
    Family.USER: user.candidates,
}


def candidates(facts: Facts, target: Target) -> tuple[Config, ...]:
    """Launch configurations worth trying for ``facts`` on ``target``, best guess first.

    Never empty, no repeats, the same for the same arguments. Every block is a power of
    two no larger than its numel rounded up to one, and one block of a kernel holds at
    most 2**20 elements.
    """
    return RULES[facts.family](facts, target)
