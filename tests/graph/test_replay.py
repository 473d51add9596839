"""Replaying graphs: types, layouts, the reference in float64, the same calls as text."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.dtypes import DType
from harness.errors import GraphError, UnsupportedOperator
from harness.graph.calltext import float_names, local_name, needed_nodes, node_text
from harness.graph.model import Graph, Token
from harness.graph.replay import random_inputs, replay, torch_dtype
from tests.graph.building import GraphBuilder, assert_close


def norm_graph() -> Graph:
    b = GraphBuilder()
    x = b.input("x", (4, 16), DType.BF16)
    weight = b.input("lambda", (16,), DType.BF16, role="parameter")
    f = b.call("aten._to_copy.default", x, dtype=DType.F32, name="float32")
    square = b.call("aten.pow.Tensor_Scalar", f, 2, name="square")
    mean = b.call("aten.mean.dim", square, (-1,), True, name="mean")
    eps = b.call("aten.full.default", (1,), 1e-6, name="eps")
    scale = b.call("aten.rsqrt.default", b.call("aten.add.Tensor", mean, eps), name="scale")
    both = b.call("aten.var_mean.correction", f, (1,), correction=0, name="both")
    shifted = b.call("aten.mul.Tensor", f, scale, name="shifted")
    low = b.call("aten._to_copy.default", shifted, dtype=DType.BF16, name="low")
    out = b.call("aten.mul.Tensor", low, weight, name="out")
    return b.graph(out, b.call("getitem", both, 1, name="centre"))


def run_text(graph: Graph, tensors: list[torch.Tensor], wide: bool) -> list[torch.Tensor]:
    given = [i.name for i in graph.inputs]
    outputs = [name for name in graph.outputs if name is not None]
    scope: dict[str, Any] = {"torch": torch, "device": torch.device("cpu")}
    nodes = needed_nodes(graph, given, outputs)
    for name in float_names(nodes):
        scope[name] = torch.float64 if wide else getattr(torch, name)
    for name, tensor in zip(given, tensors, strict=True):
        scope[local_name(name)] = tensor.double() if wide else tensor
    exec("\n".join(map(node_text, nodes)), scope)
    return [scope[local_name(name)] for name in outputs]


@pytest.mark.parametrize("wide", [False, True])
def test_text_computes_what_replay_computes(wide: bool) -> None:
    graph = norm_graph()
    inputs = random_inputs(graph, "cpu", 0)
    wanted = replay(graph, inputs, "cpu", float64=wide)
    assert_close(run_text(graph, inputs, wide), wanted, 0.0)
    assert wanted[0] is not None
    assert wanted[0].dtype is (torch.float64 if wide else torch.bfloat16)


def test_wide_is_more_exact() -> None:
    graph = norm_graph()
    inputs = random_inputs(graph, "cpu", 1)
    narrow, wide = replay(graph, inputs, "cpu")[0], replay(graph, inputs, "cpu", float64=True)[0]
    assert narrow is not None and wide is not None
    torch.testing.assert_close(narrow.double(), wide, rtol=2e-2, atol=2e-2)
    assert (narrow.double() - wide).abs().max() > 1e-4


def test_text_has_only_the_calls_needed_and_names_what_is_missing() -> None:
    graph = norm_graph()
    lines = [node_text(node) for node in needed_nodes(graph, ["shifted", "lambda"], ["out"])]
    assert lines == [
        "low = torch.ops.aten._to_copy.default(shifted, dtype=bfloat16)",
        "out = torch.ops.aten.mul.Tensor(low, v_lambda)",
    ]
    with pytest.raises(GraphError, match="lambda"):
        needed_nodes(graph, ["shifted"], ["out"])


def test_results_have_the_recorded_layout() -> None:
    b = GraphBuilder()
    x = b.input("x", (2, 3, 4, 4))
    out = b.call("aten.clone.default", x, memory_format=Token("channels_last"), name="out")
    graph = b.graph(out)
    (tensor,) = replay(graph, random_inputs(graph, "cpu"), "cpu")
    assert tensor is not None and tensor.stride() == (48, 1, 12, 3)


def test_views_of_inputs_with_gaps_read_the_same_elements_when_wide() -> None:
    b = GraphBuilder()
    x = b.input("x", (1, 10, 1, 4, 1), stride=(80, 8, 4, 1, 1))
    repeated = b.call("aten.expand.default", x, [1, 10, 1, 4, 2])
    read = b.call("aten.as_strided.default", x, [9, 4], [8, 1], 8)
    graph = b.graph(repeated, read)
    given = random_inputs(graph, "cpu")
    for one, other in zip(
        replay(graph, given, "cpu"), replay(graph, given, "cpu", True), strict=True
    ):
        assert one is not None and other is not None
        assert torch.equal(one.double(), other) and one.stride() == other.stride()


def test_mutations_change_the_callers_tensor_unless_wide() -> None:
    b = GraphBuilder()
    x = b.input("x", (4,))
    graph = b.graph(mutations=((x, b.call("aten.exp.default", x)),))
    (tensor,) = random_inputs(graph, "cpu")
    before = tensor.clone()
    replay(graph, [tensor], "cpu", float64=True)
    assert torch.equal(tensor, before)
    replay(graph, [tensor], "cpu")
    assert torch.equal(tensor, before.exp())


def test_random_inputs_respect_bounds_layouts_and_roles() -> None:
    b = GraphBuilder()
    b.input("index", (1000,), DType.I64, bound=3)
    b.input("strided", (4, 5), stride=(1, 4))
    b.input("broadcast", (4, 5), stride=(1, 0))
    b.input("variance", (100,), role="buffer")
    b.input("mask", (1000,), DType.BOOL)
    b.input("small", (100,), DType.F8E4M3)
    graph = b.graph()
    index, strided, broadcast, variance, mask, small = random_inputs(graph, "cpu", 7)
    assert set(index.tolist()) == {0, 1, 2}
    assert strided.stride() == (1, 4) and broadcast.stride() == (1, 0)
    assert (variance > 0).all()
    assert 0.3 < mask.float().mean() < 0.7
    assert small.dtype is torch.float8_e4m3fn
    again = random_inputs(graph, "cpu", 7)
    assert torch.equal(again[1], strided)
    assert not torch.equal(random_inputs(graph, "cpu", 8)[1], strided)


def test_no_two_places_of_a_scatter_are_equal() -> None:
    """Which of two values stays is undefined: neither a kernel nor another compiler is asked."""
    b = GraphBuilder()
    zeros, values = b.input("zeros", (7, 6)), b.input("values", (5, 6))
    table, updates = b.input("table", (40, 2)), b.input("updates", (4, 3, 2))
    across = b.input("across", (5, 6), DType.I64, stride=(1, 5), bound=7)
    rows = b.input("rows", (4, 3), DType.I64, bound=40)
    many = b.input("many", (9,), DType.I64, bound=7)  # more than there are places
    spread = b.input("spread", (5, 6), DType.I64, stride=(1, 0), bound=7)
    out = b.call("aten.scatter.src", zeros, 0, across, values)
    put = b.call("aten.index_put.default", table, (rows,), updates)
    again = b.call("aten.index_put.default", zeros, (many,), b.input("wide", (9, 6)))
    wide = b.call("aten.scatter.src", zeros, 0, spread, values)
    graph = b.graph(out, put, again, wide)
    made = dict(zip([i.name for i in graph.inputs], random_inputs(graph, "cpu", 5), strict=True))
    assert all(len(set(line)) == 5 for line in made["across"].T.tolist())
    assert made["across"].stride() == (1, 5) and made["across"].min() >= 0
    assert len(set(made["rows"].flatten().tolist())) == 12
    assert set(made["many"].tolist()) <= set(range(7))
    assert all(len(set(line)) == 5 for line in made["spread"].T.tolist())


def test_bad_input_is_named() -> None:
    graph = norm_graph()
    with pytest.raises(GraphError, match="number of tensors"):
        replay(graph, [torch.ones(4, 16)], "cpu")
    with pytest.raises(GraphError, match="input lambda"):
        replay(graph, [torch.ones(4, 16), torch.ones(15)], "cpu")
    b = GraphBuilder()
    x = b.input("x", (4,))
    out = b.call("aten.sin.default", x)
    good = b.graph(out)
    node = good.nodes[0]
    bad = Graph(
        "g",
        good.inputs,
        (type(node)("v0", "aten.sine.default", node.args, (), node.type),),
        ("v0",),
    )
    with pytest.raises(UnsupportedOperator, match="no such operator"):
        replay(bad, [torch.ones(4)], "cpu")


def test_every_dtype_has_a_torch_type() -> None:
    assert all(isinstance(torch_dtype(d), torch.dtype) for d in DType)
    assert torch_dtype(DType.BF16, float64=True) is torch.float64
    assert torch_dtype(DType.I8, float64=True) is torch.int8


def test_bits_are_those_of_the_recorded_type_when_wide() -> None:
    """The order of float32 numbers as integers, and back (a largest value by an atomic one)."""
    b = GraphBuilder()
    double = b.call("aten.mul.Tensor", b.input("x", (8,)), 2.0)
    bits = b.call("aten.view.dtype", double, DType.I32)
    back = b.call("aten.view.dtype", bits, DType.F32)
    graph = b.graph(bits, b.call("aten.mul.Tensor", back, 0.5))
    (x,) = random_inputs(graph, "cpu")
    found, same = replay(graph, [x], "cpu", float64=True)
    assert found is not None and torch.equal(found, (x * 2).view(torch.int32))
    assert same is not None and same.dtype is torch.float64 and torch.equal(same, x.double())


@pytest.mark.parametrize("rank", [2, 3])
def test_pooling_backward_looks_only_at_sizes_and_layout(rank: int) -> None:
    last = torch.channels_last if rank == 2 else torch.channels_last_3d
    x = torch.randn(2, 3, *[8] * rank).to(memory_format=last)
    pool = getattr(torch.ops.aten, f"max_pool{rank}d_with_indices")
    backward = getattr(torch.ops.aten, f"max_pool{rank}d_with_indices_backward")
    window: Any = [3] * rank, [2] * rank, [1] * rank, [1] * rank, False
    made, places = pool(x, *window)
    grad = torch.randn_like(made)
    unread = torch.full_like(x, torch.nan)
    found = backward(grad, unread, *window, torch.ops.harness.wide(places.short()))
    wanted = backward(grad, x, *window, places)
    assert torch.equal(found, wanted) and found.stride() == wanted.stride()
