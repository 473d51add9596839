"""What is taken out of a scanned or sorted row: its first elements, one of them, its reverse.

A sort yields whole rows. Where everybody who uses one takes a part of it (the largest 50, the
median), only that part is stored: the first ``k`` by a sort that stores ``k`` elements, a
single one by a reduction over the sorted row. A scan that is only used backwards (the
gradient of a running sum) is stored backwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from harness.dtypes import DType
from harness.graph.lowering.rule import Call
from harness.graph.lowering.tensor import Reduced, Scanned, canonical, inner_variable, is_one
from harness.graph.model import Graph, Node, Ref, TensorType, ValueType
from harness.ir.nodes import Builder, Made, ReduceKind, Sort, Value, rewrite
from harness.ir.ops import Op


def only_picked(graph: Graph, name: str, dim: int) -> bool:
    """Whether nothing but ``pick`` along ``dim`` needs the value called ``name``."""
    users = [node for node in graph.nodes if name in node.refs()]
    wanted = {*graph.outputs, *(m.value for m in graph.mutations)}
    types = graph.types()
    return name not in wanted and all(_picks(node, name, dim, types) for node in users)


def _picks(node: Node, name: str, dim: int, types: Mapping[str, ValueType]) -> bool:
    if not isinstance(node.type, TensorType) or node.args[0] != Ref(name) or len(node.args) < 2:
        return False
    if node.op == "aten.flip.default":
        return node.args[1] in ((dim,), (dim - node.type.rank,))
    if len(node.args) < 3 or node.args[1] not in (dim, dim - node.type.rank):
        return False
    if node.op == "aten.slice_copy.Tensor":
        start, step = node.args[2], node.args[4] if len(node.args) > 4 else 1
        return isinstance(start, int) and start >= 0 and step == 1
    index = node.args[2]
    if node.op != "aten.gather.default" or not isinstance(index, Ref) or index == node.args[0]:
        return False
    kind, whole = types[index.name], types[name]
    assert isinstance(kind, TensorType) and isinstance(whole, TensorType)
    return all(
        is_one(n) if d == dim else n == m
        for d, (n, m) in enumerate(zip(kind.shape, whole.shape, strict=True))
    )


def pick(call: Call, scanned: Scanned) -> Scanned | Reduced:
    """The result of ``slice_copy``, ``gather`` or ``flip``, if ``only_picked`` holds."""
    if call.node.op == "aten.gather.default":
        index = call.tensor(2, "index")
        at = call.read(index, canonical(index.shape), call.shape)
        where = call.context.position(at, scanned.size, call.shape)
        return _one(call, scanned, where)
    if call.node.op == "aten.flip.default":
        return replace(scanned, backward=True)
    start = int(call.number(2, "start"))
    if is_one(call.shape[scanned.dim]):
        return _one(call, scanned, call.scalar.constant(start, DType.I64))
    return replace(scanned, shape=call.shape, start=start)


def limited(graph: Graph, names: list[str], scanned: Scanned, builder: Builder) -> Scanned:
    """``scanned``, called ``names``, whose sorts go as far as somebody picks from them."""
    users = [node for node in graph.nodes if not set(names).isdisjoint(node.refs())]
    ends = [n.args[3] if n.op == "aten.slice_copy.Tensor" else None for n in users]
    known = [end for end in ends if isinstance(end, int) and end >= 0]
    if not known or len(known) < len(ends):
        return scanned

    def shorter(value: Value, made: Made) -> Value | None:
        if not isinstance(value, Sort):
            return None
        arg = made[id(value.args[0])]
        return builder.sort(arg, value.descending, value.component, max(known))

    made = rewrite([scanned.value], builder, replace=shorter)
    return replace(scanned, value=made[id(scanned.value)])


def _one(call: Call, scanned: Scanned, where: Value) -> Reduced:
    """The element at position ``where`` of every row: the others count for nothing."""
    scalar, value = call.scalar, scanned.value
    kind, other = ReduceKind.MAX, scalar.constant(value.dtype.least, value.dtype)
    if value.dtype.is_float:
        other = scalar.constant(float("-inf"), value.dtype)
    elif value.dtype is DType.BOOL:
        kind, other = ReduceKind.ANY, scalar.constant(False, DType.BOOL)
    here = scalar.compare(Op.EQ, call.context.index_value(inner_variable(0)), where)
    picked = scalar.where(here, value, other)
    reduced = call.context.builder.reduce(kind, picked, dtype=value.dtype)
    return Reduced(call.shape, scanned.dtype, reduced, (scanned.size,))
