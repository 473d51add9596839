"""What 1 + tanh and 1 + erf lose, in float64 as well, is no wrong value where a kernel has it."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from tests.conformance.test_judging import found


def _by_sigmoid(x: torch.Tensor) -> torch.Tensor:
    inner = math.sqrt(8 / math.pi) * (x.double() + 0.044715 * x.double() ** 3)
    return (x * torch.sigmoid(inner)).float()


def test_one_and_a_hyperbolic_tangent_that_cancel() -> None:
    """In eager mode the sum is 0, in a kernel a sigmoid (3202726)."""
    x = torch.tensor([-9.0, -8.0, -7.0, -3.0, 0.0, 2.0])

    def of(gelu: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., tuple[torch.Tensor, ...]]:
        return lambda x: (gelu(x).bool(), gelu(x))

    def eager(x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x, approximate="tanh")

    assert eager(x).bool().tolist() != _by_sigmoid(x).bool().tolist()
    assert found(of(eager), of(_by_sigmoid), x) == []
    for off in (1e-3, -1e-3):
        assert found(of(eager), of(lambda x, off=off: _by_sigmoid(x) + off), x) != []
    assert found(of(eager), of(lambda x: _by_sigmoid(x) * (x > -5)), x + 2) != []


def test_a_gradient_of_one_and_a_hyperbolic_tangent_that_cancel() -> None:
    """It rounds to -0.0 in 16 bits, and is 0.0 in eager mode (3101654)."""
    x = torch.tensor([-8.0, -6.25, -1.0, 3.0], dtype=torch.float16)

    def gradient(x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = torch.ops.aten.gelu_backward(x * 0 + 1, x, approximate="tanh")
        return made

    def resigned(x: torch.Tensor) -> torch.Tensor:
        made = gradient(x)
        return torch.where(made == 0, -0.0, made)

    assert not gradient(x)[:2].signbit().any()
    assert found(gradient, resigned, x) == []
    assert found(gradient, lambda x: resigned(x) + 0.01, x) != []


def test_one_and_an_error_function_that_cancel() -> None:
    """In eager mode 0.0 is added to -0.0, in a kernel to some -1e-22 (4600955)."""
    x = torch.tensor([-10.0, -9.0, -1.0, 3.0], dtype=torch.float16)

    def sum_of(x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x) + torch.zeros_like(x)

    def resigned(x: torch.Tensor) -> torch.Tensor:
        made = F.gelu(x)
        return torch.where(made == 0, -0.0, made)

    assert not sum_of(x).signbit()[:2].any()
    assert found(sum_of, resigned, x) == []
    assert found(sum_of, lambda x: resigned(x) + 0.01, x) != []
    y = torch.tensor([0.0, 1.0], dtype=torch.float16)
    assert found(F.gelu, lambda x: torch.where(x == 0, -0.0, F.gelu(x)), y) != []
