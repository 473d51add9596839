"""What each node is to the partitioner, and what is computed where it is used."""

from __future__ import annotations

import functools

import pytest

from harness.decisions import Decisions
from harness.dtypes import DType
from harness.graph.lowering import supports_node
from harness.graph.model import Graph, Ref
from harness.graph.partition.levels import Layout
from harness.graph.partition.regions import partition
from tests.graph.building import GraphBuilder
from tests.graph.partition.test_regions import check, names


def layout_of(graph: Graph) -> Layout:
    """The nodes as they come out of what the compiler itself has lowerings for."""
    return Layout(graph, functools.partial(supports_node, types=graph.types()))


def part(b: GraphBuilder, of: Ref, number: int, name: str) -> Ref:
    return b.call("getitem", of, number, name=name)


def test_what_nodes_are() -> None:
    b = GraphBuilder()
    x, y = b.input("x", (4, 8)), b.input("y", (8, 4))
    relu = b.call("aten.relu.default", x, name="fusible_relu")
    product = b.call("aten.mm.default", x, y, name="library_product")
    b.call("aten.exp.default", product, name="fusible_of_library")
    pieces = b.call("aten.split.Tensor", x, 2, name="host_split")
    part(b, pieces, 0, "host_piece")
    moments = b.call("aten.var_mean.correction", x, (1,), name="fusible_moments")
    part(b, moments, 1, "fusible_mean")
    order = b.call("aten.linalg_qr.default", x, name="library_order")
    part(b, order, 0, "host_ordered")
    two = b.call("aten.full.default", (4, 8), 2.0, name="free_two")
    b.call("aten.exp.default", two, name="free_exp")
    turned = b.call("aten.permute.default", two, (1, 0), name="view_two")
    b.call("aten.exp.default", turned, name="free_of_view")
    strided = b.call("aten.as_strided.default", two, (2,), (9,), name="host_strided")
    b.call("aten.exp.default", strided, name="fusible_of_host")
    b.call("aten.sum.dim_IntList", two, (1,), name="fusible_sum")
    halves = b.call("aten.frexp.Tensor", two, name="fusible_frexp")
    part(b, halves, 0, "fusible_mantissa")
    view = b.call("aten.permute.default", relu, (1, 0), name="view_relu")
    b.call("aten.exp.default", view, name="fusible_of_view")
    b.call("aten.add.Tensor", relu, two, name="fusible_of_both")
    b.call("aten.rand_like.default", two, name="library_draw")
    b.call("aten._assert_async.default", part(b, order, 0, "host_again"), name="library_effect")
    kinds = layout_of(b.graph()).kind
    assert {name: kind.value.split()[0] for name, kind in kinds.items()} == {
        name: name.split("_")[0] for name in kinds
    }


def test_the_host_looks_at_a_result_once_its_region_has_run() -> None:
    b = GraphBuilder()
    x = b.input("x", (4, 8))
    relu = b.call("aten.relu.default", x, name="relu")
    view = b.call("aten.view.default", relu, (32,), name="view")
    for name, of in (("of_input", x), ("of_relu", relu), ("of_view", view)):
        seen = b.call("aten.as_strided.default", of, (2,), (9,), name=name)
        b.call("aten.exp.default", seen, name=f"{name}_exp")
    level = layout_of(b.graph()).level
    assert [level[name] for name in ("of_input", "of_relu", "of_view")] == [0, 1, 1]
    assert [level[f"{name}_exp"] for name in ("of_input", "of_relu", "of_view")] == [0, 1, 1]


def test_what_reads_nothing_is_no_reason_to_share_a_region() -> None:
    b = GraphBuilder()
    x, y = b.input("x", (4, 8)), b.input("y", (4, 8))
    two = b.call("aten.full.default", (4, 8), 2.0, name="two")
    outs = [b.call("aten.add.Tensor", of, two, name=f"a{of.name}") for of in (x, y)]
    assert [names(r) for r in check(b.graph(*outs)).regions] == [["two", "ax"], ["two", "ay"]]


def test_a_region_that_reads_a_later_draw_runs_after_the_earlier_one() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (4, 4)), b.input("w", (4, 4))
    first = b.call("aten.relu.default", b.call("aten.mm.default", x, w), name="first")
    drawn = b.call("aten.rand_like.default", b.call("aten.mm.default", first, w), name="drawn")
    later = b.call("aten.rand_like.default", x, name="later")
    out = b.call("aten.add.Tensor", first, later, name="out")
    assert [names(r) for r in partition(b.graph(drawn, out)).regions] == [["first"], ["out"]]


def test_several_results_of_one_call_stay_where_it_is() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (64, 64)), b.input("w", (64, 64), DType.F64)
    both = b.call("aten.frexp.Tensor", x, name="both")
    wide = [
        b.call("aten._to_copy.default", part(b, both, k, f"part{k}"), dtype=DType.F64)
        for k in (0, 1)
    ]
    wide.append(b.call("aten.neg.default", wide[0]))
    product = b.call("aten.mm.default", w, w)
    cut = check(b.graph(*(b.call("aten.add.Tensor", one, product) for one in wide)))
    assert [names(r)[:3] for r in cut.regions[:1]] == [["both", "part0", "part1"]]
    assert [len(r.graph.nodes) for r in cut.regions] == [3, 6]


def test_what_a_library_call_reads_too_is_computed_before_it() -> None:
    b = GraphBuilder()
    x, w = b.input("x", (8, 8)), b.input("w", (8, 8))
    g = b.call("aten.sigmoid.default", x, name="g")
    out = b.call("aten.mul.Tensor", g, b.call("aten.mm.default", g, w), name="out")
    assert [names(r) for r in check(b.graph(out)).regions] == [["g"], ["out"]]


@pytest.mark.parametrize("view", [False, True])
def test_what_is_returned_is_stored_anyhow(view: bool) -> None:
    b = GraphBuilder()
    x, w = b.input("x", (8, 8)), b.input("w", (8, 8))
    g = b.call("aten.sigmoid.default", x, name="g")
    out = b.call("aten.mul.Tensor", g, b.call("aten.mm.default", w, w), name="out")
    kept = b.call("aten.permute.default", g, (1, 0), name="turned") if view else g
    assert [names(r) for r in check(b.graph(kept, out)).regions] == [["g"], ["out"]]


def test_what_stays_does_not_read_what_moves() -> None:
    """Both comparisons read more where they would move to; what they compare would be less."""
    b = GraphBuilder()
    x, w = b.input("x", (64, 64), DType.BF16), b.input("w", (64, 64))
    a = b.call("aten._to_copy.default", x, dtype=DType.F32, name="a")
    product, outs = b.call("aten.mm.default", w, w), []
    for n in range(2):
        y = b.input(f"y{n}", (64, 64), DType.F64)
        outs.append(b.call("aten.exp.default", y, name=f"z{n}"))
        test = b.call("aten.lt.Tensor", a, y, name=f"b{n}")
        outs.append(b.call("aten.where.self", test, a, product, name=f"out{n}"))
    cut = check(b.graph(*outs))
    assert [names(r) for r in cut.regions] == [["a", "z0", "b0", "z1", "b1"], ["out0", "out1"]]


@pytest.mark.parametrize(
    ("homes", "moved"),
    [
        ({}, True),  # as the bytes have it
        ({"g": {"g"}, "h": {"h", "out"}}, True),
        ({"g": {"g", "h"}, "h": {"g", "h"}}, False),
    ],
)
def test_decisions_that_know_all_that_could_move_say_what_does(
    homes: dict[str, set[str]], moved: bool
) -> None:
    b = GraphBuilder()
    x, w = b.input("x", (8, 8)), b.input("w", (8, 8))
    g = b.call("aten.sigmoid.default", x, name="g")
    h = b.call("aten.exp.default", g, name="h")
    out = b.call("aten.mul.Tensor", h, b.call("aten.mm.default", w, w), name="out")
    regions = {name: frozenset(all_) for name, all_ in homes.items()}
    cut = partition(b.graph(out), decisions=Decisions(regions=regions))
    assert any({"h", "out"} <= {*names(r)} for r in cut.regions) is moved
    assert any({"g", "h"} <= {*names(r)} for r in cut.regions) is ("g" not in homes or not moved)


@pytest.mark.parametrize("read", [False, True])
def test_what_is_read_there_anyhow_costs_nothing(read: bool) -> None:
    """By a region: a library call of that level is none."""
    b = GraphBuilder()
    x, w = b.input("x", (64, 64)), b.input("w", (64, 64))
    kept = b.call("aten.exp.default", x, name="kept")
    g = b.call("aten._to_copy.default", x, dtype=DType.BF16, name="g")
    product = b.call("aten.mm.default", x, w)
    out = b.call("aten.mul.Tensor", b.call("aten.add.Tensor", x, product) if read else product, g)
    cut = check(b.graph(kept, out))
    assert ("g" in names(cut.regions[-1])) is read


@pytest.mark.parametrize("read", [False, True])
def test_what_is_stored_anyhow_is_only_read_again(read: bool) -> None:
    b = GraphBuilder()
    x, w = b.input("x", (64, 64)), b.input("w", (64, 64))
    total = b.call("aten.cumsum.default", x, 1, name="total")
    g = b.call("aten.exp.default", total, name="g")
    product = b.call("aten.mm.default", total if read else w, w)
    cut = check(b.graph(b.call("aten.mul.Tensor", g, product)))
    assert ("g" in names(cut.regions[-1])) is read
