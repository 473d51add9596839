"""Candidates of long rows that several programs share, each reading its part more than once.

What a program reads again comes from the cache if all programs that run at once have read less
than the cache holds: a row of 256k columns of bfloat16 is 512 kB, and 132 of them are not in an L2
of 60 MB. ``RSPLIT`` programs a row then tell each other what they have found, at a barrier in
memory. So all of them must be running at once, or the launch never ends: there are ``PROGRAMS``,
as many as multiprocessors hold if a thread has no more than 64 registers, which the compiler is
told; and they walk over the rows. ``RSPLIT`` = 1 is the ordinary kernel, a program a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.heuristics import limits
from harness.heuristics.facts import Config, Facts
from harness.target import Target

RSPLIT, PROGRAMS = "RSPLIT", "PROGRAMS"
_IN_CACHE = 0.28
"""Share of the L2 that rows under way may take: with 17 of 60 MB an RMS norm of 262144 columns runs
at 0.84 of a copy's bandwidth on an H200, with 34 MB at 0.73 and with a row a program at 0.66."""
_WARPS = 32
_REGISTERS = 64
_FEW_LOADS, _MANY_LOADS = 2, 4
_LONG, _VERY_LONG = 256 << 10, 1 << 20
"""Bytes of a row, read again, from which on shared rows come first (of several tensors; twice the
first for two tensors or wide ones): a layer norm of 131072 columns 203 -> 182 us."""


def shared(alone: Sequence[Config], facts: Facts, target: Target) -> tuple[Config, ...]:
    """Rows shared as far as the cache or the number of rows asks for, and rows that are not:
    ``alone`` are configurations of an ordinary kernel."""
    plain = [_with(config, 1, target) for config in alone]
    split = rsplit(facts, target)
    if split == 1:
        return tuple(dict.fromkeys(plain))
    wanted = [
        (limits.Proposal((("x", 1), ("r0_", block)), warps=warps, max_warps=_WARPS), n)
        for block, warps, n in _sharings(facts, split)
        if 1 < n <= limits.MAX_RSPLIT
    ]
    together = [_with(limits.finish(facts, proposal, target), n, target) for proposal, n in wanted]
    first, second = (together, plain) if _is_better_shared(facts, target) else (plain, together)
    return tuple(dict.fromkeys((*first[:1], *second[:1], *first[1:], *second[1:])))


def _sharings(facts: Facts, split: int) -> list[tuple[int, int, int]]:
    """Block, warps and RSPLIT as they were fastest on an H200 (docs/measurements/long-rows.md).
    Programs of an online softmax wait for the barrier long enough to want others beside them."""
    blocks = limits.last_power_of_two(facts.reduced // limits.MAX_LONG_BLOCK)
    half = limits.MAX_LONG_BLOCK // 2
    if facts.side:
        return [(2 * half, 8, blocks), (half, 8, blocks), (half, 16, 2 * split), (half, 4, blocks)]
    usual = [(2 * half, 32, split), (2 * half, 32, 2 * split), (half, 32, split)]
    if facts.loads <= _FEW_LOADS or facts.again <= 2 * facts.reduced:
        return [(half, 16, max(split, min(2 * split, 8))), *usual, (2 * half, 8, blocks)]
    if facts.loads > _MANY_LOADS:  # blocks twice as large spill
        return [(half, 32, split // 2), (half, 32, split), (half, 16, split), *usual[:1]]
    return [*usual, (half, 32, split // 2), (half, 16, split)]


def _is_better_shared(facts: Facts, target: Target) -> bool:
    """Whether shared rows come first: there are few, or they are long enough."""
    if facts.parallel < target.multiprocessors or facts.side:
        return True
    narrow = facts.again <= 2 * facts.reduced
    few = facts.loads <= _FEW_LOADS
    least = _LONG if narrow else 2 * _LONG if few else _VERY_LONG
    return facts.again >= least or (few and narrow)


def rsplit(facts: Facts, target: Target) -> int:
    """Programs of 32 warps a row, a power of two: enough for the cache to hold what runs at once,
    and for every multiprocessor to have one; each has a quarter of a block or more."""
    held = _IN_CACHE * target.l2_bytes / target.multiprocessors
    cached = limits.next_power_of_two(int(facts.again / held + 0.999))
    filling = limits.last_power_of_two(target.multiprocessors // facts.parallel)
    most = limits.last_power_of_two(limits.cdiv(facts.reduced, limits.MAX_LONG_BLOCK // 4))
    return min(max(cached, filling), limits.MAX_RSPLIT, most)


def _with(config: Config, split: int, target: Target) -> Config:
    """``config`` with ``split`` programs a row. Programs that wait must all be running."""
    threads = config.num_warps * target.warp_size
    room = max(1, target.registers_per_multiprocessor // (_REGISTERS * threads))
    room = min(room, target.threads_per_multiprocessor // threads)
    programs = target.multiprocessors * (room if split > 1 else 1)
    options = (("maxnreg", _REGISTERS),) if split > 1 and threads < 1024 else ()
    blocks = (*config.blocks, (RSPLIT, split), (PROGRAMS, programs))
    return replace(config, blocks=blocks, options=options)
