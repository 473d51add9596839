"""Candidates of reductions that are held in one block."""

from __future__ import annotations

import pytest

from harness.heuristics.facts import Facts, Family, Hint
from harness.heuristics.registry import candidates
from harness.target import H200

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
