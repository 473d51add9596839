"""Matrix products with odd sizes, through copies with larger ones.

The libraries' fast kernels for 16-bit matrices need rows that start at multiples of 16 bytes
(cuBLAS's documentation, "Tensor Core Usage"), and sizes to match: rows that are longer than they
have elements are not enough (measured on an H200). A vocabulary of 50257 gives neither. Where that
costs more than copying, the host function copies operands into larger matrices, with zeros behind,
and takes the result out of a larger one.

Measured on an H100: 95 to 143 TFLOP/s with odd rows; on an H200: 94 to 238, and 600 to 800 with
sizes that are multiples of 8 (docs/measurements/limit.md, with what the copies cost).
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
_PRODUCTS = ("aten.mm.default", "aten.addmm.default")

Memory: TypeAlias = "tuple[str, int, int, int]"
"""A matrix wherever it is read: root value, offset, rows, columns."""
Larger: TypeAlias = "tuple[int, int]"
"""Rows and columns."""
Copy: TypeAlias = "tuple[Memory, Larger]"
"""A copy of a matrix and its size."""


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
    """One product. ``copied`` are its operands that are copied first, by position, with the rows
    and columns of the copy; ``result`` are the result's own rows and columns where it is taken out
    of a larger one, ``bias`` the length of an added vector; ``last`` the copies that no later
    product reads."""

    copied: dict[int, tuple[Operand, Larger]]
    result: Larger | None
    bias: int | None = None
    last: tuple[Copy, ...] = ()

    @property
    def copies(self) -> list[Copy]:
        """The copies that it reads."""
        return [(operand.memory, size) for operand, size in self.copied.values()]


def row_length(columns: int, itemsize: int) -> int:
    """``columns`` rounded up to rows of whole 16 bytes, in elements."""
    step = _ALIGNED_BYTES // itemsize
    return -(-columns // step) * step


def products(plan: ViewPlan) -> dict[str, Product]:
    """The products of a partition that are worth it, by the name of their result."""
    types = plan.partition.graph.types()
    calls = [s.node for s in plan.partition.steps if isinstance(s, HostCall)]
    found: dict[str, Product] = {}
    already: set[Copy] = set()
    for node in calls:
        if node.op in _PRODUCTS:
            made = _product(node, types, plan, already)
            if made is not None:
                found[node.name] = made
                already.update(made.copies)
    last = last_uses([one.copies for one in found.values()])
    pairs = zip(found.items(), last, strict=True)
    return {name: replace(one, last=tuple(copies)) for (name, one), copies in pairs}


def _product(
    node: Node, types: Mapping[str, object], plan: ViewPlan, already: set[Copy]
) -> Product | None:
    """``node`` if it gains from copies; ``already`` are copies that exist anyhow."""
    result = known_layout(node.type)
    if result is None or not isinstance(node.type, TensorType) or not node.type.dtype.is_float:
        return None
    size = node.type.dtype.itemsize
    names = [arg.name for arg in node.args if isinstance(arg, Ref)]
    first, second = (_operand(name, types, plan) for name in names[-2:])
    if size != 2 or first is None or second is None or node.kwargs:
        return None
    (m, n), stride = result
    added = len(names) == 3
    if stride != (n, 1) or (added and known_layout(types[names[0]]) != ((n,), (1,))):
        return None
    k = first.rows if first.turned else first.columns
    large = {m: m, n: n, k: k}
    large |= {d: row_length(d, size) for d in (first.columns, second.columns, n)}
    copied = {
        place: (operand, (large[operand.rows], large[operand.columns]))
        for place, operand in enumerate((first, second), len(names) - 2)
        if (large[operand.rows], large[operand.columns]) != (operand.rows, operand.columns)
    }
    bias = large[n] if added and large[n] != n else None
    made = Product(copied, (m, n) if (large[m], large[n]) != (m, n) else None, bias)
    moved = sum(2 * size * rows * columns for _, (rows, columns) in {*made.copies} - already)
    moved += 2 * size * m * n if large[n] != n else 0
    gained = 2 * m * n * k * (1 / _SLOW - 1 / _FAST)
    return made if copied and gained >= _WORTH * moved / _COPIED else None


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
