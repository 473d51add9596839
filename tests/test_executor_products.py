"""Matrix products whose rows start at odd addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import harness.executor as executor
from harness.dtypes import DType
from harness.executor.products import products, row_length
from harness.executor.views import ViewPlan
from harness.graph.model import Graph, Partition
from harness.graph.partition.regions import partition
from harness.graph.replay import random_inputs, replay
from tests.graph.building import GraphBuilder, supports
from tests.running import prepare_partition


@pytest.fixture
def padded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = executor._host
    monkeypatch.setattr(executor, "_host", lambda device: replace(made(device), pads_rows=True))


def cut(graph: Graph) -> Partition:
    return partition(graph, supports)


def run_of(graph: Graph) -> Any:
    return prepare_partition(cut(graph), "cpu")


def logits(depth: int, dtype: DType = DType.BF16) -> Graph:
    """A product with odd rows in its result."""
    b = GraphBuilder()
    x, w = b.input("x", (800, depth), dtype), b.input("w", (33, depth), dtype)
    t = b.call("aten.permute.default", w, (1, 0), name="t")
    return b.graph(b.call("aten.mm.default", x, t, name="m"))


def gradients() -> Graph:
    """Two products of one matrix with odd rows, once transposed."""
    b = GraphBuilder()
    g = b.input("g", (16, 100, 33), DType.BF16)
    w, x = b.input("w", (33, 512), DType.BF16), b.input("x", (1600, 512), DType.BF16)
    flat = b.call("aten.view.default", g, (1600, 33), name="flat")
    turned = b.call("aten.permute.default", flat, (1, 0), name="turned")
    return b.graph(
        b.call("aten.mm.default", flat, w, name="dx"),
        b.call("aten.mm.default", turned, x, name="dw"),
    )


def added(depth: int) -> Graph:
    """A product with odd rows in its result and a vector added."""
    b = GraphBuilder()
    x, w = b.input("x", (800, depth), DType.BF16), b.input("w", (33, depth), DType.BF16)
    t = b.call("aten.permute.default", w, (1, 0), name="t")
    return b.graph(b.call("aten.addmm.default", b.input("b", (33,), DType.BF16), x, t, name="m"))


def square(n: int) -> Graph:
    """All sizes odd, and the same."""
    b = GraphBuilder()
    x, w = b.input("x", (n, n), DType.BF16), b.input("w", (n, n), DType.BF16)
    return b.graph(b.call("aten.mm.default", b.call("aten.permute.default", x, (1, 0)), w))


@pytest.mark.parametrize("graph", [logits(512), gradients(), added(512), square(777)])
def test_results_are_the_graphs(padded: None, graph: Graph) -> None:
    run = run_of(graph)
    assert "larger(" in run.text
    inputs = random_inputs(graph, "cpu", 1)
    wanted = replay(graph, inputs, "cpu")
    got = run([*inputs])
    for a, b in zip(got, wanted, strict=True):
        assert a.stride() == b.stride()
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2 * float(b.abs().max()))


def test_a_matrix_read_twice_is_copied_once_and_freed(padded: None) -> None:
    text = run_of(gradients()).text
    (made,) = (line.split()[0] for line in text.splitlines() if "larger(flat, (1600, 40))" in line)
    assert f"mm({made}, " in text and f"mm({made}.t(), x" in text
    assert f"del {made}" in text.split("mm(")[-1]


def test_a_result_is_taken_out_of_a_larger_one(padded: None) -> None:
    text = run_of(added(512)).text
    assert "larger(b, (40,))" in text and "larger(t.t(), (40, 512))" in text
    assert ")[:800, :33]" in text


def test_what_lies_behind_is_zero() -> None:
    host = executor._host(torch.device("cpu"))
    made = host.larger(torch.ones(3, 5), (4, 8))
    assert made.stride() == (8, 1) and float(made.sum()) == 15.0 and not made[3].any()
    assert host.larger(torch.ones(3), (8,)).tolist() == [1.0] * 3 + [0.0] * 5


@pytest.mark.parametrize("graph", [logits(64), logits(512, DType.F32)])
def test_what_does_not_pay_is_left_alone(graph: Graph) -> None:
    """Little depth: the copies cost more than the product. 32 bits: other kernels."""
    assert not products(ViewPlan(cut(graph)))


def test_nothing_is_copied_on_a_cpu() -> None:
    assert "larger" not in run_of(gradients()).text


@pytest.mark.parametrize(("columns", "row"), [(50257, 50264), (8, 8), (1, 8)])
def test_rows_of_whole_16_bytes(columns: int, row: int) -> None:
    assert row_length(columns, 2) == row
