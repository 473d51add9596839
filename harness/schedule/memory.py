"""Memory of a schedule: launch order, buffers reused in place, the peak. Sizes are likely values
where a size is unknown (``affine.size_hint``); they steer choices and are reported as estimates,
nothing depends on them for being right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.graph.partition.residents import Residents, Traffic, lowest
from harness.ir.affine import size_hint
from harness.ir.nodes import Load, Nest, Store, StoreMode, buffers_read, buffers_written, loads
from harness.ir.program import Buffer, Role
from harness.schedule.facts import Facts, bits
from harness.schedule.group import FusedGroup, Schedule


def traffic(nests: Sequence[Nest], internal: frozenset[str]) -> Traffic:
    """Buffers that ``nests`` read from and write to memory as one kernel. A buffer that
    the kernel writes before reading it counts as read too."""
    reads, writes = (
        dict.fromkeys(b for nest in nests for b in touched(nest) if b not in internal)
        for touched in (buffers_read, buffers_written)
    )
    return Traffic(tuple(reads), tuple(writes))


def launch_order(
    members: Sequence[int], touched: Sequence[Traffic], facts: Facts
) -> tuple[int, ...]:
    """An order of kernels that respects every hazard and keeps the peak low. ``members[k]`` is the
    mask of kernel ``k``'s nests. Two orders are compared: program order, and a greedy one which
    always runs the ready kernel that frees most. The lower peak wins, program order on a tie."""
    owner = {n: kernel for kernel, mask in enumerate(members) for n in bits(mask)}
    before: list[set[int]] = [set() for _ in members]
    for number, edges in enumerate(facts.into):
        before[owner[number]] |= {owner[e.first] for e in edges} - {owner[number]}
    makes = [lambda: _residents(touched, facts)]
    return tuple(lowest(dict(enumerate(before)), lambda kernel: kernel, makes))


def _residents(
    touched: Sequence[Traffic], facts: Facts, reused: Sequence[Mapping[str, str]] | None = None
) -> Residents:
    """Temporaries and outputs in memory while kernels run."""
    sizes = {n: size_hint(b.nbytes) for n, b in facts.buffers.items() if b.role is not Role.INPUT}
    return Residents(touched, sizes, facts.needed, reused)


def reuse_in_place(
    facts: Facts, groups: Sequence[FusedGroup], touched: Sequence[Traffic]
) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Per group, pairs (output, input): the output gets the memory of a temporary that
    this group is the last to use. ``touched`` is each group's traffic.

    Both have one layout and type, and every read of the input is at the point where the
    output is written, by no later nest than the one that writes it: no element is
    overwritten before its last read.
    """
    buffers = facts.buffers
    uses = [(name, n) for n, one in enumerate(touched) for name in (*one.reads, *one.writes)]
    first, last = dict(reversed(uses)), dict(uses)
    found: list[tuple[tuple[str, str], ...]] = []
    for number, (group, one) in enumerate(zip(groups, touched, strict=True)):
        dying = [n for n in one.reads if n not in facts.needed and first[n] < number == last[n]]
        born = [n for n in one.writes if buffers[n].role is not Role.INPUT and first[n] == number]
        found.append(_pairs(group, born, dying, buffers))
    return tuple(found)


def _pairs(
    group: FusedGroup, born: list[str], dying: list[str], buffers: dict[str, Buffer]
) -> tuple[tuple[str, str], ...]:
    pairs: dict[str, str] = {}
    for output in born:
        same = (n for n in dying if _layout(buffers[n]) == _layout(buffers[output]))
        fitting = (n for n in same if n not in pairs.values() and may_overwrite(group, output, n))
        if (name := next(fitting, None)) is not None:
            pairs[output] = name
    return tuple(pairs.items())


def _layout(buffer: Buffer) -> tuple[object, ...]:
    return buffer.dtype, buffer.shape, buffer.stride


def may_overwrite(group: FusedGroup, output: str, name: str) -> bool:
    """Whether ``output`` may overwrite ``name``, of the same type and length, while ``group`` runs:
    every element is read at the point where it is written, by no later nest."""
    nests = [*enumerate(group.nests)]
    written = [(n, s) for n, nest in nests for s in nest.stores if s.buffer == output]
    read = [(n, v) for n, nest in nests for v in loads(nest.stores) if v.buffer == name]
    if any(store.mode is not StoreMode.PLAIN for _, store in written):
        return False
    accesses: list[tuple[int, Load | Store]] = [*written, *read]
    places = {(one.index, one.indirect) for _, one in accesses}
    if len(places) != 1 or any(indirect for _, indirect in places):
        return False
    first_write = min(place for place, _ in written)
    return all(place <= first_write for place, _ in read)


def peak_bytes(schedule: Schedule) -> int:
    """An estimate of what temporaries and outputs need at most at once."""
    touched = [traffic(g.nests, g.internal) for g in schedule.groups]
    reused = [dict(group.in_place) for group in schedule.groups]
    return _residents(touched, Facts(schedule.program), reused).peak_of(range(len(touched)))
