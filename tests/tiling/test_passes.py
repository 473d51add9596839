"""What is added up in 32 bits, and which of several values a program loads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.decisions import Decisions
from harness.dtypes import DType
from harness.graph.text import loads
from harness.heuristics.limits import STAGES
from harness.heuristics.registry import candidates
from harness.ir.nodes import ReduceKind, reductions
from harness.pipeline import compile_graph
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.target import H100, H200
from harness.tiling.plan import Category
from tests.codegen.graphs import strips


def drawn(*shape: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.randn(shape).round()


def filled(number: int, *shape: int, dtype: torch.dtype) -> Callable[[], torch.Tensor]:
    return lambda: torch.full(shape, number, dtype=dtype)


@pytest.mark.parametrize(
    ("function", "make", "narrow"),
    [
        (lambda x: (x > 0).sum(-1), drawn(5, 300), True),
        (lambda x: (x > 0).sum(-1), drawn(3, 20000), True),  # a loop
        (lambda x: (x > 0).sum(0), drawn(700, 65), True),  # down columns
        (lambda x: (x > 0).sum(), drawn(900, 300), True),  # of parts
        (lambda x: ((x > 0).sum(0), x.sum(1)), drawn(64, 2048), True),
        (lambda x: x.softmax(-1) * (x > 0).sum(-1, True), drawn(9, 120), True),
        (torch.count_nonzero, drawn(3, 200), True),
        (lambda x: x.sum(-1), filled(-(2**15), 2, 2**16 - 1, dtype=torch.int16), True),
        (lambda x: x.sum(-1), filled(255, 2, 300, dtype=torch.uint8), True),
        (lambda x: x.sum(-1), filled(2**31 - 1, 2, 300, dtype=torch.int32), False),
        (lambda x: x.sum(-1), filled(2**40, 2, 300, dtype=torch.int64), False),
        (lambda x: (x > 0).cumsum(-1), drawn(2, 300), False),
        (lambda x: (x > 0).sum(-1, dtype=torch.int8), drawn(2, 300), False),
    ],
)  # fmt: skip
def test_counts_are_added_up_in_32_bits(
    function: Callable[..., object],
    make: Callable[[], torch.Tensor],
    narrow: bool,
    devices: Devices,
) -> None:
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(function, [make()], compiler) == []
    stores = [s for kernel in compiler.compiled[-1].kernels for s in kernel.source.plan.stores]
    sums = [v.dtype for v in reductions(stores) if v.kind is ReduceKind.SUM]
    assert (DType.I32 in sums) is narrow
    assert len(sums) < 2 or DType.I64 in sums or DType.F32 in sums


@pytest.mark.parametrize("looped", [True, False])
@pytest.mark.parametrize(
    ("given", "rows", "columns", "down", "along"),
    [
        ("b8", "64", 200, DType.I32, DType.I32),
        ("b8", "s0", 200, DType.I64, DType.I32),
        ("i16", "4096", 2**16 - 1, DType.I32, DType.I32),
        ("i16", "4096", 2**16, DType.I32, DType.I64),
    ],
)
def test_what_32_bits_hold_is_known_by_types_and_sizes(
    given: str, rows: str, columns: int, down: DType, along: DType, looped: bool
) -> None:
    graph = loads(
        f"""# harness graph 1
def counted(
    x: "{given}[{rows}, {columns}]",
):
    down: "i64[{columns}]" = aten.sum.dim_IntList(x, [0])
    along: "i64[{rows}]" = aten.sum.dim_IntList(x, [1])
    return (down, along)
"""
    )
    fixed = Decisions(loops=dict.fromkeys(("down", "along"), looped), chunks={})
    kernels = [k for r in compile_graph(graph, H100, fixed).regions for k in r.launches]
    found = {v.dtype for kernel in kernels for v in reductions(kernel.plan.stores)}
    assert found == {down, along}


@pytest.mark.parametrize(
    ("pieces", "dim", "side", "branches"),
    [(3, 1, 60, 2), (2, 1, 60, 1), (3, 2, 60, 0), (5, 1, 6, 4), (3, 1, 6, 0)],  # loops, blocks
)
def test_a_row_that_is_one_of_concatenated_ones_is_loaded_alone(
    pieces: int, dim: int, side: int, branches: int, interpreter: InterpreterPool
) -> None:
    """A norm of channels, which a program has one of; pixels are of several pieces at once."""
    shape, whole = [8, 3, side, side], [8, 3, side, side]
    whole[dim] *= pieces
    inputs = [f"x{n}" for n in range(pieces)]
    given = "".join(f'    {name}: "bf16{shape}",\n' for name in inputs)
    graph = loads(
        f"""# harness graph 1
def norm(
{given}):
    cat: "bf16{whole}" = aten.cat.default([{", ".join(inputs)}], {dim})
    wide: "f32{whole}" = aten._to_copy.default(cat, dtype=torch.float32)
    mean: "f32[1, {whole[1]}, 1, 1]" = aten.mean.dim(wide, [0, 2, 3], True)
    out: "f32{whole}" = aten.sub.Tensor(wide, mean)
    return (cat, out)
"""
    )
    kernel, *_ = compile_graph(graph, H100, Decisions(chunks={})).kernels  # in one step
    assert kernel.module.text.split("def grid")[0].count("else:\n") == branches
    assert interpreter.check(kernel.module.text).passed


@pytest.mark.parametrize(
    ("shape", "made", "branches"),
    [
        ("8, 3, 60, 60", "aten.cat.default([wide, y], 1)", 1),
        ("1, 3, 1, 1", "aten.cat.default([wide, y], 1)", 0),  # for all pixels one number
        (
            "8, 3, 60, 60",
            "aten.slice_scatter.default(z, wide, 1, 0, 3)",
            0,
        ),  # what lies beneath is no piece
    ],
)
def test_both_of_two_have_a_programs_whole_block(shape: str, made: str, branches: int) -> None:
    strides = "13872, 4624, 60, 1" if shape[0] == "8" else "0, 1, 0, 0"
    graph = loads(
        f"""# harness graph 1
def norm(
    x: "f32[{shape}]",
    y: "f32[8, 3, 60, 60]",
    z: "f32[8, 6, 60, 60]",
):
    wide: "f32[8, 3, 60, 60]{{{strides}}}" = aten.expand.default(x, [8, 3, 60, 60])
    both: "f32[8, 6, 60, 60]" = {made}
    mean: "f32[1, 6, 1, 1]" = aten.mean.dim(both, [0, 2, 3], True)
    out: "f32[8, 6, 60, 60]" = aten.sub.Tensor(both, mean)
    return (both, out)
"""
    )
    kernel, *_ = compile_graph(graph, H100, Decisions(chunks={})).kernels  # in one step
    assert kernel.module.text.split("def grid")[0].count("else:\n") == branches


@pytest.mark.parametrize(("slices", "branches"), [(8, 8), (3, 0)])
def test_a_strip_of_rows_that_is_in_one_slice_loads_that_alone(
    slices: int, branches: int, interpreter: InterpreterPool
) -> None:
    kernel, *_ = compile_graph(strips(slices), replace(H200, multiprocessors=4)).kernels
    assert kernel.source.plan.category is Category.MIXED
    loop = kernel.module.text.split("for xoffset")[1].split("def grid")[0]
    assert loop.count("        if tmp") == branches
    stages = {config.block(STAGES) for config in candidates(kernel.source.plan.facts, H200)}
    assert stages == {1} or not branches
    assert interpreter.check(kernel.module.text).passed
