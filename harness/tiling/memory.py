"""The memory a plan touches: its parameters, and its accesses for the model of bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import sympy

from harness.dtypes import DType
from harness.ir.affine import UNKNOWN_SIZE, size_hint
from harness.ir.nodes import Axis, Load, Store, addressed, loads
from harness.ir.program import Program, Role
from harness.ir.traffic import Access, distinct_elements
from harness.tiling.passes import loaded_by_segment
from harness.tiling.plan import Argument, ArgumentKind, PlanSegment, Tile


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
