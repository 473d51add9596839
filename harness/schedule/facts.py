"""What fusing must know about a program: users of buffers, and hazards between nests.

Three hazards order two nests on one buffer: a read after a write, a write after a
read (mutated inputs, memory reused in place) and a write after a write (an atomic
scatter after its initialisation, the parts of a concatenation).
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.ir.affine import size_hint
from harness.ir.nodes import buffers_read, buffers_written
from harness.ir.program import Buffer, Program, Role


@dataclass(frozen=True, slots=True)
class Edge:
    """A nest must run after nest number ``first`` because of ``buffer``, which it ``reads`` after
    that one's write, or writes."""

    first: int
    buffer: str
    reads: bool


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """A program, indexed. Sets of nests are bit masks over nest numbers. ``into[n]`` are the edges
    that end at nest ``n``."""

    program: Program
    buffers: dict[str, Buffer]
    readers: dict[str, list[int]]
    writers: dict[str, list[int]]
    into: tuple[tuple[Edge, ...], ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    needed: frozenset[str]

    def users(self, buffer: str) -> int:
        """The nests that read or write ``buffer``."""
        found = {*self.readers.get(buffer, ()), *self.writers.get(buffer, ())}
        return sum(1 << number for number in found)

    def vanishes(self, buffer: str, members: int) -> bool:
        """Whether ``buffer`` need not exist if the nests ``members`` are one kernel."""
        return buffer not in self.needed and not self.users(buffer) & ~members

    def nbytes(self, buffer: str) -> int:
        """Bytes of ``buffer``'s elements (a likely value if sizes are unknown)."""
        facts = self.buffers[buffer]
        return size_hint(facts.numel) * facts.dtype.itemsize


def gather(program: Program) -> Facts:
    """The facts of ``program``. A nest that reads depends on every earlier write of the buffer,
    since several may each write a part; one that writes on every earlier read and write."""
    readers: dict[str, list[int]] = {}
    writers: dict[str, list[int]] = {}
    into: list[tuple[Edge, ...]] = []
    before: list[int] = []
    for number, nest in enumerate(program.nests):
        read, written = buffers_read(nest), buffers_written(nest)
        hazards = [(writers, name, True) for name in read]
        hazards += [(of, name, False) for name in written for of in (readers, writers)]
        found = [Edge(n, name, reads) for of, name, reads in hazards for n in of.get(name, ())]
        into.append(tuple(found))
        before.append(0)
        for edge in found:
            before[number] |= before[edge.first] | 1 << edge.first
        for name in read:
            readers.setdefault(name, []).append(number)
        for name in written:
            writers.setdefault(name, []).append(number)
    needed = frozenset(b.name for b in program.buffers if b.role is not Role.TEMPORARY)
    buffers, edges, after = {b.name: b for b in program.buffers}, tuple(into), [0] * len(into)
    for number in reversed(range(len(into))):
        for edge in into[number]:
            after[edge.first] |= after[number] | 1 << number
    both = tuple(before), tuple(after)
    return Facts(program, buffers, readers, writers, edges, *both, needed)


def bits(mask: int) -> list[int]:
    """Positions of the set bits, ascending."""
    return [k for k, bit in enumerate(reversed(f"{mask:b}")) if bit == "1"]
