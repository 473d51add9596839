"""How long Inductor takes from a graph to the text of its kernels."""

from __future__ import annotations

import contextlib
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch

from harness.errors import HarnessError
from harness.graph.model import Graph, Input
from harness.graph.replay import torch_dtype
from harness.measure.peers.comparing import without_mutations
from harness.measure.peers.providers import graph_module
from harness.target import Target


@dataclass(frozen=True, slots=True)
class InductorCodegen:
    """Inductor's code generation of one graph. ``seconds`` is from its own graph (after
    AOTAutograd, decompositions and graph passes) to the finished text; ``total_seconds``
    also has what comes before. Triton compiles nothing in either."""

    seconds: float
    total_seconds: float


class _Finished(BaseException):
    """Raised when the text is there, to keep Inductor from loading it (which would compile
    kernels). Not an ``Exception``, so that nothing on the way wraps it."""


def inductor_codegen(graph: Graph, target: Target) -> InductorCodegen:
    """Time Inductor from ``graph`` to the text of its kernels, for a GPU that need not exist.

    Without a device, tensors are fake and the device's properties are ``target``'s; the
    attention patterns and constant folding, which make real tensors, are then left out (in
    Inductor's favour), and what is written to inputs becomes an output (as many stores).
    Raises ``HarnessError`` if the text was never finished.
    """
    from torch._inductor import compile as compile_graph
    from torch._inductor import config
    from torch._inductor.graph import GraphLowering
    from torch._subclasses import FakeTensorMode

    stamps: dict[str, float] = {}
    begin = GraphLowering.run

    def run(self: Any, *args: Any) -> Any:
        stamps.setdefault("begin", time.perf_counter())
        return begin(self, *args)

    def finish(self: Any) -> Any:
        self.codegen()
        stamps["end"] = time.perf_counter()
        raise _Finished

    device = torch.device("cuda", 0)
    with contextlib.ExitStack() as stack:
        if not torch.cuda.is_available():
            _pretend(stack, target)
            # Folding makes real tensors; leaving it out is in Inductor's favour too.
            stack.enter_context(config.patch(joint_graph_constant_folding=False))
            graph = without_mutations(graph)
        stack.enter_context(mock.patch.object(GraphLowering, "run", run))
        stack.enter_context(mock.patch.object(GraphLowering, "compile_to_module", finish))
        # Workers that compile in advance would take the cores from what is timed.
        stack.enter_context(config.patch(compile_threads=1, fx_graph_cache=False))
        with FakeTensorMode():
            example = [_fake(i, device) for i in graph.inputs]
        module = graph_module(graph, device)
        began = time.perf_counter()
        with contextlib.suppress(_Finished):
            compile_graph(module, [*example])
    if "end" not in stamps:
        raise HarnessError("Inductor finished without generating code", where=graph.name)
    return InductorCodegen(stamps["end"] - stamps["begin"], stamps["end"] - began)


def _fake(item: Input, device: torch.device) -> torch.Tensor:
    shape, stride = ([int(n) for n in sizes] for sizes in (item.type.shape, item.type.stride))
    return torch.empty_strided(shape, stride, dtype=torch_dtype(item.type.dtype), device=device)


def _pretend(stack: contextlib.ExitStack, target: Target) -> None:
    """Have torch believe in one device like ``target`` while the stack is open."""
    import torch.utils._triton as triton_facts
    from torch._dynamo.device_interface import CudaInterface
    from torch._inductor.fx_passes import joint_graph, post_grad

    major, minor = divmod(target.capability, 10)
    properties = types.SimpleNamespace(
        name=target.name,
        major=major,
        minor=minor,
        multi_processor_count=target.multiprocessors,
        total_memory=80 << 30,
        regs_per_multiprocessor=target.registers_per_multiprocessor,
        max_threads_per_multi_processor=target.threads_per_multiprocessor,
        max_threads_per_block=1024,
        warp_size=target.warp_size,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=target.shared_per_block,
        L2_cache_size=target.l2_bytes,
        gcnArchName="",
    )
    state = torch.zeros(16, dtype=torch.uint8)
    answers: tuple[tuple[Any, str, Any], ...] = (
        (torch.cuda, "is_available", True),
        (torch.cuda, "is_initialized", False),
        (torch.cuda, "device_count", 1),
        (torch.cuda, "current_device", 0),
        (torch.cuda, "get_device_properties", properties),
        (torch.cuda, "get_device_capability", (major, minor)),
        (torch.cuda, "get_rng_state", state),
        (torch.cuda, "set_rng_state", None),
        (torch.cuda, "synchronize", None),
        (torch.cuda, "_exchange_device", 0),
        (torch.cuda, "_maybe_exchange_device", 0),
        (CudaInterface, "get_device_properties", properties),
        (triton_facts, "triton_hash_with_backend", "none"),
        (joint_graph, "lazy_init", None),
        (post_grad, "lazy_init", None),
    )
    for owner, name, answer in answers:
        stack.enter_context(mock.patch.object(owner, name, _always(answer)))
    # Whoever asked before was told that there is no device, and that answer is kept.
    triton_facts.has_triton.cache_clear()
    stack.callback(triton_facts.has_triton.cache_clear)


def _always(answer: Any) -> Callable[..., Any]:
    return lambda *_args, **_kwargs: answer
