"""Scalar arithmetic on program values: type rules in one place. ``Scalar`` is a thin layer over
``Builder`` that picks result types, folds casts of constants and gives bool arithmetic its meaning
(torch adds bools with *or* and multiplies them with *and*)."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from harness.dtypes import DType
from harness.ir.index import FloorDiv, Mod
from harness.ir.nodes import Builder, Constant, IndexValue, Value
from harness.ir.ops import Op
from harness.ir.value_bounds import is_held

Number = bool | int | float
Operand = Value | Number

_BOOLEAN_FORM = {
    Op.ADD: Op.LOGICAL_OR,
    Op.MUL: Op.LOGICAL_AND,
    Op.MAXIMUM: Op.LOGICAL_OR,
    Op.MINIMUM: Op.LOGICAL_AND,
    Op.BIT_AND: Op.LOGICAL_AND,
    Op.BIT_OR: Op.LOGICAL_OR,
    Op.BIT_XOR: Op.LOGICAL_XOR,
    Op.BIT_NOT: Op.LOGICAL_NOT,
}

# Integer arithmetic on positions stays an index expression, so that a position computed
# by the model (``arange(n) + 1``) can address memory linearly.
_OF_POSITIONS = frozenset((Op.ADD, Op.SUB, Op.MUL, Op.NEG))

# So do quotients and remainders of those that are not negative (``(arange(n) + 4) % n``, a roll).
_OF_PARTS = {Op.FLOOR_DIV: FloorDiv, Op.TRUNC_DIV: FloorDiv, Op.REMAINDER: Mod, Op.FMOD: Mod}

# Operations on constants, done when compiling: of numbers of the operands' own type, in float64,
# whose result is rounded to that type by what reads it.
_FOLDED: dict[Op, Callable[..., Any]] = {
    **{op: getattr(operator, op.value) for op in (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.ABS)},
    **{op: getattr(operator, op.value) for op in (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE)},
    Op.LOGICAL_NOT: lambda a: not a,
    Op.LOGICAL_OR: lambda a, b: bool(a) or bool(b),
}


def _position(value: Value) -> sympy.Expr | None:
    """The index expression ``value`` is, if it is one and loads nothing."""
    if isinstance(value, IndexValue) and not value.indirect:
        return value.index
    return sympy.Integer(int(value.number)) if isinstance(value, Constant) else None


def is_plain(position: sympy.Expr) -> bool:
    """Whether it can be written out and its numbers have 32 bits, wherever it is moved to."""
    squares = all(power.exp <= 2 for power in position.atoms(sympy.Pow))
    return squares and all(abs(n) < 1 << 31 for n in position.atoms(sympy.Integer))


@dataclass(frozen=True, slots=True)
class Scalar:
    """Makes scalar operations whose result type follows from their operands."""

    builder: Builder

    def constant(self, number: Number, dtype: DType) -> Constant:
        """``number`` in the compute type of ``dtype``, converted as torch converts on a CPU: an
        integer out of range wraps, and a float that is none is the least number, or an int32's."""
        compute = dtype.compute
        if compute is DType.BOOL:
            return self.builder.constant(bool(number), compute)
        if compute.is_integer:
            least, count = compute.least, 1 << 8 * compute.itemsize
            lowest, end = min(least, -(1 << 31)), max(least + count, 1 << 31)
            if isinstance(number, float) and not lowest <= number < end:
                number = lowest
            return self.builder.constant((int(number) - least) % count + least, compute)
        return self.builder.constant(float(number), compute)

    def like(self, number: Number, value: Value) -> Constant:
        """``number`` in the type of ``value``."""
        return self.constant(number, value.dtype)

    def index(self, expr: sympy.Expr, dtype: DType = DType.I64) -> Value:
        """An index expression without indirect parts as a number."""
        if expr.is_Integer:
            return self.constant(int(expr), dtype)
        if dtype.compute.is_integer:
            return self.builder.index(expr, dtype.compute)
        return self.cast(self.builder.index(expr, DType.I64), dtype)

    def cast(self, value: Value, dtype: DType) -> Value:
        """``value`` converted to the compute type of ``dtype``."""
        target = dtype.compute
        if value.dtype is target:
            return value
        if isinstance(value, Constant):
            return self.constant(value.dtype.nearest(value.number), target)
        if isinstance(value, IndexValue) and target.is_integer and not value.indirect:
            if target.itemsize > value.dtype.itemsize and not is_held(value):
                return self.builder.compute(Op.CAST, value, dtype=target)
            return self.builder.index(value.index, target)
        if target is DType.BOOL:
            return self.compare(Op.NE, value, self.like(0, value))
        return self.builder.compute(Op.CAST, value, dtype=target)

    def alike(self, operands: tuple[Operand, ...]) -> tuple[Value, ...]:
        """Operands of one type: a number among them takes that of the first that is none."""
        value = next(one for one in operands if not isinstance(one, Number))
        return tuple(self.like(one, value) if isinstance(one, Number) else one for one in operands)

    def op(self, op: Op, *operands: Operand) -> Value:
        """An operation whose result has the type of its operands."""
        args = self.alike(operands)
        dtype = args[0].dtype
        if dtype is DType.BOOL:
            op = _BOOLEAN_FORM.get(op, op)
        elif dtype.is_integer and op in _OF_POSITIONS:
            exprs = [_position(a) for a in args]
            if None not in exprs and is_plain(made := _FOLDED[op](*exprs)):
                return self.index(made, dtype)
        elif op in _OF_PARTS and isinstance(args[0], IndexValue) and is_held(args[0]):
            whole, part = map(_position, args)
            known = whole is not None and whole.is_nonnegative and part is not None and part > 0
            if known and is_plain(made := _OF_PARTS[op](whole, part)):
                return self.index(made, dtype)
        return self.folded(op, args, dtype) or self.builder.compute(op, *args, dtype=dtype)

    def compare(self, op: Op, *operands: Operand) -> Value:
        """An operation whose result is bool: comparisons, logic, ``isnan``."""
        args, dtype = self.alike(operands), DType.BOOL
        return self.folded(op, args, dtype) or self.builder.compute(op, *args, dtype=dtype)

    def folded(self, op: Op, args: Sequence[Value], dtype: DType) -> Value | None:
        """The result of an operation if constants decide it: all operands of a simple one, the
        condition of a choice (or two equal sides), one operand of a logical and."""
        if op is Op.WHERE:
            mask, yes, no = args
            if isinstance(mask, Constant):
                return yes if mask.number else no
            return yes if yes is no else None
        for one, other in zip(args, args[::-1], strict=True) if op is Op.LOGICAL_AND else ():
            if isinstance(one, Constant):
                return other if one.number else one
        numbers = [a.dtype.nearest(a.number) for a in args if isinstance(a, Constant)]
        if len(numbers) < len(args) or op not in _FOLDED:
            return None
        return self.constant(_FOLDED[op](*numbers), dtype)

    def where(self, mask: Value, yes: Operand, no: Operand) -> Value:
        """``yes`` where ``mask`` holds, else ``no`` (of the same type)."""
        args = (mask, *self.alike((yes, no)))
        known = self.folded(Op.WHERE, args, args[1].dtype)
        return known or self.builder.compute(Op.WHERE, *args, dtype=args[1].dtype)

    def both(self, left: Value, right: Value) -> Value:
        """Logical and."""
        return self.compare(Op.LOGICAL_AND, left, right)

    def add(self, left: Operand, right: Operand) -> Value:
        """Sum."""
        return self.op(Op.ADD, left, right)

    def sub(self, left: Operand, right: Operand) -> Value:
        """Difference."""
        return self.op(Op.SUB, left, right)

    def mul(self, left: Value, right: Operand) -> Value:
        """Product; a factor that is the constant one disappears."""
        return self._by(Op.MUL, left, right)

    def div(self, left: Operand, right: Operand) -> Value:
        """Quotient of floats; a divisor that is the constant one disappears."""
        return self._by(Op.TRUE_DIV, left, right)

    def _by(self, op: Op, left: Operand, right: Operand) -> Value:
        left, right = self.alike((left, right))
        one = isinstance(right, Constant) and right.number == 1
        return left if one else self.op(op, left, right)


def _category(dtype: DType) -> int:
    return 0 if dtype is DType.BOOL else 2 if dtype.is_float else 1


_WIDER_THAN_BOTH = {
    frozenset((DType.U8, DType.I8)): DType.I16,
    frozenset((DType.F16, DType.BF16)): DType.F32,
}


def promote(left: DType, right: DType) -> DType:
    """The type two tensors of equal standing are brought to."""
    if left is right:
        return left
    if _category(left) != _category(right):
        return left if _category(left) > _category(right) else right
    wider = left if left.itemsize >= right.itemsize else right
    return _WIDER_THAN_BOTH.get(frozenset((left, right)), wider)


_DEFAULT_OF_CATEGORY = (DType.BOOL, DType.I64, DType.F32)


def result_type(operands: list[tuple[DType, int]]) -> DType:
    """Type promotion of torch. Each operand is (type, standing): 2 for a tensor with dimensions,
    1 for a tensor without, 0 for a Python number. An operand of lower standing counts only if it
    is of a higher category (bool < integer < float); a Python number that counts brings the
    default type of its category."""
    result: DType | None = None
    for standing in (2, 1, 0):
        if not (group := [d for d, s in operands if s == standing]):
            continue
        merged = functools.reduce(promote, group)
        if standing == 0:
            merged = _DEFAULT_OF_CATEGORY[_category(merged)]
        if result is None or _category(merged) > _category(result):
            result = merged
    assert result is not None
    return result
