"""Tensors put together from pieces: concatenation, padding, writing into a slice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate, zip_longest

import sympy

from harness.dtypes import DType
from harness.graph.lowering.cost import profile
from harness.graph.lowering.operators.views import slice_start
from harness.graph.lowering.rule import Call, Rule, Rules
from harness.graph.lowering.scalar import Scalar
from harness.graph.lowering.tensor import Lowered, Scattered, Tensor, canonical, is_one
from harness.graph.model import Node, TensorType
from harness.heuristics.limits import VECTOR
from harness.ir.affine import size_hint
from harness.ir.index import FloorDiv, Mod
from harness.ir.nodes import Compute, Load, StoreMode, Value, operands, walk
from harness.ir.ops import Op

MUCH = 6  # cost of the functions of pieces, at least, to compute all of them at once
MANY = 32  # narrow ones for one kernel: the 32 of Mamba took 4.8 us on an H200, 9.8 copied before


def cat(call: Call) -> Lowered:
    """``cat(tensors, dim)``; empty one-dimensional tensors are ignored, as in torch."""
    parts = [t for t in call.tensors(0) if t.rank == len(call.shape) or not t.shape[0].is_zero]
    return call.result(_joined(call, parts, call.dim(1, "dim", len(call.shape), 0)))


def _joined(call: Call, parts: list[Tensor], dim: int) -> Value:
    """Each part where its range is, from the last one on; what is done to all is done after."""
    scalar, context = call.scalar, call.context
    out = canonical(call.shape)
    starts = list(accumulate((part.shape[dim] for part in parts), initial=sympy.S.Zero))
    numbers = [n for n, part in enumerate(parts) if not part.shape[dim].is_zero]
    values: list[Value] = []
    for number in numbers:
        index = [*out[:dim], out[dim] - starts[number], *out[dim + 1 :]]
        values.append(scalar.cast(call.read(parts[number], tuple(index), call.shape), call.dtype))
    if (halves := _halves(call, values, [parts[n].shape[dim] for n in numbers], dim)) is not None:
        return halves
    after: list[tuple[Compute, int]] = []
    while (found := _alike(values)) is not None:
        after.append(found)
        values = [operands(value)[found[1]] for value in values]
    result: Value = scalar.constant(0, call.dtype)
    for number, value in reversed(list(zip(numbers, values, strict=True))):
        start, end = starts[number], starts[number + 1]
        mask = context.inside(out[dim], call.shape, start, end)
        value = context.masked(mask, value, scalar.like(0, value))
        result = scalar.where(context.inside(out[dim], call.shape, None, end), value, result)
    for whole, place in reversed(after):
        args = [*whole.args[:place], result, *whole.args[place + 1 :]]
        result = context.builder.compute(whole.op, *args, dtype=whole.dtype)
    return result


def at_once(
    node: Node, tensors: Mapping[str, Tensor], kind: TensorType, scalar: Scalar, rows: set[int]
) -> tuple[list[Tensor], int] | None:
    """The pieces of a ``cat``, and its dimension, if they are alike in size, share what they load
    and compute functions of it, as the gradients of a gate's halves: for all to be computed at
    each point of a piece, not at every point. 29 kernels of the corpus took 0.39 to 1.02 of the
    time on an H200, 0.83 in the mean. If they go on from what was reduced, of ``rows`` of so many
    points in all, exactly where a piece has as many: the kernel that reduced them stores it. More
    than ``MANY`` pieces narrower than a vector always are: 128 columns took 584 us, 20.5 so."""
    parts = [tensors[ref] for ref in node.refs()] if node.packet == "cat" else []
    if len({part.shape for part in parts}) != 1:
        return None
    dim = int(node.argument(1, "dim") or 0) % len(kind.shape)  # type: ignore[arg-type]
    run = parts[0].shape[dim] * kind.stride[dim]
    found = [profile(part.value) for part in parts]
    loads = {(load.buffer, load.index) for one in found for load in one.loads}
    shared = sum(len(one.loads) for one in found) > len(loads)
    much = sum(one.short + one.long for one in found) >= MUCH
    if rows:
        shared = much = size_hint(math.prod(parts[0].shape)) in rows
    vectors = not (run.is_Integer and (run % VECTOR or run.is_zero))
    narrow = len(parts) > MANY and run.is_Integer and 0 < run < VECTOR
    if not (narrow or (shared and much and vectors)):
        return None
    return [replace(part, value=scalar.cast(part.value, kind.dtype)) for part in parts], dim


def _alike(values: list[Value]) -> tuple[Compute, int] | None:
    """The operation that all ``values`` are, and the one operand in which they differ."""
    first = values[0] if len(values) > 1 else None
    kinds = {(getattr(v, "op", None), v.dtype, *(o.dtype for o in operands(v))) for v in values}
    if not isinstance(first, Compute) or len(kinds) > 1:
        return None
    args = enumerate(zip(*map(operands, values), strict=True))
    differ = [n for n, own in args if any(arg is not own[0] for arg in own)]
    return (first, differ[0]) if len(differ) == 1 else None


def _halves(call: Call, values: list[Value], sizes: list[sympy.Expr], dim: int) -> Value | None:
    """Two halves that are the same function of one tensor at other places, one perhaps negated, as
    a rotary embedding's are: read once, without masks."""
    if len(values) != 2 or sizes[0] != sizes[1] or not sizes[0].is_Integer:
        return None
    negated = [isinstance(v, Compute) and v.op is Op.NEG for v in values]
    one, other = (operands(v)[0] if n else v for v, n in zip(values, negated, strict=True))
    out = canonical(call.shape)[dim]
    if (whole := _merged(call, one, other, FloorDiv(out, sizes[0]))) is None:
        return None
    turned = call.scalar.op(Op.NEG, whole) if any(negated) else whole
    lower, upper = (turned if n else whole for n in negated)
    return call.scalar.where(call.context.inside(out, call.shape, None, sizes[0]), lower, upper)


def _merged(call: Call, first: Value, second: Value, number: sympy.Expr) -> Value | None:
    """``first`` where ``number`` is 0 and ``second`` where it is 1, if all that they differ in is
    by how many elements the places are apart that they read."""
    context, made, twins = call.context, dict[int, Value](), dict[int, Value]()
    for one, other in zip_longest(walk([first]), walk([second])):
        match one, other:
            case Load(), Load() if one.buffer == other.buffer and not one.indirect:
                apart = sympy.expand(other.index - one.index)
                if not apart.is_Integer:
                    return None
                index = context.simplifier(call.shape).simplify(one.index + apart * number)
                made[id(one)] = context.load(one.buffer, index, one.dtype)
            case Compute(), Compute() if one.op is other.op and one.dtype is other.dtype:
                if [twins[id(arg)] for arg in one.args] != [*other.args]:
                    return None
                args = (made[id(arg)] for arg in one.args)
                made[id(one)] = context.builder.compute(one.op, *args, dtype=one.dtype)
            case _ if one is not None and one is other:
                made[id(one)] = one
            case _:
                return None
        twins[id(one)] = other
    return made[id(first)]


def constant_pad(call: Call) -> Lowered:
    """``constant_pad_nd(self, pad, value)``: pairs of (before, after), last dimension
    first; negative padding cuts off."""
    tensor, pad = call.tensor(0), call.sizes(1, "pad")
    scalar, context = call.scalar, call.context
    out = canonical(call.shape)
    index = list(out)
    mask: Value = scalar.constant(True, DType.BOOL)
    for dim, before in zip(reversed(range(tensor.rank)), pad[::2], strict=False):
        index[dim] = out[dim] - before
        inside = context.inside(index[dim], call.shape, sympy.S.Zero, tensor.shape[dim])
        mask = scalar.both(mask, inside)
    value = scalar.cast(call.read(tensor, tuple(index), call.shape), call.dtype)
    return call.result(context.masked(mask, value, call.filler(call.number(2, "value", 0))))


def slice_scatter(call: Call) -> Lowered:
    """``slice_scatter(self, src, dim, start, end, step)``: src in the place of a slice."""
    tensor, source = call.tensor(0), call.tensor(1, "src")
    dim = call.dim(2, "dim", tensor.rank, 0)
    start = slice_start(call, tensor.shape[dim], 3, source.shape[dim])
    step = call.size(5, "step", 1)
    scalar, context = call.scalar, call.context
    out = canonical(call.shape)
    offset = out[dim] - start
    count = source.shape[dim]
    if count == call.shape[dim] and start.is_zero and is_one(step):
        return call.result(call.broadcast(source, call.shape))
    index = list(out)
    index[dim] = FloorDiv(offset, step)
    inner = scalar.cast(call.read(source, tuple(index), call.shape), call.dtype)
    ends_at = start + (count - 1) * step + 1
    mask = context.inside(out[dim], call.shape, start, ends_at)
    if not is_one(step):
        on_step = scalar.compare(Op.EQ, context.index_value(Mod(offset, step)), 0)
        mask = scalar.both(mask, on_step)
    inner = context.masked(mask, inner, scalar.like(0, inner))
    place = list(canonical(source.shape))
    place[dim] = start + step * place[dim]
    base, written = call.operand(0), scalar.cast(source.value, call.dtype)
    result = call.result(scalar.where(mask, inner, base))
    if count.is_zero:
        return result
    over = Scattered(call.result(base), source.shape, tuple(place), written, StoreMode.PLAIN)
    return replace(result, over=over)


RULES: Rules = {
    "aten.cat.default": Rule(cat),
    "aten.constant_pad_nd.default": Rule(constant_pad),
    "aten.slice_scatter.default": Rule(slice_scatter, partial=True),
}
