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
    x, w = b.input("x", (16, depth), dtype), b.input("w", (33, depth), dtype)
    t = b.call("aten.permute.default", w, (1, 0), name="t")
    return b.graph(b.call("aten.mm.default", x, t, name="m"))


def gradients() -> Graph:
    """Two products of one matrix with odd rows, once transposed."""
    b = GraphBuilder()
    g = b.input("g", (16, 25, 33), DType.BF16)
    w, x = b.input("w", (33, 512), DType.BF16), b.input("x", (400, 512), DType.BF16)
    flat = b.call("aten.view.default", g, (400, 33), name="flat")
    turned = b.call("aten.permute.default", flat, (1, 0), name="turned")
    return b.graph(
        b.call("aten.mm.default", flat, w, name="dx"),
        b.call("aten.mm.default", turned, x, name="dw"),
    )


@pytest.mark.parametrize("graph", [logits(512), gradients()])
def test_results_are_the_graphs(padded: None, graph: Graph) -> None:
    run = run_of(graph)
    assert "long_rows(" in run.text or "out=empty(" in run.text
    inputs = random_inputs(graph, "cpu", 1)
    wanted = replay(graph, inputs, "cpu")
    got = run([*inputs])
    for a, b in zip(got, wanted, strict=True):
        assert a.stride() == b.stride()
        torch.testing.assert_close(a, b)


def test_a_matrix_read_twice_is_copied_once_and_freed(padded: None) -> None:
    text = run_of(gradients()).text
    assert text.count("long_rows(") == 1
    made = next(line for line in text.splitlines() if "long_rows(" in line).split()[0]
    assert f"mm({made}, w" in text and f"mm({made}.t(), x" in text
    assert f"del {made}" in text.split("mm(")[-1]


def test_a_result_is_written_to_longer_rows(padded: None) -> None:
    assert "out=empty((16, 33), (40, 1), bfloat16)" in run_of(logits(512)).text


@pytest.mark.parametrize("graph", [logits(64), logits(512, DType.F32)])
def test_what_does_not_pay_is_left_alone(graph: Graph) -> None:
    """Little depth: the copies cost more than the product. 32 bits: other kernels."""
    assert not products(ViewPlan(cut(graph)))


def test_nothing_is_copied_on_a_cpu() -> None:
    assert "long_rows" not in run_of(gradients()).text


@pytest.mark.parametrize(("columns", "row"), [(50257, 50264), (8, 8), (1, 8)])
def test_rows_of_whole_16_bytes(columns: int, row: int) -> None:
    assert row_length(columns, 2) == row
