"""Tensors that rows would read across memory are copied first, turned to lie as the rows do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness.backend import Compiler, Devices
from harness.compiled import CompiledGraph
from harness.conformance.compare import differences
from harness.decisions import UNDECIDED, Decisions
from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.target import H200
from harness.tiling import memory


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


def changed_first(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """What is read is what it is changed to."""
    mask.mul_(2)
    return (x - mask).softmax(-1)


def scattered_first(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    mask[torch.tensor([0, 3])] = 1.0
    return (x - mask).softmax(-1)


def two_ways(x: torch.Tensor, mask: torch.Tensor) -> list[torch.Tensor]:
    """Two kernels read what a third one makes along dimensions of their own: one has a copy."""
    own = mask * 2
    return [(x - own).softmax(-1), (x.mT.contiguous() - own.mT).softmax(-1), own]


def columns(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """They lie across themselves."""
    return (x - mask).amax(-2)


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
    "changed first": (changed_first, lambda: [torch.randn(X), last_first(*MASK)], 0, 2),
    "scattered first": (scattered_first, lambda: [torch.randn(X), last_first(*MASK)], 0, 2),
    "two ways": (two_ways, lambda: [torch.randn(8, 9, 40, 64), last_first(8, 1, 40, 64)], 1, 3),
    "columns": (columns, lambda: [torch.randn(64, 3, 100, 40), last_first(64, 1, 100, 40)], 0, 1),
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
    monkeypatch.setattr(memory, "WORTH", 0)
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


@pytest.mark.parametrize(
    ("images", "decisions", "copied"),
    [
        ("64", UNDECIDED, {"mask": 2}),
        ("64", Decisions(chunks={}), {}),  # of another compilation, which had no copy
        ("s0", UNDECIDED, {}),  # nobody knows whether it is worth one
    ],
)
def test_only_rows_of_known_numbers_are_copied_and_as_decided(
    images: str, decisions: Decisions, copied: dict[str, int]
) -> None:
    graph = loads(
        f"""# harness graph 1
def softmax(
    x: "f32[{images}, 512, 4608]",
    mask: "f32[1, 512, 4608]{{1, 1, 512}}",
):
    sub: "f32[{images}, 512, 4608]" = aten.sub.Tensor(x, mask)
    max: "f32[{images}, 512, 1]" = aten.amax.default(sub, [-1], True)
    return (max,)
"""
    )
    assert compile_graph(graph, H200, decisions).decisions.turned == copied


def test_a_copy_shares_no_kernel_with_its_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few points may be read across by one kernel, which would need no copy."""
    monkeypatch.setattr(memory, "WORTH", 0)
    kind = '"f32[60, 64]"'
    given = "".join(f"    x{n}: {kind},\n" for n in range(5))
    steps = "".join(
        f"    s{n}: {kind} = aten.mul.Tensor({f's{n - 1}' if n else 'wide'}, x{n})\n"
        for n in range(5)
    )
    graph = loads(
        f"""# harness graph 1
def rows(
    mask: "bf16[60, 64]{{1, 60}}",
{given}):
    wide: "f32[60, 64]{{1, 60}}" = aten._to_copy.default(mask, dtype=torch.float32)
{steps}    max: "f32[60, 1]" = aten.amax.default(s4, [-1], True)
    return (max,)
"""
    )
    compiled = compile_graph(graph, H200)
    assert (compiled.decisions.turned, len(compiled.kernels)) == ({"mask": 1}, 2)


def test_what_two_kernels_read_across_in_two_ways_is_copied_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "WORTH", 0)
    graph = loads(
        """# harness graph 1
def ways(
    x: "f32[8, 9, 40, 64]",
    y: "f32[8, 9, 64, 40]",
    mask: "f32[8, 1, 40, 64]{1, 20480, 512, 8}",
):
    own: "f32[8, 1, 40, 64]{1, 20480, 512, 8}" = aten.mul.Tensor(mask, 2)
    sub: "f32[8, 9, 40, 64]" = aten.sub.Tensor(x, own)
    max: "f32[8, 9, 40, 1]" = aten.amax.default(sub, [-1], True)
    per: "f32[8, 1, 64, 40]{1, 20480, 8, 512}" = aten.permute.default(own, [0, 1, 3, 2])
    other: "f32[8, 9, 64, 40]" = aten.sub.Tensor(y, per)
    most: "f32[8, 9, 64, 1]" = aten.amax.default(other, [-1], True)
    return (own, max, most)
"""
    )
    compiled = compile_graph(graph, H200)
    assert (compiled.decisions.turned, len(compiled.kernels)) == ({"own": 2}, 3)
