"""Hand-written libraries as further ways of ``gpu_limit.py``'s cases along rows: Liger (Triton) and
QuACK (CuTe, thread-block clusters), where they are installed.

Each function takes a case's inputs and answers what the case's own function answers, by the entry
points that the libraries' autograd functions call. What a library wants in another type is
converted once, before it is timed.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import torch

EPSILON = 1e-6
"""Of ``gpu_limit``'s RMS norm; its layer norm has torch's default."""
LAYER_EPSILON = 1e-5


@functools.cache
def installed() -> tuple[str, ...]:
    """The libraries that are here."""
    names = {"liger": "liger_kernel", "quack": "quack"}
    return tuple(name for name, module in names.items() if importlib.util.find_spec(module))


def libraries(family: str) -> tuple[str, ...]:
    """The installed libraries that have a function for the cases of ``family``."""
    return tuple(name for name in installed() if (name, family) in FUNCTIONS)


def _liger(name: str) -> Any:
    return importlib.import_module(f"liger_kernel.ops.{name}")


def _quack(name: str) -> Any:
    return importlib.import_module(f"quack.{name}")


@functools.lru_cache(maxsize=4)
def _wide(w: torch.Tensor) -> torch.Tensor:
    return w.float()


def _liger_softmax_backward(dy: torch.Tensor, y: torch.Tensor) -> Any:
    columns = dy.shape[-1]
    block, warps = _liger("softmax").calculate_settings(columns)
    return _liger("softmax")._softmax_backward(dy, y, block, warps, columns > block)


def _liger_rms_backward(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, r: torch.Tensor) -> Any:
    norm = _liger("rms_norm")
    block, warps = norm.calculate_settings(x.shape[-1])
    mode = norm._CASTING_MODE_LLAMA.value
    return norm.rms_norm_backward(dy, x, w, r.view(-1), 0.0, mode, block, warps, False, None)[:2]


def _liger_layer_backward(
    dy: torch.Tensor, x: torch.Tensor, mean: torch.Tensor, r: torch.Tensor, *wb: torch.Tensor
) -> Any:
    return _liger("layer_norm").layer_norm_backward(dy, x, *wb, mean.view(-1), r.view(-1))[:3]


def _quack_loss(x: torch.Tensor, t: torch.Tensor) -> Any:
    loss, dx = _quack("cross_entropy").cross_entropy_fwd(x, t, return_dx=True)
    return loss[:, None], dx


def _quack_layer(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
    return _quack("rmsnorm").layernorm_fwd(x, _wide(w), _wide(b), eps=LAYER_EPSILON)


def _quack_layer_backward(
    dy: torch.Tensor, x: torch.Tensor, mean: torch.Tensor, r: torch.Tensor, w: torch.Tensor, *_: Any
) -> Any:
    return _quack("rmsnorm").layernorm_bwd(x, _wide(w), dy, r.view(-1), mean.view(-1))


FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("liger", "softmax"): lambda x: _liger("softmax")._softmax_forward(x)[0],
    ("liger", "softmax backward"): _liger_softmax_backward,
    ("liger", "rms norm"): lambda x, w: _liger("rms_norm").rms_norm_forward(
        x, w, EPSILON, 0.0, "llama", None
    )[0],
    ("liger", "rms backward"): _liger_rms_backward,
    ("liger", "layer norm"): lambda x, w, b: _liger("layer_norm").layer_norm_forward(
        x, w, b, LAYER_EPSILON
    )[0],
    ("liger", "layer backward"): _liger_layer_backward,
    ("quack", "softmax"): lambda x: _quack("softmax").softmax_fwd(x),
    ("quack", "softmax backward"): lambda dy, y: _quack("softmax").softmax_bwd(dy, y),
    ("quack", "cross entropy"): lambda x, t: _quack("cross_entropy").cross_entropy_fwd(x, t),
    ("quack", "loss and gradient"): _quack_loss,
    ("quack", "rms norm"): lambda x, w: _quack("rmsnorm").rmsnorm_fwd(x, w, eps=EPSILON)[0],
    ("quack", "rms backward"): lambda dy, x, w, r: _quack("rmsnorm").rmsnorm_bwd(
        x, w, dy, r.view(-1)
    )[:2],
    ("quack", "layer norm"): _quack_layer,
    ("quack", "layer backward"): _quack_layer_backward,
}
"""By library and family of cases. Liger's cross entropy asks the host for the number of targets, so
no CUDA graph can hold it; it is left out."""
