"""Which parameters a kernel has, and which memory they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import sympy

from harness.dtypes import DType
from harness.ir.nodes import StoreMode, loads
from harness.ir.program import Program
from harness.tiling.plan import Argument, ArgumentKind, PlanSegment


@dataclass(slots=True)
class _Uses:
    """Buffers in order of first read and first write; ``old`` are those whose contents
    from before the launch matter although the kernel writes them."""

    read: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    last_read: dict[str, int] = field(default_factory=dict)
    old: set[str] = field(default_factory=set)


def _uses(segments: Sequence[PlanSegment]) -> _Uses:
    uses = _Uses()
    for number, segment in enumerate(segments):
        for store in segment.stores:
            for load in loads([store]):
                uses.read.setdefault(load.buffer, number)
                uses.last_read[load.buffer] = number
                if load.buffer not in uses.written:
                    uses.old.add(load.buffer)
            partial = store.mode is StoreMode.ATOMIC_ADD or store.indirect
            if partial and store.buffer not in uses.written:
                uses.old.add(store.buffer)
            uses.written.setdefault(store.buffer, number)
    return uses


def honoured_pairs(
    pairs: Sequence[tuple[str, str]], segments: Sequence[PlanSegment]
) -> tuple[tuple[str, str], ...]:
    """The (output, input) pairs whose memory can really be shared: no later loop reads the
    input again after an earlier one has written the output."""
    uses = _uses(segments)
    return tuple(
        (output, taken)
        for output, taken in pairs
        if output in uses.written
        and uses.last_read.get(taken, -1) <= uses.written[output]
        and taken in uses.read
    )


def arguments(
    program: Program,
    segments: Sequence[PlanSegment],
    internal: frozenset[str],
    pairs: Sequence[tuple[str, str]],
    sizes: Sequence[sympy.Symbol],
) -> tuple[Argument, ...]:
    """Parameters in order: memory that is read and overwritten, memory that is read,
    memory that is written, unknown sizes."""
    uses = _uses(segments)
    dtypes = {b.name: b.dtype for b in program.buffers}
    takers = dict(pairs)
    taken = {source: output for output, source in pairs}
    found: dict[ArgumentKind, list[tuple[str, ...]]] = {
        ArgumentKind.IN_OUT: [],
        ArgumentKind.INPUT: [],
        ArgumentKind.OUTPUT: [],
    }
    for name in (*uses.read, *(w for w in uses.written if w not in uses.read)):
        if name in internal or name in takers:
            continue
        if name in taken:
            found[ArgumentKind.IN_OUT].append((name, taken[name]))
        elif name not in uses.written:
            found[ArgumentKind.INPUT].append((name,))
        elif name in uses.old:
            found[ArgumentKind.IN_OUT].append((name,))
        else:
            found[ArgumentKind.OUTPUT].append((name,))
    result = [
        Argument(f"{kind.value}{number}", kind, dtypes[names[0]], names)
        for kind, lists in found.items()
        for number, names in enumerate(lists)
    ]
    result += [
        Argument(f"ks{n}", ArgumentKind.SIZE, DType.I64, (str(s),)) for n, s in enumerate(sizes)
    ]
    return tuple(result)
