"""Other compilers on the same work: torch's Inductor, and torch without a compiler.

The only file that may run Inductor, and it does so through ``torch._inductor.compile``.
A region is compared as a whole: same inputs, same process, same timer, every provider
replayed as a CUDA graph (so that what the host costs decides nothing), in turns, with a
cold L2 cache. Results are compared with torch in float64.
"""

from __future__ import annotations

import contextlib
import math
import time
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from unittest import mock

import sympy
import torch

from harness.bench.engine import graph_of
from harness.dtypes import DType
from harness.errors import HarnessError
from harness.graph.calltext import call_kwargs, is_factory
from harness.graph.model import Arg, Graph, Input, Node, Ref, Token
from harness.graph.replay import operator_function, random_inputs, replay, size_value, torch_dtype
from harness.runtime.static import reason
from harness.runtime.timing import Launch, Samples, Timer
from harness.target import Target

Provider: TypeAlias = "Callable[[Sequence[torch.Tensor]], Sequence[torch.Tensor | None]]"
"""Computes a region's outputs from its inputs and applies its mutations to them."""

_TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 1e-5,
    torch.float16: 2e-3,
    torch.bfloat16: 1.6e-2,
    torch.float8_e4m3fn: 0.13,
    torch.float8_e5m2: 0.26,
}
"""Allowed ‖out − ref‖ / ‖ref‖ by output type: a few roundings of that type."""


def graph_module(graph: Graph, device: torch.device) -> torch.fx.GraphModule:
    """``graph`` as torch's own graph of calls; mutations are ``copy_`` at the end."""
    made = torch.fx.Graph()
    values: dict[str, Any] = {i.name: made.placeholder(i.name) for i in graph.inputs}
    for node in graph.nodes:
        values[node.name] = _call(made, node, values, device)
    for mutation in graph.mutations:
        copy = torch.ops.aten.copy_.default
        made.call_function(copy, (values[mutation.input], values[mutation.value]))
    made.output(tuple(None if n is None else values[n] for n in graph.outputs))
    return torch.fx.GraphModule(torch.nn.Module(), made)


def _call(made: torch.fx.Graph, node: Node, values: Mapping[str, Any], device: torch.device) -> Any:
    def convert(arg: Arg) -> Any:
        match arg:
            case Ref(name=name):
                return values[name]
            case Token(name=name):
                return getattr(torch, name)
            case DType():
                return torch_dtype(arg)
            case sympy.Expr():
                return size_value(arg, node)
            case tuple():
                return [convert(item) for item in arg]
            case _:
                return arg

    kwargs = {key: convert(value) for key, value in call_kwargs(node)}
    if is_factory(node):
        kwargs["device"] = device
    args = tuple(convert(arg) for arg in node.args)
    return made.call_function(operator_function(node.op), args, kwargs)


def eager(graph: Graph, device: torch.device) -> Provider:
    """torch, one operator after the other."""
    return lambda tensors: replay(graph, tensors, device)


def inductor(graph: Graph, example: Sequence[torch.Tensor]) -> Provider:
    """Inductor with its default options. ``example`` fixes sizes, strides and device."""
    from torch._inductor import compile as compile_graph

    device = example[0].device if example else torch.device("cuda")
    compiled = compile_graph(graph_module(graph, device), list(example))

    def run(tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor | None]:
        outputs: Any = compiled(*tensors)
        return list(outputs)

    return run


@dataclass(frozen=True, slots=True)
class Peer:
    """One provider on one region: its samples and its error, or why there are none."""

    samples: Samples | None = None
    error: float | None = None
    reason: str = ""

    @property
    def ms(self) -> float | None:
        """Median in milliseconds."""
        return None if self.samples is None else self.samples.median


@dataclass(frozen=True, slots=True)
class RegionComparison:
    """A region by provider (``ours``, ``inductor``, ``eager``). ``passed`` says whether ours is
    right: as close to float64 as its types allow, or at most twice as far as Inductor."""

    region: str
    peers: dict[str, Peer] = field(default_factory=dict)
    allowed: float | None = None
    passed: bool = False

    def speedup(self, over: str) -> float | None:
        """Time of ``over`` divided by ours."""
        ours, other = (self.peers.get(n, Peer()).ms for n in ("ours", over))
        return other / ours if ours and other else None


def compare(
    graph: Graph,
    providers: Mapping[str, Callable[[Sequence[torch.Tensor]], Provider]],
    timer: Timer,
    device: torch.device,
    budget_ms: float = 300.0,
    seed: int = 0,
    record: Callable[[Launch], Launch] = graph_of,
) -> RegionComparison:
    """Run every provider on the same random inputs, compare results, then time in turns.

    ``providers`` make a provider from example inputs, ``ours`` among them. A provider that
    fails is a row with its reason. ``record`` turns a launch into one that costs the host
    little.
    """
    inputs = random_inputs(graph, device, seed)
    failed: dict[str, Peer] = {}
    ready: dict[str, Provider] = {}
    for name, make in providers.items():
        try:
            ready[name] = make(inputs)
        except Exception as error:  # noqa: BLE001 - one provider's failure is its row
            failed[name] = Peer(reason=_why(error))
    errors, allowed = _errors(graph, ready, inputs, device, failed)
    launches = _recorded(ready, inputs, record, failed)
    samples = timer.compare(launches, budget_ms * max(1, len(launches))) if launches else {}
    peers = {
        name: failed.get(name) or Peer(samples.get(name), errors.get(name)) for name in providers
    }
    return RegionComparison(graph.name, peers, allowed, _passed(errors, allowed))


def _passed(errors: Mapping[str, float], allowed: float) -> bool:
    if "ours" not in errors:
        return False
    return errors["ours"] <= max(allowed, 2 * errors.get("inductor", 0.0))


def _errors(
    graph: Graph,
    ready: dict[str, Provider],
    inputs: Sequence[torch.Tensor],
    device: torch.device,
    failed: dict[str, Peer],
) -> tuple[dict[str, float], float]:
    """Each provider's largest error over outputs and mutated inputs, and what is allowed."""
    want = _wide_results(graph, inputs, device)
    errors: dict[str, float] = {}
    allowed = 0.0
    for name, provider in list(ready.items()):
        try:
            got = _results(graph, provider, inputs)
        except Exception as error:  # noqa: BLE001 - one provider's failure is its row
            failed[name] = Peer(reason=_why(error))
            del ready[name]
            continue
        allowed = max([allowed, *(_TOLERANCE.get(g.dtype, 0.0) for g in got)])
        errors[name] = max((distance(g, w) for g, w in zip(got, want, strict=True)), default=0.0)
    return errors, allowed


def _results(
    graph: Graph, provider: Provider, inputs: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """Outputs, then the new contents of mutated inputs, from copies of ``inputs``."""
    copies = [_copy(t) for t in inputs]
    outputs = [t for t in provider(copies) if t is not None]
    positions = {i.name: n for n, i in enumerate(graph.inputs)}
    return outputs + [copies[positions[m.input]] for m in graph.mutations]


def _wide_results(
    graph: Graph, inputs: Sequence[torch.Tensor], device: torch.device
) -> list[torch.Tensor]:
    """The same in float64. A wide replay changes none of its inputs, so what mutated ones
    will hold is asked for as outputs."""
    asked = _without_mutations(graph)
    return [t for t in replay(asked, inputs, device, wide=True) if t is not None]


def _without_mutations(graph: Graph) -> Graph:
    """``graph`` with what mutated inputs will hold as further outputs."""
    outputs = (*(n for n in graph.outputs if n is not None), *(m.value for m in graph.mutations))
    return replace(graph, outputs=outputs, mutations=())


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in the same layout."""
    made = torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    return made.copy_(tensor)


def distance(got: torch.Tensor, want: torch.Tensor) -> float:
    """‖got − want‖ / ‖want‖; for integers the share of elements that differ. Infinite where
    one has a NaN or an infinity and the other has not."""
    if not got.is_floating_point():
        return float((got.double() != want.double()).double().mean()) if got.numel() else 0.0
    a, b = got.double(), want.double()
    odd = ~torch.isfinite(b)
    # An overflow in the output's own type is not an error of the kernel.
    limit = torch.finfo(got.dtype).max
    odd |= b.abs() > limit
    if bool((~torch.isfinite(a) & ~odd).any()):
        return math.inf
    a, b = a.masked_fill(odd, 0.0), b.masked_fill(odd, 0.0)
    scale = float(torch.linalg.vector_norm(b))
    difference = float(torch.linalg.vector_norm(a - b))
    return difference / scale if scale else difference


def _recorded(
    ready: Mapping[str, Provider],
    inputs: Sequence[torch.Tensor],
    record: Callable[[Launch], Launch],
    failed: dict[str, Peer],
) -> dict[str, Launch]:
    """Each provider on its own copy of the inputs, as a launch."""
    launches: dict[str, Launch] = {}
    for name, provider in ready.items():
        copies = [_copy(t) for t in inputs]
        try:
            launches[name] = record(_launch(provider, copies))
        except Exception as error:  # noqa: BLE001 - one provider's failure is its row
            failed[name] = Peer(reason=_why(error))
    return launches


def _launch(provider: Provider, tensors: Sequence[torch.Tensor]) -> Launch:
    def launch() -> None:
        provider(tensors)

    return launch


def _why(error: Exception) -> str:
    return str(error).splitlines()[0] if isinstance(error, HarnessError) else reason(error)


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
            graph = _without_mutations(graph)
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


def _always(answer: Any) -> Callable[..., Any]:
    return lambda *_args, **_kwargs: answer
