"""``associative_scan`` through torch.compile in the interpreter, against float64 one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import fx
from torch._functorch.aot_autograd import aot_module_simplified
from torch._higher_order_ops.associative_scan import associative_scan, associative_scan_op
from torch._subclasses.fake_tensor import FakeTensorMode

from harness.backend import Compiler
from harness.graph.capture.aot import normalise
from harness.graph.capture.fx import convert
from harness.graph.text import dumps, loads
from harness.pipeline import compile_graph
from harness.target import TARGETS

Tensors = list[torch.Tensor]


def step(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor) -> Tensors:
    """``h = a * h + b``, as state-space models have it."""
    return [a * c, torch.addcmul(d, b, c)]


def scanned(
    function: Callable[..., Tensors], xs: Tensors, dim: int, reverse: bool = False
) -> Tensors:
    """What ``associative_scan`` of ``combine_mode="pointwise"`` does, which takes CUDA tensors
    alone."""
    moved = [x.movedim(dim, 0) for x in xs]
    moved = [x.flip([0]) for x in moved] if reverse else moved
    found = associative_scan_op(function, moved, ())
    found = [x.flip([0]) for x in found] if reverse else found
    return [x.movedim(0, dim) for x in found]


def one_by_one(rate: torch.Tensor, x: torch.Tensor, dim: int, reverse: bool) -> torch.Tensor:
    rate, x = rate.double().movedim(dim, 0), x.double().movedim(dim, 0)
    state, states = torch.zeros_like(x[0]), []
    for at in reversed(range(len(x))) if reverse else range(len(x)):
        state = state * rate[at] + x[at]
        states.append(state)
    return torch.stack(states[::-1] if reverse else states).movedim(0, dim)


def texts(compiler: Compiler) -> list[str]:
    """The kernels of the last graph, in which nothing is left to torch."""
    graph = compiler.compiled[-1]
    assert not graph.report().library_calls and not compiler.eager
    return [module.text for module, _ in graph.distinct()]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("shape", "dim"),
    [((3, 50), 1), ((40, 6), 0), ((2, 30, 5), 1), ((70,), 0), ((4, 1), 1)],
    ids=str,
)
def test_a_linear_recurrence_is_one_kernel_with_what_surrounds_it(
    compiler: Compiler, shape: tuple[int, ...], dim: int, reverse: bool
) -> None:
    def model(rate: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        decay = torch.sigmoid(rate)
        return scanned(step, [decay, x * 2], dim, reverse)[1].relu() + 1

    rate, x = torch.randn(shape), torch.randn(shape)
    found = torch.compile(model, backend=compiler, fullgraph=True)(rate, x)
    wanted = one_by_one(rate.double().sigmoid(), 2 * x.double(), dim, reverse).relu() + 1
    torch.testing.assert_close(found, wanted.float())
    assert found.stride() == x.stride()
    made = texts(compiler)
    # What goes on with a scan's reverse runs after it.
    assert len(made) == (2 if reverse and shape[dim] > 1 else 1)
    assert shape[dim] == 1 or "tl.associative_scan" in made[0]


def test_gradients_are_compiled_as_torch_has_them(compiler: Compiler) -> None:
    """torch 2.13's own gradient of a function of several operands is not the scan's."""

    def model(rate: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return scanned(step, [rate.sigmoid(), x], 1)[1].square()

    def gradients(backend: Any) -> list[torch.Tensor | None]:
        torch.compiler.reset()
        inputs = [one.clone().requires_grad_() for one in given]
        torch.compile(model, backend=backend, fullgraph=True)(*inputs).sum().backward()
        return [one.grad for one in inputs]

    given = [torch.randn(3, 12), torch.randn(3, 12)]
    torch.testing.assert_close(gradients(compiler), gradients("aot_eager"))
    assert not compiler.eager


def test_a_generic_scan_is_compiled_as_torch_takes_it_apart(compiler: Compiler) -> None:
    """Affine maps, joined: not done element by element, so no scan of a kernel does it."""

    def join(early: Tensors, late: Tensors) -> Tensors:
        matrix = (early[0].unsqueeze(-3) * late[0].unsqueeze(-1)).sum(-2)
        return [matrix, (late[0] * early[1].unsqueeze(-2)).sum(-1) + late[1]]

    def model(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return associative_scan(join, [a * 0.5, b.sin()], 0, combine_mode="generic")[1].relu()

    a, b = torch.randn(4, 2, 3, 3), torch.randn(4, 2, 3)
    found = torch.compile(model, backend=compiler, fullgraph=True)(a, b)
    state, states = torch.zeros(2, 3, dtype=torch.float64), []
    for matrix, step in zip(a.double() * 0.5, b.double().sin(), strict=True):
        state = (matrix * state.unsqueeze(-2)).sum(-1) + step
        states.append(state)
    torch.testing.assert_close(found, torch.stack(states).relu().float())
    texts(compiler)


Function = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
CAPTURING: dict[str, tuple[Function, torch.Tensor]] = {
    "vector": (lambda a, b, w: a + b + w * a * b, torch.linspace(-1, 1, 5)),
    "matrix": (lambda a, b, w: a + b + w, torch.arange(15.0).view(5, 3).t()),
    "column": (lambda a, b, w: a + b + w, torch.arange(3.0).view(3, 1)),
    "number": (lambda a, b, w: a + b + w, torch.tensor(0.1, dtype=torch.float64)),
    "places": (lambda a, b, w: torch.where(w > 2, a + b, b), torch.arange(5)),
    "mask": (lambda a, b, w: torch.where(w, a + b, b), torch.arange(5) % 2 == 0),
    "computed": (lambda a, b, w: a + b + w.exp()[0] * torch.arange(5), torch.linspace(0, 1, 5)),
    "unread": (lambda a, b, w: a + b, torch.zeros(7, 3, 5)),
}
"""Associative functions that capture a tensor, for slices of three by five."""


@pytest.mark.parametrize("name", CAPTURING)
def test_what_a_function_captures_is_an_operand_of_its_kernel(
    compiler: Compiler, name: str
) -> None:
    function, captured = CAPTURING[name]

    def model(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return scanned(lambda a, b: [function(a, b, w)], [x * 2], 0)[0] + 1

    x = torch.rand(7, 3, 5)
    found = torch.compile(model, backend=compiler, fullgraph=True)(x, captured)
    torch.testing.assert_close(found, torch.compile(model, backend="eager")(x, captured))
    assert "tl.associative_scan" in texts(compiler)[-1]


SYMBOLIC: dict[str, Callable[..., torch.Tensor]] = {
    "added": lambda a, b, n, x: a + b + n,
    "size": lambda a, b, n, x: a + b + x.shape[0],
    "compared": lambda a, b, n, x: torch.where(n < a, a, b),
    "power": lambda a, b, n, x: a + b + (a * 0 + 2) ** n,
    "nothing": lambda a, b, n, x: a + b,
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_numbers_and_sizes_that_vary_are_operands_too(compiler: Compiler, name: str) -> None:
    def model(x: torch.Tensor, n: int) -> torch.Tensor:
        return scanned(lambda a, b: [SYMBOLIC[name](a, b, n, x)], [x], 0)[0]

    ours = torch.compile(model, backend=compiler, fullgraph=True, dynamic=True)
    torch_s = torch.compile(model, backend="eager", dynamic=True)
    for rows, number in ((9, 3), (12, 2)):
        x = 4 * torch.rand(rows, 5)
        torch.testing.assert_close(ours(x, number), torch_s(x, number))
    assert len(compiler.compiled) == 1 and "tl.associative_scan" in texts(compiler)[0]


@pytest.mark.parametrize("name", ["random", "clamped"])
def test_what_cannot_be_an_operand_leaves_the_scan_to_torch(compiler: Compiler, name: str) -> None:
    """Numbers that are drawn anew, and numbers that an operator takes as no tensor."""
    functions: dict[str, Callable[..., torch.Tensor]] = {
        "random": lambda a, b, n: a + b + 0 * torch.rand(5),
        "clamped": lambda a, b, n: torch.maximum(a, b).clamp(max=n),
    }

    def model(x: torch.Tensor, n: int) -> torch.Tensor:
        return scanned(lambda a, b: [functions[name](a, b, n)], [x * 2], 0)[0] + 1

    x = torch.rand(8, 5)
    found = torch.compile(model, backend=compiler, fullgraph=True, dynamic=True)(x, 3)
    wanted = torch.compile(model, backend="eager", dynamic=True)(x, 3)
    torch.testing.assert_close(found, wanted)
    assert [report.library_calls[0][0] for report in compiler.eager] == ["associative_scan"]


def test_gradients_through_what_is_captured_are_torchs_or_refused_as_torch_refuses_them(
    compiler: Compiler,
) -> None:
    """Before 2.15 it refuses them."""

    def model(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return scanned(lambda a, b: [a + b + w], [x], 0)[0]

    def gradient(backend: Any) -> torch.Tensor:
        torch.compiler.reset()
        made = torch.compile(model, backend=backend, fullgraph=True)(x, torch.ones(5))
        return torch.autograd.grad((made * made.detach()).sum(), x)[0]

    x = torch.rand(8, 5, requires_grad=True)
    try:
        wanted = gradient("aot_eager")
    except Exception as error:
        assert "not support gradients for lifted" in str(error)
        with pytest.raises(Exception, match="not support gradients for lifted"):
            gradient(compiler)
    else:
        torch.testing.assert_close(gradient(compiler), wanted)


def test_what_torch_makes_of_nested_operands_on_a_gpu_goes_into_a_graph() -> None:
    """Traced with tensors that claim to be on one: the public function takes no others."""
    found: list[fx.GraphModule] = []

    def model(rate: torch.Tensor, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        def combine(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
            (early,), (late,) = a["x"], b["x"]
            return {"rate": a["rate"] * b["rate"], "x": (early * b["rate"] + late + bias,)}

        xs = {"rate": rate.sigmoid(), "x": (x,)}
        result = associative_scan(combine, xs, 1, reverse=True, combine_mode="pointwise")
        return result["x"][0].relu()

    def keep(gm: fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        normalise(gm)
        found.append(gm)
        return gm.forward

    def backend(gm: fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        return aot_module_simplified(gm, inputs, fw_compiler=keep)

    torch.compiler.reset()
    with FakeTensorMode():
        given = [torch.empty(size, device="cuda") for size in ((3, 40), (3, 40), (3,))]
        torch.compile(model, backend=backend, fullgraph=True)(*given)
    torch.compiler.reset()
    graph = convert(found[0], "traced").graph
    (scan,) = [node for node in graph.nodes if node.op == "harness.associative_scan.default"]
    assert loads(dumps(graph)) == graph and "aten.mul.Tensor" in str(scan.args[1])
    assert isinstance(scan.args[2], tuple) and len(scan.args[2]) == 1
    compiled = compile_graph(graph, TARGETS["sm_90"])
    assert not compiled.report().library_calls and not compiled.report().failures
