"""Special functions on all the ranges that they are put together from, against mpmath."""

from __future__ import annotations

import math

import mpmath
import torch

from harness.backend import Compiler


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
