"""Sums of rows that differ at one position alone: computed, not looped over."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness.backend import Compiler

Tensor = torch.Tensor


def gradient(target: Tensor, scale: Tensor, n: int) -> Tensor:
    """Of a loss by the logarithms of shares, where targets below zero do not count."""
    kept = target >= 0
    place = torch.where(kept, target, 0)
    hot = torch.zeros(len(target), n).scatter(1, place, -1.0)
    return (hot * torch.where(kept, scale, 0.0)).sum(1)


def beside(target: Tensor, scale: Tensor, n: int) -> Tensor:
    """The same positions, each element needed besides."""
    hot = (torch.arange(n) == target).float() * scale
    return hot - hot.sum(1, keepdim=True) / n


def elsewhere(target: Tensor, scale: Tensor, n: int) -> Tensor:
    """Targets that no row has, and another number where they are not."""
    return torch.where(torch.arange(n) == target * 5, 3.0, scale * 0.5).sum(1)


def whole(target: Tensor, scale: Tensor, n: int) -> Tensor:
    """Whole numbers."""
    return torch.where(torch.arange(n) == target, target * 3, target - 7).sum(1)


def zeros(target: Tensor, scale: Tensor, n: int) -> Tensor:
    """Zeros of either sign."""
    return torch.where(torch.arange(n) == target, -0.0, torch.copysign(scale * 0, -scale)).sum(1)


def nested(target: Tensor, scale: Tensor, n: int) -> Tensor:
    """A sum of what another one is subtracted from."""
    hot = (torch.arange(n) == target).float() * 2.0
    return (hot - hot.sum(1, keepdim=True)).sum(1)


def moved(target: Tensor, scale: Tensor, n: int) -> Tensor:
    """Positions that are counted from another number, so that two targets are no row's."""
    return torch.where(torch.arange(n) + 3 == target, scale, 0.25).sum(1)


def shifted(target: Tensor, scale: Tensor, n: int) -> Tensor:
    """A comparison with something else than the position."""
    return torch.where(torch.arange(n) % 7 == target, scale, 1.0).sum(1)


def twice(target: Tensor, scale: Tensor, n: int) -> Tensor:
    """The position is needed besides."""
    at = torch.arange(n)
    return torch.where(at == target, scale, at * 0.5).sum(1)


@pytest.mark.parametrize("n", [33, 9001])
@pytest.mark.parametrize(
    ("function", "loops"),
    [
        (gradient, False),
        (beside, False),
        (elsewhere, False),
        (whole, False),
        (zeros, False),
        (moved, False),
        (nested, False),
        (shifted, True),
        (twice, True),
    ],
)
def test_sums_of_rows_that_differ_once(
    compiler: Compiler, function: Callable[[Tensor, Tensor, int], Tensor], loops: bool, n: int
) -> None:
    target = torch.tensor([[0], [-100], [n - 1], [7], [3], [6], [5], [2]])
    infinite = [1.5, -2.0, torch.inf, torch.nan, 0.0, -0.0, 1e-30, -3.25]
    scale = torch.tensor(infinite)[:, None]
    got = torch.compile(function, backend=compiler, dynamic=False)(target, scale, n)
    wide = function(target, scale.double(), n)
    torch.testing.assert_close(got, wide.to(got.dtype), rtol=1e-5, atol=1e-5, equal_nan=True)
    want = function(target, scale, n)
    assert torch.equal(torch.signbit(got[want == 0]), torch.signbit(want[want == 0]))
    (graph,) = compiler.compiled
    text = "".join(kernel.source.text for kernel in graph.kernels)
    assert ("tl.sum(" in text) is loops


def with_bias(target: Tensor, scale: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of a loss by logits, and that by a bias: its sums over rows."""
    kept = target != -100
    hot = torch.zeros_like(logits).scatter(1, torch.where(kept, target, 0), -1.0)
    hot = hot * torch.where(kept, scale / 3, 0.0)
    gradient = hot - logits.exp() * hot.sum(1, keepdim=True)
    return gradient, gradient.sum(0)


def without_bias(target: Tensor, scale: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    """The same along rows alone: a program has all of a row."""
    gradient, _ = with_bias(target, scale, logits)
    return gradient, gradient.amax(1)


@pytest.mark.parametrize("function", [with_bias, without_bias])
def test_a_loss_is_one_launch(
    compiler: Compiler, function: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
) -> None:
    target = torch.tensor([[0], [-100], [199], [7], [7], [6], [-100], [2]])
    scale, logits = torch.tensor(1.5), torch.randn(8, 200)
    got = torch.compile(function, backend=compiler, dynamic=False)(target, scale, logits)
    torch.testing.assert_close(got, function(target, scale, logits))
    (graph,) = compiler.compiled
    assert len(graph.launches) == 1


@pytest.mark.parametrize("n", [33, 9001])
def test_a_loss_compares_its_targets_in_32_bits(compiler: Compiler, n: int) -> None:
    """Once a row they are made narrow, not every position wide."""

    def loss(x: Tensor, target: Tensor) -> Tensor:
        hot = torch.zeros_like(x).scatter(1, target, -1.0)
        return hot + x.softmax(1)

    x, target = torch.rand(4, n), torch.tensor([[0], [n - 1], [7], [n // 2]])
    got = torch.compile(loss, backend=compiler, dynamic=False)(x, target)
    torch.testing.assert_close(got, loss(x.double(), target).float(), rtol=1e-5, atol=1e-5)
    (graph,) = compiler.compiled
    text = "".join(kernel.source.text for kernel in graph.kernels)
    assert ".to(tl.int32)" in text and ".to(tl.int64)" not in text
