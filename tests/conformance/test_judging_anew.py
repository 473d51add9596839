"""What rounding decides where a part of a program knows or computes anew what another one made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from harness.conformance.compare import differences
from harness.conformance.judging import Judge

X = torch.linspace(0.1, 1.3, 16)


def _giving_first(made: torch.Tensor) -> Callable[..., Any]:
    """A compiler whose first graph gives ``made``."""
    graphs: list[Any] = []

    def compiler(graph: Any, _: Any) -> Callable[..., Any]:
        graphs.append(graph)
        return (lambda _: (made,)) if len(graphs) == 1 else graph

    return compiler


@pytest.mark.parametrize(
    ("values", "number"), [(lambda x: x / (x * 3 / 3), 3), (lambda x: x.round(), 2)]
)
def test_rounding_may_decide_whether_sizes_fit(
    values: Callable[[torch.Tensor], torch.Tensor], number: int
) -> None:
    """What follows values that are counted is traced with the number of the compiled ones, and
    refused in other words than eager mode's (3609809, 3103855)."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.unique_consecutive(values(x)) + torch.ones(number)

    told = differences(function, [X], _giving_first(torch.arange(5.0)))
    assert bool(told) is (number == 2)  # there no rounding changes how many there are
    assert all("when making fake tensor call" in line for line in told)


def test_the_backward_pass_computes_anew_what_was_rounded() -> None:
    """A gradient whose parts cancel if both passes have the same values (3801505)."""
    x, y = X.half(), torch.linspace(1, 2, 16, requires_grad=True)

    def gradient() -> list[torch.Tensor]:
        return list(torch.autograd.grad((y * (x.sigmoid() * X)).log().sum(), y))

    judge, unrounded = Judge(gradient, gradient(), True), x.float().sigmoid()
    assert judge.is_right(0, x.sigmoid() / unrounded / y.detach())
    assert judge.is_right(0, unrounded / x.sigmoid() / y.detach())
    assert not judge.is_right(0, gradient()[0] * 1.003)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz])
def test_floats_of_8_bits_are_compared(dtype: torch.dtype) -> None:
    """Torch has neither signs nor differences of them."""
    x = torch.tensor([0.5, -3.0, 448.0, 0.0]).to(dtype)
    assert differences(torch.clone, [x], lambda *_: lambda x: (x.clone(),)) == []
    assert differences(torch.clone, [x], lambda *_: lambda x: (x.flip(0),)) != []
