"""Gradients of tables of which few rows are looked up."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
import torch
from torch.nn import functional

from harness.backend import Compiler, Devices
from harness.dtypes import DType
from harness.graph.passes import scatters


@pytest.mark.parametrize(("dtype", "unused"), [(torch.bfloat16, 3), (torch.float16, -1)])
def test_no_table_in_float32(
    monkeypatch: pytest.MonkeyPatch, devices: Devices, dtype: torch.dtype, unused: int
) -> None:
    """Rows that are looked up several times are added up before they are rounded."""
    monkeypatch.setattr(scatters, "LAUNCH", 0)
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    weight = torch.randn(500, 10).to(dtype).requires_grad_()
    tokens, given = torch.randint(-3, 6, (3, 11)) % 500, torch.randn(3, 11, 10).to(dtype)

    def step(weight: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        found = functional.embedding(tokens, weight, padding_idx=None if unused < 0 else unused)
        return (found * given).sum()

    run: Any = torch.compile(step, backend=compiler)
    run(weight, given).backward()
    exact = weight.detach().double().requires_grad_()
    step(exact, given.double()).backward()
    assert weight.grad is not None and exact.grad is not None
    torch.testing.assert_close(weight.grad, exact.grad.to(dtype), rtol=0.01, atol=0.001)
    programs = [r.program for g in compiler.compiled for r in g.regions if r.program is not None]
    numel = weight.numel()
    tables = [b.dtype for p in programs for b in p.buffers if sympy.Mul(*b.shape) == numel]
    assert tables and DType.F32 not in tables
