"""Lowered tensors: what a graph value is while its region is being lowered.

A lowered tensor is a value over the canonical variables ``i0`` … ``i{rank-1}``, one per dimension;
a dimension of size one never occurs in it. A tensor that has been given a buffer is simply the load
of that buffer, so views need no case of their own: they read another tensor at other indices.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from harness.dtypes import DType
from harness.ir.index import Mod, axis_symbol
from harness.ir.nodes import StoreMode, Value

Shape = tuple[sympy.Expr, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value for every index. ``dtype`` is the graph's type (may be 16-bit); ``value``
    has the compute type that belongs to it. ``over``: the same as what is written over another
    tensor, which is less to do where that one may be changed."""

    shape: Shape
    dtype: DType
    value: Value
    over: Scattered | None = None

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class Reduced:
    """The result of a reduction: ``value`` contains ``Reduce`` nodes over ``r0`` …, whose sizes are
    ``rsizes``. It always becomes a buffer."""

    value: Value
    rsizes: Shape


@dataclass(frozen=True, slots=True)
class Scattered:
    """A tensor made in two nests on one buffer: ``initial`` everywhere, then for every
    point of ``points`` the value ``value`` at ``target`` (one index per dimension)."""

    initial: Tensor
    points: Shape
    target: tuple[sympy.Expr, ...]
    value: Value
    mode: StoreMode


@dataclass(frozen=True, slots=True)
class Scanned:
    """The result of a scan or a sort along dimension ``dim``: ``value`` is over the variables of
    the other dimensions and ``r0``, which runs over ``size`` points; the tensor holds those from
    ``start`` on, the last one first if ``backward``. It always becomes a buffer."""

    shape: Shape
    value: Value
    dim: int
    size: sympy.Expr
    start: int = 0
    backward: bool = False

    @property
    def whole(self) -> bool:
        """Whether every point is in the tensor."""
        return self.shape[self.dim] == self.size


Result = Tensor | Reduced | Scattered | Scanned
Lowered = Result | tuple[Result | None, ...]
"""What lowering one node yields: one result, or one for every ``getitem``."""


def is_one(size: sympy.Expr) -> bool:
    """Whether a size is the constant one."""
    return size is sympy.S.One


def canonical(shape: Shape, prefix: str = "i") -> tuple[sympy.Expr, ...]:
    """The index of a tensor of ``shape``: ``i0``, ``i1``, … (of what is reduced ``r0``, ``r1``, …)
    with 0 for a size of one."""
    return tuple(sympy.S.Zero if is_one(n) else axis_symbol(prefix, k) for k, n in enumerate(shape))


def repeated(source: Shape, shape: Shape) -> tuple[sympy.Expr, ...]:
    """The index into a tensor of ``source`` that is broadcast to ``shape``. A size that is another
    expression than the result's is as large or one, which a launch knows."""
    first = len(shape) - len(source)
    sizes = zip(canonical(shape)[first:], source, shape[first:], strict=True)
    return tuple(i if n == whole else Mod(i, n) for i, n, whole in sizes)


def ranges_of(shape: Shape, rsizes: Shape = ()) -> dict[sympy.Symbol, sympy.Expr]:
    """The size of every canonical variable of a tensor (and of a reduction)."""
    both = ("i", shape), ("r", rsizes)
    return {axis_symbol(p, k): n for p, of in both for k, n in enumerate(of) if not is_one(n)}
