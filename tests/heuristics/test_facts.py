"""What heuristics are told of a kernel at the sizes of a launch."""

from __future__ import annotations

from dataclasses import replace

from harness.heuristics.facts import Facts, Family, Hint
from harness.heuristics.registry import candidates
from harness.target import H100


def test_what_the_text_of_a_kernel_fixes_stays_fixed_at_sizes_of_a_launch() -> None:
    """One for short rows, were they known when it was written, would not fix it."""
    long = Facts(Family.REDUCTION, (("x", 9), ("r0_", 1024)), Hint.INNER, 1, 1, 1, 1 << 16)
    long = replace(long, unknown=("x", "r0_"), longest=4096)
    long = replace(long, fixed_blocks=long.pinned)
    found = candidates(long.at({"x": 1 << 16, "r0_": 100}), H100)
    assert {c.block("XBLOCK") for c in found} == {1}
