"""Matrix products with odd sizes, through larger matrices.

The libraries' fast kernels for 16-bit matrices need rows that start at multiples of 16 bytes
(cuBLAS's documentation, "Tensor Core Usage"), and sizes to match: rows that are longer than they
have elements are not enough (measured on an H200). A vocabulary of 50257 gives neither. Where that
costs more than copying, operands get zeros behind, and the result is cut out of a larger one; both
are kernels, which fuse with what stands beside them. A result of many rows over a whole vocabulary
is made by products of rows that lie alike (``harness.interleaved_mm``): no copies of it at all.

Measured on an H100: 95 to 143 TFLOP/s with odd rows; on an H200: 94 to 238, and 600 to 800 with
sizes that are multiples of 8 (docs/measurements/limit.md, with what the copies cost).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.utils.checkpoint import CheckpointPolicy

from harness.graph.capture.libraries.calls import called, traced, value
from harness.graph.own_operators import ALIGNED_BYTES, turns

_aten = torch.ops.aten
_SLOW, _FAST = 138e12, 600e12
"""Floating-point operations per second with odd and with aligned rows."""
_COPIED = 2.5e12
"""Bytes read and written per second by a copy."""
_WORTH = 1.5
"""How much more than the copies cost must be saved, for the figures are another device's."""
_INTERLEAVED = 3 << 20, 1 << 22
"""So many elements in rows that lie alike are a product; the latter beside gradients (limit.md)."""
_PRODUCTS = (_aten.mm.default, _aten.addmm.default)
_TURNED = (_aten.permute.default, _aten.t.default, _aten.transpose.int)


@dataclass(frozen=True, slots=True)
class _Operand:
    """A matrix of ``rows`` of ``columns`` elements one after the other, read transposed if
    ``turned``; ``node`` is what is read, ``base`` the node that is copied."""

    node: fx.Node
    base: fx.Node
    rows: int
    columns: int
    turned: bool

    @classmethod
    def of(cls, node: Any) -> _Operand | None:
        """A dense matrix in either orientation."""
        found = value(node)
        (m, n), stride = found.shape, found.stride()
        if stride == (n, 1):
            return cls(node, node, m, n, turned=False)
        if stride != (1, m):
            return None
        return cls(node, node.args[0] if node.target in _TURNED else node, n, m, turned=True)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a product becomes: ``large`` is what each size is rounded up to."""

    operands: tuple[_Operand, _Operand]
    large: dict[int, int]

    def copied(self) -> list[tuple[_Operand, tuple[int, int]]]:
        """Operands that are copied, with the rows and columns of the copy."""
        pairs = [(one, (self.large[one.rows], self.large[one.columns])) for one in self.operands]
        return [(one, size) for one, size in pairs if size != (one.rows, one.columns)]

    def is_interleaved(self, result: Any, least: int) -> bool:
        """Whether rows of ``result`` that lie alike are products of their own."""
        first, second = self.operands
        (rows, n), depth = result.shape, first.columns
        apart = first.turned or not second.turned or self.large[depth] != depth
        return not apart and rows // turns(n, result.itemsize) * n >= least


_Copies = dict[tuple[fx.Node, tuple[int, int]], fx.Node]


def row_length(columns: int, itemsize: int) -> int:
    """``columns`` rounded up to rows of whole 16 bytes, in elements."""
    step = ALIGNED_BYTES // itemsize
    return -(-columns // step) * step


def padded(gm: fx.GraphModule) -> None:
    """Have products that gain from it go through larger matrices, in place. Values of known sizes
    only; what the caller gets lies as it did."""
    copies: _Copies = {}
    trained = any("tangents" in node.name for node in gm.graph.find_nodes(op="placeholder"))
    for node in list(gm.graph.nodes):
        if node.target in _PRODUCTS and not node.kwargs:
            plan = _planned(node, copies)
            if plan is not None and plan.is_interleaved(value(node), _INTERLEAVED[trained]):
                _interleave(gm.graph, node)
            elif plan is not None:
                _enlarge(gm.graph, node, plan, copies)
    for (base, _), copy in copies.items():
        _sum_copies(gm.graph, base, copy)


def _sum_copies(graph: fx.Graph, base: fx.Node, copy: fx.Node) -> None:
    """Have sums over the rows of ``base`` that come after ``copy`` add up the copy, whose other
    columns are zeros: nothing else may need ``base`` then, and it is never in memory (500 MB of
    the gradient of BERT's logits, beside as much of its copy)."""
    columns, later = value(base).shape[1], False
    if copy.args[0] is not base:  # but its transpose
        return
    for node in list(graph.nodes):
        later = later or node is copy
        if later and node.target is _aten.sum.dim_IntList and node.args[:2] == (base, [0]):
            with graph.inserting_before(node):
                total = called(graph, node, node.target, copy, [0], **node.kwargs)
                own = called(graph, node, _aten.slice.Tensor, total, 0, 0, columns)
                own = called(graph, node, _aten.view.default, own, list(value(node).shape))
            node.replace_all_uses_with(own)
            graph.erase_node(node)


def _planned(node: fx.Node, copies: _Copies) -> _Plan | None:
    """How ``node`` is enlarged if it gains from that; ``copies`` exist anyhow."""
    result = value(node)
    tensors = [value(arg) for arg in node.args]
    sizes = [n for x in (result, *tensors) for n in (*x.shape, *x.stride())]
    known = all(type(n) is int for n in sizes)
    if not known or result.dtype not in (torch.bfloat16, torch.float16):
        return None
    first, second = (_Operand.of(arg) for arg in node.args[-2:])
    (m, n), itemsize = result.shape, result.itemsize
    if first is None or second is None or (len(tensors) == 3 and tensors[0].shape != (n,)):
        return None
    k = first.rows if first.turned else first.columns
    large = {m: m, n: n, k: k}
    large |= {d: row_length(d, itemsize) for d in (first.columns, second.columns, n)}
    plan = _Plan((first, second), large)
    new = {(one.base, size) for one, size in plan.copied()} - copies.keys()
    moved = sum(2 * itemsize * rows * columns for _, (rows, columns) in new)
    moved += 2 * itemsize * m * n if large[n] != n else 0
    gained = 2 * m * n * k * (1 / _SLOW - 1 / _FAST)
    return plan if plan.copied() and gained >= _WORTH * moved / _COPIED else None


def _interleave(graph: fx.Graph, node: fx.Node) -> None:
    """A vector that is added is more depth: what it is multiplied by is 1."""
    *bias, a, b = node.args
    with graph.inserting_before(node):
        if bias:
            more = ALIGNED_BYTES // value(node).itemsize
            column = called(graph, node, _aten.view.default, bias[0], [-1, 1])
            column = called(graph, node, _aten.constant_pad_nd.default, column, [0, more - 1])
            table = called(graph, node, _aten.permute.default, b, [1, 0])
            table = called(graph, node, _aten.cat.default, [table, column], 1)
            a = called(graph, node, _aten.constant_pad_nd.default, a, [0, more], 1.0)
            b = called(graph, node, _aten.permute.default, table, [1, 0])
        made = called(graph, node, torch.ops.harness.interleaved_mm.default, a, b)
    node.replace_all_uses_with(made)
    graph.erase_node(node)


def _enlarge(graph: fx.Graph, node: fx.Node, plan: _Plan, copies: _Copies) -> None:
    users = list(node.users)
    m, n = value(node).shape
    wide = plan.large[n] - n
    with graph.inserting_before(node):
        for one, size in plan.copied():
            if (copy := copies.get((one.base, size))) is None:
                copy = copies[one.base, size] = _copy(graph, one, size)
            if one.turned:
                copy = called(graph, one.node, _aten.permute.default, copy, [1, 0])
            node.args = tuple(copy if arg is one.node else arg for arg in node.args)
        if len(node.args) == 3 and wide:
            bias: Any = node.args[0]
            node.update_arg(0, called(graph, bias, _aten.constant_pad_nd.default, bias, [0, wide]))
    node.meta.pop("tensor_meta", None)
    node.meta["val"] = traced(node)
    own = _cut_out(graph, node, (m, n))
    for user in users:
        user.replace_input_with(node, own)


def _cut_out(graph: fx.Graph, node: fx.Node, shape: tuple[int, int]) -> fx.Node:
    """The part of the product ``node`` that is ``shape``, side by side."""
    cut = node
    for axis, size in enumerate(shape):
        if value(cut).shape[axis] != size:
            with graph.inserting_after(cut):
                cut = called(graph, node, _aten.slice.Tensor, cut, axis, 0, size)
    if not value(cut).is_contiguous():
        dense = {"memory_format": torch.contiguous_format}
        with graph.inserting_after(cut):
            cut = called(graph, node, _aten.clone.default, cut, **dense)
        # what the forward graph keeps is the result, as before, not the larger one beside it
        cut.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    return cut


def _copy(graph: fx.Graph, one: _Operand, size: tuple[int, int]) -> fx.Node:
    """A larger copy with zeros behind, which is made again where it is needed again."""
    base = one.base
    if one.turned and base is one.node:
        base = called(graph, one.node, _aten.permute.default, base, [1, 0])
    more = [0, size[1] - one.columns, 0, size[0] - one.rows]
    made = called(graph, one.node, _aten.constant_pad_nd.default, base, more)
    made.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
    return made
