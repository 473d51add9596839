"""Patterns that have to become one kernel."""

from __future__ import annotations

import pytest

from harness.dtypes import DType
from harness.graph.lowering import lower
from harness.graph.text import loads
from harness.ir.nodes import ReduceKind
from harness.ir.ops import Op
from harness.schedule.build import schedule
from harness.schedule.group import SegmentKind
from harness.target import H100
from tests.schedule.programs import Maker, Tensor, assert_same, column, layers

FLAT, LOOP = SegmentKind.FLAT, SegmentKind.LOOP


def softmax(m: Maker, x: Tensor) -> Tensor:
    (top,) = m.reduce("amax", ReduceKind.MAX, [x], lambda a: a, [1])
    e = m.pointwise("exp", [x, column(top)], lambda a, b: m.op(Op.EXP, m.op(Op.SUB, a, b)))
    (total,) = m.reduce("sum", ReduceKind.SUM, [e], lambda a: a, [1])
    return m.pointwise("div", [e, column(total)], lambda a, b: m.op(Op.TRUE_DIV, a, b))


def layer_norm(m: Maker, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    mean, m2 = m.reduce("welford", ReduceKind.WELFORD, [x], lambda a: a, [1], (0, 1))
    n = x.shape[1]
    rstd = m.pointwise(
        "rstd",
        [m2],
        lambda a: m.op(Op.RSQRT, m.op(Op.ADD, m.op(Op.TRUE_DIV, a, m.number(n)), m.number(1e-5))),
    )
    y = m.pointwise(
        "norm",
        [x, column(mean), column(rstd), w],
        lambda a, b, c, d: m.op(Op.MUL, m.op(Op.MUL, m.op(Op.SUB, a, b), c), d),
    )
    return y, mean, rstd


def test_softmax() -> None:
    m = Maker()
    y = softmax(m, m.input("x", 48, 300))
    program = m.program(y)
    made = schedule(program, H100)
    (group,) = made.groups
    assert layers(group) == [(LOOP, ["amax"]), (LOOP, ["exp", "sum"]), (LOOP, ["exp", "div"])]
    assert group.internal == {"amax", "exp", "sum"}
    assert_same(program, made)


def test_sums_of_what_is_stored_are_taken_in_one_loop() -> None:
    """Though one of the sums is of what is made of the other's terms."""
    m = Maker()
    first = m.pointwise("first", [m.input("x", 48, 300)], lambda v: m.op(Op.TANH, v))
    second = m.pointwise("second", [first], lambda v: m.op(Op.SIN, v))
    (one,) = m.reduce("one", ReduceKind.SUM, [first], lambda v: v, [1])
    (two,) = m.reduce("two", ReduceKind.SUM, [second], lambda v: v, [1])
    program = m.program(first, second, one, two)
    made = schedule(program, H100)
    (group,) = made.groups
    assert layers(group) == [(LOOP, ["first", "second", "one", "two"])]
    assert_same(program, made)


def test_layer_norm_with_epilogue() -> None:
    m = Maker()
    x, w = m.input("x", 64, 96), m.input("w", 96)
    y, mean, rstd = layer_norm(m, x, w)
    z = m.pointwise("gelu", [y], lambda a: m.op(Op.TANH, a))
    z = m.pointwise("scale", [z, w], lambda a, b: m.op(Op.MUL, a, b))
    program = m.program(z, mean, rstd)
    made = schedule(program, H100)
    (group,) = made.groups
    assert layers(group) == [
        (LOOP, ["welford"]),
        (FLAT, ["rstd"]),
        (LOOP, ["norm", "gelu", "scale"]),
    ]
    assert group.internal == {"welford_1", "norm", "gelu"}
    assert_same(program, made)


def test_residual_add_and_norm_of_a_viewed_tensor() -> None:
    m = Maker()
    x, r, w = m.input("x", 4, 16, 96), m.input("r", 64, 96), m.input("w", 96)
    h = m.pointwise("add", [x, r.viewed(4, 16, 96)], lambda a, b: m.op(Op.ADD, a, b))
    y, mean, _ = layer_norm(m, h.viewed(64, 96), w)
    program = m.program(h, y, mean)
    made = schedule(program, H100)
    (group,) = made.groups
    assert (int(group.numel), int(group.rnumel)) == (64, 96)
    # the sum is an output, so the second loop loads it instead of adding again
    assert layers(group) == [(LOOP, ["add", "welford"]), (FLAT, ["rstd"]), (LOOP, ["norm"])]
    assert_same(program, made)


def test_layer_norm_backward_keeps_column_sums_apart() -> None:
    m = Maker()
    dy, x, w = m.input("dy", 256, 96), m.input("x", 256, 96), m.input("w", 96)
    g = m.pointwise("g", [dy, w], lambda a, b: m.op(Op.MUL, a, b))
    (s1,) = m.reduce("s1", ReduceKind.SUM, [g], lambda a: a, [1])
    (s2,) = m.reduce("s2", ReduceKind.SUM, [g, x], lambda a, b: m.op(Op.MUL, a, b), [1])
    dx = m.pointwise(
        "dx",
        [g, x, column(s1), column(s2)],
        lambda a, b, c, d: m.op(Op.SUB, m.op(Op.SUB, a, c), m.op(Op.MUL, b, d)),
    )
    (dw,) = m.reduce("dw", ReduceKind.SUM, [dy, x], lambda a, b: m.op(Op.MUL, a, b), [0])
    (db,) = m.reduce("db", ReduceKind.SUM, [dy], lambda a: a, [0])
    program = m.program(dx, dw, db)
    made = schedule(program, H100)
    shapes = sorted((int(g.numel), int(g.rnumel)) for g in made.groups)
    assert shapes == [(96, 256), (256, 96)]
    assert any(r.condition == "reduction sizes" for r in made.rejections)
    rows = next(g for g in made.groups if g.numel == 256)
    assert layers(rows) == [(LOOP, ["g", "s1", "s2"]), (LOOP, ["g", "dx"])]
    assert_same(program, made)


def test_log_softmax_over_many_classes() -> None:
    m = Maker()
    x = m.input("x", 8, 30011)
    (top,) = m.reduce("amax", ReduceKind.MAX, [x], lambda a: a, [1])
    shifted = m.pointwise("sub", [x, column(top)], lambda a, b: m.op(Op.SUB, a, b))
    (total,) = m.reduce("sum", ReduceKind.SUM, [shifted], lambda a: m.op(Op.EXP, a), [1])
    log = m.pointwise("log", [total], lambda a: m.op(Op.LOG, a))
    y = m.pointwise("out", [shifted, column(log)], lambda a, b: m.op(Op.SUB, a, b))
    program = m.program(y)
    made = schedule(program, H100)
    (group,) = made.groups
    assert layers(group) == [
        (LOOP, ["amax"]),
        (LOOP, ["sub", "sum"]),
        (FLAT, ["log"]),
        (LOOP, ["sub", "out"]),
    ]
    assert_same(program, made)


def test_rowwise_fp8_quantisation() -> None:
    m = Maker()
    x = m.input("x", 128, 512)
    (top,) = m.reduce("amax", ReduceKind.MAX, [x], lambda a: m.op(Op.ABS, a), [1])
    scale = m.pointwise("scale", [top], lambda a: m.op(Op.TRUE_DIV, a, m.number(448.0)))
    q = m.pointwise(
        "q", [x, column(scale)], lambda a, b: m.op(Op.TRUE_DIV, a, b), dtype=DType.F8E4M3
    )
    program = m.program(q, scale)
    made = schedule(program, H100)
    (group,) = made.groups
    assert layers(group) == [(LOOP, ["amax"]), (FLAT, ["scale"]), (LOOP, ["q"])]
    assert_same(program, made)


def test_group_norm_with_statistics_per_group() -> None:
    m = Maker()
    batch, groups, per, pixels = 2, 4, 8, 36
    x = m.input("x", batch, groups * per, pixels)
    w = m.input("w", groups * per)
    mean, m2 = m.reduce(
        "welford",
        ReduceKind.WELFORD,
        [x.viewed(batch, groups, per * pixels)],
        lambda a: a,
        [2],
        (0, 1),
    )
    four = (batch, groups, per, pixels)
    stat = [Tensor(t.name, (batch, groups, 1, 1), (groups, 1, 0, 0)) for t in (mean, m2)]
    weight = Tensor(w.name, (groups, per, 1), (per, 1, 0))
    y = m.pointwise(
        "norm",
        [x.viewed(*four), *stat, weight],
        lambda a, b, c, d: m.op(Op.MUL, m.op(Op.MUL, m.op(Op.SUB, a, b), c), d),
        shape=four,
    )
    program = m.program(y)
    made = schedule(program, H100)
    (group,) = made.groups
    assert (int(group.numel), int(group.rnumel)) == (batch * groups, per * pixels)
    assert layers(group) == [(LOOP, ["welford"]), (LOOP, ["norm"])]
    assert_same(program, made)


def test_reduction_over_the_first_dimension_turns_its_producer() -> None:
    m = Maker()
    x, b = m.input("x", 200, 48), m.input("b", 48)
    h = m.pointwise("h", [x, b], lambda a, c: m.op(Op.TANH, m.op(Op.ADD, a, c)))
    (s,) = m.reduce("s", ReduceKind.SUM, [h], lambda a: a, [0])
    program = m.program(s)
    made = schedule(program, H100)
    (group,) = made.groups
    first = group.segments[0].nests[0]
    assert [int(a.size) for a in first.axes] == [48]
    assert [int(a.size) for a in first.raxes] == [200]
    assert_same(program, made)


def test_columns_beside_rows_have_neighbours_along_memory() -> None:
    """Whole rows lie along memory in any order of theirs, the columns in one."""
    graph = loads("""# harness graph 1
def beside(
    rows: "f32[4, 48, 8, 320]",
    more: "f32[4, 48, 8, 320]",
    columns: "f32[4, 8, 320, 48]",
):
    turned: "f32[4, 48, 8, 320]" = aten.permute.default(columns, [0, 3, 1, 2])
    both: "f32[4, 48, 8, 320]" = aten.mul.Tensor(rows, turned)
    added: "f32[4, 48, 8, 320]" = aten.add.Tensor(both, more)
    total: "f32[4, 48, 8]" = aten.sum.dim_IntList(added, [3])
    return (total,)
""")
    program = lower(graph)
    made = schedule(program, H100)
    (group,) = made.groups
    assert [int(a.size) for a in group.axes] == [4, 8, 48]
    assert_same(program, made)


@pytest.mark.parametrize(("chosen", "kernels"), [("one", 1), ("two", 2), ("more", 2)])
def test_rows_that_equal_indices_choose_are_read_once(chosen: str, kernels: int) -> None:
    """A reduction of gathered rows and what else is made of them is one kernel, unless other rows
    are chosen."""
    graph = loads(f"""# harness graph 1
def gathered(table: "f32[512, 300]", one: "i64[48] bound=511", two: "i64[48] bound=511"):
    more: "i64[48]" = aten.add.Tensor(one, 1)
    rows: "f32[48, 300]" = aten.embedding.default(table, one)
    mean: "f32[48, 1]" = aten.mean.dim(rows, [-1], True)
    apart: "f32[48, 300]" = aten.sub.Tensor(rows, mean)
    again: "f32[48, 300]" = aten.embedding.default(table, {chosen})
    scaled: "f32[48, 300]" = aten.mul.Tensor(again, 0.5)
    return (apart, scaled)
""")
    program = lower(graph)
    made = schedule(program, H100)
    assert len(made.groups) == kernels


def test_adamw_updates_one_parameter_in_one_kernel() -> None:
    m = Maker()
    names = ("p", "g", "m", "v")
    states = [{n: m.input(f"{n}{k}", 400, 250) for n in names} for k in range(3)]
    for k, state in enumerate(states):
        mom = m.pointwise(
            f"mom{k}",
            [state["m"], state["g"]],
            lambda a, b: m.op(Op.ADD, m.op(Op.MUL, a, m.number(0.9)), b),
        )
        var = m.pointwise(
            f"var{k}",
            [state["v"], state["g"]],
            lambda a, b: m.op(Op.ADD, m.op(Op.MUL, a, m.number(0.99)), m.op(Op.MUL, b, b)),
        )
        m.pointwise(
            f"par{k}",
            [state["p"], mom, var],
            lambda a, b, c: m.op(Op.SUB, a, m.op(Op.TRUE_DIV, b, m.op(Op.SQRT, c))),
            out=state["p"],
        )
        m.pointwise(f"keep_m{k}", [mom], lambda a: a, out=state["m"])
        m.pointwise(f"keep_v{k}", [var], lambda a: a, out=state["v"])
    program = m.program()
    made = schedule(program, H100)
    assert len(made.groups) == 3
    assert all(s.kind is FLAT for g in made.groups for s in g.segments)
    assert made.groups[0].internal == {"mom0", "var0"}
    assert_same(program, made)


def test_siblings_share_a_read() -> None:
    m = Maker()
    x = m.input("x", 300, 40)
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    b = m.pointwise("b", [x.viewed(12000)], lambda v: m.op(Op.EXP, v))
    program = m.program(a, b)
    made = schedule(program, H100)
    assert len(made.groups) == 1
    assert_same(program, made)


def test_split_loops_meet() -> None:
    m = Maker()
    x = m.input("x", 24)
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    b = m.pointwise("b", [a.viewed(4, 6).permuted(1, 0)], lambda v: m.op(Op.EXP, v))
    c = m.pointwise("c", [b.permuted(1, 0)], lambda v: m.op(Op.SIN, v))
    program = m.program(c)
    made = schedule(program, H100)
    (group,) = made.groups
    assert group.internal == {"a", "b"}
    assert_same(program, made)


def test_small_independent_kernels_save_a_launch() -> None:
    m = Maker()
    parts = [m.input(f"part{k}", 32, 768) for k in range(3)]
    sums = [
        m.reduce(f"s{k}", ReduceKind.SUM, [p], lambda v: v, [0])[0] for k, p in enumerate(parts)
    ]
    large = [m.input(f"x{k}", 4096, 40) for k in range(2)]
    outputs = [m.pointwise(f"y{k}", [x], lambda v: m.op(Op.TANH, v)) for k, x in enumerate(large)]
    program = m.program(*sums, *outputs)
    made = schedule(program, H100)
    assert [g.origins for g in made.groups] == [("s0", "s1", "s2"), ("y0",), ("y1",)]
    assert_same(program, made)


def test_a_small_kernel_does_not_join_what_it_depends_on() -> None:
    m = Maker()
    x = m.input("x", 16, 16)
    (a,) = m.reduce("a", ReduceKind.SUM, [x], lambda v: v, [0])
    y = m.pointwise("y", [x, a], lambda v, u: m.op(Op.ADD, v, u))
    (b,) = m.reduce(
        "b", ReduceKind.SUM, [y, y.permuted(1, 0)], lambda v, u: m.op(Op.MUL, v, u), [0]
    )
    program = m.program(b)
    made = schedule(program, H100)
    assert [g.origins for g in made.groups] == [("a", "y"), ("b",)]
    assert_same(program, made)
