"""Candidates of scans in a loop, and of scans whose rows several programs share.

Measured on an H200 over 16 to 8M elements a row: every block costs a wait (for the block before
it in a loop, for those of other programs else), so blocks are as large as they come; 16 elements a
thread are best for both. Scans of columns want narrow blocks, which leave more of them.
"""

from __future__ import annotations

from harness.heuristics.facts import Facts, Hint
from harness.heuristics.limits import Proposal
from harness.target import Target


def looped(facts: Facts, target: Target) -> list[Proposal]:
    """Candidates of scans with one program a block of rows, by their hint."""
    blocks: list[tuple[int, ...]] = [(16, 128, 8), (16, 64, 4), (32, 64, 8), (32, 128, 8)]
    if facts.size("y") > 1 and facts.strided:  # of so few rows that a thread has all of them
        blocks = [(32, 4, 8, 32), (32, 8, 8, 32), (32, 8, 4, 16), (32, 16, 8, 8)]
        if facts.parallel < 2 * 32 * 32 * target.multiprocessors:
            blocks.reverse()
    elif facts.hint in (Hint.INNER, Hint.DEFAULT):
        blocks = [(1, 4096, 8), (1, 2048, 8), (1, 4096, 16), (1, 2048, 4)]
    return [_proposal(*block) for block in blocks]


def split(_: Facts, __: Target) -> list[Proposal]:
    """Candidates of scans with several programs a row."""
    return [_proposal(1, r, warps) for r, warps in ((4096, 8), (4096, 16), (2048, 8), (2048, 4))]


def _proposal(x: int, r: int, warps: int, y: int = 1) -> Proposal:
    return Proposal((("x", x), ("y", y), ("r0_", r)), warps, max_warps=16, grow=False)
