"""The form of a lowering rule, and a node's arguments as rules see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import sympy

from harness.dtypes import DType
from harness.errors import UnsupportedOperator
from harness.graph.lowering.context import Context, Index
from harness.graph.lowering.scalar import Number, Scalar, result_type
from harness.graph.lowering.tensor import Lowered, Shape, Tensor, repeated
from harness.graph.model import DIVISORS, Arg, Node, Ref, TensorType
from harness.ir.nodes import Constant, Load, Value
from harness.ir.ops import Op

MISSING = object()


@dataclass(frozen=True, slots=True)
class Call:
    """One node being lowered: its arguments resolved, the context at hand."""

    context: Context
    node: Node
    values: Mapping[str, Tensor]
    types: Mapping[str, TensorType]
    rules: Mapping[str, Rule]

    @property
    def scalar(self) -> Scalar:
        """Scalar arithmetic."""
        return self.context.scalar

    @property
    def type(self) -> TensorType:
        """The node's own type, for operators with one result."""
        return self.result_type(0)

    @property
    def shape(self) -> Shape:
        """The node's shape."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """The node's element type."""
        return self.type.dtype

    def result_type(self, position: int) -> TensorType:
        """The type of result number ``position``."""
        found = self.node.type
        if isinstance(found, tuple):
            found = found[position]
        if found is None:
            raise self.reject("it has no tensor result", "a tensor type on the node")
        return found

    def reject(self, got: str, expected: str = "") -> UnsupportedOperator:
        """The error that this form of the operator has no lowering."""
        return unsupported(self.node, got, expected)

    def raw(self, position: int, name: str, default: object = MISSING) -> Arg:
        """An argument as the graph has it, by position or by name."""
        if (found := self.node.argument(position, name, default)) is MISSING:
            raise self.reject(f"argument {name!r} is missing")
        return found

    def tensor(self, position: int, name: str = "self") -> Tensor:
        """A tensor argument; a number becomes a tensor without dimensions."""
        return self.as_tensor(self.raw(position, name), name)

    def as_tensor(self, arg: Arg, name: str) -> Tensor:
        """A graph argument as a tensor."""
        if isinstance(arg, Ref):
            found = self.values.get(arg.name)
            if found is None:
                raise self.reject(f"{name!r} is %{arg.name}, which is not one tensor")
            return found
        if isinstance(arg, sympy.Expr) and not arg.is_Integer:
            if not arg.is_integer:
                raise self.reject(f"{name!r} is the expression {arg}", "an integer expression")
            return Tensor((), DType.I64, self.context.index_value(arg))
        arg = int(arg) if isinstance(arg, sympy.Expr) else arg
        for kind, dtype in ((bool, DType.BOOL), (int, DType.I64), (float, DType.F64)):
            if isinstance(arg, kind):
                return Tensor((), dtype, self.scalar.constant(arg, dtype))
        raise self.reject(f"{name!r} is {arg!r}", "a tensor or a number")

    def tensors(self, position: int, name: str = "tensors") -> list[Tensor]:
        """A list of tensors."""
        arg = self.raw(position, name)
        if not isinstance(arg, tuple):
            raise self.reject(f"{name!r} is {arg!r}", "a list of tensors")
        return [self.as_tensor(a, name) for a in arg]

    def number(self, position: int, name: str, default: object = MISSING) -> Number:
        """A Python number that is known when compiling."""
        arg = self.raw(position, name, default)
        if isinstance(arg, sympy.Expr) and arg.is_number:
            return int(arg) if arg.is_Integer else float(arg)
        if isinstance(arg, bool | int | float):
            return arg
        raise self.reject(f"{name!r} is {arg!r}", "a number known when compiling")

    def filler(self, number: Number) -> Constant:
        """``number`` as it is in memory of this node's type."""
        narrow = self.dtype is not self.dtype.compute
        return self.scalar.constant(self.dtype.nearest(number) if narrow else number, self.dtype)

    def maybe_number(self, position: int, name: str) -> Number | None:
        """A number that may be absent."""
        return None if self.raw(position, name, None) is None else self.number(position, name)

    def flag(self, position: int, name: str, default: bool = False) -> bool:
        """A truth value."""
        return bool(self.raw(position, name, default))

    def text(self, position: int, name: str, default: str = "") -> str:
        """A string argument, ``default`` if absent or None."""
        arg = self.raw(position, name, default)
        return arg if isinstance(arg, str) else default

    def size(self, position: int, name: str, default: object = MISSING) -> sympy.Expr:
        """An integer or a size expression."""
        return sympy.sympify(self.raw(position, name, default))

    def sizes(self, position: int, name: str, default: object = MISSING) -> Shape:
        """A list of integers or size expressions (one number stands for a list)."""
        arg = self.raw(position, name, default)
        items = arg if isinstance(arg, tuple) else (arg,)
        return tuple(sympy.sympify(a) for a in items)

    def dim(self, position: int, name: str, rank: int, default: object = MISSING) -> int:
        """A dimension, counted from the end if negative."""
        return self.wrap_dim(int(self.number(position, name, default)), rank)

    def wrap_dim(self, dim: int, rank: int) -> int:
        """``dim`` in 0 … rank-1."""
        span = max(rank, 1)
        if not -span <= dim < span:
            raise self.reject(f"dimension {dim}", f"a dimension of a tensor of rank {rank}")
        return dim % span

    def dims(self, position: int, name: str, rank: int) -> list[int]:
        """A list of dimensions in ascending order; absent or empty means all."""
        arg = self.raw(position, name, None)
        if arg is None or arg == ():
            return list(range(rank))
        return sorted({self.wrap_dim(int(a), rank) for a in self.sizes(position, name)})

    def read(self, tensor: Tensor, index: Index, shape: Shape, rsizes: Shape = ()) -> Value:
        """``tensor`` at ``index``; see ``Context.read``."""
        return self.context.read(tensor, index, shape, rsizes)

    def broadcast(self, tensor: Tensor, shape: Shape) -> Value:
        """``tensor`` broadcast to ``shape``."""
        if len(shape) < tensor.rank:
            raise self.reject(f"shape {tensor.shape}", f"a shape that broadcasts to {shape}")
        return self.read(tensor, repeated(tensor.shape, shape), shape)

    def operand(self, position: int, name: str = "other", dtype: DType | None = None) -> Value:
        """An operand of a pointwise operator: broadcast to the node's shape and converted
        to ``dtype`` (the node's own type if not given)."""
        tensor = self.tensor(position, name)
        return self.scalar.cast(self.broadcast(tensor, self.shape), dtype or self.dtype)

    def divisor(self, value: Value) -> Value:
        """``value``; where an integer is divided by it, a kernel on a CPU stops at zeros."""
        sure = not value.dtype.is_integer or (isinstance(value, Constant) and value.number != 0)
        if sure or DIVISORS not in self.context.facts:
            return value
        return self.context.builder.compute(Op.DIVISOR, value, dtype=value.dtype)

    def decisive(self, position: int, name: str = "other", dtype: DType | None = None) -> Value:
        """``operand`` of an operator whose result jumps somewhere (a comparison, a floor), as eager
        mode has it: rounded to its own type, and to ``dtype``. Otherwise a value that one kernel
        keeps in float32 would not equal itself read from memory, as the gradient of ``amax`` needs,
        nor 0.1 the nearest number of 16 bits. (What is widened is not: its extremes are not.)"""
        tensor, wanted = self.tensor(position, name), dtype or self.dtype
        value = self.rounded(self.broadcast(tensor, self.shape), tensor.dtype)
        value = self.scalar.cast(value, wanted)
        return value if tensor.dtype is wanted else self.rounded(value, wanted)

    def rounded(self, value: Value, dtype: DType) -> Value:
        """``value`` rounded to ``dtype`` if that is narrower than what is computed in, and if it
        is no input of that type: what else is read may come to be computed in the same kernel.
        Rounding twice does no harm."""
        if dtype.compute is dtype or not dtype.is_float:
            return value
        if isinstance(value, Constant) and abs(value.number) <= 4 and value.number * 2 % 1 == 0:
            return value  # every type has it
        if isinstance(value, Load) and value.buffer in self.context.given:
            stored = self.types.get(value.buffer)
            if stored is not None and stored.dtype is dtype:
                return value
        return self.context.builder.rounded(value, dtype)

    def promoted(self, *positions: int) -> DType:
        """The common type of several operands by torch's promotion."""
        operands = []
        for position in positions:
            arg = self.raw(position, str(position))
            tensor = self.as_tensor(arg, str(position))
            standing = 0 if not isinstance(arg, Ref) else (2 if tensor.rank else 1)
            operands.append((tensor.dtype, standing))
        return result_type(operands)

    def result(self, value: Value) -> Tensor:
        """The node's result, converted to its type."""
        return Tensor(self.shape, self.dtype, self.scalar.cast(value, self.dtype))


def unsupported(node: Node, got: str, expected: str = "") -> UnsupportedOperator:
    """The error that ``node`` has no lowering, with the model's source line."""
    where = f"%{node.name} = {node.op}"
    if node.source:
        where += f" ({node.source})"
    return UnsupportedOperator(
        f"{node.op} has no lowering here",
        where=where,
        got=got,
        expected=expected,
        remedy="keep it as a library call (the partition does so for operators that"
        " lowering.supports() rejects), decompose it when capturing, or add a lowering"
        " in harness/graph/lowering",
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """How one operator is lowered.

    ``view``: only rearranges indices, so using the result is using the operand. ``fresh``: what
    torch returns never shares memory with the operand. ``reads``: how many elements of its operand
    a call reads for one of its own, if not one. ``partial``: some forms of the operator are
    rejected, which depends on the call.
    """

    lower: Callable[[Call], Lowered]
    view: bool = False
    fresh: bool = False
    reads: Callable[[Node], int] | None = None
    partial: bool = False


Rules = Mapping[str, Rule]


def elementwise(
    function: Callable[..., Value], count: int, read: Callable[..., Value] = Call.operand
) -> Rule:
    """The rule of an operator whose elements are ``function(scalar, …)`` of ``count`` operands in
    the result's type; ``read``: as they are computed, or ``Call.decisive``."""
    return Rule(
        lambda call: call.result(function(call.scalar, *(read(call, n) for n in range(count))))
    )


jumping = partial(elementwise, read=Call.decisive)


def reading(index: Callable[[Call, Tensor], Index], **about: Any) -> Rule:
    """The rule of an operator whose elements are those of its first operand, at ``index``; what a
    dimension of size one is read at does not matter. ``about`` as in ``Rule``."""

    def lower(call: Call) -> Lowered:
        tensor = call.tensor(0)
        return call.result(call.read(tensor, index(call, tensor), call.shape))

    return Rule(lower, **about)
