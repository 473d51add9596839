"""Reductions. Their results always become buffers; what follows the reduction itself
(a division, a root) is part of the stored value and runs once per result element."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import sympy

from harness.dtypes import DType
from harness.graph.lowering.cost import MOST_LOADS, MOST_OPS, profile
from harness.graph.lowering.rule import Call, Rule, Rules
from harness.graph.lowering.single import single_sum
from harness.graph.lowering.tensor import (
    Lowered,
    Reduced,
    Result,
    Shape,
    Tensor,
    canonical,
    is_one,
    ranges_of,
)
from harness.graph.model import TEMPLATES
from harness.ir.affine import affine, positions, size_hint
from harness.ir.nodes import Axis, Reduce, ReduceKind, Value, walk
from harness.ir.ops import Op

APART = 16
"""By how many elements terms that are written out lie apart at least: 16-bit ones fill a sector."""

_LEAST_SIDE, _LEAST_RESULTS, _READ = 64, 1 << 17, 16
"""Of matrix products that are kernels: least sides, least results (tiles for a device), and the
elements of an operand that a result counts for: of 1024 terms, 64 results of a tile share them."""

_STEPS = {
    ReduceKind.SUM: Op.ADD, ReduceKind.PROD: Op.MUL, ReduceKind.MAX: Op.MAXIMUM,
    ReduceKind.MIN: Op.MINIMUM, ReduceKind.ANY: Op.LOGICAL_OR, ReduceKind.XOR: Op.BIT_XOR,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operand:
    """What is reduced: a value over output and reduction variables."""

    call: Call
    value: Value
    rsizes: Shape

    @property
    def count(self) -> sympy.Expr:
        """Number of elements reduced into one."""
        return sympy.Mul(*self.rsizes)

    def map(self, function: Callable[[Value], Value]) -> Operand:
        """The same reduction of changed elements."""
        return Operand(self.call, function(self.value), self.rsizes)

    def cast(self, dtype: DType) -> Operand:
        """The same reduction of converted elements."""
        return self.map(lambda v: self.call.scalar.cast(v, dtype))

    def reduce(self, kind: ReduceKind, dtype: DType, component: int = 0) -> Value:
        """One component of the reduction."""
        if all(map(is_one, self.rsizes)):  # one element: there is no loop
            return self._single(kind, component)
        if (written := self._written_out(kind)) is not None:
            return written
        builder, found = self.call.context.builder, None
        if kind is ReduceKind.SUM and self.call.node.name in self.call.context.crossed():
            axes = [*itertools.starmap(Axis, ranges_of((), self.rsizes).items())]
            found = single_sum(self.value, axes, builder)
        return found or builder.reduce(kind, self.value, dtype=dtype.compute, component=component)

    def _single(self, kind: ReduceKind, component: int) -> Value:
        scalar = self.call.scalar
        if kind in (ReduceKind.ARGMAX, ReduceKind.ARGMIN):
            return scalar.constant(0, DType.I64)
        if kind is ReduceKind.WELFORD and component:
            return scalar.sub(self.value, self.value)  # NaN of what is not finite
        if kind in (ReduceKind.SUM, ReduceKind.WELFORD) and self.value.dtype.is_float:
            return scalar.add(self.value, 0)  # so that -0.0 comes to 0.0
        return self.value

    def _written_out(self, kind: ReduceKind) -> Value | None:
        """The reduction as an expression of its elements, in their order, if they are few loads
        and operations, and in sectors of their own."""
        context, inner = self.call.context, ranges_of((), self.rsizes)
        if kind not in _STEPS or not self.count.is_Integer or not context.apart(self.call.node):
            return None
        made, outer = profile(self.value), ranges_of(self.call.shape)
        own = [v for v in made.loads if v.indirect or outer.keys() <= v.index.free_symbols]
        for found in (affine(load.index, positions(inner)) for load in own):
            if found.rest or any(0 < abs(size_hint(step)) < APART for step in found.strides):
                return None
        if len(own) * self.count > MOST_LOADS or made.ops * self.count > MOST_OPS:
            return None
        places = itertools.product(*(map(sympy.Integer, range(n)) for n in inner.values()))
        moves = (dict(zip(inner, place, strict=True)) for place in places)
        simplifier = context.simplifier(self.call.shape)
        terms = (context.substitute(self.value, move, simplifier) for move in moves)
        whole = functools.reduce(functools.partial(context.scalar.op, _STEPS[kind]), terms)
        return Operand(self.call, whole, ()).reduce(kind, whole.dtype)

    def finish(self, value: Value, position: int = 0) -> Result:
        """The node's result number ``position``."""
        kind = self.call.result_type(position)
        converted = self.call.scalar.cast(value, kind.dtype)
        if any(isinstance(v, Reduce) for v in walk([converted])):
            return Reduced(converted, self.rsizes)
        return Tensor(kind.shape, kind.dtype, converted)


def over(call: Call, dims_at: int = 1, keepdim_at: int = 2) -> Operand:
    """The first argument, read over output variables and, along the dimensions of the common
    signature ``(self, dim, keepdim)``, reduced ones; along all where the call names none."""
    tensor = call.tensor(0)
    # A tensor without dimensions is said to have one.
    dims = [d for d in call.dims(dims_at, "dim", tensor.rank) if d < tensor.rank]
    rsizes = tuple(tensor.shape[d] for d in dims)
    shape = tuple(sympy.S.One if d in dims else n for d, n in enumerate(tensor.shape))
    if not call.flag(keepdim_at, "keepdim"):
        shape = tuple(n for d, n in enumerate(tensor.shape) if d not in dims)
    outer = canonical(shape)
    kept = [d for d in range(tensor.rank) if len(outer) == tensor.rank or d not in dims]
    index = dict(zip((*kept, *dims), (*outer, *canonical(rsizes, "r")), strict=True))
    where = tuple(index[d] for d in range(tensor.rank))
    return Operand(call, call.read(tensor, where, shape, rsizes), rsizes)


def reduction(
    *results: Callable[[Operand], Value], converted: bool = False, at: tuple[int, int] = (1, 2)
) -> Rule:
    """The rule of a reduction with these ``results``, of elements ``converted`` to the result's
    type or as they are; ``at`` are the places of ``dim`` and ``keepdim`` among its arguments."""

    def lower(call: Call) -> Lowered:
        operand = over(call, *at)
        operand = operand.cast(call.dtype) if converted else operand
        made = tuple(operand.finish(value(operand), n) for n, value in enumerate(results))
        return made if isinstance(call.node.type, tuple) else made[0]

    return Rule(lower)


def total(kind: ReduceKind) -> Rule:
    """``sum``, ``prod`` and ``xor_sum``: accumulated in the result's type."""
    return reduction(lambda operand: operand.reduce(kind, operand.call.dtype), converted=True)


def mean(operand: Operand) -> Value:
    """The sum divided by the number of elements."""
    call = operand.call
    summed = operand.reduce(ReduceKind.SUM, call.dtype)
    return call.scalar.div(summed, call.context.index_value(operand.count, call.dtype))


def largest(operand: Operand) -> Value:
    """The largest element; of bools whether any is true."""
    if operand.value.dtype is DType.BOOL:
        return any_of(operand)
    return operand.reduce(ReduceKind.MAX, operand.value.dtype)


def smallest(operand: Operand) -> Value:
    """The smallest element; of bools whether none is false."""
    if operand.value.dtype is not DType.BOOL:
        return operand.reduce(ReduceKind.MIN, operand.value.dtype)
    scalar = operand.call.scalar
    negated = operand.map(lambda v: scalar.compare(Op.LOGICAL_NOT, v))
    return scalar.compare(Op.LOGICAL_NOT, negated.reduce(ReduceKind.ANY, DType.BOOL))


def any_of(operand: Operand) -> Value:
    """Whether an element is true."""
    return _as_stored(operand).cast(DType.BOOL).reduce(ReduceKind.ANY, DType.BOOL)


def _as_stored(operand: Operand) -> Operand:
    """What is decided on, as eager mode has it."""
    return operand.map(lambda value: operand.call.rounded(value, operand.call.tensor(0).dtype))


def position_of(kind: ReduceKind) -> Callable[[Operand], Value]:
    """The (first) position of an extreme; without a dimension that in row-major order. What is
    equal in 16 bits is a tie, as in eager mode; bools have no order and count as numbers."""

    def position(operand: Operand) -> Value:
        bools = operand.value.dtype is DType.BOOL
        return _as_stored(operand.cast(DType.I32) if bools else operand).reduce(kind, DType.I64)

    return position


def variance(operand: Operand) -> Value:
    """The sum of squared deviations over ``max(0, n - correction)``."""
    call = operand.call
    given = call.maybe_number(2, "correction")
    correction = 1 if given is None else given
    squares = operand.reduce(ReduceKind.WELFORD, operand.value.dtype, 1)
    if operand.count.is_Integer:
        divisor: Value = call.scalar.like(max(0.0, int(operand.count) - correction), squares)
    elif correction == int(correction):
        count = sympy.Max(0, operand.count - int(correction))
        divisor = call.context.index_value(count, squares.dtype)
    else:
        raise call.reject(f"correction = {correction}", "a whole number, for unknown sizes")
    return call.scalar.div(squares, divisor)


def running_mean(operand: Operand) -> Value:
    """The mean, from the pass that finds the variance."""
    return operand.reduce(ReduceKind.WELFORD, operand.value.dtype, 0)


def product(added: bool) -> Rule:
    """Matrix products of 16 bits, added up in float32, where a graph asks for them; ``added``: a
    multiple of the sum to a multiple of the first argument."""

    def lower(call: Call) -> Lowered:
        first, second = (call.tensor(n + added, name) for n, name in enumerate(("self", "mat2")))
        terms, dtype = first.shape[-1:], call.dtype
        *batch, y, x = canonical(call.shape)
        sides = (*call.shape, *terms)
        large = all(n.is_Integer for n in sides) and min(*call.shape[-2:], *terms) >= _LEAST_SIDE
        asked = TEMPLATES in call.context.facts and dtype in (DType.BF16, DType.F16) and large
        if not (asked and sympy.Mul(*call.shape) >= _LEAST_RESULTS):
            raise call.reject("a matrix product", "a large one of 16 bits, and a graph that asks")
        (r,) = canonical(terms, "r")
        places, scalar = ((first, (*batch, y, r)), (second, (*batch, r, x))), call.scalar
        pair = (call.rounded(call.read(t, at, call.shape, terms), dtype) for t, at in places)
        operand = Operand(call, scalar.op(Op.MUL, *pair), terms)
        total = operand.reduce(ReduceKind.SUM, DType.F32)
        if added:
            beta, alpha = (call.number(9, name, 1) for name in ("beta", "alpha"))
            given = call.broadcast(call.tensor(0), call.shape)
            given, total = (
                value if n == 1 else scalar.op(Op.MUL, value, n)
                for value, n in ((given, beta), (total, alpha))
            )
            total = scalar.add(given, total) if beta != 0 else total  # nor is a NaN of it seen
        return operand.finish(total)

    return Rule(lower, reads=lambda _: _READ, partial=True)


RULES: Rules = {
    **dict.fromkeys(("aten.mm.default", "aten.bmm.default"), product(added=False)),
    **dict.fromkeys(("aten.addmm.default", "aten.baddbmm.default"), product(added=True)),
    "aten.sum.dim_IntList": total(ReduceKind.SUM),
    "aten.prod.dim_int": total(ReduceKind.PROD),
    "aten.prod.default": total(ReduceKind.PROD),
    "aten.mean.dim": reduction(mean, converted=True),
    "aten.mean.default": reduction(mean, converted=True),
    "aten.amax.default": reduction(largest),
    "aten.amin.default": reduction(smallest),
    "aten.max.default": reduction(largest),
    "aten.min.default": reduction(smallest),
    "aten.max.dim": reduction(largest, position_of(ReduceKind.ARGMAX)),
    "aten.min.dim": reduction(smallest, position_of(ReduceKind.ARGMIN)),
    "aten.argmax.default": reduction(position_of(ReduceKind.ARGMAX)),
    "aten.argmin.default": reduction(position_of(ReduceKind.ARGMIN)),
    "aten.any.default": reduction(any_of),
    "aten.any.dim": reduction(any_of),
    "aten.any.dims": reduction(any_of),
    "harness.xor_sum.default": total(ReduceKind.XOR),
    "aten.var.correction": reduction(variance, converted=True, at=(1, 3)),
    "aten.var_mean.correction": reduction(variance, running_mean, converted=True, at=(1, 3)),
}
