"""Scatters on several copies, and on a row for each point, compute the same, and happen exactly
where they pay."""

from __future__ import annotations

import pytest
import torch

from harness.dtypes import DType
from harness.graph.model import Arg, Graph
from harness.graph.passes.scatters import copy_scatters
from harness.graph.replay import random_inputs, replay
from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.runtime.interpret.interpreter import CheckJob, InterpreterPool
from harness.target import H100
from tests.graph.building import GraphBuilder, assert_close


def scatter(
    table: tuple[int, ...],
    indices: tuple[tuple[int, ...], ...],
    values: tuple[int, ...],
    *,
    zero: bool = True,
    accumulate: bool = True,
) -> Graph:
    b = GraphBuilder()
    found: list[Arg] = [
        b.input(f"i{n}", shape, DType.I64, bound=table[n]) for n, shape in enumerate(indices)
    ]
    source = b.input("source", values, DType.F64)
    base = (
        b.call("aten.full.default", table, 0, dtype=DType.F64)
        if zero
        else b.input("base", table, DType.F64)
    )
    put = b.call("aten.index_put.default", base, tuple(found), source, accumulate, name="put")
    return b.graph(put)


CASES = (
    ((5, 3), ((64,),), (64, 3)),
    ((5, 3), ((8, 64),), (8, 64, 3)),
    ((5, 3), ((64, 8),), (1, 8, 3)),
    ((5, 3), ((8, 16), (16,)), (8, 16)),
    ((4, 3, 2), ((16, 1), (1, 32)), (16, 32, 2)),
    ((7,), ((48,),), (1,)),
)


@pytest.mark.parametrize(("table", "indices", "values"), CASES)
@pytest.mark.parametrize("zero", [True, False])
def test_equal_in_float64(
    table: tuple[int, ...],
    indices: tuple[tuple[int, ...], ...],
    values: tuple[int, ...],
    zero: bool,
) -> None:
    graph = scatter(table, indices, values, zero=zero)
    copied = copy_scatters(graph, lambda name, default: 8)
    assert len(copied.nodes) > len(graph.nodes) and copied.outputs == graph.outputs
    assert copied.types()["put"] == graph.types()["put"]
    inputs = random_inputs(graph, "cpu", 3)
    assert_close(replay(copied, inputs, "cpu"), replay(graph, inputs, "cpu"), 1e-12)


def test_a_target_keeps_its_sign_unless_a_positive_number_is_added() -> None:
    """0 was added to a target of -0 that no point meets, which made it 0."""
    graph = scatter((4,), ((64,),), (64,), zero=False)
    copied = copy_scatters(graph, lambda name, default: 8)
    base, source = torch.full((4,), -0.0).double(), torch.tensor([1.0, -1, 0, -0.0]).double()
    place, source = torch.tensor([1, 1, 2, 3]).repeat(16), source.repeat(16)
    for at in (base, base + 1, -base):
        (found,), (right,) = (replay(g, [place, source, at], "cpu") for g in (copied, graph))
        assert found is not None and right is not None
        assert found.equal(right) and found.signbit().equal(right.signbit())


def test_only_many_points_for_few_targets() -> None:
    assert copies(scatter((32, 12), ((512, 512),), (512, 512, 12))) == 64
    assert copies(scatter((32, 12), ((64, 64),), (64, 64, 12))) == 1
    assert copies(scatter((50257, 768), ((8, 1024),), (8, 1024, 768))) == 1
    assert copies(scatter((2048, 16), ((1 << 20,),), (1 << 20, 16))) == 8


def copies(graph: Graph) -> int:
    """How many copies are made by default."""
    asked: list[int] = []

    def choose(name: str, default: int) -> int:
        asked.append(default)
        return default

    copy_scatters(graph, choose)
    return asked[0]


def gradient(
    targets: int, points: tuple[int, ...], width: int, kind: DType, start: float = 0
) -> Graph:
    """Of a table of embeddings, beside another gradient of it."""
    b = GraphBuilder()
    place = b.input("place", points, DType.I64, bound=targets)
    values = b.input("values", (*points, width), kind)
    other = b.input("other", (targets, width), kind)
    zeros = b.call("aten.full.default", (targets, width), start, dtype=kind)
    put = b.call("aten.index_put.default", zeros, (place,), values, True, name="put")
    return b.graph(b.call("aten.add.Tensor", other, put, name="total"))


@pytest.mark.parametrize("points", [(6,), (4, 8), (3, 2, 2)])
def test_rows_for_points_equal_in_float64(points: tuple[int, ...]) -> None:
    graph = gradient(11, points, 3, DType.F64)
    rows = copy_scatters(graph, lambda name, default: 0)
    assert rows != graph and rows.types()["put"] == graph.types()["put"]
    inputs = random_inputs(graph, "cpu", 5)
    inputs[0].view(-1)[:3] = torch.tensor([-1, 10, -11])  # the last one twice, the first
    assert_close(replay(rows, inputs, "cpu"), replay(graph, inputs, "cpu"), 1e-12)


def test_rows_only_for_few_points_of_large_tables_that_are_no_result() -> None:
    assert copies(gradient(50257, (2, 512), 768, DType.F32)) == 0
    assert (
        copies(gradient(512, (8, 512), 768, DType.F32)) == 1
    )  # as many rows as the table and more
    assert copies(gradient(50257, (2, 512), 768, DType.F32, -0.0)) == 1  # what nobody meets is -0.0
    assert copies(gradient(8192, (16,), 8, DType.F32)) == 1  # the launches take longer
    assert copies(scatter((50257, 768), ((8, 1024),), (8, 1024, 768), zero=False)) == 1
    assert copies(scatter((50257, 768), ((8, 1024),), (8, 1024, 768))) == 1


def test_a_table_of_rows_is_neither_filled_nor_read(interpreter: InterpreterPool) -> None:
    graph = gradient(50257, (2, 512), 768, DType.F32)
    made = compile_graph(graph, H100)
    table, rows = 50257 * 768 * 4, 1024 * 768 * 4
    moved = sum(launch.plan.bytes_moved for region in made.regions for launch in region.launches)
    assert not made.failures and dict(made.splits) == {"put": 0}
    assert moved < 2 * table + 6 * rows
    small = compile_graph(gradient(7, (2, 8), 16, DType.F32), H100, made.decisions)
    assert dict(small.splits) == {"put": 0} and len(small.kernels) == len(made.kernels)
    checks = interpreter.all([CheckJob(kernel.module.text, None) for kernel in small.kernels])
    assert all(found.passed for found in checks)


def test_overwriting_scatters_stay() -> None:
    graph = scatter((5, 3), ((64,),), (64, 3), accumulate=False)
    assert copy_scatters(graph, lambda name, default: 8) == graph


@pytest.mark.parametrize("zero", [True, False])
def test_copies_cost_no_kernel_of_their_own(zero: bool) -> None:
    graph = scatter((32, 4), ((256, 256),), (256, 256, 4), zero=zero)
    made = compile_graph(graph, H100)
    assert not made.failures
    assert dict(made.splits) == {"put": 64}
    # Zeros, additions, the sum over copies.
    assert len(made.kernels) == 3


@pytest.mark.parametrize(
    ("place", "value", "kind"),
    [
        ("i64[64]", "f32[64, 3]", "i64[5, 3]"),  # integers are exact in any order
        ("b8[8]", "f32[8, 3]", "f32[8, 3]"),  # a mask
        ("i64[]", "f32[3]", "f32[5, 3]"),  # one point
        ("i64[s0]", "f32[s0, 3]", "f32[5, 3]"),
    ],
)
def test_scatters_of_other_kinds_stay(place: str, value: str, kind: str) -> None:
    text = f"""# harness graph 1
def other(
    base: "{kind}",
    place: "{place}",
    value: "{value.replace("f32", kind[:3])}",
):
    put: "{kind}" = aten.index_put.default(base, [place], value, True)
    return (put,)
"""
    graph = loads(text)
    assert copy_scatters(graph, lambda name, default: 8).nodes == graph.nodes
