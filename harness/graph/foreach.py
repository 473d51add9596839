"""Operators over lists of tensors, taken apart into one operator per tensor.

Optimizers on a GPU are written with them. Whether the pieces share a kernel is for the
scheduler to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": torch.abs,
    "add": torch.add,
    "ceil": torch.ceil,
    "clamp_max": torch.clamp_max,
    "clamp_min": torch.clamp_min,
    "div": torch.div,
    "exp": torch.exp,
    "floor": torch.floor,
    "lerp": torch.lerp,
    "log": torch.log,
    "maximum": torch.clamp_min,
    "minimum": torch.clamp_max,
    "mul": torch.mul,
    "neg": torch.neg,
    "pow": torch.pow,
    "reciprocal": torch.reciprocal,
    "rsqrt": torch.rsqrt,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "sqrt": torch.sqrt,
    "sub": torch.sub,
    "tanh": torch.tanh,
}
_FACTORED: dict[str, Callable[..., Any]] = {
    "addcdiv": torch.addcdiv,
    "addcmul": torch.addcmul,
}
"""Functions whose last number is called ``value``."""


def foreach_rules() -> dict[torch._ops.OperatorBase, Callable[..., Any]]:
    """Operator overload → decomposition, for those that this torch has."""
    rules: dict[torch._ops.OperatorBase, Callable[..., Any]] = {}
    for name, function in (*_FUNCTIONS.items(), *_FACTORED.items()):
        packet = getattr(torch.ops.aten, f"_foreach_{name}", None)
        if packet is None:
            continue
        for overload in packet.overloads():
            if overload.endswith("out") or (name in _FACTORED and overload == "Tensor"):
                continue
            rules[getattr(packet, overload)] = _each(function, name in _FACTORED)
    return rules


def _each(function: Callable[..., Any], factored: bool) -> Callable[..., list[Any]]:
    def rule(*args: Any, **kwargs: Any) -> list[Any]:
        count = max(len(arg) for arg in args if _is_list(arg))
        results = []
        for place in range(count):
            own = [arg[place] if _is_list(arg) else arg for arg in args]
            if factored and len(own) > 3:
                results.append(function(*own[:3], value=own[3], **kwargs))
            else:
                results.append(function(*own, **kwargs))
        return results

    return rule


def _is_list(arg: object) -> bool:
    return isinstance(arg, Sequence) and not isinstance(arg, str)
