"""Gradients of interpolation are the library's; forward it is taken apart."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from harness.backend import Compiler

SIZES = {3: (5,), 4: (4, 5), 5: (3, 4, 2)}


@pytest.mark.parametrize(
    ("mode", "rank", "options"),
    [
        ("linear", 3, {"size": 9}),
        ("bilinear", 4, {"scale_factor": (1.7, 2.3), "align_corners": False}),
        ("bilinear", 4, {"size": (7, 3), "align_corners": True}),
        ("bilinear", 4, {"scale_factor": 1.7, "recompute_scale_factor": True}),
        ("trilinear", 5, {"scale_factor": 2.0}),
        ("bicubic", 4, {"size": (8, 11)}),
        ("nearest", 4, {"scale_factor": 2.5}),
        ("nearest", 3, {"size": 7}),
        ("nearest", 5, {"size": (5, 3, 4)}),
    ],
)
def test_gradients(compiler: Compiler, mode: str, rank: int, options: dict[str, Any]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(functional.interpolate(x * 2, mode=mode, **options))

    found = []
    x = torch.randn(2, 3, *SIZES[rank], requires_grad=True)
    for function in (f, torch.compile(f, backend=compiler)):
        x.grad = None
        y = function(x)
        y.square().sum().backward()
        found.append((y.detach(), x.grad))
    torch.testing.assert_close(*found, rtol=1e-4, atol=2e-4)
    forward, backward = compiler.compiled
    assert not forward.library_calls
    (call,) = backward.library_calls
    assert call.node.op.startswith("aten.upsample_")


@pytest.mark.parametrize("transform", ["vmap", "grad"])
def test_transforms_of_functions_are_left_alone(compiler: Compiler, transform: str) -> None:
    def larger(x: torch.Tensor) -> torch.Tensor:
        return functional.interpolate(x, scale_factor=1.5, mode="bilinear")

    def f(x: torch.Tensor) -> torch.Tensor:
        if transform == "vmap":
            return torch.vmap(larger)(x)
        return torch.func.grad(lambda y: larger(y[0]).square().sum())(x)

    x = torch.randn(2, 2, 3, 4, 5)
    torch.testing.assert_close(torch.compile(f, backend=compiler)(x), f(x))


def test_unknown_sizes_are_left_alone(compiler: Compiler) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return functional.interpolate(x, scale_factor=2.0, mode="bilinear")

    run = torch.compile(f, backend=compiler, dynamic=True)
    for sizes in ((2, 3, 4, 5), (2, 2, 6, 3)):
        x = torch.randn(sizes, requires_grad=True)
        (ours,) = torch.autograd.grad(run(x).square().sum(), x)
        (eager,) = torch.autograd.grad(f(x).square().sum(), x)
        torch.testing.assert_close(ours, eager, rtol=1e-4, atol=1e-4)
    assert not any(graph.library_calls for graph in compiler.compiled)
