"""One more candidate for looped reductions that hold too many registers.

What a kernel needs is known once it is compiled: where its registers keep the multiprocessor
from having all its threads, and blocks are waiting for a place, half the R block may hold
more blocks at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from harness.heuristics.facts import Config
from harness.records.trials import Resources
from harness.runtime.module import LoadedModule
from harness.runtime.tune.space import Space, with_value
from harness.target import Target


def scaled(
    loaded: LoadedModule,
    args: Sequence[Any],
    compiled: Iterable[tuple[Config, Resources]],
    target: Target,
    space: Space,
) -> list[Config]:
    """Configurations with the largest R block halved, for those of ``compiled`` that use more
    registers a thread than all threads of a multiprocessor could have, on a grid of more
    blocks than fit the device at once. Nothing for kernels that are not looped reductions."""
    if loaded.category != "red":
        return []
    found = []
    for config, needs in compiled:
        reduced = [
            (size, name) for name, size in config.blocks if name in space.free and name[0] == "R"
        ]
        blocks = math.prod(loaded.grid(config, args))
        if not reduced or not crowded(config, needs, target, blocks):
            continue
        size, name = max(reduced)
        smaller = with_value(config, name, max(1, size // 2))
        if smaller != config and space.allows(smaller):
            found.append(smaller)
    return list(dict.fromkeys(found))


def crowded(config: Config, needs: Resources, target: Target, blocks: int) -> bool:
    """Whether registers keep threads off the multiprocessors while blocks wait."""
    if not needs.registers:
        return False
    fair = target.registers_per_multiprocessor // target.threads_per_multiprocessor
    if needs.registers <= fair:
        return False
    return blocks > resident(config, needs, target) * target.multiprocessors


def resident(config: Config, needs: Resources, target: Target) -> int:
    """Blocks that one multiprocessor holds at a time, 0 if not even one fits: by threads, by number
    (32 on every device from sm_80 to sm_100), by registers, given out by warp in units of 256, and
    by shared memory, of which each block costs 1 KiB beyond its own (CUDA C++ Programming Guide:
    technical specifications, occupancy, shared memory of 8.x and 9.0)."""
    threads = config.num_warps * target.warp_size
    limits = [target.threads_per_multiprocessor // threads, 32]
    if needs.registers:
        each = -(-needs.registers * target.warp_size // 256) * 256 * config.num_warps
        limits.append(target.registers_per_multiprocessor // each)
    if needs.shared:
        limits.append(target.shared_per_multiprocessor // (needs.shared + 1024))
    return max(0, min(limits))


def occupancy(config: Config, needs: Resources, target: Target) -> float:
    """Threads that one multiprocessor holds at a time over the most it can hold (0 to 1)."""
    threads = config.num_warps * target.warp_size
    return resident(config, needs, target) * threads / target.threads_per_multiprocessor
