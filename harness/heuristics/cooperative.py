"""Candidates of long rows that several programs share, each reading its part more than once.

What a program reads again comes from the cache if all programs that run at once have read less
than the cache holds: a row of 256k columns of bfloat16 is 512 kB, and 132 of them are not in an L2
of 60 MB. ``RSPLIT`` programs a row then tell each other what they have found, at a barrier in
memory. So all of them must be running at once, or the launch never ends: there are ``PROGRAMS``,
which is one program for every 32 warps that a multiprocessor has room for whatever registers they
take, and they walk over the rows. ``RSPLIT`` = 1 is the ordinary kernel, a program a row.
"""

from __future__ import annotations

from dataclasses import replace

from harness.heuristics import reduction
from harness.heuristics.facts import Config, Facts
from harness.heuristics.limits import (
    MAX_LONG_BLOCK,
    MAX_RSPLIT,
    Proposal,
    cdiv,
    finish_all,
    last_power_of_two,
    next_power_of_two,
)
from harness.target import Target

RSPLIT, PROGRAMS = "RSPLIT", "PROGRAMS"
_IN_CACHE = 0.28
"""Share of the L2 that rows under way may take: with 17 of 60 MB an RMS norm of 262144 columns runs
at 0.84 of a copy's bandwidth on an H200, with 34 MB at 0.73 and with a row a program at 0.66."""
_LONG = 512 << 10
_WARPS = 32
_MANY_LOADS = 4


def candidates(facts: Facts, target: Target) -> tuple[Config, ...]:
    """Rows shared as far as the cache or the number of rows asks for, and rows that are not."""
    alone = finish_all(facts, reduction.proposals(facts, target), target)
    plain = [_shared(config, 1, target) for config in alone]
    split = rsplit(facts, target)
    part = next_power_of_two(cdiv(facts.reduced, split))
    blocks = [(MAX_LONG_BLOCK, 32), (MAX_LONG_BLOCK // 2, 32), (MAX_LONG_BLOCK // 2, 16)]
    if facts.loads > _MANY_LOADS:
        blocks[:2] = blocks[1::-1]
    wanted = [
        Proposal((("x", 1), ("r0_", min(block, part))), warps=warps, max_warps=_WARPS)
        for block, warps in blocks
    ]
    most, *rest = finish_all(facts, wanted, target)
    splits = [n for n in (split, 2 * split, split // 2) if 1 < n <= MAX_RSPLIT]
    found = [_shared(most, n, target) for n in splits]
    found += [_shared(config, split, target) for config in rest if split > 1]
    first, second = (found, plain) if found and _is_better_shared(facts, target) else (plain, found)
    return tuple(dict.fromkeys((*first[:1], *second[:1], *first[1:], *second[1:])))


def _is_better_shared(facts: Facts, target: Target) -> bool:
    """Whether shared rows come first: there are few, or they are long enough. Online softmaxes wait
    for each other longer than for memory."""
    long = facts.again >= _LONG or facts.again <= 2 * facts.reduced
    return facts.parallel < target.multiprocessors or (long and not facts.side)


def rsplit(facts: Facts, target: Target) -> int:
    """Programs a row, a power of two: enough for the cache to hold what runs at once, and for
    every multiprocessor to have one; each has a block or more."""
    held = _IN_CACHE * target.l2_bytes / target.multiprocessors
    cached = next_power_of_two(int(facts.again / held + 0.999))
    filling = last_power_of_two(target.multiprocessors // facts.parallel)
    most = last_power_of_two(cdiv(facts.reduced, MAX_LONG_BLOCK // 4))
    return min(max(cached, filling), MAX_RSPLIT, most)


def _shared(config: Config, split: int, target: Target) -> Config:
    """``config`` with ``split`` programs a row. A program of 32 warps has at most 64 registers a
    thread, and all of a multiprocessor's; of smaller ones, as many run for certain as there are
    multiprocessors, and no more are started."""
    blocks = (*config.blocks, (RSPLIT, split), (PROGRAMS, target.multiprocessors))
    return replace(config, blocks=blocks)
