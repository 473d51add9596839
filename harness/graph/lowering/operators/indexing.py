"""Reading at computed positions: embedding, gather, index."""

from __future__ import annotations

import sympy

from harness.dtypes import DType
from harness.graph.lowering.context import Index
from harness.graph.lowering.rule import Call, Rule, Rules, reading
from harness.graph.lowering.tensor import Lowered, Shape, Tensor, canonical
from harness.graph.model import Ref
from harness.graph.sizes import broadcast
from harness.ir.nodes import Value
from harness.ir.ops import Op

ONE: Shape = (sympy.S.One,)
"""What a tensor without dimensions is indexed as."""


def position(call: Call, value: Value, size: sympy.Expr, *, from_end: bool = False) -> sympy.Expr:
    """An integer value as an index into a dimension of ``size``; negative ones count ``from_end``
    or are out of range."""
    return call.context.indirect(call.context.position(value, size, call.shape, from_end=from_end))


def embedding(call: Call, weight: Tensor) -> Index:
    """``embedding(weight, indices)``: one row per index."""
    indices, out = call.tensor(1, "indices"), canonical(call.shape)
    value = call.read(indices, out[: indices.rank], call.shape)
    return position(call, value, weight.shape[0]), out[-1]


def gather(call: Call, tensor: Tensor) -> Index:
    """``gather(self, dim, index)``, and ``index_select``, whose index is the same for all rows."""
    where, shape = list(canonical(call.shape or ONE)), tensor.shape or ONE
    dim, index = call.dim(1, "dim", len(shape)), call.tensor(2, "index")
    value = index.value
    if call.node.packet == "index_select":
        value = call.read(places(call, index), (where[dim],) * index.rank, call.shape)
    where[dim] = position(call, value, shape[dim])
    return tuple(where)


def index_tensors(call: Call) -> list[Tensor | None]:
    """The list of index tensors of ``index`` and ``index_put``; None takes a dimension whole."""
    arg = call.raw(1, "indices")
    if not isinstance(arg, tuple):
        raise call.reject(f"indices {arg!r}", "a list of tensors")
    return [
        places(call, call.as_tensor(item, "indices")) if isinstance(item, Ref) else None
        for item in arg
    ]


def places(call: Call, index: Tensor) -> Tensor:
    """``index``, if it is of a type that eager mode takes for positions: bytes are a mask."""
    if index.dtype not in (DType.I32, DType.I64):
        raise call.reject(
            f"an index of type {index.dtype.torch_name}",
            "int32 or int64 (the result's size must not depend on data)",
        )
    return index


def searching(boundaries: int, values: int) -> Rule:
    """``bucketize`` and ``searchsorted`` with these arguments: how many boundaries lie before each
    value, by halving. NaN lies behind all."""

    def lower(call: Call) -> Lowered:
        rows, sought = call.tensor(boundaries, "sorted_sequence"), call.tensor(values, "self")
        if boundaries and rows.rank != 1:
            raise call.reject(f"boundaries of {rows.rank} dimensions", "one dimension")
        count = rows.shape[-1] if rows.rank else sympy.S.One
        if not count.is_Integer:
            raise call.reject(f"{count} boundaries", "a number known when compiling")
        right = call.flag(3, "right") or call.text(9, "side") == "right"
        if call.raw(9, "sorter", None) is not None:
            raise call.reject("a sorter", "boundaries that are in order themselves")
        kind = call.promoted(boundaries, values)
        value = call.rounded(call.broadcast(sought, call.shape), sought.dtype)
        value = call.rounded(call.scalar.cast(value, kind), kind)
        leading = canonical(call.shape)[: rows.rank - 1]
        return call.result(_before(call, rows, leading, value, int(count), right))

    return Rule(lower, reads=lambda _: 32, partial=True)


def _before(
    call: Call, rows: Tensor, leading: tuple[sympy.Expr, ...], value: Value, count: int, right: bool
) -> Value:
    scalar = call.scalar
    found: Value = scalar.constant(0, DType.I32 if count < 2**30 else DType.I64)
    for bit in reversed(range(count.bit_length())):
        further = scalar.add(found, 1 << bit)
        last = scalar.add(scalar.op(Op.MINIMUM, further, count), -1)
        where = (*leading, call.context.indirect(last))[-rows.rank :] if rows.rank else ()
        bound = call.rounded(call.read(rows, where, call.shape), rows.dtype)
        bound = scalar.cast(bound, value.dtype)
        # Not "less": what NaN is compared with lies before it.
        beyond = scalar.compare(Op.GT if right else Op.GE, bound, value)
        inside = scalar.compare(Op.LE, further, count)
        taken = scalar.both(inside, scalar.compare(Op.LOGICAL_NOT, beyond))
        found = scalar.where(taken, further, found)
    return found


def common_dimensions(indices: list[Tensor | None]) -> tuple[int, Shape]:
    """Where the common dimensions of index tensors stand in a result (where the first of them does
    if they are next to each other, else in front), and what they broadcast to."""
    given = [d for d, t in enumerate(indices) if t is not None]
    together = given == list(range(given[0], given[-1] + 1))
    return given[0] if together else 0, broadcast([t.shape for t in indices if t is not None])


def advanced_index(
    call: Call, shape: Shape, indices: list[Tensor | None], out: Shape
) -> tuple[sympy.Expr, ...]:
    """Where an element of the indexed tensor of ``shape`` lies for each point of ``out``. Of all
    operators only these take negative indices."""
    front, sizes = common_dimensions(indices)
    rank = len(sizes)
    variables = canonical(out)
    common = variables[front : front + rank]
    whole = iter(variables[:front] + variables[front + rank :])
    index: list[sympy.Expr] = []
    for dim, size in enumerate(shape):
        tensor = indices[dim] if dim < len(indices) else None
        if tensor is None:
            index.append(next(whole))
            continue
        value = call.read(tensor, common[rank - tensor.rank :], out)
        index.append(position(call, value, size, from_end=True))
    return tuple(index)


def index(call: Call, tensor: Tensor) -> Index:
    """``index.Tensor``: advanced indexing."""
    indices = index_tensors(call)
    if all(t is None for t in indices):
        return canonical(call.shape)
    return advanced_index(call, tensor.shape, indices, call.shape)


RULES: Rules = {
    "aten.bucketize.Tensor": searching(1, 0),
    "aten.bucketize.Scalar": searching(1, 0),
    "aten.searchsorted.Tensor": searching(0, 1),
    "aten.searchsorted.Scalar": searching(0, 1),
    "aten.embedding.default": reading(embedding),
    "aten.gather.default": reading(gather),
    "aten.index_select.default": reading(gather, partial=True),
    "aten.index.Tensor": reading(index, partial=True),
}
