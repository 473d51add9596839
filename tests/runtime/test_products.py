"""Sums over products as a check's reference has them."""

from __future__ import annotations

import pytest
import torch

from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.runtime import module as modules
from harness.runtime import products
from harness.runtime.products import in_slices, summed_products
from harness.target import find_target

PRODUCTS = """# harness graph 1
def g(
    a: "f32[4, 8, 1, 32]",
    b: "f32[4, 1, 16, 32]",
):
    c: "f32[4, 8, 16, 32]" = aten.mul.Tensor(a, b)
    d: "f32[4, 8, 16]" = aten.sum.dim_IntList(c, [3])
    return (d,)
"""


def loaded(text: str) -> modules.LoadedModule:
    (kernel,) = compile_graph(loads(text), find_target("sm_90")).kernels
    return modules.load(kernel.module.text)


def test_a_check_sums_products_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it is held against is the same; no product of the whole is ever made."""
    monkeypatch.setattr(products, "_AT_ONCE", 1)
    module, made = loaded(PRODUCTS), list[int]()
    args = module.get_args(device="cpu")
    wanted = module.reference(args)
    sum_products = products.summed_products

    def watched(*given: torch.Tensor) -> torch.Tensor:
        made.append(sum(one.numel() for one in given[:2]))
        return sum_products(*given)

    monkeypatch.setattr(modules, "summed_products", watched)

    def launch(given: modules.Arguments) -> None:
        for place, want in zip(module.outputs, wanted, strict=True):
            given[place].copy_(want)

    assert module.check([*args], launch=launch)["passed"]
    assert made and set(made) == {4 * 8 * 32 + 4 * 16 * 32}
    for wide in (True, False):
        found = modules.frugal(module)([*args], wide)
        assert all(map(torch.equal, found, module.reference(args, wide)))


def test_a_product_that_is_read_again_is_made() -> None:
    text = """def reference(args):
    c = torch.ops.aten.mul.Tensor(a, b)
    d = torch.ops.aten.sum.dim_IntList(c, [3], True)
    return [d]
"""
    assert "d = summed_products(a, b, [3], True)\n" in in_slices(text)
    other = text.replace("[d]", "[d, c]")
    assert in_slices(other) == other


DIMENSIONS = [([-1], False), ([2, 0], True), ([0, 1, 2], False), ([], False), ([], True)]


@pytest.mark.parametrize(("dims", "keep"), DIMENSIONS)
def test_products_are_summed_in_slices(
    dims: list[int], keep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_AT_ONCE", 1)
    one = torch.rand(3, 1, 5)
    for other in (torch.rand(4, 5), torch.rand(()), 2):
        wanted = (one * other).sum(dims, keep)
        found = summed_products(one, other, dims, keep)
        assert found.shape == wanted.shape and torch.allclose(found, wanted)
