"""Launch grids: the numbers, the text of them, and that both say the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import GridTooLarge, InvalidProgram
from harness.runtime.grid import (
    Blocks,
    Cooperative,
    Counts,
    Grid,
    MixedOrder,
    Part,
    RoundRobin,
    Sequential,
    Size,
    SplitScan,
    Tiled,
    checked,
    layers,
    size_value,
)

X, Y, Z = Blocks(1000, "XBLOCK"), Blocks(70, "YBLOCK"), Blocks(6, "ZBLOCK")
CONFIG = {"XBLOCK": 64, "YBLOCK": 32, "ZBLOCK": 4, "R0_BLOCK": 256, "BLOCK": 128}
CONFIG |= {"RSPLIT": 8, "PROGRAMS": 132}
COMBO = (Part((X,)), Part((Blocks(130, "XBLOCK"),)), Part((Blocks(5),)))

TABLE: list[tuple[Grid, Counts, str]] = [
    (Tiled((X,)), (16, 1, 1), "(-(-1000 // XBLOCK), 1, 1)"),
    (Tiled((X, Y)), (16, 3, 1), "(-(-1000 // XBLOCK), -(-70 // YBLOCK), 1)"),
    (Tiled((X, Y, Z)), (16, 3, 2), "(-(-1000 // XBLOCK), -(-70 // YBLOCK), -(-6 // ZBLOCK))"),
    (
        Tiled((X, Blocks(1 << 22, "YBLOCK")), layered=True),
        (16, 43691, 3),
        "(-(-1000 // XBLOCK), -(-(-(-4194304 // YBLOCK)) // (-(-(-(-4194304 // YBLOCK)) // 65535)))"
        ", -(-(-(-4194304 // YBLOCK)) // 65535))",
    ),
    (
        Cooperative(90),
        (128, 1, 1),  # 16 of the 90 rows at a time
        "(90 if RSPLIT == 1 else RSPLIT * min(90, PROGRAMS // RSPLIT), 1, 1)",
    ),
    (
        SplitScan(Blocks(1000, "R0_BLOCK"), 7),
        (4, 7, 1),
        "(-(-1000 // R0_BLOCK), -(-(7) // (-(-(7) // 65535))), -(-(7) // 65535))",
    ),
    (MixedOrder(1000, 128), (8, 1, 1), "(-(-1000 // 128), 1, 1)"),
    (Sequential(COMBO), (16 + 3 + 5, 1, 1), "(-(-1000 // XBLOCK) + -(-130 // XBLOCK) + 5, 1, 1)"),
    (
        RoundRobin(COMBO),
        (3 * 16, 1, 1),
        "(3 * max(-(-1000 // XBLOCK), -(-130 // XBLOCK), 5), 1, 1)",
    ),
    (
        Sequential((Part((X, Y)), Part((X, Blocks(99, "YBLOCK"))))),
        (32, 4, 1),
        "(-(-1000 // XBLOCK) + -(-1000 // XBLOCK), max(-(-70 // YBLOCK), -(-99 // YBLOCK)), 1)",
    ),
    (Tiled((Blocks("2*s0 + 1", "XBLOCK"),)), (7, 1, 1), "(-(-(2*s0 + 1) // XBLOCK), 1, 1)"),
]
SIZES = {"s0": 200, "s1": 3}


def evaluated(grid: Grid, config: dict[str, int], sizes: dict[str, int]) -> tuple[int, ...]:
    """What the text gives, with no other names than those the grid says it reads."""
    names = {name: config[name] for name in grid.names}
    return tuple(eval(grid.text(), {"__builtins__": {"max": max, "min": min}}, {**names, **sizes}))


@pytest.mark.parametrize(("grid", "counts", "text"), TABLE)
def test_shapes(grid: Grid, counts: Counts, text: str) -> None:
    assert grid.counts(CONFIG, SIZES) == counts
    assert grid.text() == text
    assert evaluated(grid, CONFIG, SIZES) == counts


NUMEL: st.SearchStrategy[Size] = st.one_of(
    st.integers(1, 300),
    st.integers(1, 1 << 34),
    st.sampled_from(("s0", "s1", "s0*s1", "2*s0 + 3", "s0 // 7 + 1", "max(s0, s1)", "s0 % 5 + 1")),
)
POWER = st.integers(0, 12).map(lambda n: 1 << n)
CONFIGS = st.fixed_dictionaries(dict.fromkeys(CONFIG, POWER))
UNKNOWN = st.fixed_dictionaries({"s0": st.integers(1, 1 << 20), "s1": st.integers(1, 5000)})


def blocks(name: str) -> st.SearchStrategy[Blocks]:
    return NUMEL.map(lambda numel: Blocks(numel, name))


@st.composite
def parts(draw: st.DrawFn) -> tuple[Part, ...]:
    tiles = draw(st.integers(1, 3))
    made = []
    for _ in range(draw(st.integers(1, 5))):
        x = draw(st.one_of(blocks("XBLOCK"), NUMEL.map(Blocks)))
        rest = [draw(blocks(name)) for name in ("YBLOCK", "ZBLOCK")[: tiles - 1]]
        made.append(Part((x, *rest)))
    return tuple(made)


GRIDS: st.SearchStrategy[Grid] = st.one_of(
    st.tuples(blocks("XBLOCK")).map(Tiled),
    st.tuples(blocks("XBLOCK"), blocks("YBLOCK")).map(Tiled),
    st.tuples(blocks("XBLOCK"), blocks("YBLOCK")).map(lambda t: Tiled(t, layered=True)),
    st.tuples(blocks("XBLOCK"), blocks("YBLOCK"), blocks("ZBLOCK")).map(Tiled),
    NUMEL.map(Cooperative),
    st.builds(SplitScan, blocks("R0_BLOCK"), NUMEL),
    st.builds(MixedOrder, NUMEL, st.integers(1, 64).map(lambda n: n << 12)),
    parts().map(Sequential),
    parts().map(RoundRobin),
)


@settings(max_examples=600, deadline=None)
@given(GRIDS, CONFIGS, UNKNOWN)
def test_text_and_numbers_are_equal(
    grid: Grid, config: dict[str, int], sizes: dict[str, int]
) -> None:
    assert evaluated(grid, config, sizes) == grid.counts(config, sizes)


@given(st.integers(0, 1 << 34))
def test_layers_cover_everything_and_waste_little(count: int) -> None:
    y, z = layers(count)
    assert y <= 65535
    assert count <= y * z < count + z
    assert (z - 1) * 65535 < max(1, count)


def test_unknown_y_may_be_empty() -> None:
    grid = Tiled((X, Blocks("s0", "YBLOCK")), layered=True)
    assert grid.counts(CONFIG, {"s0": 0}) == evaluated(grid, CONFIG, {"s0": 0}) == (16, 0, 1)


def test_a_block_that_does_not_divide_the_split_is_refused() -> None:
    with pytest.raises(InvalidProgram, match="XBLOCK = 64, 96 rows"):
        MixedOrder(1000, 96).counts(CONFIG)


@pytest.mark.parametrize("counts", [(1 << 31, 1, 1), (1, 65536, 1), (1, 1, 65536), (-1, 1, 1)])
def test_a_grid_past_the_launch_limit_says_so(counts: Counts) -> None:
    with pytest.raises(GridTooLarge, match="larger blocks"):
        checked(counts, "kernel")


def test_the_largest_grid_passes() -> None:
    assert checked(((1 << 31) - 1, 65535, 65535), "kernel") == ((1 << 31) - 1, 65535, 65535)


@pytest.mark.parametrize("text", ["s9", "s0 / 2", "__import__('os')", "s0.real", "abs(s0)"])
def test_only_sizes_are_evaluated(text: str) -> None:
    with pytest.raises(InvalidProgram, match="no value"):
        size_value(text, SIZES)
