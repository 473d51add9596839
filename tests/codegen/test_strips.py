"""Strips of rows reduced across memory: what belongs to a row is loaded once for all columns."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph
from harness.decisions import Decisions
from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.runtime.module import load
from harness.target import H200
from tests.running import run_graph


def compiled(rows: int, columns: int, strips: int, looped: bool) -> CompiledGraph:
    """Rows scaled each by its own number, stored, and added up."""
    full = f"f32[{rows}, {columns}]"
    graph = loads(
        f"""# harness graph 1
def scaled_rows(x: "{full}", scale: "f32[{rows}, 1]"):
    out: "{full}" = aten.mul.Tensor(x, scale)
    total: "f32[{columns}]" = aten.sum.dim_IntList(out, [0])
    return (out, total)
"""
    )
    loops = {"total_partial": looped}
    return compile_graph(graph, H200, Decisions(chunks={"total": strips}, loops=loops))


@pytest.mark.parametrize("looped", [True, False])
@pytest.mark.parametrize(("rows", "columns", "strips"), [(96, 300, 8), (35, 513, 7), (12, 256, 2)])
def test_strips_of_rows(
    interpreter: InterpreterPool, rows: int, columns: int, strips: int, looped: bool
) -> None:
    made = compiled(rows, columns, strips, looped)
    first = made.kernels[0].module
    assert "yindex = tl.program_id(1)\n" in first.text
    torch.manual_seed(rows)
    x, scale = torch.randn(rows, columns), torch.randn(rows, 1)

    def launch(module: EmittedModule, args: list[Any]) -> None:
        interpreter.launch(module.text, args)

    out, total = run_graph(made, [x, scale], launch, "cpu")
    assert out is not None and total is not None
    torch.testing.assert_close(out, x * scale)
    torch.testing.assert_close(total.double(), (x.double() * scale).sum(0), rtol=1e-5, atol=1e-5)
    for kernel in made.kernels:
        result = interpreter.check(kernel.module.text)
        assert result.passed, result


@pytest.mark.parametrize(("rows", "columns", "strips"), [(64, 24, 8), (140000, 256, 70000)])
def test_short_rows_and_more_strips_than_a_grid_takes_share_programs(
    rows: int, columns: int, strips: int
) -> None:
    assert "yindex" not in compiled(rows, columns, strips, True).kernels[0].module.text


APART = loads("""# harness graph 1
def sums_of_columns_apart(
    x: "f32[24, 90, 40]",
    y: "f32[90, 40, 24]",
):
    turned: "f32[24, 90, 40]{1, 960, 24}" = aten.permute.default(y, [2, 0, 1])
    added: "f32[24, 90, 40]" = aten.add.Tensor(x, turned)
    total: "f32[24, 40]" = aten.sum.dim_IntList(added, [1])
    most: "f32[24, 40]" = aten.amax.default(added, [1])
    return (total, most)
""")


def test_sums_of_columns_in_two_directions_have_a_tile_for_each(
    interpreter: InterpreterPool,
) -> None:
    (kernel,) = compile_graph(APART, H200).kernels
    plan = kernel.source.plan
    assert [tile.prefix for tile in plan.tiles] == ["y", "x", "r0_"]
    assert "YBLOCK" not in dict(plan.facts.fixed_blocks)
    configs = [config for config in load(kernel.module.text).configs if config.block("YBLOCK") > 1]
    assert configs
    for config in configs:
        assert interpreter.check(kernel.module.text, config).passed, config


@pytest.mark.parametrize("across", [False, True])
def test_rows_that_a_tensor_crosses_are_not_walked(across: bool) -> None:
    """In mixed order each element of such a tensor would take a sector."""
    kind = '{1, 8192, 128}" = aten.permute.default(c, [2, 0, 1])'
    turned = kind if across else '" = aten.view.default(c, [128, 16, 64])'
    graph = loads(
        f"""# harness graph 1
def rows_and_columns(
    a: "f32[128, 16, 64]",
    b: "f32[128, 16, 64]",
    c: "f32[16, 64, 128]",
):
    product: "f32[128, 16, 64]" = aten.mul.Tensor(a, b)
    rows: "f32[128, 16]" = aten.sum.dim_IntList(product, [2])
    turned: "f32[128, 16, 64]{turned}
    added: "f32[128, 16, 64]" = aten.add.Tensor(a, turned)
    columns: "f32[128, 64]" = aten.sum.dim_IntList(added, [1])
    return (rows, columns)
"""
    )
    names = [kernel.name for kernel in compile_graph(graph, H200).kernels]
    assert any(name.startswith("triton_mix") for name in names) != across
