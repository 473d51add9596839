"""Running what was compiled, or only cut, without preparing it more than once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph
from harness.executor import RunGraph, prepare_graph
from harness.graph.model import Partition


def run_graph(
    compiled: CompiledGraph,
    tensors: Sequence[torch.Tensor],
    launch: Callable[[EmittedModule, list[Any]], None],
    device: str,
) -> list[torch.Tensor | None]:
    """The graph's outputs from ``tensors`` (one per input), mutations applied."""
    run = prepare_graph(compiled, lambda module: functools.partial(launch, module), device)
    return run(list(tensors))


def prepare_partition(partition: Partition, device: str) -> RunGraph:
    """A partition as a function of its inputs, all of it by torch."""

    def no_kernels(module: EmittedModule) -> NoReturn:
        raise AssertionError(module.name)

    return prepare_graph(CompiledGraph(partition, (), (), (), ()), no_kernels, device)
