"""How AOTAutograd calls a compiled graph, and what its first call may find out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from harness.errors import GraphError, HarnessError
from harness.graph.capture import tangents
from harness.graph.capture.fx import Conversion
from harness.graph.replay import check_inputs
from harness.runtime.launch.host import on_device

Run = Callable[..., Any]
_CHECKED = ("aten.", "getitem", "harness.", "prims.")
"""Operators whose results have the sizes that tracing found."""


def boxed(
    converted: Conversion,
    run_graph: Run,
    device: torch.device,
    rescue: Callable[[HarnessError], Run],
    shared: Sequence[tuple[int, int]],
    launched: Callable[[], None],
) -> Run:
    """A function of a list of arguments, which it empties, as AOTAutograd calls it; ``launched`` is
    called once it has run. Of inputs that are ``shared`` memory it takes so much (``bases``).

    A user's operator may give other sizes than it said. What ``rescue`` gives runs such a graph, or
    one after it, from the first call on, which holds its inputs to the end for that only if it
    calls such operators; and not if it changes its inputs, which may have happened in part."""
    positions, numbers = converted.positions, tuple(converted.sizes.values())
    constants: list[torch.Tensor] = []
    everything = len(converted.constants)
    theirs = not all(node.op.startswith(_CHECKED) for node in converted.graph.nodes)
    check = functools.partial(check_inputs, converted.graph, unknown=tuple(converted.sizes))
    runs: list[Run] = []

    def first(args: list[Any]) -> list[Any]:
        kept, tensors = list(args), taken(args)
        try:
            check(tensors)
            if converted.graph.mutations or not theirs:
                kept.clear()
            outputs = run_graph(tensors)
        except GraphError as error:
            if not kept:
                raise
            runs.append(rescue(error))
            return run(kept)
        runs.append(lambda args: run_graph(taken(args)))
        launched()
        return outputs

    def run(args: list[Any]) -> list[Any]:
        return runs[0](args) if runs else first(args)

    def taken(args: list[Any]) -> list[Any]:
        if len(constants) < everything:
            constants[:] = [constant.to(device) for constant in converted.constants]
        tensors = [args[position] for position in positions]
        tensors.extend(constants)
        tensors.extend([args[position] for position in numbers])
        args.clear()
        for number, length in shared:
            tensors[number] = tensors[number][:length]
        return tensors

    return tangents.boxed(on_device(run, device))
