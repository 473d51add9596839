"""Gradients of interpolation by the library's kernels.

Under ``torch.compile`` torch takes interpolation apart before autograd sees it, so its gradient
adds to four places (two, eight) for every element, with atomic additions: four gradients of
SegFormer took 6.3 ms on an H200, torch's own kernels 1.5 (docs/measurements/limit.md). Forward it
is taken apart as before, and fuses with what stands beside it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch.nn import functional

_aten = torch.ops.aten
_MODES = {"linear": [1], "bilinear": [2], "trilinear": [3], "bicubic": [2], "nearest": [1, 2, 3]}
_BACKWARD: dict[tuple[str, int], Any] = {
    (mode, 2 + rank): getattr(_aten, f"upsample_{mode}{rank}d_backward")
    for mode, ranks in _MODES.items()
    for rank in ranks
}
"""By mode and dimensions of the input."""
_SIGNATURE = inspect.signature(functional.interpolate)


def resampled(gm: fx.GraphModule) -> None:
    """Give interpolations in a module from ``torch.compile`` the library's gradient, in place; not
    of unknown sizes, nor beside transforms of functions: torch does not trace that."""
    found = gm.graph.find_nodes(op="call_function", target=functional.interpolate)
    if not found or any("functorch" in getattr(n.target, "__module__", "") for n in gm.graph.nodes):
        return
    for node in found:
        given = _SIGNATURE.bind(*node.args, **node.kwargs)
        given.apply_defaults()
        wanted = given.arguments
        image = wanted["input"].meta.get("example_value")
        known = isinstance(image, Tensor) and all(isinstance(n, int) for n in image.shape)
        alone = node.all_input_nodes == [wanted["input"]] and not wanted["antialias"]
        plain = known and alone and image.is_floating_point()
        if plain and (wanted["mode"], image.dim()) in _BACKWARD:
            node.target, node.kwargs = interpolate, {}
            node.args = tuple(wanted.values())[:-1]
    gm.recompile()


def interpolate(x: Tensor, *options: Any) -> Tensor:
    """``torch.nn.functional.interpolate`` with that gradient; its options but ``antialias``."""
    _, factor, _, _, recompute = options
    kept = None if recompute else factor
    scales = [*kept] if isinstance(kept, Sequence) else [kept] * (x.dim() - 2)
    return _Interpolated.apply(x, options, scales)  # type: ignore[no-untyped-call]


class _Interpolated(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, options: Any, scales: Any) -> Tensor:
        del scales
        size, factor, mode, corners, recompute = options
        return functional.interpolate(x, size, factor, mode, corners, recompute)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, (_, _, mode, corners, _), scales = inputs
        ctx.sizes = [*output.shape[2:]], [*x.shape]
        ctx.rest = mode, corners, scales

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        mode, corners, scales = ctx.rest
        options = scales if mode == "nearest" else [bool(corners), *scales]
        return _BACKWARD[mode, gradient.dim()].default(gradient, *ctx.sizes, *options), None, None
