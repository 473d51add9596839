"""Sizes that only a call tells, where not every size can be compiled at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.graph.model import Graph, tensors_of
from harness.graph.views import inputs_shared


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
