"""Candidates of kernels that share a launch."""

from __future__ import annotations

from dataclasses import replace

from harness.heuristics.facts import Facts, Family
from harness.heuristics.joint import Member, joint_candidates
from harness.target import H100


def pointwise(points: int, unknown: bool = False) -> Member:
    """A kernel that reads and writes 32 bytes a point."""
    sizes, which = (("x", points),), ("x",) if unknown else ()
    facts = Facts(Family.POINTWISE, sizes, loads=4, stores=4, bytes=32 * points, unknown=which)
    return Member(facts, 2, 32 * points, which)


def test_each_member_has_blocks_of_its_own_and_warps_are_common() -> None:
    configs = joint_candidates([pointwise(1 << 20), pointwise(60)], H100)
    assert configs and len(configs) == len({*configs})
    for config in configs:
        assert [name for name, _ in config.blocks] == ["XBLOCK_0", "XBLOCK_1"]
        assert config.block("XBLOCK_0") > 64 >= config.block("XBLOCK_1")  # 60: no mask for more


def test_blocks_of_unknown_points_are_those_of_the_whole_combo() -> None:
    """Else every power of two below the largest block would be compiled."""
    found = [
        joint_candidates([pointwise(1 << 20), pointwise(1024, True).at({"x": n})], H100)[0]
        for n in (1, 60, 1000)
    ]
    assert len({*found}) == 1 and found[0].block("XBLOCK_1") > 64


def test_bytes_follow_the_points_of_a_launch() -> None:
    member = pointwise(1024, True)
    larger = member.at({"x": 4096})
    assert larger.moved == 4 * member.moved and larger.facts.size("x") == 4096
    assert larger.unknown == ("x",)
    known = replace(pointwise(64), count=1)
    assert known.at({"x": 64}) is known


def test_what_moves_most_at_a_launch_leads() -> None:
    light = Facts(Family.POINTWISE, (("x", 1024),), loads=1, stores=1, bytes=8192, unknown=("x",))
    member = Member(light, 1, 8192, ("x",))
    rows = (("x", 1024), ("r0_", 1024))
    reduced = Facts(Family.PERSISTENT, rows, loads=1, stores=1, reductions=1, bytes=1 << 22)
    other = Member(replace(reduced, unknown=("x",)), 1, 1 << 22, ("x",))
    one, two = (
        joint_candidates([member.at({"x": a}), other.at({"x": b, "r0_": 1024})], H100)
        for a, b in ((1 << 26, 1), (1, 1 << 16))
    )
    assert one[0].block("XBLOCK_0") == 4096 and one != two
