"""Derivatives that no compiled graph has: torch computes them, and says so."""

from __future__ import annotations

import copy
import gc
import math
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad

from harness.backend import Compiler
from harness.errors import FallbackWarning, FellBack

MAY_FALL_BACK = True


def _penalty(run: Any, model: nn.Module, shape: tuple[int, ...]) -> list[torch.Tensor]:
    """A norm of the gradient is part of what is learnt: all gradients."""
    x = torch.arange(math.prod(shape)).view(shape).cos().requires_grad_()
    y = run(x)
    (slope,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    loss = y.square().mean() + (slope.flatten(1).norm(dim=1) - 1).square().mean()
    return [y, slope, *torch.autograd.grad(loss, (x, *model.parameters()))]


DIFFERENTIABLE: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "layers": (lambda: nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU()), (5, 4)),
    "statistics": (lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 8), nn.Tanh()), (5, 4)),
    "a view": (lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Flatten(0)), (5, 4)),
    "a convolution": (lambda: nn.Sequential(nn.Conv2d(1, 3, 3), nn.LeakyReLU()), (2, 1, 4, 4)),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_torch_computes_gradients_of_gradients(
    compiler: Compiler, name: str, dynamic: bool
) -> None:
    """Which no graph of AOTAutograd's has, and says so once."""
    make, shape = DIFFERENTIABLE[name]
    model = make()
    twin = copy.deepcopy(model)
    run = torch.compile(model, backend=compiler, dynamic=dynamic)
    with pytest.warns(FallbackWarning, match="gradients of gradients") as said:
        found = _penalty(run, model, shape)
    torch.testing.assert_close(found, _penalty(twin, twin, shape), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close([*model.buffers()], [*twin.buffers()])
    _penalty(run, model, shape)
    assert [one.category for one in said].count(FallbackWarning) == len(compiler.eager) == 1
    assert len(compiler.compiled) == 2


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_runs_a_backward_graph_on_batches(compiler: Compiler, dynamic: bool) -> None:
    """They have no memory that a kernel could read. (Of dropout a mask is drawn again.)"""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (x.softmax(0) * x.sum(), nn.functional.dropout(x, 0.5) * x)

    run = torch.compile(function, backend=compiler, dynamic=dynamic)
    x = torch.rand(5, requires_grad=True)
    made, drawn = run(x)
    units = torch.eye(5)

    def slopes(y: torch.Tensor, by: torch.Tensor, batched: bool = True) -> torch.Tensor:
        found = torch.autograd.grad(y, x, by, retain_graph=True, is_grads_batched=batched)
        return found[0]

    with pytest.warns(FallbackWarning, match="batches of gradients") as said:
        found, mask = slopes(made, units), slopes(drawn, units)
    torch.testing.assert_close(found, torch.stack([slopes(made, unit, False) for unit in units]))
    wanted = torch.autograd.functional.jacobian(lambda x: x.softmax(0) * x.sum(), x.detach())
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(mask, torch.diag(2 * drawn / x).detach())
    assert [one.category for one in said].count(FallbackWarning) == len(compiler.eager) == 1


def test_a_fallback_that_is_forbidden(compiler: Compiler) -> None:
    compiler.fail_on_fallback = True
    x = torch.randn(3, requires_grad=True)
    made = torch.compile(lambda x: x.exp().sum(), backend=compiler)(x)
    with pytest.raises(FellBack, match="gradients of gradients"):
        torch.autograd.grad(made, x, create_graph=True)


def test_gradients_of_gradients_that_only_values_inside_lead_to(compiler: Compiler) -> None:
    """They were silently zero: what a graph saves for its backward is no part of another one."""
    run = torch.compile(lambda x: (x.sin() * x).sum(), backend=compiler)
    x = torch.randn(3)
    with pytest.warns(FallbackWarning):
        found = torch.autograd.functional.hessian(run, x)
    torch.testing.assert_close(found, torch.diag(2 * x.cos() - x * x.sin()))
    given = x.clone().requires_grad_()
    found = run(given)
    for _ in range(3):
        (found,) = torch.autograd.grad(found.sum(), given, create_graph=True)
    torch.testing.assert_close(found.detach(), -3 * x.sin() - x * x.cos())


def test_what_runs_again_runs_under_autocast_as_it_did(compiler: Compiler) -> None:
    """Which is off while graphs are traced: it raised, or gave gradients in float32."""
    w = torch.linspace(-1, 1, 12).view(3, 4).bfloat16().requires_grad_()

    def penalty(run: Callable[..., torch.Tensor]) -> tuple[torch.Tensor, ...]:
        x = torch.linspace(0, 1, 6).view(2, 3).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            made = run(x)
        (slope,) = torch.autograd.grad(made.float().sum(), x, create_graph=True)
        return slope, *torch.autograd.grad(slope.square().sum(), (x, w))

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x @ w).tanh()

    with pytest.warns(FallbackWarning, match=": gradients of gradients"):
        found = penalty(torch.compile(function, backend=compiler))
    torch.testing.assert_close(found, penalty(function), rtol=0, atol=0)


def _draws(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return nn.functional.dropout(x.exp(), 0.5)


def _changes(x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    return x.sin() * total.add_(x.detach())


def _calls(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.exp(), (x,))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("function", "why"), [(_draws, "draws"), (_changes, "changes"), (_calls, "calls")]
)
def test_what_cannot_run_again_has_no_gradients_of_gradients(
    compiler: Compiler, function: Callable[..., torch.Tensor], why: str
) -> None:
    x, total = torch.rand(3, requires_grad=True), torch.zeros(3)
    made = torch.compile(function, backend=compiler)(x, total).sum()
    with pytest.warns(FallbackWarning, match=f"no gradients of gradients: it {why}"):
        (slope,) = torch.autograd.grad(made, x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        slope.sum().backward()


def test_a_parameter_that_changed_has_no_gradients_of_gradients(compiler: Compiler) -> None:
    x, w = torch.rand(3, requires_grad=True), torch.rand(3)
    made = torch.compile(lambda x, w: (x + w).exp().sum(), backend=compiler)(x, w)
    w.add_(1)
    with pytest.warns(FallbackWarning, match="changed since"):
        torch.autograd.grad(made, x, create_graph=True)


@pytest.mark.parametrize("turned", [False, True])
def test_a_result_that_a_later_graph_changes_has_the_gradients_of_before(
    compiler: Compiler, turned: bool
) -> None:
    """A graph may keep it for its backward, where eager mode keeps the softmax: it raised."""

    def function(x: torch.Tensor) -> torch.Tensor:
        total = x.cumsum(0)
        made = (total.t() if turned else total).softmax(0).sin()
        torch._dynamo.graph_break()
        total.add_(1)
        return made.square()

    slopes = []
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    with pytest.warns(FallbackWarning, match="gradients where a result was changed"):
        for run in (function, torch.compile(function, backend=compiler)):
            slopes += torch.autograd.grad(run(x).sum(), x)
    torch.testing.assert_close(slopes[1], slopes[0])
    assert not slopes[1].requires_grad


def test_a_result_that_eager_mode_keeps_may_not_be_changed(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        total = x.cumsum(0)
        made = total.sin() * total
        torch._dynamo.graph_break()
        total.add_(1)
        return made

    made = torch.compile(function, backend=compiler)(torch.ones(3, requires_grad=True))
    with pytest.raises(RuntimeError, match="modified by an inplace"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.sum().backward()


@pytest.mark.parametrize("moved", [False, True])
def test_what_a_call_was_given_is_let_go(compiler: Compiler, moved: bool) -> None:
    """With the gradient, or with the result; also an input that is changed and gets a gradient."""
    run = torch.compile(
        lambda x, w: ((w.mul_(2) if moved else w) * x.exp()).sum(), backend=compiler
    )
    for backward in (True, False):
        x = torch.randn(3, requires_grad=True)
        w = x * 1
        gone, made = weakref.ref(w), run(x, w)
        if backward:
            made.backward()
        else:
            del made
        del w
        gc.collect()
        assert gone() is None


def test_a_graph_of_unknown_sizes_is_kept_for_a_second_backward(compiler: Compiler) -> None:
    """aot_eager refuses: a kernel might have taken the memory over."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.randn(5, 4, requires_grad=True)
    made = torch.compile(model, backend=compiler, dynamic=True)(x).sum()
    for _ in range(2):
        found = torch.autograd.grad(made, x, retain_graph=True)
        torch.testing.assert_close(found, torch.autograd.grad(model(x).sum(), x))


def test_derivatives_are_carried_forward(compiler: Compiler) -> None:
    run = torch.compile(lambda x, w: (x * w).sin(), backend=compiler)
    x, w, slope = torch.randn(3, 4).unbind()
    plain = run(x, w)
    with forward_ad.dual_level(), pytest.warns(FallbackWarning, match="forward"):
        value, derivative = forward_ad.unpack_dual(run(x, forward_ad.make_dual(w, slope)))
    torch.testing.assert_close(value, plain)
    torch.testing.assert_close(derivative, (x * w).cos() * x * slope)


class Image(torch.Tensor):
    """As torchvision has it: what is computed of it is a plain tensor."""

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        with torch._C.DisableTorchFunctionSubclass():  # type: ignore[attr-defined]
            made = function(*args, **(kwargs or {}))
        return made.as_subclass(torch.Tensor) if isinstance(made, Image) else made


def test_types_of_a_users_own(compiler: Compiler) -> None:
    """aot_eager raises at the first call: it looks at all operators for those of users."""
    model, image = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 5, 5)
    run = torch.compile(model, backend=compiler)
    for _ in range(2):
        made = run(image.as_subclass(Image))
        assert type(made) is torch.Tensor
        torch.testing.assert_close(made, model(image))
    found = torch.autograd.grad(made.sum(), tuple(model.parameters()))
    torch.testing.assert_close(
        found, torch.autograd.grad(model(image).sum(), tuple(model.parameters()))
    )
    assert not compiler.eager
