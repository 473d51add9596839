"""What optimizers do with all parameters of a model, by foreach operators, for ``gpu_limit.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def gpt2_sizes(layers: int) -> list[tuple[int, ...]]:
    """The parameters of a GPT-2."""
    w = 768
    layer = [(w,), (w,), (w, 3 * w), (3 * w,), (w, w), (w,)]
    layer += [(w,), (w,), (w, 4 * w), (4 * w,), (4 * w, w), (w,)]
    return [(50257, w), (1024, w), *layer * layers, (w,), (w,)]


def llama_sizes() -> list[tuple[int, ...]]:
    """The parameters of a Llama of a billion."""
    w, kv, wide = 2048, 512, 8192
    layer = [(w, w), (kv, w), (kv, w), (w, w), (wide, w), (wide, w), (w, wide), (w,), (w,)]
    return [(128256, w), *layer * 16, (w,)]


def adamw(ps: Any, gs: Any, ms: Any, vs: Any) -> Any:
    """One step with decay, in place, by foreach operators."""
    torch._foreach_mul_(ps, 1 - 1e-3 * 0.01)
    return adam(ps, gs, ms, vs)


def adam(ps: Any, gs: Any, ms: Any, vs: Any) -> Any:
    """One step, in place, by foreach operators."""
    torch._foreach_lerp_(ms, gs, 0.1)
    torch._foreach_mul_(vs, 0.999)
    torch._foreach_addcmul_(vs, gs, gs, 0.001)
    roots = torch._foreach_sqrt(vs)
    torch._foreach_div_(roots, 0.5)
    torch._foreach_add_(roots, 1e-8)
    torch._foreach_addcdiv_(ps, ms, roots, -1e-3)
    return ps


def sgd(ps: Any, gs: Any, ms: Any) -> Any:
    """One step with momentum, in place, by foreach operators."""
    torch._foreach_mul_(ms, 0.9)
    torch._foreach_add_(ms, gs)
    torch._foreach_add_(ps, ms, alpha=-1e-3)
    return ps


def clip(gs: Any) -> Any:
    """Gradients scaled to a norm of at most 1, in place."""
    total = torch.stack(torch._foreach_norm(gs)).norm()
    torch._foreach_mul_(gs, (1.0 / (total + 1e-6)).clamp(max=1.0))
    return gs


STEPS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "adamw": (adamw, 4, 28),
    "adam": (adam, 4, 28),
    "sgd": (sgd, 3, 20),
    "clip": (clip, 1, 12),
}
"""Functions, how many lists of tensors each takes, and the bytes that it moves for a parameter."""
