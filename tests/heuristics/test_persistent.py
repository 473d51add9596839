"""Candidates of reductions that are held in one block."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.heuristics.facts import Facts, Family, Hint
from harness.heuristics.registry import candidates
from harness.target import H200
from tests.heuristics.test_candidates import persistent

COLUMNS = [  # columns, elements of one, bytes a column; columns of a program on an H200
    (294912, 32, 68, 64),  # 10.5 us, 94.4 with the 2 that trees choose
    (262144, 64, 640, 32),  # 48 us, 286 with 2
    (786432, 2, 6, 512),
    (250880, 4, 18, 256),
    (16384, 64, 260, 16),  # few programs
    (1024, 32, 272, 2),
]


@pytest.mark.parametrize(("columns", "reduced", "each", "x"), COLUMNS)
def test_short_columns_share_a_program_that_spans_sectors(
    columns: int, reduced: int, each: int, x: int
) -> None:
    moved, loads = each * columns, 1 if reduced < 8 else 2
    sizes = (("x", columns), ("r0_", reduced))
    facts = Facts(Family.PERSISTENT, sizes, Hint.OUTER, loads, 1, 1, moved)
    found = candidates(facts, H200)[0]
    assert (found.block("XBLOCK"), found.num_warps) == (x, 1)


FILLED = [  # rows, columns, bytes a column, what fixes the rows; rows of a program, warps
    (1 << 20, 128, 2.0, False, (16, 1)),  # a sum of bfloat16: 163 us with 4 rows
    (32768, 257, 4.0, False, (4, 1)),  # a layer norm: 19.8 us, 24.1 with two warps
    (131072, 130, 2.0, False, (8, 1)),  # one warp holds no more
    (1 << 25, 256, 0.1, False, (128, 16)),  # nearly nothing is loaded: 4445 us, 6036 with 8 rows
    (1 << 20, 128, 4.0, False, (8, 1)),  # softmax: 132 us, 164 with 4
    (1 << 19, 256, 4.0, False, (4, 1)),  # 131 us, 321 with 1
    (1 << 18, 512, 4.0, False, (2, 1)),
    (4096, 256, 4.0, False, (4, 1)),
    (600, 256, 4.0, False, (1, 1)),  # few programs
    (174762, 768, 4.0, False, (1, 1)),  # enough bytes: two of them take two warps and longer
    (1 << 19, 256, 4.0, True, (1, 1)),
]


@pytest.mark.parametrize(("rows", "columns", "each", "pinned", "first"), FILLED)
def test_short_rows_share_a_program_that_is_worth_beginning(
    rows: int, columns: int, each: float, pinned: bool, first: tuple[int, int]
) -> None:
    facts = persistent(rows, columns, bytes=int(each * rows * columns), loads=1, stores=1)
    facts = replace(facts, reductions=1, fixed_blocks=(("XBLOCK", 1),) if pinned else ())
    found = candidates(facts, H200)[0]
    assert (found.block("XBLOCK"), found.num_warps) == first


@pytest.mark.parametrize(
    ("columns", "each", "reductions", "rows"),
    [
        (145, 4.0, 2, 4),  # softmax of bfloat16: 16.5 us, 22.3 with 8 rows
        (145, 4.0, 1, 8),  # layer norm
        (144, 4.0, 2, 8),  # whole vectors
        (449, 2.0, 2, 2),  # a loss
    ],
)
def test_rows_that_begin_anywhere_and_are_reduced_twice_are_held_by_half(
    columns: int, each: float, reductions: int, rows: int
) -> None:
    facts = persistent(65536, columns, bytes=int(each * 65536 * columns), loads=1, stores=1)
    found = candidates(replace(facts, reductions=reductions), H200)[0]
    assert (found.block("XBLOCK"), found.num_warps) == (rows, 1)


@pytest.mark.parametrize(("width", "first"), [(8, (2, 2)), (4, (4, 1))])
def test_what_is_counted_in_64_bits_is_held_by_more_threads(
    width: int, first: tuple[int, int]
) -> None:
    facts = persistent(147456, 384, bytes=171343872, loads=2, stores=2)
    found = candidates(replace(facts, reductions=1, width=width), H200)[0]
    assert (found.block("XBLOCK"), found.num_warps) == first


@pytest.mark.parametrize(
    ("columns", "longest", "each", "told"),
    [
        (
            12345,
            16384,
            4.0,
            True,
        ),  # softmax: 51 us where the length is known, 96 with 142 registers
        (12345, 0, 4.0, False),  # known: the compiler takes 128 by itself
        (16001, 16384, 4.0, False),  # 64 elements a thread
        (12345, 16384, 8.0, False),  # several tensors
        (8000, 16384, 4.0, False),  # half a block
    ],
)
def test_two_programs_of_rows_of_unknown_length_are_held_at_once(
    columns: int, longest: int, each: float, told: bool
) -> None:
    facts = persistent(3000, columns, bytes=int(each * 3000 * columns), loads=1, stores=1)
    config = candidates(replace(facts, longest=longest), H200)[0]
    registers = dict(config.options).get("maxnreg")
    assert registers == (128 if told else None)
    assert not told or 2 * registers * config.num_warps * 32 <= H200.registers_per_multiprocessor
