"""Split reductions compute the same, and happen exactly where they pay."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.decisions import Decisions
from harness.dtypes import DType
from harness.graph.model import Arg, Graph, TensorType
from harness.graph.passes.reductions import parse_reduction
from harness.graph.passes.split import split_reductions
from harness.graph.replay import random_inputs, replay
from harness.pipeline import compile_graph
from harness.target import H100
from tests.graph.building import GraphBuilder, assert_close


def reduction(
    op: str, shape: tuple[int, ...], *args: Arg, dtype: DType = DType.F64, **kwargs: Arg
) -> Graph:
    b = GraphBuilder()
    x = b.input("x", shape, dtype)
    value = b.call(op, x, *args, name="red", **kwargs)
    if "var_mean" in op:
        outputs = [b.call("getitem", value, n, name=f"part{n}") for n in (0, 1)]
        return b.graph(*outputs)
    return b.graph(value)


def check_same(graph: Graph, split: Graph) -> None:
    inputs = random_inputs(graph, "cpu", 5)
    assert_close(replay(split, inputs, "cpu"), replay(graph, inputs, "cpu"), 1e-9)
    assert split.outputs == graph.outputs
    assert split.types()[graph.outputs[0] or ""] == graph.types()[graph.outputs[0] or ""]


CASES: tuple[tuple[str, tuple[int, ...], tuple[Arg, ...], dict[str, Arg]], ...] = (
    ("aten.sum.dim_IntList", (48, 6), ((0,),), {}),
    ("aten.sum.dim_IntList", (48, 6), ((0,), True), {}),
    ("aten.sum.dim_IntList", (6, 4, 8), ((0, 1, 2),), {}),
    ("aten.mean.dim", (4, 3, 6, 8), ((0, 2, 3), True), {}),
    ("aten.mean.dim", (4, 3, 6, 8), ((0, 2, 3),), {}),
    ("aten.amax.default", (5, 64), ((1,),), {}),
    ("aten.max.default", (8, 8), (), {}),
    ("aten.min.default", (8, 8), (), {}),
    ("aten.prod.dim_int", (64, 3), (0,), {}),
    ("aten.any.dim", (64, 3), (0,), {}),
    ("aten.var_mean.correction", (8, 3, 6, 4), ((0, 2, 3),), {"correction": 0, "keepdim": True}),
    ("aten.var_mean.correction", (8, 3, 6, 4), ((0, 2, 3),), {"correction": 1}),
    ("aten.var.correction", (48, 6), ((0,),), {"correction": 1, "keepdim": True}),
)


@pytest.mark.parametrize(("op", "shape", "args", "kwargs"), CASES)
@pytest.mark.parametrize("count", [2, 4, 7, 16])
def test_equal_in_float64(
    op: str, shape: tuple[int, ...], args: tuple[Arg, ...], kwargs: dict[str, Arg], count: int
) -> None:
    graph = reduction(op, shape, *args, **kwargs)
    split = split_reductions(graph, H100, lambda name, default: count)
    assert len(split.nodes) > len(graph.nodes)
    check_same(graph, split)


@pytest.mark.parametrize(("shape", "kernels"), [((25088,), 2), ((4, 25088), 2)])
def test_the_second_step_of_a_variance_is_one_kernel(shape: tuple[int, ...], kernels: int) -> None:
    """Of a single row, too, though kernels of one row are not joined."""
    graph = reduction("aten.var_mean.correction", shape, (len(shape) - 1,), correction=0)
    assert len(compile_graph(graph, H100, Decisions(chunks={"red": 16})).kernels) == kernels


@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_a_variance_of_a_single_row_is_exact(keepdim: bool, offset: float, dtype: DType) -> None:
    """But for the rounding of what 16 bits hold."""
    kwargs: dict[str, Arg] = {"correction": 1, "keepdim": keepdim}
    graph = reduction("aten.var_mean.correction", (4096,), (0,), dtype=dtype, **kwargs)
    split = split_reductions(graph, H100, lambda name, default: 16)
    x = (torch.randn(4096) + offset).to(getattr(torch, dtype.torch_name))
    exact = torch.var_mean(x.double(), 0, **kwargs)
    rounded = 2.0**-8 if dtype is DType.BF16 else 0.0
    for got, wanted in zip(replay(split, [x], "cpu"), exact, strict=True):
        assert got is not None and (got.shape, got.dtype) == (wanted.shape, x.dtype)
        assert bool((got - wanted).abs() <= 1e-4 + 1e-6 * offset + rounded * wanted.abs())


def test_integer_and_bool_inputs() -> None:
    for dtype in (DType.I32, DType.BOOL):
        graph = reduction("aten.sum.dim_IntList", (8, 8), (0, 1), dtype=dtype)
        check_same(graph, split_reductions(graph, H100, lambda name, default: 4))


def test_sums_to_a_wider_type_have_it_between_the_steps() -> None:
    b = GraphBuilder()
    x = b.input("x", (1 << 20,), DType.BF16)
    graph = b.graph(b.call("aten.sum.dim_IntList", x, (0,), False, dtype=DType.F32))
    split = split_reductions(graph, H100)
    assert {n.type.dtype for n in split.nodes if "sum.dim" in n.op} == {DType.F32}  # type: ignore[union-attr]
    ones = [torch.ones(1 << 20, dtype=torch.bfloat16)]
    ones[0][::7] += 2**-7
    assert_close(replay(split, ones, "cpu"), replay(graph, ones, "cpu"), 1e-6)


def test_16_bit_sums_stay_wide_between_the_steps() -> None:
    graph = reduction("aten.sum.dim_IntList", (8192, 768), (0,), dtype=DType.BF16)
    split = split_reductions(graph, H100)
    types = split.types()
    assert [n.name for n in split.nodes] == ["red_chunks", "red_partial", "red_total", "red"]
    assert str(types["red_partial"]).startswith("TensorType(dtype=<DType.F32")
    assert types["red"] == graph.types()["red"]
    graph = reduction("aten.var_mean.correction", (96, 8), (0,), dtype=DType.BF16, correction=0)
    split = split_reductions(graph, H100, lambda name, default: 8)
    inputs = random_inputs(graph, "cpu", 0)
    assert_close(replay(split, inputs, "cpu"), replay(graph, inputs, "cpu"), 2e-2)


@pytest.mark.parametrize(
    ("op", "shape", "dims", "count"),
    [
        ("aten.sum.dim_IntList", (8192, 768), (0,), 32),  # bias gradient
        ("aten.var_mean.correction", (32, 64, 112, 112), (0, 2, 3), 8),  # batch norm
        ("aten.var_mean.correction", (16, 48, 165, 165), (0, 2, 3), 16),  # images of odd sizes
        ("aten.sum.dim_IntList", (16, 48, 35, 35), (0, 2, 3), 1),  # small ones, of which few
        ("aten.sum.dim_IntList", (4096, 1024), (0, 1), 512),  # a loss
        ("aten.sum.dim_IntList", (8192, 4096), (1,), 1),  # rows: enough programs
        ("aten.sum.dim_IntList", (16, 4096), (1,), 1),  # too little work
        ("aten.sum.dim_IntList", (1048573, 2), (0,), 1),  # a prime has no equal chunks
    ],
)
def test_defaults(op: str, shape: tuple[int, ...], dims: tuple[int, ...], count: int) -> None:
    b = GraphBuilder()
    x = b.input("x", shape, DType.F32)
    kwargs: dict[str, Arg] = {"correction": 0} if "var" in op else {}
    value = b.call(op, x, dims, name="red", **kwargs)
    out = b.call("getitem", value, 0) if "var" in op else value
    seen: list[tuple[str, int]] = []

    def record(name: str, default: int) -> int:
        seen.append((name, default))
        return default

    graph = b.graph(out)
    split = split_reductions(graph, H100, record)
    assert seen == [("red", count)]
    assert (split == graph) == (count == 1)


@pytest.mark.parametrize(
    ("shape", "dim", "cut"),
    [
        ((8, 65536), 1, False),
        ((1, 65536), 1, False),
        ((100, 65536), 1, False),
        ((40000, 64), 0, False),
        ((2000, 64), 0, False),
        ((1000, 3000), 0, False),
        ((4000, 10000), 0, True),
    ],
)
def test_few_rows_of_a_softmax_are_left_to_programs_that_share_them(
    shape: tuple[int, int], dim: int, cut: bool
) -> None:
    """A maximum and sum of what is not below it are not."""
    for below in (True, False):
        b = GraphBuilder()
        x = b.input("x", shape, DType.F32)
        top = b.call("aten.amax.default", x, (dim,), True, name="top")
        exp = b.call("aten.exp.default", b.call("aten.sub.Tensor", x, top) if below else x)
        total = b.call("aten.sum.dim_IntList", exp, (dim,), True, name="total")
        split = split_reductions(b.graph(b.call("aten.div.Tensor", exp, total), top), H100)
        names = {"top_partial", "total_partial"} & {node.name for node in split.nodes}
        assert len(names) == 2 * (cut or not below)


@pytest.mark.parametrize(
    ("shape", "count"), [((4096, 3072), 64), ((4096, 30522), 64), ((2048, 768), 32), ((64, 768), 1)]
)
def test_what_is_stored_too_is_cut_into_shorter_strips(shape: tuple[int, ...], count: int) -> None:
    b = GraphBuilder()
    x = b.input("x", shape, DType.BF16)
    curve = b.call("aten.tanh.default", x)
    out = b.call("aten.view.default", curve, shape)
    total = b.call("aten.sum.dim_IntList", out, (0,), name="red")
    seen: list[int] = []

    def record(_: str, default: int) -> int:
        seen.append(default)
        return default

    split_reductions(b.graph(total, curve), H100, record)
    split_reductions(b.graph(total), H100, record)
    assert seen[0] == count and (seen[1] < count or shape[1] == 768)


def test_choose_can_forbid() -> None:
    graph = reduction("aten.sum.dim_IntList", (8192, 768), (0,))
    assert split_reductions(graph, H100, lambda name, default: 1) == graph


def test_strided_source() -> None:
    b = GraphBuilder()
    x = b.input("x", (12, 5, 8), DType.F64, stride=(1, 96, 12))
    graph = b.graph(b.call("aten.sum.dim_IntList", x, (0, 2), name="red"))
    check_same(graph, split_reductions(graph, H100, lambda name, default: 8))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.data(),
    st.integers(2, 20),
    st.booleans(),
)
def test_any_dimensions(shape: list[int], data: st.DataObject, count: int, keepdim: bool) -> None:
    ranks = st.integers(0, len(shape) - 1)
    dims = tuple(data.draw(st.lists(ranks, min_size=1, unique=True)))
    order = data.draw(st.permutations(range(len(shape))))
    stride, step = [0] * len(shape), 1
    for dim in order:
        stride[dim], step = step, step * shape[dim]
    b = GraphBuilder()
    x = b.input("x", tuple(shape), DType.F64, stride=tuple(stride))
    op = data.draw(st.sampled_from(["aten.sum.dim_IntList", "aten.var.correction"]))
    kwargs: dict[str, Arg] = {"correction": 0} if "var" in op else {}
    if "var" in op:
        value = b.call(op, x, dims, keepdim=keepdim, **kwargs)
    else:
        value = b.call(op, x, dims, keepdim)
    graph = b.graph(value)
    split = split_reductions(graph, H100, lambda name, default: count)
    check_same(dataclasses.replace(graph), split)


def test_the_direction_is_that_of_the_tensors_read() -> None:
    """A product whose own layout is that of its first operand, which is broadcast: the
    tensor in memory runs the other way, and decides."""
    b = GraphBuilder()
    small = b.input("small", (32, 768, 1, 1))
    wide = b.input("wide", (32, 7, 7, 768))
    expanded = b.call("aten.expand.default", small, (32, 768, 7, 7))
    halved = b.call("aten.div.Scalar", expanded, 49.0)
    turned = b.call("aten.permute.default", halved, (0, 2, 3, 1))
    product = b.call("aten.mul.Tensor", turned, wide)
    graph = b.graph(b.call("aten.sum.dim_IntList", product, (0, 1, 2), name="red"))
    nodes = {n.name: n for n in graph.nodes}
    types = graph.types()
    alone = parse_reduction(nodes["red"], types)
    informed = parse_reduction(nodes["red"], types, nodes)
    assert alone is not None and informed is not None
    assert alone.inner and not informed.inner
    assert len(split_reductions(graph, H100).nodes) > len(graph.nodes)


@pytest.mark.parametrize(("order", "inner"), [((0, 1), True), ((1, 0), False)])
def test_the_direction_is_followed_through_permutations(
    order: tuple[int, int], inner: bool
) -> None:
    b = GraphBuilder()
    x = b.input("x", (64, 64))
    turned = b.call("aten.permute.default", b.call("aten.neg.default", x), order)
    graph = b.graph(b.call("aten.sum.dim_IntList", turned, (1,), name="red"))
    nodes = {n.name: n for n in graph.nodes}
    found = parse_reduction(nodes["red"], graph.types(), nodes)
    assert found is not None and found.inner == inner


@pytest.mark.parametrize("op", ["aten.var_mean.correction", "aten.mean.dim"])
def test_what_is_returned_is_reduced_as_it_lies(op: str) -> None:
    """The kernel that adds also transposes; that of the rows reads them in one piece each."""
    counts: list[int] = []
    for returned in (True, False):
        b = GraphBuilder()
        rows, columns = b.input("rows", (100, 1024)), b.input("columns", (1024, 100))
        added = b.call("aten.add.Tensor", rows, b.call("aten.permute.default", columns, (1, 0)))
        value = b.call(op, added, (1,), name="red", keepdim=True)
        result = b.call("getitem", value, 0) if "var_mean" in op else value
        graph = b.graph(*[added] * returned, result)
        split_reductions(graph, H100, lambda _, default: counts.append(default) or default)
    assert counts[0] == 1 < counts[1]


def test_what_others_reduce_both_ways_is_cut_like_them() -> None:
    b, seen = GraphBuilder(), dict[str, int]()
    first, second = b.input("first", (32, 49, 768)), b.input("second", (32, 768, 49))
    turned = b.call("aten.permute.default", second, (0, 2, 1))
    added = b.call("aten.add.Tensor", turned, first)
    plain = b.call("aten.sum.dim_IntList", added, (0, 1), name="plain")
    product = b.call("aten.mul.Tensor", added, first)
    both = b.call("aten.sum.dim_IntList", product, (0, 1), name="both")
    graph = b.graph(added, plain, both)
    split_reductions(graph, H100, lambda name, default: seen.setdefault(name, default))
    assert seen["plain"] == seen["both"] > 1


def test_a_concatenation_is_read_as_its_pieces_lie() -> None:
    """Its own layout is that of its first piece, which may be the only one to lie so."""
    counts: list[int] = []
    for stride in ((784, 49, 7, 1), (784, 1, 112, 16)):
        b = GraphBuilder()
        kinds = [(784, 49, 7, 1), stride]
        parts = [b.input(f"x{n}", (256, 16, 7, 7), stride=kind) for n, kind in enumerate(kinds)]
        whole = b.call("aten.cat.default", tuple(parts), 1)
        graph = b.graph(b.call("aten.sum.dim_IntList", whole, (0, 2, 3), name="red"))
        split_reductions(graph, H100, lambda _, default: counts.append(default) or default)
    assert counts[0] == 1 < counts[1]


@pytest.mark.parametrize(("channels", "left"), [(4, True), (16, False)])
def test_groups_of_few_channels_are_reduced_by_pixel_first(channels: int, left: bool) -> None:
    """In an image whose pixels lie one behind the other, a group has a part of each sector."""
    shape, pixel = (1, 8, channels, 65536), 8 * channels
    b = GraphBuilder()
    x = b.input("x", shape, DType.F64, stride=(65536 * pixel, channels, 1, pixel))
    both = b.call("aten.var_mean.correction", x, (2, 3), name="red", correction=0, keepdim=True)
    graph = b.graph(b.call("getitem", both, 0), b.call("getitem", both, 1))
    split = split_reductions(graph, H100)
    partial = split.types()["red_partial"]
    assert isinstance(partial, tuple) and isinstance(partial[0], TensorType)
    assert (channels in map(int, partial[0].shape)) == left
    check_same(graph, split)
