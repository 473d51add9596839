"""Candidates of matrix products."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from harness.heuristics.facts import Facts, Family
from harness.heuristics.limits import block_name, largest_side
from harness.heuristics.registry import candidates
from harness.target import A100, B200, H100, H200, Target

TARGETS = (A100, H100, H200, B200)


@given(
    st.tuples(*[st.integers(1, 1 << 20)] * 4),
    st.booleans(),
    st.integers(1, 3),
    st.sampled_from(TARGETS),
)
def test_tiles_of_products_are_whole_or_masked(
    sizes: tuple[int, ...], narrow: bool, sums: int, target: Target
) -> None:
    named = tuple(zip(("z", "y", "x", "r0_"), sizes, strict=True))
    facts = Facts(Family.TEMPLATE, named, reductions=sums, width=2 if narrow else 4)
    for config in candidates(replace(facts, fixed_blocks=facts.pinned), target):
        assert [name for name, _ in config.blocks] == ["XBLOCK", "YBLOCK", "ZBLOCK", "R0_BLOCK"]
        assert config.block("ZBLOCK") == 1
        for prefix, numel in named[1:]:
            block, largest = config.block(block_name(prefix)), largest_side(numel)
            assert 16 <= block <= largest and largest % block == 0


def test_tiles_of_products_keep_every_multiprocessor_busy() -> None:
    def first(y: int, x: int, z: int = 1, **rest: object) -> tuple[int, int]:
        sizes = (("z", z), ("y", y), ("x", x), ("r0_", 1024))
        best = candidates(Facts(Family.TEMPLATE, sizes, **rest), H200)[0]  # type: ignore[arg-type]
        return best.block("YBLOCK"), best.block("XBLOCK")

    assert first(4096, 4096, width=2) == (128, 128)
    assert first(1024, 1024, width=2) == (64, 64)
    assert first(64, 4096, width=2) == (64, 32)
    assert first(256, 256, 2048) == (64, 64)
    assert first(512, 512) == (32, 64)
