"""Candidates of cooperative reductions: several programs reduce one row and meet in memory.

``RSPLIT`` programs take a share of the reduced range each and wait for each other at a
barrier in memory. So all of them must be running at once, or the launch never ends: one
program per multiprocessor is what always is, whatever a program takes of it. The barrier
costs some microseconds, and pays where rows alone would leave most of the device idle.
"""

from __future__ import annotations

import math
from dataclasses import replace

from harness.heuristics import persistent, reduction
from harness.heuristics.facts import Config, Facts, Family, Hint
from harness.heuristics.limits import (
    MAX_RSPLIT,
    block_name,
    cdiv,
    enough_per_thread,
    finish_all,
    is_reduction,
    last_power_of_two,
    next_power_of_two,
)
from harness.target import Target

RSPLIT = "RSPLIT"
_WIDTH = 32
"""Rows a block of a strided reduction is taken to span before its candidates are known."""


def candidates(facts: Facts, target: Target) -> tuple[Config, ...]:
    """Candidates of an ordinary reduction of one program's share, each with the ``RSPLIT``
    that fills the device and no more."""
    width = _WIDTH if facts.hint in (Hint.OUTER, Hint.OUTER_TINY, Hint.MIXED) else 1
    split = _rsplit(facts, cdiv(facts.parallel, width), target)
    share = _share(facts, split)
    # The split fills the device: no need for narrow blocks of rows to do that.
    many = replace(share, sizes=tuple((p, n * (split if p == "x" else 1)) for p, n in share.sizes))
    rule = persistent.proposals if facts.whole else reduction.proposals
    found = finish_all(share, rule(many, target), target)
    return tuple(dict.fromkeys(_split(facts, config, target) for config in found))


def rsplit(rows: int, reduced: int, target: Target) -> int:
    """Programs a row for ``rows`` blocks of rows: a power of two from 1 to 64, for a program
    on every multiprocessor at most, and no more than there are elements to share."""
    room = target.multiprocessors // max(1, rows)
    return min(last_power_of_two(room), MAX_RSPLIT, last_power_of_two(reduced))


def _rsplit(facts: Facts, rows: int, target: Target) -> int:
    """1 where nobody knows how many rows there will be: with more programs than run at once,
    those that run would wait for ever for those that do not."""
    if any(not is_reduction(prefix) for prefix in facts.unknown):
        return 1
    return rsplit(rows, facts.reduced, target)


def _first(facts: Facts) -> str:
    """The reduced tile that is shared out."""
    return next(prefix for prefix, _ in facts.sizes if is_reduction(prefix))


def _share(facts: Facts, split: int) -> Facts:
    """The reduction that one of ``split`` programs does."""
    first = _first(facts)
    sizes = tuple((p, cdiv(n, split) if p == first else n) for p, n in facts.sizes)
    family = Family.PERSISTENT if facts.whole else Family.REDUCTION
    return replace(facts, family=family, sizes=sizes, bytes=facts.bytes)


def _split(facts: Facts, config: Config, target: Target) -> Config:
    """``config`` with the RSPLIT that its blocks of rows leave room for, and a block along the
    reduction no larger than a program's share (as large, if it holds all of it)."""
    blocks = dict(config.blocks)
    parallel = ((block_name(p), n) for p, n in facts.sizes if not is_reduction(p))
    rows = math.prod(cdiv(numel, blocks[name]) for name, numel in parallel)
    split = _rsplit(facts, rows, target)
    first = _first(facts)
    share = next_power_of_two(cdiv(facts.size(first), split))
    name = block_name(first)
    if name not in dict(facts.fixed_blocks):
        blocks[name] = share if facts.whole else min(blocks[name], share)
    warps = enough_per_thread(facts, config.num_warps, math.prod(blocks.values()), target)
    return replace(config, blocks=(*blocks.items(), (RSPLIT, split)), num_warps=warps)
