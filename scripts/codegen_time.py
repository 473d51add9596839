"""Time from graph to kernel source: ours against Inductor's, same graphs, same machine.

    python scripts/codegen_time.py [--target sm_90] [--repeat 3] [--json FILE] [GRAPH …]

Each region of each graph (what lies between library calls) goes through both. Ours is
split, lower, schedule, plan, render and emit. Inductor's is from its own graph, after
AOTAutograd, decompositions and graph passes, to the finished wrapper text, which leaves
out work of its that ours has no need of; ``total`` has it in. Triton compiles nothing in
either, and the fastest of the repeats counts for both. Works without a GPU: Inductor then
sees a device that is described but not there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
import time
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from harness.errors import HarnessError  # noqa: E402
from harness.graph.model import Graph, Input  # noqa: E402
from harness.graph.partition.regions import partition  # noqa: E402
from harness.graph.replay import torch_dtype  # noqa: E402
from harness.graph.text import load  # noqa: E402
from harness.measure.peers.providers import graph_module  # noqa: E402
from harness.measure.peers.worker import without_mutations  # noqa: E402
from harness.pipeline import compile_graph  # noqa: E402
from harness.target import TARGETS, Target  # noqa: E402


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


@dataclass
class Row:
    """Seconds of code generation of one graph's regions."""

    graph: str
    regions: int
    ours: float
    inductor: float
    total: float
    skipped: int = 0


def time_graph(graph: Graph, target: Target, repeat: int) -> Row:
    """All regions of ``graph``, each the fastest of ``repeat``."""
    row = Row(graph.name, 0, 0.0, 0.0, 0.0)
    for region in partition(graph).regions:
        try:
            theirs = [inductor_codegen(region.graph, target) for _ in range(repeat)]
        except Exception as error:  # noqa: BLE001 - a region one side cannot do counts for neither
            row.skipped += 1
            print(f"  {region.name}: left out: {type(error).__name__}: {error}"[:200], flush=True)
            continue
        if compile_graph(region.graph, target).failures:
            row.skipped += 1
            print(f"  {region.name}: left out: ours does not compile it", flush=True)
            continue
        row.regions += 1
        row.ours += min(time_ours(region.graph, target) for _ in range(repeat))
        row.inductor += min(t.seconds for t in theirs)
        row.total += min(t.total_seconds for t in theirs)
    return row


def time_ours(graph: Graph, target: Target) -> float:
    """Seconds from a region's graph to emitted modules."""
    began = time.perf_counter()
    compile_graph(graph, target)
    return time.perf_counter() - began


def show(rows: list[Row]) -> None:
    """A table, sums and the ratio last."""
    print(
        f"{'graph':32} {'regions':>7} {'ours s':>8} {'inductor s':>10} {'total s':>8} {'ratio':>6}"
    )
    for row in rows:
        ratio = row.ours / row.inductor if row.inductor else math.nan
        print(
            f"{row.graph[:32]:32} {row.regions:7} {row.ours:8.3f} {row.inductor:10.3f} "
            f"{row.total:8.3f} {ratio:6.2f}"
        )
    ours, theirs = sum(r.ours for r in rows), sum(r.inductor for r in rows)
    if theirs:
        print(
            f"ours {ours:.2f} s, Inductor {theirs:.2f} s, ratio {ours / theirs:.3f} (want <= 0.5)"
        )


def main() -> int:
    """Run; 1 if the ratio is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", nargs="*", type=Path, help="graph files (default: the suite)")
    parser.add_argument("--target", default="sm_90", choices=sorted(TARGETS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    files = given.graphs or sorted((ROOT / "suites" / "graphs").glob("*.py"))
    rows: list[Row] = []
    if files:
        # What is imported and built once per process is not what is compared.
        time_graph(load(files[0]), TARGETS[given.target], 1)
    for file in files:
        try:
            rows.append(time_graph(load(file), TARGETS[given.target], given.repeat))
        except HarnessError as error:
            print(f"{file.name}: {error}", flush=True)
    show(rows)
    if given.json:
        given.json.write_text(json.dumps([vars(row) for row in rows], indent=1))
    return 0 if sum(r.ours for r in rows) <= 0.5 * sum(r.inductor for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
