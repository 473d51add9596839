"""Sums down the same rows, cut into the same strips: what one kernel reads once, and that it is
right."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.codegen.source import EmittedModule
from harness.graph.passes.split import split_reductions
from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.runtime.module import load
from harness.target import H200
from tests.codegen.test_mixed import TWENTY, categories, compiled
from tests.running import run_graph

_POSITIONS = """# harness graph 1
def norm_of_positions(
    dy: "{t}[{b}, {n}, 24]",
    x: "{t}[{b}, {n}, 24]",
    place: "{t}[1, {n}, 24]",
):
    placed: "{t}[{b}, {n}, 24]" = aten.add.Tensor(x, place)
    xf: "f32[{b}, {n}, 24]" = aten._to_copy.default(placed, dtype=torch.float32)
    grad: "f32[{b}, {n}, 24]" = aten._to_copy.default(dy, dtype=torch.float32)
    prod: "f32[{b}, {n}, 24]" = aten.mul.Tensor(grad, xf)
    along: "f32[{b}, {n}, 1]" = aten.sum.dim_IntList(prod, [2], True)
    less: "f32[{b}, {n}, 24]" = aten.sub.Tensor(grad, along)
    out: "bf16[{b}, {n}, 24]" = prims.convert_element_type.default(less, torch.bfloat16)
    flat: "bf16[{rows}, 24]" = aten.view.default(out, [{rows}, 24])
    weight: "f32[24]" = aten.sum.dim_IntList(prod, [0, 1])
    bias: "f32[1, 24]" = aten.sum.dim_IntList(flat, [0], True, dtype=torch.float32)
    places: "bf16[1, {n}, 24]" = aten.sum.dim_IntList(out, [0], True)
    return (out, weight, bias, places)
"""


@pytest.mark.parametrize(
    ("images", "positions", "dtype", "kept", "strips"),
    [
        (64, 17, "bf16", True, 17),  # the strips of the sums that are kept for positions
        (512, 17, "f32", True, 17),  # which are not cut, though they add up many images
        (64, 17, "bf16", False, 64),  # as many as wanted, each an image
        (12, 23, "bf16", False, 23),  # images are too few: a position in all of them
        (14, 11, "f32", False, 22),  # or in half of them
    ],
)
def test_sums_over_images_and_positions_walk_the_same_strips(
    interpreter: InterpreterPool, images: int, positions: int, dtype: str, kept: bool, strips: int
) -> None:
    source = _POSITIONS.format(b=images, n=positions, rows=images * positions, t=dtype)
    made = compiled(source if kept else source.replace(", places)", ")"), target=TWENTY)
    first, *_ = made.kernels
    few = _POSITIONS.format(b=2, n=3, rows=6, t=dtype)  # where nothing would be cut
    few = few if kept else few.replace(", places)", ")")
    assert categories(compiled(few, made.decisions)).count("mix") == 1
    assert first.module.category == "mix" and {*categories(made)[1:]} <= {"per", "red"}
    # All that is added up is read once, by the kernel that walks strips.
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    size, place, each = images * positions * 24, positions * 24, kind.itemsize
    sums = 2 * strips * 24 * 4
    read = (2 * size + place) * each
    assert first.module.bytes_moved == read + 2 * size + sums + 2 * place * kept
    rest = [one.kernel.module.bytes_moved for one in made.regions[0].launches[1:]]
    assert sum(rest) == sums + 2 * 24 * 4
    torch.manual_seed(2)
    shape = (images, positions, 24)
    dy, x, at = (torch.randn(s).to(kind) for s in (shape, shape, (1, positions, 24)))

    def launch(module: EmittedModule, args: list[Any]) -> None:
        interpreter.launch(module.text, args)

    found = [one.double() for one in run_graph(made, [dy, x, at], launch, "cpu") if one is not None]
    prod = dy.double() * (x.double() + at.double())
    out = dy.double() - prod.sum(2, keepdim=True)
    right = (out, prod.sum((0, 1)), found[0].sum((0, 1))[None], found[0].sum(0, keepdim=True))
    for one, wanted, rounding in zip(found, right, (4e-3, 2e-5, 2e-5, 4e-3), strict=False):
        torch.testing.assert_close(one, wanted, rtol=rounding, atol=2e-3)


def test_sums_of_other_tensors_are_cut_as_if_they_were_alone() -> None:
    """Though they have as many results as those that are kept for positions."""
    source = _POSITIONS.format(b=512, n=17, rows=512 * 17, t="f32")
    source = source.replace('    place: "', '    other: "f32[3000, 408]",\n    place: "').replace(
        "    return (out",
        '    down: "f32[408]" = aten.sum.dim_IntList(other, [0])\n    return (down',
    )
    cut = {node.name for node in split_reductions(loads(source), TWENTY).nodes}
    assert {"down_partial", "weight_partial"} <= cut
    assert "places_partial" not in cut


@pytest.mark.parametrize(("row", "apart"), [(96, True), (152, True), (320, False)])
def test_sums_of_short_rows_are_put_together_at_the_end(
    interpreter: InterpreterPool, row: int, apart: bool
) -> None:
    """A gradient of a layer norm beside another one, of 16 bits: five tensors or numbers a row."""
    graph = loads(
        f"""# harness graph 1
def norm_backward(
    dy: "bf16[128, 70, {row}]",
    x: "bf16[128, 70, {row}]",
    z: "bf16[128, 70, {row}]",
    mean: "f32[128, 70, 1]",
    scale: "f32[128, 70, 1]",
):
    wide: "f32[128, 70, {row}]" = aten._to_copy.default(dy, dtype=torch.float32)
    own: "f32[128, 70, {row}]" = aten._to_copy.default(x, dtype=torch.float32)
    less: "f32[128, 70, {row}]" = aten.sub.Tensor(own, mean)
    normed: "f32[128, 70, {row}]" = aten.mul.Tensor(less, scale)
    product: "f32[128, 70, {row}]" = aten.mul.Tensor(wide, normed)
    along: "f32[128, 70, 1]" = aten.sum.dim_IntList(product, [2], True)
    moved: "f32[128, 70, {row}]" = aten.mul.Tensor(normed, along)
    back: "f32[128, 70, {row}]" = aten.sub.Tensor(wide, moved)
    both: "f32[128, 70, {row}]" = aten.add.Tensor(back, z)
    narrow: "bf16[128, 70, {row}]" = aten._to_copy.default(both, dtype=torch.bfloat16)
    weight: "f32[128, {row}]" = aten.sum.dim_IntList(product, [1])
    return (narrow, weight)
"""
    )
    (kernel,) = compile_graph(graph, H200).kernels
    text = kernel.module.text
    assert kernel.name.startswith("triton_mix")
    assert ("tl.full([XBLOCK, R0_BLOCK], 0.0, tl.float32)" in text) == apart
    configs = load(text).configs
    # A program for each strip, of which there are fewer than multiprocessors.
    assert (configs[0].num_warps == 16) == apart
    assert (max(config.num_warps for config in configs[1:]) == 8) == apart
    for config in configs[:2] if apart else ():
        found = interpreter.check(text, config)
        assert found.passed, (config, found)
