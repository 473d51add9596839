"""Candidates by family: a table of best guesses, and rules that hold for any facts."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.heuristics.facts import Config, Facts, Family, Hint
from harness.heuristics.learned import ConfigTemplate, Split, chosen, config_of, kind_of, trees
from harness.heuristics.limits import (
    MAX_GRID_X,
    MAX_GRID_YZ,
    MAX_REDUCTION_BLOCK,
    MAX_TENSOR_ELEMENTS,
    block_name,
    cdiv,
    largest_block,
    next_power_of_two,
    reach,
    spill_limit,
)
from harness.heuristics.registry import RULES, by_rules, candidates, learnt
from harness.runtime.grid import checked, tiled
from harness.target import A100, B200, H100, H200, Target

MI300X = Target("mi300x", "hip", 942, 64, 304, 2048, 131072, 65536, 65536, 256 << 20, 5300.0)
"""A device whose waves have 64 lanes: heuristics know it, the compiler's assembler and metrics do
not. From AMD's data sheet: 304 compute units, 64 kB of LDS each, 256 MB of Infinity Cache (what
stands in front of memory here), 5.3 TB/s; from the CDNA 3 instruction set guide 32 wavefronts of
64 lanes and 4 x 128 kB of vector registers a unit."""
TARGETS = (A100, H100, H200, B200, MI300X)
NVIDIA = TARGETS[:4]


def pointwise(*sizes: int, **rest: object) -> Facts:
    names = ("z", "y", "x")[3 - len(sizes) :]
    return Facts(Family.POINTWISE, tuple(zip(names, sizes, strict=True)), **rest)  # type: ignore[arg-type]


def reduction(x: int, r: int, hint: Hint, **rest: object) -> Facts:
    return Facts(Family.REDUCTION, (("x", x), ("r0_", r)), hint, **rest)  # type: ignore[arg-type]


def persistent(x: int, r: int, hint: Hint = Hint.INNER, **rest: object) -> Facts:
    return Facts(Family.PERSISTENT, (("x", x), ("r0_", r)), hint, **rest)  # type: ignore[arg-type]


def of_family(family: Family, *sizes: tuple[str, int], **rest: object) -> Facts:
    return Facts(family, sizes, **rest)  # type: ignore[arg-type]


# facts, the first candidate's blocks, its warps on 32 lanes, on 64 lanes
BEST = [
    (pointwise(1 << 24, bytes=6 << 24), {"XBLOCK": 1024}, 4, 2),
    (pointwise(1 << 24, bytes=40 << 24), {"XBLOCK": 1024}, 8, 4),
    (pointwise(5), {"XBLOCK": 8}, 1, 1),
    (pointwise(4096, 4096), {"XBLOCK": 64, "YBLOCK": 32}, 4, 2),
    (pointwise(4096, 4096, loads=7), {"XBLOCK": 32, "YBLOCK": 32}, 4, 2),
    (pointwise(512, 512), {"XBLOCK": 16, "YBLOCK": 32}, 4, 2),
    (pointwise(4, 4096), {"XBLOCK": 128, "YBLOCK": 4}, 4, 2),
    (reduction(4096, 50257, Hint.INNER), {"XBLOCK": 1, "R0_BLOCK": 2048}, 16, 8),
    (reduction(64, 50257, Hint.INNER), {"XBLOCK": 1, "R0_BLOCK": 2048}, 16, 8),
    (reduction(1 << 16, 4096, Hint.OUTER), {"XBLOCK": 64, "R0_BLOCK": 32}, 8, 4),
    (reduction(1 << 16, 4096, Hint.MIXED), {"XBLOCK": 32, "R0_BLOCK": 64}, 4, 2),
    (reduction(12288, 98, Hint.MIXED), {"XBLOCK": 8, "R0_BLOCK": 128}, 2, 1),
    (reduction(1 << 16, 125, Hint.MIXED, loads=2), {"XBLOCK": 16, "R0_BLOCK": 128}, 1, 1),
    (reduction(1 << 16, 4096, Hint.DEFAULT), {"XBLOCK": 1, "R0_BLOCK": 2048}, 16, 8),
    (persistent(1 << 16, 96, Hint.MIXED), {"XBLOCK": 32, "R0_BLOCK": 128}, 2, 1),
    (persistent(1 << 16, 32, Hint.OUTER), {"XBLOCK": 32, "R0_BLOCK": 32}, 1, 1),
    (persistent(4096, 1024), {"XBLOCK": 1, "R0_BLOCK": 1024}, 1, 1),
    (persistent(4096, 768), {"XBLOCK": 1, "R0_BLOCK": 1024}, 1, 1),
    (persistent(65536, 64), {"XBLOCK": 8, "R0_BLOCK": 64}, 1, 1),
    (persistent(1, 3), {"XBLOCK": 1, "R0_BLOCK": 4}, 1, 1),
    (
        of_family(Family.SPLIT_SCAN, ("x", 8), ("r0_", 1 << 20), hint=Hint.INNER),
        {"XBLOCK": 1, "R0_BLOCK": 4096},
        8,
        4,
    ),
    (
        of_family(Family.SCAN, ("x", 512), ("r0_", 16384), hint=Hint.INNER),
        {"XBLOCK": 1, "R0_BLOCK": 4096},
        8,
        4,
    ),
    (
        of_family(Family.SCAN, ("x", 4096), ("r0_", 1024), hint=Hint.OUTER),
        {"XBLOCK": 16, "R0_BLOCK": 128},
        8,
        4,
    ),
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize(("facts", "blocks", "warps", "wide"), BEST)
def test_best_guess(
    facts: Facts, blocks: dict[str, int], warps: int, wide: int, target: Target
) -> None:
    best = by_rules(facts, target)[0]
    expected = wide if target.warp_size == 64 else warps
    assert (dict(best.blocks), best.num_warps) == (blocks, expected)
    assert best in candidates(facts, target)


ONLY_READ = [  # rows, columns, bytes a column, reductions; warps of the first candidate on an H200
    (65536, 2048, 2.0, 2, 1),  # cross entropy: 88 us, 98 with two warps
    (32768, 4096, 2.0, 2, 2),
    (16384, 8192, 2.0, 2, 4),
    (131072, 1024, 2.0, 2, 1),
    (512, 4096, 2.0, 2, 4),  # few rows
    (32768, 4096, 4.0, 2, 4),  # written too, or two tensors
    (32768, 4096, 2.0, 1, 4),
]


@pytest.mark.parametrize(("rows", "columns", "each", "reductions", "warps"), ONLY_READ)
def test_rows_that_are_only_read_are_held_by_fewer_threads(
    rows: int, columns: int, each: float, reductions: int, warps: int
) -> None:
    moved = int(each * rows * columns) + 8 * rows
    facts = persistent(rows, columns, bytes=moved, loads=3, stores=1, reductions=reductions)
    row = replace(facts, fixed_blocks=(("XBLOCK", 1), ("R0_BLOCK", columns)))
    assert candidates(row, H200)[0].num_warps == warps


SHARED = [  # rows, reduced, bytes read again; RSPLIT of the first candidate on an H200
    (1024, 1 << 18, 1 << 19, 8),  # 512 kB a row: 132 of them are more than the L2 holds
    (4096, 1 << 16, 1 << 18, 1),  # two tensors: fewer programs a row are better
    (2048, 1 << 17, 1 << 18, 4),
    (40, 1 << 20, 1 << 21, 16),
    (8, 1 << 20, 1 << 20, 16),  # few rows fill the device only together
    (1, 1 << 24, 1 << 25, 64),
]


@pytest.mark.parametrize(("rows", "reduced", "again", "split"), SHARED)
def test_rows_are_shared_as_far_as_cache_and_device_ask(
    rows: int, reduced: int, again: int, split: int
) -> None:
    sizes = (("x", rows), ("r0_", reduced))
    row = (("XBLOCK", 1),)
    facts = of_family(Family.COOPERATIVE, *sizes, hint=Hint.INNER, fixed_blocks=row, again=again)
    best = candidates(facts, H200)[0]
    assert best.block("RSPLIT") == split
    assert {c.block("RSPLIT") for c in candidates(facts, H200)} >= {1, split}


@pytest.mark.parametrize(("columns", "split"), [(1 << 16, 1), (1 << 17, 4), (1 << 18, 8)])
def test_norms_of_a_row_with_weights_are_shared_from_128k_columns_on(
    columns: int, split: int
) -> None:
    sizes, row = (("x", (1 << 27) // columns), ("r0_", columns)), (("XBLOCK", 1),)
    facts = Facts(
        Family.COOPERATIVE, sizes, Hint.INNER, loads=3, fixed_blocks=row, again=2 * columns
    )
    assert candidates(facts, H200)[0].block("RSPLIT") == split


def test_programs_that_wait_for_each_other_certainly_run_at_once() -> None:
    sizes = (("x", 1024), ("r0_", 1 << 18))
    facts = of_family(
        Family.COOPERATIVE,
        *sizes,
        hint=Hint.INNER,
        fixed_blocks=(("XBLOCK", 1),),
        again=1 << 19,
        loops=2,
        side=8,
    )
    best = candidates(facts, H200)[0]
    assert (best.block("R0_BLOCK"), best.block("RSPLIT"), best.num_warps) == (16384, 16, 8)
    for config in candidates(facts, H200):
        registers = dict(config.options).get("maxnreg", 65536 // (32 * config.num_warps))
        held = config.block("PROGRAMS") // H200.multiprocessors * 32 * config.num_warps * registers
        assert config.block("RSPLIT") == 1 or held <= H200.registers_per_multiprocessor


@pytest.mark.parametrize("name", sorted(trees()))
def test_what_was_learnt_comes_first(name: str) -> None:
    facts = next(f for f, *_ in BEST if kind_of(f) == name and learnt(f, H100))
    found = learnt(facts, H100)
    assert found
    assert candidates(facts, H100)[: len(set(found))] == tuple(dict.fromkeys(found))
    assert set(by_rules(facts, H100)[:3]) <= set(candidates(facts, H100))


def test_a_tree_sends_a_kernel_where_its_trait_says() -> None:
    few, many = ((ConfigTemplate(x, 0, 4),) for x in (256, 1024))
    tree = Split("loads", 2.5, few, many)
    assert chosen(tree, pointwise(1 << 20, loads=2, bytes=1), H100) == few
    assert chosen(tree, pointwise(1 << 20, loads=3, bytes=1), H100) == many


def test_a_template_means_the_same_for_rows_of_any_length() -> None:
    """512 elements a block, 16 a thread, whatever a row has."""
    for row, rows in ((64, 8), (512, 1), (4096, 1)):
        made = config_of(ConfigTemplate(512, 0, 16), persistent(1 << 16, row), H100)
        assert made.block("XBLOCK") == rows
        assert rows * row // (made.num_warps * 32) == 16


def test_families_are_all_there() -> None:
    assert set(RULES) == set(Family)


def test_spill_limits() -> None:
    assert spill_limit(H100) == 16
    assert spill_limit(MI300X) == 32


def test_many_values_at_once_get_a_smaller_block_with_half_the_warps() -> None:
    small = Config((("XBLOCK", 1), ("R0_BLOCK", 1024)), 8)
    many = reduction(4096, 50257, Hint.INNER, loads=8, reductions=2)
    assert small in by_rules(many, H100)[:3]
    assert small not in by_rules(replace(many, loads=7), H100)
    assert small not in by_rules(reduction(512, 50257, Hint.INNER, loads=9), H100)


def test_few_columns_get_narrow_blocks() -> None:
    wide, narrow = (candidates(reduction(x, 8192, Hint.OUTER), H100)[0] for x in (1 << 16, 1024))
    assert narrow.block("XBLOCK") < wide.block("XBLOCK")


def test_conversions_get_their_elements_per_thread() -> None:
    for config in candidates(pointwise(300, min_elements_per_thread=4), H100):
        assert config.block("XBLOCK") >= 4 * 32 * config.num_warps


def test_grid_limits_scale_blocks_up() -> None:
    for config in candidates(pointwise(1 << 20, 1 << 20), H100):
        assert cdiv(1 << 20, config.block("YBLOCK")) <= MAX_GRID_YZ
    for config in candidates(pointwise(1 << 23, 16, 16), H100):  # three tiles: numbered in x
        assert config.block("ZBLOCK") <= 64
    for config in candidates(pointwise(1 << 40), H100):
        count = cdiv(1 << 40, config.block("XBLOCK"))
        assert count <= MAX_GRID_X
        assert count * config.num_warps * 32 < 1 << 31


NUMEL = st.one_of(st.integers(1, 5000), st.integers(1, 1 << 33))
HINTS = st.sampled_from(Hint)
REDUCING = (Family.REDUCTION, Family.COOPERATIVE, Family.SCAN, Family.SPLIT_SCAN)


@st.composite
def any_facts(draw: st.DrawFn) -> Facts:
    others = (Family.SPREAD, Family.TEMPLATE)  # below
    family = draw(st.sampled_from([f for f in Family if f not in others]))
    sizes = [("x", draw(NUMEL))]
    if family is not Family.SPLIT_SCAN and draw(st.booleans()):
        sizes.insert(0, ("y", draw(NUMEL)))
        if family is Family.POINTWISE and draw(st.booleans()):
            sizes.insert(0, ("z", draw(NUMEL)))
    together = family is Family.COOPERATIVE
    if together:
        sizes = sizes[-1:]
    if family in REDUCING:
        sizes.append(("r0_", draw(NUMEL)))
        if draw(st.booleans()) and not together:
            sizes.append(("r1_", draw(NUMEL)))
    if family is Family.PERSISTENT:
        sizes.append(("r0_", draw(st.integers(1, 16384))))
    pinned = (("XBLOCK", 1),) if together or draw(st.booleans()) else ()
    return Facts(
        family,
        tuple(sizes),
        Hint.INNER if together else draw(HINTS),
        loads=draw(st.integers(0, 20)),
        stores=draw(st.integers(1, 4)),
        reductions=draw(st.integers(0, 5)),
        bytes=draw(st.integers(0, 1 << 40)),
        min_elements_per_thread=draw(st.sampled_from((0, 0, 2, 4))),
        fixed_blocks=pinned,
        unknown=tuple(
            p for p, _ in sizes if draw(st.integers(0, 9)) == 0 and not (together and p == "r0_")
        ),
        again=draw(st.integers(1, 1 << 24)) if together else draw(st.sampled_from((0, 1 << 18))),
        side=draw(st.sampled_from((0, 1, 8))),
        loops=draw(st.integers(0, 2)),
        full=draw(st.booleans()),
    )


@settings(max_examples=400, deadline=None)
@given(any_facts(), st.sampled_from(TARGETS))
def test_rules_hold_for_any_facts(facts: Facts, target: Target) -> None:
    found = candidates(facts, target)
    assert found
    assert len(set(found)) == len(found)
    assert found == candidates(facts, target)
    for config in found:
        obeys(facts, config, target)
        launches(facts, config, target)


def obeys(facts: Facts, config: Config, target: Target) -> None:
    pinned = dict(facts.fixed_blocks)
    shared = {"RSPLIT", "PROGRAMS"} if facts.family is Family.COOPERATIVE else set()
    own = {"STAGES"} if facts.strips else shared
    product = 1
    assert {n for n, _ in config.blocks} == {block_name(p) for p, _ in facts.sizes} | own
    for prefix, numel in facts.sizes:
        block = config.block(block_name(prefix))
        product *= block
        assert block & (block - 1) == 0
        assert block == pinned.get(block_name(prefix), block)
        assert block <= next_power_of_two(numel)
        if prefix == "r0_" and facts.family in (Family.PERSISTENT, Family.MIXED):
            assert block >= numel
        else:
            assert largest_block(prefix, numel, reach(facts)) % block == 0
    assert product <= MAX_TENSOR_ELEMENTS
    assert config.num_warps & (config.num_warps - 1) == 0
    assert 1 <= config.num_warps <= 32
    assert config.num_warps * target.warp_size <= 1024
    least = facts.min_elements_per_thread
    assert config.num_warps == 1 or product >= least * config.num_warps * target.warp_size


def launches(facts: Facts, config: Config, target: Target) -> None:
    """The grid is one that the device takes, unless a block's text is pinned too small."""
    counts = {p: cdiv(n, config.block(block_name(p))) for p, n in facts.sizes if p in "xy"}
    if facts.family is Family.COOPERATIVE:
        split, programs = config.block("RSPLIT"), config.block("PROGRAMS")
        room = target.threads_per_multiprocessor // (config.num_warps * target.warp_size)
        assert split == 1 or split <= programs <= room * target.multiprocessors  # all run at once
        assert 1 <= split <= 64
        assert split & (split - 1) == 0
    if facts.fixed_blocks or facts.family is Family.SPLIT_SCAN:
        return
    assert counts["x"] <= MAX_GRID_X
    full = config.elements
    threads = counts["x"] * config.num_warps * target.warp_size
    assert threads <= 1 << 31 or full == MAX_TENSOR_ELEMENTS  # nothing left to grow


@settings(max_examples=200, deadline=None)
@given(any_facts(), st.sampled_from(TARGETS), st.data())
def test_unknown_sizes_launch_whatever_they_turn_out_to_be(
    facts: Facts, target: Target, data: st.DataObject
) -> None:
    """Any number of points up to 2**31 has a grid, and no block counts on sizes it was not told."""
    names = [p for p, _ in facts.sizes if p in "xy"]
    actual, most = dict[str, int](), (1 << 31) - 1
    for n in range(len(names)):
        actual[f"s{n}"] = data.draw(st.integers(1, most))
        most //= actual[f"s{n}"]
    sides = [(f"s{n}", block_name(p)) for n, p in enumerate(reversed(names))]
    for config in candidates(replace(facts, unknown=tuple(names)), target):
        grid = tiled(*sides, in_x=len(names) == 2)
        counts = checked(eval(grid.text, {}, {**dict(config.blocks), **actual}), "kernel")
        blocks = math.prod(cdiv(actual[size], config.block(block)) for size, block in sides)
        assert counts == (blocks, 1, 1)


@given(st.integers(16384, 262144), st.sampled_from(TARGETS))
def test_all_programs_that_share_rows_run_at_once(columns: int, target: Target) -> None:
    strips = 2 * target.multiprocessors // cdiv(columns, 4096)
    facts = Facts(Family.SPREAD, (("y", strips), ("x", 64), ("r0_", columns)))
    found = candidates(replace(facts, fixed_blocks=facts.pinned), target)
    assert found or columns > 131072 and columns % 8  # those are not shared
    for config in found:
        split = config.block("RSPLIT")
        assert split <= 32 and split * config.block("R0_BLOCK") >= columns
        each = cdiv(strips * split, target.multiprocessors) * config.num_warps * target.warp_size
        assert each <= target.threads_per_multiprocessor
        assert each * dict(config.options)["maxnreg"] <= target.registers_per_multiprocessor


def test_long_rows_get_large_blocks() -> None:
    sizes = (("x", 4096), ("r0_", 65536))
    row = {"hint": Hint.INNER, "fixed_blocks": (("XBLOCK", 1),)}
    once = of_family(Family.REDUCTION, *sizes, loops=1, side=8, **row)
    first = candidates(once, H200)[0]
    assert first.block("R0_BLOCK") == 32 * 32 * first.num_warps  # elements a thread
    again = replace(once, side=0, loops=2, loads=2, again=1 << 18)
    assert candidates(again, H200)[0] == Config((("XBLOCK", 1), ("R0_BLOCK", 16384)), 32)
    # Blocks that leave most of the last one empty are not for long rows either.
    odd = replace(again, sizes=(("x", 4096), ("r0_", 20000)))
    assert candidates(odd, H200)[0].block("R0_BLOCK") == 4096
    few = replace(again, sizes=(("x", 64), ("r0_", 65536)))
    assert candidates(few, H200)[0].block("R0_BLOCK") <= MAX_REDUCTION_BLOCK
    # Read once and written once: half of what is read only fits a thread.
    written = replace(again, again=0, loads=5)
    assert candidates(written, H200)[0] == Config((("XBLOCK", 1), ("R0_BLOCK", 8192)), 16)


def test_a_window_gets_two_points_a_thread_first() -> None:
    """Nine loads of every second element: nothing is loaded wide, so little is won by it."""
    window = Facts(
        Family.POINTWISE, (("x", 1 << 22),), loads=9, stores=1, bytes=10 << 22, strided=9
    )
    for target in (H100, H200):
        first = candidates(window, target)[0]
        assert first.block("XBLOCK") == 64 * first.num_warps
        few = candidates(replace(window, strided=2, loads=2, bytes=4 << 22), target)[0]
        assert few.block("XBLOCK") > 64 * few.num_warps


def test_rows_that_begin_anywhere_get_a_larger_program_where_they_are_read_again() -> None:
    sizes = (("x", 2670), ("r0_", 50257))
    fixed = (("XBLOCK", 1),)
    rows = Facts(Family.REDUCTION, sizes, Hint.INNER, 1, 1, 1, 1 << 29, fixed_blocks=fixed, side=8)
    for loops, loads, first in (
        (1, 1, (2048, 4)),
        (2, 1, (8192, 32)),
        (2, 2, (8192, 32)),
        (2, 3, (8192, 32)),
    ):
        best = candidates(replace(rows, aligned=True, loops=loops, loads=loads), H200)[0]
        assert (best.block("R0_BLOCK"), best.num_warps) == first
        assert (best.options == (("maxnreg", 32),)) == (best.num_warps == 32)  # two at once


@pytest.mark.parametrize(
    ("loads", "again", "first"),
    [  # the fourth has no weights, the last is a gradient of float32
        (2, 2, (4096, 32)),
        (3, 2, (2048, 16)),
        (3, 4, (4096, 32)),
        (2, 4, (8192, 32)),
        (6, 8, (2048, 32)),
    ],
)
def test_norms_with_weights_of_rows_that_begin_anywhere_have_few_elements_a_thread(
    loads: int, again: int, first: tuple[int, int]
) -> None:
    fixed = (("XBLOCK", 1),)
    sizes = (("x", 1000), ("r0_", 50257))
    norm = Facts(Family.REDUCTION, sizes, Hint.INNER, loads, 1, 1, 1 << 28, fixed_blocks=fixed)
    norm = replace(norm, aligned=True, loops=2, again=again * 50257, full=True)
    best = candidates(norm, H200)[0]
    assert (best.block("R0_BLOCK"), best.num_warps) == first


@pytest.mark.parametrize(("itemsize", "block"), [(2, 8192), (4, 4096)])
def test_a_norm_of_rows_of_16384_has_some_programs_of_16_warps(itemsize: int, block: int) -> None:
    sizes, fixed = (("x", 8192), ("r0_", 16384)), (("XBLOCK", 1),)
    norm = Facts(Family.REDUCTION, sizes, Hint.INNER, 3, 1, 1, 1 << 29, fixed_blocks=fixed)
    norm = replace(norm, loops=2, again=itemsize * 16384, full=True)
    assert candidates(norm, H200)[0] == Config((("XBLOCK", 1), ("R0_BLOCK", block)), 16)


def test_a_loss_and_its_gradient_have_two_programs_of_long_rows_on_a_multiprocessor() -> None:
    sizes, fixed = (("x", 2048), ("r0_", 65536)), (("XBLOCK", 1),)
    loss = Facts(Family.REDUCTION, sizes, Hint.INNER, 3, 2, 2, 1 << 29, fixed_blocks=fixed)
    loss = replace(loss, loops=2, again=2 * 65536, side=8, full=True)
    for loads, first in ((3, (4096, 32)), (1, (16384, 32))):  # and a softmax
        best = candidates(replace(loss, loads=loads), H200)[0]
        assert (best.block("R0_BLOCK"), best.num_warps) == first


@pytest.mark.parametrize(
    ("strips", "strip", "columns", "first"),
    [  # the fastest of those measured on an H200, or within 3 % of it
        (512, 64, 4096, (1, 4)),
        (256, 128, 4096, (1, 4)),
        (512, 256, 1024, (2, 2)),
        (256, 512, 1024, (4, 4)),
        (512, 128, 2048, (1, 8)),
        (256, 256, 2048, (2, 8)),
        (512, 32, 8192, (1, 8)),
        (512, 32, 768, (2, 2)),
        (197, 64, 768, (4, 4)),  # not timed: two on a multiprocessor, all at once
        (512, 16, 8, (16, 1)),  # no more rows than there are
        (256, 392, 96, (32, 1)),
        (224, 112, 192, (16, 1)),
    ],
)
def test_strips_of_rows(strips: int, strip: int, columns: int, first: tuple[int, int]) -> None:
    facts = Facts(Family.MIXED, (("y", strips), ("x", strip), ("r0_", columns)), Hint.INNER)
    best = candidates(facts, H200)[0]
    assert (best.block("XBLOCK"), best.num_warps, best.block("STAGES")) == (*first, 3)


@pytest.mark.parametrize(("columns", "first"), [(96, (16, 2)), (192, (8, 1)), (384, (4, 1))])
def test_short_rows_of_many_tensors_do_not_spill(columns: int, first: tuple[int, int]) -> None:
    sizes = (("y", 256), ("x", 400), ("r0_", columns))
    best = candidates(Facts(Family.MIXED, sizes, Hint.INNER, loads=6), H200)[0]
    assert (best.block("XBLOCK"), best.num_warps) == first
    assert best.elements // (32 * best.num_warps) <= 64


def test_pieces_have_small_blocks() -> None:
    facts = Facts(Family.POINTWISE, (("x", 1 << 27),), loads=20, stores=1, pieces=True)
    best = candidates(facts, H200)[0]
    assert (best.block("XBLOCK"), best.num_warps) == (256, 1)


@pytest.mark.parametrize("columns", [48, 96, 192, 512, 768, 1024, 4096, 8192])
def test_a_warp_of_a_strip_holds_what_compiles_in_seconds(columns: int) -> None:
    facts = Facts(Family.MIXED, (("y", 256), ("x", 400), ("r0_", columns)), Hint.INNER)
    for config in candidates(facts, H200):
        assert config.elements <= 4096 * config.num_warps
