"""Gradients that are not there, beside a user's functions."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import fx
from torch.utils.checkpoint import checkpoint

from harness.backend import Compiler, Devices
from harness.graph.capture import tangents
from harness.graph.capture.scattering import covers_itself


class Apart(torch.autograd.Function):
    """Each output is of one input alone, and so is each gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x * 2, y * 3

    @staticmethod
    def backward(ctx: Any, one: torch.Tensor, other: torch.Tensor) -> Any:  # type: ignore[override]
        return one * 2, other.exp()


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_a_users_function_makes_of_zeros_alone_is_a_gradient(
    devices: Devices, dynamic: bool
) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        one, other = Apart.apply(x, y)
        return one, other

    run = torch.compile(function, backend=Compiler(devices=devices), dynamic=dynamic)
    for rows in (4, 6):
        given = [torch.rand(n, 3).requires_grad_() for n in (rows, rows + 1)]
        for number in range(2):
            found, wanted = (
                torch.autograd.grad(how(*given)[number].sum(), given, allow_unused=True)
                for how in (run, function)
            )
            torch.testing.assert_close(found, wanted)


class OneMore(torch.autograd.Function):
    """Whose gradient of nothing is 1."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, one: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return one + 1


class Fives(OneMore):
    """Whose gradient depends on nothing."""

    @staticmethod
    def backward(ctx: Any, one: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.full((3, 2), 5.0)


class Kept(OneMore):
    """Whose gradient is what it was given."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, one: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        (kept,) = ctx.saved_tensors
        return kept  # type: ignore[no-any-return]


@pytest.mark.parametrize("function", [OneMore, Fives, Kept])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_users_function_whose_gradient_nobody_asks_for_adds_nothing(
    devices: Devices, dynamic: bool, function: type[OneMore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tangents, "_MOST", 32)

    def both(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        inner = OneMore.apply(x * 2)
        return function.apply(x), x * 3, inner.sin(), OneMore.apply(inner), function.apply(x * 2)

    each_is_asked(both, 5, devices, dynamic)


@pytest.mark.parametrize("function", [OneMore, Kept])
@pytest.mark.parametrize("times", [1, 2])
def test_so_it_is_in_what_is_computed_again(
    devices: Devices, function: type[OneMore], times: int
) -> None:
    def again(x: torch.Tensor, left: int) -> torch.Tensor:
        if not left:
            return cast(torch.Tensor, function.apply(x)).sin()
        return cast(torch.Tensor, checkpoint(again, x, left - 1, use_reentrant=False))

    def both(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return again(x, times), x * 3

    each_is_asked(both, 2, devices, False)


@pytest.mark.parametrize("way", ["add_", "copy_", "index", "relu"])
def test_what_changes_in_place_by_a_users_function_has_its_gradient_and_nothing_else(
    devices: Devices, way: str
) -> None:
    def changed(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made, y = OneMore.apply(x), x * 3
        if way == "index":
            y[0] = made[1]
        elif way == "relu":
            y = torch.nn.functional.relu(made, inplace=True) * y
        else:
            getattr(y, way)(made)
        return y, made.sin(), x * 4

    each_is_asked(changed, 3, devices)


def each_is_asked(
    function: Callable[[torch.Tensor], tuple[torch.Tensor, ...]],
    count: int,
    devices: Devices,
    dynamic: bool = False,
) -> None:
    """Of each set of results."""
    run = torch.compile(function, backend=Compiler(devices=devices), dynamic=dynamic)
    x = torch.rand(3, 2).requires_grad_()
    for asked in itertools.product((0, 1), repeat=count):
        if any(asked):
            found, wanted = (
                torch.autograd.grad(sum(y.sum() for y in itertools.compress(how(x), asked)), x)
                for how in (run, function)
            )
            torch.testing.assert_close(found, wanted)


def test_sets_that_torch_runs_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tangents, "_MOST", 2)
    made = list[tuple[int, ...]]()

    def without(_graph: fx.GraphModule, missing: tuple[int, ...]) -> Any:
        made.append(missing)
        return len

    monkeypatch.setattr(tangents, "_without", without)
    graph = fx.symbolic_trace(lambda tangents_1, tangents_2, tangents_3: tangents_1)
    for node in graph.graph.find_nodes(op="placeholder"):
        node.meta["val"] = torch.empty(2)
    called = tangents.Called(graph, lambda error: None)
    run = tangents.by_gradients(lambda graph, inputs: lambda args: None, called)(graph, [1, 2, 3])
    sets = [[n if n in there else None for n in range(3)] for there in ((0,), (1,), (2,), (0, 1))]
    for given in [*sets, [0, None, 2], *sets[:2], *sets[3:], sets[2]]:
        with contextlib.suppress(TypeError):
            run(list(given))
    assert made == [(1, 2), (0, 2), (0, 1), (2,), (1,), (0, 1)]


def test_code_of_a_backward_graph_is_made_for_torch_alone() -> None:
    def gradients(x: torch.Tensor, tangents_1: torch.Tensor) -> list[torch.Tensor]:
        return [x * tangents_1, tangents_1 + 1]

    traced = fx.symbolic_trace(gradients)
    for node in traced.graph.nodes:
        node.meta["val"] = torch.ones(3)
    made = tangents._without(traced, ())
    assert made._needs_recompile()
    given = torch.rand(3), torch.rand(3)
    assert all(map(torch.equal, made(*given), traced(*given)))
    made.graph.output_node().args = ([None, None],)
    assert None not in traced.graph.output_node().args[0]


def test_a_backward_graph_comes_with_its_forward_graph_where_its_gradients_are_foreseen(
    devices: Devices,
) -> None:
    """A loss's, beside what it is made of or not, or a last result's; none of several."""

    def loss(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        logits = x.sin()
        return logits.exp().sum(), logits

    def apart(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.exp().sum(), x.sin()

    def last(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden = x.sin()
        return hidden.exp(), hidden

    def several(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.exp(), x.sin()

    for function, foreseen in ((loss, True), (apart, True), (last, True), (several, False)):
        compiler = Compiler(devices=devices, fail_on_fallback=True)
        run = torch.compile(function, backend=compiler)
        x = torch.rand(4, 7).requires_grad_()
        first, second = run(x)
        assert len(compiler.compiled) == 1 + foreseen, function.__name__
        for output, count in ((first, 2), (second, 3)):
            (found,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
            (wanted,) = torch.autograd.grad(function(x)[count - 2].sum(), x)
            torch.testing.assert_close(found, wanted)
            assert len(compiler.compiled) == count


def test_what_may_cover_itself() -> None:
    x = torch.ones(3, 4)
    assert not any(map(covers_itself, [x, x.t(), x[:, ::2], x[:0], x[1], x.unfold(1, 2, 2)]))
    assert all(map(covers_itself, [x.unfold(1, 2, 1), x[:1].expand(2, 4)]))
