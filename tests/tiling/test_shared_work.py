"""Two tiles where blocks of one share the work of the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.heuristics.facts import Hint
from harness.heuristics.registry import candidates
from harness.target import H200


def _bias(table: torch.Tensor, positions: int) -> torch.Tensor:
    """T5's: of every head at every distance."""
    place = torch.arange(positions)
    far = (place[:, None] - place[None, :]).abs().clamp(min=1)
    bucket = (torch.log(far.float() / 2) / 2.7 * 4).to(torch.int64).clamp(0, 7)
    return table[bucket].permute(2, 0, 1).contiguous()


def _angles(x: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Heads turned by their positions' angles."""
    angle = torch.arange(x.shape[1])[:, None] * steps
    return x * angle.cos() + x.flip(-1) * angle.sin()


@pytest.mark.parametrize(
    ("function", "shapes", "tiles"),
    [
        (lambda t: _bias(t, 16), [(8, 12)], ["y", "x"]),
        (lambda t: _bias(t, 17), [(8, 5)], ["y", "x"]),
        (lambda t: _bias(t, 16), [(8, 3)], ["x"]),  # three heads share nothing worth it
        (lambda t: _bias(t, 15), [(8, 12)], ["x"]),  # nor do few places
        (_angles, [(6, 9, 32), (32,)], ["x"]),  # tensors that are read want one layout
        (lambda x, s: (x * s.exp()).exp(), [(6, 9, 32), (32,)], ["x"]),
    ],
)
def test_work_that_blocks_share_is_done_once(
    function: Callable[..., torch.Tensor],
    shapes: list[tuple[int, ...]],
    tiles: list[str],
    devices: Devices,
) -> None:
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(function, [torch.randn(shape) for shape in shapes], compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    assert [tile.prefix for tile in kernel.source.plan.tiles] == tiles


@pytest.mark.parametrize(("channels", "tiles"), [(64, ["y", "x"]), (60, ["x"])])
def test_pixels_found_at_computed_places_are_rows(
    channels: int, tiles: list[str], devices: Devices
) -> None:
    """Their channels are loaded as vectors; of places that floats give Triton knows nothing."""

    def larger(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.interpolate(x, size=(9, 7), mode="bilinear", align_corners=True)

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    image = torch.randn(2, channels, 4, 5).to(memory_format=torch.channels_last)
    assert differences(larger, [image], compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    assert [tile.prefix for tile in kernel.source.plan.tiles] == tiles


@pytest.mark.parametrize(("dim", "rows"), [(1, True), (2, False)])
def test_pixels_of_several_images_found_at_computed_places_are_rows(
    dim: int, rows: bool, devices: Devices
) -> None:
    """Pieces of a ``cat`` along the channels, each a branch."""

    def joined(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        both = (torch.nn.functional.interpolate(i, size=(9, 7), mode="bilinear") for i in (x, y))
        return torch.cat([*both], dim)

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    images = [torch.randn(2, 256, n, 5).to(memory_format=torch.channels_last) for n in (3, 4)]
    assert differences(joined, images, compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    best = candidates(kernel.source.plan.facts, H200)[0]
    tiles = [tile.prefix for tile in kernel.source.plan.tiles]
    assert tiles == (["y", "x"] if rows else ["x"])
    assert best.num_warps == 1 and best.block("XBLOCK") == 256
    assert not rows or best.block("YBLOCK") == 2


def test_a_block_has_rows_of_all_heads_whose_bias_lies_side_by_side(devices: Devices) -> None:
    def weights(scores: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return (scores + bias.permute(2, 0, 1)).softmax(-1)

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    inputs = [torch.randn(8, 24, 40), torch.randn(24, 40, 8)]
    assert differences(weights, inputs, compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    lowest, *_ = kernel.source.plan.tiles[0].entries
    assert int(lowest.length) == 8


@pytest.mark.parametrize(("columns", "tiles"), [(256, ["y", "x", "r0_"]), (60, ["x", "r0_"])])
def test_rows_found_at_computed_places_are_summed_across(
    columns: int, tiles: list[str], devices: Devices
) -> None:
    """Where a row lies is loaded once for all its columns, if they fill a program."""

    def bags(table: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.embedding(places, table).sum(1)

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    places = torch.randint(0, 40, (5, 20))
    assert differences(bags, [torch.randn(40, columns), places], compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    assert [tile.prefix for tile in kernel.source.plan.tiles] == tiles
    assert kernel.source.plan.facts.hint is Hint.OUTER
