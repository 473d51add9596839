"""What kernels of rows read across memory, a sector for every element, and better along it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import sympy

from harness.heuristics.facts import Hint
from harness.ir.affine import affine, positions, size_hint
from harness.ir.nodes import Load, Masked, values, walk
from harness.ir.ops import LAUNCH
from harness.ir.program import Buffer, Role
from harness.tiling.passes import loaded_by_segment, spared
from harness.tiling.plan import Category, KernelPlan, Tile

ACROSS, LINE = 20, 128
"""What an element read across costs, in bytes of traffic: one clock of a multiprocessor, if each is
in a line of its own, or the sector from a cache 1.6 times as fast as memory."""
WORTH, MORE = 2, 4
"""How many times the bytes of a copy that has to be, and how many launches' a small kernel is."""
RUN = 32
"""Elements that then lie side by side, at least: with 16 a norm of rows that are read whole took 22
us, not 14."""


def turned(plan: KernelPlan, multiprocessors: int) -> dict[str, int]:
    """Values of the graph that are worth a copy for this kernel to read, and the dimension that is
    to be the innermost of it: the one that neighbours of a row differ in. A softmax of 384 whose
    mask has images innermost took 584 us on an H200, 221 with the copy; a norm of 4608 of whose
    rows half lie across 207 and 136, sums of images in channels-last order 269 and 82."""
    if plan.category not in (Category.PERSISTENT, Category.REDUCTION) or plan.sizes:
        return {}
    if plan.facts.hint is Hint.OUTER or len(plan.tiles) > 2:
        return {}
    cost, dims = Counter[Buffer](), dict[Buffer, int]()
    rows, row = (size_hint(tile.numel) for tile in plan.tiles)
    points = max(rows, multiprocessors) * row  # as long as the others idle
    for buffer, dim, step, share in _across(plan):
        width = buffer.dtype.itemsize
        more = ACROSS * min(step * width, LINE) // LINE - width
        cost[buffer] += round(more * points * share)
        dims[buffer] = dim
    made = {}
    for buffer, dim in dims.items():
        size = size_hint(buffer.numel) * buffer.dtype.itemsize
        copy = 2 * size + MORE * LAUNCH if buffer.role is Role.INPUT else size
        if cost[buffer] > WORTH * copy:
            made[buffer.node] = dim
    return made


def _across(plan: KernelPlan) -> Iterator[tuple[Buffer, int, int, float]]:
    """Loads across memory: of which buffer, the dimension that goes along the rows, its step, and
    at which part of the points, several times in a loop that loads it anew."""
    buffers = {b.name: b for b in plan.buffers if b.name not in plan.internal}
    known = {entry.var for tile in plan.tiles for entry in tile.entries}
    masked = [v for v in values(plan.stores) if isinstance(v, Masked)]
    loads = [(v, x) for v in masked for x in walk([v.body]) if isinstance(x, Load)]
    part = {(x.buffer, x.index): 1 - spared(v.mask, plan.tiles) for v, x in loads}
    read = [pair for loaded in loaded_by_segment(plan.segments) for pair in sorted(loaded, key=str)]
    for pair in read if plan.category is Category.REDUCTION else dict.fromkeys(read):
        buffer, (beside, along) = buffers[pair[0]], (_step(pair[1], t) for t in plan.tiles)
        wide = plan.facts.hint is not Hint.INNER and beside[0] == 1
        dims = [d for d, step in enumerate(buffer.stride) if step == along[0] and step != 0]
        dims = [d for d in dims if size_hint(buffer.shape[d]) >= RUN]
        whole = all(
            step != 0 or n == 1 for step, n in zip(buffer.stride, buffer.shape, strict=True)
        )
        sparse = along[0].is_Integer and along[0] > 1
        whole &= pair[1].free_symbols <= known
        if len(dims) == 1 and whole and sparse and not wide and along[1] >= RUN:
            yield buffer, dims[0], int(along[0]), part.get(pair, 1.0)


def _step(index: sympy.Expr, tile: Tile) -> tuple[sympy.Expr, int]:
    """How far neighbours in a tile are apart, and how many elements go on like that."""
    inner = [e for e in tile.entries if e.divisor == 1 and e.var in index.free_symbols]
    strides = affine(index, positions(e.var for e in inner)).strides
    length = min((size_hint(e.length) for e in inner), default=1)
    return sympy.Add(*strides), length
