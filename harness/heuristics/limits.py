"""Rules every candidate obeys, whatever family it comes from.

Sizes: the largest blocks and launch limits are those of the CUDA programming guide
(grid dimensions) and of Triton (2**20 elements in one tensor). A warp has
``Target.warp_size`` lanes; on 64-lane devices the bounds on warps are halved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from harness.heuristics.facts import Config, Facts, Family, Hint
from harness.target import Target

MAX_BLOCK: dict[str, int] = {"x": 4096, "y": 1024, "z": 64}
MOST_TILES = len(MAX_BLOCK)
"""Tiles of a pointwise kernel: a launch numbers its programs in three dimensions."""
MAX_REDUCTION_BLOCK = 4096
MAX_LONG_BLOCK = 16384
"""The largest block along rows of at least as many elements that several loops walk over, or that
are folded several elements at a time: fewer programs run at once then, and the cache holds all of
their rows."""
MAX_RSPLIT = 64
LEAST_SCAN_BLOCK = 256
"""Smallest reduction block of a split scan: every block costs its successors a look back."""
_SPILL_LIMIT = 16
VECTOR = 8
"""Elements of 16 bits in a vector of 16 bytes, the widest that a thread loads."""
MAX_TENSOR_ELEMENTS = 1 << 20
MAX_GRID_X = (1 << 31) - 1
MAX_GRID_YZ = 65535
MAX_THREADS_X = 1 << 31
MAX_THREADS_PER_BLOCK = 1024
LEAST_SIDE, _SMALL_SIDE, _LARGEST_SIDE = 16, 64, 256
"""Sides of the tiles of a matrix product: the least that ``tl.dot`` takes, one large enough to do
without a mask, and the largest."""
STAGES = "STAGES"
"""The parameter for how many blocks of rows are under way at once: loads so far ahead of use.
Triton's own number is of matrix products."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate before the common rules: wanted blocks by tile prefix, wanted and most warps.
    ``grow``: where a dimension is smaller than its block, others take up what is missing."""

    blocks: tuple[tuple[str, int], ...]
    warps: int
    stages: int = 1
    max_warps: int = 8
    grow: bool = True


def next_power_of_two(value: int) -> int:
    """The smallest power of two at least ``value`` (1 for anything below 1)."""
    return 1 if value <= 1 else 1 << (value - 1).bit_length()


def last_power_of_two(value: int) -> int:
    """The largest power of two at most ``value`` (1 for anything below 1)."""
    return 1 if value <= 1 else 1 << (value.bit_length() - 1)


def block_name(prefix: str) -> str:
    """The parameter that holds a tile's block size; its twin ``r0_t_`` has that of ``r0_``."""
    return f"{prefix.removesuffix('t_').upper()}BLOCK"


def is_reduction(prefix: str) -> bool:
    """Whether the tile ``prefix`` is reduced over."""
    return prefix.startswith("r")


def cdiv(numerator: int, denominator: int) -> int:
    """Ceiling division of non-negative integers."""
    return -(-numerator // denominator)


def reach(facts: Facts) -> int:
    """The largest block along the reduction of a looped kernel."""
    inner = facts.hint in (Hint.INNER, Hint.DEFAULT) and ("XBLOCK", 1) in facts.fixed_blocks
    whole = facts.aligned or facts.reduced % 8 == 0  # others are not measured
    long = inner and whole and facts.reduced >= MAX_LONG_BLOCK
    again = facts.loops > 1 or facts.side > 1 or facts.family is Family.SPREAD
    return MAX_LONG_BLOCK if long and again else MAX_REDUCTION_BLOCK


def largest_block(prefix: str, numel: int, most: int = MAX_REDUCTION_BLOCK) -> int:
    """The largest block any candidate has along tile ``prefix``: its maximum (above it only where
    the launch grid would pass its limit otherwise), and no more than ``numel`` rounded up to a
    power of two. All blocks divide it, so code generation leaves the mask out where it divides
    ``numel``. A persistent reduction's block is not bound by it; ``most`` is that of a loop
    (``reach``)."""
    hint = next_power_of_two(numel)
    if is_reduction(prefix):
        return min(hint, most)
    block = MAX_BLOCK[prefix]
    while block < hint and _grid_overflows(prefix, numel, block, MAX_THREADS_PER_BLOCK):
        block *= 2
    return min(hint, block)


def largest_side(numel: int) -> int:
    """The largest block along a side of a matrix product: a divisor of ``numel`` if one is not too
    small, which needs no mask."""
    divisor = numel & -numel
    side = divisor if divisor >= _SMALL_SIDE else next_power_of_two(numel)
    return min(max(side, LEAST_SIDE), _LARGEST_SIDE)


def spill_limit(target: Target) -> int:
    """Registers that a candidate may spill before it is passed over (if another one does not)."""
    return _SPILL_LIMIT * target.warp_size // 32


def _holds_all(facts: Facts, prefix: str) -> bool:
    """Whether the block along ``prefix`` holds all that a program reduces."""
    return is_reduction(prefix) and facts.family in (Family.PERSISTENT, Family.MIXED)


def _shrunk(facts: Facts, proposal: Proposal) -> dict[str, int]:
    """Blocks within their tile's numel and their maximum; a persistent reduction's block
    covers its whole numel; fixed blocks are taken as they are."""
    wanted = dict(proposal.blocks)
    fixed = dict(facts.fixed_blocks)
    blocks: dict[str, int] = {}
    for prefix, numel in facts.sizes:
        most = largest_block(prefix, numel, reach(facts))
        block = min(last_power_of_two(wanted.get(prefix, 1)), most)
        block = next_power_of_two(numel) if _holds_all(facts, prefix) else block
        blocks[prefix] = fixed.get(block_name(prefix), block)
    return blocks


def _filled(facts: Facts, proposal: Proposal, blocks: dict[str, int]) -> dict[str, int]:
    """Blocks grown, innermost dimension first, while their product is below what the proposal
    wanted: a matrix of 4 rows is tiled 4 x 256 where 32 x 32 was asked for."""
    wanted = math.prod(last_power_of_two(block) for _, block in proposal.blocks)
    prefixes = sorted((p for p, _ in reversed(facts.sizes)), key=is_reduction)
    return _doubled(facts, blocks, prefixes, lambda _: 2 * math.prod(blocks.values()) <= wanted)


def _doubled(
    facts: Facts, blocks: dict[str, int], prefixes: Iterable[str], wanted: Callable[[str], bool]
) -> dict[str, int]:
    """Free blocks along ``prefixes``, one after the other, doubled as long as that is ``wanted``
    and they are not as large as they may be."""
    for prefix in prefixes:
        if _is_free(facts, prefix):
            most = largest_block(prefix, facts.size(prefix), reach(facts))
            while blocks[prefix] < most and wanted(prefix):
                blocks[prefix] *= 2
    return blocks


def _is_free(facts: Facts, prefix: str) -> bool:
    """Whether a configuration may choose the block along ``prefix``."""
    return block_name(prefix) not in dict(facts.fixed_blocks) and not _holds_all(facts, prefix)


def _capped(facts: Facts, blocks: dict[str, int]) -> dict[str, int]:
    """Halve free blocks, reduced and large ones first, until Triton takes the tensor."""
    while math.prod(blocks.values()) > MAX_TENSOR_ELEMENTS and (
        free := [p for p in blocks if blocks[p] > 1 and _is_free(facts, p)]
    ):
        # Loops can be longer; a grid that is scaled to the launch limit cannot be larger.
        largest = max(free, key=lambda p: (is_reduction(p), blocks[p], p))
        blocks[largest] //= 2
    return blocks


def _grid_overflows(prefix: str, numel: int, block: int, threads: int) -> bool:
    count = cdiv(numel, block)
    if prefix == "x":
        return count > MAX_GRID_X or count * threads >= MAX_THREADS_X
    return prefix == "y" and count > MAX_GRID_YZ  # in x is room for more, which nobody has timed


def _warps(proposal: Proposal, elements: int, target: Target) -> int:
    """A power of two, at most the proposal's bound."""
    scale = max(1, target.warp_size // 32)
    bound = last_power_of_two(max(1, proposal.max_warps // scale))
    most = min(bound, MAX_THREADS_PER_BLOCK // target.warp_size)
    # A warp with less than one element per lane only repeats another's work.
    useful = next_power_of_two(cdiv(elements, target.warp_size))
    return max(1, min(last_power_of_two(proposal.warps // scale), most, useful))


def _grown(facts: Facts, blocks: dict[str, int], target: Target) -> dict[str, int]:
    """Larger parallel blocks where one warp would own too few elements per thread."""
    least = facts.min_elements_per_thread * target.warp_size
    prefixes = [p for p in reversed(blocks) if not is_reduction(p)]
    return _doubled(facts, blocks, prefixes, lambda _: math.prod(blocks.values()) < least)


def _fewer_warps(facts: Facts, blocks: dict[str, int], warps: int, target: Target) -> int:
    """Fewer ``warps`` where blocks cannot grow any more, and there are too many threads in x, or
    one would own fewer elements than ``min_elements_per_thread``."""
    x, numel, elements = blocks.get("x", 1), facts.size("x"), math.prod(blocks.values())
    while (threads := warps * target.warp_size) > target.warp_size and (
        elements < facts.min_elements_per_thread * threads
        or _grid_overflows("x", numel, x, threads)
    ):
        warps //= 2
    return warps


def finish(facts: Facts, proposal: Proposal, target: Target) -> Config:
    """``proposal`` made to obey every rule for ``facts`` on ``target``."""
    if facts.family is Family.TEMPLATE:
        wanted = dict(proposal.blocks)
        sides = {p: min(wanted.get(p, 1), largest_side(n)) for p, n in facts.sizes}
        return Config(_named(sides), proposal.warps, proposal.stages)
    shrunk = _shrunk(facts, proposal)
    blocks = _filled(facts, proposal, shrunk) if proposal.grow else shrunk
    blocks = _grown(facts, _capped(facts, blocks), target)
    warps = _warps(proposal, math.prod(blocks.values()), target)
    parallel, threads = (p for p in blocks if not is_reduction(p)), warps * target.warp_size
    # Larger ones where the launch grid would pass what the device takes.
    _doubled(
        facts, blocks, parallel, lambda p: _grid_overflows(p, facts.size(p), blocks[p], threads)
    )
    blocks = _capped(facts, blocks)
    warps = _fewer_warps(facts, blocks, warps, target)
    if facts.strips:
        return Config((*_named(blocks), (STAGES, proposal.stages)), warps)
    return Config(_named(blocks), warps, proposal.stages)


def _named(blocks: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    in_order = sorted(blocks, key=lambda prefix: (is_reduction(prefix), prefix))
    return tuple((block_name(prefix), blocks[prefix]) for prefix in in_order)
