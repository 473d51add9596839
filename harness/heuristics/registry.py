"""Which rule makes which kernel's candidates: one literal table."""

from __future__ import annotations

from collections.abc import Callable

from harness.heuristics import cooperative, mixed, persistent, pointwise, products, reduction
from harness.heuristics.facts import Config, Facts, Family
from harness.heuristics.learned import chosen, config_of, kind_of, trees
from harness.heuristics.limits import Proposal, finish
from harness.target import Target

RULES: dict[Family, Callable[[Facts, Target], list[Proposal]]] = {
    Family.POINTWISE: pointwise.proposals,
    Family.REDUCTION: reduction.proposals,
    Family.PERSISTENT: persistent.proposals,
    Family.COOPERATIVE: reduction.proposals,
    Family.SCAN: reduction.scans,
    Family.SPLIT_SCAN: reduction.scans,
    Family.MIXED: mixed.proposals,
    Family.SPREAD: mixed.proposals,
    Family.TEMPLATE: products.proposals,
}
"""What each family wants, before the rules that hold for every kernel."""


def candidates(facts: Facts, target: Target) -> tuple[Config, ...]:
    """Launch configurations worth trying for ``facts`` on ``target``, the default first: those
    that were fast on kernels like it, then those of the family's rules.

    Never empty, no repeats, the same for the same arguments. Every block is a power of two no
    larger than its numel rounded up to one, and one block of a kernel holds at most 2**20 elements.
    """
    known, rules = learnt(facts, target), by_rules(facts, target)
    return tuple(dict.fromkeys((*known, *rules[:BESIDE]))) if known else rules


def by_rules(facts: Facts, target: Target) -> tuple[Config, ...]:
    """The candidates of the family's rules."""
    proposals = RULES[facts.family](facts, target)
    found = tuple(dict.fromkeys(finish(facts, proposal, target) for proposal in proposals))
    if facts.family is Family.SPREAD:
        return mixed.together(found, facts, target)
    found = tuple(reduction.with_registers(config, facts, target) for config in found)
    return cooperative.shared(found, facts, target) if facts.family is Family.COOPERATIVE else found


def learnt(facts: Facts, target: Target) -> tuple[Config, ...]:
    """Configurations that recorded tunings speak for; nothing for kinds they do not speak of."""
    unlike = {  # blocks so large, such loads, were not among what was learnt from
        Family.REDUCTION: facts.aligned or reduction.has_rules(facts, target),
        Family.POINTWISE: pointwise.has_rules(facts),
        Family.PERSISTENT: persistent.has_half(facts, target),
    }
    tree = trees().get(kind_of(facts))
    if unlike.get(facts.family, True) or tree is None:
        return ()
    further = persistent.filled if facts.family is Family.PERSISTENT else reduction.with_registers
    leaf = chosen(tree, facts, target)
    return tuple(further(config_of(one, facts, target), facts, target) for one in leaf)


BESIDE = 3
"""Candidates of the rules that are timed beside learnt ones: more of them found next to
nothing on the kernels that were learnt from, and every one costs time."""
