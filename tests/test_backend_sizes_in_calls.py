"""What torch has checked of sizes that change, and what they were when traced, decide kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from harness.backend import Compiler


def gated(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return F.silu(first) * second


def grouped(x: torch.Tensor) -> torch.Tensor:
    return F.group_norm(x, 4)


def patches(x: torch.Tensor) -> torch.Tensor:
    """As a vision transformer cuts an image, whose sides it takes to be multiples of 4."""
    batch, channels, high, wide = x.shape
    parts = x.view(batch, channels, high // 4, 4, wide // 4, 4).permute(0, 2, 4, 1, 3, 5)
    return parts.flatten(3).flatten(1, 2) * 2


def heads(x: torch.Tensor) -> torch.Tensor:
    batch, length, width = x.shape
    return x.view(batch, length, 8, width // 8).transpose(1, 2).contiguous() + 1


def pairs(x: torch.Tensor) -> torch.Tensor:
    first, second = x[..., ::2], x[..., 1::2]
    return torch.stack([first * 2 - second, second + first], -1).flatten(-2)


def waves(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    angles = x[:, None] * y
    return torch.cat([angles.sin(), angles.cos()], 1)


def thirds(x: torch.Tensor) -> torch.Tensor:
    first, second, third = x.chunk(3, -1)
    return first * second + third


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (gated, [(5, 14), (1, 2), (7, 64), (3, 10)]),
        (thirds, [(5, 15), (2, 3), (7, 96)]),
        (grouped, [(3, 8, 5, 5), (2, 12, 3, 3), (5, 16, 7, 7)]),
        (patches, [(3, 2, 12, 12), (1, 3, 8, 8), (2, 5, 64, 64)]),
        (heads, [(3, 5, 24), (2, 7, 16), (5, 3, 128), (2, 130, 40)]),
        (pairs, [(3, 5, 6), (2, 7, 8), (5, 33, 64)]),
    ],
)
def test_parts_of_a_size_that_are_equal_are_counted_without_remainders(
    compiler: Compiler,
    function: Callable[[torch.Tensor], torch.Tensor],
    shapes: list[tuple[int, ...]],
) -> None:
    """Torch checks that the halves of rows are as long, and that channels are whole groups."""
    run: Any = torch.compile(function, backend=compiler, dynamic=True)
    for shape in shapes:
        x = torch.randn(shape)
        torch.testing.assert_close(run(x), function(x), msg=str(shape))
    (made,) = compiler.compiled[0].kernels
    texts = [made.module.text]
    needless = ("% (", ") // ks", " + 1) // 2", " + 2) // 3", "tl.maximum(1, ")
    kernels = [text[text.index("\ndef triton_") : text.rindex("tl.store(")] for text in texts]
    assert not [each for each in needless if any(each in kernel for kernel in kernels)]


@pytest.mark.parametrize("shapes", [[(5, 6), (2, 3), (7, 16), (3, 33)]])
def test_equal_pieces_of_unknown_length_are_computed_at_once(
    compiler: Compiler, shapes: list[tuple[int, int]]
) -> None:
    run: Any = torch.compile(waves, backend=compiler, dynamic=True)
    for length, width in shapes:
        x, y = torch.randn(length), torch.randn(width)
        wide = waves(x.double(), y.double()).float()
        torch.testing.assert_close(run(x, y), wide, atol=1e-5, rtol=1e-5)
    (made,) = compiler.compiled[0].kernels
    assert [made.module.text.count(f"tl.{name}(") for name in ("sin", "cos")] == [1, 1]


def centred(x: torch.Tensor) -> torch.Tensor:
    return x - x.mean(0)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return x.softmax(1)


@pytest.mark.parametrize(
    ("function", "first", "later", "kernels"),
    [
        (centred, (600, 6), [(300, 700), (7, 5000), (2, 3)], 2),
        (centred, (3, 2000), [(900, 3)], 1),
        (softmax, (3, 70000), [(300, 70), (2, 4), (5, 30011)], 2),
        (softmax, (70, 40), [(2, 70000)], 1),
    ],
)
def test_few_rows_of_a_call_are_shared_by_programs_and_many_are_right(
    compiler: Compiler,
    function: Callable[[torch.Tensor], torch.Tensor],
    first: tuple[int, int],
    later: list[tuple[int, int]],
    kernels: int,
) -> None:
    """Their number is not known: what it was in the call that is compiled says that it is small."""
    run: Any = torch.compile(function, backend=compiler, dynamic=True)
    for shape in (first, *later):
        x = torch.randn(shape)
        wide = function(x.double()).to(x.dtype)
        torch.testing.assert_close(run(x), wide, atol=1e-5, rtol=1e-4, msg=str(shape))
    assert [len(made.kernels) for made in compiler.compiled] == [kernels]


def test_graphs_for_about_the_same_sizes_are_the_same(compiler: Compiler) -> None:
    for rows in (600, 1000, 1024, 1025):
        torch.compiler.reset()
        torch.compile(centred, backend=compiler, dynamic=True)(torch.randn(rows, 6))
    said = [made.partition.graph.facts for made in compiler.compiled]
    assert said[0] == said[1] == said[2] != said[3]
    assert {n for _, n in said[0] if n.isdecimal()} == {"1024", "8"}
