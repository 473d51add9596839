"""Mixed-order kernels: how many strips of rows, what fits a program, and candidates. A program
walks a strip of rows, a few at a time, reduces each of them, and keeps what the columns come to in
registers; at the end it stores that, for a second kernel to add up over strips. Long rows it shares
with others (``Family.SPREAD``), which all run at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from harness.heuristics.cooperative import RSPLIT
from harness.heuristics.facts import CROWDED, Config, Facts, Family
from harness.heuristics.limits import VECTOR, Proposal, cdiv, last_power_of_two, next_power_of_two
from harness.target import Target

_PER_MULTIPROCESSOR = 4
"""Strips wanted for each multiprocessor: with 8 warps of 64 registers all run at once."""
_LEAST_FILLED = 0.75
"""Strips for each multiprocessor below which the kernel is not worth it."""
_WORKSPACE = 4
"""What the strips store and the second kernel reads is at most this part of what is not read."""
_REGISTERS = 2
"""The part of a multiprocessor's registers that a row's tensors and sums may fill."""
_UNDER_WAY = 8192
"""Elements of a tensor in the blocks of rows of a multiprocessor's programs."""
_A_WARP = 4096
"""Elements of a tensor in a warp's part of a block, at most: of more, loaded ahead, Triton takes
minutes to compile what then spills. More warps for short rows took twice as long (H200)."""
_BESIDE = 8192
"""Bytes of shared memory that sums along and down the rows go through."""
_SHORT = 1024
"""Columns below which what spills likely does not with one block at a time."""
_APART, _ALONE = ((2048, 8, 3), (1024, 4, 1), (1024, 4, 3), (2048, 4, 3)), (4096, 16, 3)
"""Elements of blocks whose rows are added up apart, warps, and blocks under way; of programs that
have a multiprocessor each to themselves (44 us on an H200, not 71)."""
SHORT_ROW = 512
"""The longest row of tensors that are contiguous in different directions that a block holds if it
would be loaded twice: it also needs 16 rows or more, so that both directions fill sectors."""
LONG, _PART, _SHARING = 16384, 4096, 2
"""Columns of a row from which on programs may share it, and of the part of one of them; such
programs for each multiprocessor: more of them spill what they hold."""
_SIZES, _NEAR = ((2048, 2), (8192, 8), (2048, 4), (4096, 8)), 32
"""Columns and warps of such a part, and the most programs a row: one warp reads the words of 32 by
itself; of 64 several do, which may see different ones, and they arrive later (layer norm of 256k
columns on an H200: 209 us, 225 and more of 64)."""
_HELD = 20
"""Bytes of two rows' loads, and of sums, in each column of theirs: 24 spill in 128 registers."""


def sharers(columns: int, loads: Sequence[int], sums: int, target: Target) -> int:
    """Programs that hold, for every one of ``columns``, ``loads`` of so many bytes and ``sums``
    together; 0 if none do."""
    if columns >= LONG:
        part = _PART if columns % VECTOR else 2 * _PART  # of rows that begin anywhere 8192 spill
        fit = 2 * sum(loads) + 4 * sums <= _HELD and columns <= part * _NEAR
        return cdiv(columns, _PART) if fit else 0
    held = (len(loads) + sums) * next_power_of_two(columns) * _REGISTERS
    return int(held <= target.registers_per_multiprocessor)


def fills(strips: int, target: Target, each: int) -> bool:
    """Whether strips of ``each`` programs keep the device busy, and, of several, which wait for
    each other, all run at once."""
    most = (1 if each == 1 else _SHARING) * target.multiprocessors
    return strips * each >= _LEAST_FILLED * most and (each == 1 or strips * each <= most)


def strips(counts: Iterable[int], saved: int, stored: int, target: Target, each: int) -> int:
    """The best of ``counts`` of strips of ``each`` programs where ``saved`` bytes are not read
    again and each strip stores ``stored`` bytes (and another kernel reads them): the nearest to the
    one wanted of those that keep the device busy; 0 if none is worth it."""
    programs = (_PER_MULTIPROCESSOR if each == 1 else _SHARING) * target.multiprocessors
    most = saved // (2 * stored * _WORKSPACE)
    wanted = min(programs // each, most)
    fit = [n for n in counts if n <= 2 * most and fills(n, target, each)]
    near = min(fit, key=lambda n: (abs(math.log(n / wanted)), n), default=0)
    return near if fills(wanted, target, each) else 0


def proposals(facts: Facts, target: Target) -> list[Proposal]:
    """Rows of a program side by side, warps, and blocks of rows under way, as they were fastest on
    an H200 (docs/measurements/limit.md): what a multiprocessor's programs load at once fills it,
    warps lie along the row, whose sums down the columns then stay in threads; loads two ahead, as
    far as a block's shared memory holds them. Rows that programs share are held in registers,
    by 32 elements a thread at most: of more they spill."""
    if facts.family is Family.SPREAD:
        sizes = [size for size in _SIZES if facts.reduced <= _NEAR * size[0]]
        return [Proposal((("r0_", n),), w, 3, max_warps=16, grow=False) for n, w in sizes]
    row = next_power_of_two(facts.reduced)
    each = min(_PER_MULTIPROCESSOR, cdiv(facts.size("y"), target.multiprocessors))
    x = max(1, min(next_power_of_two(facts.size("x")), _UNDER_WAY // (each * row)))
    # two fit a multiprocessor, or a few begin when all others have ended (434 us, not 334, H200)
    room = (target.shared_per_block // 2 - _BESIDE) // (2 * row * max(1, facts.ahead))
    x = min(x, last_power_of_two(room)) if each == 2 else x
    w = max(1, row // 256 if row <= 2048 else row // 1024)
    if row == _SHORT:  # two rows in 4 warps took 1.04 times the fastest's time, in 2 1.00
        w = min(w, x)
    wanted = [(x, w, 3), (x, 2 * w, 3)]
    if facts.apart:
        first = {64: _APART[2], 128: _APART[0]}.get(row, _APART[3])
        blocks = dict.fromkeys((*[_ALONE] * (each == 1), first, *_APART))
        wanted = [(n // row, warps, ahead) for n, warps, ahead in blocks]
    elif row < _SHORT and facts.loads > CROWDED:
        x = min(next_power_of_two(facts.size("x")), _A_WARP // 2 // row)
        half = max(1, x // 2)
        first = (half, 2, 3) if row <= 32 else (x, max(1, 256 // row), 3)  # rows of 16: 21 us, 35
        wanted = [first, (half, 1, 3), (x, 1, 2), (x, 2, 3)]
        # of what leaves a multiprocessor room for one program nothing is loaded ahead
        two = (target.shared_per_block // 2 - _BESIDE) // (row * max(1, facts.ahead))
        wanted = [(n, w, s if n * (s - 1) <= two and not facts.pieces else 1) for n, w, s in wanted]
    elif row < _SHORT:
        wanted += [(x, w, 1), (x, 2 * w, 1), (x, w, 4), (2 * x, 2 * w, 3)]
        wanted += [(2 * x, 4 * w, 3)] if row <= 16 else []  # 28.8 us, not 34.0 (H200)
    else:
        wanted += [(2 * x, w, 3), (x, w, 4), (x, 2 * w, 4), (x, w // 2, 3), (4 * x, w, 3)]
        wanted += [(x, w, 1), (x, 2 * w, 1)]
        wanted += [(x // 4, w, 3)] if x >= 8 else []  # few strips: 26.5 us, not 36.8, which spilled
    if row < _SHORT and facts.reduced % VECTOR:  # rows that begin anywhere are not loaded ahead
        wanted.sort(key=lambda one: one != (x, 1, 1) and one != (max(1, x // 2), 1, 3))
    found: list[Proposal] = []
    room = target.shared_per_block - _BESIDE
    for n, wide, stages in wanted:
        kept = (stages - 1) * row * facts.ahead  # of a row, until it is used
        while n > 1 and n * kept > room:
            n //= 2
        if n * kept <= room:
            warps = max(1, wide, n * row // _A_WARP)
            found.append(Proposal((("x", n),), warps, stages, max_warps=16, grow=False))
    return found


def together(found: Sequence[Config], facts: Facts, target: Target) -> tuple[Config, ...]:
    """Those of ``found`` of which all programs run at once, with as many registers as they have."""
    made = []
    for config in found:
        parts = cdiv(facts.reduced, config.block("R0_BLOCK"))
        each = cdiv(facts.size("y") * parts, target.multiprocessors)
        threads = each * config.num_warps * target.warp_size
        if threads <= target.threads_per_multiprocessor and parts <= _NEAR:
            registers = min(255, target.registers_per_multiprocessor // threads // 8 * 8)
            blocks = (*config.blocks, (RSPLIT, parts))
            made.append(replace(config, blocks=blocks, options=(("maxnreg", registers),)))
    return tuple(made)
