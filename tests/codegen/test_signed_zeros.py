"""Zeros keep their sign, with Triton 3.6 too: its unary minus of a float is ``0 - x``, and it
takes the literal ``-0.0`` for ``0.0``. The Triton at hand may do better: the text is looked at too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
import torch

from harness.backend import Compiler

Tensor = torch.Tensor


def negated(x: Tensor) -> Tensor:
    return 1 / -(x * 0)


def chosen(x: Tensor) -> Tensor:
    return torch.where(x > 0, -0.0, x * 0)


def added(x: Tensor) -> Tensor:
    return (-x.abs() * 0).half().float() * 2.0 + -0.0


def sorted_rows(x: Tensor) -> Tensor:
    return torch.where(x > 0, -0.0, x).sort(1)[0]


def filled(x: Tensor) -> Tensor:
    return torch.copysign(x, torch.full_like(x, -0.0))


def fractions(x: Tensor) -> Tensor:
    return torch.frac(x * 0)


def summed_up(x: Tensor) -> Tensor:
    """Eager mode begins with 0.0 (3104027)."""
    zeros = -(x * 0).abs()
    return zeros.cumsum(0) + zeros.flatten().cumsum(0).view(x.shape) + zeros


def _minuses(node: ast.AST) -> Iterator[str]:
    """Unary minuses of anything but a number, and numbers that are -0.0."""
    for each in ast.walk(node):
        if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.USub):
            operand = each.operand
            if not isinstance(operand, ast.Constant) or repr(operand.value) == "0.0":
                yield ast.unparse(each)


@pytest.mark.parametrize(
    "function", [negated, chosen, added, sorted_rows, filled, fractions, summed_up]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_zeros_keep_their_sign(compiler: Compiler, function, dtype: torch.dtype) -> None:
    x = torch.randn(6, 8).to(dtype)
    got = torch.compile(function, backend=compiler, dynamic=False)(x)
    want = function(x)
    assert torch.equal(got, want)
    assert torch.equal(torch.signbit(got), torch.signbit(want))
    (graph,) = compiler.compiled
    for kernel in graph.kernels:
        tree = ast.parse(kernel.source.text)
        assert list(_minuses(tree)) == [], kernel.source.text


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("width", [6, 40000])
def test_zeros_of_both_signs_are_equal_where_the_first_extreme_counts(
    width: int, dtype: torch.dtype, compiler: Compiler
) -> None:
    """In a block, and of what the lanes of a loop have found."""

    def places(x: Tensor) -> tuple[Tensor, ...]:
        return x.argmax(1), (-x).argmin(1), x.max(1)[1], (-x).min(1)[1]

    row = torch.tensor([-1.0, -0.0, 0.0]).repeat(width // 3 + 1)[:width]
    got = torch.compile(places, backend=compiler, dynamic=False)(row.to(dtype).expand(2, -1))
    assert [place.tolist() for place in got] == [[1, 1]] * 4
    texts = [kernel.source.text for kernel in compiler.compiled[-1].kernels]
    assert all(("for r0_offset" in text) is (width > 6) for text in texts if "argmax" in text)
