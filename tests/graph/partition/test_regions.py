"""Partitions: legal, deterministic, as large as they can be, and equal to the graph."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.decisions import Decisions
from harness.dtypes import DType
from harness.graph.lowering import lower, supports_node
from harness.graph.model import Arg, Graph, HostCall, Node, Partition, Region
from harness.graph.partition.regions import partition
from harness.graph.passes.cleanup import clean
from harness.graph.replay import random_inputs, replay
from harness.graph.text import loads
from tests.graph.building import GraphBuilder, assert_close, supports
from tests.running import prepare_partition


def check(graph: Graph, known: Callable[[Node], bool] | None = supports) -> Partition:
    """The partition, after comparing it with the graph on random inputs."""
    cut = partition(graph, known)
    wanted_inputs = random_inputs(graph, "cpu", 1)
    got_inputs = [t.clone() for t in wanted_inputs]
    wanted = replay(graph, wanted_inputs, "cpu")
    got = prepare_partition(cut, "cpu")([*got_inputs])
    assert_close(got, wanted)
    assert_close(got_inputs, wanted_inputs)
    return cut


def names(region: Region) -> list[str]:
    return [node.name for node in region.graph.nodes]


def test_library_call_cuts_and_views_follow_their_user() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (4, 8)), b.input("w", (6, 8))
    a = b.call("aten.relu.default", x, name="a")
    t = b.call("aten.permute.default", w, (1, 0), name="t")
    m = b.call("aten.mm.default", a, t, name="m")
    v = b.call("aten.view.default", m, (2, 12), name="v")
    out = b.call("aten.exp.default", v, name="out")
    cut = check(b.graph(out))
    assert [names(r) for r in cut.regions] == [["a"], ["v", "out"]]
    assert [r.name for r in cut.regions] == ["g.r0", "g.r1"]
    host = [(s.node.name, s.is_view) for s in cut.steps if isinstance(s, HostCall)]
    assert host == [("t", True), ("m", False)]
    assert [i.name for i in cut.regions[1].graph.inputs] == ["m"]


def test_region_outputs_base_and_host_takes_the_view() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (4, 8)), b.input("w", (4, 6))
    a = b.call("aten.relu.default", x, name="a")
    t = b.call("aten.permute.default", a, (1, 0), name="t")
    m = b.call("aten.mm.default", t, w, name="m")
    cut = check(b.graph(m))
    assert names(cut.regions[0]) == ["a"]
    assert cut.regions[0].graph.outputs == ("a",)


def test_unconnected_pieces_are_separate_and_shared_reads_connect() -> None:
    b = GraphBuilder()
    x, y = b.input("x", (4, 8)), b.input("y", (4, 8))
    outs = [
        b.call("aten.exp.default", x, name="a"),
        b.call("aten.sum.dim_IntList", x, (1,), name="s"),
        b.call("aten.exp.default", y, name="c"),
    ]
    cut = check(b.graph(*outs))
    assert [names(r) for r in cut.regions] == [["a", "s"], ["c"]]


def test_activation_sinks_past_a_library_call() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (64, 64)), b.input("w", (64, 64))
    m1 = b.call("aten.mm.default", x, w, name="m1")
    g = b.call("aten.sigmoid.default", m1, name="g")
    g2 = b.call("aten.mul.Tensor", m1, g, name="g2")
    m2 = b.call("aten.mm.default", m1, w, name="m2")
    out = b.call("aten.mul.Tensor", g2, m2, name="out")
    cut = check(b.graph(out))
    assert [names(r) for r in cut.regions] == [["g", "g2", "out"]]


def test_sum_does_not_sink() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (64, 64)), b.input("w", (64, 64))
    s = b.call("aten.sum.dim_IntList", x, (1,), True, name="s")
    m = b.call("aten.mm.default", x, w, name="m")
    out = b.call("aten.mul.Tensor", s, m, name="out")
    assert [names(r) for r in check(b.graph(out)).regions] == [["s"], ["out"]]


def test_cast_that_widens_sinks_only_if_that_moves_fewer_bytes() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (64, 64), DType.BF16), b.input("w", (64, 64))
    wide = b.call("aten._to_copy.default", x, dtype=DType.F32, name="wide")
    m = b.call("aten.mm.default", w, w, name="m")
    out = b.call("aten.add.Tensor", wide, m, name="out")
    assert [names(r) for r in check(b.graph(out)).regions] == [["wide", "out"]]


def test_free_values_are_computed_where_used() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (8, 8)), b.input("w", (8, 8))
    r = b.call("aten.arange.start_step", 0, 8, 1, name="r")
    col = b.call("aten.unsqueeze.default", r, 1, name="col")
    mask = b.call("aten.ge.Tensor", col, r, name="mask")
    a = b.call("aten.mul.Tensor", x, mask, name="a")
    m = b.call("aten.mm.default", a, w, name="m")
    out = b.call("aten.mul.Tensor", m, mask, name="out")
    cut = check(b.graph(out))
    assert [names(r) for r in cut.regions] == [
        ["r", "col", "mask", "a"],
        ["r", "col", "mask", "out"],
    ]


def test_free_value_for_a_library_call_gets_a_region() -> None:
    b = GraphBuilder()
    x = b.input("x", (8, 8))
    f = b.call("aten.full.default", (8, 1), 2.0, name="f")
    e = b.call("aten.expand.default", f, (8, 8), name="e")
    m = b.call("aten.mm.default", x, e, name="m")
    cut = check(b.graph(m, f))
    assert cut.regions[0].graph.outputs == ("f",)


def test_mutation_stays_with_its_region_and_runs_after_other_readers() -> None:
    b = GraphBuilder()
    state, x, w = b.input("state", (8, 8)), b.input("x", (8, 8)), b.input("w", (8, 8))
    new = b.call("aten.add.Tensor", state, x, name="new")
    m = b.call("aten.mm.default", state, w, name="m")
    cut = check(b.graph(m, mutations=((state, new),)))
    assert cut.regions[0].graph.mutations[0].input == "state"
    assert cut.regions[0].graph.outputs == ()
    assert isinstance(cut.steps[0], HostCall)


def test_mutation_with_a_reader_that_must_run_later_is_the_hosts() -> None:
    b = GraphBuilder()
    state, w = b.input("state", (8, 8)), b.input("w", (8, 8))
    new = b.call("aten.exp.default", state, name="new")
    m = b.call("aten.mm.default", new, w, name="m")
    m2 = b.call("aten.mm.default", m, state, name="m2")
    cut = check(b.graph(m2, mutations=((state, new),)))
    assert cut.regions[0].graph.mutations == ()
    last = cut.steps[-1]
    assert isinstance(last, HostCall) and last.node.op == "aten.copy_.default"


def test_mutations_that_swap_two_inputs() -> None:
    b = GraphBuilder()
    x, y = b.input("x", (8,)), b.input("y", (8,))
    s = b.call("aten.add.Tensor", x, y)
    check(b.graph(s, x, mutations=((x, y), (y, x))))


def test_bound_of_an_index_found_inside_a_region() -> None:
    b = GraphBuilder()
    table, x = b.input("table", (5, 3)), b.input("x", (4,))
    order = b.call("aten.sort.default", x, name="order")
    index = b.call("getitem", order, 1, name="index")
    out = b.call("aten.embedding.default", table, index, name="out")
    cut = partition(b.graph(out), supports)
    inner = cut.regions[0].graph
    assert {i.name: i.bound for i in inner.inputs}["index"] == 5
    replay(inner, random_inputs(inner, "cpu", 3), "cpu")


def test_decisions_impose_their_sinking() -> None:
    def graph(n: int) -> Graph:
        b = GraphBuilder()
        x = b.input("x", (64, 1, n))
        w = b.input("w", (64, 16, 16))
        wide = b.call("aten.expand.default", x, (64, 16, n), name="wide")
        big = b.call("aten.add.Tensor", wide, 1.0, name="big")
        m = b.call("aten.bmm.default", w, w, name="m")
        part = b.call("aten.slice.Tensor", big, 2, 0, 1, name="part")
        return b.graph(b.call("aten.mul.Tensor", m, part, name="out"))

    full = partition(graph(2), supports)
    assert len(full.regions) == 1
    names = frozenset(node.name for node in full.regions[0].graph.nodes)
    decided = Decisions(regions=dict.fromkeys(names, names))
    assert len(partition(graph(4), supports, decided).regions) == 1


OPS = (
    ("aten.add.Tensor", 2),
    ("aten.mul.Tensor", 2),
    ("aten.mm.default", 2),
    ("aten.relu.default", 1),
    ("permute", 1),
    ("aten.neg.default", 1),
    ("sum", 1),
    ("full", 0),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    b = GraphBuilder()
    values = [b.input(f"i{n}", (4, 4)) for n in range(draw(st.integers(1, 3)))]
    inputs = list(values)
    for _ in range(draw(st.integers(1, 14))):
        op, arity = draw(st.sampled_from(OPS))
        args = [draw(st.sampled_from(values)) for _ in range(arity)]
        match op:
            case "sum":
                kept = b.call("aten.sum.dim_IntList", args[0], (1,), True)
                values.append(b.call("aten.mul.Tensor", kept, args[0]))
            case "permute":
                values.append(b.call("aten.permute.default", args[0], (1, 0)))
            case "full":
                values.append(b.call("aten.full.default", (4, 4), 0.5))
            case _:
                scaled = b.call(op, *args)
                values.append(b.call("aten.tanh.default", scaled))
                values.append(scaled)
    outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    targets = draw(st.lists(st.sampled_from(inputs), max_size=2, unique=True))
    pairs = [(target, draw(st.sampled_from(values))) for target in targets]
    return b.graph(*outputs, mutations=tuple(pairs))


@settings(max_examples=120, deadline=None)
@given(graphs())
def test_partition_computes_what_the_graph_computes(graph: Graph) -> None:
    cut = check(graph)
    assert cut == partition(graph, supports)
    owned = [n for r in cut.regions for n in names(r)]
    hosted = [s.node.name for s in cut.steps if isinstance(s, HostCall)]
    covered = set(owned) | set(hosted)
    assert {node.name for node in clean(graph).nodes} <= covered


def test_calls_that_lowering_refuses_for_their_arguments_are_library_calls() -> None:
    b = GraphBuilder()
    x, rows = b.input("x", (9, 4), DType.BF16), b.input("rows", (3, 4), DType.BF16)
    ids = b.input("ids", (3,), DType.I64, bound=9)
    image = b.input("image", (2, 3, 15, 15))
    gaps = b.input("gaps", (4, 6), stride=(8, 1))
    outs = [
        b.call("aten.index_put.default", x, (ids,), rows, True, name="half_sums"),
        b.call("aten.max_pool2d_with_indices.default", image, (13, 13), name="wide_window"),
        b.call("aten._adaptive_avg_pool2d.default", image, (5, 5), name="even"),
        b.call("aten._adaptive_avg_pool2d.default", image, (4, 4), name="uneven"),
    ]
    outs[1] = b.call("getitem", outs[1], 0, name="largest")
    doubled = b.call("aten.relu.default", gaps, name="doubled")
    strided = b.call("aten.as_strided.default", gaps, (4, 6), (9, 1), name="over_gaps")
    outs += [doubled, b.call("aten.exp.default", strided, name="after")]
    graph = b.graph(*outs)
    refused = {"half_sums", "wide_window", "uneven"}
    types = graph.types()
    assert {n.name for n in graph.nodes if not supports_node(n, types)} == {*refused, "over_gaps"}
    cut = partition(graph)
    assert {s.node.name for s in cut.library_calls} == refused
    views = {s.node.name for s in cut.steps if isinstance(s, HostCall) and s.is_view}
    assert views == {"largest", "over_gaps"}
    fused = {name for region in cut.regions for name in names(region)}
    assert fused == {"even", "doubled", "after"}
    for region in cut.regions:
        lower(region.graph)


def test_what_capture_would_take_apart_is_a_library_call_or_a_view_of_the_host() -> None:
    b = GraphBuilder()
    x, y = b.input("x", (4, 6)), b.input("y", (4, 6))
    both = b.call("aten.stack.default", (x, y), 1, name="both")
    flat = b.call("aten.t.default", b.call("aten.exp.default", x), name="flat")
    parts = b.call("aten.split.Tensor", flat, 2, name="parts")
    last = b.call("getitem", parts, 2, name="last")
    cut = check(b.graph(b.call("aten.gelu.default", both, name="out"), last), None)
    reasons = {s.node.name: s.reason for s in cut.library_calls}
    assert reasons == {
        "both": "no lowering for aten.stack.default",
        "out": "no lowering for aten.gelu.default",
    }


def test_a_type_is_the_reason_only_where_the_operator_has_a_lowering() -> None:
    """Attention that also returns its generator's state is no kernel for another reason."""
    cut = partition(
        loads("""# harness graph 1
def complexes(
    x: "c64[4, 4]",
):
    power: "c64[4, 4]" = aten.linalg_matrix_exp.default(x)
    out: "c64[4, 4]" = aten.exp.default(power)
    return (out,)
""")
    )
    assert [call.reason for call in cut.library_calls] == [
        "no lowering for aten.linalg_matrix_exp.default",
        "the targets have no arithmetic on complex64 for aten.exp.default",
    ]


def calls(cut: Partition) -> list[str]:
    return [step.node.name for step in cut.steps if isinstance(step, HostCall)]


def two_products(b: GraphBuilder, user: str = "", size: int = 640) -> Graph:
    """Two large products, each of which is read by a small one; ``user`` calls the last one."""
    x, w, v = b.input("x", (size, 4)), b.input("w", (4, size)), b.input("v", (2, size))
    large = [b.call("aten.mm.default", x, w, name=f"large{n}") for n in range(2)]
    small = [b.call("aten.mm.default", v, one, name=f"small{n}") for n, one in enumerate(large)]
    if user:
        small.append(b.call(user, small[0], name="theirs"))
    return b.graph(*small)


def test_one_number_that_both_read_connects_no_pieces() -> None:
    b = GraphBuilder()
    x, y, one = b.input("x", (4, 8)), b.input("y", (4, 8)), b.input("one", (1, 1))
    outs = [b.call("aten.mul.Tensor", of, one, name=f"m{of.name}") for of in (x, y)]
    assert [names(r) for r in check(b.graph(*outs)).regions] == [["mx"], ["my"]]


@pytest.mark.parametrize(
    ("case", "read"), [("plain", "s"), ("turned", "new"), ("returned", "new"), ("view", "new")]
)
def test_what_is_stored_into_an_input_is_read_there(case: str, read: str) -> None:
    """If it lies there as it was made, and is not returned as well."""
    b = GraphBuilder()
    s, w = b.input("s", (4, 4), stride=(1, 4) if case == "turned" else None), b.input("w", (4, 4))
    new = b.call("aten.exp.default", b.input("x", (4, 4)), name="new")
    out = b.call("aten.add.Tensor", new, b.call("aten.mm.default", w, w, name="m"), name="out")
    more = {"returned": [new], "view": [b.call("aten.permute.default", new, (1, 0))]}
    cut = check(b.graph(out, *more.get(case, []), mutations=((s, new),)))
    assert [{item.name for item in r.graph.inputs} for r in cut.regions][-1] == {read, "m"}
    assert [r.graph.mutations[0].input for r in cut.regions[:1]] == ["s"]


def test_the_host_makes_no_view_of_what_a_region_stores_into_an_input() -> None:
    b = GraphBuilder()
    state, x = b.input("s", (8,)), b.input("x", (2, 4))
    view = b.call("aten.view.default", b.call("aten.exp.default", x), (8,))
    cut = check(b.graph(mutations=((state, view),)))
    assert [type(step) for step in cut.steps] == [Region]
    assert cut.regions[0].graph.outputs == ()


def test_an_input_of_which_the_host_made_a_view_is_not_changed_by_its_reader() -> None:
    b = GraphBuilder()
    state = b.input("s", (4, 4))
    turned = b.call("aten.as_strided.default", state, (4, 4), (1, 4))
    cut = check(b.graph(mutations=((state, b.call("aten.add.Tensor", state, turned)),)), None)
    assert [r.graph.mutations for r in cut.regions] == [()]


def test_what_frees_memory_runs_first() -> None:
    cut = check(two_products(GraphBuilder()))
    assert calls(cut) == ["large0", "small0", "large1", "small1"]
    cut = check(two_products(GraphBuilder(), size=64))
    assert calls(cut) == ["large0", "large1", "small0", "small1"], "16 KB are not worth it"


@torch.library.custom_op("mine_partitioned::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


twice.register_fake(torch.empty_like)


def test_calls_of_users_stay_where_they_were_made() -> None:
    for user in ("mine_partitioned.twice.default", "aten._assert_async.default"):
        cut = partition(two_products(GraphBuilder(), user))
        assert calls(cut) == ["large0", "large1", "small0", "small1", "theirs"]


def test_the_graph_s_order_stays_where_no_other_needs_less() -> None:
    """Products one by one, whose results all stay."""
    b = GraphBuilder()
    x, w = b.input("x", (640, 4)), b.input("w", (4, 640))
    made = [b.call("aten.mm.default", x, w, name=f"m{n}") for n in range(2)]
    made.append(b.call("aten.mm.default", w, x, name="m2"))
    assert calls(check(b.graph(*made))) == ["m0", "m1", "m2"]


def test_an_input_is_read_before_it_is_changed_in_any_order() -> None:
    b = GraphBuilder()
    x, w, v = b.input("x", (640, 640)), b.input("w", (640, 640)), b.input("v", (2, 640))
    large = b.call("aten.mm.default", x, w, name="large")
    other = b.call("aten.mm.default", w, x, name="other")
    less = b.call("aten.mm.default", v, other, name="less")
    changed = b.call("aten.add.Tensor", w, 1.0, name="changed")
    small = b.call("aten.mm.default", v, large, name="small")
    cut = check(b.graph(less, small, mutations=((w, changed),)))
    assert calls(cut) == ["large", "small", "other", "less"]


@pytest.mark.parametrize(
    ("op", "more", "kept"),
    [
        ("aten.poisson.default", (), True),
        ("aten._standard_gamma.default", (), True),
        ("aten.scaled_dot_product_attention.default", (None, 0.5), True),
        ("aten.scaled_dot_product_attention.default", (None, 0.0), False),
    ],
)
def test_draws_are_made_in_the_graph_s_order(op: str, more: tuple[Arg, ...], kept: bool) -> None:
    """What is drawn first is large, and stays: without it the products need less memory."""
    b = GraphBuilder()
    x, w, v = b.input("x", (600, 4)), b.input("w", (4, 640)), b.input("v", (2, 600))
    sizes = {"first": (1, 1, 640, 640), "second": (1, 1, 2, 2)}
    given = {name: b.input(f"of_{name}", size) for name, size in sizes.items()}
    count = 3 if "attention" in op else 1
    first = b.call(op, *[given["first"]] * count, *more, name="first")
    large = b.call("aten.mm.default", x, w, name="large")
    small = b.call("aten.mm.default", v, large, name="small")
    second = b.call(op, *[given["second"]] * count, *more, name="second")
    found = calls(partition(b.graph(first, small, second)))
    assert (found.index("first") < found.index("second")) is kept


def test_memory_of_which_a_library_call_reads_the_sizes_is_allocated_and_not_filled() -> None:
    b = GraphBuilder()
    gradient, like = b.input("gradient", (2, 3, 4, 4)), b.input("like", (2, 3, 7, 7))
    windows = (3, 3), (2, 2), (1, 1), True, True, None
    unread = b.call("aten.empty_strided.default", (2, 3, 7, 7), (147, 49, 7, 1), dtype=DType.F32)
    returned = b.call("aten.empty_strided.default", (2, 3, 7, 7), (147, 49, 7, 1), dtype=DType.F32)
    outs = [
        b.call("aten.avg_pool2d_backward.default", gradient, at, *windows)
        for at in (unread, returned)
    ]
    added = b.call("aten.add.Tensor", like, unread)
    cut = partition(b.graph(*outs, added, returned))
    assert len(cut.library_calls) == 2
    allocated = [s for s in cut.steps if isinstance(s, HostCall) and s.is_view]
    assert [step.node.name for step in allocated] == [unread.name]
    assert {name for region in cut.regions for name in region.graph.outputs} == {
        added.name,
        returned.name,
    }
