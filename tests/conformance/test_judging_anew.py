"""What rounding decides where a part of a program knows, changes or computes anew what another one
made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from harness.conformance.compare import Judge, differences

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


def test_what_rounding_makes_nothing_of_shares_no_memory() -> None:
    """Where eager mode has elements and another has none, only one of them has memory (5802414)."""
    x = X[1:2]
    mask = torch.ones(1, dtype=torch.bool)

    def function(x: torch.Tensor) -> Any:
        kept = x[x != x * 3 / 3]
        return kept, kept

    assert function(x)[0].numel() == 0
    assert differences(function, [x], _giving_first(mask)) == []
    told = differences(lambda x: (y := x + 1, y[:1]), [x], lambda *_: lambda y: (y + 1, y + 1))
    assert "other tensors share memory" in told


def test_the_backward_pass_computes_anew_what_was_rounded() -> None:
    """A gradient whose parts cancel if both passes have the same values (3801505)."""
    x, y = X.half(), torch.linspace(1, 2, 16, requires_grad=True)

    def gradient() -> list[torch.Tensor]:
        return list(torch.autograd.grad((y * (x.sigmoid() * X)).log().sum(), y))

    judge, unrounded = Judge(gradient, gradient(), True), x.float().sigmoid()
    assert judge.is_right(0, x.sigmoid() / unrounded / y.detach())
    assert judge.is_right(0, unrounded / x.sigmoid() / y.detach())
    assert not judge.is_right(0, gradient()[0] * 1.003)


def _changed(x: torch.Tensor, change: Callable[[torch.Tensor], Any]) -> torch.Tensor:
    made = x * 1.3
    change(made)
    return made


CHANGES: dict[str, Callable[[torch.Tensor], Any]] = {
    "of it": lambda x: x.add_(0.3),
    "of a view": lambda x: x.flatten().add_(0.3),
    "of a part": lambda x: x[1::2].add_(0.3),
    "of a transposed part": lambda x: x.view(4, 4).t()[1:].unsqueeze(0).mul_(1.7),
    "of all but what is written": lambda x: [x[:8].zero_(), x[4:].add_(0.3)],
    "of several tensors": lambda x: torch._foreach_add_(x.split(8), 0.3),
}


@pytest.mark.parametrize("where", CHANGES)
def test_a_change_of_what_is_not_rounded(where: str) -> None:
    """Numbers that a view of them changes, and the others beside, may stay unrounded (3609510,
    4300868). What is written is what it is."""
    x, change = torch.linspace(0.2, 1.9, 16).sin().bfloat16(), CHANGES[where]

    def run() -> list[torch.Tensor]:
        made = _changed(x, change)
        return [made.float(), made.float() * 1.7]

    judge, unrounded = Judge(run, run(), True), _changed(x.float(), change)
    if "several" not in where:
        assert judge.is_right(1, unrounded * 1.7)
        assert not torch.allclose(run()[1], unrounded * 1.7, rtol=1e-4)
    for one in (unrounded * 2.2, unrounded.roll(1) * 1.7, x.float() * 1.7, torch.zeros(16)):
        assert not judge.is_right(1, one)


@pytest.mark.parametrize(
    "write",
    [
        lambda made, x: made.flatten()[3:].copy_(x[3:]),
        lambda made, x: made.view(torch.int16)[3:].copy_(x.bfloat16().view(torch.int16)[3:]),
    ],
)
def test_what_is_written_into_16_bits_is_rounded(write: Callable[..., Any]) -> None:
    """Through a view, and as other bits; what is beside it need not be."""
    x = torch.linspace(0.2, 1.9, 16).sin()

    def run() -> list[torch.Tensor]:
        made = x.bfloat16() * 1.3
        write(made, x * 1.7)
        return [made.float() * 1.9]

    judge = Judge(run, run(), True)
    beside = torch.cat([x.bfloat16()[:3].float() * 1.3, (x * 1.7).bfloat16()[3:].float()])
    assert judge.is_right(0, beside * 1.9)
    assert not judge.is_right(0, torch.cat([beside[:3], x[3:] * 1.7]) * 1.9)


def test_an_infinite_sum_beside_what_a_view_sets_to_0() -> None:
    """Eager mode's difference of two infinities is NaN; a kernel has numbers there (4300868)."""
    x = torch.tensor([[3e4, 1.0, 2.0]], dtype=torch.float16).expand(4, 3)

    def lerped(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        made = x.sum(0, dtype=dtype)
        made.unsqueeze(0)[..., 2:].zero_()
        return torch.lerp(made, made, made.sigmoid()).half()

    def run() -> list[torch.Tensor]:
        return [lerped(x, torch.float16)]

    judge, kernel = Judge(run, run(), True), lerped(x, torch.float32)
    assert run()[0].tolist()[1:] == kernel.tolist()[1:] == [4, 0]
    assert run()[0].isnan()[0] and kernel.isinf()[0]
    assert judge.is_right(0, kernel)
    assert not judge.is_right(0, torch.tensor([torch.inf, 4, 2], dtype=torch.float16))
    assert not judge.is_right(0, torch.tensor([torch.inf, 5, 0], dtype=torch.float16))


def test_the_sign_of_a_zero_is_the_same_in_something_between() -> None:
    """Of a program whose values are moved or lie between two, zeros keep their sign."""
    x = torch.tensor([-0.0, 1.0, 0.0])

    def run() -> list[torch.Tensor]:
        return [(x * 2).double() / 3]

    judge = Judge(run, run(), True)
    assert not judge.is_right(0, run()[0].abs())
    assert not judge.is_right(0, run()[0] + 0.0)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz])
def test_floats_of_8_bits_are_compared(dtype: torch.dtype) -> None:
    """Torch has neither signs nor differences of them."""
    x = torch.tensor([0.5, -3.0, 448.0, 0.0]).to(dtype)
    assert differences(torch.clone, [x], lambda *_: lambda x: (x.clone(),)) == []
    assert differences(torch.clone, [x], lambda *_: lambda x: (x.flip(0),)) != []


def test_as_many_elements_as_in_eager_mode_have_their_values_where_rounding_may_decide_that() -> (
    None
):
    half = torch.tensor([0.3, 1.0, 2.5, -1.7, 7.0, 0.1], dtype=torch.bfloat16)

    def run() -> list[torch.Tensor]:
        kept = torch.special.ndtr(half - 4) != 0
        return [half[kept], kept.nonzero(), half[kept, None]]

    judge = Judge(run, run(), True)
    for number, wanted in enumerate(run()):
        assert len(wanted) == 3 and judge.is_right(number, wanted * 1)
        assert not judge.is_right(number, wanted + 1)
