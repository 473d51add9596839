"""A program: what one region is once lowered — loop nests over buffers."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy

from harness.dtypes import DType
from harness.ir.nodes import Nest


class Role(enum.Enum):
    """Where a buffer lives relative to the region."""

    INPUT = "input"
    OUTPUT = "output"
    TEMPORARY = "temporary"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A block of memory with a layout.

    ``node`` is the graph value that is read from the buffer (the input's or node's name): every
    buffer holds exactly one, so that plain torch can say what belongs in it; of an input that is
    changed before all reads it is the new one. ``extent`` is the number of elements its storage
    must have (largest offset + 1). ``bound`` is the exclusive bound of an integer input that
    indexes something. ``along``: of a copy for rows to read, the dimension that it has innermost.
    """

    name: str
    dtype: DType
    shape: tuple[sympy.Expr, ...]
    stride: tuple[sympy.Expr, ...]
    role: Role
    node: str
    bound: sympy.Expr | None = None
    along: int | None = None

    @property
    def numel(self) -> sympy.Expr:
        """Number of elements."""
        return sympy.Mul(*self.shape)

    @property
    def extent(self) -> sympy.Expr:
        """Elements the storage must hold: largest offset + 1."""
        return sympy.Add(1, *((n - 1) * s for n, s in zip(self.shape, self.stride, strict=True)))

    @property
    def nbytes(self) -> sympy.Expr:
        """Bytes of the storage."""
        return self.extent * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Program:
    """One region as loop nests.

    ``nests`` are in an order that is valid if run one after another. ``outputs`` are
    buffer names in the region's output order (an output may be an input passed
    through). ``mutated`` names the input buffers that some nest stores to; such
    stores come after every read of the old contents, or before every read of the new ones
    (a nest's own read of the element that it stores is neither). ``many_tiles``: pointwise kernels
    are to have as many tiles as they can. ``likely``: unknown sizes, about as they are in a call.
    """

    name: str
    buffers: tuple[Buffer, ...] = field(repr=False)
    nests: tuple[Nest, ...] = field(repr=False)
    outputs: tuple[str, ...]
    mutated: tuple[str, ...] = ()
    many_tiles: bool = False
    likely: Mapping[sympy.Symbol, int] = field(default_factory=dict)
