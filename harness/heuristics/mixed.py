"""Mixed-order kernels: how many strips of rows, what fits a program, and candidates.

Such a kernel reduces rows and columns of the same tensors in one pass. A program walks a strip of
rows, a few at a time, reduces each of them, and keeps what the columns come to in registers until
the strip is done; then it stores that once, for a second kernel to add up over strips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.heuristics.facts import Config, Facts
from harness.heuristics.limits import Proposal, last_power_of_two, next_power_of_two
from harness.target import Target

STAGES = "STAGES"
"""The parameter for how many blocks of rows are under way at once: loads so far ahead of use."""

_PER_MULTIPROCESSOR = 4
"""Strips wanted for each multiprocessor: with 8 warps of 64 registers all run at once."""

_LEAST_FILLED = 0.75
"""Strips for each multiprocessor below which the kernel is not worth it."""

_WORKSPACE = 4
"""What the strips store and the second kernel reads is at most one ``_WORKSPACE``-th of what is
not read again."""

_REGISTERS = 2
"""A row's tensors and sums may fill one ``_REGISTERS``-th of a multiprocessor's registers."""


_UNDER_WAY = 16384
"""Elements of a tensor that a multiprocessor's programs should load at once: 32 KiB in 16 bits."""


def fits(columns: int, held: int, target: Target) -> bool:
    """Whether a program holds ``held`` values (loads and sums) for every one of ``columns``."""
    row = next_power_of_two(columns)
    return held * row * _REGISTERS <= target.registers_per_multiprocessor


def fills(strips: int, target: Target) -> bool:
    """Whether so many programs keep the device busy."""
    return strips >= _LEAST_FILLED * target.multiprocessors


def strips(saved: int, stored: int, target: Target) -> int:
    """The number of strips wanted where ``saved`` bytes are not read again and every strip stores
    ``stored`` bytes (and another kernel reads them); 0 if it is not worth it."""
    affordable = saved // (2 * stored * _WORKSPACE)
    wanted = min(_PER_MULTIPROCESSOR * target.multiprocessors, affordable)
    return wanted if fills(wanted, target) else 0


def pipelined(found: Sequence[Config]) -> tuple[Config, ...]:
    """Every configuration without loads ahead of their use, then the first ones with."""
    every = [(config, 1) for config in found] + [(config, 2) for config in found[:3]]
    return tuple(replace(c, blocks=(*c.blocks, (STAGES, stages))) for c, stages in every)


def proposals(facts: Facts, target: Target) -> list[Proposal]:
    """Rows of a program side by side, and warps: about 16 elements a thread, which leaves
    registers for the sums, and as many elements for each multiprocessor as keep it loading."""
    row = next_power_of_two(facts.reduced)
    strips_each = max(1, round(facts.size("y") / target.multiprocessors))
    usual = max(1, min(last_power_of_two(facts.size("x")), _UNDER_WAY // (strips_each * row)))
    warps = max(1, usual * row // 512)
    blocks = [(usual, warps), (usual, 2 * warps), (2 * usual, 2 * warps), (usual, warps // 2)]
    blocks += [(max(1, usual // 2), warps), (max(1, usual // 2), max(1, warps // 2))]
    return [Proposal((("x", x),), warps=max(1, n), max_warps=16, grow=False) for x, n in blocks]
