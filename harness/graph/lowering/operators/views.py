"""Views: operators that only say at which index another tensor is read."""

from __future__ import annotations

import functools
import itertools

import sympy

from harness.graph.lowering.context import Index
from harness.graph.lowering.rule import Call, Rule, Rules, reading
from harness.graph.lowering.tensor import Lowered, Shape, Tensor, canonical, is_one, repeated
from harness.ir.index import FloorDiv, Mod


def same(call: Call) -> Lowered:
    """The operand itself."""
    return call.tensor(0)


def reshape_index(source: Shape, target: Shape) -> tuple[sympy.Expr, ...]:
    """Where a tensor of shape ``target`` reads one of shape ``source`` that has the same
    elements in row-major order.

    Dimensions are matched from the left in smallest groups of equal size, so that a
    dimension that is kept, merged or split does not disturb its neighbours:
    merging gives linear indices, splitting one division and one remainder.
    """
    variables = canonical(target)
    index: list[sympy.Expr] = [sympy.S.Zero] * len(source)
    for ins, outs in matched(source, target):
        linear: sympy.Expr = sympy.S.Zero
        for dim in outs:
            linear = linear * target[dim] + variables[dim]
        step: sympy.Expr = sympy.S.One
        for position, dim in reversed(list(enumerate(ins))):
            quotient = FloorDiv(linear, step)
            index[dim] = quotient if position == 0 else Mod(quotient, source[dim])
            step = step * source[dim]
    return tuple(index)


def matched(source: Shape, target: Shape) -> list[tuple[list[int], list[int]]]:
    """Pairs of lists of dimensions with equal products, as short as possible; those of size one
    are left out."""
    inner = [d for d, n in enumerate(source) if not is_one(n)]
    outer = [d for d, n in enumerate(target) if not is_one(n)]
    left, right = _products(source, inner), _products(target, outer)
    ends = {i: right.index(n) + 1 for i, n in enumerate(left, start=1) if n in right}
    if inner and outer:  # of sizes that are not known to be equal, too
        ends[len(inner)] = len(outer)
    pairs = itertools.pairwise([(0, 0), *ends.items()])
    return [(inner[i:k], outer[j:m]) for (i, j), (k, m) in pairs]


def _products(shape: Shape, dims: list[int]) -> list[sympy.Expr]:
    """Of the first of ``dims``, of the first two and so on."""
    return list(itertools.accumulate((shape[d] for d in dims), lambda a, b: sympy.expand(a * b)))


def reshape(call: Call, tensor: Tensor) -> Index:
    """``view`` and its relatives: the same elements in row-major order."""
    return reshape_index(tensor.shape, call.shape)


def permute(call: Call, tensor: Tensor) -> Index:
    """``permute(self, dims)``."""
    dims = (call.wrap_dim(int(dim), tensor.rank) for dim in call.sizes(1, "dims"))
    variables = dict(zip(dims, canonical(call.shape), strict=True))
    return tuple(variables[dim] for dim in range(tensor.rank))


def expand(call: Call, tensor: Tensor) -> Index:
    """``expand(self, size)``: dimensions of size one repeated without copying."""
    return repeated(tensor.shape, call.shape)


def slice_(call: Call, tensor: Tensor) -> Index:
    """``slice(self, dim, start, end, step)``."""
    dim = call.dim(1, "dim", tensor.rank, 0)
    start = slice_start(call, tensor.shape[dim], 2, call.shape[dim])
    index = list(canonical(call.shape))
    index[dim] = start + index[dim] * call.size(4, "step", 1)
    return tuple(index)


def slice_start(call: Call, size: sympy.Expr, position: int, length: sympy.Expr) -> sympy.Expr:
    """First index of a slice of ``length`` elements: absent is 0, negative counts from the end,
    clamped."""
    arg = call.raw(position, "start", None)
    start = sympy.S.Zero if arg is None else sympy.sympify(arg)
    if start.is_Integer and size.is_Integer:
        return sympy.Max(0, sympy.Min(start + size if start < 0 else start, size))
    # Capture counts what has a hint from the first element (``calls.from_first``).
    unclear = start.is_Integer or any(symbol.name.startswith("u") for symbol in start.free_symbols)
    return from_start(call, start, size, length) if unclear else start


def from_start(
    call: Call, position: sympy.Expr, size: sympy.Expr, length: sympy.Expr
) -> sympy.Expr:
    """A position among ``size`` elements, unknown in number, counted from the first one. Where
    its sign does not show, the ``length`` of a slice up to the end tells it."""
    if position.is_nonnegative:
        return position
    if position.is_nonpositive or sympy.expand(length + position).is_zero:
        return position + size
    if sympy.expand(length - size + position).is_zero:
        return position
    raise call.reject(f"position {position}", "one that is known to count from either end")


def select(call: Call, tensor: Tensor) -> Index:
    """``select(self, dim, index)``: one slice, without its dimension."""
    dim = call.dim(1, "dim", tensor.rank)
    size, index = tensor.shape[dim], list(canonical(call.shape))
    index.insert(dim, from_start(call, call.size(2, "index"), size, sympy.nan))
    return tuple(index)


def squeeze(call: Call, tensor: Tensor) -> Index:
    """``squeeze(self, dims)``: without those of them that have size one."""
    gone = {d for d in call.dims(1, "dim", tensor.rank) if d < tensor.rank}
    kept = [d for d in range(tensor.rank) if d not in gone or not is_one(tensor.shape[d])]
    variables = dict(zip(kept, canonical(call.shape), strict=True))
    return tuple(variables.get(dim, sympy.S.Zero) for dim in range(tensor.rank))


def unsqueeze(call: Call, tensor: Tensor) -> Index:
    """``unsqueeze(self, dim)``."""
    dim = call.dim(1, "dim", tensor.rank + 1)
    index = list(canonical(call.shape))
    del index[dim]
    return tuple(index)


def flip(call: Call, tensor: Tensor) -> Index:
    """``flip(self, dims)``."""
    index = list(canonical(tensor.shape))
    for dim in call.dims(1, "dims", tensor.rank) if tensor.rank and call.sizes(1, "dims") else []:
        if not is_one(tensor.shape[dim]):
            index[dim] = tensor.shape[dim] - 1 - index[dim]
    return tuple(index)


def diagonal(call: Call, tensor: Tensor) -> Index:
    """``diagonal(self, offset, dim1, dim2)``: the diagonal becomes the last dimension."""
    offset = call.size(1, "offset", 0)
    first = call.dim(2, "dim1", tensor.rank, 0)
    second = call.dim(3, "dim2", tensor.rank, 1)
    out = canonical(call.shape)
    rest = iter(out[:-1])
    along = {first: out[-1] + sympy.Max(-offset, 0), second: out[-1] + sympy.Max(offset, 0)}
    return tuple(along[d] if d in along else next(rest) for d in range(tensor.rank))


def unfold(call: Call, tensor: Tensor) -> Index:
    """``unfold(self, dimension, size, step)``: windows as a new last dimension."""
    if not tensor.rank:
        return ()
    dim = call.dim(1, "dimension", tensor.rank)
    out = canonical(call.shape)
    index = list(out[:-1])
    index[dim] = index[dim] * call.size(3, "step") + out[-1]
    return tuple(index)


def repeat(call: Call, tensor: Tensor) -> Index:
    """``repeat(self, repeats)``: the tensor tiled."""
    out = canonical(call.shape)[len(call.shape) - tensor.rank :]
    return tuple(Mod(i, n) for i, n in zip(out, tensor.shape, strict=True))


_view = functools.partial(reading, view=True)
_copy = functools.partial(reading, view=True, fresh=True)

RULES: Rules = {
    "aten.alias.default": Rule(same, view=True),
    "aten.lift_fresh.default": Rule(same, view=True),
    "aten.lift_fresh_copy.default": Rule(same, view=True, fresh=True),
    "aten.view.default": _view(reshape),
    "aten.reshape.default": _view(reshape),
    "aten._reshape_copy.default": _copy(reshape),
    "aten.view_copy.default": _copy(reshape),
    "aten.permute.default": _view(permute),
    "aten.permute_copy.default": _copy(permute),
    "aten.expand.default": _view(expand),
    "aten.slice.Tensor": _view(slice_),
    "aten.slice_copy.Tensor": _copy(slice_),
    "aten.select.int": _view(select),
    "aten.select_copy.int": _copy(select),
    "aten.squeeze.dims": _view(squeeze),
    "aten.unsqueeze.default": _view(unsqueeze),
    "aten.flip.default": _copy(flip),
    "aten.diagonal.default": _view(diagonal),
    "aten.unfold.default": _view(unfold),
    "aten.repeat.default": _copy(repeat),
}
