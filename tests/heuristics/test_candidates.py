"""Candidates by family: a table of best guesses, and rules that hold for any facts."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.heuristics.facts import Config, Facts, Family, Hint
from harness.heuristics.limits import (
    MAX_GRID_X,
    MAX_GRID_YZ,
    MAX_TENSOR_ELEMENTS,
    block_name,
    cdiv,
    next_power_of_two,
)
from harness.heuristics.registry import RULES, candidates
from harness.target import A100, B200, H100, H200, Target

TARGETS = (A100, H100, H200, B200)


def pointwise(*sizes: int, **rest: object) -> Facts:
    names = ("z", "y", "x")[3 - len(sizes) :]
    return Facts(Family.POINTWISE, tuple(zip(names, sizes, strict=True)), **rest)  # type: ignore[arg-type]


def reduction(x: int, r: int, hint: Hint, **rest: object) -> Facts:
    return Facts(Family.REDUCTION, (("x", x), ("r0_", r)), hint, **rest)  # type: ignore[arg-type]


def persistent(x: int, r: int, hint: Hint = Hint.INNER, **rest: object) -> Facts:
    return Facts(Family.PERSISTENT, (("x", x), ("r0_", r)), hint, **rest)  # type: ignore[arg-type]


BEST = [
    (pointwise(1 << 24, bytes=6 << 24), {"XBLOCK": 1024}, 4),
    (pointwise(1 << 24, bytes=40 << 24), {"XBLOCK": 1024}, 8),
    (pointwise(5), {"XBLOCK": 8}, 1),
    (pointwise(4096, 4096, bytes=8 << 24), {"XBLOCK": 32, "YBLOCK": 32}, 4),
    (pointwise(4096, 4096, bytes=4 << 24), {"XBLOCK": 64, "YBLOCK": 64}, 8),
    (reduction(4096, 50257, Hint.INNER), {"XBLOCK": 1, "R0_BLOCK": 2048}, 16),
    (reduction(64, 50257, Hint.INNER), {"XBLOCK": 1, "R0_BLOCK": 2048}, 16),
    (reduction(1 << 16, 4096, Hint.OUTER), {"XBLOCK": 64, "R0_BLOCK": 32}, 8),
    (reduction(1 << 16, 128, Hint.OUTER_TINY), {"XBLOCK": 64, "R0_BLOCK": 64}, 4),
    (reduction(1 << 16, 4096, Hint.MIXED), {"XBLOCK": 32, "R0_BLOCK": 128}, 4),
    (persistent(1 << 16, 96, Hint.MIXED), {"XBLOCK": 32, "R0_BLOCK": 128}, 2),
    (persistent(1 << 16, 32, Hint.OUTER), {"XBLOCK": 32, "R0_BLOCK": 32}, 1),
    (persistent(4096, 1024), {"XBLOCK": 1, "R0_BLOCK": 1024}, 1),
    (persistent(4096, 768), {"XBLOCK": 1, "R0_BLOCK": 1024}, 1),
    (persistent(65536, 64), {"XBLOCK": 8, "R0_BLOCK": 64}, 1),
    (persistent(1, 3), {"XBLOCK": 1, "R0_BLOCK": 4}, 1),
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize(("facts", "blocks", "warps"), BEST)
def test_best_guess(facts: Facts, blocks: dict[str, int], warps: int, target: Target) -> None:
    best = candidates(facts, target)[0]
    assert (dict(best.blocks), best.num_warps) == (blocks, warps)


def test_families_are_all_there() -> None:
    assert set(RULES) == set(Family)


def test_square_tile_has_one_candidate() -> None:
    assert len(candidates(pointwise(4096, 4096, square_tile=True), H100)) == 1


def test_fixed_is_exactly_one_and_pinned() -> None:
    facts = Facts(Family.FIXED, (("x", 1000),), pinned=(("XBLOCK", 128),))
    assert [dict(c.blocks) for c in candidates(facts, H100)] == [{"XBLOCK": 128}]


def test_few_columns_get_narrow_blocks() -> None:
    wide, narrow = (candidates(reduction(x, 8192, Hint.OUTER), H100)[0] for x in (1 << 16, 1024))
    assert narrow.block("XBLOCK") < wide.block("XBLOCK")
    assert narrow.block("R0_BLOCK") > wide.block("R0_BLOCK")


def test_conversions_get_their_elements_per_thread() -> None:
    for config in candidates(pointwise(300, min_elements_per_thread=4), H100):
        assert config.block("XBLOCK") >= 4 * 32 * config.num_warps


def test_grid_limits_scale_blocks_up() -> None:
    for config in candidates(pointwise(1 << 20, 1 << 20), H100):
        assert cdiv(1 << 20, config.block("YBLOCK")) <= MAX_GRID_YZ
    for config in candidates(pointwise(1 << 40), H100):
        count = cdiv(1 << 40, config.block("XBLOCK"))
        assert count <= MAX_GRID_X
        assert count * config.num_warps * 32 < 1 << 31


def test_wide_warps_are_half_as_many() -> None:
    lanes64 = replace(H100, name="lanes64", warp_size=64)
    for facts, _, warps in BEST:
        assert candidates(facts, lanes64)[0].num_warps <= max(1, warps // 2)


NUMEL = st.one_of(st.integers(1, 5000), st.integers(1, 1 << 33))
HINTS = st.sampled_from(Hint)


@st.composite
def any_facts(draw: st.DrawFn) -> Facts:
    family = draw(st.sampled_from(Family))
    sizes = [("x", draw(NUMEL))]
    tiles = draw(st.integers(1, 3))
    if tiles > 1:
        sizes.insert(0, ("y", draw(NUMEL)))
    if tiles > 2 and family is Family.POINTWISE:
        sizes.insert(0, ("z", draw(NUMEL)))
    if family is Family.REDUCTION:
        sizes.append(("r0_", draw(NUMEL)))
    if family is Family.PERSISTENT:
        sizes.append(("r0_", draw(st.integers(1, 16384))))
    pinned = (("XBLOCK", 1),) if draw(st.booleans()) else ()
    return Facts(
        family,
        tuple(sizes),
        draw(HINTS),
        loads=draw(st.integers(0, 20)),
        stores=draw(st.integers(1, 4)),
        reductions=draw(st.integers(0, 5)),
        bytes=draw(st.integers(0, 1 << 40)),
        min_elements_per_thread=draw(st.sampled_from((0, 0, 2, 4))),
        square_tile=draw(st.booleans()),
        pinned=pinned,
    )


@settings(max_examples=300, deadline=None)
@given(any_facts(), st.sampled_from(TARGETS))
def test_rules_hold_for_any_facts(facts: Facts, target: Target) -> None:
    found = candidates(facts, target)
    assert found
    assert len(set(found)) == len(found)
    assert found == candidates(facts, target)
    for config in found:
        obeys(facts, config, target)


def obeys(facts: Facts, config: Config, target: Target) -> None:
    pinned = dict(facts.pinned)
    product = 1
    assert {name for name, _ in config.blocks} == {block_name(p) for p, _ in facts.sizes}
    for prefix, numel in facts.sizes:
        block = config.block(block_name(prefix))
        product *= block
        assert block & (block - 1) == 0
        assert block == pinned.get(block_name(prefix), block)
        assert block <= next_power_of_two(numel)
        if prefix == "r0_" and facts.family is Family.PERSISTENT:
            assert block >= numel
    assert product <= MAX_TENSOR_ELEMENTS
    assert config.num_warps & (config.num_warps - 1) == 0
    assert 1 <= config.num_warps <= 16
    assert config.num_warps * target.warp_size <= 1024
    least = facts.min_elements_per_thread
    assert config.num_warps == 1 or product >= least * config.num_warps * target.warp_size


def test_same_for_any_hash_seed() -> None:
    code = (
        "from tests.heuristics.test_candidates import BEST\n"
        "from harness.heuristics.registry import candidates\n"
        "from harness.target import H100\n"
        "print([candidates(f, H100) for f, _, _ in BEST])"
    )
    root = Path(__file__).parents[2]
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(texts) == 1
