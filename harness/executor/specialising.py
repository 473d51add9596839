"""Calls of compiled graphs, and sizes that only they tell: where not every size can be compiled at
once, and where an operator gives others than it said."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.errors import GraphError, HarnessError
from harness.graph.capture import tangents
from harness.graph.capture.fx import Conversion
from harness.graph.model import FAMILIAR, Graph, tensors_of
from harness.graph.replay import check_inputs
from harness.graph.views import inputs_shared
from harness.runtime.launch.host import on_device

Run = Callable[..., Any]


class NotForEverySize(Exception):
    """A graph of unknown sizes, of which not all could be generated."""


@dataclass(eq=False, slots=True)
class Specialising:
    """A graph of unknown sizes: one compilation per combination of sizes that occurs."""

    compile_for: Callable[[list[Any]], Callable[..., Any]]
    variants: dict[tuple[object, ...], Callable[..., Any]] = field(default_factory=dict)

    def __call__(self, *args: Any) -> Any:
        """Run the compilation for the sizes of ``args``, made when they are met first."""
        key = (torch.is_grad_enabled(), *(_size_key(arg) for arg in args))
        variant = self.variants.get(key)
        if variant is None:
            variant = self.variants[key] = self.compile_for(list(args))
        return variant(*args)


def bases(graph: Graph) -> list[tuple[int, int]]:
    """Inputs that stand for memory that several of the caller's tensors share, and how much of it
    was seen while tracing: AOTAutograd hands in all there is."""
    found = inputs_shared(graph)
    if not all(numel.is_Integer for _, numel in found):
        raise NotForEverySize("inputs of unknown sizes share memory")
    return [(number, int(numel)) for number, numel in found]


def require_sizes(graph: Graph) -> None:
    """Raise ``NotForEverySize`` if a number that may be negative has part in a layout: what
    is known of sizes is not known of it."""
    for kind in tensors_of(*graph.types().values()):
        symbols = (s for n in (*kind.shape, *kind.stride) for s in n.free_symbols)
        odd = sorted(str(s) for s in symbols if not s.is_positive)
        if odd:
            raise NotForEverySize(f"{odd[0]}, which may be any number, is part of a size")


def is_dynamic(value: Any) -> bool:
    """Whether a call tells a size of ``value``; what only data tells (``u0``) it does not."""
    if isinstance(value, torch.Tensor):
        return any(map(is_dynamic, (*value.shape, *value.stride())))
    if not isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return False
    return any(not str(symbol).startswith(("u", "zuf")) for symbol in value.node.expr.free_symbols)


def _size_key(arg: Any) -> object:
    if isinstance(arg, torch.Tensor):
        return (arg.dtype, arg.device, tuple(arg.shape), arg.stride(), arg.requires_grad)
    return (type(arg).__name__, arg)


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
    theirs = not all(node.op.startswith(FAMILIAR) for node in converted.graph.nodes)
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
