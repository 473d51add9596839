"""Gradients of tables of which few rows are looked up."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

from harness.backend import Compiler, Devices
from harness.graph.capture import rules
from harness.graph.model import TensorType


@pytest.mark.parametrize(("dtype", "unused"), [(torch.bfloat16, 3), (torch.float16, -1)])
def test_no_table_in_float32(
    monkeypatch: pytest.MonkeyPatch, devices: Devices, dtype: torch.dtype, unused: int
) -> None:
    """Rows that are looked up several times are added up before they are rounded."""
    monkeypatch.setattr(rules, "LARGE_TABLE", 0)
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
    kinds = [node.type for g in compiler.compiled for node in g.partition.graph.nodes]
    tables = [k for k in kinds if isinstance(k, TensorType) and k.numel == weight.numel()]
    assert tables and not any(k.dtype.torch_name == "float32" for k in tables)


@pytest.mark.parametrize(
    ("count", "table", "dtype", "large"),
    [
        (1024, (50257, 768), torch.bfloat16, True),
        (8192, (30522, 768), torch.bfloat16, False),  # comparing 8192 indices moves more
        (1024, (50257, 768), torch.float32, False),  # which is the table's own type
        (0, (50257, 768), torch.bfloat16, False),
        (64, (1000, 64), torch.bfloat16, False),  # a launch more saves nothing
    ],
)
def test_where_it_moves_fewer_bytes(
    count: int, table: tuple[int, int], dtype: torch.dtype, large: bool
) -> None:
    rule = rules.rules_of_device()[torch.ops.aten.embedding_dense_backward.default]
    rows = torch.empty(count, table[1], dtype=dtype, device="meta")
    tokens = torch.empty(count, dtype=torch.int64, device="meta")
    traced = make_fx(lambda g, t: rule(g, t, table[0], -1, False))(rows, tokens)
    assert any(n.target is torch.ops.aten.amin.default for n in traced.graph.nodes) == large
    assert traced(rows, tokens).shape == table and traced(rows, tokens).dtype is dtype
