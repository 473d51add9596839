"""Sums of 16-bit numbers at computed positions, and types that no kernel computes with."""

from __future__ import annotations

import pytest
import torch

from harness.backend import Compiler, Devices


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sums_at_computed_positions_round_once(compiler: Compiler, dtype: torch.dtype) -> None:
    def function(x: torch.Tensor, at: torch.Tensor, s: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows = at[:, None].expand(-1, 8)
        added = x.index_add(0, at, s, alpha=2), torch.index_put(x, (at,), s, accumulate=True)
        return x.scatter_add(0, rows, s), *added

    x, s = torch.randn(5, 8).to(dtype), torch.rand(600, 8).to(dtype)
    at = torch.randint(0, 5, (600,))
    found = torch.compile(function, backend=compiler)(x, at, s)
    wanted = function(x.double(), at, s.double())
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=torch.finfo(dtype).eps, atol=0)
    assert compiler.reports[-1].library_calls == ()


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fnuz, torch.float8_e5m2fnuz], ids=str)
def test_formats_without_instructions_are_named(devices: Devices, dtype: torch.dtype) -> None:
    torch.compiler.reset()
    compiler = Compiler(devices=devices)
    x = torch.randn(6).to(dtype)
    found = torch.compile(lambda x: x.float() * 2, backend=compiler)(x)
    assert torch.equal(found, x.float() * 2)
    ((op, _, reason),) = compiler.reports[-1].library_calls
    assert op == "aten._to_copy.default" and f"no arithmetic on {str(dtype)[6:]}" in reason
