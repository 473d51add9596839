"""Which values get buffers, in which nests, and that the program means the graph."""

from __future__ import annotations

import itertools

import pytest
import sympy

from harness.dtypes import DType
from harness.errors import UnsupportedOperator
from harness.graph import lowering
from harness.graph.lowering import lower, supports, supports_node
from harness.graph.model import Graph, Input, Node, Ref, TensorType
from harness.ir.index import FloorDiv, Mod, size_symbol
from harness.ir.nodes import Load, Reduce, ReduceKind, store_roots, walk
from harness.ir.program import Buffer, Program, Role
from harness.ir.verify import verify
from tests.graph.building import GraphBuilder
from tests.graph.lowering.comparing import check, nest_of, stored
from tests.ir.oracle import interpret


def loads(program: Program, buffer: str) -> list[Load]:
    return [v for v in walk(store_roots(nest_of(program, buffer).stores)) if isinstance(v, Load)]


def test_a_chain_of_single_uses_is_one_nest() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (4, 6)), b.input("w", (6,))
    y = b.call("aten.mul.Tensor", b.call("aten.exp.default", x), w)
    z = b.call("aten.tanh.default", b.call("aten.view.default", y, (24,)), name="z")
    program = check(b.graph(z))
    assert stored(program) == [("z",)]
    assert program.nests[0].origins == tuple(n.name for n in b.nodes)


def test_a_reused_long_computation_is_stored_and_a_short_one_is_not() -> None:
    b = GraphBuilder()
    x = b.input("x", (1024, 512))
    long = b.call("aten.erf.default", x, name="long")
    short = b.call("aten.exp.default", x, name="short")
    outs = []
    for value in (long, short):
        outs.append(b.call("aten.sum.dim_IntList", value, (0,)))
        outs.append(b.call("aten.sum.dim_IntList", value, (1,)))
        outs.append(b.call("aten.amax.default", value, (1,)))
    program = check(b.graph(*outs))
    assert ("long",) in stored(program)
    assert ("short",) not in stored(program)


def test_what_is_stored_of_a_conversion_is_as_narrow_as_it_was() -> None:
    b = GraphBuilder()
    x = b.input("x", (1024, 512), DType.F32)
    narrow = b.call("aten._to_copy.default", b.call("aten.erf.default", x), dtype=DType.BF16)
    wide = b.call("aten._to_copy.default", narrow, name="wide", dtype=DType.F32)
    outs = [b.call("aten.sum.dim_IntList", wide, (d,)) for d in (0, 1)]
    outs.append(b.call("aten.amax.default", wide, (1,)))
    assert (narrow.name,) in stored(check(b.graph(*outs)))
    assert ("wide",) in stored(check(b.graph(*outs, wide)))  # as what is asked for


def test_a_table_is_a_launch_of_its_own_unless_a_kernel_before_it_can_store_it() -> None:
    def made(heads: int, summed: bool) -> list[tuple[str, ...]]:
        b = GraphBuilder()
        x, angles = b.input("x", (heads, 32, 32)), b.input("angles", (32, 32))
        if summed:
            angles = b.call("aten.sum.dim_IntList", b.input("parts", (32, 32, 9)), (2,))
        table = b.call("aten.cos.default", angles, name="table")
        return stored(check(b.graph(b.call("aten.mul.Tensor", x, table, name="z"))))

    assert made(16, summed=False) == [("z",)]
    assert made(512, summed=False) == [("table",), ("z",)]
    assert ("table",) in made(16, summed=True)


def test_halves_of_a_table_that_is_computed_again_do_not_store_it() -> None:
    b = GraphBuilder()
    power = b.call("aten.pow.Scalar", 10000.0, b.input("exponents", (32,)))
    angles = b.call("aten.div.Tensor", b.call("aten.erf.default", b.input("x", (28, 1))), power)
    halves = [b.call("aten.slice.Tensor", angles, 1, n, 32, 2) for n in (0, 1)]
    made = [b.call(f"aten.{f}.default", x) for f, x in zip(("sin", "cos"), halves, strict=True)]
    program = check(b.graph(b.call("aten.cat.default", tuple(made), 1, name="z")))
    assert stored(program) == [("z", "z")]  # both at each point


def test_users_that_end_in_one_kernel_count_as_one() -> None:
    b = GraphBuilder()
    x, g = b.input("x", (64, 64)), b.input("g", (64, 64))
    y = b.call("aten.sigmoid.default", b.call("aten.mul.Tensor", x, g), name="y")
    factors = [b.call(f"aten.{op}.Tensor", y, g) for op in ("mul", "add", "sub", "div")]
    factors += [b.call(f"aten.{op}.default", y, g) for op in ("maximum", "minimum")]
    for one in factors[1:]:
        factors[0] = b.call("aten.mul.Tensor", factors[0], one)
    outputs = [b.call("aten.cat.default", (factors[0], g), name="z")]
    assert stored(check(b.graph(*outputs))) == [("z",)]
    # Several results are several places, and so is one that computes each element 8 times.
    outputs += [b.call("aten.sum.dim_IntList", one, (1,)) for one in factors[1:]]
    assert ("y",) in stored(check(b.graph(*outputs)))
    wide = b.call("aten.mul.Tensor", factors[0], b.input("w", (9, 64, 64)))
    assert ("y",) in stored(check(b.graph(wide)))


@pytest.mark.parametrize(("ends", "stored_before"), [((0, 64, 128, 192), False), ((0, 192), True)])
def test_users_of_slices_together_evaluate_a_value_once(
    ends: tuple[int, ...], stored_before: bool
) -> None:
    b = GraphBuilder()
    x, g = b.input("x", (192, 256)), b.input("g", (192, 256))
    y = b.call("aten.sigmoid.default", b.call("aten.mul.Tensor", x, g), name="y")
    places = zip(ends, ends[1:], strict=False) if len(ends) > 2 else [ends] * 3
    parts = [b.call("aten.slice.Tensor", y, 0, start, end) for start, end in places]
    outputs = [b.call("aten.sum.dim_IntList", p, (1,), n > 0) for n, p in enumerate(parts)]
    assert (("y",) in stored(check(b.graph(*outputs)))) is stored_before


def test_softmax_of_long_rows_is_one_pass_and_of_short_rows_two() -> None:
    def kinds(columns: int) -> list[set[ReduceKind]]:
        b = GraphBuilder()
        x = b.input("x", (3, columns))
        top = b.call("aten.amax.default", x, (1,), True, name="top")
        e = b.call("aten.exp.default", b.call("aten.sub.Tensor", x, top))
        total = b.call("aten.sum.dim_IntList", e, (1,), True, name="total")
        out = b.call("aten.div.Tensor", e, total)
        program = check(b.graph(out))
        return [
            {v.kind for v in walk(store_roots(n.stores)) if isinstance(v, Reduce)}
            for n in program.nests
            if n.is_reduction
        ]

    assert kinds(2000) == [{ReduceKind.MAX}, {ReduceKind.SUM}]
    assert kinds(200) == [{ReduceKind.MAX}, {ReduceKind.SUM}]


def test_a_sum_of_exponentials_of_something_else_stays_a_plain_sum() -> None:
    b = GraphBuilder()
    x, other = b.input("x", (3, 2000)), b.input("other", (3, 2000))
    top = b.call("aten.amax.default", other, (1,), True)
    e = b.call("aten.exp.default", b.call("aten.sub.Tensor", x, top))
    total = b.call("aten.sum.dim_IntList", e, (1,), True, name="total")
    program = check(b.graph(total))
    (root,) = [
        v for v in walk(store_roots(nest_of(program, "total").stores)) if isinstance(v, Reduce)
    ]
    assert root.kind is ReduceKind.SUM


def test_mean_and_variance_are_two_stores_of_one_nest() -> None:
    b = GraphBuilder()
    x = b.input("x", (5, 12))
    both = b.call("aten.var_mean.correction", x, (1,), correction=0, keepdim=True)
    var = b.call("getitem", both, 0, name="var")
    mean = b.call("getitem", both, 1, name="mean")
    program = check(b.graph(mean, var))
    assert stored(program) == [("var", "mean")]


def test_a_result_nobody_needs_is_not_stored() -> None:
    b = GraphBuilder()
    both = b.call("aten.max.dim", b.input("x", (5, 12)), 1)
    program = check(b.graph(b.call("getitem", both, 1, name="where")))
    assert stored(program) == [("where",)]


def test_merging_and_splitting_dimensions_leaves_linear_indices() -> None:
    b = GraphBuilder()
    x = b.input("x", (2, 8, 3, 4))
    turned = b.call("aten.permute.default", x, (0, 2, 1, 3))
    y = b.call("aten._reshape_copy.default", turned, (6, 32))
    z = b.call("aten.view.default", b.call("aten.relu.default", y), (2, 3, 8, 4), name="z")
    program = check(b.graph(z))
    (load,) = loads(program, "z")
    assert not load.index.has(FloorDiv, Mod)


def named(program: Program, name: str) -> Buffer:
    return next(buffer for buffer in program.buffers if buffer.name == name)


def test_channels_last_loops_follow_the_strides() -> None:
    b = GraphBuilder()
    x = b.input("x", (2, 3, 4, 5), stride=(60, 1, 15, 3))
    program = check(b.graph(b.call("aten.exp.default", x, name="y")))
    assert [str(a.var) for a in program.nests[0].axes] == ["i0", "i2", "i3", "i1"]
    assert named(program, "y").stride == tuple(map(sympy.Integer, (60, 1, 15, 3)))


def test_an_expanded_output_becomes_contiguous() -> None:
    b = GraphBuilder()
    y = b.call("aten.expand.default", b.input("x", (1, 4)), (3, 4), name="y")
    assert named(check(b.graph(y)), "y").stride == (4, 1)


def test_outputs_that_are_inputs_or_repeat_need_no_nests() -> None:
    b = GraphBuilder()
    x = b.input("x", (3, 4))
    y = b.call("aten.exp.default", x, name="y")
    same = b.call("aten.alias.default", y, name="same")
    program = check(b.graph(x, y, y, same))
    assert program.outputs == ("x", "y", "y", "y")
    assert stored(program) == [("y",)]


def test_a_copy_of_an_input_is_not_the_input() -> None:
    b = GraphBuilder()
    x = b.input("x", (3, 4))
    copy = b.call("aten.clone.default", x, name="copy")
    view = b.call("aten.alias.default", copy)
    same = b.call("aten.mul.Tensor", x, 1)
    program = check(b.graph(view, same))
    assert "x" not in program.outputs


def test_a_value_made_from_nothing_is_an_output_too() -> None:
    b = GraphBuilder()
    x = b.input("x", (3,))
    ones = b.call("aten.full_like.default", x, 1.0, name="ones")
    program = check(b.graph(ones))
    assert named(program, "ones").role is Role.OUTPUT


def test_swapped_inputs_are_saved_first() -> None:
    b = GraphBuilder()
    x, y = b.input("x", (3, 4)), b.input("y", (3, 4))
    program = check(b.graph(mutations=((x, y), (y, x))))
    assert program.mutated == ("x", "y")


def test_stores_into_inputs_come_after_what_reads_them() -> None:
    b = GraphBuilder()
    x, step = b.input("x", (3, 4)), b.input("step", ())
    new_step = b.call("aten.add.Tensor", step, 1)
    new_x = b.call("aten.div.Tensor", x, new_step)
    program = check(b.graph(mutations=((step, new_step), (x, new_x))))
    assert stored(program) == [("x",), ("step",)]


def test_an_input_overwritten_by_itself_reversed_is_read_first() -> None:
    b = GraphBuilder()
    x = b.input("x", (7,))
    check(b.graph(mutations=((x, b.call("aten.flip.default", x, (0,))),)))


def test_an_output_that_is_overwritten_keeps_its_old_contents() -> None:
    b = GraphBuilder()
    x = b.input("x", (3, 4))
    program = check(b.graph(x, mutations=((x, b.call("aten.mul.Tensor", x, 2.0)),)))
    assert program.outputs != ("x",)


def test_inputs_that_change_places_are_outputs_as_they_were() -> None:
    b = GraphBuilder()
    x, y = b.input("x", (3, 4)), b.input("y", (3, 4))
    program = check(b.graph(x, y, mutations=((x, y), (y, x))))
    assert program.outputs == ("x_before", "y_before")


def test_a_chain_of_updates_that_read_each_other() -> None:
    b = GraphBuilder()
    x, y, z = (b.input(n, (5,)) for n in "xyz")
    new = [b.call("aten.add.Tensor", p, q) for p, q in ((x, y), (y, z), (z, x))]
    check(b.graph(mutations=tuple(zip((x, y, z), new, strict=True))))


def _put(b: GraphBuilder, base: Ref, place: Ref, value: Ref, add: bool = False) -> Ref:
    return b.call("aten.index_put.default", base, (place,), value, add)


def test_what_is_scattered_into_an_input_reads_nothing_that_it_changes() -> None:
    """Else, and where it starts from something else, it is made apart and copied."""
    for case in ("alone", "elsewhere", "same", "repeated", "by itself", "other"):
        b = GraphBuilder()
        x, y = (b.input(name, (5,), DType.I64, bound=5) for name in "xy")
        place = b.input("place", (3,), DType.I64, bound=5)
        value = b.input("value", (3,), DType.I64)
        match case:
            case "alone":
                new = _put(b, x, place, value)
            case "elsewhere":
                new = _put(b, x, place, b.call("aten.slice.Tensor", x, 0, 0, 3))
            case "same":
                taken = b.call("aten.index.Tensor", x, (place,))
                new = _put(b, x, place, b.call("aten.mul.Tensor", taken, 2))
            case "repeated":
                x = b.input("one", (1,), DType.I64)
                zeros = b.call("aten.full.default", (3,), 0, dtype=DType.I64)
                new = _put(b, x, zeros, b.call("aten.expand.default", x, (3,)), add=True)
            case "by itself":
                new = _put(b, x, x, y)
            case _:
                new = _put(b, y, place, value)
        program = check(b.graph(mutations=((x, new),)))
        assert (len(program.nests) == 1) is (case == "alone"), case


def test_what_is_returned_or_stored_twice_is_scattered_into_memory_of_its_own() -> None:
    for returned, twice in ((False, False), (True, False), (False, True)):
        b = GraphBuilder()
        x, y = b.input("x", (5,)), b.input("y", (5,))
        place = b.input("place", (3,), DType.I64, bound=5)
        new = _put(b, x, place, b.input("value", (3,)))
        mutations = ((x, new), (y, new)) if twice else ((x, new),)
        program = check(b.graph(*[new] * returned, mutations=mutations))
        own = next(one for one in program.buffers if one.node == new.name)
        assert (own.role is Role.INPUT) is (not returned and not twice)


def test_what_is_scattered_in_another_type_is_made_apart() -> None:
    b = GraphBuilder()
    x = b.input("x", (5,), DType.BF16)
    place = b.input("place", (3,), DType.I64, bound=5)
    wide = b.call("prims.convert_element_type.default", x, DType.F32)
    new = _put(b, wide, place, b.input("value", (3,)))
    program = check(b.graph(b.call("aten.mul.Tensor", new, 3.0), mutations=((x, new),)))
    assert [one.dtype for one in program.buffers if one.node == new.name] == [DType.F32]


def test_an_input_is_scattered_into_after_what_reads_it() -> None:
    """And made apart where what it is made of changes before."""
    for order in ((0,), (0, 1), (1, 0)):
        b = GraphBuilder()
        x, y = b.input("x", (5,)), b.input("y", (5,))
        place = b.input("place", (5,), DType.I64, bound=5)
        changes = (x, _put(b, x, place, y)), (y, b.call("aten.mul.Tensor", x, 2))
        outputs = [value for n, (_, value) in enumerate(changes) if n not in order]
        check(b.graph(*outputs, mutations=tuple(changes[n] for n in order)))


def test_a_value_of_another_shape_is_not_stored_into_an_input() -> None:
    b = GraphBuilder()
    x = b.input("x", (3, 4))
    row = b.call("aten.amax.default", x, (0,))
    with pytest.raises(UnsupportedOperator, match="stored into %x"):
        lower(b.graph(mutations=((x, row),)))


def test_nearest_upsampling_written_with_floats_addresses_linearly() -> None:
    b = GraphBuilder()
    x = b.input("x", (2, 6))
    at = b.call("aten.arange.start_step", 0, 12, dtype=DType.F32)
    at = b.call("aten.mul.Tensor", b.call("aten.add.Tensor", at, 0.0), 0.5)
    at = b.call("aten._to_copy.default", at, dtype=DType.I64)
    program = check(b.graph(b.call("aten.index.Tensor", x, (None, at), name="y")))
    assert loads(program, "y")[0].indirect == ()


@pytest.mark.parametrize(
    ("op", "stride", "before"),
    [("relu", 1, []), ("relu", 2, []), ("sigmoid", 1, [("y",)]), ("sigmoid", 2, [])],
)
def test_a_pooled_value_is_stored_where_windows_would_compute_it_too_often(
    op: str, stride: int, before: list[tuple[str, ...]]
) -> None:
    b = GraphBuilder()
    y = b.call(f"aten.{op}.default", b.input("x", (8, 64, 256, 256)), name="y")
    windows = (3, 3), (stride, stride), (1, 1)
    both = b.call("aten.max_pool2d_with_indices.default", y, *windows)
    program = lower(b.graph(b.call("getitem", both, 0, name="z")))
    assert stored(program) == [*before, ("z",)]


def test_a_pooled_value_with_another_user_is_stored() -> None:
    b = GraphBuilder()
    y = b.call("aten.relu.default", b.input("x", (8, 64, 256, 256)), name="y")
    pooled = b.call("aten.avg_pool2d.default", y, (2, 2), name="z")
    halves = b.call("aten.avg_pool2d.default", y, (4, 4), name="w")
    assert stored(lower(b.graph(pooled, halves))) == [("y",), ("z",), ("w",)]


@pytest.mark.parametrize(
    ("side", "more", "kept"),
    [
        (32, True, True),
        (32, False, False),  # one operation is no work
        (2, True, False),  # a launch of its own takes longer
    ],
)
def test_what_an_index_reads_often_is_stored(side: int, more: bool, kept: bool) -> None:
    b = GraphBuilder()
    x, w = b.input("x", (64, 64, side, side)), b.input("w", (64, 1, 1))
    y = b.call("aten.add.Tensor", x, w, name="y")
    for number in range(5 * more):
        y = b.call("aten.mul.Tensor", y, w, name=f"y{number}")
    sizes = {"left": (2 * side,), "right": (2 * side,), "up": (2 * side, 1), "down": (2 * side, 1)}
    left, right, up, down = (b.input(n, size, DType.I64, bound=side) for n, size in sizes.items())
    pairs = itertools.product((up, down), (left, right))
    first, *others = (b.call("aten.index.Tensor", y, (None, None, *pair)) for pair in pairs)
    for other in others:
        first = b.call("aten.add.Tensor", first, other, name=f"z_{other.name}")
    assert stored(lower(b.graph(first))) == [("y4",)] * kept + [(first.name,)]


def test_padding_is_not_stored_for_windows_and_what_others_need_whole_is_stored_as_it_is() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (8, 32, 65, 65)), b.input("w", (32, 1, 1))
    y = b.call("aten.mul.Tensor", x, w, name="y")
    whole = b.call("aten.relu.default", y, name="whole")

    def pooled(value: Ref, name: str) -> Ref:
        wide = b.call("aten.constant_pad_nd.default", value, (1, 1, 1, 1), -1.0, name=f"{name}_in")
        both = b.call("aten.max_pool2d_with_indices.default", wide, (3, 3), (2, 2))
        return b.call("getitem", both, 0, name=name)

    assert stored(lower(b.graph(pooled(x, "u")))) == [("u",)]
    assert stored(lower(b.graph(pooled(y, "v")))) == [("v_in",), ("v",)]
    assert stored(lower(b.graph(whole, pooled(y, "z")))) == [("y",), ("whole",), ("z",)]


@pytest.mark.parametrize(
    ("heads", "summed", "before"), [(8, True, ["key"]), (2, True, []), (8, False, [])]
)
def test_what_is_stored_several_times_is_computed_once_where_a_row_was_reduced(
    heads: int, summed: bool, before: list[str]
) -> None:
    b = GraphBuilder()
    x, w = b.input("x", (4096, 512)), b.input("w", (512,))
    top = b.call("aten.sum.dim_IntList", x, (1,), True) if summed else b.input("t", (4096, 1))
    value = b.call("aten.mul.Tensor", b.call("aten.div.Tensor", x, top), w)
    for name in ("add", "mul", "sub") * 3:
        value = b.call(f"aten.{name}.Tensor", value, w)
    key = b.call("aten.neg.default", value, name="key")
    view = b.call("aten.unsqueeze.default", key, 1)
    wide = b.call("aten.expand.default", view, (4096, heads, 512))
    copy = b.call("aten.clone.default", wide, name="copy")
    names = [name for names in stored(lower(b.graph(copy))) for name in names]
    assert names[summed:] == [*before, "copy"]


def test_unknown_sizes() -> None:
    n = size_symbol("s0")
    kind = TensorType(DType.F32, (n, sympy.Integer(6)), (sympy.Integer(6), sympy.S.One))
    flat = TensorType(DType.F32, (6 * n,), (sympy.S.One,))
    line = TensorType(DType.F32, (n,), (sympy.S.One,))
    nodes = (
        Node("v", "aten.view.default", (Ref("x"), (6 * n,)), (), flat),
        Node("e", "aten.exp.default", (Ref("v"),), (), flat),
        Node("w", "aten.view.default", (Ref("e"), (n, sympy.Integer(6))), (), kind),
        Node("m", "aten.mean.dim", (Ref("w"), (1,)), (), line),
    )
    program = lower(Graph("g", (Input("x", kind),), nodes, ("m",)))
    verify(program)
    import numpy as np

    x = np.random.default_rng(0).random((5, 6), dtype=np.float32)
    got = interpret(program, {"x": x}, float64=True)["m"]
    np.testing.assert_allclose(got, np.exp(x.astype(np.float64)).mean(1))
    assert not any(v.index.has(FloorDiv, Mod) for v in loads(program, "m"))


def test_an_unknown_operator_is_refused_with_its_source_line() -> None:
    b = GraphBuilder()
    x = b.input("x", (3, 3))
    b.call("aten.mm.default", x, x, name="product")
    graph = b.graph(Ref("product"))
    node = graph.nodes[0]
    sourced = Node(node.name, node.op, node.args, node.kwargs, node.type, "model.py:7 in f: x @ x")
    with pytest.raises(UnsupportedOperator) as caught:
        lower(Graph("g", graph.inputs, (sourced,), graph.outputs))
    text = str(caught.value)
    assert "%product" in text and "aten.mm.default" in text and "model.py:7" in text
    assert caught.value.remedy


def test_equal_calls_of_a_graph_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    lower = lowering.lower
    monkeypatch.setattr(lowering, "lower", lambda graph: tried.append(graph.name) or lower(graph))
    b = GraphBuilder()
    ids = b.input("i", (3,), DType.I64, bound=9)
    for layer, rows in enumerate((9, 9, 9, 7)):
        x = b.call("aten.sin.default", b.input(f"x{layer}", (rows, 4)))
        b.call("aten.index_put.default", x, (ids,), b.input(f"r{layer}", (3, 4)), True)
    graph, answered = b.graph(), dict[object, bool]()
    types = graph.types()
    assert all(supports_node(n, types, answered=answered) for n in graph.nodes)
    assert len(tried) == 2 < len(graph.nodes) / 2
    assert all(supports_node(n, types) for n in graph.nodes) and len(tried) == 6


def test_support_depends_on_the_call() -> None:
    b = GraphBuilder()
    for dtype in (DType.F32, DType.BF16):
        table = b.input(f"t{dtype.short}", (9, 4), dtype)
        ids = b.input(f"i{dtype.short}", (3,), DType.I64, bound=9)
        rows = b.input(f"r{dtype.short}", (3, 4), dtype)
        b.call("aten.index_put.default", table, (ids,), rows, True)
    graph = b.graph()
    types = graph.types()
    assert [supports_node(n, types) for n in graph.nodes] == [True, False]
    assert supports("aten.index_put.default") and not supports("aten.convolution.default")
