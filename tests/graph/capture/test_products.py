"""Matrix products whose rows start at odd addresses."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from harness.graph.capture.aot import fake_mode, normalise
from harness.graph.capture.libraries import products
from harness.graph.capture.libraries.products import padded, row_length
from harness.graph.own_operators import interleaved_mm

aten = torch.ops.aten


def half(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.randn(shape).to(dtype)


def logits(x: torch.Tensor, w: torch.Tensor) -> Any:
    """A product with odd rows in its result."""
    return x @ w.t()


def gradients(g: torch.Tensor, w: torch.Tensor, x: torch.Tensor) -> Any:
    """Two products of one matrix with odd rows, once transposed."""
    flat = g.view(-1, w.shape[0])
    return flat @ w, flat.t() @ x


def biased(g: torch.Tensor, w: torch.Tensor, x: torch.Tensor) -> Any:
    """The same beside a bias's gradient."""
    flat = torch.tanh(g.view(-1, w.shape[0]))
    return flat @ w, flat.t() @ x, flat.sum(0), flat.sum([0], keepdim=True, dtype=torch.float32)


def biased_across(g: torch.Tensor, w: torch.Tensor) -> Any:
    """A transpose is copied, and the matrix itself is added up."""
    return torch.empty_like(w.t()).copy_(g) @ w, torch.empty_like(w.t()).copy_(g).sum(0)


def added(b: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> Any:
    """A product with odd rows in its result and a vector added, read afterwards."""
    y = torch.addmm(b, x, w.t())
    return y.float().softmax(1), y


def matrix_added(c: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> Any:
    """A matrix is added: left alone."""
    return torch.addmm(c, x.t(), w.t())


def square(x: torch.Tensor, w: torch.Tensor) -> Any:
    """All sizes odd, and the same; memory whose transpose no node is."""
    return x.t() @ torch.empty_like(w.t()).copy_(w)


CASES: dict[str, tuple[Any, ...]] = {
    "logits": (logits, (800, 512), (33, 512)),
    "gradients": (gradients, (16, 100, 33), (33, 512), (1600, 512)),
    "biased": (biased, (16, 100, 33), (33, 512), (1600, 512)),
    "biased_across": (biased_across, (777, 777), (777, 777)),
    "added": (added, (33,), (800, 512), (33, 512)),
    "square": (square, (777, 777), (777, 777)),
    "float16": (logits, (800, 512), (33, 512)),
}


def case(name: str) -> tuple[Any, ...]:
    """The function and its operands."""
    function, *shapes = CASES[name]
    dtype = torch.float16 if name == "float16" else torch.bfloat16
    return function, *(half(*shape, dtype=dtype) for shape in shapes)


def rewritten(function: Any, *inputs: torch.Tensor) -> tuple[fx.GraphModule, Any]:
    made = make_fx(function, tracing_mode="fake")(*inputs)
    normalise(made)
    wanted = made(*inputs)
    padded(made)
    made.recompile()
    return made, wanted


@pytest.mark.parametrize("name", CASES)
def test_results_are_the_graphs(name: str) -> None:
    function, *inputs = case(name)
    made, wanted = rewritten(function, *inputs)
    products = [n for n in made.graph.nodes if n.target in (aten.mm.default, aten.addmm.default)]
    for node in products:  # every size but the number of rows and the depth that stand alone
        for operand in (node, *node.args[-2:]):
            assert min(operand.meta["val"].stride()) == 1
            assert max(operand.meta["val"].stride()) % 8 == 0
    got = made(*inputs)
    pairs = zip(*(torch.utils._pytree.tree_leaves(one) for one in (got, wanted)), strict=True)
    for a, b in pairs:
        assert a.stride() == b.stride() and a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2 * float(b.abs().max()))


INTERLEAVED = torch.ops.harness.interleaved_mm.default


@pytest.mark.parametrize("name", ["logits", "added", "float16"])
def test_rows_that_lie_alike_are_products_of_their_own(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row of the result is padded, and nothing cut out. A vector is eight columns of depth."""
    monkeypatch.setattr(products, "_INTERLEAVED", (1, 1))
    function, *inputs = case(name)
    made, wanted = rewritten(function, *inputs)
    targets = [node.target for node in made.graph.nodes]
    assert targets.count(INTERLEAVED) == 1
    assert not {aten.mm.default, aten.addmm.default, aten.slice.Tensor} & {*targets}
    (product,) = made.graph.find_nodes(op="call_function", target=INTERLEAVED)
    depth = 520 if name == "added" else 512
    assert [tuple(n.meta["val"].shape) for n in product.args] == [(800, depth), (depth, 33)]
    assert targets.count(aten.constant_pad_nd.default) == (2 if name == "added" else 0)
    pairs = zip(
        *(torch.utils._pytree.tree_leaves(one) for one in (made(*inputs), wanted)), strict=True
    )
    for a, b in pairs:
        assert a.stride() == b.stride() and a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2 * float(b.abs().max()))


@pytest.mark.parametrize(
    ("rows", "columns", "interleaved"),
    [(2048, 50257, True), (512, 51865, True), (256, 50257, False), (8192, 1001, False)],
)
def test_only_results_that_fill_the_device_are_interleaved(
    rows: int, columns: int, interleaved: bool
) -> None:
    with fake_mode():
        made = make_fx(logits)(half(rows, 768), half(columns, 768))
        normalise(made)
        trained = copy.deepcopy(made)
        with trained.graph.inserting_before(next(iter(trained.graph.nodes))):
            trained.graph.placeholder("tangents_1")
        padded(made)
        padded(trained)
    found = [
        one.graph.find_nodes(op="call_function", target=INTERLEAVED) for one in (made, trained)
    ]
    assert [*map(bool, found)] == [interleaved, interleaved and rows > 512]


@pytest.mark.parametrize("columns", [33, 50, 1001, 1005, 1007, 1012, 1008])
@pytest.mark.parametrize("turned", [False, True])
def test_interleaved_products(columns: int, turned: bool) -> None:
    """Of any number of rows and any layout of the operands, with one rounding."""
    for rows in (1, 7, 16, 37):
        a = half(48, rows).t() if turned else half(rows, 48)
        b = half(48, columns) if turned else half(columns, 48).t()
        made, wide = interleaved_mm(a, b), a.double() @ b.double()
        assert made.stride() == (columns, 1)
        torch.testing.assert_close(made.double(), wide, rtol=2**-8, atol=1e-4)


def test_every_row_of_a_batch_begins_at_16_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And all batches but the narrow ends are one call, whose columns fill the rows."""
    calls: list[tuple[Any, ...]] = []
    bmm = torch.bmm

    def seen(*given: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        calls.extend((t.shape, t.stride(), t.storage_offset()) for t in named.values())
        return bmm(*given, **named)

    monkeypatch.setattr(torch, "bmm", seen)
    interleaved_mm(half(16, 8), half(50257, 8).t())
    assert calls == [((8, 2, 50208), (50264, 402056, 1), 0)]
    calls.clear()
    interleaved_mm(half(16, 8), half(30522, 8).t())
    assert calls == [((4, 4, 30504), (30528, 122088, 1), 0)]


def test_what_is_copied_for_a_product_is_added_up_from_the_copy() -> None:
    """So nobody else reads the matrix that is copied."""
    made, _ = rewritten(*case("biased"))
    (matrix,) = made.graph.find_nodes(op="call_function", target=aten.tanh.default)
    readers = [user.target for user in matrix.users if user.users]
    assert readers == [aten.constant_pad_nd.default]
    sums = made.graph.find_nodes(op="call_function", target=aten.sum.dim_IntList)
    assert [tuple(node.args[0].meta["val"].shape) for node in sums] == [(1600, 40), (1600, 40)]


def test_a_matrix_read_twice_is_copied_once() -> None:
    function, *inputs = case("gradients")
    made, _ = rewritten(function, *inputs)
    copies = [n for n in made.graph.nodes if n.target is aten.constant_pad_nd.default]
    assert [tuple(n.meta["val"].shape) for n in copies].count((1600, 40)) == 1


@pytest.mark.parametrize(("depth", "dtype"), [(64, torch.bfloat16), (512, torch.float32)])
def test_what_does_not_pay_is_left_alone(depth: int, dtype: torch.dtype) -> None:
    """Little depth: the copies cost more than the product. 32 bits: other kernels."""
    made, _ = rewritten(logits, half(800, depth, dtype=dtype), half(33, depth, dtype=dtype))
    assert not any(n.target is aten.constant_pad_nd.default for n in made.graph.nodes)


def test_a_sum_with_a_matrix_is_left_alone() -> None:
    inputs = half(33, 35), half(800, 33), half(35, 800)
    made, wanted = rewritten(matrix_added, *inputs)
    assert not any(n.target is aten.constant_pad_nd.default for n in made.graph.nodes)
    torch.testing.assert_close(made(*inputs), wanted)


@pytest.mark.parametrize(("columns", "row"), [(50257, 50264), (8, 8), (1, 8)])
def test_rows_of_whole_16_bytes(columns: int, row: int) -> None:
    assert row_length(columns, 2) == row
