"""First choices of reductions down columns."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.heuristics.facts import Config, Facts, Family, Hint
from harness.heuristics.reduction import with_registers
from harness.heuristics.registry import candidates
from harness.target import H200, TARGETS


@pytest.mark.parametrize(
    ("strips", "columns", "rows", "first"),
    [  # the fastest of those measured on an H200, or within 6 % of it
        (64, 30522, 64, (512, 4, 4)),
        (32, 50265, 128, (512, 4, 4)),
        (8, 4096, 64, (64, 32, 4)),  # not fewer programs than run at once
        (1, 196608, 64, (64, 64, 4)),
        (1, 163840, 128, (64, 64, 4)),
        (1, 196608, 197, (64, 32, 8)),
        (1, 196608, 256, (64, 32, 8)),
        (1, 49152, 392, (64, 32, 8)),
        (1, 24576, 1568, (64, 32, 8)),
        (1, 49152, 98, (32, 16, 4)),  # few points, and the last rows fill no block
    ],
)
def test_columns_that_are_stored_too(
    strips: int, columns: int, rows: int, first: tuple[int, int, int]
) -> None:
    sizes = (("y", strips), ("x", columns), ("r0_", rows))[strips == 1 :]
    facts = Facts(Family.REDUCTION, sizes, Hint.OUTER, loads=2, reductions=1, loops=1, full=True)
    best = candidates(replace(facts, fixed_blocks=(("YBLOCK", 1),) * (strips > 1)), H200)[0]
    assert (best.block("XBLOCK"), best.block("R0_BLOCK"), best.num_warps) == first
    assert best.block("STAGES") == (3 if strips > 1 or rows >= 256 else 1)


@pytest.mark.parametrize(
    ("rows", "columns", "loads", "warps"),
    [  # the fastest of those measured on an H200, or within 10 % of it
        (4096, 30528, 1, 16),
        (4096, 32768, 1, 16),
        (2048, 50257, 1, 16),
        (2048, 65536, 1, 8),
        (1024, 131072, 1, 8),
        (512, 131072, 2, 8),
        (4096, 32768, 2, 8),
    ],
)
def test_wide_columns_that_are_only_read(rows: int, columns: int, loads: int, warps: int) -> None:
    sizes, moved = (("x", columns), ("r0_", rows)), 2 * columns * (rows * loads + 1)
    facts = Facts(Family.REDUCTION, sizes, Hint.OUTER, loads, 1, 1, moved, loops=1)
    first = Config((("XBLOCK", 64), ("R0_BLOCK", 64)), warps)
    assert candidates(facts, H200)[0] == first
    unlike = [{"bytes": 2 * moved}, {"loops": 2}, {"hint": Hint.INNER}, {"full": True}]
    unlike.append({"sizes": (("x", 16384), ("r0_", rows)), "bytes": moved // columns << 14})
    for other in unlike:  # float32, two loops, rows, stored too, fewer columns
        assert candidates(replace(facts, **other), H200)[0] != first  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "rows", "first"),
    [  # within 8 % of the fastest of those measured on an H200
        (48, 512, (2, 512, 8)),
        (152, 3137, (2, 1024, 16)),
        (256, 128, (2, 128, 2)),
        (384, 196, (4, 256, 8)),
        (768, 3137, (8, 256, 16)),
        (1024, 128, (8, 128, 8)),
    ],
)
def test_few_columns_have_many_rows_at_once(
    columns: int, rows: int, first: tuple[int, int, int]
) -> None:
    sizes, points = (("x", columns), ("r0_", rows)), columns * rows
    facts = Facts(Family.REDUCTION, sizes, Hint.OUTER, 4, 4, 4, 16 * points, loops=1)
    best = candidates(facts, H200)[0]
    assert (best.block("XBLOCK"), best.block("R0_BLOCK"), best.num_warps) == first
    more = candidates(replace(facts, sizes=(("x", 2048), ("r0_", 3137))), H200)[0]
    assert more.block("XBLOCK") > 8 or more.block("R0_BLOCK") < 256


@pytest.mark.parametrize(
    ("hint", "sizes", "first"),
    [
        (Hint.OUTER, (1024, 24, 196), {"XBLOCK": 4, "YBLOCK": 16, "R0_BLOCK": 32, "STAGES": 1}),
        (Hint.OUTER, (4096, 256, 128), {"XBLOCK": 32, "YBLOCK": 32, "R0_BLOCK": 4, "STAGES": 1}),
        (Hint.MIXED, (24, 768), {"XBLOCK": 1, "R0_BLOCK": 1024}),
        (Hint.MIXED, (24, 2048), {"XBLOCK": 8, "R0_BLOCK": 128}),
        (Hint.MIXED, (12544, 98), {"XBLOCK": 8, "R0_BLOCK": 128}),
        (Hint.MIXED, (12544, 768), {"XBLOCK": 32, "R0_BLOCK": 64}),
    ],
)
def test_what_lies_in_two_directions_has_smaller_blocks_where_it_is_few(
    hint: Hint, sizes: tuple[int, ...], first: dict[str, int]
) -> None:
    named = tuple(zip(("y", "x", "r0_")[-len(sizes) :], sizes, strict=True))
    facts = Facts(Family.REDUCTION, named, hint, loads=4, strided=len(sizes) - 2)
    assert dict(candidates(facts, H200)[0].blocks) == first


@pytest.mark.parametrize(
    ("programs", "rows", "loads", "block", "told"),
    [  # 60000 x 65, split: 20 of 60 loads were under way, 4.36 us on an H200, now 4.11
        (65 * 250, 240, 1, (32, 8, 4), 128),
        (257 * 128, 256, 1, (32, 8, 4), 64),  # 8 programs on a multiprocessor: 7.19, 6.84
        (257 * 128, 256, 1, (64, 64, 16), 0),  # 16 warps each, four at once: 7.7, with 40 8.7
        (4 * 257 * 128, 256, 1, (32, 8, 4), 0),  # not all at once: 76.8 and 82.7 for another
        (65 * 250, 240, 8, (32, 32, 4), 0),  # a turn alone has 64 loads, which would be spilled
        (65 * 250, 8, 1, (32, 8, 4), 0),  # two loads in all
    ],
)
def test_loads_down_columns_are_under_way_where_that_costs_no_program_its_place(
    programs: int, rows: int, loads: int, block: tuple[int, int, int], told: int
) -> None:
    sizes, (x, row, warps) = (("x", programs), ("r0_", rows)), block
    facts = Facts(Family.REDUCTION, sizes, Hint.OUTER, loads, 1, 1, 1 << 24, loops=1)
    config = Config((("XBLOCK", x), ("R0_BLOCK", row)), warps)
    options = (("maxnreg", told),) if told else ()
    assert with_registers(config, facts, H200) == replace(config, options=options)
    others = [{"hint": Hint.INNER}, {"family": Family.SCAN}, {"width": 8}, {"unknown": ("x",)}]
    for other in others:
        assert with_registers(config, replace(facts, **other), H200) == config  # type: ignore[arg-type]


@given(
    st.integers(1, 1 << 20),
    st.integers(1, 4096),
    st.integers(1, 9),
    st.sampled_from(sorted(TARGETS)),
)
def test_candidates_down_columns_are_told_no_more_registers_than_there_are(
    columns: int, rows: int, loads: int, name: str
) -> None:
    target, sizes = TARGETS[name], (("x", columns), ("r0_", rows))
    for config in candidates(Facts(Family.REDUCTION, sizes, Hint.OUTER, loads, 1, 1, 1), target):
        if told := dict(config.options).get("maxnreg"):
            each = -(-columns // config.block("XBLOCK") // target.multiprocessors)
            threads = each * config.num_warps * target.warp_size
            assert told >= 64 and threads * told <= target.registers_per_multiprocessor
