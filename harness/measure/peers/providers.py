"""What computes a region: eager torch, Inductor, or a backend of ``torch.compile``. A region is
compared as a whole, and so is a user's kernel with its reference. The only file that may run
Inductor, which it does through ``torch._inductor.compile`` and ``torch.compile``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import torch

from harness.graph.model import Graph
from harness.graph.replay import bound, replay, stand_in
from harness.measure.peers.jobs import EAGER, INDUCTOR, TUNED
from harness.runtime.compile.disassembly import resources

Provider: TypeAlias = "Callable[[Sequence[torch.Tensor]], Sequence[torch.Tensor | None]]"
"""Computes a region's outputs from its inputs and applies its mutations to them."""

Make: TypeAlias = "Callable[[Sequence[Any]], Provider]"
"""Makes a provider from example inputs, compiling what it has to."""

TUNED_OPTIONS = {"max_autotune_pointwise": True, "coordinate_descent_tuning": True}
"""What ``inductor-tuned`` adds to Inductor's defaults."""


def maker(name: str, graph: Graph, device: torch.device) -> Make:
    """What makes the provider called ``name`` (see ``jobs.parse``) for ``graph``."""
    if name == EAGER:
        return lambda _: lambda tensors: replay(graph, tensors, device)
    if name in (INDUCTOR, TUNED):
        return lambda _: inductor(graph, device, name == TUNED)
    return lambda _: backend(name, graph, device)


def function_maker(name: str, function: Callable[..., Any]) -> Make:
    """As ``maker``, for a function of tensors and numbers that returns a tensor or several."""
    compiled = function
    if name != EAGER:
        options: Any = TUNED_OPTIONS if name == TUNED else None
        called = INDUCTOR if name == TUNED else name
        compiled = torch.compile(function, backend=called, options=options, dynamic=False)
    return lambda _: lambda args: listed(compiled(*args))


def listed(result: Any) -> list[torch.Tensor | None]:
    """A function's result as a list of tensors."""
    return list(result) if isinstance(result, tuple | list) else [result]


def graph_module(graph: Graph, device: torch.device) -> torch.fx.GraphModule:
    """``graph`` as torch's own graph of calls; mutations are ``copy_`` at the end."""
    made = torch.fx.Graph()
    values: dict[str, Any] = {i.name: made.placeholder(i.name) for i in graph.inputs}
    for node in graph.nodes:
        values[node.name] = made.call_function(*bound(node, values, device))
    for mutation in graph.mutations:
        copy = torch.ops.aten.copy_.default
        made.call_function(copy, (values[mutation.input], values[mutation.value]))
    made.output(tuple(None if n is None else values[n] for n in graph.outputs))
    return torch.fx.GraphModule(torch.nn.Module(), made)


def inductor(graph: Graph, device: torch.device, tuned: bool = False) -> Provider:
    """Inductor with its default options, or ``tuned``. It is given what the graph says of its
    inputs and not inputs, of which there may be gigabytes; compiling runs no kernel of the graph.
    So what another process compiles ahead is found in Inductor's cache."""
    from torch._inductor import compile as compile_graph
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    module = graph_module(graph, device)
    # Without an environment for shapes Inductor keeps nothing of what it compiles in its cache.
    with FakeTensorMode(shape_env=ShapeEnv()):
        given: list[Any] = [stand_in(item.type, device) for item in graph.inputs]
    compiled = compile_graph(module, given, options=TUNED_OPTIONS if tuned else None)
    return lambda tensors: listed(compiled(*tensors))


@contextlib.contextmanager
def unloaded() -> Iterator[None]:
    """Inductor compiles meanwhile and launches nothing (at a process's first graph it copies 7 kB).
    The first launch loads what it needs; constants are folded on the host; a reduction's registers,
    by which Inductor adds a configuration, are read from its binary."""
    from torch._inductor.fx_passes.joint_graph import UniformValueConstantFolder as Folder
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    def on_host(folder: Any, node: Any, fold: Any = Folder._deduce_value) -> Any:
        given = node.kwargs
        node.kwargs = {**given, "device": torch.device("cpu")} if "device" in given else given
        try:
            return fold(folder, node)
        finally:
            node.kwargs = given

    loading = patch.object(CachingAutotuner, "_make_launchers", _read_registers)
    with patch.object(Folder, "_deduce_value", on_host), loading:
        yield


def _read_registers(tuner: Any) -> None:
    for kernel in (found.kernel for found in tuner.compile_results):
        if tuner.heuristic_type.name == "REDUCTION" and hasattr(kernel, "cubin_path"):
            kernel.n_regs, _ = resources(Path(kernel.cubin_path).read_bytes(), kernel.name)


def backend(name: str, graph: Graph, device: torch.device) -> Provider:
    """The backend of ``torch.compile`` called ``name``; the first call compiles."""
    module = graph_module(graph, device)
    compiled: Any = torch.compile(module, backend=name, fullgraph=True, dynamic=False)
    return lambda tensors: listed(compiled(*tensors))
