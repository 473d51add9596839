"""What fusing must know about a program: users of buffers, and hazards between nests.

Three hazards order two nests on one buffer: a read after a write, a write after a
read (mutated inputs, memory reused in place) and a write after a write (an atomic
scatter after its initialisation, the parts of a concatenation).
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.ir.affine import size_hint
from harness.ir.nodes import buffers_read, buffers_written
from harness.ir.program import Program, Role


@dataclass(frozen=True, slots=True)
class Edge:
    """A nest must run after nest number ``first`` because of ``buffer``, which it ``reads`` after
    that one's write, or writes."""

    first: int
    buffer: str
    reads: bool


class Facts:
    """A program, indexed. Sets of nests are bit masks over nest numbers. ``into[n]`` are the edges
    that end at nest ``n``. A nest that reads depends on every earlier write of the buffer, since
    several may each write a part; one that writes on every earlier read and write."""

    def __init__(self, program: Program) -> None:
        self.program, self.buffers = program, {b.name: b for b in program.buffers}
        temporary = (b.name for b in program.buffers if b.role is Role.TEMPORARY)
        self.needed = self.buffers.keys() - temporary
        self.readers: dict[str, list[int]] = {}
        self.writers: dict[str, list[int]] = {}
        self.into: list[list[Edge]] = []
        self.before, self.after = list[int](), [0] * len(program.nests)
        users = self.readers, self.writers
        for number, nest in enumerate(program.nests):
            read, written = buffers_read(nest), buffers_written(nest)
            hazards = [(self.writers, name, True) for name in read]
            hazards += [(by, name, False) for name in written for by in users]
            found = [Edge(n, name, reads) for by, name, reads in hazards for n in by.get(name, ())]
            self.into.append(found)
            self.before.append(0)
            for edge in found:
                self.before[number] |= self.before[edge.first] | 1 << edge.first
            for name in read:
                self.readers.setdefault(name, []).append(number)
            for name in written:
                self.writers.setdefault(name, []).append(number)
        for number in reversed(range(len(self.into))):
            for edge in self.into[number]:
                self.after[edge.first] |= self.after[number] | 1 << number

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


def bits(mask: int) -> list[int]:
    """Positions of the set bits, ascending."""
    return [k for k, bit in enumerate(reversed(f"{mask:b}")) if bit == "1"]
