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


def test_a_function_that_reads_more_than_its_operands_stays_control(compiler: Compiler) -> None:
    def model(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return scanned(lambda a, b: [a * weight + b], [x * 2], 0)[0] + 1

    x, ones = torch.randn(8, 5), torch.ones(5)
    found = torch.compile(model, backend=compiler, fullgraph=True)(x, ones)
    torch.testing.assert_close(found, (x * 2).cumsum(0) + 1)
    assert [report.library_calls[0][0] for report in compiler.eager] == ["associative_scan"]


def test_what_torch_makes_of_nested_operands_on_a_gpu_goes_into_a_graph() -> None:
    """Traced with tensors that claim to be on one: the public function takes no others."""
    found: list[fx.GraphModule] = []

    def combine(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        (early,), (late,) = a["x"], b["x"]
        return {"rate": a["rate"] * b["rate"], "x": (early * b["rate"] + late,)}

    def model(rate: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
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
        given = [torch.empty(3, 40, device="cuda") for _ in range(2)]
        torch.compile(model, backend=backend, fullgraph=True)(*given)
    torch.compiler.reset()
    graph = convert(found[0], None, "traced").graph
    (scan,) = [node for node in graph.nodes if node.op == "harness.associative_scan.default"]
    assert loads(dumps(graph)) == graph and "aten.mul.Tensor" in str(scan.args[1])
    compiled = compile_graph(graph, TARGETS["sm_90"])
    assert not compiled.report().library_calls and not compiled.report().failures
