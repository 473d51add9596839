"""Small pooling windows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import sympy

from harness.dtypes import DType
from harness.graph.lowering.operators.reductions import Operand
from harness.graph.lowering.rule import Call, Rule, Rules
from harness.graph.lowering.tensor import Lowered, Tensor, canonical
from harness.graph.model import Node
from harness.ir.index import FloorDiv
from harness.ir.nodes import Load, Made, ReduceKind, Value, rewrite
from harness.ir.ops import Op

Sizes = tuple[int, ...]

# Windows of more elements than this are left to the library: every element of the window
# is one load in the nest.
LARGEST_WINDOW = 27


@dataclass(frozen=True, slots=True)
class Window:
    """A pooling window over the last two or three dimensions."""

    call: Call
    tensor: Tensor
    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes

    def elements(self) -> Iterator[tuple[Value, Value, tuple[sympy.Expr, ...]]]:
        """For every element of the window in row-major order: whether it lies inside the
        tensor, whether inside the tensor with its padding, and its index."""
        call, context = self.call, self.call.context
        shape = call.result_type(0).shape
        out, simplifier = canonical(shape), context.simplifier(shape)
        for offsets in product(*(range(k) for k in self.kernel)):
            index = list(out)
            mask: Value = call.scalar.constant(True, DType.BOOL)
            padded = mask
            for axis, offset in enumerate(offsets):
                dim = self.tensor.rank - len(self.kernel) + axis
                size = self.tensor.shape[dim]
                place = out[dim] * self.stride[axis] - self.padding[axis]
                index[dim] = place = simplifier.simplify(place + offset * self.dilation[axis])
                mask = call.scalar.both(mask, context.inside(place, shape, sympy.S.Zero, size))
                end = size + self.padding[axis]
                padded = call.scalar.both(padded, context.inside(place, shape, None, end))
            yield mask, padded, tuple(index)

    def read(self, index: tuple[sympy.Expr, ...], mask: Value, other: float) -> Value:
        """The element at ``index``, ``other`` outside ``mask``: of one that is computed only loads
        that move with the window, or whose place data tell, are masked."""
        context, shape = self.call.context, self.call.result_type(0).shape
        like, moving = self.call.scalar.like, {*canonical(shape)[-len(self.kernel) :]}
        value = self.call.read(self.tensor, index, shape)
        if isinstance(value, Load):
            return context.masked(mask, value, like(other, value))

        def masked(part: Value, _: Made) -> Value | None:
            moves = isinstance(part, Load) and (part.indirect or moving & part.index.free_symbols)
            return context.masked(mask, part, like(0, part)) if moves else None

        made = rewrite([value], context.builder, replace=masked)[id(value)]
        return self.call.scalar.where(mask, made, like(other, value))


def _sizes(call: Call, position: int, name: str, default: Sizes) -> Sizes:
    """One number for each dimension of a window; ``default`` has as many."""
    sizes = call.sizes(position, name, ()) if call.raw(position, name, None) is not None else ()
    numbers = tuple(int(s) for s in sizes)
    return numbers * len(default) if len(numbers) == 1 else numbers or default


def _window(call: Call, rank: int, dilation_at: int | None) -> Window:
    one = (1,) * rank
    kernel = _sizes(call, 1, "kernel_size", one)
    if math.prod(kernel) > LARGEST_WINDOW:
        shape = " × ".join(map(str, kernel))
        raise call.reject(f"a window of {shape}", f"at most {LARGEST_WINDOW} elements")
    stride = _sizes(call, 2, "stride", kernel)
    padding = _sizes(call, 3, "padding", (0,) * rank)
    dilation = one if dilation_at is None else _sizes(call, dilation_at, "dilation", one)
    return Window(call, call.tensor(0), kernel, stride, padding, dilation)


def max_pool(rank: int, call: Call) -> Lowered:
    """``max_pool2d_with_indices`` and ``3d``: values, and flat positions within a plane."""
    window = _window(call, rank, 4)
    scalar, kind = call.scalar, call.result_type(0)
    stored = isinstance(window.tensor.value, Load)
    lowest = -float("inf") if kind.dtype.is_float else kind.dtype.least
    (best, first), *others = (
        (window.read(index, mask, lowest), index[-rank:]) for mask, _, index in window.elements()
    )
    # A window that holds nothing larger than -inf reports its first element.
    where = _flat(call, [sympy.Max(i, 0) for i in first], window)
    for value, index in others:
        # Of equal ones the first counts: as they would be stored.
        ranked = [v if stored else call.rounded(v, kind.dtype) for v in (value, best)]
        better = scalar.compare(Op.GT, *ranked)
        if kind.dtype.is_float:
            better = scalar.compare(Op.LOGICAL_OR, better, scalar.compare(Op.ISNAN, value))
        # The value apart from its position: one instruction instead of four where only it is used.
        best = scalar.op(Op.MAXIMUM, best, value)
        where = scalar.where(better, _flat(call, index, window), where)
    return Tensor(kind.shape, kind.dtype, best), Tensor(kind.shape, DType.I64, where)


def _flat(call: Call, index: Sequence[sympy.Expr], window: Window) -> Value:
    """The position within a plane of the window's tensor, as a number."""
    simplifier = call.context.simplifier(call.result_type(0).shape)
    place: sympy.Expr = sympy.S.Zero
    for size, at in zip(window.tensor.shape[-len(index) :], index, strict=True):
        place = place * size + at
    return call.context.index_value(simplifier.simplify(place))


def average_pool(rank: int, call: Call) -> Lowered:
    """``avg_pool2d`` and ``3d``. With ``ceil_mode`` a window may reach beyond the padding; what
    lies there never counts."""
    beyond = call.flag(4, "ceil_mode")
    window, scalar = _window(call, rank, None), call.scalar
    total: Value = scalar.constant(0, call.dtype)
    count: Value = scalar.constant(0, call.dtype)
    with_padding = call.flag(5, "count_include_pad", True) or not any(window.padding)
    for mask, padded, index in window.elements():
        total = scalar.add(total, window.read(index, mask, 0))
        counts = padded if with_padding else mask
        count = scalar.add(count, scalar.where(counts, scalar.like(1, count), 0))
    divisor = call.maybe_number(6, "divisor_override")
    if divisor is None and with_padding and not beyond:
        divisor = math.prod(window.kernel)
    divide = scalar.div if call.dtype.is_float else functools.partial(scalar.op, Op.TRUNC_DIV)
    return call.result(divide(total, count if divisor is None else divisor))


def average_pool_backward(call: Call) -> Lowered:
    """``avg_pool2d_backward``: every input element collects its share of the gradients of
    the windows over it."""
    kernel = _sizes(call, 2, "kernel_size", (1, 1))
    stride = _sizes(call, 3, "stride", kernel)
    padding = _sizes(call, 4, "padding", (0, 0))
    if call.flag(5, "ceil_mode") or (any(padding) and not call.flag(6, "count_include_pad")):
        raise call.reject("windows of different sizes", "windows that all count the same")
    reach = [-(-k // s) for k, s in zip(kernel, stride, strict=True)]
    if reach[0] * reach[1] > LARGEST_WINDOW:
        raise call.reject(f"windows {kernel} by {stride}", f"at most {LARGEST_WINDOW} overlapping")
    grad = call.tensor(0, "grad_output")
    scalar, context, shape = call.scalar, call.context, call.shape
    simplifier = context.simplifier(shape)
    total: Value = scalar.constant(0, call.dtype)
    for back in product(*(range(r) for r in reach)):
        index = list(canonical(shape))
        mask: Value = scalar.constant(True, DType.BOOL)
        for axis, steps in enumerate(back):
            dim = len(shape) - 2 + axis
            place = index[dim] + padding[axis]
            window = simplifier.simplify(FloorDiv(place, sympy.Integer(stride[axis])) - steps)
            offset = simplifier.simplify(place - window * stride[axis])
            for here, end in ((window, grad.shape[dim]), (offset, sympy.Integer(kernel[axis]))):
                mask = scalar.both(mask, context.inside(here, shape, sympy.S.Zero, end))
            index[dim] = window
        value = call.read(grad, tuple(index), shape)
        value = context.masked(mask, scalar.cast(value, call.dtype), scalar.like(0, total))
        total = scalar.add(total, value)
    divisor = call.maybe_number(7, "divisor_override")
    count = kernel[0] * kernel[1] if divisor is None else divisor
    return call.result(scalar.div(total, count))


def adaptive_average_pool(call: Call) -> Lowered:
    """``_adaptive_avg_pool2d`` to sizes that divide the input's: means of equal tiles."""
    tensor, (*outer, h, w) = call.tensor(0), canonical(call.shape)
    sizes = list(zip(tensor.shape[-2:], call.shape[-2:], strict=True))
    tiles = tuple(size / wanted for size, wanted in sizes)
    if not all(tile.is_Integer for tile in tiles):
        raise call.reject(f"sizes {sizes}", "output sizes that divide the input's")
    r, q = canonical(tiles, "r")
    value = call.read(tensor, (*outer, h * tiles[0] + r, w * tiles[1] + q), call.shape, tiles)
    operand = Operand(call, value, tiles).cast(call.dtype)
    summed = operand.reduce(ReduceKind.SUM, call.dtype)
    return operand.finish(call.scalar.div(summed, int(operand.count)))


def _windows(lower: Callable[[Call], Lowered], rank: int = 2, kernel_at: int = 1) -> Rule:
    def reads(node: Node) -> int:
        given: Any = (*node.args, dict(node.kwargs).get("kernel_size"))[kernel_at]
        return int(math.prod(given)) ** (rank // len(given))

    return Rule(lower, reads=reads, partial=True)


RULES: Rules = {
    "aten.max_pool2d_with_indices.default": _windows(functools.partial(max_pool, 2)),
    "aten.max_pool3d_with_indices.default": _windows(functools.partial(max_pool, 3), 3),
    "aten.avg_pool2d.default": _windows(functools.partial(average_pool, 2)),
    "aten.avg_pool3d.default": _windows(functools.partial(average_pool, 3), 3),
    "aten.avg_pool2d_backward.default": _windows(average_pool_backward, kernel_at=2),
    "aten._adaptive_avg_pool2d.default": Rule(adaptive_average_pool, partial=True),
}
