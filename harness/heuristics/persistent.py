"""Candidates of persistent reductions: the whole reduced dimension is in one block.

A row short enough for one warp (8 elements a lane) is best reduced without leaving the
warp, several rows to a block; a long row takes a warp for every 1024 elements, which makes
each thread's part of a 16-bit row four independent 16-byte loads. Orders are from times of
every candidate on an H100 (docs/measurements/heuristics.md).
"""

from __future__ import annotations

from harness.heuristics.facts import Config, Facts, Hint
from harness.heuristics.limits import VECTOR, Proposal, cdiv, finish, next_power_of_two
from harness.target import Target

_MAX_WARPS = 16
_MAX_ELEMENTS = 4096
_LONG_ROW = 256
LEARNT = 8192
"""Rows beyond this were not among those that tunings were recorded of."""
_SOME_ROWS, _MANY_ROWS = 4, 16
_ONLY_READ = 2048
_LEAST_BYTES, _ENOUGH = 2560, 8
"""Bytes that a program of short rows moves where a multiprocessor has ``_ENOUGH`` programs."""
_HELD = 2048
"""Elements of short rows that one warp holds: 64 a thread. On an H200 169 kernels of rows of 130 to
1024 elements took 1.051 times the fastest's time with a warp for 1024, now 1.020 (the worst 1.80
and 1.15: docs/measurements/short-rows.md). Half of it where rows that begin anywhere are reduced
twice, as softmax and losses do: 18 of those took 1.072 times the fastest's time, now 1.007. Half,
in a warp for 512, where numbers of 64 bits are reduced: 147,456 rows of 384 that are compared and
counted take 51.5 us, with 64 a thread (109 registers) 74.4."""
_SPAN = 32
"""Results of a program of short columns there: whole sectors of 16-bit types, too. On an H200 sums
of 32 columns of 294912 take 7 us, and with the two a program that trees chose 91."""


def has_half(facts: Facts, target: Target) -> bool:
    """Whether a row has half the warps, so that a thread holds 64 elements and fewer wait for each
    other: rows beyond ``LEARNT``; many of just that length of three tensors and more (nine of the
    corpus, 4096 rows on an H200: 1.07 times the fastest's time, now 1.01); 16-bit rows of 2048
    elements or more that several reductions read and nothing writes. Of these cross entropy of
    2048 to 8192 columns is 1.02 to 1.15 times as fast on an H200 (limit-tunings.jsonl.gz); 1.02
    times a kernel of the corpus with 8 rows a multiprocessor, 0.92 one with fewer than 4."""
    row, each = next_power_of_two(facts.reduced), facts.parallel / target.multiprocessors
    several = each >= _SOME_ROWS and facts.reductions > 1
    read = several and row >= _ONLY_READ and facts.bytes < 3 * facts.parallel * facts.reduced
    many = row == LEARNT and each >= _MANY_ROWS and facts.loads > 2
    return row > LEARNT or (facts.hint is Hint.INNER and (read or many))


def proposals(facts: Facts, target: Target) -> list[Proposal]:
    """Candidates for a persistent reduction, by its hint."""
    match facts.hint:
        case Hint.INNER | Hint.DEFAULT:
            return _inner(facts, target)
        case Hint.OUTER:
            return _outer(facts, target)
        case Hint.MIXED:
            return _mixed(facts)


def filled(config: Config, facts: Facts, target: Target) -> Config:
    """``config``, with more rows a program where programs are begun no faster than they end: one
    takes 0.6 ns to begin on an H200 (docs/measurements/limit.md), but no more than one warp holds:
    warps that share a row wait for each other. Programs of rows across memory span ``_SPAN``
    elements of it as well, of which one warp holds all."""
    across, alone = facts.hint is Hint.OUTER, ("XBLOCK", 1) in facts.fixed_blocks
    if facts.hint is Hint.MIXED or alone or (len(facts.sizes) > 2 and not across):
        return config
    rows = x = config.block("XBLOCK")
    wide = facts.width > 4  # two registers each
    row, most = config.block("R0_BLOCK"), facts.parallel / (_ENOUGH * target.multiprocessors)
    wanted = _LEAST_BYTES * facts.parallel / max(1, facts.bytes)
    if across:
        wanted = min(max(_SPAN, wanted), _MAX_ELEMENTS // 2 // row)
    while rows < min(most, wanted):
        rows *= 2
    if not across and rows < 4 * max(x, _HELD // row):
        half = wide or (facts.reductions > 1 and facts.reduced % VECTOR > 0)
        rows = min(rows, max(x, _HELD // (1 + half) // row))
    warps = 1 if across else max(config.num_warps, rows * row // (_HELD // 4 if wide else _HELD))
    return config if rows == x else finish(facts, _proposal(rows, warps), target)


def _proposal(x: int, warps: int, most: int = _MAX_WARPS) -> Proposal:
    return Proposal((("x", x),), warps=max(1, warps), max_warps=most)


def _inner(facts: Facts, target: Target) -> list[Proposal]:
    rows = facts.parallel
    row = next_power_of_two(facts.reduced)
    if row >= 2 * _LONG_ROW:
        # 32 elements a thread, fewer for few rows: those cannot hide latency with other blocks.
        usual = max(1, row // 1024)
        if has_half(facts, target):
            usual = max(1, usual // 2)
        few = (2, 4, 1) if row <= LEARNT else (4, 2, 1)
        order = few if rows < 2 * target.multiprocessors else (1, 2, 4)
        proposals = [_proposal(1, n * usual, 32 if row > LEARNT else 16) for n in order]
        return [*proposals, _proposal(2, 4 * usual)] if row <= 2048 else proposals
    wanted = max(1, 1024 // row)
    while wanted > 1 and cdiv(rows, wanted) < target.multiprocessors:
        wanted //= 2
    one_warp = _proposal(max(1, min(wanted, 512 // row)), 1)
    blocks = _proposal(wanted, wanted * row // 256)
    first = [one_warp, blocks] if row <= _LONG_ROW // 4 else [blocks, one_warp]
    more = [_proposal(x, x * row // 256) for x in (4, 8, 32) if x * row <= 4096 and x <= rows]
    return [*first, *more, _proposal(wanted, wanted * row // 128)]


def _mixed(facts: Facts) -> list[Proposal]:
    """Blocks of 16 rows or more: what is contiguous across them then fills sectors too.
    Measured best with as many elements a thread as registers allow."""
    row = next_power_of_two(facts.reduced)
    usual = 32 if row <= _LONG_ROW // 2 else 16
    blocks = [(usual, 2048), (usual, 1024), (usual // 2, 2048), (32, 2048), (32, 1024)]
    blocks += [(32, 512), (64, 2048)]
    fitting = [b for b in blocks if b[0] * row <= 4 * _MAX_ELEMENTS] or [(4, 1024)]
    return [_proposal(x, x * row // share) for x, share in fitting]


def _outer(facts: Facts, target: Target) -> list[Proposal]:
    """One warp adds up 32 elements a thread without leaving its registers; blocks narrower
    than 16 would no longer fill sectors."""
    points = facts.parallel
    depth = next_power_of_two(facts.reduced)
    width = max(16, min(128, 1024 // depth))
    while width > 32 and cdiv(points, width) < target.multiprocessors:
        width //= 2
    blocks = [(width, 1), (2 * width, 1), (2 * width, 2), (width, 4), (max(16, width // 2), 1)]
    blocks += [(32, 32 * depth // 256), (64, 64 * depth // 256)]
    fitting = [(x, warps) for x, warps in blocks if x * depth <= _MAX_ELEMENTS]
    return [_proposal(x, warps) for x, warps in fitting or [(max(1, _MAX_ELEMENTS // depth), 16)]]
