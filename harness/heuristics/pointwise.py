"""Candidates of pointwise kernels.

A memory-bound kernel on a Hopper-class device wants some 40 kB of loads in flight per
multiprocessor and 16-byte accesses: 8 elements per thread are one such load of a 16-bit type and
two of a 32-bit type, and 128 threads a block leave 16 blocks per multiprocessor. With many operands
the same bytes come from fewer elements, and 8 of each would only cost registers.
"""

from __future__ import annotations

from harness.heuristics.facts import Facts
from harness.heuristics.limits import Proposal, last_power_of_two
from harness.target import Target

_MANY_BYTES_PER_ELEMENT = 28
_WINDOW = 4
_MANY_COLUMNS = 16
"""Columns that each point copies to their places beside each other, from which on a thread has one
point: 128 columns of 8192 rows took 46 us on an H200 with 32 programs, 24 with 64."""
_MANY_POINTS, _MANY_LOADS = 1 << 20, 7
"""Of a kernel of two tiles, by 77 of the corpus on an H200: its first choice took 1.10 times the
fastest's time with 32 x 64 and 4 warps, which seven kernels of the default suite had taught, and
1.03 with 64 x 32, or 32 x 32 here."""
_FEW_POINTS = _MANY_POINTS // 4
"""The same of which 16 x 32 took 0.82 to 0.99 of the time of the first choice, of seven kernels."""
_ONE_ROW = 12
"""Loads of pieces with rows of their own from which on a block has one row first, if a third of the
row or less lies idle: eight kernels of the corpus took 0.68 to 1.02 of the time of four rows on an
H200, seventeen with fewer loads 0.97 to 1.13."""


def is_window(facts: Facts) -> bool:
    """Whether most loads skip elements, as those of a pooling window with a stride do."""
    return len(facts.sizes) == 1 and facts.strided >= max(_WINDOW, facts.loads // 2)


def has_rules(facts: Facts) -> bool:
    """Whether it is of a kind that recorded tunings had nothing of."""
    columns = len(facts.sizes) == 1 and facts.loads == facts.stores >= _MANY_COLUMNS
    few = len(facts.sizes) == 2 and facts.parallel <= _FEW_POINTS
    return columns or is_window(facts) or facts.pieces or facts.shared or few


def proposals(facts: Facts, _: Target) -> list[Proposal]:
    """Candidates for a pointwise kernel of one tile, two or three."""
    return (_one, _two, _three)[len(facts.sizes) - 1](facts)


def _one(facts: Facts) -> list[Proposal]:
    if facts.pieces:  # in as few pieces as can be, and whole vectors (323 us, not 1003 with 1024)
        return [Proposal((("x", x),), warps=w) for x, w in ((256, 1), (512, 1), (1024, 4))]
    if is_window(facts):
        # Two points a thread: no load is wide, and points side by side in a thread would only
        # spread a warp's loads over more lines of the cache (max-pool 3 x 3, stride 2: 81 us for
        # four). Six kernels of the corpus took 1.14 times the fastest's time with one, 1.03 with
        # two.
        blocks = [(512, 8), (256, 8), (512, 16), (128, 4), (1024, 8)]
        return [Proposal((("x", x),), warps=w, max_warps=16) for x, w in blocks]
    if facts.loads == facts.stores >= _MANY_COLUMNS:
        return [Proposal((("x", x),), warps=w) for x, w in ((64, 2), (128, 4), (32, 1), (256, 8))]
    # 1024, less where that would leave multiprocessors without a block
    base = max(256, min(last_power_of_two(facts.parallel // 512), 1024))
    heavy = facts.bytes / facts.parallel >= _MANY_BYTES_PER_ELEMENT
    # Below 1024 elements a block, latency counts and four warps hide more of it than one.
    blocks = [(base, 8), (base, 4)] if heavy else [(base, 4), (base, 8)]
    blocks.append((base // 2, max(4, base // 128)))
    return [Proposal((("x", x),), warps=w) for x, w in blocks]


def _two(facts: Facts) -> list[Proposal]:
    if facts.shared:
        blocks = [(512, 4, 4), (1024, 4, 8), (256, 4, 2)]
        if facts.loads >= _MANY_LOADS:  # of pieces, and what is alike all along their rows
            blocks = [(256, 4, 4), (1024, 1, 4), (512, 4, 8)]
        if facts.loads >= _ONE_ROW and -facts.sizes[1][1] % 1024 * 3 <= facts.sizes[1][1]:
            blocks = [(1024, 1, 4), (256, 4, 4), (512, 4, 8)]
        if facts.loads == 0 and facts.parallel <= _FEW_POINTS:  # 3.7 us on an H200, not 9.3
            blocks = [(64, 4, 4), (128, 2, 4), (256, 1, 8), (256, 4, 8)]
        if facts.pieces and facts.looked_up:  # 491 and 189 us on an H200, not 787 and 252
            blocks = [(256, 2, 1), (256, 2, 2), (256, 4, 2)]
        return [Proposal((("x", x), ("y", y)), warps=w) for x, y, w in blocks]
    # Smaller where there are few points, or so many loads that registers run out.
    small = facts.parallel < _MANY_POINTS or facts.loads >= _MANY_LOADS
    first = [(32, 32, 4), (64, 32, 4)] if small else [(64, 32, 4), (32, 32, 4)]
    first = [(16, 32, 4), (64, 4, 4)] * (facts.parallel <= _FEW_POINTS) + first
    blocks = [*first, (32, 64, 4), (64, 64, 8), (128, 32, 8), (32, 64, 16)]
    return [Proposal((("x", x), ("y", y)), warps=w, max_warps=16) for x, y, w in blocks]


def _three(facts: Facts) -> list[Proposal]:
    """Runs of 16 elements fill sectors with 16-bit types, too. Sums of tensors in three layouts
    on an H200 (docs/measurements/limit.md): 1.04 times the fastest's time, and 1.003 tuned."""
    narrow = facts.bytes / facts.parallel < 3 * (facts.loads + facts.stores)
    sides = [(16, 16, 32, 8), (32, 16, 16, 8), (16, 16, 16, 16)]
    if narrow:
        sides = [(32, 32, 16, 8), (32, 32, 32, 16), (32, 16, 16, 8)]
    return [Proposal((("x", x), ("y", y), ("z", z)), warps=w, max_warps=16) for x, y, z, w in sides]
