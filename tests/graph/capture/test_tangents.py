"""Gradients that are not there, beside a user's functions."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.backend import Compiler, Devices


class Apart(torch.autograd.Function):
    """Each output is of one input alone, and so is each gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x * 2, y * 3

    @staticmethod
    def backward(ctx: Any, one: torch.Tensor, other: torch.Tensor) -> Any:  # type: ignore[override]
        return one * 2, other.exp()


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_a_users_function_makes_of_zeros_alone_is_a_gradient(
    devices: Devices, dynamic: bool
) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        one, other = Apart.apply(x, y)
        return one, other

    run = torch.compile(function, backend=Compiler(devices=devices), dynamic=dynamic)
    for rows in (4, 6):
        given = [torch.rand(n, 3).requires_grad_() for n in (rows, rows + 1)]
        for number in range(2):
            found, wanted = (
                torch.autograd.grad(how(*given)[number].sum(), given, allow_unused=True)
                for how in (run, function)
            )
            torch.testing.assert_close(found, wanted)
