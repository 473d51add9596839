"""Candidates of matrix products, and where a sum of products is worth being one. A program adds up
a tile of results by ``tl.dot``: 16-bit factors on tensor cores, float32 ones by fused multiply-adds
that take their operands from shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from harness.heuristics.facts import Facts
from harness.heuristics.limits import LEAST_SIDE, Proposal, cdiv
from harness.target import Target

_PER_BYTE = 4
"""Products for each byte that a kernel moves from which on arithmetic bounds it: a reduction adds
up 0.9e12 products a second on an H200 (docs/measurements/corpus.md), of 4.1e12 bytes read."""
_TILE, _FILLED = 1024, 0.5
"""Results of a small tile, and such tiles for each multiprocessor below which a reduction keeps
more of the device busy (modelled: 38 products a cycle and multiprocessor against 16)."""

_WIDE = ((64, 64, 16, 4, 2), (128, 64, 16, 8, 2), (64, 64, 32, 4, 2), (32, 64, 16, 4, 2))
_NARROW = (
    (128, 128, 64, 8, 3),
    (64, 128, 64, 4, 4),
    (128, 64, 64, 4, 4),
    (64, 64, 64, 4, 4),
    (64, 32, 128, 4, 4),
    (32, 64, 64, 4, 4),
    (128, 256, 64, 8, 3),
)
"""Blocks of y, x and the sum, warps, stages. Several sums of a kernel begin with the same: 2.4 and
3.5 ms on an H200, with eight warps 3.5 and 4.2 (docs/measurements/corpus.md). Where there are few
results, tiles of 64 x 32 and more terms at a time are faster than programs that share a tile's
terms (docs/measurements/limit.md): 9.5 and 11.8 us for 64 x 4096 x 4096."""


def is_worthwhile(sides: Sequence[int], products: int, moved: int, target: Target) -> bool:
    """Whether ``products`` in matrices of these ``sides`` (rows, columns, terms of a sum) are added
    up faster by tiles, where the kernel moves so many bytes. Tiles need 16 along each side."""
    filled = products // sides[2] >= _FILLED * _TILE * target.multiprocessors
    return min(sides) >= LEAST_SIDE and filled and products >= _PER_BYTE * moved


def proposals(facts: Facts, target: Target) -> list[Proposal]:
    """The largest tiles of which every multiprocessor has one first, then those that leave fewest
    without."""
    known = _NARROW if facts.width == 2 else _WIDE
    z, y, x = (facts.size(prefix) for prefix in "zyx")
    tiles = {b: z * cdiv(y, b[0]) * cdiv(x, b[1]) for b in known}
    in_order = sorted(known, key=lambda b: max(0, target.multiprocessors - tiles[b]))
    return [Proposal((("y", y), ("x", x), ("r0_", r)), w, n) for y, x, r, w, n in in_order]
