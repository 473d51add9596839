"""Reductions. Their results always become buffers; what follows the reduction itself
(a division, a root) is part of the stored value and runs once per result element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import sympy

from harness.dtypes import DType
from harness.graph.lowering.rule import Call, Rule, Rules
from harness.graph.lowering.tensor import (
    Lowered,
    OnlineSum,
    Reduced,
    Result,
    Shape,
    Tensor,
    canonical,
    is_one,
    reduction_index,
)
from harness.ir.nodes import Compute, Load, ReduceKind, Value
from harness.ir.ops import Op


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

    @property
    def trivial(self) -> bool:
        """Whether exactly one element is reduced, so that there is no loop."""
        return all(is_one(n) for n in self.rsizes)

    def map(self, function: Callable[[Value], Value]) -> Operand:
        """The same reduction of changed elements."""
        return Operand(self.call, function(self.value), self.rsizes)

    def cast(self, dtype: DType) -> Operand:
        """The same reduction of converted elements."""
        return self.map(lambda v: self.call.scalar.cast(v, dtype))

    def reduce(self, kind: ReduceKind, dtype: DType, component: int = 0) -> Value:
        """One component of the reduction."""
        if self.trivial:
            return self._single(kind, component)
        return self.call.context.builder.reduce(
            kind, self.value, dtype=dtype.compute, component=component
        )

    def _single(self, kind: ReduceKind, component: int) -> Value:
        scalar = self.call.scalar
        if kind in (ReduceKind.ARGMAX, ReduceKind.ARGMIN):
            return scalar.constant(0, DType.I64)
        if kind is ReduceKind.WELFORD and component > 0:
            return scalar.like(0 if component == 1 else 1, self.value)
        if kind is ReduceKind.SOFTMAX and component > 0:
            return scalar.like(1, self.value)
        return self.value

    def finish(self, value: Value, position: int = 0) -> Result:
        """The node's result number ``position``."""
        kind = self.call.result_type(position)
        converted = self.call.scalar.cast(value, kind.dtype)
        if self.trivial:
            return Tensor(kind.shape, kind.dtype, converted)
        return Reduced(kind.shape, kind.dtype, converted, self.rsizes)


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
    index = dict(zip(kept, outer, strict=True)) | dict(
        zip(dims, reduction_index(rsizes), strict=True)
    )
    where = tuple(index[d] for d in range(tensor.rank))
    return Operand(call, call.read(tensor, where, shape, rsizes), rsizes)


def total(kind: ReduceKind) -> Rule:
    """``sum`` and ``prod``: accumulated in the result's type."""

    def lower(call: Call) -> Lowered:
        operand = over(call).cast(call.dtype)
        if kind is ReduceKind.SUM:
            companion = sum_of_exponentials(operand)
            if companion is not None:
                return companion
        return operand.finish(operand.reduce(kind, call.dtype))

    return Rule(lower)


# Up to here a kernel keeps a whole row in registers, and two passes over it cost less
# than one pass that corrects its sum whenever the maximum grows.
LONGEST_ROW_IN_REGISTERS = 1024


def sum_of_exponentials(operand: Operand) -> Result | None:
    """``sum(exp(x - max(x)))`` of long rows as the second component of the reduction that
    found the maximum: both come from one pass over ``x``."""
    match operand.value:
        case Compute(op=Op.EXP, args=(Compute(op=Op.SUB, args=(value, Load() as top)),)):
            pass
        case _:  # any other shape of expression
            return None
    if operand.call.dtype.compute is not value.dtype:
        return None
    short = operand.count.is_Integer and int(operand.count) <= LONGEST_ROW_IN_REGISTERS
    if short or top.indirect:
        return None
    builder, dtype = operand.call.context.builder, value.dtype
    plain = operand.finish(operand.reduce(ReduceKind.SUM, dtype))
    assert isinstance(plain, Reduced)
    online = OnlineSum(
        top,
        builder.reduce(ReduceKind.MAX, value, dtype=dtype),
        builder.reduce(ReduceKind.SOFTMAX, value, dtype=dtype, component=0),
        builder.reduce(ReduceKind.SOFTMAX, value, dtype=dtype, component=1),
    )
    return replace(plain, online=online)


def mean(call: Call) -> Lowered:
    """``mean``: the sum divided by the number of elements."""
    operand = over(call).cast(call.dtype)
    summed = operand.reduce(ReduceKind.SUM, call.dtype)
    count = call.context.index_value(operand.count, call.dtype)
    return operand.finish(call.scalar.div(summed, count))


def extreme(kind: ReduceKind) -> Rule:
    """``amax`` and ``amin``; of bools they are *any* and *all*."""

    def lower(call: Call) -> Lowered:
        operand = over(call)
        return operand.finish(extreme_of(operand, kind))

    return Rule(lower)


def extreme_of(operand: Operand, kind: ReduceKind) -> Value:
    """Largest or smallest element."""
    if operand.value.dtype is DType.BOOL:
        return any_of(operand) if kind is ReduceKind.MAX else all_of(operand)
    return operand.reduce(kind, operand.value.dtype)


def any_of(operand: Operand) -> Value:
    """Whether an element is true."""
    return operand.cast(DType.BOOL).reduce(ReduceKind.ANY, DType.BOOL)


def all_of(operand: Operand) -> Value:
    """Whether every element is true: no element is false."""
    scalar = operand.call.scalar
    negated = operand.cast(DType.BOOL).map(lambda v: scalar.compare(Op.LOGICAL_NOT, v))
    return scalar.compare(Op.LOGICAL_NOT, negated.reduce(ReduceKind.ANY, DType.BOOL))


def any_(call: Call) -> Lowered:
    """``any``."""
    operand = over(call)
    return operand.finish(any_of(operand))


def extreme_with_index(kind: ReduceKind, position_kind: ReduceKind) -> Rule:
    """``max.dim`` and ``min.dim``: values and their (first) positions."""

    def lower(call: Call) -> Lowered:
        operand = over(call)
        position = _countable(_rounded(operand)).reduce(position_kind, DType.I64)
        values = operand.finish(extreme_of(operand, kind), 0)
        positions = operand.finish(position, 1)
        return values, positions

    return Rule(lower)


def _rounded(operand: Operand) -> Operand:
    """What is ranked, as eager mode has it: what is equal in 16 bits is a tie."""
    dtype = operand.call.tensor(0).dtype
    return operand.map(lambda value: operand.call.rounded(value, dtype))


def _countable(operand: Operand) -> Operand:
    """Bools have no order; compare them as numbers."""
    return operand.cast(DType.I32) if operand.value.dtype is DType.BOOL else operand


def position_of(kind: ReduceKind) -> Rule:
    """``argmax`` and ``argmin``; without a dimension the position in row-major order."""

    def lower(call: Call) -> Lowered:
        operand = _countable(_rounded(over(call)))
        return operand.finish(operand.reduce(kind, DType.I64))

    return Rule(lower)


def _deviations(call: Call) -> tuple[Operand, Value]:
    """What is reduced, and its variance: the sum of squared deviations over
    ``max(0, n - correction)``."""
    operand = over(call, 1, 3).cast(call.dtype)
    given = call.maybe_number(2, "correction")
    correction = 1 if given is None else given
    squares = operand.reduce(ReduceKind.WELFORD, call.dtype, 1)
    if operand.count.is_Integer:
        divisor: Value = call.scalar.like(max(0.0, int(operand.count) - correction), squares)
    elif correction == int(correction):
        count = sympy.Max(0, operand.count - int(correction))
        divisor = call.context.index_value(count, squares.dtype)
    else:
        raise call.reject(f"correction = {correction}", "a whole number, for unknown sizes")
    return operand, call.scalar.div(squares, divisor)


def variance(call: Call) -> Lowered:
    """``var``."""
    operand, found = _deviations(call)
    return operand.finish(found)


def variance_and_mean(call: Call) -> Lowered:
    """``var_mean``: both from one pass."""
    operand, found = _deviations(call)
    mean_too = operand.reduce(ReduceKind.WELFORD, call.dtype, 0)
    return operand.finish(found, 0), operand.finish(mean_too, 1)


RULES: Rules = {
    "aten.sum.dim_IntList": total(ReduceKind.SUM),
    "aten.prod.dim_int": total(ReduceKind.PROD),
    "aten.prod.default": total(ReduceKind.PROD),
    "aten.mean.dim": Rule(mean),
    "aten.mean.default": Rule(mean),
    "aten.amax.default": extreme(ReduceKind.MAX),
    "aten.amin.default": extreme(ReduceKind.MIN),
    "aten.max.default": extreme(ReduceKind.MAX),
    "aten.min.default": extreme(ReduceKind.MIN),
    "aten.max.dim": extreme_with_index(ReduceKind.MAX, ReduceKind.ARGMAX),
    "aten.min.dim": extreme_with_index(ReduceKind.MIN, ReduceKind.ARGMIN),
    "aten.argmax.default": position_of(ReduceKind.ARGMAX),
    "aten.argmin.default": position_of(ReduceKind.ARGMIN),
    "aten.any.default": Rule(any_),
    "aten.any.dim": Rule(any_),
    "aten.any.dims": Rule(any_),
    "aten.var.correction": Rule(variance),
    "aten.var_mean.correction": Rule(variance_and_mean),
}
