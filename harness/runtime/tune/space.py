"""The configurations a search may visit: every one of them computes what the kernel should.

A kernel's text leaves out masks where every allowed block divides its numel, so a block may
not pass its numel rounded up to a power of two, nor the largest block of its kind; blocks
that the text fixes stay as they are. Beyond that the space ends where a configuration cannot
win: at a warp with less than one element a lane, and at more elements a thread than its
registers hold (there the compiler also takes minutes).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from harness.devices.job import Context
from harness.heuristics import limits
from harness.heuristics.cooperative import RSPLIT
from harness.heuristics.facts import Config
from harness.records.trials import Resources, Trial
from harness.runtime.compile import disassembly
from harness.runtime.compile.static import CompileJob, compiled_binary
from harness.runtime.module import COMBO, USER, LoadedModule, config_dict, load
from harness.target import Target

WARPS = "num_warps"
STAGES = "num_stages"
_MOST_PER_THREAD = 128
_MOST_STAGES = 8


@dataclass(frozen=True, slots=True)
class Space:
    """Values by field (``XBLOCK`` …, ``num_warps``, ``num_stages``), ascending. A field with one
    value is fixed. ``grid`` gives programs in x, y, z for a configuration."""

    values: tuple[tuple[str, tuple[int, ...]], ...]
    warp_size: int = 32
    least_per_thread: int = 0
    most_per_thread: int = _MOST_PER_THREAD
    sizes: Mapping[str, int] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, loaded: LoadedModule, target: Target) -> Space:
        """The space around the module's own candidates."""
        configs = loaded.configs
        sizes = loaded.points
        fixed = loaded.fixed_blocks
        values: list[tuple[str, tuple[int, ...]]] = []
        for name, _ in configs[0].blocks:
            given = tuple(sorted({c.block(name) for c in configs}))
            prefix = name.removesuffix("BLOCK").lower()
            whole = loaded.category in ("per", "mix") and limits.is_reduction(prefix)
            if name.endswith("BLOCK") and not (is_given(loaded) or name in fixed or whole):
                # The workspace of a split scan has room for so many blocks and no more. The first
                # block of a row that a program has for itself ends the vector that it begins in.
                row = limits.is_reduction(prefix) and fixed.get("XBLOCK") == 1
                least = limits.LEAST_SCAN_BLOCK if loaded.category == "spl" else target.warp_size
                largest = max(given[-1], limits.largest_block(prefix, sizes.get(prefix, 1)))
                given = _powers(largest, min(least, largest) if row else 1)
            values.append((name, given))
        values.append((WARPS, _powers(limits.MAX_THREADS_PER_BLOCK // target.warp_size)))
        # Triton pipelines only loads that feed a matrix product: elsewhere the binary is the
        # same for every number of stages, and heuristics ask for one.
        stages = sorted({c.num_stages for c in configs})
        if len(stages) > 1:
            stages = list(range(1, min(_MOST_STAGES, stages[-1] + 1) + 1))
        values.append((STAGES, tuple(stages)))
        each = (-(-c.elements // (c.num_warps * target.warp_size)) for c in configs)
        most = max(_MOST_PER_THREAD, *each)
        return cls(tuple(values), target.warp_size, loaded.least_per_thread, most, sizes)

    @property
    def free(self) -> tuple[str, ...]:
        """Fields with more than one value."""
        return tuple(name for name, values in self.values if len(values) > 1)

    def allows(self, config: Config) -> bool:
        """Whether ``config`` is right for the kernel and may be fast."""
        given = config_dict(config)
        if any(given.get(name) not in values for name, values in self.values):
            return False
        elements = config.elements
        threads = config.num_warps * self.warp_size
        most = min(limits.MAX_TENSOR_ELEMENTS, self.most_per_thread * threads)
        least = max(1, self.least_per_thread) * threads if config.num_warps > 1 else 0
        if not least <= elements <= most:
            return False
        rows = self.sizes.get("x", 1)  # y overflows into z, which the grid takes care of
        return -(-rows // dict(config.blocks).get("XBLOCK", rows)) <= limits.MAX_GRID_X

    def neighbours(self, config: Config, name: str, radius: int = 1) -> list[Config]:
        """Allowed configurations that differ from ``config`` in the field ``name`` alone, by up
        to ``radius`` steps, nearest first."""
        moves = sorted(self._steps(config, name, radius), key=lambda m: (abs(m[0]), -m[0]))
        found = (with_value(config, name, value) for step, value in moves if step)
        return [c for c in found if self.allows(c)]

    def around(self, config: Config, radius: int = 1) -> list[Config]:
        """Allowed configurations within ``radius`` steps of ``config`` in every field at once,
        nearest first, ``config`` left out."""
        found: list[tuple[int, int, Config]] = []
        steps = [self._steps(config, name, radius) for name in self.free]
        for number, moves in enumerate(itertools.product(*steps)):
            distance = sum(abs(step) for step, _ in moves)
            other = config
            for name, (_, value) in zip(self.free, moves, strict=True):
                other = with_value(other, name, value)
            if distance and self.allows(other):
                found.append((distance, number, other))
        return [c for _, _, c in sorted(found, key=lambda item: item[:2])]

    def _steps(self, config: Config, name: str, radius: int) -> list[tuple[int, int]]:
        values, given = dict(self.values).get(name, ()), config_dict(config).get(name, 0)
        if given not in values:
            return [(0, given)]
        at = values.index(given)
        low, high = max(0, at - radius), min(len(values), at + radius + 1)
        return [(index - at, values[index]) for index in range(low, high)]

    def point(self, config: Config) -> tuple[float, ...]:
        """Logarithms (base 2) of the free fields' values."""
        given = config_dict(config)
        return tuple(math.log2(given[name]) for name in self.free)


def with_value(config: Config, name: str, value: int) -> Config:
    """``config`` with one field changed."""
    if name == WARPS:
        return replace(config, num_warps=value)
    if name == STAGES:
        return replace(config, num_stages=value)
    blocks = tuple((n, value if n == name else size) for n, size in config.blocks)
    return replace(config, blocks=blocks)


def is_given(loaded: LoadedModule) -> bool:
    """Whether the kernel's configurations are a given list: templates, combos and users' kernels
    are not searched beyond it, nor those whose programs, of which a block's columns say the number,
    all have to run at once."""
    shared = loaded.category == "mix" and any(n == RSPLIT for n, _ in loaded.configs[0].blocks)
    return loaded.category in ("tem", COMBO, USER) or shared


def _powers(largest: int, least: int = 1) -> tuple[int, ...]:
    return tuple(1 << n for n in range(largest.bit_length()) if 1 << n >= least)


def scaled(
    loaded: LoadedModule,
    args: Sequence[Any],
    compiled: Iterable[tuple[Config, Resources | Trial]],
    target: Target,
    space: Space,
) -> list[Config]:
    """One more candidate for looped reductions whose registers keep the multiprocessor from having
    all its threads while blocks wait for a place, half the R block may hold more of them:
    configurations with the largest R block halved, for those of ``compiled`` that use more
    registers a thread than all threads of a multiprocessor could have, on a grid of more blocks
    than fit the device at once. Nothing for kernels that are not looped reductions."""
    if loaded.category != "red":
        return []
    found = []
    for config, needs in compiled:
        reduced = [
            (size, name) for name, size in config.blocks if name in space.free and name[0] == "R"
        ]
        if not reduced or not crowded(config, needs, target, math.prod(loaded.grid(config, args))):
            continue
        size, name = max(reduced)
        smaller = with_value(config, name, max(1, size // 2))
        if smaller != config and space.allows(smaller):
            found.append(smaller)
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class CandidateJob(CompileJob):
    """A candidate that is going to be tuned: with it, whatever ``scaled`` adds by its registers."""

    handler: ClassVar[str] = "harness.runtime.tune.space:warm"


def warm(context: Context, job: CandidateJob) -> None:
    """The handler of ``CandidateJob``. What it leaves out is compiled by the process that tunes, in
    which a device waits."""
    target, loaded = job.target, load(job.module_text, context.cache)
    config = job.config or loaded.configs[0]
    made = compiled_binary(loaded, target, config, cache=context.cache)
    if loaded.category == "red" and not loaded.unknown_sizes:
        registers, _ = disassembly.resources(made.cubin, made.name)
        needs = Resources(registers, shared=made.shared)
        for more in scaled(loaded, (), [(config, needs)], target, Space.of(loaded, target)):
            compiled_binary(loaded, target, more, cache=context.cache)


def crowded(config: Config, needs: Resources | Trial, target: Target, blocks: int) -> bool:
    """Whether registers keep threads off the multiprocessors while blocks wait."""
    fair = target.registers_per_multiprocessor // target.threads_per_multiprocessor
    many = (needs.registers or 0) > fair
    return many and blocks > resident(config, needs, target) * target.multiprocessors


def resident(config: Config, needs: Resources | Trial, target: Target) -> int:
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
