"""Graphs that call graphs: control stays on the host, branches and bodies are kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops.map import map as over_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.nn.attention.flex_attention import flex_attention
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

from harness.backend import Compiler, Devices

Function = Callable[[torch.Tensor], Any]


@pytest.fixture(autouse=True)
def no_graphs_left() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def branch(x: torch.Tensor) -> torch.Tensor:
    y = x.sin() * 2
    z = torch.cond(y.sum() > 0, lambda a: (a.cos() + 1).relu(), lambda a: a.exp() - 2, (y,))
    return (z * 3).sum(-1) + z.mean()


def nested(x: torch.Tensor) -> torch.Tensor:
    def inner(a: torch.Tensor) -> torch.Tensor:
        return torch.cond(a.mean() > 0, lambda b: b.cos() * 2, lambda b: b - 1, (a,)) + 1

    return torch.cond(x.sum() < 1e6, inner, lambda a: a * 3, (x * 2,)) * 2


def several(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    v, i = x.max(1)
    a, b = torch.cond(v.sum() > 0, lambda a: (a @ a, a.sum(1)), lambda a: (a * 2, a.mean(1)), (x,))
    w, j = a.sort(1)
    return v + b, i, w, j, torch.cond(i.sum() > 3, lambda a: a + 1, lambda a: a - 1, (w,))


def loop(x: torch.Tensor) -> torch.Tensor:
    zero = torch.zeros((), dtype=torch.int64)
    return while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a.sin() + a), (zero, x + 1))[1] * 2


def loop_from_a_constant(x: torch.Tensor) -> Any:
    start = torch.tensor(0)  # an attribute of the graph, as the body is
    return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.cos() * 2), (start, x * 0.5))


def recurrence(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    last, every = scan(lambda c, a: (c * 0.9 + a, (c + a).sin()), y[0].clone(), y)
    return every.exp() + last


def squashed(x: torch.Tensor) -> torch.Tensor:
    rate = x.mean(0)
    return scan(lambda c, a: ((c + a * rate).tanh(), c * 2), torch.zeros_like(rate), x)[1]


def rows_and_numbers(x: torch.Tensor) -> torch.Tensor:
    scale = x.mean(0)  # the number is in the body's text, and an argument that it does not read
    return over_rows(lambda a, n, b: (a * n + b).sin(), x, len(x), scale) * 2


def attention(x: torch.Tensor) -> torch.Tensor:
    q = (x * 0.5).reshape(1, 1, *x.shape)
    return flex_attention(q, q * 2, q + 1, lambda s, b, h, i, j: s + (i - j) * 0.1).relu()


@torch.compiler.nested_compile_region
def region(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.sin() * y, (x + y).cos()


def regions(x: torch.Tensor) -> torch.Tensor:
    first, second = region(x, x * 2)
    return region(first, second)[0] + second


def checkpointed(x: torch.Tensor) -> torch.Tensor:
    def inner(a: torch.Tensor) -> torch.Tensor:
        return torch.cond(a.sum() > 0, lambda b: b.sin() * x, lambda b: b.cos(), (a * 2,)) + 1

    def outer(a: torch.Tensor) -> torch.Tensor:
        return checkpoint(inner, a.tanh(), use_reentrant=False) * a

    return checkpoint(outer, x, use_reentrant=False).tanh() + x


CASES: dict[Function, dict[str, int]] = {
    checkpointed: {"cond": 1},
    branch: {"cond": 1},
    nested: {"cond": 2},
    several: {"cond": 2},
    loop: {"while_loop": 1},
    loop_from_a_constant: {"while_loop": 1},
    recurrence: {"scan": 1},
    squashed: {"scan": 1},
    rows_and_numbers: {"map_impl": 1},
    attention: {"flex_attention": 1},
    regions: {"invoke_subgraph": 2},
}


def calls(compiler: Compiler) -> Counter[str]:
    """How often each operator stays on the host, over all graphs."""
    found: Counter[str] = Counter()
    for report in compiler.reports:
        kept = [(op, n) for op, n, why in report.library_calls if "control" in why]
        found.update(dict(kept))
    return found


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shift", [-1.0, 1.0])
def test_only_control_stays_on_the_host(function: Function, shift: float, devices: Devices) -> None:
    """Each way through it; nothing else is left to torch."""
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    x = torch.randn(12, 12) + shift
    found = torch.compile(function, backend=compiler, fullgraph=True)(x.clone())
    for got, want in zip(tree_leaves(found), tree_leaves(function(x)), strict=True):
        torch.testing.assert_close(got, want)
    assert calls(compiler) == CASES[function]
    assert sum(report.kernels for report in compiler.reports) >= 2


@pytest.mark.filterwarnings("ignore:invoke_subgraph traced multiple backward graphs")
@pytest.mark.parametrize(
    "function",
    [branch, checkpointed, recurrence, squashed, rows_and_numbers, regions],
    ids=lambda f: f.__name__,
)
def test_gradients_go_through_control(function: Function, devices: Devices) -> None:
    if function is squashed and torch.__version__ < "2.13":
        pytest.skip("torch refuses the scan's gradient: it takes it for an alias of an input")
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    x, own = (torch.randn(8, 12).requires_grad_() for _ in range(2))
    own.data.copy_(x.data)
    function(own).sum().backward()
    torch.compile(function, backend=compiler, fullgraph=True)(x).sum().backward()
    torch.testing.assert_close(x.grad, own.grad)
    assert sum(calls(compiler).values()) == 2 * sum(CASES[function].values())


class Normalised(nn.Module):
    def __init__(self, eps: float) -> None:
        super().__init__()
        self.inner, self.norm = nn.Linear(12, 12), nn.LayerNorm(12, eps=eps)

    @torch.compiler.nested_compile_region
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.inner(x).relu() + x)


def test_regions_may_hold_numbers_while_sizes_are_dynamic(devices: Devices) -> None:
    """Dynamo gives a region of dynamic sizes its numbers as tensors."""
    if torch.__version__ >= "2.15":
        pytest.skip("Dynamo asserts where such a number is from, and stops before any backend")
    model = nn.Sequential(*(Normalised(10.0**-n) for n in (1, 2, 3)))
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    compiled = torch.compile(model, backend=compiler, dynamic=True)
    for rows in (5, 7):
        x = torch.randn(rows, 12)
        torch.testing.assert_close(found := compiled(x), wanted := model(x))
        parameters = list(model.parameters())
        ours = torch.autograd.grad(found.sin().sum(), parameters)
        theirs = torch.autograd.grad(wanted.sin().sum(), parameters)
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_inputs_change_after_everything_has_read_them(devices: Devices) -> None:
    def changes(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))
        x.add_(y * 2)
        return y + 1, x[1:]

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    x = torch.randn(6, 7)
    own = x.clone()
    found = torch.compile(changes, backend=compiler, fullgraph=True)(x)
    torch.testing.assert_close(found, changes(own))
    torch.testing.assert_close(x, own)


def test_one_compilation_serves_every_size(devices: Devices) -> None:
    def sized(x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        return torch.cond(x.sum() > 0, lambda a: a * n, lambda a: a + n, (x,)) + n

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    compiled = torch.compile(sized, backend=compiler, fullgraph=True, dynamic=True)
    for rows in (5, 9, 14):
        x = torch.randn(rows, 6)
        torch.testing.assert_close(compiled(x), sized(x))
    assert calls(compiler) == {"cond": 1}


def test_sizes_that_only_a_loop_knows(devices: Devices) -> None:
    """The gradient of a loop stacks what the loop saw, as often as it ran."""
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    x, own = (torch.full((4, 5), 0.5).requires_grad_() for _ in range(2))
    loop(own).sum().backward()
    torch.compile(loop, backend=compiler, fullgraph=True)(x).sum().backward()
    torch.testing.assert_close(x.grad, own.grad)
    assert sum(report.kernels for report in compiler.reports) >= 3


def test_branches_find_sizes_in_data(devices: Devices) -> None:
    def found(x: torch.Tensor) -> torch.Tensor:
        def twice(x: torch.Tensor) -> torch.Tensor:
            return x.nonzero().sum() * 2

        return torch.cond(x.sum() > 0, twice, lambda x: x.nonzero().sum() + 1, (x,)) + 1

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(found, backend=compiler, fullgraph=True)
        for x in (torch.eye(3), -torch.eye(3), torch.zeros(3, 3)):
            assert torch.equal(compiled(x), found(x))
