"""The interpreter against plain numpy, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import sympy

from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.ir.index import FloorDiv, Mod, axis_symbol, indirect_symbol, size_symbol
from harness.ir.nodes import Axis, Builder, Nest, ReduceKind, Store, StoreMode, Value
from harness.ir.ops import Op
from harness.ir.program import Buffer, Program, Role
from harness.ir.verify import verify
from tests.ir.oracle import interpret, make_storage, view_storage

I0, I1 = axis_symbol("i", 0), axis_symbol("i", 1)
R0, R1 = axis_symbol("r", 0), axis_symbol("r", 1)
T0 = indirect_symbol(0)
S0 = size_symbol("s0")
RNG = np.random.default_rng(11)


def buffer(
    name: str,
    dtype: DType,
    shape: Sequence[int | sympy.Expr],
    role: Role = Role.INPUT,
    stride: Sequence[int | sympy.Expr] | None = None,
) -> Buffer:
    sizes = tuple(sympy.sympify(n) for n in shape)
    steps: list[sympy.Expr] = []
    step: sympy.Expr = sympy.S.One
    for n in reversed(sizes):
        steps.insert(0, step)
        step = step * n
    chosen = tuple(sympy.sympify(s) for s in stride) if stride is not None else tuple(steps)
    return Buffer(name, dtype, sizes, chosen, role, name)


def axes(*pairs: tuple[sympy.Symbol, int | sympy.Expr]) -> tuple[Axis, ...]:
    return tuple(Axis(v, sympy.sympify(n)) for v, n in pairs)


def program(
    buffers: Sequence[Buffer],
    loops: Sequence[tuple[sympy.Symbol, int | sympy.Expr]],
    reduced: Sequence[tuple[sympy.Symbol, int | sympy.Expr]],
    stores: Sequence[Store],
    mutated: tuple[str, ...] = (),
) -> Program:
    nest = Nest("n0", axes(*loops), axes(*reduced), tuple(stores), ("node",))
    outputs = tuple(b.name for b in buffers if b.role is Role.OUTPUT) or mutated
    made = Program("p", tuple(buffers), (nest,), outputs, mutated)
    verify(made)
    return made


def test_pointwise_with_strides_and_rounding() -> None:
    b = Builder()
    x = RNG.normal(size=(3, 5)).astype(np.float32)
    value = b.compute(
        Op.MUL, b.load("x", I0 + 4 * I1, DType.F32), b.constant(0.3, DType.F32), dtype=DType.F32
    )
    made = program(
        [
            buffer("x", DType.F32, (3, 5), stride=(1, 4)),
            buffer("y", DType.BF16, (3, 5), Role.OUTPUT),
        ],
        [(I0, 3), (I1, 5)],
        [],
        [Store("y", 5 * I0 + I1, value)],
    )
    got = interpret(made, {"x": x})["y"]
    exact = x * np.float32(0.3)
    bits = exact.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)
    np.testing.assert_array_equal(got, rounded)
    wide = interpret(made, {"x": x}, float64=True)["y"]
    np.testing.assert_array_equal(wide, x.astype(np.float64) * 0.3)


CASES = {
    ReduceKind.SUM: lambda x: x.sum((1, 2)),
    ReduceKind.PROD: lambda x: x.prod((1, 2)),
    ReduceKind.MAX: lambda x: x.max((1, 2)),
    ReduceKind.MIN: lambda x: x.min((1, 2)),
    ReduceKind.ARGMAX: lambda x: x.reshape(4, -1).argmax(1),
    ReduceKind.ARGMIN: lambda x: x.reshape(4, -1).argmin(1),
}


@pytest.mark.parametrize("kind", list(CASES), ids=lambda k: k.value)
def test_reductions(kind: ReduceKind) -> None:
    b = Builder()
    x = RNG.normal(size=(4, 3, 5)).astype(np.float32)
    x[1, 2, 3] = np.nan
    out = DType.I64 if kind in (ReduceKind.ARGMAX, ReduceKind.ARGMIN) else DType.F32
    value = b.reduce(kind, b.load("x", 15 * I0 + 5 * R0 + R1, DType.F32), dtype=out)
    made = program(
        [buffer("x", DType.F32, (4, 3, 5)), buffer("y", out, (4,), Role.OUTPUT)],
        [(I0, 4)],
        [(R0, 3), (R1, 5)],
        [Store("y", I0, value)],
    )
    got = interpret(made, {"x": x})["y"]
    np.testing.assert_allclose(got, CASES[kind](x.astype(np.float64)), rtol=1e-6)


def test_integer_sum_any_and_xor() -> None:
    b = Builder()
    x = RNG.integers(-100, 100, size=(6, 7)).astype(np.int32)
    load = b.load("x", 7 * I0 + R0, DType.I32)
    flag = b.compute(Op.GT, load, b.constant(95, DType.I32), dtype=DType.BOOL)
    made = program(
        [
            buffer("x", DType.I32, (6, 7)),
            buffer("total", DType.I64, (6,), Role.OUTPUT),
            buffer("some", DType.BOOL, (6,), Role.OUTPUT),
        ],
        [(I0, 6)],
        [(R0, 7)],
        [
            Store("total", I0, b.reduce(ReduceKind.SUM, load, dtype=DType.I64)),
            Store("some", I0, b.reduce(ReduceKind.ANY, flag, dtype=DType.BOOL)),
        ],
    )
    got = interpret(made, {"x": x})
    np.testing.assert_array_equal(got["total"], x.astype(np.int64).sum(1))
    np.testing.assert_array_equal(got["some"], (x > 95).any(1))


def test_welford_and_online_softmax() -> None:
    b = Builder()
    x = (RNG.normal(size=(4, 9)) + 100).astype(np.float32)
    x[2, 3] = -np.inf
    load = b.load("x", 9 * I0 + R0, DType.F32)
    names = ("mean", "m2", "top", "sum")
    stores = [
        Store(names[c], I0, b.reduce(ReduceKind.WELFORD, load, dtype=DType.F32, component=c))
        for c in range(2)
    ] + [
        Store(names[2 + c], I0, b.reduce(ReduceKind.SOFTMAX, load, dtype=DType.F32, component=c))
        for c in range(2)
    ]
    made = program(
        [buffer("x", DType.F32, (4, 9)), *(buffer(n, DType.F32, (4,), Role.OUTPUT) for n in names)],
        [(I0, 4)],
        [(R0, 9)],
        stores,
    )
    got = interpret(made, {"x": x})
    rows = [0, 1, 3]
    wide = x.astype(np.float64)
    np.testing.assert_allclose(got["mean"][rows], wide[rows].mean(1), rtol=1e-6)
    np.testing.assert_allclose(got["m2"][rows], wide[rows].var(1) * 9, rtol=1e-5)
    np.testing.assert_array_equal(got["top"], x.max(1))
    shares = np.exp(wide - wide.max(1, keepdims=True)).sum(1)
    np.testing.assert_allclose(got["sum"], shares, rtol=1e-6)


def test_masked_load_never_touches_what_is_outside() -> None:
    """Padding by two: the addresses outside are negative or beyond the end."""
    b = Builder()
    x = RNG.normal(size=5).astype(np.float32)
    place = b.index(I0 - 2, DType.I64)
    inside = b.compute(
        Op.LOGICAL_AND,
        b.compute(Op.GE, place, b.constant(0, DType.I64), dtype=DType.BOOL),
        b.compute(Op.LT, place, b.constant(5, DType.I64), dtype=DType.BOOL),
        dtype=DType.BOOL,
    )
    load = b.load("x", I0 - 2, DType.F32)
    doubled = b.compute(Op.ADD, load, load, dtype=DType.F32)
    value = b.masked(inside, doubled, b.constant(-1.5, DType.F32))
    buffers = [buffer("x", DType.F32, (5,)), buffer("y", DType.F32, (9,), Role.OUTPUT)]
    got = interpret(program(buffers, [(I0, 9)], [], [Store("y", I0, value)]), {"x": x})["y"]
    np.testing.assert_array_equal(got, np.pad(2 * x, 2, constant_values=-1.5))
    bare = Program(
        "p",
        tuple(buffers),
        (Nest("n0", axes((I0, 9)), (), (Store("y", I0, load),), ("n",)),),
        ("y",),
    )
    with pytest.raises(InvalidProgram, match="outside its buffer"):
        interpret(bare, {"x": x})


def test_nested_masks_intersect() -> None:
    b = Builder()
    x = RNG.normal(size=4).astype(np.float32)
    low = b.compute(Op.GE, b.index(I0, DType.I64), b.constant(2, DType.I64), dtype=DType.BOOL)
    high = b.compute(Op.LT, b.index(I0, DType.I64), b.constant(6, DType.I64), dtype=DType.BOOL)
    inner = b.masked(high, b.load("x", I0 - 2, DType.F32), b.constant(7.0, DType.F32))
    value = b.masked(low, inner, b.constant(9.0, DType.F32))
    made = program(
        [buffer("x", DType.F32, (4,)), buffer("y", DType.F32, (8,), Role.OUTPUT)],
        [(I0, 8)],
        [],
        [Store("y", I0, value)],
    )
    got = interpret(made, {"x": x})["y"]
    np.testing.assert_array_equal(got, np.concatenate([[9, 9], x, [7, 7]]).astype(np.float32))


def gather(bound: int) -> tuple[Program, Builder]:
    b = Builder()
    row = b.load("ids", I0, DType.I64)
    value = b.load("table", 3 * T0 + I1, DType.F16, ((T0, row),))
    made = program(
        [
            buffer("ids", DType.I64, (6,)),
            buffer("table", DType.F16, (bound, 3)),
            buffer("y", DType.F16, (6, 3), Role.OUTPUT),
        ],
        [(I0, 6), (I1, 3)],
        [],
        [Store("y", 3 * I0 + I1, value)],
    )
    return made, b


def test_gather_and_its_range() -> None:
    made, _ = gather(10)
    ids = RNG.integers(0, 10, 6)
    table = RNG.normal(size=(10, 3)).astype(np.float16)
    got = interpret(made, {"ids": ids, "table": table})["y"]
    np.testing.assert_array_equal(got, table[ids].astype(np.float32))
    with pytest.raises(InvalidProgram, match="outside its buffer"):
        interpret(made, {"ids": ids + 100, "table": table})


def test_scatter_add_into_an_input() -> None:
    b = Builder()
    ids = np.array([1, 0, 1, 1])
    source = RNG.normal(size=4).astype(np.float32)
    start = RNG.normal(size=3).astype(np.float32)
    made = program(
        [
            buffer("ids", DType.I64, (4,)),
            buffer("x", DType.F32, (4,)),
            buffer("table", DType.F32, (3,)),
        ],
        [(I0, 4)],
        [],
        [
            Store(
                "table",
                T0,
                b.load("x", I0, DType.F32),
                StoreMode.ATOMIC_ADD,
                ((T0, b.load("ids", I0, DType.I64)),),
            )
        ],
        mutated=("table",),
    )
    kept = start.copy()
    got = interpret(made, {"ids": ids, "x": source, "table": start})["table"]
    np.add.at(kept, ids, source)
    np.testing.assert_allclose(got, kept, rtol=1e-6)
    assert not np.array_equal(start, kept)


def test_in_place_store_reads_the_old_contents() -> None:
    """Reversing in place: all values are read before any is stored."""
    b = Builder()
    x = RNG.normal(size=6).astype(np.float32)
    made = program(
        [buffer("x", DType.F32, (6,))],
        [(I0, 6)],
        [],
        [Store("x", I0, b.load("x", 5 - I0, DType.F32))],
        mutated=("x",),
    )
    np.testing.assert_array_equal(interpret(made, {"x": x})["x"], x[::-1])


def test_unknown_sizes_come_from_the_inputs() -> None:
    b = Builder()
    x = RNG.normal(size=(4, 6)).astype(np.float32)
    flat = axis_symbol("i", 0)
    value = b.load("x", 6 * Mod(flat, S0) + FloorDiv(flat, S0), DType.F32)
    made = program(
        [buffer("x", DType.F32, (S0, 6)), buffer("y", DType.F32, (6, S0), Role.OUTPUT)],
        [(flat, 6 * S0)],
        [],
        [Store("y", flat, value)],
    )
    np.testing.assert_array_equal(interpret(made, {"x": x})["y"], x.T)
    with pytest.raises(InvalidProgram, match="wrong rank"):
        interpret(made, {})
    with pytest.raises(InvalidProgram, match="wrong shape"):
        interpret(made, {"x": x[:, :5]})


def test_deep_chains_do_not_recurse() -> None:
    b = Builder()
    value: Value = b.load("x", I0, DType.F32)
    one = b.constant(1.0, DType.F32)
    for _ in range(5000):
        value = b.compute(Op.ADD, value, one, dtype=DType.F32)
    made = program(
        [buffer("x", DType.F32, (3,)), buffer("y", DType.F32, (3,), Role.OUTPUT)],
        [(I0, 3)],
        [],
        [Store("y", I0, value)],
    )
    got = interpret(made, {"x": np.zeros(3, np.float32)})["y"]
    np.testing.assert_array_equal(got, np.full(3, 5000.0, np.float32))


def test_storage_round_trip_and_poison() -> None:
    values = RNG.normal(size=(2, 3)).astype(np.float32)
    storage = make_storage(values, (8, 2), 13, DType.F32)
    np.testing.assert_array_equal(view_storage(storage, (2, 3), (8, 2)), values)
    assert np.isnan(storage[[1, 3, 5, 7, 9, 11]]).all()
