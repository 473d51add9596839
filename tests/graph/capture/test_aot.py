from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from harness.backend import Compiler
from harness.graph.capture import aot

_FIRST = """
from harness.graph.capture.aot import _list_rules
print(*sorted({op._schema.name for op in _list_rules()}))
"""


def test_lists_are_taken_apart_though_nobody_asked_for_the_operator_before() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FIRST], capture_output=True, text=True, check=True
    )
    named = {f"aten::_foreach_{name}" for name in ("addcdiv", "lerp", "maximum", "sigmoid", "zero")}
    assert named <= {*done.stdout.split()}


def test_operators_on_lists_are_kernels(compiler: Compiler) -> None:
    def step(weights: list[torch.Tensor], others: list[torch.Tensor]) -> list[torch.Tensor]:
        found = torch._foreach_round(torch._foreach_maximum(weights, others))
        found += torch._foreach_sigmoid(torch._foreach_clamp_min(weights, 0.25))
        found += torch._foreach_lerp(weights, others, 0.3)
        torch._foreach_addcdiv_(weights, others, [other + 2 for other in others], -0.5)
        torch._foreach_copy_(others, weights)
        torch._foreach_zero_(weights)
        return found

    ours, theirs = (
        [[torch.linspace(-n, n, 7 * n).exp() for n in (1, 2)] for _ in "ab"] for _ in "ab"
    )
    torch.testing.assert_close(torch.compile(step, backend=compiler)(*ours), step(*theirs))
    torch.testing.assert_close(ours, theirs)
    assert [report.library_calls for report in compiler.reports] == [()]


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated")
def test_a_sum_with_no_gradient_leaves_another_as_the_sum_lies(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module's weight is a result as well, whose gradient is missing. What it would be added to
    lies channels last, as on a GPU, and the weight norm's kernel takes it for contiguous."""
    relaid = aot._relaid
    monkeypatch.setattr(aot, "_relaid", lambda gm, for_gpu: relaid(gm, for_gpu=True))
    torch.manual_seed(0)
    model: nn.Module = nn.utils.weight_norm(nn.Conv1d(3, 4, 3))
    x, found = torch.randn(2, 3, 8), []
    for run in (model, torch.compile(model, backend=compiler)):
        run(x).sum().backward()
        found.append([p.grad for p in model.parameters()])
        model.zero_grad()
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("first", [2, 5])
def test_a_size_of_what_a_later_argument_is_a_view_of_has_a_guard(
    compiler: Compiler, first: int
) -> None:
    """Dynamo meets the whole again as what its part is a view of, after which AOTAutograd made a
    new symbol of its size, for which torch had no guard: three rows were compiled for two."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        whole = x + 1
        part = whole[:2]
        torch._dynamo.graph_break()
        rest = whole[1:][::2].double()
        return rest.exp(), rest, part

    run = torch.compile(function, backend=compiler)
    for rows in (first, 3, first, 4, 2, 3):
        x = torch.randn(rows)
        torch.testing.assert_close(run(x), function(x))
    assert [text for report in compiler.reports for text in report.failures] == []


_OF_A_NUMBER: dict[str, Callable[[torch.Tensor, float], torch.Tensor]] = {
    "products": lambda x, number: x * number - number / (x.abs() + 1),
    "lerp": lambda x, number: x.lerp(2 * x, number),
    "comparisons": lambda x, number: x * (x > number),
    "bounds": lambda x, number: x.clamp(min=number),
    "filled": lambda x, number: x.masked_fill(x > 0, number),
    "integers": lambda x, number: x.masked_fill(x > 0, number * 9).int().clamp(max=number),
}


@pytest.mark.parametrize("name", _OF_A_NUMBER)
def test_a_number_that_changes_is_compiled_for_any(compiler: Compiler, name: str) -> None:
    """Torch compiles one number after the other where it cannot make a tensor of it: where Dynamo
    knew it by the caller's float and AOTAutograd by a tensor's, and where a call read it that
    torch does not know."""
    function = _OF_A_NUMBER[name]
    run = torch.compile(function, backend=compiler)
    for number in (0.5, 0.25, 0.125, 0.75, 0.625):
        x = torch.randn(3)
        torch.testing.assert_close(run(x, number), function(x, number))
    assert len(compiler.compiled) == 2  # of 0.5, and of any


def test_integers_made_of_a_number_that_changes_are_exact(compiler: Compiler) -> None:
    """The product that makes them was one of float32, which has 30000002 for 30000001."""

    def function(x: torch.Tensor, number: float) -> tuple[torch.Tensor, ...]:
        whole = torch.full((2,), number, dtype=torch.int64)
        return whole, torch.full_like(whole, -number), torch.full((2,), number, dtype=torch.bool)

    run: Any = torch.compile(function, backend=compiler)
    for number in (3.5, 30000001.0, 2.0**53 - 1, 1e-300):
        x = torch.randn(3)
        for one, other in zip(run(x, number), function(x, number), strict=True):
            assert torch.equal(one, other), number
    assert len(compiler.compiled) == 2
