"""Launch grids: their text, and what it comes to."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import GridTooLarge
from harness.heuristics.limits import cdiv
from harness.runtime.grid import Counts, Grid, Size, checked, cooperative, split_scan, tiled

X, Y, Z = (1000, "XBLOCK"), (70, "YBLOCK"), (33, "ZBLOCK")
CONFIG = {"XBLOCK": 64, "YBLOCK": 32, "ZBLOCK": 16, "R0_BLOCK": 256, "RSPLIT": 8, "PROGRAMS": 132}

TABLE: list[tuple[Grid, Counts, str]] = [
    (tiled(X), (16, 1, 1), "(-(-1000 // XBLOCK), 1, 1)"),
    (tiled(X, Y), (16, 3, 1), "(-(-1000 // XBLOCK), -(-70 // YBLOCK), 1)"),
    (tiled(X, Y, Z), (16, 3, 3), "(-(-1000 // XBLOCK), -(-70 // YBLOCK), -(-33 // ZBLOCK))"),
    (
        tiled(X, Y, Z, in_x=True),
        (144, 1, 1),
        "(-(-1000 // XBLOCK) * -(-70 // YBLOCK) * -(-33 // ZBLOCK), 1, 1)",
    ),
    (
        cooperative(90),
        (128, 1, 1),  # 16 of the 90 rows at a time
        "(90 if RSPLIT == 1 else RSPLIT * min(90, PROGRAMS // RSPLIT), 1, 1)",
    ),
    (split_scan(1000, "R0_BLOCK", 7), (4, 7, 1), "(-(-1000 // R0_BLOCK), 7, 1)"),
    (tiled(("2*s0 + 1", "XBLOCK")), (7, 1, 1), "(-(-(2*s0 + 1) // XBLOCK), 1, 1)"),
]
SIZES = {"s0": 200, "s1": 3}


def evaluated(text: str, names: dict[str, int]) -> tuple[int, ...]:
    return tuple(eval(text, {"__builtins__": {"max": max, "min": min}}, names))


def programs(grid: Grid, config: dict[str, int], sizes: dict[str, int]) -> tuple[int, ...]:
    """What the text gives, with no other names than those the grid says it reads."""
    return evaluated(grid.text, {**{name: config[name] for name in grid.names}, **sizes})


@pytest.mark.parametrize(("grid", "counts", "text"), TABLE)
def test_shapes(grid: Grid, counts: Counts, text: str) -> None:
    assert grid.text == text
    assert programs(grid, CONFIG, SIZES) == counts


NUMEL: st.SearchStrategy[Size] = st.one_of(
    st.integers(1, 300),
    st.integers(1, 1 << 34),
    st.sampled_from(("s0", "s1", "s0*s1", "2*s0 + 3", "s0 // 7 + 1", "max(s0, s1)", "s0 % 5 + 1")),
)
CONFIGS = st.fixed_dictionaries(dict.fromkeys(CONFIG, st.integers(0, 12).map(lambda n: 1 << n)))
UNKNOWN = st.fixed_dictionaries({"s0": st.integers(0, 1 << 20), "s1": st.integers(1, 5000)})


def points(size: Size, sizes: dict[str, int]) -> int:
    return evaluated(f"({size},)", dict(sizes))[0]


@settings(max_examples=300, deadline=None)
@given(NUMEL, NUMEL, NUMEL, CONFIGS, UNKNOWN)
def test_every_block_of_every_tile_has_a_program(
    x: Size, y: Size, z: Size, config: dict[str, int], sizes: dict[str, int]
) -> None:
    across = cdiv(points(x, sizes), config["XBLOCK"])
    along = cdiv(points(y, sizes), config["YBLOCK"])
    one, two = tiled((x, "XBLOCK")), tiled((x, "XBLOCK"), (y, "YBLOCK"))
    assert programs(one, config, sizes) == (across, 1, 1)
    assert programs(two, config, sizes) == (across, along, 1)
    deep, three = cdiv(points(z, sizes), config["ZBLOCK"]), ((x, "XBLOCK"), (y, "YBLOCK"))
    three = (*three, (z, "ZBLOCK"))
    assert programs(tiled(*three), config, sizes) == (across, along, deep)
    assert programs(tiled(*three, in_x=True), config, sizes) == (across * along * deep, 1, 1)


@settings(max_examples=300, deadline=None)
@given(NUMEL, NUMEL, st.integers(1, 64), CONFIGS, UNKNOWN)
def test_rows_that_are_shared_and_scanned(
    rows: Size, scanned: Size, few: int, config: dict[str, int], sizes: dict[str, int]
) -> None:
    count, split = points(rows, sizes), config["RSPLIT"]
    shared = split * min(count, config["PROGRAMS"] // split) if split > 1 else count
    assert programs(cooperative(rows), config, sizes) == (shared, 1, 1)
    blocks = cdiv(points(scanned, sizes), config["R0_BLOCK"])
    assert programs(split_scan(scanned, "R0_BLOCK", few), config, sizes) == (blocks, few, 1)


@pytest.mark.parametrize("counts", [(1 << 31, 1, 1), (1, 65536, 1), (1, 1, 65536), (-1, 1, 1)])
def test_a_grid_past_the_launch_limit_says_so(counts: Counts) -> None:
    with pytest.raises(GridTooLarge, match="larger blocks"):
        checked(counts, "kernel")


def test_the_largest_grid_passes() -> None:
    assert checked(((1 << 31) - 1, 65535, 65535), "kernel") == ((1 << 31) - 1, 65535, 65535)
