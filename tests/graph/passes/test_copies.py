"""What is reduced is read from a copy of it that is a result anyway, where that is less to read."""

from __future__ import annotations

import pytest

from harness.dtypes import DType
from harness.graph.model import Graph, Ref, Token
from harness.graph.passes.copies import read_copies
from harness.graph.replay import random_inputs, replay
from tests.graph.building import GraphBuilder, assert_close


def heads(
    inputs: int,
    kept: bool = False,
    size: int = 64,
    twice: bool = False,
    small: bool = False,
    placed: bool = False,
    inner: bool = False,
) -> Graph:
    """A product of so many tensors, ``small`` ones or rows of a table at computed places besides,
    the sum of all images and places for each head, and a copy whose heads lie innermost, which is
    a result or ``inner``."""
    b = GraphBuilder()
    value: Ref = b.input("x0", (16, 16, 64, size), DType.F64)
    if small:
        value = b.call("aten.mul.Tensor", value, b.input("each", (64, 1), DType.F64))
    if placed:
        table, places = (
            b.input("table", (3, size), DType.F64),
            b.input("places", (16, 16, 64), DType.I64, bound=3),
        )
        value = b.call("aten.mul.Tensor", value, b.call("aten.index.Tensor", table, (places,)))
    for number in range(1, inputs):
        other = b.input(f"x{number}", (16, 16, 64, size), DType.F64)
        value = b.call("aten.mul.Tensor", value, other)
    turned = b.call("aten.permute.default", value, (0, 2, 3, 1), name="permute")
    results = [b.call("aten.sum.dim_IntList", turned, (0, 1, 2), name="total")]
    if twice:
        squares = b.call("aten.mul.Tensor", value, value)
        results.append(b.call("aten.sum.dim_IntList", squares, (0, 2, 3)))
    copy = b.call(
        "aten.clone.default", turned, memory_format=Token("contiguous_format"), name="copy"
    )
    results.append(b.call("aten.exp.default", copy) if inner else copy)
    return b.graph(*results, *[value] * kept)


@pytest.mark.parametrize(
    ("graph", "read"),
    [
        (heads(2), "copy"),
        (heads(1), "permute"),  # no more than the copy
        (heads(2, kept=True), "permute"),  # in memory as it is
        (heads(2, size=2), "permute"),  # a launch costs more
        (heads(1, small=True), "permute"),
        (heads(1, placed=True), "copy"),
        (heads(2, inner=True), "permute"),  # never in memory
        (heads(2, twice=True), "permute"),  # both sums read it once
    ],
)
def test_what_is_returned_in_another_layout_is_reduced_there(graph: Graph, read: str) -> None:
    found = read_copies(graph)
    inputs = random_inputs(graph, "cpu", 1)
    assert_close(replay(found, inputs, "cpu"), replay(graph, inputs, "cpu"), 1e-9)
    (source,) = found.node("total").refs()
    assert source.startswith(read) and (found == graph) is (read != "copy")
