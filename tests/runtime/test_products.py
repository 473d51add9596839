from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from harness.runtime import products
from harness.runtime.products import in_slices

aten = torch.ops.aten


class Largest(TorchDispatchMode):
    """The most elements that any result has."""

    most = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func is aten.mul.Tensor:
            self.most = max(self.most, made.numel())
        return made


@pytest.mark.parametrize(
    ("dims", "keep"), [([-1], False), ([2, 0], True), ([0], False), ([0, 1, 2], False), ([], True)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_products_are_summed_in_slices(dims, keep, dtype, monkeypatch):
    monkeypatch.setattr(products, "_AT_ONCE", 20)
    one = torch.randint(-9, 9, (3, 1, 5)).to(dtype).expand(3, 4, 5)
    other = torch.randint(-9, 9, (4, 5)).to(dtype)

    def compute(a, b):
        return [aten.sum.dim_IntList(aten.mul.Tensor(a, b), dims, keep)]

    with Largest() as seen:
        (found,) = in_slices(compute)(one, other)
    (wanted,) = compute(one, other)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert torch.equal(found, wanted)
    assert seen.most <= (20 if len(dims) in (1, 2) else 60)


def test_a_product_that_something_else_reads_is_made(monkeypatch):
    monkeypatch.setattr(products, "_AT_ONCE", 1)
    one, other = torch.rand(3, 1, 5).mT, torch.rand(3, 5, 4)

    def compute(a, b):
        product = aten.mul.Tensor(a, b)
        again, changed = aten.mul.Tensor(product, b), aten.mul.Tensor(b, a)
        changed += 1
        aten.mul.Tensor(a, b)[0] = 7
        return [
            changed,
            changed.sum([0]),
            product,
            product.exp(),
            None,
            again.sum([0]),
            product.stride(),
            product.shape,
        ]

    for found, wanted in zip(in_slices(compute)(one, other), compute(one, other), strict=True):
        if isinstance(wanted, torch.Tensor):
            assert type(found) is torch.Tensor and torch.allclose(found, wanted)
        else:
            assert found == wanted
