"""The whole compiler on small graphs: kernels run in the interpreter and equal torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.codegen.source import EmittedModule
from harness.dtypes import DType
from harness.graph.model import Graph, Ref, Token
from harness.graph.passes.split import parts_of
from harness.graph.replay import random_inputs, replay
from harness.heuristics.facts import Facts, Family, Hint
from harness.pipeline import compile_graph
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.target import H100
from harness.tiling.plan import Category
from tests.graph.building import GraphBuilder
from tests.running import run_graph


def train_graph(rows: int, width: int, name: str = "g") -> Graph:
    """Norm, matrix product, a bias gradient with few results, a state changed in place."""
    b = GraphBuilder()
    x = b.input("x", (rows, width))
    weight, state = b.input("weight", (width, width)), b.input("state", (width,), role="buffer")
    mean = b.call("aten.mean.dim", x, (1,), True, name="mean")
    centred = b.call("aten.sub.Tensor", x, mean, name="centred")
    product = b.call("aten.mm.default", centred, weight, name="product")
    act = b.call("aten.sigmoid.default", product, name="act")
    gated = b.call("aten.mul.Tensor", act, x, name="gated")
    bias = b.call("aten.sum.dim_IntList", gated, (0,), name="bias")
    new = b.call("aten.add.Tensor", state, bias, name="new")
    low = b.call("aten._to_copy.default", gated, dtype=DType.BF16, name="low")
    return b.graph(low, bias, mutations=((state, new),), name=name)


def check(graph: Graph, compiled: Any, interpreter: InterpreterPool) -> None:
    assert not compiled.failures, compiled.report()
    wanted_inputs = random_inputs(graph, "cpu", 3)
    got_inputs = [t.clone() for t in wanted_inputs]
    wanted = replay(graph, wanted_inputs, "cpu")

    def launch(module: EmittedModule, args: list[Any]) -> None:
        interpreter.launch(module.text, args)

    got = run_graph(compiled, got_inputs, launch, "cpu")
    for a, b in zip([*got, *got_inputs], [*wanted, *wanted_inputs], strict=True):
        assert a is not None and b is not None
        assert a.stride() == b.stride()
        tolerance = 1e-4 if a.dtype is torch.float32 else 1e-2
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def test_graph_with_a_library_call_and_a_mutation(interpreter: InterpreterPool) -> None:
    graph = train_graph(12, 16)
    compiled = compile_graph(graph, H100)
    check(graph, compiled, interpreter)
    assert [call.node.op for call in compiled.partition.library_calls] == ["aten.mm.default"]
    report = compiled.report()
    assert report.library_call_count == 1 and "aten.mm.default" in str(report)
    assert {"partition", "split", "lower", "schedule", "plan", "render", "emit"} <= dict(
        report.seconds
    ).keys()


def test_small_graph_follows_the_decisions_of_the_large_one(interpreter: InterpreterPool) -> None:
    full = compile_graph(train_graph(8192, 4096), H100)
    assert dict(full.splits)["bias"] > 1
    small = train_graph(48, 24)
    alone = compile_graph(small, H100)
    guided = compile_graph(small, H100, full.decisions)
    assert not alone.splits and guided.splits

    def kinds(compiled: Any) -> list[Category]:
        return [launch.plan.category for launch in compiled.launches]

    assert Category.REDUCTION in kinds(full)
    assert kinds(guided) == kinds(full) != kinds(alone)
    check(small, guided, interpreter)


@pytest.mark.parametrize(
    ("shape", "turned", "parts"),
    [
        ((64, 64, 32, 32), True, 256),
        ((64, 64, 32, 32), False, 8),
        ((64, 512, 8, 8), True, 16),
        ((64, 512, 8, 8), False, 0),
    ],
)
def test_sums_whose_kernels_read_both_ways_are_split_for_their_blocks(
    shape: tuple[int, ...], turned: bool, parts: int
) -> None:
    """A copy behind a view lies across, which the graph alone does not tell."""
    b = GraphBuilder()
    images, channels, *pixels = shape
    order, sizes = ((0, 2, 1), (images, pixels[0] * pixels[1], channels))
    if not turned:
        order, sizes = (0, 1, 2), (images, channels, pixels[0] * pixels[1])
    y = b.call("aten.permute.default", b.input("y", sizes), order)
    y = b.call("aten.clone.default", y, memory_format=Token("contiguous_format"))
    product = b.call("aten.mul.Tensor", b.input("x", shape), b.call("aten.view.default", y, shape))
    graph = b.graph(b.call("aten.sum.dim_IntList", product, (0, 2, 3), name="total"))
    compiled = compile_graph(graph, H100)
    assert not compiled.failures and dict(compiled.splits).get("total", 0) == parts
    names = [kernel.source.name for kernel in compiled.kernels]
    assert len(names) == len(set(names)) == (2 if parts else 1)
    again = compile_graph(graph, H100, compiled.decisions)
    assert [k.source.text for k in again.kernels] == [k.source.text for k in compiled.kernels]


@pytest.mark.parametrize(
    ("rows", "again", "parts"), [(2048, False, 8), (2048, True, 1), (576, True, 29)]
)
def test_rows_that_are_read_again_are_split_where_blocks_do_not_fill_the_device(
    rows: int, again: bool, parts: int
) -> None:
    sizes, loops = (("x", rows), ("r0_", 12544)), 1 + again
    assert parts_of(Facts(Family.REDUCTION, sizes, Hint.MIXED, loops=loops), H100) == parts


@pytest.mark.parametrize(
    ("rows", "reduced", "loads", "parts"),
    [
        (1, 25088, 16, 24),  # a norm of pooled images
        (1, 12544, 6, 12),  # a single row, half as many loads
        (1, 12544, 4, 1),
        (32, 30720, 6, 16),
        (32, 20480, 5, 1),  # as fast in one program
        (128, 25088, 9, 1),  # nearly every multiprocessor has one
    ],
)
def test_few_rows_of_many_loads_are_split(rows: int, reduced: int, loads: int, parts: int) -> None:
    sizes = (("x", rows), ("r0_", reduced))
    for family in (Family.REDUCTION, Family.PERSISTENT):
        assert parts_of(Facts(family, sizes, Hint.INNER, loads=loads, loops=2), H100) == parts
    shared = Facts(Family.REDUCTION, sizes, Hint.INNER, loads=loads, chunked=1)
    assert parts_of(shared, H100) == 1


@pytest.mark.parametrize(
    ("rows", "columns", "dim"), [(5, 33000, 1), (64, 32768, 1), (131, 40000, 1), (20000, 128, 0)]
)
@pytest.mark.parametrize("stored", [False, True])
def test_a_softmax_that_programs_cannot_share_is_split(
    rows: int, columns: int, dim: int, stored: bool
) -> None:
    """Beside what its loop stores it reads a row twice; one program of each row did."""
    b = GraphBuilder()
    x = b.call("aten.mul.Tensor", b.input("x", (rows, columns)), 2.0)
    below = b.call("aten.sub.Tensor", x, b.call("aten.amax.default", x, (dim,), True))
    exp = b.call("aten.exp.default", below)
    total = b.call("aten.sum.dim_IntList", exp, (dim,), True, name="total")
    compiled = compile_graph(b.graph(*[x] * stored, b.call("aten.div.Tensor", exp, total)), H100)
    assert not compiled.failures and ("total" in dict(compiled.splits)) == stored
    shared = ["CHUNKS" in kernel.module.text for kernel in compiled.kernels]
    assert shared.count(True) == (not stored and rows != 131)


@pytest.mark.parametrize("rows", [65, 131, 263])
def test_a_softmax_of_more_long_rows_is_one_kernel(rows: int) -> None:
    """Which finds in the cache what it reads again; split it was five launches."""
    b = GraphBuilder()
    x = b.input("x", (rows, 40000))
    below = b.call("aten.sub.Tensor", x, b.call("aten.amax.default", x, (1,), True))
    exp = b.call("aten.exp.default", below)
    total = b.call("aten.sum.dim_IntList", exp, (1,), True)
    compiled = compile_graph(b.graph(b.call("aten.div.Tensor", exp, total)), H100)
    assert not compiled.failures and not compiled.splits and len(compiled.kernels) == 1


@pytest.mark.parametrize("window", [3, 1])
def test_a_norm_of_one_image_is_split_if_a_window_is_pooled_before(window: int) -> None:
    b = GraphBuilder()
    x = b.input("x", (1, 512, 7, 7))
    pooled = b.call("aten.avg_pool2d.default", x, (window, window), (1, 1), (window // 2,) * 2)
    mean = b.call("aten.mean.dim", pooled, (1, 2, 3), True, name="mean")
    graph = b.graph(b.call("aten.sub.Tensor", pooled, mean))
    compiled = compile_graph(graph, H100)
    assert not compiled.failures and bool(compiled.splits) == (window == 3)
    again = compile_graph(graph, H100, compiled.decisions)
    assert [k.source.text for k in again.kernels] == [k.source.text for k in compiled.kernels]


def test_what_is_scattered_beside_a_sum_that_is_split_is_not() -> None:
    b = GraphBuilder()
    y = b.call("aten.permute.default", b.input("y", (64, 1024, 64)), (0, 2, 1))
    y = b.call("aten.clone.default", y, memory_format=Token("contiguous_format"))
    shape = (64, 64, 32, 32)
    product = b.call("aten.mul.Tensor", b.input("x", shape), b.call("aten.view.default", y, shape))
    total = b.call("aten.sum.dim_IntList", product, (0, 2, 3), name="total")
    table, places = b.input("table", (100, 64, 32, 32)), b.input("places", (64,), DType.I64)
    put = b.call("aten.index_put.default", table, (places,), product, True, name="put")
    assert set(dict(compile_graph(b.graph(total, put), H100).splits)) == {"total"}


def test_a_gate_of_what_a_row_is_scaled_by_shares_its_kernel() -> None:
    b = GraphBuilder()
    x = b.input("x", (64, 128))
    total = b.call("aten.sum.dim_IntList", b.call("aten.mul.Tensor", x, x), (-1,), True)
    scaled = b.call("aten.mul.Tensor", x, b.call("aten.rsqrt.default", total))
    one, other = (b.call("aten.slice.Tensor", scaled, 1, n, n + 64) for n in (0, 64))
    parts = [
        b.call("aten.mul.Tensor", b.call("aten.sigmoid.default", one), other),
        b.call("aten.mul.Tensor", b.call("aten.tanh.default", other), one),
    ]
    compiled = compile_graph(b.graph(b.call("aten.cat.default", tuple(parts), -1)), H100)
    assert len(compiled.kernels) == 1


def test_the_pieces_of_a_gates_gradient_are_computed_at_once(interpreter: InterpreterPool) -> None:
    b = GraphBuilder()
    x, g = b.input("x", (5, 48), DType.BF16), b.input("g", (5, 24), DType.BF16)
    first, second = (b.call("aten.slice.Tensor", x, 1, n, n + 24) for n in (0, 24))
    gate = b.call("aten.sigmoid.default", first)
    parts = [
        b.call("aten.mul.Tensor", g, b.call("aten.mul.Tensor", second, gate)),
        b.call("aten.mul.Tensor", g, b.call("aten.tanh.default", first)),
    ]
    graph = b.graph(b.call("aten.cat.default", tuple(parts), -1))
    compiled = compile_graph(graph, H100)
    (kernel,) = compiled.kernels
    assert kernel.source.text.count("tl.store(") == 2
    check(graph, compiled, interpreter)


@pytest.mark.parametrize("returned", [True, False])
def test_many_columns_beside_each_other_are_stored_by_one_nest(
    interpreter: InterpreterPool, returned: bool
) -> None:
    """At each row all of them, not at each element the one of 40 that is there."""
    b = GraphBuilder()
    columns = [b.input(f"x{n}", (37, 1), DType.BF16) for n in range(40)]
    joined = b.call("aten.cat.default", tuple(columns), -1)
    graph = b.graph(joined if returned else b.call("aten.exp.default", joined))
    compiled = compile_graph(graph, H100)
    text = compiled.kernels[0].source.text
    assert text.count("tl.load(") == text.count("tl.store(") == 40 and "tl.where(" not in text
    assert len(compiled.kernels) == 1 + (not returned)
    check(graph, compiled, interpreter)


def test_input_in_another_layout_is_copied_and_copied_back(interpreter: InterpreterPool) -> None:
    b = GraphBuilder()
    x = b.input("x", (6, 10))
    graph = b.graph(mutations=((x, b.call("aten.exp.default", x)),))
    compiled = compile_graph(graph, H100)
    given = torch.randn(10, 6).t()
    wanted = given.exp()
    run_graph(compiled, [given], lambda module, args: interpreter.launch(module.text, args), "cpu")
    torch.testing.assert_close(given, wanted)


def test_equal_kernels_are_defined_once(interpreter: InterpreterPool) -> None:
    b = GraphBuilder()
    outs = [b.call("aten.exp.default", b.input(f"x{n}", (33,))) for n in range(3)]
    other = b.call("aten.exp.default", b.input("y", (33,), DType.F16))
    graph = b.graph(*outs, other)
    compiled = compile_graph(graph, H100)
    assert [count for _, count in compiled.distinct()] == [3, 1]
    check(graph, compiled, interpreter)


def test_regions_that_differ_in_names_are_compiled_once(interpreter: InterpreterPool) -> None:
    b = GraphBuilder()
    sums: list[Ref] = []
    for n in range(2):
        x = b.input(f"x{n}", (64, 600))
        square = b.call("aten.mul.Tensor", x, x, name=f"square{n}")
        sums.append(b.call("aten.sum.dim_IntList", square, (0,), name=f"total{n}"))
    graph = b.graph(*sums)
    compiled = compile_graph(graph, H100)
    first, second = compiled.regions
    assert second.program is first.program and second.compiled_as is first.graph
    assert [launch.group.origins for launch in compiled.launches] == [
        ("square0", "total0"),
        ("square1", "total1"),
    ]
    assert set(compiled.decisions.loops) == {"total0", "total1"}
    check(graph, compiled, interpreter)


def test_a_region_that_cannot_be_generated_is_reported_and_run_by_torch(
    interpreter: InterpreterPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = train_graph(12, 16)

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise ValueError("no such luck")

    def refuse(module: EmittedModule, args: list[Any]) -> None:
        raise AssertionError(f"{module.name} was launched with {len(args)} arguments")

    monkeypatch.setattr("harness.pipeline.render", broken)
    compiled = compile_graph(graph, H100)
    assert compiled.failures and not compiled.launches
    assert compiled.failures[0].stage == "render"
    assert "no such luck" in str(compiled.report())
    outputs = run_graph(compiled, random_inputs(graph, "cpu", 1), refuse, "cpu")
    assert len(outputs) == 2
