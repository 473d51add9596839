"""Elementwise arithmetic: operands broadcast, promoted, combined element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import TypeGuard

import sympy

from harness.dtypes import DType
from harness.graph.lowering.rule import Call, Rule, Rules, elementwise, jumping
from harness.graph.lowering.scalar import Scalar
from harness.graph.lowering.tensor import Lowered, Shape, canonical
from harness.ir.index import FloorDiv
from harness.ir.nodes import Compute, Constant, IndexValue, Load, Value, walk
from harness.ir.ops import NUMBERS, Op
from harness.ir.ops import Rule as Types
from harness.ir.value_bounds import is_held

MOST_FACTORS = 9
"""Factors of a power that is multiplied out, each but one of which rounds by half a unit of the
last place: CUDA's ``powf`` is off by as many as 4 units, and took three times as long as all else
of a kernel (98 us for 31, H200)."""


def of(op: Op) -> Rule:
    """Operands in the result's type, which is that of the operation."""
    return elementwise(lambda scalar, *values: scalar.op(op, *values), op.arity)


def stepped(op: Op) -> Rule:
    """Both operands in the result's type, in which it jumps."""

    def lower(call: Call) -> Lowered:
        return call.result(call.scalar.op(op, call.decisive(0), call.divisor(call.decisive(1))))

    return Rule(lower)


def additive(op: Op) -> Rule:
    """``add`` and ``sub`` with their factor ``alpha`` on the second operand."""

    def lower(call: Call) -> Lowered:
        left, right = call.operand(0), call.operand(1)
        zero = isinstance(right, Constant) and right.number == 0
        if zero and _is(left, Op.CAST) and isinstance(left.args[0], IndexValue):
            return call.result(left)  # a position is never the -0.0 that + 0.0 makes 0.0
        alpha = call.number(2, "alpha", 1)
        right = call.scalar.mul(right, alpha)
        # Eager mode adds -alpha times it, which of the integer 0 is no negative zero.
        kind = Op.ADD if alpha == 0 and isinstance(alpha, int) else op
        shorter = _around_one(call.scalar, kind, left, right)
        if shorter is None or (kind is Op.SUB and _is_kept(call)):
            shorter = call.scalar.op(kind, left, right)
        return call.result(shorter)

    return Rule(lower)


def _around_one(scalar: Scalar, op: Op, left: Value, right: Value) -> Value | None:
    """1 + erf(x), 1 + tanh(x) and 1 - tanh(x)^2 (GELU and its gradient) in float32, in about half
    the instructions: what makes ``erf`` and ``tanh`` exact near zero is lost when one is added."""
    one, of = (left, right) if isinstance(left, Constant) else (right, left)
    if not (isinstance(one, Constant) and one.number == 1 and one.dtype is DType.F32):
        return None
    if op is Op.ADD and _is(of, Op.ERF):
        return scalar.op(Op.ONE_PLUS_ERF, *of.args)
    if op is Op.ADD and _is(of, Op.TANH):
        return scalar.mul(scalar.op(Op.SIGMOID, scalar.mul(of.args[0], 2)), 2)
    if op is Op.SUB and one is left and _is(of, Op.MUL) and of.args[0] is of.args[1]:
        above = _around_one(scalar, Op.ADD, of.args[0], one) if _is(of.args[0], Op.TANH) else None
        return above and scalar.mul(above, scalar.sub(2, above))
    return None


def _is_kept(call: Call) -> bool:
    """Whether the tanh whose square is taken from one is needed besides, but for its sum with one:
    its square is a product then, and the sigmoid another exponential and another division (259 to
    215, 1030 to 753 us on an H200)."""
    squares, live = {*call.node.refs()}, call.context.live
    of = set[str]()
    for node in reversed(live):  # what is squared, and what that is a conversion of
        if node.name in squares or (node.name in of and node.packet == "_to_copy"):
            of.update(node.refs())
    users = (n for n in live if n.name not in squares | of and not of.isdisjoint(n.refs()))
    more = any(node.packet != "add" or 1 not in node.args for node in users)
    return more or not of.isdisjoint(call.context.outputs)


def reciprocal(scalar: Scalar, value: Value) -> Value:
    """1 / ``value``; of 1 + exp(-x) the sigmoid of x, and of a float32 root, which is rounded in a
    branch behind which loads wait, one operation."""
    if _is(value, Op.SQRT) and value.dtype is DType.F32:
        return scalar.op(Op.RSQRT, *value.args)
    if isinstance(value, Compute) and value.op is Op.ADD and value.dtype is DType.F32:
        power, one = value.args
        if isinstance(one, Constant) and one.number == 1 and _is(power, Op.EXP):
            (exponent,) = power.args
            if _is(exponent, Op.NEG):
                return scalar.op(Op.SIGMOID, *exponent.args)
    return scalar.op(Op.RECIPROCAL, value)


def _is(value: Value, op: Op) -> TypeGuard[Compute]:
    return isinstance(value, Compute) and value.op is op


def div(call: Call) -> Lowered:
    """True division; with ``rounding_mode`` floor or trunc."""
    rounded = {"floor": Op.FLOOR_DIV, "trunc": Op.TRUNC_DIV}.get(call.text(2, "rounding_mode"))
    left, right, scalar = call.operand(0), call.divisor(call.operand(1)), call.scalar
    return call.result(scalar.op(rounded, left, right) if rounded else scalar.div(left, right))


def comparison(op: Op) -> Rule:
    """Operands in their common type, result bool."""

    def lower(call: Call) -> Lowered:
        left, right = (call.decisive(n, dtype=call.promoted(0, 1)) for n in range(2))
        known = call.context.simplifier(call.shape)
        return call.result(call.context.compare(op, left, right, known))

    return Rule(lower)


def logical(op: Op) -> Rule:
    """Operands as truth values, result bool."""
    return jumping(lambda scalar, *args: scalar.compare(op, *args), op.arity)


def power(scalar: Scalar, base: Value, exponent: Value, *, roots: bool = True) -> Value:
    """``pow``; small constant exponents become products and ``roots``: what a number is to eager
    mode, and not a tensor, which has ``(-0.0) ** 0.5`` and ``(-inf) ** 0.5`` positive."""
    if base.dtype.is_integer:
        if isinstance(exponent, Constant) and exponent.number >= 0:
            return _repeated(scalar, base, int(exponent.number))
        return scalar.op(Op.INTEGER_POWER, base, exponent)
    if isinstance(exponent, Constant):
        number = float(exponent.number)
        if roots and abs(number) == 0.5:
            return scalar.op(Op.SQRT if number > 0 else Op.RSQRT, base)
        if number.is_integer() and abs(number) <= MOST_FACTORS:
            product = _repeated(scalar, base, abs(int(number)))
            return product if number >= 0 else scalar.op(Op.RECIPROCAL, product)
    return scalar.op(Op.POW, base, exponent)


def _repeated(scalar: Scalar, base: Value, times: int) -> Value:
    if times == 0:
        return scalar.like(1, base)
    powers = [base]
    while 2 ** len(powers) <= times:
        powers.append(scalar.mul(powers[-1], powers[-1]))
    return reduce(scalar.mul, (p for n, p in enumerate(powers) if times >> n & 1))


def where(call: Call) -> Lowered:
    """``where(condition, self, other)``."""
    mask, chosen = call.operand(0, "condition", DType.BOOL), call.operand(1)
    if _is_one_place(mask, call.shape) and _is_read(chosen):
        chosen = call.context.masked(mask, chosen, call.scalar.like(0, chosen))
    return call.result(call.scalar.where(mask, chosen, call.operand(2)))


def _is_one_place(mask: Value, shape: Shape) -> bool:
    """Whether a mask holds at a single place of a dimension, not the last, whose lanes load
    vectors. What is put there is not read elsewhere (``x[:, 3] = y`` in eight steps: 79 us on an
    H200, not 200)."""
    at, number = mask.args if _is(mask, Op.EQ) else (mask, mask)
    found = at.index.free_symbols if isinstance(at, IndexValue) else ()
    *outer, last = canonical(shape) or (None,)
    return isinstance(number, Constant) and not {*outer}.isdisjoint(found) and last not in found


def _is_read(value: Value) -> bool:
    """Whether a value is computed from memory, element by element."""
    values = list(walk([value]))
    kinds = (Compute, Constant, IndexValue, Load)
    return all(isinstance(v, kinds) for v in values) and any(isinstance(v, Load) for v in values)


def clamp(call: Call) -> Lowered:
    """``clamp(self, min, max)``; either bound may be absent. NaN passes through."""
    value = call.operand(0)
    if call.raw(1, "min", None) is not None:
        value = call.scalar.op(Op.MAXIMUM, value, call.operand(1, "min"))
    if call.raw(2, "max", None) is not None:
        value = call.scalar.op(Op.MINIMUM, value, call.operand(2, "max"))
    return call.result(value)


def cast(call: Call, argument: int = 0, rounds: bool = True) -> Lowered:
    """A conversion of this ``argument``; the node's type says to what. One that ``rounds``, as a
    program's own do, gives numbers of that type. (8 bits fit into 16; an output is stored.)"""
    tensor = call.tensor(argument)
    value, narrow = call.broadcast(tensor, call.shape), tensor.dtype.itemsize == 1
    changes = tensor.dtype is not call.dtype
    if changes and (narrow or call.dtype not in (DType.F32, DType.F64)):
        value = call.rounded(value, tensor.dtype)
    position = scaled_position(call, value) if call.dtype.is_integer else None
    if position is not None:
        return call.result(call.context.index_value(position, call.dtype))
    value = call.scalar.cast(value, call.dtype)
    rounds = rounds and changes and not narrow and call.node.name not in call.context.outputs
    return call.result(call.rounded(value, call.dtype) if rounds else value)


def view_as_type(call: Call) -> Lowered:
    """``view(dtype)``: the same bits; 16-bit floats, which are computed with in 32, are narrowed
    before and widened after."""
    source, target, builder = call.tensor(0), call.dtype, call.scalar.builder
    if source.dtype is target:
        return call.result(source.value)
    kinds = (source.dtype, target)
    if source.dtype.itemsize != target.itemsize or not _WITH_BITS.issuperset(kinds):
        raise call.reject(
            f"{source.dtype.torch_name} as {target.torch_name}",
            "two types of one width, neither of them bool or of 8-bit floats",
        )
    value = source.value
    if value.dtype is not source.dtype:
        value = builder.compute(Op.CAST, value, dtype=source.dtype)
    return call.result(builder.compute(Op.BITCAST, value, dtype=target))


_WITH_BITS = frozenset((*NUMBERS, DType.F16, DType.BF16))


# Integers up to here are exact in float32 (24 bits of significand).
_EXACT_IN_F32 = 2**24


def scaled_position(call: Call, value: Value) -> sympy.Expr | None:
    """A position times a power of two below one, computed in floating point and about to
    be cut off: an exact integer division, which can address memory (nearest upsampling
    is written so in models)."""
    of, factor = value.args if _is(value, Op.MUL) else (value, value)
    at = of.args[0] if _is(of, Op.CAST) else of
    if not isinstance(at, IndexValue) or not isinstance(factor, Constant):
        return None
    exact = 0 < factor.number <= 1 and math.frexp(factor.number)[0] == 0.5
    if at is of or at.indirect or not (exact and is_held(at)):
        return None
    low, high = call.context.simplifier(call.shape).bounds(at.index)
    if low is None or high is None or not (low.is_Integer and high.is_Integer):
        return None
    divided = FloorDiv(at.index, sympy.Integer(int(1 / factor.number)))
    return divided if low >= 0 and high < _EXACT_IN_F32 else None


def nextafter(call: Call) -> Lowered:
    """``nextafter``; 16-bit floats have other neighbours than those they compute in."""
    if call.dtype.compute is not call.dtype:
        raise call.reject(f"neighbours in {call.dtype.short}", "float32 or float64")
    return call.result(call.scalar.op(Op.NEXTAFTER, call.operand(0), call.operand(1)))


def predicate(op: Op) -> Rule:
    """A bool result; false for integers, which have neither NaN nor infinity, and for bools."""

    def lower(call: Call) -> Lowered:
        tensor = call.tensor(0)
        value = (call.decisive if op is Op.ISINF else call.operand)(0, "self", tensor.dtype)
        if not (tensor.dtype.is_float or (tensor.dtype.is_integer and op is Op.SIGNBIT)):
            return call.result(call.scalar.constant(False, DType.BOOL))
        return call.result(call.scalar.compare(op, value))

    return Rule(lower)


def rounding(op: Op) -> Rule:
    """Rounds floats; integers are whole already."""
    return jumping(lambda scalar, x: scalar.op(op, x) if x.dtype.is_float else x, 1)


def round_decimals(call: Call) -> Lowered:
    """``round(self, decimals)``: half to even."""
    scalar, value, power = call.scalar, call.decisive(0), int(call.number(1, "decimals", 0))
    scale = value.dtype.nearest(float(f"1e{abs(power)}"))  # as eager mode has it, or infinity
    if power < 0:  # (A GPU's quotient of float32 is not the nearest number.)
        scaled = scalar.cast(scalar.div(scalar.cast(value, DType.F64), scale), value.dtype)
        return call.result(scalar.mul(scalar.op(Op.ROUND, scaled), scale))
    return call.result(scalar.div(scalar.op(Op.ROUND, scalar.mul(value, scale)), scale))


def _overloads(name: str, overloads: str, rule: Rule) -> dict[str, Rule]:
    return {f"aten.{name}.{overload}": rule for overload in overloads.split()}


def _table(ops: Mapping[str, Op], overloads: str, make: Callable[[Op], Rule]) -> dict[str, Rule]:
    return {f"aten.{name}.{o}": make(op) for name, op in ops.items() for o in overloads.split()}


def _called(names: str) -> dict[str, Op]:
    """Operations that torch calls as the compiler does."""
    return {op.value: op for op in Op if op.value in names.split()}


_POLYNOMIALS = {op.value: op for op in Op if "polynomial" in op.value}
_SHIFTED = {f"special_shifted_{n[8:]}": op for n, op in _POLYNOMIALS.items() if "chebyshev" in n}
_OWN = (Op.ONE_PLUS_ERF, Op.RECIPROCAL)
_FUNCTIONS = (op for op in Op if op.arity == 1 and op.rule is Types.FLOAT and op not in _OWN)
_BITWISE = {"bitwise_and": Op.BIT_AND, "bitwise_or": Op.BIT_OR, "bitwise_xor": Op.BIT_XOR}
_SHIFTS = {"bitwise_left_shift": Op.SHIFT_LEFT, "bitwise_right_shift": Op.SHIFT_RIGHT}
_OPERATORS = {"__lshift__": Op.SHIFT_LEFT, "__rshift__": Op.SHIFT_RIGHT}

RULES: Rules = {
    **_table(_called("add sub"), "Tensor Scalar", additive),
    **_overloads("mul", "Tensor Scalar", elementwise(Scalar.mul, 2)),
    **_overloads("div", "Tensor Scalar Tensor_mode Scalar_mode", Rule(div)),
    **_overloads("remainder", "Tensor Scalar Scalar_Tensor", stepped(Op.REMAINDER)),
    **_overloads("fmod", "Tensor Scalar", stepped(Op.FMOD)),
    **_overloads("copysign", "Tensor Scalar", of(Op.COPYSIGN)),
    **_overloads("pow", "Tensor_Scalar Scalar", elementwise(power, 2)),
    "aten.pow.Tensor_Tensor": elementwise(partial(power, roots=False), 2),
    **_overloads("clamp", "default Tensor", Rule(clamp)),
    **_overloads("special_zeta", "default other_scalar self_scalar", of(Op.ZETA)),
    **_table(_POLYNOMIALS, "default n_scalar x_scalar", of),
    **_table(
        _SHIFTED,
        "default n_scalar x_scalar",
        lambda op: elementwise(lambda s, x, n: s.op(op, s.add(s.add(x, x), -1), n), 2),
    ),
    **_table({op.value: op for op in _FUNCTIONS}, "default", of),
    **_overloads("reciprocal", "default", elementwise(reciprocal, 1)),
    **_table(_called("neg abs relu maximum minimum atan2 hypot igamma igammac gcd"), "default", of),
    **_table(_BITWISE, "Tensor Scalar Scalar_Tensor", of),
    **_table(_SHIFTS, "Tensor Tensor_Scalar Scalar_Tensor", of),
    **_table(_OPERATORS, "Tensor Scalar", of),
    **_table(_called("eq ne lt le gt ge"), "Tensor Scalar", comparison),
    **_table(_called("logical_and logical_or logical_xor logical_not"), "default", logical),
    **_table(_called("floor ceil round trunc"), "default", rounding),
    **_table(_called("isnan isinf signbit"), "default", predicate),
    # (What is left of the rounded operand: nothing of a large one.)
    "aten.frac.default": jumping(lambda scalar, x: scalar.sub(x, scalar.op(Op.TRUNC, x)), 1),
    "aten.special_modified_bessel_i0.default": of(Op.BESSEL_I0),
    "aten.special_modified_bessel_i1.default": of(Op.BESSEL_I1),
    "aten.bitwise_not.default": of(Op.BIT_NOT),
    "prims.fma.default": of(Op.FMA),
    "harness.wide.default": elementwise(lambda _, value: value, 1),
    "aten.square.default": elementwise(lambda scalar, value: scalar.mul(value, value), 1),
    "aten.true_divide.Tensor": Rule(div),
    "aten.where.self": Rule(where),
    "aten.nextafter.default": Rule(nextafter, partial=True),
    "aten.sign.default": jumping(  # (Of a bool it is the bool.)
        lambda scalar, x: x if x.dtype is DType.BOOL else scalar.op(Op.SIGN, x), 1
    ),
    "aten.round.decimals": Rule(round_decimals),
    "aten.view.dtype": Rule(view_as_type, view=True, partial=True),
    "aten._to_copy.default": Rule(cast),
    "prims.convert_element_type.default": Rule(partial(cast, rounds=False)),
    "aten.copy.default": Rule(partial(cast, argument=1)),
}
