"""Candidates of scans that several programs share: each scans a block of one row and adds
what the blocks before it came to, which it reads from memory as soon as it is there."""

from __future__ import annotations

from dataclasses import replace

from harness.heuristics import reduction
from harness.heuristics.facts import Config, Facts
from harness.heuristics.limits import LEAST_SCAN_BLOCK, Proposal, finish_all, is_reduction
from harness.target import Target


def candidates(facts: Facts, target: Target) -> tuple[Config, ...]:
    """The candidates of a looped reduction with one row a program and 256 elements or more
    of it (all of it, if it is shorter)."""
    rows = replace(facts, fixed_blocks=_one_row(facts))
    return finish_all(rows, [_scanning(d) for d in reduction.proposals(facts, target)], target)


def _one_row(facts: Facts) -> tuple[tuple[str, int], ...]:
    fixed = dict(facts.fixed_blocks)
    return tuple({**fixed, "XBLOCK": 1}.items())


def _scanning(proposal: Proposal) -> Proposal:
    """``proposal`` for one row: the same elements, all of them along the scan."""
    along = {p: max(LEAST_SCAN_BLOCK, block) for p, block in proposal.blocks if is_reduction(p)}
    blocks = tuple((p, along.get(p, 1)) for p, _ in proposal.blocks)
    return replace(proposal, blocks=blocks)
