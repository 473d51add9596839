"""What kernels of rows read across memory, a sector for every element, and better along it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import sympy

from harness.heuristics.facts import Hint
from harness.ir.affine import size_hint
from harness.ir.nodes import Load, Masked, values, walk
from harness.ir.ops import LAUNCH
from harness.ir.program import Buffer, Role
from harness.tiling.passes import loaded_by_segment, spared
from harness.tiling.plan import Category, KernelPlan

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
    by_row = plan.category in (Category.PERSISTENT, Category.REDUCTION)
    if not by_row or plan.sizes or plan.facts.hint is Hint.OUTER:
        return {}
    cost, dims = Counter[Buffer](), dict[Buffer, int]()
    rows, row = (size_hint(tile.numel) for tile in plan.tiles)
    for buffer, dim, step, share in _across(plan):
        width = buffer.dtype.itemsize
        more = ACROSS * min(step * width, LINE) // LINE - width
        cost[buffer] += round(more * max(rows, multiprocessors) * row * share)  # others idle
        dims[buffer] = dim
    size = {buffer: size_hint(buffer.numel) * buffer.dtype.itemsize for buffer in dims}
    given = {b: size[b] + MORE * LAUNCH if b.role is Role.INPUT else 0 for b in dims}
    return {b.node: dim for b, dim in dims.items() if cost[b] > WORTH * (size[b] + given[b])}


def _across(plan: KernelPlan) -> Iterator[tuple[Buffer, int, int, float]]:
    """Loads across memory: of which buffer, the dimension that goes along the rows, its step, and
    at which part of the points, several times in a loop that loads it anew."""
    buffers = {b.name: b for b in plan.buffers if b.name not in plan.internal}
    known = {entry.var for tile in plan.tiles for entry in tile.entries}
    masked = [v for v in values(plan.stores) if isinstance(v, Masked)]
    loads = [(v, x) for v in masked for x in walk([v.body]) if isinstance(x, Load)]
    part = {(x.buffer, x.index): 1 - spared(v.mask, plan.tiles) for v, x in loads}
    read = [pair for loaded in loaded_by_segment(plan.segments) for pair in sorted(loaded, key=str)]
    for name, index in read if plan.category is Category.REDUCTION else dict.fromkeys(read):
        buffer, used = buffers[name], index.free_symbols
        beside, along = (
            [e for e in t.entries if e.divisor == 1 and e.var in used] for t in plan.tiles
        )
        step = sympy.Add(*(index.coeff(e.var) for e in along))
        if not step.is_Integer or step < 2 or not used <= known or 0 in buffer.stride:
            continue  # side by side, at computed places, or the same for all of a dimension
        wide = plan.facts.hint is not Hint.INNER and any(index.coeff(e.var) == 1 for e in beside)
        long = [d for d, size in enumerate(buffer.shape) if size_hint(size) >= RUN]
        dims = [d for d in long if buffer.stride[d] == step]
        if dims and not wide and all(size_hint(e.length) >= RUN for e in along):
            yield buffer, dims[0], int(step), part.get((name, index), 1.0)
