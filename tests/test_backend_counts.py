"""Sizes that only data tell: the operator that finds one is torch's, all around it is compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_leaves

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.errors import FallbackWarning, GraphError

_while_loop: Any = torch._higher_order_ops.while_loop
Function = Callable[[torch.Tensor], Any]


@pytest.fixture(autouse=True)
def captured() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    found = {"capture_dynamic_output_shape_ops": True, "capture_scalar_outputs": True}
    with torch._dynamo.config.patch(found):
        yield


def chosen(x: torch.Tensor) -> Any:
    y = (x * 2)[x > 0].sin()
    return y + 1, y.sum(), y.mean() + x.sum(), y.shape[0] * 2, y.numel() == 0


def rows(x: torch.Tensor) -> Any:
    y = x[x[:, 0] > 0]
    return y - y.mean(1, keepdim=True), y.sum(0), y.softmax(0), torch.ones(3, y.shape[0]) * 2


def routed(x: torch.Tensor) -> torch.Tensor:
    """Each row to one of two experts."""
    first = x[:, 0] > 0
    found = torch.zeros_like(x)
    found[first] = (x[first] @ x[:, :5].t()[:5]).relu().sum(1, keepdim=True) + x[first]
    others = (~first).nonzero().squeeze(1)
    return found.index_add(0, others, x[others] * 3) * 2


def one_after_another(x: torch.Tensor) -> Any:
    y = x[x > 0]
    z = torch.cat([y * 2, y])  # of a size that none of its own tells
    w = z[z > 1]
    return w + 1, torch.cat([z, w]).exp()


def places(x: torch.Tensor) -> Any:
    at = torch.nonzero(x > 0)
    return at[:, 0] * 5 + at[:, 1], torch.masked_select(x, x > 0) * 2


def unique(x: torch.Tensor) -> Any:
    values, inverse = torch.unique((x * 2).int(), return_inverse=True)
    return values * 2, inverse + 1


def repeated(x: torch.Tensor) -> torch.Tensor:
    return torch.repeat_interleave(x * 2, (x[:, 0] > 0).int() * 2, dim=0).relu()


def counted(x: torch.Tensor) -> Any:
    n = int((x > 0).sum().item())
    torch._check(n >= 0)
    torch._check(n <= x.numel())
    return x.flatten()[:n] * 2, x * n + n // 2


CASES: dict[Function, dict[str, int]] = {
    chosen: {"aten.index.Tensor": 1},
    rows: {"aten.index.Tensor": 1},
    routed: {"aten.index.Tensor": 1, "aten.nonzero.default": 1},
    one_after_another: {"aten.index.Tensor": 2},
    places: {"aten.nonzero.default": 1, "aten.masked_select.default": 1},
    unique: {"aten._unique2.default": 1},
    repeated: {"aten.repeat_interleave.Tensor": 1},
    counted: {"aten._local_scalar_dense.default": 1},
}


def looped(x: torch.Tensor) -> torch.Tensor:
    """What a loop gives is a view of all that it stores, but for one of no elements."""

    def step(n: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return n + 1, y * 2

    start = torch.tensor(0), x[x > 0] * 1
    found: torch.Tensor = _while_loop(lambda n, y: n < 3, step, start)[1]
    return found


def inputs(height: int = 6) -> Iterator[tuple[str, torch.Tensor]]:
    """Of which some elements are positive, others, none, one, and all."""
    yield "some", torch.randn(height, 5)
    yield "others", torch.randn(height, 5) + 0.5
    yield "none", -torch.rand(height, 5) - 0.1
    one = -torch.rand(height, 5) - 0.1
    one[2, 0] = 1.5
    yield "one", one
    yield "all", torch.rand(height, 5) + 0.1


def same(ours: Any, theirs: Any) -> None:
    for got, want in zip(tree_leaves(ours), tree_leaves(theirs), strict=True):
        if isinstance(want, torch.Tensor):
            torch.testing.assert_close(got, want, equal_nan=True, rtol=1e-5, atol=1e-5)
        else:
            assert got == want


def gradient(function: Function, x: torch.Tensor) -> torch.Tensor:
    x = x.clone().requires_grad_()
    found = [one for one in tree_leaves(function(x)) if getattr(one, "requires_grad", False)]
    (made,) = torch.autograd.grad(sum((one * one).sum() for one in found), x)
    return made


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_only_what_finds_a_size_stays_on_the_host(function: Function, devices: Devices) -> None:
    """Each count's result is eager mode's; only one without elements is another compilation."""
    if function is unique and torch.__version__ < "2.13":
        pytest.skip(
            "torch says of the positions that they have the input's type, and runs the part"
        )
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    compiled = torch.compile(function, backend=compiler, fullgraph=True)
    counts = {}
    for name, x in inputs():
        same(compiled(x), function(x))
        counts[name] = len(compiler.compiled)
        if name == "some":
            assert all(graph.report().kernels for graph in compiler.compiled)
    assert counts["some"] == counts["others"]
    assert counts["none"] == counts["one"] == counts["all"] or function is routed
    calls = [(op, n) for r in compiler.reports for op, n, why in r.library_calls if "data" in why]
    assert dict(calls) == CASES[function]


WITH_GRADIENTS = [chosen, routed, one_after_another, repeated, counted, looped]


@pytest.mark.parametrize("function", WITH_GRADIENTS)
def test_gradients_of_what_was_chosen(function: Function, devices: Devices) -> None:
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    compiled = torch.compile(function, backend=compiler, fullgraph=True)
    for _, x in inputs():
        same(gradient(compiled, x), gradient(function, x))
    assert any("backward" in report.name and report.kernels for report in compiler.reports)


def test_a_size_that_a_caller_marks_as_unbacked(devices: Devices) -> None:
    """What torch asserts of it is asserted on the host."""

    def function(x: torch.Tensor) -> torch.Tensor:
        torch._check(x.shape[0] < 9)
        return (x * x).sin().sum(0) * x.shape[0]

    def marked(height: int) -> torch.Tensor:
        x = torch.randn(height, 5)
        torch._dynamo.decorators.mark_unbacked(x, 0)
        return x

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    compiled = torch.compile(function, backend=compiler, fullgraph=True)
    made = []
    for height in (6, 1, 8):
        x = marked(height)
        same(compiled(x), function(x))
        made.append(sum(report.kernels for report in compiler.reports))
    assert made == [made[0]] * 3 and made[0]


def test_the_gradient_of_a_column_of_marked_rows(devices: Devices) -> None:
    """It is written into zeros, whose strides count for more rows than one."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.arange(x.shape[0]) + x[:, 0]

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    compiled = torch.compile(function, backend=compiler, fullgraph=True)
    for height in (6, 1, 8):
        x = torch.randn(height, 5, requires_grad=True)
        torch._dynamo.decorators.mark_unbacked(x, 0)
        (found,) = torch.autograd.grad(compiled(x).square().sum(), x)
        same(found, *torch.autograd.grad(function(x).square().sum(), x))


@pytest.mark.parametrize("function", [chosen, routed, one_after_another])
def test_one_compilation_serves_every_count_and_size(function: Function, devices: Devices) -> None:
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    compiled = torch.compile(function, backend=compiler, fullgraph=True, dynamic=True)
    for height in (6, 9):
        x = torch.randn(height, 5)
        same(compiled(x), function(x))
        same(gradient(compiled, x), gradient(function, x))
        if height == 6:
            before = len(compiler.compiled)
    assert len(compiler.compiled) == before


def test_a_size_that_torch_takes_to_be_another(devices: Devices) -> None:
    """It traces a sum with five numbers for five; where eager mode repeats one, this raises."""
    compiler = Compiler(devices=devices)
    compiled = torch.compile(lambda x: x[x > 0] + torch.ones(5), backend=compiler, fullgraph=True)
    x = torch.tensor([1.0, 2, -1, 3, 4, 5])
    same(compiled(x), x[x > 0] + 1)
    assert not any(report.fallbacks for report in compiler.reports)
    with pytest.raises(GraphError, match="other sizes"):
        compiled(-x)


def _looked_up(table: torch.Tensor, at: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Torch traces five bags that its kernel on a CPU leaves out."""
    bags = torch.tensor([0, 3])
    return F.embedding_bag(at, table, bags, mode="sum", per_sample_weights=weights)


def _filled(x: torch.Tensor, at: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Torch 2.11 traces one of the distinct places, of which there are three."""
    return x.index_fill(1, at, value.sum())


@pytest.mark.parametrize(
    ("function", "known"), [(_looked_up, True), (_filled, False), (_filled, True)]
)
def test_a_library_call_whose_sizes_torch_mistakes(
    function: Callable[..., Any], known: bool, devices: Devices
) -> None:
    """Torch runs the graph, unless it can be traced with a size that only data tell."""
    x, weights = torch.randn(7, 5).bfloat16(), torch.randn(5).bfloat16()
    args = [x.requires_grad_(), torch.tensor([2, 1, 4, 2, 2]), weights.requires_grad_()]
    compiled = known and function is _filled
    with (
        torch._dynamo.config.patch(capture_dynamic_output_shape_ops=known),
        contextlib.nullcontext() if compiled else pytest.warns(FallbackWarning),
    ):
        assert not differences(function, args, Compiler(devices=devices))


def test_what_eager_mode_raises_without_elements_is_raised(devices: Devices) -> None:
    compiler = Compiler(devices=devices)
    compiled = torch.compile(lambda x: x[x > 0].max() * 2, backend=compiler, fullgraph=True)
    x = torch.randn(6, 5)
    same(compiled(x), x.max() * 2)
    with pytest.warns(FallbackWarning), pytest.raises(RuntimeError, match="Expected reduction dim"):
        compiled(-x.abs() - 1)
    same(compiled(x), x.max() * 2)


def test_floats_that_data_tell_are_results(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> Any:
        total = (x * 2).sum().item()
        return total, x.mean().item() + total, x * total

    x = torch.randn(7, dtype=torch.float64)
    found = torch.compile(function, backend=compiler)(x)
    torch.testing.assert_close(found, function(x))


NUMBERS: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "narrow": lambda x, t: x.narrow(0, t, 1) * 2,
    "narrow by an item": lambda x, t: x.narrow(0, t.item(), 1) * 2,
    "select": lambda x, t: x.select(0, t.item()) * 2,
    "ones": lambda x, t: torch.ones(t) + x[0, 0],
    "arange": lambda x, t: torch.arange(t) * x[0, 0],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_tensors_that_stand_for_numbers(name: str, devices: Devices) -> None:
    """With gradients, to which a position goes on as what torch makes of it."""
    function = NUMBERS[name]
    compiled = torch.compile(function, backend=Compiler(devices=devices, fail_on_fallback=True))
    with torch._dynamo.config.patch(capture_scalar_outputs="item" in name or name == "select"):
        for place in (1, 2, 4):
            x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
            found = compiled(x, torch.tensor(place))
            wanted = function(x, torch.tensor(place))
            torch.testing.assert_close(found, wanted)
            given = torch.autograd.grad(found.square().sum(), x)
            torch.testing.assert_close(given, torch.autograd.grad(wanted.square().sum(), x))
