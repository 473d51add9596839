"""Rows that begin or end between vectors: loaded and stored whole, never outside of their rows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from harness.codegen.source import EmittedModule
from harness.graph.model import Graph
from harness.heuristics.facts import Config
from harness.runtime.compile.static import compile_for
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, InterpreterPool
from harness.runtime.module import load
from harness.runtime.tune.space import Space
from harness.target import H100
from tests.codegen.graphs import SOFTMAX_OF_ROWS, STATISTICS_OF_ROWS
from tests.codegen.kernels import loads, modules

_SOFTMAX = (
    """# harness graph 1
def softmax(
    x: "{t}[{m}, {n}]{view}",
    target: "i64[{m}, 1]",
):
"""
    + SOFTMAX_OF_ROWS
    + """    iota: "i64[{n}]" = prims.iota.default(
        {n}, start=0, step=1, dtype=torch.int64, requires_grad=False
    )
    eq: "b8[{m}, {n}]" = aten.eq.Tensor(iota, target)
    hot: "f32[{m}, {n}]" = aten._to_copy.default(eq, dtype=torch.float32)
    grad: "f32[{m}, {n}]" = aten.sub.Tensor(div, hot)
    narrow: "{t}[{m}, {n}]" = aten._to_copy.default(grad, dtype=torch.{torch})
    return (narrow, amax)
"""
)

_STATISTICS = """# harness graph 1
def statistics(
    x: "{t}[{m}, {n}]{view}",
    weight: "{t}[{n}]",
):
    mul: "{t}[{m}, {n}]" = aten.mul.Tensor(x, weight)
    total: "{t}[{m}, 1]" = aten.sum.dim_IntList(mul, [-1], True)
    best: "i64[{m}]" = aten.argmax.default(x, -1)
    least: "{t}[{m}, 1]" = aten.amin.default(x, [-1], True)
    sub: "{t}[{m}, {n}]" = aten.sub.Tensor(mul, least)
    div: "{t}[{m}, {n}]" = aten.div.Tensor(sub, total)
    return (div, best)
"""

_SHARES = """# harness graph 1
def shares(
    x: "{t}[{m}, {n}]{view}",
):
    wide: "f32[{m}, {n}]" = aten._to_copy.default(x, dtype=torch.float32)
    total: "f32[{m}, 1]" = aten.sum.dim_IntList(wide, [-1], True)
    div: "f32[{m}, {n}]" = aten.div.Tensor(wide, total)
    narrow: "{t}[{m}, {n}]" = aten._to_copy.default(div, dtype=torch.{torch})
    return (narrow,)
"""

_LAYER_NORM = (
    """# harness graph 1
def layer_norm(
    x: "{t}[{m}, {n}]{view}",
):
"""
    + STATISTICS_OF_ROWS
    + """    return (var, mean)
"""
)

_BEHIND = """# harness graph 1
def behind(
    x: "{t}[{m}, {n}]{view}",
):
    flip: "{t}[{m}, {n}]" = aten.flip.default(x, [1])
    both: "{t}[{m}, {twice}]" = aten.cat.default([flip, x], 1)
    wide: "f32[{m}, {twice}]" = aten._to_copy.default(both, dtype=torch.float32)
    total: "f32[{m}]" = aten.sum.dim_IntList(wide, [1])
    return (total,)
"""
"""Of the first row, what lies behind the other piece would begin before its tensor."""

_DTYPES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}


def graph(text: str, rows: int, columns: int, dtype: str, stride: int | None = None) -> Graph:
    view = "" if stride is None else f"{{{stride}, 1}}"
    sizes = {"m": rows, "n": columns, "twice": 2 * columns}
    full = text.format(**sizes, t=dtype, torch=_DTYPES[dtype], view=view)
    return loads(full)


def looped(one: Graph) -> EmittedModule:
    (module,) = modules(one, looped=True)
    assert "tl.max_constancy(" in module.text
    return module


def cases() -> list[tuple[str, Graph]]:
    """Random widths, so that rows begin everywhere; rows of views, further apart than they are
    long, which begin at whole vectors or not."""
    draw = random.Random(0)
    found = []
    for text in (_SOFTMAX, _STATISTICS, _LAYER_NORM, _BEHIND):
        for dtype in _DTYPES:
            columns = draw.randrange(4097, 6000) // 2 * 2 + 1
            name = f"{text.split('(')[0].split()[-1]} {dtype}"
            found.append((f"{name} {columns}", graph(text, 9, columns, dtype)))
            for apart in (columns + draw.randrange(1, 6), columns // 16 * 16 + 16):
                found.append((f"{name} view {apart}", graph(text, 5, columns, dtype, apart)))
    return [*found, ("whole vectors, begun anywhere", graph(_LAYER_NORM, 5, 4104, "bf16", 4107))]


@pytest.mark.parametrize("one", [pytest.param(case, id=name) for name, case in cases()])
def test_rows_that_begin_anywhere_are_computed_as_torch_does(
    one: Graph, interpreter: InterpreterPool
) -> None:
    (found,) = interpreter.all([CheckJob(looped(one).text, None)])
    assert isinstance(found, CheckResult)
    assert found.passed, found


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("block", [None, 512, 1024, 8192])
def test_a_program_stores_its_row_alone(
    dtype: str, block: int | None, interpreter: InterpreterPool
) -> None:
    """Rows that no program computes keep what they hold; also with the smallest block of a search:
    a row's first block alone has a mask for what its first vector holds before the row."""
    rows, columns = 5, 4101
    module = looped(graph(_SHARES, rows, columns, dtype))
    block = block or dict(Space.of(load(module.text), H100).values)["R0_BLOCK"][0]
    kind = getattr(torch, _DTYPES[dtype])
    x = torch.rand(rows, columns).to(kind)
    config = Config((("XBLOCK", 1), ("R0_BLOCK", block)), 4)
    for row in range(rows):
        made = torch.full((rows, columns), 77.0, dtype=kind)
        text = module.text.replace("tl.program_id(0)", f"(tl.program_id(0) * 0 + {row})")
        interpreter.launch(text, [x, made], config)
        want = torch.full_like(made, 77.0)
        want[row] = x[row] / x[row].float().sum()
        torch.testing.assert_close(made, want)


def test_blocks_in_the_middle_of_a_row_are_stored_without_a_mask(tmp_path: Path) -> None:
    loaded = load(looped(graph(_SHARES, 600, 50257, "bf16")).text, tmp_path)
    made = compile_for(loaded, H100, loaded.configs[0], (), tmp_path).asm["ptx"]
    whole = [line for line in made.splitlines() if "st.global" in line and ".v4.b32" in line]
    assert sorted(line.strip().startswith("@") for line in whole) == [False, True, True]


def test_where_vectors_begin_already_nothing_changes() -> None:
    for columns, stride in ((8192, None), (4104, 4112)):
        (module,) = modules(graph(_SHARES, 4, columns, "bf16", stride), looped=True)
        assert "r0_column" not in module.text


def test_nothing_is_read_behind_a_tensor_at_an_odd_address(tmp_path: Path) -> None:
    """A vector's first element speaks for all of it only where vectors are those of memory."""
    loaded = load(looped(graph(_SHARES, 600, 8201, "bf16")).text, tmp_path)
    for unaligned in ((), ("in_ptr0",)):
        made = compile_for(loaded, H100, loaded.configs[0], unaligned, tmp_path).asm["ttgir"]
        assert ("tt.constancy = dense<8>" in made) == (not unaligned)


@pytest.mark.parametrize(
    ("columns", "dtype", "side"),
    [(8200, "bf16", 8), (4100, "f32", 4), (8201, "bf16", 1), (4103, "f32", 1)],
)
@pytest.mark.parametrize("block", [512, 2048])
def test_neighbours_are_folded_before_their_mean_moves_the_lanes(
    columns: int, dtype: str, side: int, block: int, interpreter: InterpreterPool
) -> None:
    """Rows far from zero, and one of equal elements, against float64. Where rows begin inside a
    vector, lanes before them have seen one element less."""
    module = modules(graph(_LAYER_NORM, 3, columns, dtype), looped=True)[0]
    folded = f"R0_BLOCK // {side}]" if side > 1 else "r0_base < r0_shift"
    assert folded in module.text
    x = torch.randn(3, columns) * torch.tensor([[1.0], [0.5], [0.0]]) + torch.tensor(
        [[100.0], [-3.0], [7.0]]
    )
    x = x.to(getattr(torch, _DTYPES[dtype]))
    first, second = torch.full((3, 1), 77.0), torch.full((3, 1), 77.0)
    interpreter.launch(
        module.text, [x, first, second], Config((("XBLOCK", 1), ("R0_BLOCK", block)), 4)
    )
    found = sorted([first, second], key=lambda made: float(made[0, 0]))
    for made, want in zip(
        found, torch.var_mean(x.double(), 1, correction=0, keepdim=True), strict=True
    ):
        torch.testing.assert_close(made.double(), want, rtol=1e-5, atol=1e-5)
