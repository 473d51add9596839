"""Views that name places in memory, compiled: what they read may lie outside the tensor they are
made from, and may begin before it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.errors import FallbackWarning
from harness.executor import prepare_graph
from harness.graph.capture.libraries import products
from tests.running import NOT_LAUNCHED

READING: dict[str, Callable[[Tensor], object]] = {
    "beyond it": lambda x: x[:1].as_strided((2, 2), (4, 1)) * 2,
    "before it": lambda x: x[2:].as_strided((2, 2), (4, 1), 0) * 2,
    "between columns": lambda x: x[:, 1:3].as_strided((2, 2), (4, 1), 5) * 2,
    "of an input": lambda x: (x.as_strided((2, 3), (4, 1), 3) * 2, x + 1),
    "of a result": lambda x: (x + 1)[2:].as_strided((2, 3), (4, 1), 5) * 2,
    "of a copy": lambda x: (x.t() + 1).contiguous()[0, 1:].as_strided((7,), (1,)) * 2,
    "of an empty view": lambda x: x[:0].as_strided((2, 3), (4, 1)) * 2,
    "of a view of an empty view": lambda x: x[2:2][..., 1:].as_strided((2, 3), (4, 1)) * 2,
    "of an empty view of a result": lambda x: (x + 1)[:0].as_strided((2, 3), (4, 1)) * 2,
    "changed": lambda x: (x.as_strided((2, 2), (4, 1), 5).zero_(), x * 2),
    "before a change": lambda x: (x[:, ::2].as_strided((6, 4), (4, 1)) * 2 + x.add_(1).sum(),),
    "before a change elsewhere": lambda x: (
        x[:, ::2].as_strided((6, 4), (4, 1)) * 2,
        x.copy_((x.softmax(1) @ x.t())[:, :4].exp()),
    ),
    "written": lambda x: torch.as_strided_scatter(x, x[:2, :2] - 1, (2, 2), (4, 1), 5) * 2,
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", READING)
def test_a_place_in_memory(compiler: Compiler, name: str, dynamic: bool | None) -> None:
    function, memory = READING[name], torch.arange(60.0)
    compiled = torch.compile(function, backend=compiler, dynamic=dynamic)
    # A change through such a view of a later input torch.compile gets wrong with any backend.
    for offset in (0, 6, 12) if name != "changed" else (0,):
        x, y = (memory.clone()[offset : offset + 24].view(6, 4) for _ in range(2))
        torch.testing.assert_close((compiled(y), y), (function(x), x))


def test_a_detached_view_beside_its_value_has_no_gradient(compiler: Compiler) -> None:
    x = torch.randn(4, 33, requires_grad=True)

    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        v = x * 2
        return v.detach()[::2], v

    view, value = torch.compile(function, backend=compiler)(x)
    assert not view.requires_grad and value.requires_grad
    assert view.untyped_storage().data_ptr() == value.untyped_storage().data_ptr()


def test_zeros_without_memory_that_torch_makes_of_gradients(compiler: Compiler) -> None:
    x = torch.tensor([[2.0, 0.0], [3.0, 5.0]], requires_grad=True)

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.prod(0).sgn() + 1

    made = torch.compile(function, backend=compiler)(x)
    (found,) = torch.autograd.grad(made.sum(), x)
    assert torch.equal(made, function(x)) and not found.any()


def test_views_of_one_value_that_torch_changes_later_are_compiled(compiler: Compiler) -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        v = x * 2
        turned, row = v.mT, v[1]
        torch._dynamo.graph_break()
        row.add_(1)
        return turned + row.sum(), v

    x = torch.randn(4, 3)
    found = torch.compile(function, backend=compiler)(x)
    assert all(map(torch.equal, found, function(x)))
    assert not [report.eager for report in compiler.reports if report.eager]


def test_whole_numbers_beside_gradients_are_views_for_torch(compiler: Compiler) -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        n = (x * 3).detach().int()
        row, twice = n[1], x * 2
        torch._dynamo.graph_break()
        row.add_(1)
        return n * 2, row, twice * twice

    x = torch.randn(4, 3, requires_grad=True)
    found = torch.compile(function, backend=compiler)(x)
    assert all(map(torch.equal, found, function(x)))
    assert not [report.eager for report in compiler.reports if report.eager]


@pytest.mark.parametrize("graded", [False, True])
def test_floats_without_a_gradient_are_views_for_torch(compiler: Compiler, graded: bool) -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        whole, twice = (x * 3 if graded else (x > 0).float() * 3), x * 2
        row = whole[1]
        torch._dynamo.graph_break()
        row.add_(1)
        return whole * 2, row, twice * twice

    x = torch.tensor([[1.0, -2.0], [-3.0, 4.0]], requires_grad=True)
    found = torch.compile(function, backend=compiler)(x)
    assert found[1].tolist() == ([-8.0, 13.0] if graded else [1.0, 4.0])
    assert found[0].tolist()[1] == ([-16.0, 26.0] if graded else [2.0, 8.0])
    assert [one.requires_grad for one in found] == [graded, graded, True]
    (grad,) = torch.autograd.grad(found[0].sum() + found[2].sum() if graded else found[2].sum(), x)
    assert grad.tolist() == (
        [[14.0, -10.0], [-18.0, 38.0]] if graded else [[8.0, -16.0], [-24.0, 32.0]]
    )
    assert not [report.eager for report in compiler.reports if report.eager]


def test_what_shares_no_memory_may_be_given_other_sizes(compiler: Compiler) -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        v = x.t().flatten()
        torch._dynamo.graph_break()
        v.unsqueeze_(0)
        return v, x * 2

    x = torch.randn(4, 3, requires_grad=True)
    found = torch.compile(function, backend=compiler, dynamic=True)(x)
    assert all(map(torch.equal, found, function(x)))


CONJUGATES: dict[str, Callable[[Tensor], object]] = {
    "beside it": lambda v: (v, v.conj()),
    "of its views": lambda v: (v, v.mH, v[0].conj(), v.conj()[1:].T),
    "without it": lambda v: (v.conj(), v.mH),
    "after a change": lambda v: (v.mul_(2j), v.conj()),
    "read as well": lambda v: (v, v.conj(), v.conj().abs() + 1, v.conj() @ v),
    "parts": lambda v: (v, v.conj().imag, v.conj()[1:].imag.T, v.conj().real, v.mH.mH.imag),
    "parts, read": lambda v: (v.conj().imag, v.conj().imag + 1, v.imag),
    "resolved": lambda v: (v, v.conj(), v.conj().resolve_conj()),
    "parts, resolved": lambda v: (v, v.conj().imag.resolve_neg()),
    "changed, resolved before": lambda v: (v.conj().resolve_conj(), v.mul_(3j)),
    "resolved, then changed": lambda v: (v.conj() + 0, v.conj().resolve_conj().mul_(2)),
    "parts, changed": lambda v: (torch.resolve_neg(v.conj().imag), v.mul_(3)),
    "computed": lambda v: (v, v.conj_physical(), v.conj().clone()),
    "alone": lambda v: v.conj(),
    "its part alone": lambda v: v.mH[1:].imag,
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", CONJUGATES)
def test_conjugates_lie_in_the_memory_of_what_they_are_of(
    devices: Devices, name: str, dynamic: bool | None
) -> None:
    """What resolves a mark is a copy, whatever is changed afterwards; what is one says so."""

    def function(x: Tensor) -> object:
        return CONJUGATES[name](x + 1)

    def places(made: object) -> list[int]:
        found = [one.untyped_storage().data_ptr() for one in tree_leaves(made)]
        return [found.index(one) for one in found]

    x = torch.randn(3, 3, dtype=torch.complex64)
    compiled = torch.compile(function, backend=Compiler(devices=devices), dynamic=dynamic)
    for y in (x, x[:2]) if dynamic and name != "read as well" else (x,):
        made, wanted = compiled(y), function(y)
        torch.testing.assert_close(made, wanted)
        assert places(made) == places(wanted)
        for one, other in zip(tree_leaves(made), tree_leaves(wanted), strict=True):
            assert one.stride() == other.stride()
            assert (one.is_conj(), one.is_neg()) == (other.is_conj(), other.is_neg())


@pytest.mark.parametrize("bias", [True, False])
def test_logits_over_an_odd_vocabulary_are_in_memory_once(
    compiler: Compiler, bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the size that eager mode's have, and nothing larger that they were cut out of."""
    monkeypatch.setattr(products, "_INTERLEAVED", (1, 1))
    monkeypatch.setattr(Devices, "is_gpu", lambda *_: True)
    head = torch.nn.Linear(512, 33, bias=bias).bfloat16()
    x = torch.randn(2, 400, 512).bfloat16()
    with torch.no_grad():
        made, wanted = torch.compile(head, backend=compiler)(x), head(x)
    torch.testing.assert_close(made, wanted, rtol=2e-2, atol=2e-2)
    assert made.untyped_storage().nbytes() == 2 * 400 * 33 * 2
    (report,) = compiler.reports
    assert report.kernels == (2 if bias else 0)  # the operands, eight columns deeper
    assert [name for name, _, _ in report.library_calls] == ["harness.interleaved_mm.default"]


def test_a_loop_after_the_one_that_writes_has_of_a_finished_maximum_its_result(
    compiler: Compiler,
) -> None:
    """Capped logits, whose loss is found beside them, overwrite the product that they are made
    of: the second loop reads them, and of what the first one reduced nothing but the maximum."""

    def function(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        capped = ((x @ w) / 30).tanh() * 30
        return capped, capped.float().log_softmax(1)[:, 0]

    x, w = torch.randn(8, 8).bfloat16(), torch.randn(8, 40000).bfloat16()
    capped, losses = torch.compile(function, backend=compiler)(x, w)
    torch.testing.assert_close(capped, function(x, w)[0])
    torch.testing.assert_close(losses, capped.float().log_softmax(1)[:, 0])
    (compiled,) = compiler.compiled
    run: Any = prepare_graph(compiled, NOT_LAUNCHED, "cpu")
    assert "empty((8, 40000), (40000, 1), bfloat16)" not in run.text


WITHOUT_MEMORY: dict[str, Callable[[], Tensor]] = {
    "zeros": lambda: torch._efficientzerotensor((5, 4)),  # type: ignore[attr-defined]
    "mkldnn": lambda: torch.ones(5, 4).to_mkldnn(),
}


@pytest.mark.parametrize("name", WITHOUT_MEMORY)
def test_torch_runs_graphs_of_tensors_without_memory(devices: Devices, name: str) -> None:
    def function(x: Tensor) -> Tensor:
        return x * 2

    x = WITHOUT_MEMORY[name]()
    torch.compiler.reset()
    compiled = torch.compile(function, backend=Compiler(devices=devices))
    compiled(torch.randn(5, 4))
    with pytest.warns(FallbackWarning, match="no memory"):
        found = compiled(x)
    wanted = function(x)
    assert found.layout is wanted.layout and torch.equal(found.to_dense(), wanted.to_dense())


def test_a_gradient_of_zeros_without_memory(compiler: Compiler) -> None:
    x = torch.randn(5, 4, requires_grad=True)
    made = torch.compile(lambda x: (x * 3).sin(), backend=compiler)(x)
    (found,) = torch.autograd.grad(made, x, WITHOUT_MEMORY["zeros"]())
    assert not found.any()


@pytest.fixture
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int32, torch.bool, torch.complex64])
@pytest.mark.usefixtures("deterministic")
def test_memory_that_nobody_writes_is_filled_among_deterministic_algorithms(
    compiler: Compiler, dtype: torch.dtype
) -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        given = {"dtype": dtype}
        sized = torch.empty(3, 2, **given), x.new_empty(2, **given)
        like = torch.empty_like(x, **given), torch.empty_permuted((3, 2), (1, 0), **given)
        strided = torch.empty_strided((2, 2), (4, 1), **given), x.new_empty_strided((2, 3), (1, 2))
        return (*sized, *like, *strided, torch.empty_like(x) * x, torch.empty(2).resize_(4))

    x = torch.randn(4, 3).t().requires_grad_()
    assert differences(function, (x,), compiler) == []


def bits_of(x: Tensor) -> Tensor:
    return x.view(torch.float16).flatten()[:3].expand(4, 3)


def bits_of_as_many(x: Tensor) -> Tensor:
    return x.view(torch.int32)[:, 1 : x.shape[0]]


def bits_of_a_changed_input(x: Tensor) -> Tensor:
    return x.add_(1).view(torch.float16)[: x.shape[0] - 1]


def bits_that_sizes_do_not_cut(x: Tensor) -> Tensor:
    return (x + x).view(torch.float16)


BITS = [bits_of, bits_of_as_many, bits_of_a_changed_input, bits_that_sizes_do_not_cut]


@pytest.mark.parametrize("function", BITS)
def test_views_of_bits_are_in_elements_of_their_own(
    devices: Devices, function: Callable[..., Tensor]
) -> None:
    """AOTAutograd makes results that are views of inputs again: where sizes are unknown by strides,
    and then it looks at the bits (4691387; ``aot_eager`` raises)."""
    compiler = Compiler(devices=devices)
    compiled = torch.compile(function, backend=compiler, dynamic=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", FallbackWarning)
        for sizes in ((4, 2, 33), (3, 2, 17)):
            x = torch.randint(100, 200, sizes).float()
            found, wanted = compiled(x.clone()), function(x.clone())
            assert found.dtype == wanted.dtype
            torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
    one_by_one = [w for w in told if "compiled one by one" in str(w.message)]
    assert bool(one_by_one) == (function is not bits_that_sizes_do_not_cut)


@pytest.mark.parametrize("first", [None, 0, 1])
def test_an_input_that_is_returned_is_itself_where_inputs_overlap(
    compiler: Compiler, first: int | None
) -> None:
    """AOTAutograd makes it again, as a view of all that the inputs lie in: a whole that is none was
    another tensor then, and graphs that return a part were left to torch."""

    def function(x: Tensor, y: Tensor) -> Tensor:
        y.mul_(2)
        return x

    for run in (function, torch.compile(function, backend=compiler)):
        whole = torch.arange(12.0).view(4, 3)
        x = whole if first is None else whole[first:]
        assert run(x, whole[:2]) is x
        assert whole.tolist() == [[0, 2, 4], [6, 8, 10], [6, 7, 8], [9, 10, 11]]
    assert compiler.compiled and not any(report.eager for report in compiler.reports)
