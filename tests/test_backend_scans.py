"""Scans and sorts through torch.compile in the interpreter, against eager mode."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from sympy import Expr, Integer

from harness.backend import Compiler, Devices
from harness.dtypes import DType
from harness.graph.lowering import lower
from harness.graph.model import Graph, Input, Node, Ref, TensorType
from harness.ir.index import size_symbol
from harness.ir.nodes import IndexValue, walk

INTEGERS = (torch.uint8, torch.int32, torch.int64)
FLOATS = (torch.bfloat16, torch.float32, torch.float64)
Function = Callable[..., Any]


@pytest.fixture(scope="module")
def compiler(devices: Devices) -> Iterator[Compiler]:
    torch.compiler.reset()
    yield Compiler(devices=devices)
    torch.compiler.reset()


def _operand(rng: random.Random, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Random values with ties, and of floats NaN, infinities and zeros of both signs."""
    generator = torch.Generator().manual_seed(rng.randrange(1 << 30))
    made = torch.randint(-4 if dtype is not torch.uint8 else 0, 5, shape, generator=generator)
    made = made.to(dtype)
    if dtype.is_floating_point:
        odd = torch.tensor([torch.nan, torch.inf, -torch.inf, -0.0, 0.5], dtype=dtype)
        drawn = torch.randint(0, 40, shape, generator=generator)
        made = torch.where(drawn < 5, odd[drawn.clamp(max=4)], made)
    return made


def _same(got: Any, wanted: Any) -> None:
    for ours, theirs in zip(got, wanted, strict=True):
        assert ours.dtype is theirs.dtype and ours.shape == theirs.shape
        assert ours.stride() == theirs.stride()
        torch.testing.assert_close(ours, theirs, equal_nan=True)


def several(x: torch.Tensor, dim: int, k: int) -> Any:
    """Everything that is the same for every type, positions included."""
    high, where = torch.cummax(x, dim)
    low, there = torch.cummin(x, dim)
    values, order = torch.sort(x, dim=dim, descending=True, stable=True)
    again, back = torch.sort(x, dim=dim, stable=True)
    top = torch.topk(x, k, dim).values
    small = torch.topk(x, k, dim, largest=False).values
    middle = x.kthvalue(k, dim, keepdim=True).values
    total = torch.cumsum(x, dim, dtype=torch.float64)
    product = torch.cumprod(x, dim)
    median = x.median(dim).values, x.nanmedian(dim, True).values, x.median()
    return (high, where, low, there, values, order, again, back, top, small, middle, total,
            product, *median, torch.msort(x), x.argsort(dim=dim, stable=True))  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_random_rows_come_out_as_in_eager_mode(compiler: Compiler, seed: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.choice((1, 2, 3, 7, 20)) for _ in range(rng.choice((1, 2, 3))))
    dtype = rng.choice((*INTEGERS, *FLOATS, torch.float16))
    dim = rng.randrange(-len(shape), len(shape))
    k = rng.randint(1, shape[dim])
    x = _operand(rng, shape, dtype)
    if len(shape) > 1 and rng.random() < 0.5:
        x = x.transpose(0, -1).contiguous().transpose(0, -1)
    _same(torch.compile(several, backend=compiler, dynamic=False)(x, dim, k), several(x, dim, k))
    assert not compiler.reports[-1].library_calls and not compiler.reports[-1].fallbacks


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3)], ids=str)
def test_rows_of_nothing_and_numbers(compiler: Compiler, shape: tuple[int, ...]) -> None:
    def run(x: torch.Tensor) -> Any:
        return (*x.sort(-1), *x.cummax(-1), x.cumsum(-1), *x.topk(min(1, x.numel()), -1))

    x = torch.ones(shape)
    _same(torch.compile(run, backend=compiler, dynamic=False)(x), run(x))


def gradients(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """A loss through every differentiable scan and sort."""
    values, places = torch.topk(x, 3, dim=0)
    parts = [
        torch.cumsum(x * 2, 1) * weight,
        torch.cumprod(x, 1) * weight,
        torch.logcumsumexp(x, 1) * weight,
        torch.cummax(x, 1).values * weight,
        torch.sort(x, 1, descending=True).values * weight,
        values * weight[:3],
        x.gather(0, places),
        x.kthvalue(2, 1).values,
        x.median(0).values * weight[0],
        torch.cumsum(x, 0).flip(0) * weight,
    ]
    return torch.stack([part.sum() for part in parts]).sum()


def test_gradients_are_those_of_eager_mode(compiler: Compiler) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(5, 23, requires_grad=True), torch.rand(5, 23)
    wanted = torch.autograd.grad(gradients(x, weight), x)
    got = torch.autograd.grad(
        torch.compile(gradients, backend=compiler, dynamic=False)(x, weight), x
    )
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


def test_what_is_too_long_for_one_program_stays_a_library_call(compiler: Compiler) -> None:
    x = torch.randn(2, 5000)
    run = torch.compile(lambda x: torch.sort(x * 2, 1), backend=compiler, dynamic=False)
    _same(run(x), torch.sort(x * 2, 1))
    ((op, count, why),) = compiler.reports[-1].library_calls
    assert (op, count) == ("aten.sort.default", 1)
    assert why.endswith("capture takes it apart only where one program can sort a row")


def test_a_split_scan_runs_in_a_whole_graph(compiler: Compiler) -> None:
    x = torch.randint(0, 9, (2, 17000))
    run = torch.compile(lambda x: torch.cumsum(x + 1, 1) * 2, backend=compiler, dynamic=False)
    _same([run(x)], [torch.cumsum(x + 1, 1) * 2])
    assert compiler.reports[-1].kernels == 1


def test_sizes_that_vary_scan_and_leave_sorts_to_the_library(compiler: Compiler) -> None:
    def run(x: torch.Tensor) -> Any:
        return torch.cumsum(x * 2, 1), x.cummax(0).indices, x.sort(1).values

    compiled = torch.compile(run, backend=compiler, dynamic=True)
    for shape in ((5, 7), (3, 40)):
        x = torch.randn(shape)
        _same(compiled(x), run(x))
    assert [op for op, _, _ in compiler.reports[-1].library_calls] == ["aten.sort.default"]


def test_the_interpreter_adds_a_row_up_in_a_tree_as_a_device_does(devices: Devices) -> None:
    x = torch.full((4000,), 0.1)
    found = torch.compile(lambda x: x.cumsum(0), backend=Compiler(devices=devices))(x)
    exact = x.double().cumsum(0)
    assert ((found - exact) / exact).abs().max() < 1e-6  # one after the other: 4e-5


RANKING: dict[str, Function] = {
    "the largest": lambda x: x.erf().cummax(1)[1],
    "the smallest": lambda x: x.erf().neg().cummin(1)[1],
    "an order": lambda x: x.erf().sort(dim=1, stable=True)[1],
}


@pytest.mark.parametrize("name", RANKING)
def test_computed_numbers_that_are_equal_in_16_bits_are_ties(compiler: Compiler, name: str) -> None:
    # Of erf in float32, which a kernel has, no two are equal.
    x = torch.linspace(-2.7, -3.2, 35).half().view(1, 7, 5)
    _same([torch.compile(RANKING[name], backend=compiler)(x)], [RANKING[name](x)])


def _rows_then_pieces(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[::5].mean(1, keepdim=True).cumsum(-1).flatten()] * 3)


def _columns_then_pieces(x: torch.Tensor) -> torch.Tensor:
    sums = x[::5].cumsum(-1)
    return torch.cat([sums.view(1, x.shape[1])] * 3)


@pytest.mark.parametrize("function", [_rows_then_pieces, _columns_then_pieces])
def test_a_size_that_the_result_knows_to_be_one(compiler: Compiler, function: Function) -> None:
    """Of the operand it is ``(s + 4) // 5``: what is read stands where the result's index is."""
    torch.compiler.reset()
    x = torch.randn(4, 2)
    got = torch.compile(function, backend=compiler, dynamic=True)(x)
    assert not compiler.reports[-1].fallbacks
    torch.testing.assert_close(got, function(x))


def test_a_copied_slice_of_a_scan(devices: Devices) -> None:
    """To the end of the row, too. Where that is unknown places are compared in 64 bits, which hold
    it whatever it is."""
    slices: list[Function] = [
        lambda x: torch.slice_copy(x.cumsum(1), 1, 2),
        lambda x: torch.slice_copy(x.sort(1)[0], 1, 3),
        lambda x: torch.slice_copy(x.cummax(1)[1], 1, 2, -3),
    ]
    for dynamic in (False, True):
        torch.compiler.reset()
        for function in slices:
            compiler = Compiler(devices=devices, fail_on_fallback=True)
            x = torch.randn(3, 50)
            run = torch.compile(function, backend=compiler, dynamic=dynamic)
            torch.testing.assert_close(run(x), function(x))


@pytest.mark.parametrize(
    ("size", "kind"), [(Integer(50), DType.I32), (size_symbol("s0"), DType.I64)]
)
def test_places_in_a_row_are_compared_in_as_many_bits_as_hold_them(size: Expr, kind: DType) -> None:
    row = TensorType(DType.F32, (Integer(3), size), (size, Integer(1)))
    part = TensorType(DType.F32, (Integer(3), size - 2), (size - 2, Integer(1)))
    nodes = (
        Node("scan", "aten.cumsum.default", (Ref("x"), 1), (), row),
        Node("cut", "aten.slice_copy.Tensor", (Ref("scan"), 1, 2), (), part),
    )
    graph = Graph("g", (Input("x", row),), nodes, ("cut",))
    masks = [store.mask for nest in lower(graph).nests for store in nest.stores if store.mask]
    compared = [v for mask in masks for v in walk([mask]) if isinstance(v, IndexValue)]
    assert compared and all(value.dtype is kind for value in compared)
