"""Rows that several programs share: what they tell each other, run side by side."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from pathlib import Path

import pytest
import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph
from harness.decisions import Decisions
from harness.graph.model import Graph
from harness.graph.passes import split
from harness.pipeline import compile_graph
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.target import H200
from tests.codegen.graphs import SOFTMAX_OF_ROWS, STATISTICS_OF_ROWS
from tests.codegen.kernels import loads
from tests.codegen.test_exchange import NORMALISED
from tests.codegen.test_mixed import text as rows_and_columns
from tests.fork_server import FILE
from tests.running import run_graph

_SOFTMAX = (
    """# harness graph 1
def softmax(
    x: "{t}[{m}, {n}]",
):
"""
    + SOFTMAX_OF_ROWS
    + """    return (div,)
"""
)

_LAYER_NORM = (
    """# harness graph 1
def layer_norm(
    x: "{t}[{m}, {n}]",
):
"""
    + STATISTICS_OF_ROWS
    + """    add: "f32[{m}, 1]" = aten.add.Tensor(var, 1e-05)
    rsqrt: "f32[{m}, 1]" = aten.rsqrt.default(add)
    sub: "f32[{m}, {n}]" = aten.sub.Tensor(wide, mean)
    mul: "f32[{m}, {n}]" = aten.mul.Tensor(sub, rsqrt)
    return (mul,)
"""
)

_SEVERAL = """# harness graph 1
def several(
    x: "{t}[{m}, {n}]",
):
    amax: "{t}[{m}, 1]" = aten.amax.default(x, [-1], True)
    amin: "{t}[{m}, 1]" = aten.amin.default(x, [-1], True)
    gt: "b8[{m}, {n}]" = aten.gt.Scalar(x, 4.5)
    any_1: "b8[{m}, 1]" = aten.any.dim(gt, -1, True)
    sub: "{t}[{m}, {n}]" = aten.sub.Tensor(x, amin)
    mul: "{t}[{m}, {n}]" = aten.mul.Tensor(sub, amax)
    where: "{t}[{m}, {n}]" = aten.where.self(any_1, mul, x)
    total: "{t}[{m}, 1]" = aten.sum.dim_IntList(where, [-1], True)
    div: "{t}[{m}, {n}]" = aten.div.Tensor(where, total)
    return (div, amax)
"""

_COUNTED = """# harness graph 1
def counted(
    x: "{t}[{m}, {n}]",
):
    gt: "b8[{m}, {n}]" = aten.gt.Scalar(x, 0.5)
    total: "i64[{m}, 1]" = aten.sum.dim_IntList(gt, [-1], True)
    div: "{t}[{m}, {n}]" = aten.div.Tensor(x, total)
    return (div, total)
"""


def graph(text: str, rows: int, columns: int, dtype: str = "f32") -> Graph:
    return loads(text.format(m=rows, n=columns, t=dtype))


def in_one_step(made: Graph) -> CompiledGraph:
    """``made``, compiled as if its rows were not so few that sums of them are a launch alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split, "FEW_ROWS", 0)
        return compile_graph(made, H200, Decisions(chunks={}))


def shared(text: str, rows: int, columns: int, dtype: str = "f32") -> EmittedModule:
    """The one kernel of a graph whose reductions are not cut beforehand, of rows as if many."""
    made = in_one_step(graph(text, rows, columns, dtype))
    (kernel,) = made.kernels
    return kernel.module


def together(path: Path, config: dict[str, int], interpreting: list[str]) -> None:
    """Check a module whose programs run side by side."""
    told = subprocess.run(
        [
            *interpreting,
            FILE,
            str(Path(__file__).with_name("together.py")),
            str(path),
            json.dumps({**config, "num_warps": 4, "num_stages": 1}),
        ],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert told.returncode == 0, told.stdout + told.stderr[-2000:]


@pytest.mark.parametrize("text", [_SOFTMAX, _LAYER_NORM, _SEVERAL, _COUNTED])
def test_programs_of_a_row_find_what_one_would(
    text: str, tmp_path: Path, interpreting: list[str]
) -> None:
    # Five rows over two groups of programs, of which the last have nothing left of a row.
    path = tmp_path / "module.py"
    path.write_text(shared(text, 5, 40008).text)
    config = {"XBLOCK": 1, "R0_BLOCK": 2048, "RSPLIT": 8, "PROGRAMS": 16}
    together(path, config, interpreting)


@pytest.mark.parametrize("normalised", [True, False])
def test_programs_that_hold_parts_of_rows_find_what_one_would(
    normalised: bool, tmp_path: Path, interpreting: list[str]
) -> None:
    # Four strips of four or eight rows, of five programs each, the last of which has one column.
    target = dataclasses.replace(H200, multiprocessors=12)
    source = rows_and_columns("layer", ("weight",), (16, 16385))
    if normalised:  # which look at sums when they know the next row's number
        source = NORMALISED.format(m=32, n=16385)
    module, _ = (k.module for k in compile_graph(loads(source), target).kernels)
    assert module.category == "mix"
    path = tmp_path / "module.py"
    path.write_text(module.text)
    config = {"XBLOCK": 1, "YBLOCK": 1, "R0_BLOCK": 4096, "RSPLIT": 5, "STAGES": 3}
    together(path, config, interpreting)


def test_a_module_alone_gives_every_row_one_program_in_the_interpreter(
    tmp_path: Path, interpreting: list[str]
) -> None:
    path = tmp_path / "module.py"
    path.write_text(shared(_SOFTMAX, 2, 40008).text)
    told = subprocess.run(
        [*interpreting, FILE, str(path), "--check"],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert told.returncode == 0, told.stdout + told.stderr[-2000:]


def test_what_programs_could_not_tell_each_other_is_not_shared() -> None:
    module = shared(_SOFTMAX, 300, 70000)
    assert module.facts is not None
    assert dict(module.signature)["workspace"] == "*i64"
    short = shared(_SOFTMAX, 300, 20000)  # what is read again stays in the cache
    place = """# harness graph 1
def place(
    x: "f32[300, 70000]",
):
    argmax: "i64[300, 1]" = aten.argmax.default(x, -1, True)
    wide: "f32[300, 1]" = aten._to_copy.default(argmax, dtype=torch.float32)
    sub: "f32[300, 70000]" = aten.sub.Tensor(x, wide)
    return (sub,)
"""
    for other in (short, shared(place, 300, 70000)):
        assert "workspace" not in dict(other.signature)


def test_host_functions_bring_a_workspace(interpreter: InterpreterPool) -> None:
    made = in_one_step(graph(_SOFTMAX, 2, 40008))
    x = torch.randn(2, 40008)
    found = run_graph(made, [x], lambda m, args: interpreter.launch(m.text, args), "cpu")
    torch.testing.assert_close(found[0], torch.softmax(x, -1))
