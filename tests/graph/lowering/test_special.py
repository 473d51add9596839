"""Special functions on all the ranges that they are put together from, against mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import pytest
import torch

from harness.backend import Compiler
from harness.ir.nodes import Compute, values
from harness.ir.ops import Op


def gamma_ratios(a: float, x: float) -> tuple[float, float]:
    """The regularised incomplete gamma functions, lower and upper."""
    with mpmath.workdps(40):
        parts = [mpmath.gammainc(a, *ends, regularized=True) for ends in ((0, x), (x,))]
    return float(parts[0]), float(parts[1])


def test_incomplete_gamma_functions(compiler: Compiler) -> None:
    """Up to 1.1, below the parameter, above it, and the expansion of large ones that are near."""
    at = [(a, x) for a in (1e-9, 0.3, 1.0, 4.5) for x in (1e-6, 0.4, 1.1, 1.2, 9.0)]
    at += [(a, a * by) for a in (40.0, 199.0) for by in (0.5, 0.99, 1.0, 1.01, 1.7)]
    at += [(a, a * by) for a in (201.0, 3e3) for by in (0.2, 0.35, 0.97, 1.0, 1.03, 1.8, 2.5)]
    a, x = torch.tensor(at, dtype=torch.float64).T.contiguous()
    wanted = torch.tensor([gamma_ratios(*pair) for pair in at], dtype=torch.float64).T

    def both(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([torch.special.gammainc(a, x), torch.special.gammaincc(a, x)])

    found = torch.compile(both, backend=compiler)(a, x)
    torch.testing.assert_close(found, wanted, rtol=1e-11, atol=1e-300)
    narrow = torch.compile(both, backend=compiler)(a.float(), x.float())
    torch.testing.assert_close(narrow[:, :20].double(), wanted[:, :20], rtol=1e-5, atol=1e-38)
    edges = torch.tensor(
        [(0, 1), (0, 0), (2, 0), (-1, 2), (2, -1), (math.inf, 3), (3, math.inf), (math.nan, 2)]
    )
    found = torch.compile(both, backend=compiler)(*edges.T.contiguous())
    torch.testing.assert_close(found, both(*edges.T.contiguous()), equal_nan=True)
    assert all(not report.library_calls for report in compiler.reports)


POLYNOMIALS = [name for name in dir(torch.special) if "polynomial" in name]


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_where_their_formulas_meet(name: str, compiler: Compiler) -> None:
    """The values at the ends, cosines between them, recurrences beyond, up to overflow; orders
    below zero, cut off, and past what eager mode computes."""
    exact = getattr(torch.special, name)
    at = [-1.0, 1.0, 0.0, -0.0, 0.5, 0.3, -0.7, 0.96, 1.3, -2.5, 7.0, math.inf, -math.inf]
    orders = [-1, -0.5, 0, 1, 2, 3.9, 6, 7, 8, 9, 12, math.nan, -math.inf]
    orders += [128, 129, 512, 513] * ("hermite" in name)
    pairs = torch.tensor([(x, n) for x in at for n in orders], dtype=torch.float64)
    x, n = pairs.T.contiguous()
    compiled = torch.compile(exact, backend=compiler)
    torch.testing.assert_close(compiled(x, n), exact(x, n), rtol=1e-8, atol=1e-8, equal_nan=True)
    few = (n <= 12) | n.isnan()
    x, n = x[few].float(), n[few].float()
    torch.testing.assert_close(compiled(x, n), exact(x, n), rtol=1e-4, atol=1e-5, equal_nan=True)
    nothing = compiled(torch.full((3,), math.nan), torch.tensor([-1.0, 0.0, 1.0]))
    expected = torch.tensor([0.0, 1.0, math.nan])
    torch.testing.assert_close(nothing, expected, equal_nan=True)
    assert all(not report.library_calls for report in compiler.reports)


MIXED = [
    (torch.bool, torch.int32),
    (torch.uint8, torch.int8),
    (torch.int16, torch.float32),
    (torch.int64, torch.float64),
    (torch.float16, torch.float32),
    (torch.float32, torch.bfloat16),
    (torch.float64, torch.int64),
    (torch.float32, torch.bool),
]


@pytest.mark.parametrize("types", MIXED, ids=str)
def test_polynomials_of_types_that_are_mixed(
    types: tuple[torch.dtype, torch.dtype], compiler: Compiler
) -> None:
    """Points of one type and orders of another, as fractions where that type has any."""

    def every(x: torch.Tensor, n: torch.Tensor) -> list[torch.Tensor]:
        return [getattr(torch.special, name)(x, n) for name in POLYNOMIALS]

    points = torch.tensor([-200.0, -7, -1, -0.7, -0.0, 0.0, 0.25, 0.96, 1, 1.5, 3, 100, math.inf])
    orders = torch.tensor([-100.0, -1.5, -1, -0.5, 0, 0.9, 1, 2, 2.7, 6, 6.9, 7, 8, 9, 31, 100])
    point, order = types
    if not point.is_floating_point:
        points = points[:-1].to(torch.int64)
    x = points.to(point).repeat_interleave(len(orders))
    n = orders.to(order).repeat(len(points))
    found, wanted = torch.compile(every, backend=compiler)(x, n), every(x, n)
    for a, b in zip(found, wanted, strict=True):
        bound = 1e-9 if b.dtype is torch.float64 else 1e-4
        torch.testing.assert_close(a, b, rtol=bound, atol=bound, equal_nan=True)
    assert all(not report.library_calls for report in compiler.reports)


def test_orders_and_points_that_are_numbers(compiler: Compiler) -> None:
    def both(x: torch.Tensor) -> torch.Tensor:
        special = torch.special
        rising = special.chebyshev_polynomial_u(0.25, x.abs())
        return special.legendre_polynomial_p(x, 3) + rising

    x = torch.tensor([-0.5, 0.5, 1.5, 2.0])
    # (5 x^3 - 3 x) / 2, and 1, 0.5 or -0.75 for orders 0, 1 and 2
    expected = torch.tensor([0.4375 + 1, -0.4375 + 1, 6.1875 + 0.5, 17.0 - 0.75])
    torch.testing.assert_close(torch.compile(both, backend=compiler)(x), expected)
    assert all(not report.library_calls for report in compiler.reports)


def capped(x: torch.Tensor, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    curve = torch.tanh(x / 4)
    return curve * 4, grad * (1 - curve * curve)


def curved(x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    curve = torch.tanh(x)
    return grad * (1 + curve) + grad * x * (1 - curve * curve)


def alone(x: torch.Tensor, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    curve = torch.tanh(x)
    return curve, grad * (1 - curve * curve)


@pytest.mark.parametrize(("function", "kept"), [(capped, True), (curved, False), (alone, True)])
def test_one_less_the_square_of_a_tanh_takes_one_exponential(
    function: Callable[..., Any], kept: bool, compiler: Compiler
) -> None:
    """The tanh's own where that is needed itself, else a sigmoid's."""
    x, grad = torch.randn(300) * 5, torch.randn(300)
    found = torch.compile(function, backend=compiler)(x, grad)
    torch.testing.assert_close(found, function(x, grad), rtol=2e-6, atol=2e-6)
    (kernel,) = compiler.compiled[-1].kernels
    ops = {v.op for v in values(kernel.source.plan.stores) if isinstance(v, Compute)}
    assert ops & {Op.TANH, Op.SIGMOID} == {Op.TANH if kept else Op.SIGMOID}


def test_a_tanh_is_also_kept_whose_conversion_is_squared(compiler: Compiler) -> None:
    def function(x: torch.Tensor, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        curve = torch.tanh(x / 4)
        return curve * 4, grad * (1 - curve.float() * curve.float())

    x, grad = (torch.randn(300) * 5).bfloat16(), torch.randn(300)
    found = torch.compile(function, backend=compiler)(x, grad)[1]
    torch.testing.assert_close(found, capped(x.float(), grad)[1], rtol=2e-6, atol=2e-6)
    (kernel,) = compiler.compiled[-1].kernels
    ops = {v.op for v in values(kernel.source.plan.stores) if isinstance(v, Compute)}
    assert ops & {Op.TANH, Op.SIGMOID} == {Op.TANH}
