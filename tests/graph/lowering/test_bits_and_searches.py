"""Bits read as another type, numbers taken apart, binary searches: against eager mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from triton.runtime import interpreter

from harness.backend import Compiler
from harness.runtime.interpret.interpreter import InterpreterPool


def same(compiler: Compiler, function: Callable[..., Any], *args: torch.Tensor) -> list[str]:
    """Run compiled and eager: the results are equal bit for bit, NaN where NaN is. The library
    calls are answered."""
    found, wanted = torch.compile(function, backend=compiler)(*args), function(*args)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
    return [op for op, _, _ in compiler.reports[-1].library_calls]


def test_bits_as_another_type(compiler: Compiler) -> None:
    x = torch.randn(5, 7)
    half, brain = x.half(), x.bfloat16()

    def function(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x, half, brain, wide = args
        return (
            (x + 1).view(torch.int32) >> 3,
            ((x * 2).view(torch.int32) ^ (1 << 31)).view(torch.float32) + 1,
            (half + half).view(torch.int16) + 1,
            (brain * 3).view(torch.int16) & 0x7FF,
            (brain.view(torch.int16) + 1).view(torch.bfloat16) * 2,
            (half.view(torch.int16) + 1).view(torch.float16) * 2,
            (wide.view(torch.int64) & ~0xFFFF).view(torch.float64) * 2,
        )

    assert same(compiler, function, x, half, brain, x.double()) == []


def test_hashes_of_tensors(compiler: Compiler) -> None:
    """By exclusive or: also of a row that a loop walks, and of one that is cut in two first."""
    long = torch.randn(3, 5000)

    def function(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        long, half, huge = args
        return (
            torch.hash_tensor(long * 2, 1, keepdim=True),
            torch.hash_tensor(half * 3, (0,)),
            torch.hash_tensor((long * 50).to(torch.int8)),
            torch.hash_tensor(long > 0, 1),
            torch.hash_tensor(huge + 1),
        )

    assert same(compiler, function, long, long.bfloat16(), torch.randn(70, 5000)) == []


def test_parts_of_numbers(compiler: Compiler) -> None:
    special = [0.0, -0.0, 1.0, -0.5, 3.5, 1e-40, -1e-45, 3e38, 2.0**-126]
    x = torch.tensor([*special, torch.inf, -torch.inf, torch.nan])
    wide = torch.cat([x.double(), torch.tensor([5e-324, 1e300])])

    def function(x: torch.Tensor, wide: torch.Tensor) -> tuple[torch.Tensor, ...]:
        finite = torch.where(x.isfinite(), x, 1.0)
        low, high = torch.where(wide.isfinite(), wide, 1.0), wide.clamp(-2, 2)
        kept = torch.frexp(x).mantissa, torch.frexp(high).mantissa
        return *torch.frexp(finite), *torch.frexp(low), *kept

    assert same(compiler, function, x, wide) == []


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_parts_of_computed_numbers_are_those_of_rounded_ones(
    compiler: Compiler, dtype: torch.dtype
) -> None:
    """The square of what is next to 1 rounds to 1, whose parts are a half and 1."""
    x = 1 - torch.arange(40) * torch.finfo(dtype).eps / 2

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (*torch.frexp(x * x), *torch.frexp(x - x * x))

    found = torch.compile(function, backend=compiler)(x.to(dtype))
    assert all(map(torch.equal, found, function(x.to(dtype))))


def test_whole_powers_of_constants(compiler: Compiler) -> None:
    """An exponent below 0 is a constant of the graph, not of the program (4812851)."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        low = (torch.arange(2) - 200)[-1:]
        every = x ** torch.full((), -3), x ** torch.full((1,), 5), (x > 0).long() ** low
        return 1**low, (-1) ** low, 2**low, x**low, *every

    x = torch.tensor([1, -1, 2, -7, 0])
    assert same(compiler, function, x) == []
    assert not compiler.reports[0].library_calls and not compiler.reports[0].failures


def test_fused_multiply_add_rounds_once(compiler: Compiler) -> None:
    if not hasattr(torch.ops.prims, "fma"):
        pytest.skip("this torch has no fma")
    if not hasattr(interpreter._interpreter, "fma_fp32"):  # Triton before 3.9
        pytest.skip("this Triton's interpreter multiplies and then adds; a GPU rounds once")
    a = torch.full((8,), 1 + 2.0**-12)
    c = -(a * a)

    def function(a: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.ops.prims.fma(a, a, c),)

    (found,) = torch.compile(function, backend=compiler)(a, c)
    assert found.unique().tolist() == [2.0**-24]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 100])
@pytest.mark.parametrize("right", [False, True])
def test_binary_searches(compiler: Compiler, count: int, right: bool) -> None:
    generator = torch.Generator().manual_seed(count)
    edges = torch.randint(-9, 9, (count,), generator=generator).float().sort().values
    rows = torch.randint(-9, 9, (3, count), generator=generator).sort(-1).values
    x = torch.randint(-10, 10, (3, 31), generator=generator).float()
    x[0, :3] = torch.tensor([torch.nan, torch.inf, -torch.inf])
    # A tensor without dimensions is taken in the boundaries' type, as a number is (4601248).
    third = edges.sigmoid()[0] if count else torch.tensor(0.3)

    def function(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x, edges, rows, third = args
        return (
            torch.bucketize(x * 1, edges, right=right),
            torch.searchsorted(edges, x, right=right, out_int32=True) + 1,
            torch.searchsorted(rows, x.nan_to_num(0.0, 5.0, -5.0).long(), right=right),
            torch.searchsorted(edges, 3, side="right" if right else "left"),
            torch.bucketize(third, edges.sigmoid().half(), right=right),
            torch.searchsorted(edges.sigmoid().half(), third, right=right),
        )

    assert same(compiler, function, x, edges, rows, third) == []


def test_kernels_that_search_check_themselves(
    compiler: Compiler, interpreter: InterpreterPool
) -> None:
    edges = torch.arange(37.0)
    torch.compile(lambda x: torch.bucketize(x, edges) * 2, backend=compiler)(torch.rand(40) * 37)
    (graph,) = compiler.compiled
    texts = [module.text for module, _ in graph.distinct()]
    assert any('"sorted"' in text for text in texts)
    for text in texts:
        checked = interpreter.check(text)
        assert checked.passed, checked.message


def test_an_order_given_apart_is_left_to_torch(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.searchsorted(x, x[:3] + 0.1, sorter=torch.argsort(x)),)

    assert "aten.searchsorted.Tensor" in same(compiler, function, torch.randn(12))


def test_constants_that_no_integer_is(compiler: Compiler) -> None:
    """They become what a number that is read becomes on a CPU, which the language leaves open."""

    def function(x: torch.Tensor) -> list[torch.Tensor]:
        numbers = (math.nan, math.inf, -math.inf, 1e30, 3e9, -3e9, 300.7, -1.2)
        kinds = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
        whole = [torch.full((2,), n, dtype=t) for n in numbers for t in (x.dtype, torch.float32)]
        return [(x * 0).to(kinds[0]), *(one.to(kind) for one in whole for kind in kinds)]

    assert same(compiler, function, torch.tensor([1.0, math.nan], dtype=torch.float64)) == []
