"""Rows that begin or end between the places where vectors lie in memory.

A thread loads 16 bytes at once only where the compiler knows that they start at a multiple of 16
and that a mask takes all of them or none, not in rows of 50257 elements of 16 bits. So a loop over
such rows counts columns from the last multiple of a vector before the row. What a first and a last
vector hold besides the row is loaded, never used or stored: it is in the same page of memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy

from harness.dtypes import DType
from harness.ir.nodes import Load, Store, loads
from harness.ir.reach import gathered
from harness.tiling.ranges import Split

VECTOR = 16
"""Bytes that a thread loads or stores at once (PTX ``ld.global.v4.b32``)."""


@dataclass(frozen=True, slots=True)
class AlignedRows:
    """``start`` is the index of a row's first element, ``vector`` the elements that are accessed at
    once, ``column`` the variable of the loop."""

    start: sympy.Expr
    vector: int
    column: sympy.Symbol

    @property
    def begins(self) -> bool:
        """Whether every row begins at a multiple of a vector."""
        return divides(self.vector, self.start)

    def moved(self, index: sympy.Expr) -> sympy.Expr | None:
        """``index``, counted in columns, if it is at whole vectors: it runs along such rows."""
        rest = sympy.expand(index - self.start - self.column)
        along = self.column in rest.free_symbols or not divides(self.vector, rest)
        return None if along else COLUMN + ROW + rest


COLUMN, ROW = (sympy.Symbol(f"r0_{name}", integer=True) for name in ("column", "row"))
"""What a kernel calls a column counted from ``ROW``, the multiple of a vector before its row."""


def divides(vector: int, index: sympy.Expr) -> bool:
    """Whether ``index`` is a multiple of ``vector`` wherever it is."""
    factors = [t.as_coeff_Mul()[0] for t in sympy.Add.make_args(sympy.expand(index))]
    return all(bool(f.is_Integer) and int(f) % vector == 0 for f in factors)


def aligned_rows(
    stores: Sequence[Store], reduced: Sequence[Split], dtypes: Mapping[str, DType]
) -> AlignedRows | None:
    """How a loop over ``reduced``, one row a program, gets at whole vectors of the tensors with
    most bytes; None where it does so anyway, or cannot: its rows do not lie in one piece."""
    if len(reduced) != 1:
        return None
    column = reduced[0].var
    accesses: list[Load | Store] = [*loads(stores), *stores]
    starts = ((sympy.expand(a.index - column), a) for a in accesses if not a.indirect)
    sizes = gathered((s, dtypes[a.buffer].itemsize) for s, a in starts if not s.has(column))
    if not sizes:
        return None
    start = max(sizes, key=lambda found: (sum(sizes[found]), str(found)))
    rows = AlignedRows(start, VECTOR // min(sizes[start]), column)
    return None if rows.begins and divides(rows.vector, reduced[0].length) else rows
