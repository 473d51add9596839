"""What fusing must know about a program: users of buffers, and hazards between nests.

Three hazards order two nests on one buffer: a read after a write, a write after a
read (mutated inputs, memory reused in place) and a write after a write (an atomic
scatter after its initialisation, the parts of a concatenation).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from harness.ir.affine import size_hint
from harness.ir.nodes import buffers_read, buffers_written
from harness.ir.program import Buffer, Program, Role


class Hazard(enum.Enum):
    """Why the second nest must come after the first."""

    READ_AFTER_WRITE = "read after write"
    WRITE_AFTER_READ = "write after read"
    WRITE_AFTER_WRITE = "write after write"


@dataclass(frozen=True, slots=True)
class Edge:
    """Nest number ``second`` must run after nest number ``first`` because of ``buffer``."""

    first: int
    second: int
    buffer: str
    hazard: Hazard


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """A program, indexed. Sets of nests are bit masks over nest numbers. ``into[n]`` are the edges
    that end at nest ``n``."""

    program: Program
    buffers: dict[str, Buffer]
    readers: dict[str, tuple[int, ...]]
    writers: dict[str, tuple[int, ...]]
    into: tuple[tuple[Edge, ...], ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    needed: frozenset[str]

    def users(self, buffer: str) -> int:
        """The nests that read or write ``buffer``."""
        mask = 0
        for number in (*self.readers.get(buffer, ()), *self.writers.get(buffer, ())):
            mask |= 1 << number
        return mask

    def vanishes(self, buffer: str, members: int) -> bool:
        """Whether ``buffer`` need not exist if the nests ``members`` are one kernel."""
        return buffer not in self.needed and not self.users(buffer) & ~members

    def nbytes(self, buffer: str) -> int:
        """Bytes of ``buffer``'s elements (a likely value if sizes are unknown)."""
        facts = self.buffers[buffer]
        return size_hint(facts.numel) * facts.dtype.itemsize


def gather(program: Program) -> Facts:
    """The facts of ``program``."""
    readers: dict[str, list[int]] = {}
    writers: dict[str, list[int]] = {}
    into: list[list[Edge]] = [[] for _ in program.nests]
    before = [0] * len(program.nests)
    reads = [buffers_read(nest) for nest in program.nests]
    writes = [buffers_written(nest) for nest in program.nests]
    for number, (read, written) in enumerate(zip(reads, writes, strict=True)):
        for name in read:
            readers.setdefault(name, []).append(number)
        for name in written:
            writers.setdefault(name, []).append(number)
    for edge in edges(reads, writes):
        into[edge.second].append(edge)
        before[edge.second] |= before[edge.first] | 1 << edge.first
    needed = {b.name for b in program.buffers if b.role is not Role.TEMPORARY}
    return Facts(
        program,
        {b.name: b for b in program.buffers},
        {k: tuple(v) for k, v in readers.items()},
        {k: tuple(v) for k, v in writers.items()},
        tuple(map(tuple, into)),
        tuple(before),
        _after(into),
        frozenset(needed | set(program.outputs) | set(program.mutated)),
    )


def _after(into: list[list[Edge]]) -> tuple[int, ...]:
    after = [0] * len(into)
    for number in reversed(range(len(into))):
        for edge in into[number]:
            after[edge.first] |= after[number] | 1 << number
    return tuple(after)


def bits(mask: int) -> list[int]:
    """Positions of the set bits, ascending."""
    return [k for k, bit in enumerate(reversed(f"{mask:b}")) if bit == "1"]


def edges(reads: Sequence[Sequence[str]], writes: Sequence[Sequence[str]]) -> tuple[Edge, ...]:
    """All hazards between nests that are in a valid order, by (second, first).

    ``reads[n]`` and ``writes[n]`` name the buffers of nest ``n`` (``buffers_read``,
    ``buffers_written``).

    A read depends on every earlier write of its buffer, since several nests may each
    write a part; a write depends on every earlier read and write.
    """
    writers: dict[str, list[int]] = {}
    readers: dict[str, list[int]] = {}
    found: list[Edge] = []
    for number, (read, written) in enumerate(zip(reads, writes, strict=True)):
        for name in read:
            found += [Edge(w, number, name, Hazard.READ_AFTER_WRITE) for w in writers.get(name, ())]
        for name in written:
            found += [Edge(r, number, name, Hazard.WRITE_AFTER_READ) for r in readers.get(name, ())]
            found += [
                Edge(w, number, name, Hazard.WRITE_AFTER_WRITE) for w in writers.get(name, ())
            ]
        for name in read:
            readers.setdefault(name, []).append(number)
        for name in written:
            writers.setdefault(name, []).append(number)
    return tuple(found)
