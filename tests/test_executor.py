"""Memory of a compiled graph: what takes over whose, and how long inputs are held."""

from __future__ import annotations

import weakref

import pytest
import sympy
import torch

from harness.compiled import CompiledGraph
from harness.dtypes import DType
from harness.errors import GraphError
from harness.executor import prepare_graph
from harness.executor.layouts import Layout
from harness.graph.text import load
from harness.ir.program import Buffer, Role
from harness.pipeline import compile_graph
from harness.target import H100
from tests.test_whole_graphs import GRAPHS


def layout(dtype: DType, shape: tuple[int, ...], stride: tuple[int, ...]) -> Layout:
    sizes = [tuple(map(sympy.Integer, numbers)) for numbers in (shape, stride)]
    return Layout.of(Buffer("b", dtype, *sizes, Role.TEMPORARY, "b"))


def test_memory_taken_over_is_the_same_tensor_only_if_it_looks_the_same() -> None:
    old = torch.arange(12.0)[4:].view(2, 4)
    assert layout(DType.F32, (2, 4), (4, 1)).over(old) is old
    turned = layout(DType.F32, (4, 2), (1, 4)).over(old)
    assert turned.tolist() == old.t().tolist()
    assert turned.data_ptr() == old.data_ptr()
    whole = layout(DType.I32, (8,), (1,)).over(old)
    assert whole.dtype is torch.int32
    assert whole.data_ptr() == old.data_ptr()
    whole.fill_(0)
    assert old.tolist() == [[0.0] * 4] * 2


def test_memory_that_is_too_small_is_refused() -> None:
    old = torch.zeros(8)
    with pytest.raises(GraphError, match="does not fit the memory"):
        layout(DType.F32, (3, 3), (3, 1)).over(old)
    with pytest.raises(GraphError, match="does not fit the memory"):
        layout(DType.I64, (8,), (1,)).over(old)


def small(name: str) -> CompiledGraph:
    return compile_graph(load(GRAPHS / "small" / f"{name}.py"), H100)


def test_an_input_is_freed_after_its_last_use() -> None:
    compiled = small("t5_block_forward")
    graph = compiled.partition.graph
    tensors = [
        torch.zeros([int(n) for n in i.type.shape], dtype=getattr(torch, i.type.dtype.torch_name))
        for i in graph.inputs
    ]
    held = [weakref.ref(t) for t in tensors]
    alive: list[int] = []
    run = prepare_graph(
        compiled, lambda _: lambda _args: alive.append(sum(r() is not None for r in held)), "cpu"
    )
    run(tensors)
    assert not tensors
    assert alive[-1] < alive[0]
