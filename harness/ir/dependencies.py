"""What nests read and write, and which nest must come before which.

Three hazards order two nests on one buffer: a read after a write, a write after a
read (mutated inputs, memory that is taken over) and a write after a write (an atomic
scatter after its initialisation, the parts of a concatenation).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy

from harness.ir.nodes import IndexValue, Load, Nest, Reduce, Store, Value, store_roots, walk


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


def values(stores: Iterable[Store]) -> list[Value]:
    """Every value of ``stores`` once, operands before users."""
    return list(walk(store_roots(stores)))


def loads(stores: Iterable[Store]) -> list[Load]:
    """Every load of ``stores`` once, in evaluation order."""
    return [v for v in values(stores) if isinstance(v, Load)]


def reductions(stores: Iterable[Store]) -> list[Reduce]:
    """Every reduction of ``stores`` once, in evaluation order."""
    return [v for v in values(stores) if isinstance(v, Reduce)]


def index_exprs(stores: Sequence[Store]) -> list[sympy.Expr]:
    """Every index expression of ``stores`` once: what is read and counted, in evaluation
    order, then where it is stored."""
    used = [v.index for v in values(stores) if isinstance(v, Load | IndexValue)]
    return list(dict.fromkeys((*used, *(s.index for s in stores))))


def buffers_read(nest: Nest) -> tuple[str, ...]:
    """Names of the buffers a nest loads from, in order of first use.

    An atomic store also reads what is there; it counts as a write only.
    """
    return tuple(dict.fromkeys(load.buffer for load in loads(nest.stores)))


def buffers_written(nest: Nest) -> tuple[str, ...]:
    """Names of the buffers a nest stores to, in order of first use."""
    return tuple(dict.fromkeys(store.buffer for store in nest.stores))


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
