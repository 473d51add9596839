"""The memory a plan touches: its parameters, its accesses for the model of bytes, and what kernels
of rows read across memory, a sector for every element, and better along it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import sympy

from harness.dtypes import DType
from harness.heuristics.facts import Hint
from harness.ir.affine import UNKNOWN_SIZE, size_hint
from harness.ir.nodes import Axis, Load, Masked, Store, addressed, loads, values, walk
from harness.ir.ops import LAUNCH
from harness.ir.program import Buffer, Program, Role
from harness.ir.traffic import Access, distinct_elements
from harness.tiling.passes import loaded_by_segment, spared
from harness.tiling.plan import Argument, ArgumentKind, Category, KernelPlan, PlanSegment, Tile

ACROSS, LINE = 20, 128
"""What an element read across costs, in bytes of traffic: one clock of a multiprocessor, if each is
in a line of its own, or the sector from a cache 1.6 times as fast as memory."""
WORTH, MORE = 2, 4
"""How many times the bytes of a copy that has to be, and how many launches' a small kernel is."""
RUN = 32
"""Elements that then lie side by side, at least: with 16 a norm of rows that are read whole took 22
us, not 14."""


def scattered(program: Program, names: Collection[str]) -> frozenset[tuple[str, str]]:
    """Nests and buffers among ``names`` that they write into over what stands there: atomically,
    where an index from memory says, or to a part of what another nest or the caller filled."""
    buffers = {b.name: b for b in program.buffers if b.name in names}
    full = {b.name for b in buffers.values() if b.role is Role.INPUT}
    stores = [(s.buffer, n, s) for n in program.nests for s in n.stores if s.buffer in names]
    written = Counter(name for name, _, _ in stores)
    found: set[tuple[str, str]] = set()
    for name, nest, store in stores:
        if store.mode.is_atomic or store.indirect:
            found.add((nest.name, name))
        elif name in full or written[name] > 1:
            access = Access(buffers[name], store.index, (*nest.axes, *nest.raxes))
            extents = (access.buffer.numel, *(axis.size for axis in access.axes))
            unknown = {size for extent in extents for size in extent.free_symbols}
            places = distinct_elements([access], dict.fromkeys(unknown, UNKNOWN_SIZE))
            if places >= size_hint(access.buffer.numel):
                full.add(name)
            elif name in full:
                found.add((nest.name, name))
    return frozenset(found)


def _uses(segments: Sequence[PlanSegment]) -> tuple[dict[str, int], dict[str, int], set[str]]:
    """Buffers in order of first read and of first write, and those that are read before they are
    written, whose contents from before the launch matter therefore."""
    read, written, old = dict[str, int](), dict[str, int](), set[str]()
    for number, segment in enumerate(segments):
        for store in segment.stores:
            for load in loads([store]):
                read.setdefault(load.buffer, number)
                if load.buffer not in written:
                    old.add(load.buffer)
            written.setdefault(store.buffer, number)
    return read, written, old


def shared_pairs(
    pairs: Sequence[tuple[str, str]], segments: Sequence[PlanSegment]
) -> tuple[tuple[str, str], ...]:
    """The (output, input) pairs whose memory can really be shared: no later loop reads the
    input again after an earlier one has written the output. (What a later loop has of a finished
    reduction is its result.)"""
    (read, written, _), loaded = _uses(segments), enumerate(loaded_by_segment(segments))
    last_read = {buffer: number for number, places in loaded for buffer, _ in places}
    return tuple(
        (output, reused)
        for output, reused in pairs
        if output in written and last_read.get(reused, -1) <= written[output] and reused in read
    )


def arguments(
    program: Program,
    segments: Sequence[PlanSegment],
    internal: frozenset[str],
    pairs: Sequence[tuple[str, str]],
    sizes: Sequence[sympy.Symbol],
    shared: bool,
    kept: frozenset[str],
) -> tuple[Argument, ...]:
    """Parameters in order: memory that is read and overwritten, memory that is read,
    memory that is written, the workspace if programs share rows, unknown sizes. ``kept`` is
    what keeps a part of what it holds."""
    read, written, old = _uses(segments)
    dtypes = {b.name: b.dtype for b in program.buffers}
    reusing = dict(pairs)
    reused = {source: output for output, source in pairs}
    kinds = (ArgumentKind.IN_OUT, ArgumentKind.INPUT, ArgumentKind.OUTPUT)
    found = {kind: list[tuple[str, ...]]() for kind in kinds}
    for name in {**read, **written}:
        if name in internal or name in reusing:
            continue
        names = (name, reused[name]) if name in reused else (name,)
        kind = ArgumentKind.OUTPUT if name in written else ArgumentKind.INPUT
        if name in reused or (name in written and (name in old or name in kept)):
            kind = ArgumentKind.IN_OUT
        found[kind].append(names)
    result = [
        Argument(f"{kind.value}{number}", kind, dtypes[names[0]], names)
        for kind, lists in found.items()
        for number, names in enumerate(lists)
    ]
    if shared:
        result.append(Argument("workspace", ArgumentKind.WORKSPACE, DType.I64, ()))
    result += [
        Argument(f"ks{n}", ArgumentKind.SIZE, DType.I64, (str(s),)) for n, s in enumerate(sizes)
    ]
    return tuple(result)


def accesses(
    program: Program,
    segments: Sequence[PlanSegment],
    internal: frozenset[str],
    tiles: Sequence[Tile],
) -> tuple[list[Access], list[Access]]:
    """Reads and writes of one launch; buffers in ``internal`` have no memory. An atomic
    addition reads what it writes."""
    buffers = {b.name: b for b in program.buffers if b.name not in internal}

    def access(at: Load | Store) -> Access:
        return Access(buffers[at.buffer], at.index, _axes(at, tiles))

    stores = [s for segment in segments for s in segment.stores]
    writes = {s: access(s) for s in stores if s.buffer in buffers}
    reads = [access(load) for load in loads(stores) if load.buffer in buffers]
    return [*reads, *(a for s, a in writes.items() if s.mode.is_atomic)], [*writes.values()]


def _axes(at: Load | Store, tiles: Sequence[Tile]) -> tuple[Axis, ...]:
    """What an access runs over: the entries that its index uses. Where an index comes from memory
    every point may touch another element; entries of one tile overlap, so the tile counts once."""
    used = {symbol for index in addressed(at) for symbol in index.free_symbols}
    if not at.indirect:
        return tuple(Axis(e.var, e.length) for t in tiles for e in t.entries if e.var in used)
    varied = [t for t in tiles if any(e.var in used for e in t.entries)]
    return tuple(Axis(sympy.Symbol(f"{t.prefix}point", integer=True), t.numel) for t in varied)


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
