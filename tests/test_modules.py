"""Common modules, losses and optimizers through ``torch.compile`` on a CPU, against eager."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from harness.backend import Compiler

MAY_FALL_BACK = True


def library(compiler: Compiler) -> set[str]:
    assert not [f for graph in compiler.compiled for f in graph.failures]
    return {s.node.op for graph in compiler.compiled for s in graph.partition.library_calls}


def compare(got: list[torch.Tensor], wanted: list[torch.Tensor]) -> None:
    """Rounding is relative to the largest number of the step: the gradient of a convolution's bias
    before a batch norm is zero, summed from numbers that are not."""
    largest = max(float(b.abs().max()) for b in wanted)
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=3e-4, atol=4e-6 * max(1.0, largest))


OPTIMIZERS: dict[str, tuple[type[torch.optim.Optimizer], dict[str, Any]]] = {
    "adamw": (torch.optim.AdamW, {}),
    "adamw_foreach": (torch.optim.AdamW, {"foreach": True}),
    "adam_amsgrad": (torch.optim.Adam, {"amsgrad": True}),
    "sgd": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
}


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_optimizer_steps_leave_nothing_to_the_library(compiler: Compiler, name: str) -> None:
    kind, options = OPTIMIZERS[name]

    def train(wrap: Callable[[Any], Any]) -> list[torch.Tensor]:
        torch.manual_seed(1)
        parameters = [nn.Parameter(torch.randn(5, 7)), nn.Parameter(torch.randn(9))]
        optimizer = kind(parameters, lr=1e-2, **options)
        step = wrap(lambda: optimizer.step())
        for _ in range(2):
            for parameter in parameters:
                parameter.grad = torch.randn_like(parameter)
            step()
        return [p.detach() for p in parameters]

    compare(train(lambda f: torch.compile(f, backend=compiler)), train(lambda f: f))
    assert library(compiler) == set()


class Basic(nn.Module):
    """A residual block of two convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.norm1, self.norm2 = nn.BatchNorm2d(4), nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm2(self.second(torch.relu(self.norm1(self.first(x)))))
        return torch.relu(y + x)


class Apply(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


LABELS = torch.tensor([1, 2, 0, 3])
MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], set[str]]] = {
    "encoder": (
        lambda: nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True),
        (2, 5, 16),
        {"mm", "addmm", "_scaled_dot_product_flash_attention_for_cpu"}
        | {"_scaled_dot_product_flash_attention_for_cpu_backward"},
    ),
    "lstm": (lambda: nn.LSTMCell(5, 6), (3, 5), {"mm", "addmm"}),
    "gru": (lambda: nn.GRUCell(5, 6), (3, 5), {"mm", "addmm"}),
    "basic_block": (Basic, (2, 4, 6, 6), {"convolution", "convolution_backward"}),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 5, 5), set()),
    "pixel_shuffle": (lambda: nn.PixelShuffle(2), (2, 8, 3, 3), set()),
    "nearest": (lambda: nn.Upsample(scale_factor=2, mode="nearest"), (2, 3, 4, 4), set()),
    "bilinear": (
        lambda: nn.Upsample(scale_factor=2, mode="bilinear"),
        (2, 3, 4, 4),
        {"upsample_bilinear2d_backward"},
    ),
    "cross_entropy": (
        lambda: Apply(lambda x: functional.cross_entropy(x, LABELS, label_smoothing=0.1)),
        (4, 5),
        set(),
    ),
    "huber": (lambda: Apply(lambda x: functional.huber_loss(x, x.detach() * 3)), (4, 5), set()),
    "cumsum": (lambda: Apply(lambda x: torch.cumsum(x * 2, -1).exp()), (3, 5), set()),
    "median": (lambda: Apply(lambda x: x * 2 + x.median()), (3, 5), set()),
}


@pytest.mark.parametrize("name", list(MODULES))
def test_module_and_its_gradients(compiler: Compiler, name: str) -> None:
    build, shape, expected = MODULES[name]
    model, x = build(), torch.randn(shape)

    def train(own: nn.Module, run: Callable[..., Any]) -> list[torch.Tensor]:
        leaf = x.clone().requires_grad_()
        found = run(leaf)
        results = found if isinstance(found, tuple) else (found,)
        weighted = [(r * torch.linspace(0.5, 1.5, r.numel()).view_as(r)).sum() for r in results]
        torch.stack(weighted).sum().backward()
        grads = [leaf.grad, *(p.grad for p in own.parameters())]
        return [*(r.detach() for r in results), *(g for g in grads if g is not None)]

    plain = copy.deepcopy(model)
    compare(train(model, torch.compile(model, backend=compiler)), train(plain, plain))
    assert library(compiler) == {f"aten.{op}.default" for op in expected}
    shown = "\n".join(str(report) for report in compiler.reports)
    assert all(op in shown for op in expected)
