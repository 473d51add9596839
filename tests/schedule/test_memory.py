"""Launch order, memory reused in place, and the peak."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import sympy

from harness.decisions import Decisions
from harness.dtypes import DType
from harness.graph.text import load
from harness.ir.index import axis_symbol
from harness.ir.nodes import (
    Axis,
    Builder,
    Indirect,
    Nest,
    ReduceKind,
    Store,
    StoreMode,
    Value,
    buffers_read,
)
from harness.ir.ops import Op
from harness.ir.program import Role
from harness.pipeline import compile_graph
from harness.schedule.build import schedule
from harness.schedule.group import FusedGroup, Segment, SegmentKind
from harness.schedule.memory import may_overwrite, peak_bytes
from harness.target import H100
from tests.schedule.programs import Maker, Tensor, assert_same, column


def test_the_last_reader_reuses_a_temporary() -> None:
    m = Maker()
    x = m.input("x", 40, 30)
    (t,) = m.reduce("t", ReduceKind.SUM, [x], lambda v: v, [0])
    a = m.pointwise("a", [x, t], lambda v, u: m.op(Op.SUB, v, u))
    (s,) = m.reduce("s", ReduceKind.SUM, [a], lambda v: v, [1])
    b = m.pointwise("b", [a, column(s)], lambda v, u: m.op(Op.MUL, v, u))
    (c,) = m.reduce("c", ReduceKind.SUM, [b], lambda v: v, [0])
    d = m.pointwise("d", [b, c], lambda v, u: m.op(Op.SUB, v, u))
    program = m.program(d)
    made = schedule(program, H100)
    pairs = [p for g in made.groups for p in g.in_place]
    assert pairs, [g.origins for g in made.groups]
    assert_same(program, made)


def test_only_the_last_reader_and_not_for_what_a_caller_sees() -> None:
    """Of ``t`` the second of its readers; of ``u`` none: it is stored into an input."""
    m = Maker()
    x, p = m.input("x", 20, 20), m.input("p", 20, 20)
    t = m.pointwise("t", [x], lambda v: m.op(Op.TANH, v))
    a = m.pointwise("a", [t], lambda v: m.op(Op.SIN, v))
    b = m.pointwise("b", [t], lambda v: m.op(Op.ABS, v))
    u = m.pointwise("u", [x], lambda v: m.op(Op.SIN, v))
    m.pointwise("new", [u], lambda v: m.op(Op.TANH, v), out=p)
    program = m.program(a, b)
    apart = {buffer: kernel for kernel, buffer in enumerate("tabup")}
    made = schedule(program, H100, Decisions(kernels=apart))
    pairs = {g.origins: g.in_place for g in made.groups if g.in_place}
    assert (len(made.groups), pairs) == (5, {("b",): (("b", "t"),)})
    assert_same(program, made)


def test_not_for_a_part_of_an_output_or_for_two() -> None:
    """``whole`` has been begun by another kernel, ``large`` is twice as long as ``u``; ``a`` and
    ``b``, which one nest stores, cannot both have the memory of ``v``."""
    m = Maker()
    x, large = m.input("x", 20, 20), m.buffer("large", (40, 20), Role.TEMPORARY)
    ops = {"t": Op.TANH, "u": Op.SIN, "v": Op.ABS, "whole": Op.EXP}
    first = {name: m.pointwise(name, [x], partial(m.op, op)) for name, op in ops.items()}
    half = (10, 20), (20, 1)
    m.pointwise("second", [Tensor("t", *half)], partial(m.op, Op.SIN), out=Tensor("whole", *half))
    m.pointwise(
        "first", [first["u"]], partial(m.op, Op.TANH), out=Tensor("large", (20, 20), (20, 1))
    )
    a = m.pointwise("a", [first["v"]], partial(m.op, Op.SIN))
    b = m.pointwise("b", [first["v"]], partial(m.op, Op.TANH))
    *_, one, other = m.nests
    m.nests[-2:] = [replace(one, stores=(*one.stores, *other.stores))]
    made = schedule(
        m.program(first["whole"], large, a, b),
        H100,
        Decisions(kernels={"t": 0, "u": 1, "v": 2, "whole": 3, "large": 4, "a": 5}),
    )
    assert [g.in_place for g in made.groups if g.in_place] == [(("a", "v"),)]


def test_what_is_read_where_it_is_written_may_be_overwritten() -> None:
    at, i0, b = sympy.Symbol("at", integer=True), axis_symbol("i", 0), Builder()
    by = b.load("by", i0, DType.I64)

    def may(*stores: Store) -> bool:
        axes = (Axis(i0, sympy.Integer(9)),)
        nests = tuple(Nest(f"n{k}", axes, (), (s,), ()) for k, s in enumerate(stores))
        segments = (Segment(SegmentKind.FLAT, nests),)
        group = FusedGroup("g", axes, (), segments, frozenset(), (), ())
        return may_overwrite(group, "new", "old")

    def old(place: sympy.Expr, indirect: Indirect = ()) -> Value:
        return b.load("old", place, DType.F32, indirect)

    here, one = old(i0), b.constant(1.0, DType.F32)
    other, new = Store("other", i0, here), Store("new", i0, here)
    assert may(new) and may(other, new)
    assert not may(new, other)  # read after it is written
    assert not may(Store("new", i0, one), new)  # written before
    assert not may(Store("new", i0, old(8 - i0)))
    assert not may(other, Store("new", i0, old(8 - i0)))
    indirect = ((at, by),)  # which may be the same for two points
    assert not may(Store("new", at, old(at, indirect), indirect=indirect))
    assert not may(Store("new", i0, here, mode=StoreMode.ATOMIC_ADD))


def test_not_if_a_later_nest_of_the_kernel_reads_it() -> None:
    m = Maker()
    x = m.input("x", 6, 5)
    (t,) = m.reduce("t", ReduceKind.SUM, [x], lambda v: v, [0, 1])
    (u,) = m.reduce("u", ReduceKind.SUM, [m.input("w", 4)], lambda v: v, [0])
    first = m.pointwise("first", [t, u], lambda a, b: m.op(Op.SUB, a, b))
    second = m.pointwise("second", [t, u], lambda a, b: m.op(Op.MUL, a, b))
    program = m.program(first, second)
    made = schedule(program, H100)
    last = made.groups[-1]
    assert ("first", "t") not in last.in_place
    assert_same(program, made)


def test_not_if_it_is_read_broadcast() -> None:
    m = Maker()
    x = m.input("x", 20, 20)
    (t,) = m.reduce("t", ReduceKind.SUM, [x], lambda v: v, [0])
    (u,) = m.reduce("u", ReduceKind.SUM, [x], lambda v: v, [1])
    o = m.pointwise("o", [x, t, column(u)], lambda a, b, c: m.op(Op.ADD, b, c))
    program = m.program(o)
    made = schedule(program, H100)
    assert all(not g.in_place for g in made.groups)
    assert_same(program, made)


def test_an_output_is_never_reused() -> None:
    m = Maker()
    x = m.input("x", 40, 30)
    (t,) = m.reduce("t", ReduceKind.SUM, [x], lambda v: v, [1])
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    (s,) = m.reduce("s", ReduceKind.SUM, [a], lambda v: v, [0])
    b = m.pointwise("b", [a, s], lambda v, u: m.op(Op.SUB, v, u))
    program = m.program(a, b, t)
    made = schedule(program, H100)
    assert all(old != "a" for g in made.groups for _, old in g.in_place)
    assert_same(program, made)


def test_freed_memory_does_not_count() -> None:
    m = Maker()
    x = m.input("x", 64, 64)
    outputs = []
    for k in range(3):
        a = m.pointwise(f"a{k}", [x], lambda v: m.op(Op.TANH, v))
        # read transposed and plain: neither fused nor reused
        b = m.pointwise(f"b{k}", [a, a.permuted(1, 0)], lambda v, u: m.op(Op.ADD, v, u))
        (s,) = m.reduce(f"s{k}", ReduceKind.SUM, [b], lambda v: v, [0, 1])
        outputs.append(s)
    program = m.program(*outputs)
    made = schedule(program, H100)
    assert peak_bytes(made) <= 3 * 64 * 64 * 4 + 3 * 4
    assert_same(program, made)


def test_launch_order_frees_early() -> None:
    m = Maker()
    large = []
    for k in range(4):
        y = m.input(f"y{k}", 512, 512)
        large.append(m.pointwise(f"a{k}", [y], lambda v: m.op(Op.TANH, v)))
    sums = []
    for k, a in enumerate(large):
        t = m.pointwise(f"t{k}", [a, a.permuted(1, 0)], lambda v, u: m.op(Op.MUL, v, u))
        (s,) = m.reduce(f"s{k}", ReduceKind.SUM, [t], lambda v: v, [0, 1])
        sums.append(s)
    program = m.program(*sums)
    made = schedule(program, H100)
    assert peak_bytes(made) < 3 * 512 * 512 * 4
    assert_same(program, made)


def test_what_a_kernel_launched_later_reads_again() -> None:
    """Two nests of a kernel may stand around one of another kernel, which is launched first."""
    graphs = Path(__file__).parents[2] / "suites" / "graphs"
    around = 0
    for region in compile_graph(load(graphs / "convnext_backward.py"), H100).regions:
        read = [
            {b for nest in launch.group.nests for b in buffers_read(nest)} - launch.group.internal
            for launch in region.launches
        ]
        for number, launch in enumerate(region.launches):
            again = read[number] & set().union(*read[number + 1 :])
            assert launch.group.read_later == again, (region.region.name, launch.group.name)
            around += bool(read[number] & set().union(*read[:number]) - again)
    assert around > 0
