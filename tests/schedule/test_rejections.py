"""Every condition that forbids a fusion, with its numbers in the sentence."""

from __future__ import annotations

import dataclasses
import functools

import pytest
import sympy

from harness.dtypes import DType
from harness.ir.index import axis_symbol
from harness.ir.nodes import Axis, Nest, ReduceKind, Store, StoreMode, Value
from harness.ir.ops import Op
from harness.ir.program import Role
from harness.schedule import fuse, legality
from harness.schedule.build import schedule
from harness.schedule.group import Rejection, Schedule
from harness.target import H100
from tests.schedule.programs import Maker, Tensor, assert_same, column


def rejected(made: Schedule, condition: str) -> Rejection:
    """The first rejection for ``condition``."""
    found = [r for r in made.rejections if r.condition == condition]
    assert found, sorted({r.condition for r in made.rejections})
    return found[0]


def test_sizes() -> None:
    m = Maker()
    w = m.input("w", 30)
    x = m.input("x", 20, 30)
    a = m.pointwise("a", [w], lambda v: m.op(Op.TANH, v))
    b = m.pointwise("b", [x, a], lambda v, u: m.op(Op.ADD, v, u))
    made = schedule(m.program(b), H100)
    assert len(made.groups) == 2
    assert rejected(made, "sizes").reason == "n0 runs over 30 points, n1 over 600"


def test_reduction_sizes() -> None:
    m = Maker()
    x = m.input("x", 20, 30)
    (a,) = m.reduce("a", ReduceKind.SUM, [x], lambda v: v, [0])
    (b,) = m.reduce("b", ReduceKind.SUM, [x], lambda v: v, [1])
    made = schedule(m.program(a, b), H100)
    assert rejected(made, "reduction sizes").reason == "n0 reduces 30 x 20, n1 reduces 20 x 30"


def test_reduction_sizes_of_as_many_results() -> None:
    m = Maker()
    x, y, w = m.input("x", 20, 30), m.input("y", 20, 15), m.input("w", 20, 1)
    (a,), (b,) = (
        m.reduce(name, ReduceKind.SUM, [one, w], lambda v, u: m.op(Op.MUL, v, u), [1])
        for name, one in (("a", x), ("b", y))
    )
    made = schedule(m.program(a, b), H100)
    assert rejected(made, "reduction sizes").reason == "n0 reduces 20 x 30, n1 reduces 20 x 15"


def test_square_row_and_column_sums_do_not_match() -> None:
    m = Maker()
    x = m.input("x", 20, 20)
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    (b,) = m.reduce("b", ReduceKind.SUM, [a], lambda v: v, [0])
    (c,) = m.reduce("c", ReduceKind.SUM, [a], lambda v: v, [1])
    program = m.program(a, b, c)
    made = schedule(program, H100)
    assert len(made.groups) == 2
    assert {r.condition for r in made.rejections} & {"index mismatch", "nothing to save"}
    assert_same(program, made)


def test_index_mismatch_of_a_transposed_read() -> None:
    m = Maker()
    x = m.input("x", 20, 20)
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    b = m.pointwise("b", [a, a.permuted(1, 0)], lambda v, u: m.op(Op.ADD, v, u))
    program = m.program(b)
    made = schedule(program, H100)
    assert len(made.groups) == 2
    reason = rejected(made, "index mismatch").reason
    assert "n1 reads a elsewhere than n0 writes it" in reason
    assert "20:20" in reason
    assert_same(program, made)


def test_index_mismatch_of_a_row_further_on() -> None:
    m = Maker()
    x, y = m.input("x", 30, 20), m.input("y", 29, 20)
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    head, tail = (Tensor("a", (29, 20), (20, 1), at) for at in (0, 20))
    b = m.pointwise("b", [head], lambda v: m.op(Op.SIN, v), out=Tensor("a", (29, 20), (20, 1)))
    c = m.pointwise("c", [tail, y], lambda v, u: m.op(Op.ADD, v, u))
    program = m.program(a, b, c)
    made = schedule(program, H100)
    assert len(made.groups) == 3
    assert "n2 reads a elsewhere than n1 writes it" in rejected(made, "index mismatch").reason
    assert_same(program, made)


def test_what_numbers_say_is_no_place_that_two_kernels_have_in_common() -> None:
    """Two points may write to it, of which all readers see what the last has written."""
    m, at, i0 = Maker(), sympy.Symbol("at", integer=True), axis_symbol("i", 0)
    x, t, y = (
        m.input("x", 20),
        m.buffer("t", (20,), Role.TEMPORARY),
        m.buffer("y", (20,), Role.OUTPUT),
    )
    by = m.buffer("by", (20,), Role.INPUT, DType.I64)
    place = ((at, m.builder.load(by.name, i0, DType.I64)),)
    axes = (Axis(i0, sympy.Integer(20)),)
    value = m.builder.load(x.name, i0, DType.F32)
    read = m.builder.load(t.name, at, DType.F32, place)
    m.nests = [
        Nest("n0", axes, (), (Store(t.name, at, value, indirect=place),), ("t",)),
        Nest("n1", axes, (), (Store(y.name, i0, read),), ("y",)),
    ]
    made = schedule(m.program(y), H100)
    assert len(made.groups) == 2
    assert "n1 reads t elsewhere than n0 writes it" in rejected(made, "index mismatch").reason


def _of_other_shapes(rows: int, columns: int) -> Schedule:
    """A nest over 4 x 6 points, and one over as many in other loops that reads what it writes."""
    m = Maker()
    x, y = m.input("x", 4, 6, stride=(1, 8)), m.input("y", rows, columns, stride=(1, 2 * rows))
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    b = m.pointwise("b", [a.viewed(rows, columns), y], lambda v, u: m.op(Op.ADD, v, u))
    program = m.program(b)
    made = schedule(program, H100)
    assert_same(program, made)
    return made


@pytest.mark.parametrize(("shape", "split"), [((2, 12), (2, 2, 6)), ((8, 3), (4, 2, 3))])
def test_loops_of_other_shapes_are_split_where_sizes_divide(
    shape: tuple[int, int], split: tuple[int, ...]
) -> None:
    (group,) = _of_other_shapes(*shape).groups
    assert tuple(axis.size for axis in group.axes) == split


def test_index_mismatch_of_sizes_that_do_not_divide() -> None:
    made = _of_other_shapes(3, 8)
    assert len(made.groups) == 2
    reason = rejected(made, "index mismatch").reason
    assert reason == "the loops (4, 6) and (3, 8) cannot be split to common sizes"


def test_index_mismatch_of_a_view_that_is_transposed() -> None:
    m = Maker()
    x = m.input("x", 4, 6, stride=(1, 8))
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    b = m.pointwise("b", [a.viewed(3, 8).permuted(1, 0)], lambda v: m.op(Op.SIN, v))
    program = m.program(b)
    made = schedule(program, H100)
    assert "n1 reads a elsewhere than n0 writes it" in rejected(made, "index mismatch").reason
    assert_same(program, made)


def test_cycle_through_a_third_kernel() -> None:
    m = Maker()
    x = m.input("x", 50, 40)
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    (s,) = m.reduce("s", ReduceKind.SUM, [a], lambda v: v, [0])
    (t,) = m.reduce("t", ReduceKind.SUM, [s], lambda v: v, [0])
    b = m.pointwise("b", [a, t.expanded((50, 40))], lambda v, u: m.op(Op.ADD, v, u))
    program = m.program(b, a)
    made = schedule(program, H100)
    assert "must run between" in rejected(made, "cycle").reason
    assert_same(program, made)


def test_cycle_that_another_fusion_has_made() -> None:
    """``a`` and ``b`` could be one kernel until ``c``, which reads ``a`` at other points, and
    ``d``, of which ``b`` does, are one: they share more."""
    m = Maker()
    p, q, r = (m.input(name, 20, 20) for name in "pqr")
    a = m.pointwise("a", [p], lambda v: m.op(Op.TANH, v))
    d = m.pointwise("d", [q, r], lambda v, u: m.op(Op.MUL, v, u))

    def together(*loaded: Value) -> Value:
        return functools.reduce(functools.partial(m.op, Op.ADD), loaded)

    c, b = (
        m.pointwise(name, [one, one.permuted(1, 0), *others], together)
        for name, one, others in (("c", a, (q, r)), ("b", d, (p,)))
    )
    program = m.program(b, c)
    made = schedule(program, H100)
    assert [set(group.origins) for group in made.groups] == [{"a"}, {"c", "d"}, {"b"}]
    assert_same(program, made)


def test_mutation_at_another_point() -> None:
    m = Maker()
    p, g = m.input("p", 20, 20), m.input("g", 20, 20)
    a = m.pointwise("a", [p.permuted(1, 0), p], lambda v, u: m.op(Op.ADD, v, u))
    m.pointwise("new", [g, a], lambda v, u: m.op(Op.ADD, v, u), out=p)
    program = m.program(a)
    made = schedule(program, H100)
    assert len(made.groups) == 2
    assert (
        "n1 overwrites p, which n0 uses at another point"
        in rejected(made, "mutation hazard").reason
    )
    assert made.groups[0].origins == ("a",)
    assert_same(program, made)


def test_mutation_before_a_later_loop_reads_again() -> None:
    m = Maker()
    p = m.input("p", 20, 30)
    a = m.pointwise("a", [p], lambda v: m.op(Op.TANH, v))
    (s,) = m.reduce("s", ReduceKind.SUM, [a], lambda v: v, [1])
    b = m.pointwise("b", [a, column(s)], lambda v, u: m.op(Op.ADD, v, u))
    c = m.pointwise("c", [p], lambda v: m.op(Op.SIN, v))
    (t,) = m.reduce("t", ReduceKind.SUM, [c], lambda v: v, [1])
    m.pointwise("new", [c], lambda v: v, out=p)
    program = m.program(b, t)
    made = schedule(program, H100)
    assert_same(program, made)


def test_a_nest_that_overwrites_what_it_reads_is_not_computed_again() -> None:
    m = Maker()
    p = m.input("p", 20, 30)
    a = m.pointwise("a", [p], lambda v: m.op(Op.TANH, v))
    (own,) = m.nests[-1].stores
    changed = Store("p", own.index, m.op(Op.SIN, own.value))
    m.nests[-1] = dataclasses.replace(m.nests[-1], stores=(own, changed))
    (s,) = m.reduce("s", ReduceKind.SUM, [a], lambda v: v, [1])
    b = m.pointwise("b", [a, column(s)], lambda v, u: m.op(Op.ADD, v, u))
    program = m.program(b)
    made = schedule(program, H100)
    assert "n0 is needed again" in rejected(made, "mutation hazard").reason
    assert_same(program, made)


def test_atomic_store_stays_alone() -> None:
    m = Maker()
    x = m.input("x", 64)
    zero = m.pointwise("zero", [x], lambda v: m.op(Op.SUB, v, v))
    loop = axis_symbol("i", 0)
    value = m.builder.load("x", loop, m.buffers[0].dtype)
    where = m.builder.index(sympy.Integer(63) - loop, m.buffers[0].dtype)
    index = sympy.Symbol("t0", integer=True)
    store = Store("zero", index, value, StoreMode.ATOMIC_ADD, ((index, where),))
    m.nests.append(Nest("n1", (Axis(loop, sympy.Integer(64)),), (), (store,), ("scatter",)))
    y = m.pointwise("y", [zero, x], lambda v, u: m.op(Op.ADD, v, u))
    program = m.program(y)
    made = schedule(program, H100)
    assert len(made.groups) == 3
    assert "change atomically" in rejected(made, "atomic store").reason
    assert_same(program, made)


@pytest.mark.parametrize(("columns", "groups"), [(1024, 2), (256, 1)])
def test_incompatible_tilings(columns: int, groups: int) -> None:
    m = Maker()
    x = m.input("x", 64, columns, stride=(1, 64))
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    (s,) = m.reduce("s", ReduceKind.SUM, [a], lambda v: v, [1])
    program = m.program(s, a)
    made = schedule(program, H100)
    assert len(made.groups) == groups  # a block of several short rows fills sectors both ways
    reason = rejected(made, "incompatible tilings").reason
    assert reason == "n1 is contiguous along its reduced loops, n0 along the parallel ones"
    assert_same(program, made)


@pytest.mark.parametrize(("loops", "groups"), [(3, 1), (4, 2)])
def test_a_kernel_has_three_tiles(loops: int, groups: int) -> None:
    """Of tensors in ``loops`` layouts, each contiguous in another loop."""
    m, shape, added = Maker(), (8, 9, 10, 11)[-loops:], []
    x = m.input("x", *shape)
    for k in range(loops - 1):
        order = [*range(loops)]
        order[k], order[-1] = order[-1], order[k]
        turned = m.input(f"t{k}", *(shape[d] for d in order)).permuted(*order)
        added.append(m.pointwise(f"a{k}", [x, turned], lambda v, u: m.op(Op.ADD, v, u)))
    program = m.program(*added)
    made = schedule(program, H100)
    assert len(made.groups) == groups
    if groups > 1:
        reason = "together 4 loops are contiguous for some access, a kernel has 3 tiles"
        assert rejected(made, "incompatible tilings").reason == reason
    assert_same(program, made)


def test_too_many_operations() -> None:
    m = Maker()
    t = m.input("x", 16)
    for k in range(3):

        def long(v: object) -> object:
            for _ in range(legality.MAX_OPERATIONS // 2):
                v = m.op(Op.TANH, v)
            return v

        t = m.pointwise(f"a{k}", [t], long)
    made = schedule(m.program(t), H100)
    assert len(made.groups) == 2
    assert f"limit {legality.MAX_OPERATIONS}" in rejected(made, "too many operations").reason


def test_too_many_nests() -> None:
    m = Maker()
    t = m.input("x", 16)
    for k in range(legality.MAX_NESTS + 1):
        t = m.pointwise(f"a{k}", [t], lambda v: m.op(Op.TANH, v))
    made = schedule(m.program(t), H100)
    assert len(made.groups) == 2
    assert f"limit {legality.MAX_NESTS}" in rejected(made, "too many nests").reason
    # What a kernel keeps to itself is no argument: there may be more of it.
    assert max(len(group.nests) for group in made.groups) > legality.MAX_BUFFERS


def test_too_many_arguments() -> None:
    m = Maker()
    t = m.input("x", 64, 64)
    outputs = []
    for k in range(legality.MAX_BUFFERS + 1):
        t = m.pointwise(f"a{k}", [t], lambda v: m.op(Op.TANH, v))
        outputs.append(t)
    made = schedule(m.program(*outputs), H100)
    assert len(made.groups) == 2
    assert f"limit {legality.MAX_BUFFERS}" in rejected(made, "too many arguments").reason


def test_too_far_apart() -> None:
    m = Maker()
    x = m.input("x", 512)
    first = m.pointwise("first", [x], lambda v: m.op(Op.TANH, v))
    t = m.input("y", 33)
    for k in range(fuse.MAX_DISTANCE + 1):
        t = m.pointwise(f"a{k}", [t], lambda v: m.op(Op.TANH, v))
    last = m.pointwise("last", [x], lambda v: m.op(Op.SIN, v))
    made = schedule(m.program(first, last, t), H100)
    assert rejected(made, "too far apart").reason == (
        f"{fuse.MAX_DISTANCE + 2} nests between them, limit {fuse.MAX_DISTANCE}"
    )


@pytest.mark.parametrize(("points", "kernels"), [(1 << 17, 1), (1 << 24, 2)])
def test_nothing_to_save(points: int, kernels: int) -> None:
    """A launch is something where a kernel is not long."""
    m = Maker()
    shared = m.input("step", 1)
    outputs = []
    for k in range(2):
        x = m.input(f"x{k}", points)
        outputs.append(m.pointwise(f"a{k}", [x, shared], lambda v, u: m.op(Op.ADD, v, u)))
    made = schedule(m.program(*outputs), H100)
    assert len(made.groups) == kernels
    if kernels > 1:
        assert "4 bytes would be saved" in rejected(made, "nothing to save").reason


def test_reductions_that_share_little_stay_apart() -> None:
    """They fill the device with rows, and a row's registers count twice in one kernel."""
    m = Maker()
    shared, sums = m.input("weight", 1024), []
    for k in range(2):
        x = m.input(f"x{k}", 1024, 1024)
        rows = [x, shared.expanded((1024, 1024))]
        sums += m.reduce(f"s{k}", ReduceKind.SUM, rows, lambda v, u: m.op(Op.MUL, v, u), [1])
    made = schedule(m.program(*sums), H100)
    assert len(made.groups) == 2
    assert "4096 bytes would be saved" in rejected(made, "nothing to save").reason


def test_no_points() -> None:
    m = Maker()
    x = m.input("x", 0, 4)
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    b = m.pointwise("b", [a], lambda v: m.op(Op.TANH, v))
    made = schedule(m.program(b), H100)
    assert len(made.groups) == 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_argmax_keeps_the_order_of_its_positions(order: tuple[int, int]) -> None:
    m = Maker()
    x = m.input("x", 6, 5, 4)
    y = x.permuted(0, *(1 + k for k in order))
    (a,) = m.reduce("a", ReduceKind.ARGMAX, [y], lambda v: v, [1, 2])
    (s,) = m.reduce("s", ReduceKind.SUM, [x], lambda v: v, [1, 2])
    program = m.program(a, s)
    made = schedule(program, H100)
    assert len(made.groups) == 1
    assert_same(program, made)


def test_two_argmaxes_that_count_differently_stay_apart() -> None:
    m = Maker()
    x = m.input("x", 6, 5, 4)
    (a,) = m.reduce("a", ReduceKind.ARGMAX, [x], lambda v: v, [1, 2])
    (b,) = m.reduce("b", ReduceKind.ARGMAX, [x.permuted(0, 2, 1)], lambda v: v, [1, 2])
    program = m.program(a, b)
    made = schedule(program, H100)
    assert len(made.groups) == 2
    assert "positions" in rejected(made, "index mismatch").reason
    assert_same(program, made)


def test_a_reduction_along_its_parallel_loops_may_transpose() -> None:
    m = Maker()
    x = m.input("x", 128, 64, 96, stride=(64 * 96, 1, 64))
    mean, _ = m.reduce("w", ReduceKind.WELFORD, [x], lambda v: v, [2], (0, 1))
    y = m.pointwise("y", [x, column(mean)], lambda v, u: m.op(Op.SUB, v, u))
    program = m.program(y)
    made = schedule(program, H100)
    assert len(made.groups) == 1
    assert_same(program, made)


def test_reductions_of_opposite_directions_stay_apart() -> None:
    m = Maker()
    x = m.input("x", 128, 128)
    y = m.input("y", 128, 128, stride=(1, 128))
    (a,) = m.reduce("a", ReduceKind.SUM, [x], lambda v: v, [1])
    (b,) = m.reduce("b", ReduceKind.SUM, [y], lambda v: v, [1])
    c = m.pointwise("c", [a, b], lambda v, u: m.op(Op.ADD, v, u))
    program = m.program(c)
    made = schedule(program, H100)
    assert len(made.groups) == 2
    assert rejected(made, "incompatible tilings")
    assert_same(program, made)


@pytest.mark.parametrize(
    ("kind", "components", "more", "reason"),
    [
        (ReduceKind.SUM, (0,), False, None),
        (ReduceKind.ARGMAX, (0,), False, "n1 is not added up by element"),
        (ReduceKind.WELFORD, (0, 1), False, "n1 is not added up by element"),
        (ReduceKind.SUM, (0,), True, "n2 goes on with what the columns are"),
    ],
)
def test_only_sums_of_columns_are_added_up_while_rows_are_walked(
    kind: ReduceKind, components: tuple[int, ...], more: bool, reason: str | None
) -> None:
    m = Maker()
    x = m.input("x", 64, 16, 128)
    (rows,) = m.reduce("rows", ReduceKind.MAX, [x], lambda v: v, [2])
    columns = m.reduce("columns", kind, [x], lambda v: v, [1], components)
    if more:
        columns.append(m.pointwise("more", columns, lambda v: m.op(Op.TANH, v)))
    few = dataclasses.replace(H100, multiprocessors=4)  # which as many strips fill
    made = schedule(m.program(rows, *columns), few)
    assert len(made.groups) == (1 if reason is None else 2)
    if reason is not None:
        assert rejected(made, "mixed order").reason == reason
