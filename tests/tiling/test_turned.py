"""Tensors that rows would read across memory are copied first, turned to lie as the rows do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness.backend import Compiler, Devices
from harness.compiled import CompiledGraph
from harness.conformance.compare import differences
from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.target import H200
from harness.tiling import turned


def softmax(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return (x - mask).softmax(-1)


def both(x: torch.Tensor, mask: torch.Tensor) -> list[torch.Tensor]:
    """A kernel beside it reads the mask as it lies."""
    return [(x - mask).softmax(-1), mask.permute(2, 3, 1, 0).contiguous().cos()]


def changed(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    found = (x - mask).softmax(-1)
    mask.mul_(2)
    return found


def overwritten(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Nobody reads the mask as it lies, but it is changed."""
    found = (x - mask).softmax(-1)
    mask.copy_(x[:, :1] * 2)
    return found


def last_first(*sizes: int) -> torch.Tensor:
    """The first dimension is the innermost."""
    return torch.randn(*sizes[1:], sizes[0]).movedim(-1, 0)


def buffers(compiled: CompiledGraph) -> dict[str, int | None]:
    found = [b for k in compiled.kernels for b in k.source.plan.buffers if b.along is not None]
    return {b.node: b.along for b in found}


X = (8, 9, 16, 520)
MASK = (8, 1, 16, 520)
CASES: dict[str, tuple[Callable[..., object], Callable[[], list[torch.Tensor]], int, int]] = {
    "softmax": (softmax, lambda: [torch.randn(X), last_first(*MASK)], 1, 2),
    "as it lies": (softmax, lambda: [torch.randn(X), torch.randn(MASK)], 0, 1),
    "of one image": (softmax, lambda: [torch.randn(X), torch.randn(520, 16).T.expand(MASK)], 0, 1),
    "read both ways": (both, lambda: [torch.randn(X), last_first(*MASK)], 0, 2),
    "changed": (changed, lambda: [torch.randn(X), last_first(*MASK)], 0, 2),
    "overwritten": (overwritten, lambda: [torch.randn(X), last_first(*MASK)], 0, 2),
}


@pytest.mark.parametrize(("function", "make", "copies", "kernels"), CASES.values(), ids=CASES)
def test_what_rows_read_across_is_copied(
    function: Callable[..., object],
    make: Callable[[], list[torch.Tensor]],
    copies: int,
    kernels: int,
    devices: Devices,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the same graph with the decisions of another one is compiled alike."""
    monkeypatch.setattr(turned, "WORTH", 0)
    compiler = Compiler(H200, devices=devices, fail_on_fallback=True)
    assert differences(function, make(), compiler) == []
    compiled = compiler.compiled[-1]
    assert (len(buffers(compiled)), len(compiled.kernels)) == (copies, kernels)
    assert buffers(compiled) == compiled.decisions.turned
    again = compile_graph(compiled.partition.graph, H200, compiled.decisions)
    texts = [[k.source.text for k in one.kernels] for one in (compiled, again)]
    assert texts[0] == texts[1]


def test_what_is_small_is_not(devices: Devices) -> None:
    compiler = Compiler(H200, devices=devices, fail_on_fallback=True)
    assert differences(softmax, [torch.randn(X), last_first(*MASK)], compiler) == []
    assert len(compiler.compiled[-1].kernels) == 1


NORM = """# harness graph 1
def norm(
    a: "f32[8, 512, 4608]{2359296, 1, 512}",
    b: "bf16[8, 512, 1, 4608]",
):
    half: "bf16[8, 512, 4608]{2359296, 1, 512}" = aten._to_copy.default(a, dtype=torch.bfloat16)
    row: "bf16[8, 512, 1, 4608]{2359296, 1, 2359296, 512}" = aten.unsqueeze.default(half, -2)
    rows: "bf16[8, 512, 2, 4608]" = aten.cat.default([b, row], -2)
    wide: "f32[8, 512, 2, 4608]" = aten._to_copy.default(rows, dtype=torch.float32)
    square: "f32[8, 512, 2, 4608]" = aten.pow.Tensor_Scalar(wide, 2)
    mean: "f32[8, 512, 2, 1]" = aten.mean.dim(square, [-1], True)
    root: "f32[8, 512, 2, 1]" = aten.rsqrt.default(mean)
    out: "f32[8, 512, 2, 4608]" = aten.mul.Tensor(wide, root)
    return (half, rows, root, out)
"""


def test_what_is_computed_is_stored_both_ways() -> None:
    """By the kernel that computes it, as half of the rows of a norm are."""
    compiled = compile_graph(loads(NORM), H200)
    assert compiled.decisions.turned == {"half": 2}
    first, _ = compiled.kernels
    assert first.source.text.count("tl.store") == 2
