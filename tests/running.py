"""Running what was compiled, or only cut, without preparing it more than once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch

from harness.codegen.source import EmittedModule
from harness.compiled import CompiledGraph
from harness.executor import Launches, RunGraph, prepare_graph
from harness.graph.model import Partition

NOT_LAUNCHED = Launches(lambda _: lambda *_: None)
"""Kernels that compute nothing."""


def run_graph(
    compiled: CompiledGraph,
    tensors: Sequence[torch.Tensor],
    launch: Callable[[EmittedModule, list[Any]], None],
    device: str,
) -> list[torch.Tensor | None]:
    """The graph's outputs from ``tensors`` (one per input), mutations applied."""
    return prepare_graph(compiled, launched(launch), device)(list(tensors))


def launched(launch: Callable[[EmittedModule, list[Any]], None]) -> Launches:
    """Kernels run by ``launch``."""
    return Launches(lambda module: lambda _stream, *args: launch(module, list(args)))


def prepare_partition(partition: Partition, device: str) -> RunGraph:
    """A partition as a function of its inputs, all of it by torch."""

    def no_kernels(module: EmittedModule) -> NoReturn:
        raise AssertionError(module.name)

    return prepare_graph(CompiledGraph(partition, (), (), (), ()), Launches(no_kernels), device)
