"""Which looped kernels let several programs share a row, and what these have to tell each other.

Long rows that are read more than once fall out of the cache between two reads. Programs that share
a row walk over less of it at a time; after each loop they exchange what they have found through a
workspace (``codegen.exchange``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from harness.dtypes import DType
from harness.graph.passes.split import FEW_ROWS, shares
from harness.heuristics.facts import Facts, Family, Hint
from harness.heuristics.limits import MAX_REDUCTION_BLOCK, reach
from harness.ir.nodes import Reduce, ReduceKind, Scan, Sort, reductions, values
from harness.schedule.group import SegmentKind
from harness.tiling.passes import components, loaded_by_segment
from harness.tiling.plan import PlanSegment, SharedRows, Tile

LEAST_AGAIN = 128 << 10
"""Bytes of a row, read again, up to which rows are left to one program each: 264 of them (two
programs on each of 132 multiprocessors) are in the cache of an H200 together."""

_RESULTS = {ReduceKind.WELFORD: 2, ReduceKind.SOFTMAX: 2} | dict.fromkeys(
    (ReduceKind.SUM, ReduceKind.PROD, ReduceKind.MAX, ReduceKind.MIN, ReduceKind.ANY), 1
)
"""Numbers that the programs of a row exchange, by kind; of columns, whose words nothing is added
to, they have 64 bits, and places of the largest elements are among them."""
_PLACES = dict.fromkeys((ReduceKind.ARGMAX, ReduceKind.ARGMIN), 2)


def shared_rows(
    segments: Sequence[PlanSegment], tiles: Sequence[Tile], facts: Facts
) -> SharedRows | None:
    """What the programs of a row need of a workspace: words for their results, of two rows because
    they may be one apart, of four where the next row's are told first; of columns, once, because
    each has one block of them; None if nothing is shared."""
    if facts.family is Family.SPREAD:
        own = [r for segment in segments for r in reductions(segment.stores) if not r.across]
        return SharedRows(4 * len(dict.fromkeys(map(id, own))))
    once = facts.loops == 1 and segments[0].kind is SegmentKind.LOOP
    few = tiles[0].numel.is_Integer and facts.parallel <= FEW_ROWS
    few |= facts.hint is Hint.INNER and len(tiles[-1].entries) > 1  # never in whole vectors
    few |= (outer := facts.hint is Hint.OUTER)
    stores = [s for segment in segments for s in segment.stores]
    softmax = any(r.kind is ReduceKind.SOFTMAX for r in reductions(stores))
    if not facts.unknown:
        few = shares(facts.parallel, facts.reduced, not outer, softmax)
    long = facts.hint is Hint.INNER and facts.unknown[:1] == ("x",) and len(tiles[-1].entries) == 1
    long &= ("XBLOCK", 1) in facts.pinned
    columns = once and (long or (few and facts.unknown[-1:] in ((), ("r0_",))))
    again = facts.again > LEAST_AGAIN and reach(facts) > MAX_REDUCTION_BLOCK
    # Of channels of images and the like no row lies in one piece.
    if len(tiles) != 2 or not (columns or (again and len(tiles[1].entries) == 1)):
        return None
    stored = {s.buffer for s in stores}
    # Behind the loop only the last program stores, and no other needs what it stores.
    whole = (not columns or segment.kind is SegmentKind.LOOP for segment in segments)
    read = {name for one in compress(loaded_by_segment(segments), whole) for name, _ in one}
    ordered = any(isinstance(value, Scan | Sort) for value in values(stores))
    if ordered or any(s.mode.is_atomic for s in stores) or read & stored:
        return None
    found = components(stores)
    if not found or any(not _is_exchanged(r, columns) for r in reductions(stores)):
        return None
    words = sum((_RESULTS | _PLACES)[group[0].kind] for group in found.values())
    return SharedRows(words if columns else 2 * words, columns)


def _is_exchanged(reduce: Reduce, columns: bool) -> bool:
    """Whether results are exchanged as words of 32 bits, or of 64 those of ``columns``."""
    dtypes = (reduce.dtype, *(v.dtype for v in reduce.args))
    if columns and all(dtype.itemsize >= 4 or not dtype.is_float for dtype in dtypes):
        return reduce.kind in _RESULTS | _PLACES
    narrow = reduce.dtype in (DType.F32, DType.I32, DType.BOOL)
    return reduce.kind in _RESULTS and narrow and all(v.dtype.itemsize <= 4 for v in reduce.args)
