"""Candidates of looped reductions.

Inner reductions read along r, one row per block; what counts is bytes in flight per row
step. Outer reductions read along x: the x block must span whole memory sectors, and the
number of blocks (x ÷ XBLOCK) is what limits how much of the device works, so XBLOCK
shrinks for small x and the rows per step grow instead.
"""

from __future__ import annotations

from harness.heuristics.facts import Facts, Hint
from harness.heuristics.limits import (
    MAX_LONG_BLOCK,
    MAX_REDUCTION_BLOCK,
    Proposal,
    cdiv,
    last_power_of_two,
    reach,
)
from harness.target import Target

_MAX_WARPS = 16
_LEAST_WIDTH = 32
_IN_FLIGHT = 8192
"""Elements being loaded on one multiprocessor: 32 kB of 4-byte ones, about what hides the
latency of device memory on a Hopper-class part."""
_MOST_ELEMENTS = 4096
_MANY_VALUES = 10
_LONG_BLOCKS = (16384, 8192, 4096)
_MOST_WARPS = 32
_MOST_WASTE = 0.125
_FEW_LOADS = 2
_SOME_ROWS = 4
_FEW_ROWS = 16
"""Rows a multiprocessor below which programs are larger."""
_SMALL_BYTES = 1 << 20
"""Traffic below which a kernel's time is latency and launch."""


def proposals(facts: Facts, target: Target) -> list[Proposal]:
    """Candidates for a looped reduction, by its hint."""
    match facts.hint:
        case Hint.INNER:
            return _inner(facts, target)
        case Hint.OUTER:
            return _outer(facts, target)
        case Hint.OUTER_TINY:
            tiny, outer = _tiny(facts), _outer(facts, target)
            # A block narrower than a sector of memory reads every row's sectors several times.
            wide = dict(tiny.blocks)["x"] >= _LEAST_WIDTH
            return [tiny, *outer] if wide else [*outer, tiny]
        case Hint.MIXED:
            # Wide enough for sectors in both directions; measured best at 32 elements a thread.
            first = [_proposal(32, 128, 4), _proposal(32, 128, 8), _proposal(64, 64, 4)]
            return [*first, _proposal(16, 128, 8), _proposal(32, 32, 4), _proposal(64, 128, 8)]
        case Hint.DEFAULT:
            return [
                *_inner(facts, target)[:2],
                *_outer(facts, target)[:2],
                _tiny(facts),
                _proposal(64, 64, 8),
                _proposal(8, 512, 8),
                _proposal(64, 4, 8),
            ]


def _proposal(x: int, r: int, warps: int) -> Proposal:
    return Proposal((("x", x), ("r0_", r)), warps=warps, max_warps=_MAX_WARPS)


def is_long(facts: Facts, target: Target) -> bool:
    """Whether blocks larger than ``MAX_REDUCTION_BLOCK`` come first: there are some rows for every
    multiprocessor, or an online softmax needs several neighbours in a thread."""
    enough = facts.side > 1 or facts.parallel >= _SOME_ROWS * target.multiprocessors
    return enough and reach(facts) > MAX_REDUCTION_BLOCK


def _long(facts: Facts, target: Target) -> list[Proposal]:
    """Long rows, measured on an H200 (docs/measurements/long-rows.md).

    Where they are read once and an online softmax folds several elements at a time, 32 elements a
    thread. Where they are read again, as few programs as keep the memory busy: the second read
    finds in the cache what all of them have read.
    """
    each = facts.parallel / target.multiprocessors
    if facts.again or each < 2:
        best = _read_again(facts)
        fitting = [block for block in _LONG_BLOCKS if _waste(facts.reduced, block) <= _MOST_WASTE]
        first = next((block for block in fitting if block <= best[0]), _LONG_BLOCKS[-1])
        blocks = [(first, best[1]), (16384, 32), (8192, 32), (4096, 32), (8192, 16), (4096, 16)]
    elif facts.side < 2:
        blocks = [(8192, 16), (8192, 32), (8192, 8), (4096, 8)]
    elif each < _FEW_ROWS:
        blocks = [(8192, 16), (8192, 8), (4096, 8), (16384, 16)]
    elif facts.reduced <= 2 * MAX_LONG_BLOCK:
        blocks = [(4096, 4), (4096, 8), (2048, 4), (8192, 8)]
    else:
        blocks = [(8192, 8), (4096, 8), (8192, 16), (4096, 4)]
    return [Proposal((("x", 1), ("r0_", r)), warps=w, max_warps=_MOST_WARPS) for r, w in blocks]


def _read_again(facts: Facts) -> tuple[int, int]:
    """Block and warps for rows that are read more than once: what several tensors take of the
    registers leaves room for fewer elements, until the rows are so long that two programs of a
    multiprocessor would push each other's out of the cache."""
    several, narrow = facts.loads > _FEW_LOADS, facts.again <= 2 * facts.reduced
    if several and facts.reduced <= MAX_LONG_BLOCK:
        return (4096, 16)
    blocks = 4 if narrow and not facts.side else 3 * several
    return (8192, 32) if facts.reduced <= blocks * MAX_LONG_BLOCK else (16384, 32)


def _waste(reduced: int, block: int) -> float:
    """The share of a row that its last block lies outside of it."""
    return cdiv(reduced, block) * block / reduced - 1


def _inner(facts: Facts, target: Target) -> list[Proposal]:
    if facts.aligned and facts.parallel >= _SOME_ROWS * target.multiprocessors:
        # Rows of 50257 on an H200: small programs where they are read once, else larger ones.
        once = [(2048, 4), (4096, 8), (4096, 16)]
        blocks = [*(once if facts.loops == 1 else once[::-1]), (8192, 16), (4096, 4)]
        return [_proposal(1, r, warps) for r, warps in blocks]
    if is_long(facts, target):
        return _long(facts, target)
    first = [_proposal(1, 2048, 16), _proposal(1, 4096, 16)]
    if facts.parallel < 2 * target.multiprocessors:
        # Few rows: each one must keep a whole multiprocessor busy by itself.
        return [*first, _proposal(1, 1024, 16), _proposal(1, 4096, 8)]
    if facts.reduced <= 512:
        return [_proposal(4, 512, 8), _proposal(1, 512, 2), _proposal(1, 512, 4)]
    rest = [
        _proposal(1, 2048, 8),
        _proposal(1, 4096, 8),
        _proposal(1, 4096, 4),
        _proposal(1, 1024, 4),
    ]
    if facts.parallel >= 1024 and facts.loads + facts.reductions >= _MANY_VALUES:
        # So much is loaded and summed up at once that a smaller block may keep more of it in
        # registers; with few rows, large blocks are needed to keep the device busy.
        first.insert(1, _proposal(1, 1024, _MAX_WARPS // 2))
    return [*first, *rest]


def _outer(facts: Facts, target: Target) -> list[Proposal]:
    points = facts.parallel
    width = 64
    while width > 16 and cdiv(points, width) < target.multiprocessors:
        width //= 2
    if width == 64:
        # Enough blocks: 16 or 32 elements a thread are several loads in flight each. Few
        # elements a thread are best for one tensor.
        first = [_proposal(64, 32, 8), _proposal(64, 64, 4)]
        if facts.hint is Hint.OUTER_TINY:
            first.reverse()
        rest = [
            _proposal(32, 64, 4),
            _proposal(32, 128, 4),
            _proposal(64, 64, 8),
            _proposal(64, 8, 4),
        ]
        return [*first, *rest]
    if facts.bytes < _SMALL_BYTES:
        # A sum over chunks: one sector wide, for as many blocks as there are sectors.
        small = [_proposal(8, 64, 8), _proposal(8, 64, 16), _proposal(8, 128, 8)]
        return [*small, _proposal(16, 64, 8), _proposal(16, 128, 16)]
    rows = _rows(points, width, facts.loads, target)
    usual = _warps(width * rows)
    return [
        _proposal(width, rows, usual),
        _proposal(width, rows, max(4, usual // 2)),
        _proposal(width, 2 * rows, _warps(2 * width * rows)),
        _proposal(16, 64, 8),
        _proposal(32, 64, 8),
        _proposal(16, 128, 4),
    ]


def _rows(points: int, width: int, loads: int, target: Target) -> int:
    """Rows a block reads at once, so that the blocks on one multiprocessor together have
    enough loads in flight; fewer where every row is loaded from several tensors."""
    shared = max(points, width * target.multiprocessors)
    wanted = _IN_FLIGHT * target.multiprocessors // (shared * max(1, min(loads, 2)))
    most = max(16, _MOST_ELEMENTS // width)
    return max(16, min(last_power_of_two(wanted), most))


def _warps(elements: int) -> int:
    """Eight elements a thread."""
    return max(4, elements // 256)


def _tiny(facts: Facts) -> Proposal:
    rnumel = max(1, facts.reduced)
    x = 2 * (256 // rnumel) if rnumel <= 256 else 1
    return Proposal((("x", x), ("r0_", min(rnumel, MAX_REDUCTION_BLOCK))), max_warps=_MAX_WARPS)
