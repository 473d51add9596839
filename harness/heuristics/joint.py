"""Candidates of a combo: kernels that share a launch, each with blocks of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.heuristics.facts import Config, Facts, Family
from harness.heuristics.limits import block_name, is_reduction, largest_block
from harness.heuristics.registry import candidates
from harness.target import Target

_LARGE = 4096
_LIGHT = 16
"""Bytes that a kernel moves for a point: a tensor of 4-byte elements read and written, or two."""


@dataclass(frozen=True, slots=True)
class Member:
    """A kernel of a combo, launched ``count`` times; each moves ``moved`` bytes. Of the tiles in
    ``unknown`` only a launch tells the points."""

    facts: Facts
    count: int
    moved: int
    unknown: tuple[str, ...] = ()

    def at(self, points: Mapping[str, int]) -> Member:
        """What holds where the tiles have ``points``, by prefix. Bytes are scaled."""
        if not self.facts.unknown:
            return self
        facts = self.facts.at(points)
        moved = self.moved * facts.bytes // max(1, self.facts.bytes)
        return replace(self, facts=facts, moved=moved, unknown=self.facts.unknown)


def joint_candidates(members: Sequence[Member], target: Target) -> tuple[Config, ...]:
    """A configuration for each candidate of the member that moves most: the others take the
    candidate of their own that is nearest in warps. Blocks are called ``XBLOCK_0``, ``R0_BLOCK_1``
    and so on, by the member's number."""
    heaviest = max(members, key=lambda member: member.count * member.moved)
    points = sum(m.count * m.facts.parallel * m.facts.reduced for m in members)
    every = [(*_large(m), *candidates(_filling(m, points), target)) for m in members]
    found = []
    for leading in every[members.index(heaviest)]:
        blocks: list[tuple[str, int]] = []
        for number, (member, own) in enumerate(zip(members, every, strict=True)):
            near = min(
                own, key=lambda c: abs(c.num_warps.bit_length() - leading.num_warps.bit_length())
            )
            chosen = leading if member is heaviest else near
            # No larger than known points, which masks are left out by. Of unknown ones larger
            # blocks cost nothing, and are not compiled again for every size below them.
            known = (pair for pair in member.facts.sizes if pair[0] not in member.unknown)
            most = {block_name(p): largest_block(p, n) for p, n in known if not is_reduction(p)}
            blocks += [(f"{k}_{number}", min(v, most.get(k, v))) for k, v in chosen.blocks]
        found.append(Config(tuple(blocks), leading.num_warps, leading.num_stages))
    return tuple(dict.fromkeys(found))


def _large(member: Member) -> list[Config]:
    """The first candidate of a pointwise kernel that moves little a point: few programs, each of
    which finds its pointers, and what it reads besides, once (gradients scaled by a number on the
    device, on an H200: 0.215 ms in blocks of 2048, 0.169 in these)."""
    light = member.moved <= _LIGHT * member.facts.parallel
    whole = member.facts.family is Family.POINTWISE and member.facts.sizes[0][0] == "x"
    return [Config((("XBLOCK", _LARGE),), 4)] if light and whole else []


def _filling(member: Member, points: int) -> Facts:
    """What the heuristics are told of ``member``: the device is filled by all ``points`` of the
    combo together, so blocks need not be small for it."""
    facts, own = member.facts, member.facts.parallel
    if facts.sizes[0][0] != "x":  # of several tiles
        return facts
    rows = max(own, points // facts.reduced)
    sizes = tuple((prefix, rows if prefix == "x" else size) for prefix, size in facts.sizes)
    return replace(facts, sizes=sizes, bytes=facts.bytes * rows // own)
