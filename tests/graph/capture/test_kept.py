from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from harness.backend import Compiler
from harness.graph.capture.aot import trace

_COMPARED: dict[str, Callable[[Tensor], Tensor]] = {
    "amin": lambda v: v.amin(1),
    "clamp": lambda v: v.clamp(min=v.amin(0) * 1.0, max=v.amax(0)),
    "where": lambda v: torch.where(v == v.amax(0, keepdim=True), v, v.amin(-1, keepdim=True)),
}


def _softmaxes(x: Tensor) -> Tensor:
    return (x.softmax(-1) * 3).softmax(-1)


@pytest.mark.parametrize("name", _COMPARED)
def test_what_is_compared_with_its_own_extreme_is_not_computed_again(
    compiler: Compiler, name: str
) -> None:
    """Computed by another kernel none equals the extreme that was kept: 0 / 0 in its gradient."""
    x, found = torch.randn(33, 17), []

    def f(x: Tensor) -> Tensor:
        return _COMPARED[name](_softmaxes(x))

    for run in (f, torch.compile(f, backend=compiler)):
        leaf = x.clone().requires_grad_()
        run(leaf).square().sum().backward()
        found.append(leaf.grad)
    torch.testing.assert_close(found[1], found[0])
    assert [report.failures for report in compiler.reports] == [(), ()]


def _kept(f: Callable[[Tensor], Tensor]) -> list[str]:
    """What the forward graph of ``f`` gives its backward graph besides its argument."""
    traced = trace(f, [torch.randn(8, 16, requires_grad=True)], training=True)
    assert traced.forward is not None
    nodes = traced.forward.graph.output_node().args[0]
    assert isinstance(nodes, (list, tuple))
    return [node.target.__name__ for node in nodes[1:] if node.op == "call_function"]


def test_what_is_compared_with_what_is_computed_again_is_computed_again() -> None:
    assert _kept(lambda x: torch.maximum(x.exp().sin(), 0.1 * x.exp().sin())) == []
    assert _kept(lambda x: torch.maximum(x.exp().sin(), x.exp().sin().amax(0))) != []
