"""``torch.compile`` through AOTAutograd: what a backend is made of.

``aot_backend(compile_fn)`` is a function that ``torch.compile(backend=…)`` takes. For
every forward, backward and inference graph, ``compile_fn`` is given the converted
graph and returns what runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import fx

from harness.graph.aot import compile_joint, normalise
from harness.graph.fx import Conversion, convert

RunGraph: TypeAlias = "Callable[[list[torch.Tensor]], Sequence[torch.Tensor | None]]"
"""Runs a graph on one tensor per graph input and gives one result per graph output;
writes the graph's mutations into the inputs."""

CompileGraph: TypeAlias = "Callable[[Conversion], RunGraph]"

Backend: TypeAlias = "Callable[[fx.GraphModule, Sequence[Any]], Callable[..., Any]]"


def aot_backend(compile_fn: CompileGraph, name: str = "compiled") -> Backend:
    """A ``torch.compile`` backend for inference and training.

    Graphs are called ``<name>_inference``, ``<name>_forward``, ``<name>_backward``. Sizes
    are specialised: other sizes compile again. Errors of ``compile_fn`` reach the caller
    of the compiled function.
    """

    def compiler(part: str) -> Callable[[fx.GraphModule, Sequence[Any]], Callable[..., Any]]:
        def compile_one(gm: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
            if part == "inference":
                normalise(gm)
            conversion = convert(gm, inputs, f"{name}_{part}")
            return _boxed(conversion, compile_fn(conversion))

        return compile_one

    def backend(gm: fx.GraphModule, inputs: Sequence[Any], **_options: Any) -> Callable[..., Any]:
        for value in inputs:
            _specialise(value)
        return compile_joint(
            gm, inputs, compiler("forward"), compiler("backward"), compiler("inference")
        )

    return backend


def _specialise(value: Any) -> None:
    """Pin every size of an input to the number at hand, which adds a guard for it."""
    if isinstance(value, torch.SymInt):
        int(value)
    elif isinstance(value, torch.Tensor):
        for size in (*value.shape, *value.stride()):
            int(size)


def _boxed(conversion: Conversion, run_graph: RunGraph) -> Callable[..., Any]:
    """Adapt argument and result positions, and let the caller's list be emptied early."""
    outputs, literals = conversion.graph.outputs, conversion.literals

    def run(args: list[Any]) -> list[Any]:
        tensors = [args[k] for k in conversion.positions]
        args.clear()
        results = run_graph([*tensors, *conversion.constants])
        return [
            literal if name is None else result
            for name, literal, result in zip(outputs, literals, results, strict=True)
        ]

    run._boxed_call = True  # type: ignore[attr-defined]
    return run
