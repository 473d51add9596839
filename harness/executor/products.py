"""Matrix products whose rows start at odd addresses, through copies whose rows do not.

The libraries' fast kernels for 16-bit matrices need rows that start at multiples of 16 bytes
(cuBLAS's documentation, "Tensor Core Usage"). A vocabulary of 50257 gives none. Where that
costs more than copying, the host function copies operands into memory with longer rows, and
has the result written to such memory.

Measured on an H100: 95 to 143 TFLOP/s with odd rows. The other two figures below are
assumptions; what the copies gave in all is in docs/measurements/backend.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from harness.executor.views import ViewPlan, known_layout
from harness.graph.model import HostCall, Node, Ref, TensorType
from harness.graph.replay import last_uses

_ALIGNED_BYTES = 16
_SLOW, _FAST = 138e12, 600e12
"""Floating-point operations per second with odd and with aligned rows."""
_COPIED = 2.5e12
"""Bytes read and written per second by a copy."""
_WORTH = 1.5
"""How much more than the copies cost must be saved, for the figures are another device's."""
_PRODUCTS = ("aten.mm.default",)

Memory: TypeAlias = "tuple[str, int, int, int]"
"""A matrix wherever it is read: root value, offset, rows, columns."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A matrix in the memory of the value ``root``: ``rows`` of ``columns`` elements one after
    the other, from ``offset`` elements on; ``turned`` if the product reads it transposed."""

    root: str
    offset: int
    rows: int
    columns: int
    turned: bool

    @property
    def memory(self) -> Memory:
        """What is copied: equal for a matrix and its transpose."""
        return (self.root, self.offset, self.rows, self.columns)


@dataclass(frozen=True, slots=True)
class Product:
    """One product. ``copied`` are its operands that are copied first, by position; ``row`` is
    the length of the result's rows in elements if it is written to longer ones; ``last`` the
    copies that no later product reads."""

    copied: dict[int, Operand]
    row: int | None
    last: tuple[Memory, ...] = ()


def row_length(columns: int, itemsize: int) -> int:
    """``columns`` rounded up to rows of whole 16 bytes, in elements."""
    step = _ALIGNED_BYTES // itemsize
    return -(-columns // step) * step


def products(plan: ViewPlan) -> dict[str, Product]:
    """The products of a partition that are worth it, by the name of their result."""
    types = plan.partition.graph.types()
    calls = [s.node for s in plan.partition.steps if isinstance(s, HostCall)]
    found: dict[str, Product] = {}
    already: set[Memory] = set()
    for node in calls:
        if node.op in _PRODUCTS:
            made = _product(node, types, plan, already)
            if made is not None:
                found[node.name] = made
                already.update(operand.memory for operand in made.copied.values())
    last = last_uses([[o.memory for o in one.copied.values()] for one in found.values()])
    pairs = zip(found.items(), last, strict=True)
    return {name: replace(one, last=tuple(copies)) for (name, one), copies in pairs}


def _product(
    node: Node,
    types: Mapping[str, object],
    plan: ViewPlan,
    already: set[Memory],
) -> Product | None:
    """``node`` if it gains from copies; ``already`` are copies that exist anyhow."""
    result = known_layout(node.type)
    if result is None or not isinstance(node.type, TensorType) or not node.type.dtype.is_float:
        return None
    size = node.type.dtype.itemsize
    operands = [_operand(arg.name, types, plan) for arg in node.args if isinstance(arg, Ref)]
    if size != 2 or len(operands) != 2 or None in operands:
        return None
    copied = {n: o for n, o in enumerate(operands) if o is not None and _odd(o.columns, size)}
    (m, n), (row, last) = result
    odd_result = last == 1 and row == n and _odd(n, size)
    copies = {o.memory for o in copied.values()} - already
    moved = sum(2 * size * rows * columns for _, _, rows, columns in copies)
    moved += 2 * size * m * n if odd_result else 0
    depth = _depth(operands[0])
    gained = 2 * m * n * depth * (1 / _SLOW - 1 / _FAST)
    if not (copied or odd_result) or gained < _WORTH * moved / _COPIED:
        return None
    return Product(copied, row_length(n, size) if odd_result else None)


def _odd(columns: int, itemsize: int) -> bool:
    return columns * itemsize % _ALIGNED_BYTES != 0


def _depth(first: Operand | None) -> int:
    assert first is not None
    return first.rows if first.turned else first.columns


def _operand(name: str, types: Mapping[str, object], plan: ViewPlan) -> Operand | None:
    """A dense matrix in either orientation."""
    layout = known_layout(types[name])
    if layout is None or len(layout[0]) != 2:
        return None
    (m, n), stride = layout
    view = plan.views.get(name)
    root, offset = (name, 0) if view is None else (view.root, view.offset)
    if stride == (n, 1):
        return Operand(root, offset, m, n, turned=False)
    if stride == (1, m):
        return Operand(root, offset, n, m, turned=True)
    return None
