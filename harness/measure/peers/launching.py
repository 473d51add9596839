"""Inductor's launcher, to be timed against ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from harness.errors import HarnessError
from harness.runtime.launch.host import raw_stream


def sum_launches(tensors: Sequence[torch.Tensor]) -> dict[str, Callable[[], object]]:
    """Inductor's kernel that adds up ``tensors`` (equal sizes, on CUDA), launched in two ways:
    ``run`` as its generated code does it, ``launcher`` what that calls in the end.

    Raises ``HarnessError`` if this Inductor compiles it to something else than one kernel.
    """
    from torch._inductor import compile as compile_graph
    from torch._inductor.codecache import PyCodeCache
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    graph = torch.fx.Graph()
    inputs = [graph.placeholder(f"x{n}") for n in range(len(tensors))]
    total = inputs[0]
    for one in inputs[1:]:
        total = graph.call_function(torch.ops.aten.add.Tensor, (total, one))
    graph.output((total,))
    known = {id(module) for module in PyCodeCache.modules}
    compiled = compile_graph(torch.fx.GraphModule(torch.nn.Module(), graph), list(tensors))
    outputs: Any = compiled(*tensors)
    made = [m for m in PyCodeCache.modules if id(m) not in known]
    found = {id(v): v for m in made for v in vars(m).values() if isinstance(v, CachingAutotuner)}
    if len(found) != 1:
        raise HarnessError("Inductor's kernel was not found", got=f"{len(found)} kernels")
    (kernel,) = found.values()
    size = tensors[0].numel()
    kinds = [k for k in kernel.triton_meta["signature"].values() if k != "constexpr"]
    given = iter([*tensors, *outputs])
    args = [next(given) if kind.startswith("*") else size for kind in kinds]
    stream = raw_stream()(tensors[0].device.index)
    run: Callable[..., object] = kernel.run
    run(*args, stream=stream)
    (launcher,) = kernel.launchers[:1]
    return {
        "run": lambda: run(*args, stream=stream),
        "launcher": lambda: launcher(*args, stream=stream),
    }
