"""Reductions as data: which dimensions, how many elements, which way through memory."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sympy

from harness.dtypes import DType
from harness.graph.model import Arg, Graph, Node, Ref, TensorType, ValueType, tensors_of
from harness.ir.reach import reached

_OTHER_FORMS = {
    "aten.any.default": "aten.any.dims",
    "aten.any.dim": "aten.any.dims",
    "aten.max.default": "aten.amax.default",
    "aten.mean.default": "aten.mean.dim",
    "aten.min.default": "aten.amin.default",
    "aten.prod.default": "aten.prod.dim_int",
}
_ALIKE = (*_OTHER_FORMS.values(), "aten.sum.dim_IntList", "harness.xor_sum.default")
_OVER_DIMS = {**_OTHER_FORMS, **{op: op for op in _ALIKE}}
"""Reductions, and the overload that reduces over given dimensions."""

STATISTICS = frozenset({"aten.var.correction", "aten.var_mean.correction"})
"""Reductions that are combined from means and variances."""

TAKES_DTYPE = frozenset({"aten.mean.dim", "aten.prod.dim_int", "aten.sum.dim_IntList"})
"""Reductions over dimensions that have a ``dtype`` argument."""

CLEARLY = 4
"""A reduction runs along memory if it reads more than this many times the bytes that way."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction of ``source`` (sizes ``shape``) over ``dims``.

    ``op`` is the overload over dimensions, ``stride`` is the source's; ``by_stride`` are the
    reduced dimensions from outermost to innermost in memory; ``kept`` and ``reduced`` count results
    and elements per result; ``inner`` says that the reduction runs along memory. ``widen`` is the
    type that intermediate values need where the result's own would round them.
    """

    node: Node
    op: str
    source: Ref
    result: TensorType
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dims: tuple[int, ...]
    by_stride: tuple[int, ...]
    keepdim: bool
    correction: float
    kept: int
    reduced: int
    inner: bool
    widen: DType | None


def parse_reduction(
    node: Node,
    types: Mapping[str, ValueType],
    nodes: Mapping[str, Node] | None = None,
    kept: Collection[str | None] = (),
) -> Reduction | None:
    """``node`` as a reduction; ``None`` if it is none, or one of unknown sizes. With the
    graph's ``nodes``, its direction is that of the tensors its source is computed from, unless
    those that are ``kept`` (in memory) run along it: another kernel then turns what runs across."""
    op = node.op if node.op in STATISTICS else _OVER_DIMS.get(node.op)
    source = node.args[0] if op is not None else None
    if op is None or not isinstance(source, Ref):
        return None
    value, result = types[source.name], next(tensors_of(node.type), None)
    if not isinstance(value, TensorType) or result is None or value.layout is None:
        return None
    shape, stride = value.layout
    dims = _dims(node.argument(1, "dim"), len(shape), node.op)
    given = dict(node.kwargs).get("correction")
    correction = float(given) if isinstance(given, int | float | sympy.Number) else 1.0
    reduced = math.prod(shape[d] for d in dims)
    if reduced < 2 or 0 in shape or reduced <= correction:
        return None
    if op == "aten.prod.dim_int" and len(dims) != 1:
        return None
    real = [d for d in range(len(shape)) if shape[d] > 1 and stride[d] > 0]
    innermost = min(real, key=lambda d: (stride[d], -d), default=0)
    behind = source, dims, innermost in dims, types, nodes or {}
    along = (_runs_along(*behind, ends) for ends in ((), kept))
    added, wide = op in TAKES_DTYPE or op in STATISTICS, result.dtype.compute
    return Reduction(
        node=node,
        op=op,
        source=source,
        result=result,
        shape=shape,
        stride=stride,
        dims=dims,
        by_stride=tuple(sorted(dims, key=lambda d: (-stride[d], d))),
        keepdim=len(result.shape) == len(shape),
        correction=correction,
        kept=math.prod(shape) // reduced,
        reduced=reduced,
        inner=any(along),
        # sums and statistics of 16-bit floats in float32; order statistics need nothing
        widen=wide if added and result.dtype.is_float and wide is not result.dtype else None,
    )


def _runs_along(
    source: Ref,
    dims: tuple[int, ...],
    default: bool,
    types: Mapping[str, ValueType],
    nodes: Mapping[str, Node],
    ends: Collection[str | None],
) -> bool:
    """Whether nearly all bytes behind ``source`` are contiguous along ``dims``: a kernel
    that reads both ways has wide tiles, as one that reads across has.

    What is computed element by element is not in memory: its layout, that of its first
    operand, says little. So each tensor read counts, through permutations too; what is
    broadcast costs next to nothing and has no say.
    """
    rank = len(_shape(types, source.name))
    votes = {True: 0, False: 0}

    def near(at: tuple[str, tuple[int, ...]]) -> list[tuple[str, tuple[int, ...]]]:
        name, order = at
        operands = None if name in ends else _operands(nodes.get(name), order, types)
        for kind in tensors_of(types[name]) if operands is None else ():
            sizes = enumerate(zip(kind.shape, kind.stride, strict=True))
            for unit in [d for d, (size, step) in sizes if step == 1 < size][:1]:
                votes[order[unit] in dims] += kind.dtype.itemsize * int(kind.numel)
        return operands or []

    reached([(source.name, tuple(range(rank)))], near)
    return votes[True] > CLEARLY * votes[False] if any(votes.values()) else default


def _operands(
    node: Node | None, order: tuple[int, ...], types: Mapping[str, ValueType]
) -> list[tuple[str, tuple[int, ...]]] | None:
    """The operands of elementwise work with, for each of their dimensions, the reduction's;
    ``None`` for a tensor that counts itself."""
    if node is None:
        return None
    if node.op in ("aten.expand.default", "aten.full.default"):
        return []
    if node.op == "aten.cat.default":  # not in memory either: each piece is read as it lies
        return [(name, order) for name in dict.fromkeys(node.refs())]
    moved = node.args[1] if node.op == "aten.permute.default" else None
    if isinstance(moved, tuple) and isinstance(node.args[0], Ref):
        places = [int(dim) % len(order) for dim in moved if isinstance(dim, int | sympy.Integer)]
        return [(node.args[0].name, tuple(order[places.index(d)] for d in range(len(order))))]
    shape = _shape(types, node.name)
    same = [r for r in dict.fromkeys(node.refs()) if _shape(types, r) == shape]
    return [(name, order) for name in same] or None


def _shape(types: Mapping[str, ValueType], name: str) -> tuple[sympy.Expr, ...]:
    kind = types[name]
    return kind.shape if isinstance(kind, TensorType) else ()


def _dims(arg: Arg, rank: int, op: str) -> tuple[int, ...]:
    """The dimensions as non-negative numbers in order; none given means all."""
    if isinstance(arg, int | sympy.Integer):
        arg = (int(arg),)
    if op.endswith((".default", ".prod")) and not op.startswith(("aten.amax", "aten.amin")):
        arg = None
    if not isinstance(arg, tuple) or not arg or not rank:
        return tuple(range(rank))
    return tuple(sorted(int(d) % rank for d in arg if isinstance(d, int | sympy.Integer)))


def crossed(graph: Graph) -> Collection[str]:
    """Nodes behind reductions across memory."""
    types, nodes = graph.types(), {node.name: node for node in graph.nodes}
    found = (parse_reduction(node, types, nodes) for node in graph.nodes)
    sources = [one.source.name for one in found if one and not one.inner]
    return reached(sources, lambda name: nodes[name].refs() if name in nodes else ())
