"""First choices that were fastest, or nearly, on an H200 (docs/measurements/tuning.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.heuristics.facts import Facts, Family, Hint
from harness.heuristics.registry import candidates
from harness.target import H100, H200, Target
from tests.heuristics.test_candidates import persistent, pointwise, reduction

STRIPS = Facts(
    Family.REDUCTION, (("y", 4), ("x", 6144), ("r0_", 1024)), Hint.OUTER, 5, 1, 1, 8 << 20, loops=1
)


@pytest.mark.parametrize("target", [H100, H200], ids=lambda t: t.name)
@pytest.mark.parametrize(
    ("facts", "blocks", "warps"),
    [
        (pointwise(3145728, bytes=4 * 3145728, loads=1, stores=1), (2048,), 4),
        (pointwise(65536, bytes=4 * 65536, stores=1), (1024,), 8),
        (pointwise(6422528, bytes=8 * 6422528, loads=5, stores=1), (512,), 4),
        (pointwise(6422528, bytes=12 * 6422528, loads=2, stores=1), (512,), 8),
        (pointwise(256, 256, 256, bytes=8 << 24, loads=3, stores=1), (32, 32, 16), 8),
        (pointwise(256, 256, 256, bytes=16 << 24, loads=3, stores=1), (16, 16, 32), 8),
        (pointwise(3072, 3136, bytes=4 << 23, loads=6, stores=1, shared=True), (512, 4), 4),
        (pointwise(3072, 3136, bytes=4 << 23, loads=11, stores=1, shared=True), (256, 4), 4),
        (pointwise(3072, 3136, bytes=4 << 23, loads=12, stores=1, shared=True), (1024, 1), 4),
        (pointwise(3072, 1225, bytes=4 << 23, loads=12, stores=1, shared=True), (256, 4), 4),
        (pointwise(128, 768, bytes=4 << 17, stores=1, shared=True), (64, 4), 4),  # a small table
        (pointwise(256, 1024, bytes=4 << 18, stores=1, shared=True), (64, 4), 4),
        (pointwise(1280, 768, bytes=4 << 20, stores=1, shared=True), (512, 4), 4),
        (pointwise(512, 128, bytes=6 << 16, loads=1, stores=4), (16, 32), 4),
        (pointwise(8, 9, 200, bytes=16 * 14400, loads=3, stores=1), (64, 16, 8), 8),
        (reduction(512, 12544, Hint.INNER, loads=1), (1, 2048), 8),
        (reduction(512, 12544, Hint.INNER, loads=4), (1, 2048), 16),
        (reduction(192, 25088, Hint.INNER, loads=1), (1, 2048), 32),
        (reduction(512, 50176, Hint.INNER, loads=1), (1, 512), 8),
        (reduction(512, 200704, Hint.INNER, loads=1), (1, 2048), 16),
        (reduction(512, 65536, Hint.INNER, loads=2), (1, 4096), 16),
        (reduction(192, 6144, Hint.INNER, loads=7), (1, 4096), 32),
        (reduction(192, 12544, Hint.INNER, loads=7, loops=2, reductions=2), (1, 4096), 16),
        (reduction(192, 12544, Hint.INNER, loads=7, loops=2, reductions=1), (1, 4096), 32),
        (reduction(4096, 6144, Hint.INNER, loads=7), (1, 2048), 8),
        (reduction(512, 65536, Hint.INNER, loads=6, loops=1), (1, 4096), 16),
        (reduction(864, 12544, Hint.INNER, loads=6, loops=2), (1, 2048), 16),
        (reduction(512, 25088, Hint.INNER, loads=6, loops=2), (1, 4096), 16),
        (reduction(32000, 256, Hint.OUTER, loads=1), (32, 8), 4),
        (reduction(4096, 512, Hint.OUTER, loads=1), (16, 256), 8),
        (reduction(24576, 394, Hint.OUTER, loads=1), (32, 256), 2),
        (STRIPS, (64, 1, 32, 1), 8),
        (persistent(8192, 1024, loads=1, bytes=4 << 23), (1, 1024), 2),
        (persistent(4096, 1024, loads=1, bytes=4 << 22), (1, 1024), 1),
        (persistent(16384, 1024, loads=1, bytes=4 << 24), (1, 1024), 1),
        (persistent(150528, 32, Hint.MIXED, loads=1), (32, 32), 1),
        (persistent(16384, 256, Hint.MIXED, loads=2), (16, 256), 2),
        (persistent(1000, 64, Hint.OUTER, loads=6), (16, 64), 8),
        (persistent(1000, 64, Hint.OUTER, loads=2), (2, 64), 1),
    ],
)
def test_first_choices(facts: Facts, blocks: tuple[int, ...], warps: int, target: Target) -> None:
    first = candidates(facts, target)[0]
    assert (tuple(size for _, size in first.blocks), first.num_warps) == (blocks, warps)


@pytest.mark.parametrize(
    ("rows", "columns", "warps"), [(4096, 7168, 4), (4096, 5120, 4), (512, 7168, 8)]
)
def test_many_rows_of_8192_have_half_the_warps(rows: int, columns: int, warps: int) -> None:
    """80.8 us with 4 warps for 4096 rows of 6912 elements of five tensors, 98.6 with 8."""
    facts = persistent(rows, columns, bytes=10 * rows * columns, loads=5, stores=2, reductions=1)
    row = replace(facts, fixed_blocks=(("XBLOCK", 1), ("R0_BLOCK", 1 << 13)))
    assert candidates(row, H200)[0].num_warps == warps


@pytest.mark.parametrize(("loads", "first"), [(2, (32, 1, 1)), (7, (16, 1, 3))])
def test_rows_that_begin_anywhere_are_not_loaded_ahead(
    loads: int, first: tuple[int, int, int]
) -> None:
    """Of 49 elements each, seven tensors: 96 us, 423 with 4 warps and 32 rows."""
    sizes = (("y", 588), ("x", 512), ("r0_", 49))
    best = candidates(Facts(Family.MIXED, sizes, Hint.INNER, loads=loads), H200)[0]
    assert (best.block("XBLOCK"), best.num_warps, best.block("STAGES")) == first


@pytest.mark.parametrize(("each", "rows"), [(16.1, 16), (8.0, 32)])
def test_strips_of_many_bytes_have_half_the_rows(each: float, rows: int) -> None:
    """Nine tensors: 43.4 us, 62.6 with twice the rows, of which two programs fill shared memory."""
    sizes = (("y", 16), ("x", 1536), ("r0_", 392))
    moved = int(each * 16 * 1536 * 392)
    facts = Facts(Family.REDUCTION, sizes, Hint.OUTER, 9, 3, 2, moved, loops=1, full=True)
    best = candidates(facts, H200)[0]
    assert (best.block("XBLOCK"), best.block("R0_BLOCK"), best.num_warps) == (64, rows, 4)


@pytest.mark.parametrize(
    ("sizes", "block", "warps"),
    [((128, 32, 768), 2, 4), ((3456, 196, 9), 256, 4)],  # few strips; rows of 16 elements or less
)
def test_rows_beside_columns_are_tried_in_smaller_and_larger_blocks(
    sizes: tuple[int, int, int], block: int, warps: int
) -> None:
    named = tuple(zip(("y", "x", "r0_"), sizes, strict=True))
    found = candidates(Facts(Family.MIXED, named, Hint.INNER, loads=4), H200)
    assert (block, warps) in [(config.block("XBLOCK"), config.num_warps) for config in found]


@pytest.mark.parametrize(
    ("row", "ahead", "apart"), [(64, 8, True), (96, 8, True), (256, 8, True), (96, 20, False)]
)
def test_blocks_of_rows_added_up_apart_have_several_warps(
    row: int, ahead: int, apart: bool
) -> None:
    sizes = ("y", 256), ("x", 784), ("r0_", row)
    facts = Facts(Family.MIXED, sizes, Hint.INNER, loads=6, ahead=ahead)
    first = candidates(facts, H200)[0]
    assert facts.apart == apart == (first.num_warps >= 4)


@pytest.mark.parametrize(("rows", "columns"), [(8192, 128), (12288, 32)])
def test_rows_of_many_columns_that_are_put_together_have_small_blocks(
    rows: int, columns: int
) -> None:
    sizes, size = (("x", rows),), 4 * rows * columns
    facts = Facts(Family.POINTWISE, sizes, loads=columns, stores=columns, bytes=size)
    best = candidates(facts, H200)[0]
    assert (best.block("XBLOCK"), best.num_warps) == (64, 2)


@pytest.mark.parametrize(
    ("row", "ahead", "pieces", "first"),
    [
        (16, 190, False, (64, 2, 1)),  # of what is loaded ahead a multiprocessor held one program
        (16, 48, True, (64, 2, 1)),  # whose branches a pipeline would repeat
        (16, 8, False, (64, 2, 3)),
        (32, 24, False, (32, 2, 3)),
        (64, 20, False, (32, 4, 3)),
        (128, 20, False, (16, 2, 3)),
    ],
)
def test_shortest_rows_of_many_tensors_have_few_warps(
    row: int, ahead: int, pieces: bool, first: tuple[int, int, int]
) -> None:
    """Mamba's 32 slices: 32 us, 307 with 32 rows, 16 warps, all loaded ahead and no branches."""
    sizes = (("y", 2048), ("x", 192), ("r0_", row))
    facts = Facts(Family.MIXED, sizes, Hint.INNER, loads=40, ahead=ahead, pieces=pieces)
    best = candidates(facts, H200)[0]
    assert (best.block("XBLOCK"), best.num_warps, best.block("STAGES")) == first
