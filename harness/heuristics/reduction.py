"""Candidates of looped reductions, and of scans in a loop or of rows that several programs share.

Inner reductions read along r, one row per block; what counts is bytes in flight per row
step. Outer reductions read along x: the x block must span whole memory sectors.

Scans were measured on an H200 over 16 to 8M elements a row: every block costs a wait (for the block
before it in a loop, for those of other programs else), so blocks are as large as they come; 16
elements a thread are best for both. Scans of columns want narrow blocks, which leave more of them.
"""

from __future__ import annotations

from dataclasses import replace

from harness.heuristics.facts import Config, Facts, Family, Hint
from harness.heuristics.limits import (
    MAX_LONG_BLOCK,
    MAX_REDUCTION_BLOCK,
    Proposal,
    cdiv,
    next_power_of_two,
    reach,
)
from harness.target import Target

_MAX_WARPS = 16
_MANY_VALUES = 10
_LONG_BLOCKS = (16384, 8192, 4096)
_MOST_WARPS = 32
_MOST_WASTE = 0.125
_FEW_LOADS, _STRIP_LOADS = 2, 6
_UNTOLD = 24  # loads of a thread that are under way in the 32 registers that it has if not told
_CROWDED = 16  # bytes of a point of which half the rows are enough: 43 us, 63 with all (H200)
SOME_ROWS = 4
_FEW_POINTS = 150_000
_AHEAD_ROWS = 256  # of which loads are two turns ahead: 1.02 of the time for 197, 0.90 for 256
STORED_COLUMNS = 64
"""Columns of a multiprocessor from which on a reduction across that stores has its own rules."""
_WIDE_COLUMNS, _WIDE_BYTES = 224, 800
"""Columns of a multiprocessor from which on sums of 16-bit columns have a rule of their own, and
bytes of a row of them from which on 8 warps of a program have enough under way: by tunings of
30528 to 131072 columns (docs/measurements/limit.md)."""
_SHORT = 1024  # elements that one program has at once of rows that are read both ways
_FEW_COLUMNS = 8
"""Columns a multiprocessor up to which programs of a few have many rows at once: of 35 kernels 15
take 0.22 to 0.92 of the time of blocks of 8 columns and more (H200), the others 0.98 to 1.05."""
_FEW_ROWS = 16
"""Rows a multiprocessor below which programs are larger."""
_CROSSED = ((32, 4, 8, 32), (32, 8, 8, 32), (32, 8, 4, 16), (16, 8, 4, 32), (32, 4, 4, 32))
_FEW_CROSSED = ((4, 32, 4, 16), (8, 32, 4, 16), (8, 32, 8, 16), _CROSSED[3])
"""Columns in x, rows, warps and columns in y of sums whose columns lie in both directions, and of
so few that blocks of these leave multiprocessors without one: 83 us became 20 (H200)."""


CHUNK_WARPS, CHUNK_PROGRAMS, LEAST_ROWS, GATHERED = 32, 4, 128, 4096
"""Of programs that share columns: warps and programs that a multiprocessor wants at least, least
rows of a chunk, and words that one program puts together at most."""
ODD_WARPS, _OF_64_BITS = 26, 8
"""Warps for columns that are read one by one, so that all run at once; columns of numbers of 64
bits that fill a multiprocessor."""

UNROLLED = 4
"""Turns of a loop down columns whose loads are under way together: the compiler does so itself
where it knows the length. Half of them where elements are read one by one in larger blocks, or
variances are not shared (docs/measurements/dynamic-sizes.md)."""


def proposals(facts: Facts, target: Target) -> list[Proposal]:
    """Candidates for a looped reduction, by its hint."""
    shared = in_chunks(facts, target)
    if shared or facts.varies:
        return [_proposal(*block) for block in _of_any_size(facts, shared)]
    match facts.hint:
        case Hint.INNER:
            return _inner(facts, target)
        case Hint.OUTER:
            return _outer(facts, target)
        case Hint.MIXED:
            # Wide enough for sectors in both directions. A few loads are summed in one turn of
            # one warp. Six kernels of the corpus took 1.12 times the fastest's time with 32 x 128
            # first, 1.04 with 32 x 64. Of few short rows each has a program (27 us became 6.5). In
            # several turns half as many rows are enough: 12544 of 768 took 39 us, 23 with 32 x 64.
            once = facts.reduced <= 128
            few = facts.parallel < 32 * (SOME_ROWS if once else 2) * target.multiprocessors
            turn = once and facts.loads <= 2 * _FEW_LOADS
            first = (8, 128, 2) if few else (16, 128, 1) if turn else (32, 64, 4)
            if facts.parallel <= target.multiprocessors and facts.reduced <= _SHORT:
                first = (1, _SHORT, 4)
            others = (32, 64, 4), (32, 128, 4), (32, 64, 2), (16, 128, 1), (64, 64, 4)
            return [_proposal(*block) for block in dict.fromkeys((first, *others))]
        case Hint.DEFAULT:
            return [*_inner(facts, target)[:2], *_outer(facts, target)[:1]]


def _of_any_size(facts: Facts, shared: bool) -> list[tuple[int, int, int]]:
    """The fastest blocks first (docs/measurements/dynamic-sizes.md)."""
    vectors = facts.parallel % 8 == 0  # else columns are read one by one
    if facts.brief:
        first, blocks = (8, 128, 4), [(16, 32, 4), (8, 128, 4), (16, 64, 4)]
        if facts.run in (1, 2, 4):
            first = (16, 32, 4) if facts.run == 1 else (16, 16, 2)
    elif facts.hint is Hint.OUTER:
        warps = 4 if vectors or facts.chunked > 1 else 8
        first, *blocks = [(32, 32, warps), (32, 16, 4), (16, 64, 4), (64, 32, 8), (32, 64, 4)]
        if facts.chunked == 2 and vectors and facts.parallel <= 256:
            first = (16, 32, 4)
        elif warps == 8 and facts.parallel <= 128:
            first = (16, 64, 8)
        elif facts.wide:
            first = (32, 16, 4)
        elif facts.varies and shared and vectors:
            first = (16, 256, 16)
    else:
        warps = 16 if facts.parallel == 1 else 8
        blocks = [(1, 4096, warps), (1, 2048, 4), (1, 4096, 24 - warps)]
        first = blocks[facts.parallel == 1 and facts.loads > 1]  # a loss: 1.03 of a known size's
    return [first, *blocks]


def in_chunks(facts: Facts, target: Target) -> bool:
    """Whether several programs share columns, or rows, that do not fill the device alone. Of sums
    of columns that are read one by one those that do want the same blocks (43 us became 34)."""
    odd = (facts.hint, facts.chunked) == (Hint.OUTER, 1) and facts.parallel % 8 and not facts.wide
    return facts.chunked > 0 and (bool(odd) or facts.parallel < filling(facts, target))


def filling(facts: Facts, target: Target) -> int:
    """The columns, or rows, that fill the device alone."""
    if facts.hint is Hint.OUTER:
        return (_OF_64_BITS if facts.wide else CHUNK_WARPS) * target.multiprocessors
    return CHUNK_PROGRAMS * target.multiprocessors if facts.run else target.multiprocessors // 2


def _proposal(x: int, r: int, warps: int, stages: int = 1, most: int = _MAX_WARPS) -> Proposal:
    return Proposal((("x", x), ("r0_", r)), warps, stages, max_warps=most)


def is_long(facts: Facts, target: Target) -> bool:
    """Whether blocks larger than ``MAX_REDUCTION_BLOCK`` come first: there are some rows for every
    multiprocessor, or an online softmax needs several neighbours in a thread."""
    enough = facts.side > 1 or facts.parallel >= SOME_ROWS * target.multiprocessors
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
        # what of a row's last block lies outside of it, as a share of the row
        waste = {b: cdiv(facts.reduced, b) * b / facts.reduced - 1 for b in _LONG_BLOCKS}
        fitting = [block for block in _LONG_BLOCKS if waste[block] <= _MOST_WASTE]
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
    return [_proposal(1, r, w, most=_MOST_WARPS) for r, w in blocks]


def _read_again(facts: Facts) -> tuple[int, int]:
    """Block and warps for rows that are read more than once: what several tensors take of the
    registers leaves room for fewer elements, until the rows are so long that two programs of a
    multiprocessor would push each other's out of the cache."""
    several, narrow = facts.loads > _FEW_LOADS, facts.again <= 2 * facts.reduced
    if facts.reduced <= MAX_LONG_BLOCK:
        return (8192 if narrow else 4096, 16)
    if several and facts.side:
        return (4096, 32)  # a loss with its gradient: 32 registers, so two programs
    blocks = 4 if narrow and not facts.side else 3 * several
    return (8192, 32) if facts.reduced <= blocks * MAX_LONG_BLOCK else (16384, 32)


def _inner(facts: Facts, target: Target) -> list[Proposal]:
    if facts.aligned and facts.parallel >= SOME_ROWS * target.multiprocessors:
        # Rows of 50257 on an H200: small programs where they are only read, and once.
        blocks = [(4096, 16), (8192, 32), (4096, 8), (2048, 4), (8192, 16)]
        if facts.loops == 1 and not facts.full:
            blocks = [(2048, 4), (4096, 8), (4096, 16), (8192, 16), (4096, 4)]
        elif facts.loops > 1 and not facts.side and facts.again < 2 * facts.loads * facts.reduced:
            # Weights, too, which do not begin where the rows do: few elements a thread.
            few = [(4096, 32), (2048, 16), (2048, 32)]
            narrow = facts.again <= 2 * facts.reduced and facts.loads > _FEW_LOADS
            short = narrow or facts.reduced <= MAX_LONG_BLOCK
            wide = facts.again > 4 * facts.reduced
            blocks = [*(few[::-1] if wide else few[1::-1] if short else few[:2]), *blocks]
        elif reach(facts) > MAX_REDUCTION_BLOCK:
            blocks = [(8192, 32), *blocks]
        return [_proposal(1, r, warps, most=_MOST_WARPS) for r, warps in dict.fromkeys(blocks)]
    if is_long(facts, target):
        return _long(facts, target)
    first = [_proposal(1, 2048, 16), _proposal(1, 4096, 16)]
    if facts.parallel < 2 * target.multiprocessors:
        # Few rows: each one must keep a whole multiprocessor busy by itself, in few turns.
        long = [_proposal(1, 8192, 32, most=_MOST_WARPS)] * (reach(facts) > MAX_REDUCTION_BLOCK)
        return [first[0], *long, first[1], _proposal(1, 1024, 16), _proposal(1, 4096, 8)]
    if facts.reduced <= 512:
        return [_proposal(4, 512, 8), _proposal(1, 512, 2), _proposal(1, 512, 4)]
    if facts.parallel >= 1024 and facts.loads + facts.reductions >= _MANY_VALUES:
        # So much is loaded and summed up at once that a smaller block may keep more of it in
        # registers; with few rows, large blocks are needed to keep the device busy.
        first.insert(not _is_moved(facts), _proposal(1, 1024, _MAX_WARPS // 2))
    return [*first, _proposal(1, 2048, 8), _proposal(1, 4096, 8)]


def with_registers(config: Config, facts: Facts, target: Target) -> Config:
    """``config`` with what a thread may use: of aligned rows, so that a multiprocessor holds two
    programs of 8 elements a thread (a loss and its gradient of 50257 columns 195 -> 185 us on an
    H200); of columns, what loads under way take (800 x 5001, their number unknown: 18.5 us if the
    assembler is not told). Where sizes are known that is what costs no program its place, if
    a loop has more loads than are under way anyhow (60000 x 65: 20 became 60, 4.36 us 4.11). Rows
    of unknown length that a block holds are masked in parts of it, which takes a few registers
    more: two programs, as of known rows, have what 52 elements a thread take."""
    columns = (facts.family, facts.hint, facts.wide) == (Family.REDUCTION, Hint.OUTER, False)
    row, warps = dict(config.blocks).get("R0_BLOCK", 1), _MOST_WARPS
    large = facts.aligned and config.num_warps >= warps and row == _LONG_BLOCKS[1]
    if facts.family is Family.PERSISTENT and facts.longest and config.num_warps == 8:
        narrow, warps = facts.bytes < 7 * facts.parallel * facts.reduced, config.num_warps
        large = narrow and 16 * facts.reduced <= 13 * row == 13 * _LONG_BLOCKS[0]
    if columns and not facts.chunked:
        each = facts.loads * config.elements / (config.num_warps * target.warp_size)
        columns = each <= _UNTOLD < each * facts.reduced / row and not facts.unknown
        programs = cdiv(facts.parallel * row, config.elements)
        warps = cdiv(programs, target.multiprocessors) * config.num_warps
    room = target.registers_per_multiprocessor // (warps * target.warp_size)
    if columns and facts.chunked < 2 and room >= 64:
        return replace(config, options=(("maxnreg", 128 if room >= 128 else 64),))
    return replace(config, options=(("maxnreg", room // 2),)) if large else config


def has_rules(facts: Facts, target: Target) -> bool:
    """Whether these rules come first: of long blocks, of chunks, and of reductions across memory
    that fill the device, in one loop, and store every element, are wide or are of long strips. Of
    those six kernels of the corpus took 1.07 times the fastest's time with 64 x 64 and 4 warps,
    five of these 1.00 with 64 x 32 and 8; one of eight tensors took 1.21 so, three of strips of
    196 rows 1.14."""
    many = facts.parallel >= STORED_COLUMNS * target.multiprocessors
    strips = facts.sizes[0][0] == "y" and facts.loads <= _STRIP_LOADS and facts.reduced >= 512
    stored = facts.hint is Hint.OUTER and (facts.full or strips) and facts.loops == 1
    own = is_long(facts, target) or in_chunks(facts, target) or _is_moved(facts) or facts.varies
    own |= facts.strided > 0 or _has_few_columns(facts, target)  # strided: in two directions
    return own or (stored and many) or _is_wide(facts, target)


def _has_few_columns(facts: Facts, target: Target) -> bool:
    few = facts.parallel <= _FEW_COLUMNS * target.multiprocessors
    return few and facts.hint is Hint.OUTER and facts.sizes[0][0] == "x"


def _is_moved(facts: Facts) -> bool:
    """Whether rows that a block could hold are loaded at several places of theirs: norms with a
    rotary embedding take 43 us in blocks of 1024 and 8 warps, 53 in 2048 and 16 (H200)."""
    several = facts.parallel >= 1024 and facts.loads >= _MANY_VALUES
    return several and facts.hint is Hint.INNER and facts.reduced <= _LONG_BLOCKS[1]


def _is_wide(facts: Facts, target: Target) -> bool:
    """Whether many columns of 16 bits are only read, once."""
    read = facts.hint is Hint.OUTER and facts.loops == 1 and not (facts.full or facts.strips)
    narrow = facts.bytes <= 2 * facts.loads * facts.parallel * (facts.reduced + facts.loads)
    return read and narrow and facts.parallel >= _WIDE_COLUMNS * target.multiprocessors


def _outer(facts: Facts, target: Target) -> list[Proposal]:
    """As they were fastest on an H200 where every element is stored (docs/measurements/limit.md);
    else beside what was learnt."""
    r, points = facts.reduced, facts.parallel * facts.reduced
    if facts.strided:
        few = facts.parallel < 32 * 16 * target.multiprocessors
        return [_scan(*block) for block in (_FEW_CROSSED if few else _CROSSED)]
    if _is_wide(facts, target):
        enough = facts.bytes >= _WIDE_BYTES * r * target.multiprocessors
        first = [(64, 64, 8), (64, 64, 16)] if enough else [(64, 64, 16), (64, 64, 8)]
        return [_proposal(*b) for b in (*first, (128, 64, 8), (128, 16, 8), (64, 32, 4))]
    if _has_few_columns(facts, target):
        x = max(2, min(8, next_power_of_two(cdiv(facts.parallel, target.multiprocessors))))
        rows = min(next_power_of_two(r), 2048 // x)
        wanted = [(x, rows, max(1, x * rows // 128)), (8, 64, 16), (4, 128, 16), (8, 256, 16)]
        return [_proposal(*block) for block in wanted]
    blocks = [(64, 32, 8, 1), (64, 64, 4, 1), (32, 16, 4, 1), (32, 32, 4, 1), (128, 16, 4, 1)]
    if facts.full and facts.loads + facts.reductions >= _MANY_VALUES:  # 1.01 times the fastest's
        blocks.insert(0, (32, 16, 4, 1))  # time for three kernels of the corpus, not 1.43
    elif facts.full and facts.strips and r >= _AHEAD_ROWS:
        blocks.insert(0, (64, 32, 8, 3))
    elif facts.full and r == next_power_of_two(r) <= 128:  # one or two turns of whole blocks
        blocks.insert(0, (64, 64, 4, 1))
    elif facts.full and r % 32 and points < _FEW_POINTS * target.multiprocessors:
        blocks.insert(0, (32, 16, 4, 1))
    if facts.sizes[0][0] == "y" and facts.full:
        x = 512
        while x > 64 and facts.parallel < 4 * x * target.multiprocessors:
            x //= 2
        most = (2048 if facts.bytes >= _CROWDED * points else 4096) // x
        n = 3 if facts.loads <= _MANY_VALUES else 1  # that shared memory holds
        blocks = [(x, most // 2, 4, n), (2 * x, most // 4, 4, n), (x, most, 4, n)]
        blocks += [(x // 2, most, 4, n), (x // 4, 2 * most, 4, 1)]
    return [_proposal(*block) for block in blocks]


def scans(facts: Facts, target: Target) -> list[Proposal]:
    """Candidates of scans with one program a block of rows, by their hint, or several a row."""
    blocks: list[tuple[int, ...]] = [(16, 128, 8), (16, 64, 4), (32, 64, 8), (32, 128, 8)]
    if facts.size("y") > 1 and facts.strided:  # of so few rows that a thread has all of them
        blocks = [(32, 4, 8, 32), (32, 8, 8, 32), (32, 8, 4, 16), (32, 16, 8, 8)]
        if facts.parallel < 2 * 32 * 32 * target.multiprocessors:
            blocks.reverse()
    elif facts.family is Family.SPLIT_SCAN:
        blocks = [(1, 4096, 8), (1, 4096, 16), (1, 2048, 8), (1, 2048, 4)]
    elif facts.hint in (Hint.INNER, Hint.DEFAULT):
        blocks = [(1, 4096, 8), (1, 2048, 8), (1, 4096, 16), (1, 2048, 4)]
    return [_scan(*block) for block in blocks]


def _scan(x: int, r: int, warps: int, y: int = 1) -> Proposal:
    return Proposal((("x", x), ("y", y), ("r0_", r)), warps, max_warps=16, grow=False)
