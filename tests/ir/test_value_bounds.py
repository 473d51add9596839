"""Bounds of values hold at every point, whatever is computed in whatever type."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.dtypes import DType
from harness.ir import nodes as ir
from harness.ir.index import FloorDiv, axis_symbol, size_symbol
from harness.ir.ops import Op
from harness.ir.simplify import Simplifier
from harness.ir.value_bounds import counted, is_held, is_small, value_bounds

SIZE = 37
DTYPES = (DType.I64, DType.I32, DType.I16, DType.U8)
AXIS = axis_symbol("i", 0)
TYPES = {DType.F32: np.float32, DType.F64: np.float64, DType.I32: np.int32, DType.I64: np.int64}
BINARY: dict[Op, Any] = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.MAXIMUM: np.maximum,
    Op.MINIMUM: np.minimum,
}


def cast(array: Any, dtype: DType) -> Any:
    """Truncated towards zero, wrapped."""
    if dtype.is_integer and array.dtype.kind == "f":
        array = np.trunc(np.nan_to_num(array, nan=0.0, posinf=0.0, neginf=0.0)).astype(np.int64)
    return array.astype(TYPES[dtype])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_bounds_hold(data: st.DataObject) -> None:
    """Also of an integer that nothing is known of, where sums wrap around."""
    builder, draw = ir.Builder(), data.draw
    known = np.arange(SIZE)
    loaded = draw(st.lists(st.integers(-9, 9), min_size=SIZE, max_size=SIZE))
    pool: list[tuple[ir.Value, Any]] = [
        (builder.index(AXIS, DType.I64), known.astype(np.int64)),
        (builder.load("in", AXIS, DType.I32, ()), np.array(loaded, np.int32) * 2**27),
        (builder.load("in", AXIS, DType.F32, ()), np.array(loaded, np.float32)),
    ]
    for _ in range(draw(st.integers(1, 12))):
        value, array = draw(st.sampled_from(pool[-4:]))
        match draw(st.integers(0, 3)):
            case 0:
                dtype = draw(st.sampled_from(list(TYPES)))
                made = builder.compute(Op.CAST, value, dtype=dtype), cast(array, dtype)
            case 1 if value.dtype.is_float:
                op = draw(st.sampled_from((Op.FLOOR, Op.CEIL)))
                whole = (np.floor if op is Op.FLOOR else np.ceil)(array)
                made = builder.compute(op, value, dtype=value.dtype), whole
            case 2:
                same = [p for p in pool if p[0].dtype is value.dtype]
                (a, left), (b, right) = draw(st.sampled_from(same)), draw(st.sampled_from(same))
                mask = builder.compute(Op.LT, a, b, dtype=DType.BOOL)
                made = (
                    builder.compute(Op.WHERE, mask, a, b, dtype=value.dtype),
                    np.where(left < right, left, right),
                )
            case _:
                number = draw(st.sampled_from((-3, 0, 2, 0.125, 1e6, 0.1, 2**40)))
                number = number if value.dtype.is_float else int(number) % 2**31
                constant = builder.constant(number, value.dtype)
                op = draw(st.sampled_from(list(BINARY)))
                with np.errstate(all="ignore"):
                    result = BINARY[op](array, np.array(number, array.dtype))
                made = builder.compute(op, value, constant, dtype=value.dtype), result
        pool.append(made)
    for value, array in pool:
        bounds = value_bounds(value, Simplifier({AXIS: SIZE}))
        assert bounds is not None or value.dtype.is_float
        if bounds is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert all(bounds[0] <= x <= bounds[1] for x in array.tolist()), (value, bounds)


def test_positions_that_32_bits_hold() -> None:
    """Two variables and a number: more of them, or a multiple, may be too much."""
    i, j, k = (axis_symbol("i", n) for n in range(3))
    small = (i, i + j, i - j + (1 << 29) - 1, j - (1 << 29) + 1)
    large = (i + j + k, 2 * i, i - 3 * j, i * j, FloorDiv(i, 3), i + (1 << 29), i - (1 << 29))
    assert all(map(is_small, small)) and not any(map(is_small, large))
    held = {(t, n): is_held(ir.IndexValue(t, n * i)) for t in DTYPES for n in (1, 2)}
    assert {at for at, fits in held.items() if fits} == {
        (DType.I64, 1),
        (DType.I64, 2),
        (DType.I32, 1),
    }


def test_of_what_a_float_may_not_hold_nothing_is_known() -> None:
    builder = ir.Builder()
    large = builder.constant(1e38, DType.F32)
    assert value_bounds(large, Simplifier({})) is None
    assert (
        value_bounds(builder.compute(Op.MUL, large, large, dtype=DType.F32), Simplifier({})) is None
    )
    ends = value_bounds(builder.constant(1e36, DType.F32), Simplifier({}))
    assert ends is not None and ends[0] < 1e36 < ends[1]


def test_positions_that_are_compared_and_stored_keep_their_type() -> None:
    builder = ir.Builder()
    place = builder.index(AXIS, DType.I64)
    late = builder.compute(Op.GE, place, builder.constant(5, DType.I64), dtype=DType.BOOL)
    compared, known = ir.Store("late", AXIS, late), Simplifier({AXIS: 128})
    assert id(place) in counted([compared], known)
    assert id(place) not in counted([compared, ir.Store("place", AXIS, place)], known)


def test_what_interpolation_looks_up_is_in_range() -> None:
    builder = ir.Builder()
    index = builder.compute(Op.CAST, builder.index(AXIS, DType.I64), dtype=DType.F32)
    half = builder.constant(0.5, DType.F32)
    centre = builder.compute(Op.ADD, index, half, dtype=DType.F32)
    scaled = builder.compute(Op.MUL, centre, builder.constant(0.125, DType.F32), dtype=DType.F32)
    shifted = builder.compute(Op.SUB, scaled, half, dtype=DType.F32)
    zero = builder.constant(0.0, DType.F32)
    clamped = builder.compute(Op.MAXIMUM, shifted, zero, dtype=DType.F32)
    place = builder.compute(Op.CAST, clamped, dtype=DType.I64)
    assert value_bounds(place, Simplifier({AXIS: 128})) == (0, 15)


def test_computed_positions_are_counted_where_a_launch_can_say_that_they_fit() -> None:
    size, other = size_symbol("s0"), axis_symbol("i", 1)
    known, builder = Simplifier({AXIS: size, other: sympy.Integer(100)}), ir.Builder()
    place, beside = builder.index(AXIS - size, DType.I64), builder.index(other, DType.I64)

    def compared(value: ir.Value) -> set[int]:
        late = builder.compute(Op.GE, value, builder.constant(5, DType.I64), dtype=DType.BOOL)
        return {id(value)} & counted([ir.Store("late", AXIS, late)], known).keys()

    def computed(op: Op, *values: ir.Value, dtype: DType = DType.I64) -> ir.Value:
        return builder.compute(op, *values, dtype=dtype)

    turned = computed(Op.ABS, computed(Op.SUB, place, beside))
    scaled = computed(Op.CAST, turned, dtype=DType.F32)
    scaled = computed(Op.MUL, scaled, builder.constant(0.7, DType.F32), dtype=DType.F32)
    whole = computed(Op.CAST, scaled)
    late = computed(Op.GE, whole, turned, dtype=DType.BOOL)
    found = counted([ir.Store("late", AXIS, late)], known)
    sizes = {most for most in found.values() if most is not None}
    for n in (1, 2, 7, 1000):  # the farthest is -n - 99
        assert sizes and all(most.subs(size, n) >= n + 99 for most in sizes)
    assert {id(whole), id(turned), id(place)} <= found.keys()
    assert not compared(computed(Op.ADD, beside, builder.constant((1 << 31) - 1, DType.I64)))
    assert not compared(computed(Op.MUL, place, place))
    whole = computed(Op.CAST, computed(Op.CAST, beside, dtype=DType.F32))
    thousand = builder.constant(1000, DType.I64)
    assert compared(million := computed(Op.MUL, computed(Op.MUL, whole, thousand), thousand))
    assert not compared(computed(Op.MUL, million, thousand))
    assert not compared(computed(Op.ADD, place, builder.load("in", AXIS, DType.I64, ())))
    rounded = computed(Op.CAST, place, dtype=DType.BF16)
    assert not compared(computed(Op.CAST, rounded))
