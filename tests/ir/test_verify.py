"""Every rule of the verifier can be broken, and is then named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import sympy

from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.ir.index import Mod, axis_symbol, indirect_symbol, size_symbol
from harness.ir.nodes import (
    Axis,
    Builder,
    Combine,
    Compute,
    Load,
    Nest,
    Reduce,
    ReduceKind,
    Scan,
    ScanKind,
    Sort,
    Store,
    StoreMode,
    Value,
)
from harness.ir.ops import Op
from harness.ir.printer import dump
from harness.ir.program import Buffer, Program, Role
from harness.ir.verify import verify

I0, R0 = axis_symbol("i", 0), axis_symbol("r", 0)
T0 = indirect_symbol(0)
B = Builder()


def ints(*values: int) -> tuple[sympy.Expr, ...]:
    return tuple(sympy.Integer(v) for v in values)


X = Buffer("x", DType.BF16, ints(4, 8), ints(8, 1), Role.INPUT, "x")
MEAN = Buffer("mean", DType.F32, ints(4), ints(1), Role.TEMPORARY, "mean")
Y = Buffer("y", DType.BF16, ints(4, 8), ints(8, 1), Role.OUTPUT, "y")
I1 = axis_symbol("i", 1)
LOAD = B.load("x", 8 * I0 + R0, DType.BF16)
FIRST = Nest(
    "sum",
    (Axis(I0, sympy.Integer(4)),),
    (Axis(R0, sympy.Integer(8)),),
    (Store("mean", I0, B.reduce(ReduceKind.SUM, LOAD, dtype=DType.F32)),),
    ("sum_1",),
)
DIFFERENCE = B.compute(
    Op.SUB, B.load("x", 8 * I0 + I1, DType.BF16), B.load("mean", I0, DType.F32), dtype=DType.F32
)
SECOND = Nest(
    "sub",
    (Axis(I0, sympy.Integer(4)), Axis(I1, sympy.Integer(8))),
    (),
    (Store("y", 8 * I0 + I1, DIFFERENCE),),
    ("sub_1",),
)
GOOD = Program("centre", (X, MEAN, Y), (FIRST, SECOND), ("y",))


def with_first(**changes: object) -> Program:
    return replace(GOOD, nests=(replace(FIRST, **changes), SECOND))  # type: ignore[arg-type]


def with_second(store: Store) -> Program:
    return replace(GOOD, nests=(FIRST, replace(SECOND, stores=(store,))))


def y_store(value: object, index: sympy.Expr = 8 * I0 + I1) -> Program:
    return with_second(Store("y", index, value))  # type: ignore[arg-type]


def scanned(value: Value) -> Program:
    """``value`` at every point of rows."""
    nest = replace(FIRST, stores=(Store("y", 8 * I0 + R0, value),))
    return Program("scanned", (X, Y), (nest,), ("y",))


EARLIER, LATER = (Load(DType.F32, name, I0) for name in "ab")
ADDED = B.compute(Op.ADD, EARLIER, LATER, dtype=DType.F32)
RUNNING = B.scan(ScanKind.SUM, LOAD, dtype=DType.F32)
BAD: dict[str, Callable[[], Program]] = {
    "two buffers have one name": lambda: replace(GOOD, buffers=(X, X, MEAN, Y)),
    "two nests have one name": lambda: replace(GOOD, nests=(FIRST, FIRST, SECOND)),
    "disagree in rank": lambda: replace(GOOD, buffers=(replace(X, stride=ints(1)), MEAN, Y)),
    "read before it is written": lambda: replace(GOOD, nests=(SECOND, FIRST)),
    "output is never written": lambda: replace(GOOD, nests=(FIRST,)),
    "output is no buffer": lambda: replace(GOOD, outputs=("z",)),
    "output is a temporary": lambda: replace(GOOD, outputs=("mean", "y")),
    "not among the outputs": lambda: replace(GOOD, outputs=("x",)),
    "names no buffer": lambda: y_store(B.load("z", I0, DType.F32)),
    "variable that is no axis": lambda: y_store(DIFFERENCE, 8 * I0 + R0),
    "leaves y": lambda: y_store(DIFFERENCE, 8 * I0 + I1 + 1),
    "leaves x": lambda: y_store(B.load("x", 8 * I0 + I1 - 1, DType.BF16)),
    "store has the wrong type": lambda: y_store(B.constant(1, DType.I32)),
    "a load of x has the wrong type": lambda: y_store(
        B.compute(Op.CAST, Load(DType.F64, "x", 8 * I0 + I1), dtype=DType.F32)
    ),
    "wrong type": lambda: y_store(
        B.compute(Op.ADD, DIFFERENCE, B.constant(1, DType.I32), dtype=DType.F32)
    ),
    "wrong result type": lambda: y_store(
        B.compute(Op.CAST, B.compute(Op.EXP, DIFFERENCE, dtype=DType.F64), dtype=DType.F32)
    ),
    "nothing is computed in": lambda: y_store(
        B.compute(Op.CAST, Compute(DType.BF16, Op.NEG, (DIFFERENCE,)), dtype=DType.F32)
    ),
    "mask is not bool": lambda: y_store(
        B.masked(B.constant(1, DType.I32), DIFFERENCE, B.constant(0.0, DType.F32))
    ),
    "masked value differ": lambda: y_store(
        B.masked(B.constant(True, DType.BOOL), DIFFERENCE, B.constant(0, DType.I32))
    ),
    "read from something that is no integer": lambda: y_store(
        B.load("x", T0, DType.BF16, ((T0, DIFFERENCE),))
    ),
    "outside its reduction": lambda: with_first(stores=(Store("mean", I0, LOAD),)),
    "reduction inside a reduction|inside a reduction": lambda: with_first(
        stores=(
            Store(
                "mean",
                I0,
                B.reduce(
                    ReduceKind.SUM, B.reduce(ReduceKind.MAX, LOAD, dtype=DType.F32), dtype=DType.F32
                ),
            ),
        )
    ),
    "do not go together": lambda: with_first(
        stores=(Store("mean", I0, B.constant(1.0, DType.F32)),)
    ),
    "reduction has the wrong type": lambda: y_store(
        B.compute(
            Op.CAST, B.reduce(ReduceKind.ARGMAX, DIFFERENCE, dtype=DType.I32), dtype=DType.F32
        )
    ),
    "reduction is malformed": lambda: y_store(
        B.reduce(ReduceKind.SUM, DIFFERENCE, dtype=DType.F32, component=1)
    ),
    "a sum reduction is malformed": lambda: with_first(
        stores=(Store("mean", I0, Reduce(DType.F32, ReduceKind.SUM, (LOAD, LOAD), 0)),)
    ),
    "scan stands beside a reduction": lambda: with_first(
        stores=(*FIRST.stores, Store("mean", I0, RUNNING))
    ),
    "scan or a sort is malformed": lambda: scanned(
        B.scan(ScanKind.SUM, LOAD, dtype=DType.F32, component=1)
    ),
    "sort is malformed": lambda: scanned(Sort(DType.F32, (LOAD, LOAD), False)),
    "scan or a sort has the wrong type": lambda: scanned(
        Scan(DType.F32, ScanKind.MAX, (LOAD,), component=1)  # of places
    ),
    "sort has the wrong type": lambda: scanned(
        B.compute(
            Op.CAST,
            B.scan(ScanKind.PROD, B.constant(1, DType.I32), dtype=DType.I32),
            dtype=DType.F32,
        )
    ),
    "function does not fit": lambda: scanned(
        B.scan(Combine((EARLIER,), (ADDED,)), LOAD, dtype=DType.F32)
    ),
    "an index is not whole": lambda: y_store(DIFFERENCE, 8 * I0 + I1 + sympy.Rational(1, 2)),
    "a conversion takes one operand": lambda: y_store(
        Compute(DType.F32, Op.CAST, (DIFFERENCE, DIFFERENCE))
    ),
    "an axis size is no size": lambda: with_first(raxes=(Axis(R0, I0),)),
    "layout uses something other": lambda: replace(
        GOOD, buffers=(replace(X, stride=(I0, sympy.Integer(1))), MEAN, Y)
    ),
    "a program does nothing": lambda: Program("idle", (X,), (), ()),
    "stores nothing": lambda: with_first(stores=()),
    "over a single point": lambda: with_first(raxes=(Axis(R0, sympy.Integer(1)),)),
    "axes share a variable": lambda: with_first(raxes=(Axis(I0, sympy.Integer(8)),)),
    "mutated inputs are not": lambda: replace(GOOD, mutated=("x",)),
    "no atomic add": lambda: replace(
        GOOD,
        buffers=(X, MEAN, replace(Y, dtype=DType.BOOL)),
        nests=(
            FIRST,
            replace(
                SECOND,
                stores=(
                    Store("y", 8 * I0 + I1, B.constant(True, DType.BOOL), StoreMode.ATOMIC_ADD),
                ),
            ),
        ),
    ),
}


def test_a_good_program_passes() -> None:
    verify(GOOD)


@pytest.mark.parametrize(
    "value",
    [
        RUNNING,
        B.compute(Op.CAST, B.sort(LOAD, descending=True, component=1), dtype=DType.F32),
        B.scan(ScanKind.MIN, LOAD, dtype=DType.F32),
        B.scan(Combine((EARLIER, LATER), (ADDED,)), LOAD, dtype=DType.F32),
        B.scan(ScanKind.PROD, LOAD, dtype=DType.F32),
    ],
)
def test_what_scans_and_sorts_may_be(value: Value) -> None:
    verify(scanned(value))
    empty = replace(Y, shape=ints(0, 8))
    verify(Program("empty", (X, empty), (), ("y",)))  # of which nothing has to be written


@pytest.mark.parametrize("message", list(BAD))
def test_a_bad_program_is_refused(message: str) -> None:
    with pytest.raises(InvalidProgram, match=message) as caught:
        verify(BAD[message]())
    assert caught.value.where


def test_reading_an_input_after_overwriting_it() -> None:
    spoil = Nest(
        "spoil",
        (Axis(I0, sympy.Integer(32)),),
        (),
        (Store("x", I0, B.constant(0.0, DType.F32)),),
        ("fill",),
    )
    late = replace(GOOD, nests=(FIRST, SECOND, spoil), mutated=("x",))
    verify(late)
    with pytest.raises(InvalidProgram, match="read before and after it was overwritten"):
        verify(replace(late, nests=(FIRST, spoil, SECOND)))


def test_an_input_may_be_read_after_it_was_changed_in_place() -> None:
    def changed(index: sympy.Expr) -> Program:
        value = B.compute(Op.NEG, B.load("x", index, DType.BF16), dtype=DType.F32)
        nest = Nest(
            "change", (Axis(I0, sympy.Integer(32)),), (), (Store("x", I0, value),), ("neg",)
        )
        return replace(GOOD, nests=(nest, FIRST, SECOND), mutated=("x",))

    verify(changed(I0))
    with pytest.raises(InvalidProgram, match="read before and after it was overwritten"):
        verify(changed(31 - I0))


def test_addresses_under_a_mask_may_leave_the_buffer() -> None:
    inside = B.compute(Op.GE, B.index(I1, DType.I64), B.constant(1, DType.I64), dtype=DType.BOOL)
    load = B.load("x", 8 * I0 + I1 - 1, DType.BF16)
    verify(y_store(B.masked(inside, load, B.constant(0.0, DType.F32))))


def test_what_sizes_are_rounded_to_cancels_in_an_index() -> None:
    """Rows as long as a multiple of 4, from the last one: each remainder is that of the others."""
    size = size_symbol("s0")
    length = size + Mod(-size, 4)
    x, y = (
        Buffer(name, DType.F32, (sympy.Integer(8), length), (length, sympy.Integer(1)), role, name)
        for name, role in (("x", Role.INPUT), ("y", Role.OUTPUT))
    )
    axes = (Axis(I0, sympy.Integer(8)), Axis(I1, length))
    store = Store("y", (7 - I0) * length + I1, B.load("x", I0 * length + I1, DType.F32))
    verify(Program("flipped", (x, y), (Nest("flip", axes, (), (store,), ("flip",)),), ("y",)))


def test_dump() -> None:
    assert dump(GOOD) == (
        "program centre\n"
        "  input x: bf16[4, 8] stride (8, 1)  # x\n"
        "  temporary mean: f32[4] stride (1)  # mean\n"
        "  output y: bf16[4, 8] stride (8, 1)  # y\n"
        "\n"
        "  nest sum  # sum_1\n"
        "  for i0 < 4:\n"
        "  reduce r0 < 8:\n"
        "    %0 = load x[r0 + 8*i0] : f32\n"
        "    %1 = reduce.sum.0 %0 : f32\n"
        "    mean[i0] = %1\n"
        "\n"
        "  nest sub  # sub_1\n"
        "  for i0 < 4, i1 < 8:\n"
        "    %0 = load x[i1 + 8*i0] : f32\n"
        "    %1 = load mean[i0] : f32\n"
        "    %2 = sub %0, %1 : f32\n"
        "    y[i1 + 8*i0] = %2\n"
        "\n"
        "  return y\n"
    )


def test_a_variable_in_several_terms_does_not_attain_both_their_bounds() -> None:
    """Half of ``2 * (s0 - 1)`` elements each (6106004)."""
    s0 = size_symbol("s0")
    shape, axis = 2 * (s0 - 1), (Axis(I0, s0 - 1),)
    source = Buffer("x", DType.F32, (shape,), ints(1), Role.INPUT, "x")
    result = Buffer("y", DType.F32, (s0 - 1,), ints(1), Role.OUTPUT, "y")

    def summed(index: sympy.Expr) -> Program:
        value = B.reduce(ReduceKind.SUM, B.load("x", index, DType.F32), dtype=DType.F32)
        nest = Nest("sum", axis, (Axis(R0, sympy.Integer(2)),), (Store("y", I0, value),), ("sum",))
        return Program("halves", (source, result), (nest,), ("y",))

    verify(summed(sympy.expand(I0 + R0 * (s0 - 1))))
    with pytest.raises(InvalidProgram, match="leaves x"):
        verify(summed(I0 - 1))


@pytest.mark.parametrize("wrong", [-1, 1])
@pytest.mark.parametrize("more", [0, 1])
def test_a_variable_in_several_terms_that_grow_alike_attains_their_bounds(
    more: int, wrong: int
) -> None:
    """Rows of a tensor that is padded."""
    s0, row = size_symbol("s0"), size_symbol("s0") + more
    axes = Axis(I0, s0), Axis(I1, row)
    source = Buffer("x", DType.F32, (s0, row), (row, sympy.S.One), Role.INPUT, "x")
    result = Buffer("y", DType.F32, (s0, row), (row, sympy.S.One), Role.OUTPUT, "y")

    def copied(index: sympy.Expr) -> Program:
        store = Store("y", I0 * row + I1, B.load("x", index, DType.F32))
        return Program("rows", (source, result), (Nest("copy", axes, (), (store,), ()),), ("y",))

    verify(copied(sympy.expand(I0 * row + I1)))
    with pytest.raises(InvalidProgram, match="leaves x"):
        verify(copied(I0 * row + I1 + wrong))
