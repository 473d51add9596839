"""Which tiles a kernel gets, and whether a reduction is held in one block.

Memory is read in sectors of 32 bytes and transactions of 128: an access is cheap
where neighbouring lanes touch neighbouring elements. Everything here asks of each
access which loop variable it has stride 1 in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, dropwhile, pairwise

import sympy

from harness.heuristics.facts import Hint
from harness.heuristics.limits import MAX_GRID_YZ, MOST_TILES, VECTOR
from harness.heuristics.mixed import SHORT_ROW
from harness.ir import nodes as ir
from harness.ir.affine import affine, divide, positions, same, size_hint, size_of
from harness.ir.ops import Rule
from harness.target import Target
from harness.tiling.ranges import Split

PERSISTENT_INNER = 8192
"""Largest contiguous reduction held in one block. Inductor's figure is 1024; on Hopper 16
warps hold 8192 float32 values in 16 registers a thread, and one pass over memory instead
of two decides the time of every normalisation."""

PERSISTENT_AGAIN = 16384
"""The same where a loop would read one tensor again and nothing else along the parallel dimension,
if rows are few, have exponentials or are no whole blocks (softmax of 11008: 132, not 140 us); not
if they begin anywhere and have more than 16 bits: in a loop they are loaded as whole vectors (an
instance norm of 4096 x 15999 in float32: 159 us, not 198)."""

MOVED = 8192
"""Rows of that many elements, of all tensors together, are read in loops if later loops read them
at other places as well: two norms of 4096 and their rotary embedding take 43 us on an H200, held in
a block 55; one norm of 8192 24 and 29, of 4096 30 and 24."""

ALONE = 4
"""Tensors of a row of that length that a block holds where no multiprocessor has two rows, so that
nothing hides what each turn of a loop waits for; of 19 loads it spilled."""

PERSISTENT_REGISTERS = 2
"""A persistent block's full-size loads may fill one ``PERSISTENT_REGISTERS``-th of a
multiprocessor's registers (32768 elements on Hopper): the rest is for what is computed
from them, and for a second block."""

PERSISTENT_OUTER = 64
"""Largest strided reduction held in one block: the block is also XBLOCK columns wide."""

PERSISTENT_STORED = 16
"""The same where one loop would do that stores every element: it reads ahead of what it stores."""

PERSISTENT_WIDTHS = 2048
"""Largest reduction held in one block if its values are stored 1 and 8 bytes wide: the
elements that a thread owns side by side follow the narrow one, so that the wide ones of a
warp are 128 bytes apart; in a loop of 4 elements a thread they are not."""

MIXED = 4
"""A direction counts if it has at least one ``MIXED``-th of the other one's bytes; that across rows
half of it, since each of its elements takes a sector where rows are read one by one."""

ACROSS = 1 << 20
"""Bytes in whose order it pays to have the rows: 126 MB took 33 us on an H200, not 60, 46 kB 3.4,
not 2.8."""

LONG_STRIP = 256
"""Columns from which on a program has columns of a single strip of rows."""

SMALLEST_TILE = 8
"""A further tile is worth it only if all contiguous runs have this many elements:
a shorter run does not fill a 32-byte sector of 4-byte elements."""

LEAST_SHARE = 128
"""A third tile is worth it only for accesses of at least one ``LEAST_SHARE``-th of the bytes: of a
65th it halves the time, with a 256th the shorter runs of all others take 1.1 to 1.25 times as long
(docs/measurements/limit.md)."""


EVEN, UNEVEN, ALIKE, ALIKE_ALL = (2, 64), (4, 1024), 2, 3 << 24
"""Pieces one behind the other and elements of their rows (of whole vectors, of others), loads that
are the same all along those for each byte stored at a point, and such loads at all points, at
least, from which on blocks have rows of their own: 38 of 64 kernels of the corpus take 0.26 to
0.995 of the time on an H200, 0.69 in the mean. With one load a byte the memory is the limit, 1.02
to 1.08; with fewer at all points 20 kernels took 0.80 to 1.35, in rows of 289 one took 1.07."""

FOUND_ROW = 64
"""Elements of a row that is loaded from a computed place, at least, for blocks to have rows."""

FUNCTION, SHARED_WORK, SHARED_POINTS = 12, 16, 256
"""Instructions of a function, roughly; those for a point, and such points, worth sharing."""


@dataclass(frozen=True, slots=True)
class Access:
    """One load or store: its index, how many points it touches weigh, and its direction."""

    index: sympy.Expr
    itemsize: int
    write: bool


def unit_stride(access: Access, splits: Sequence[Split]) -> sympy.Symbol | None:
    """The first variable in which the access has stride 1, or else runs of it."""
    found = affine(access.index, positions(s.var for s in splits))
    exact = (s.var for s, stride in zip(splits, found.strides, strict=True) if stride == 1)
    runs = (s.var for s in splits if found.rest and _runs(access.index, s, splits))
    return next(chain(exact, runs), None)


def _runs(index: sympy.Expr, split: Split, splits: Sequence[Split]) -> bool:
    """Whether an index with quotients and remainders (a transposed tensor behind another in a
    ``cat``, rows that are rolled) goes on by 1 with the split's variable, seen in the middle."""
    middle, far = {s.var: size_hint(s.length) // 2 for s in splits}, size_hint(split.length) - 1
    steps = (0, 1, min(SMALLEST_TILE, far))
    first = min(middle[split.var], far - steps[-1])
    start, *after = (index.subs({**middle, split.var: first + k}) for k in steps)
    return [place - start for place in after] == [1, steps[-1]]


def tile_boundaries(
    splits: Sequence[Split], accesses: Sequence[Access], most: int = MOST_TILES, many: bool = False
) -> tuple[int, ...]:
    """Where tiles begin, but for the lowest: numbers of splits below them. There are ``most`` tiles
    at most, and as ``many`` as that can be if it is asked for.

    A cut below split ``k`` makes accesses with stride 1 in ``k`` coalesced along the tile above it,
    while those with stride 1 in the lowest split of another tile stay coalesced along that one. It
    scores the bytes that it makes coalesced (writes twice), doubled for each run, along the tile
    below and along its own, that is a multiple of 32. The best of all is made, and one beside it
    if all have a ``LEAST_SHARE`` of the bytes.
    """
    weights, total = Counter[sympy.Symbol](), 0
    lengths = {split.var: split.length for split in splits}
    for access in accesses:
        unit = unit_stride(access, splits)
        moved = access.itemsize * touched_points(access.index, splits) * (1 + access.write)
        total += moved
        # If it moves along no lower split, neighbouring lanes read one element: nothing is gained.
        moving = (split.var for split in splits if split.var in access.index.free_symbols)
        if unit is not None and next(moving) != unit:
            weights[unit] += moved
            lengths[unit] = max(lengths[unit], _run(access.index, unit, splits), key=size_hint)
    useful = [n for n, split in enumerate(splits) if n and (many or weights[split.var])]
    scores: dict[tuple[int, ...], int] = {}
    for cuts in chain.from_iterable(combinations(useful, count) for count in range(1, most)):
        units = [splits[cut].var for cut in cuts]
        ends = [splits[cut].divisor for cut in cuts] + [splits[-1].divisor * splits[-1].length]
        below, *tiles = (high / low for low, high in pairwise([sympy.S.One, *ends]))
        own = [lengths[u] if weights[u] else t for u, t in zip(units, tiles, strict=True)]
        runs = [min(pair, key=size_hint) for pair in zip(own, tiles, strict=True)]
        few = len(cuts) > 1 and min(weights[u] for u in units) * LEAST_SHARE < total and not many
        if min(size_hint(length) for length in (below, *runs)) >= SMALLEST_TILE and not few:
            beside = zip(units, (below, *tiles), runs, strict=False)
            scores[cuts] = sum(weights[u] * _aligned(low) * _aligned(run) for u, low, run in beside)

    def rank(cuts: tuple[int, ...]) -> tuple[int, ...]:
        best = max(scores[cut,] for cut in cuts)
        return many * len(cuts), best, len(cuts), scores[cuts]

    return max(scores, key=rank, default=())


def _run(index: sympy.Expr, unit: sympy.Symbol, splits: Sequence[Split]) -> sympy.Expr:
    """Neighbours that an access with stride 1 in ``unit`` touches: along the loops above it as
    well, where these go on (pairs of a rotary embedding are a loop of 2 of their own)."""
    strides, length = affine(index, positions(s.var for s in splits)).strides, sympy.S.One
    for split, stride in dropwhile(lambda at: at[0].var != unit, zip(splits, strides, strict=True)):
        if not same(stride, length):
            break
        length *= split.length
    return length


def strip_boundary(
    parallel: Sequence[Split], reduced: Sequence[Split], accesses: Sequence[Access]
) -> tuple[int, ...]:
    """The number of splits along rows, where programs reduce strips of long rows and load what
    belongs to a row: of one strip it is loaded once for all columns. Nothing if nothing does."""
    rows = {s.var for s in reduced}
    used = [a.index.free_symbols for a in accesses if a.index.free_symbols & rows]
    used = [symbols for symbols in used if parallel and parallel[0].var not in symbols]
    cut = next((n for n, s in enumerate(parallel) if any(s.var in found for found in used)), 0)
    columns, strips = (sympy.Mul(*(s.length for s in p)) for p in (parallel[:cut], parallel[cut:]))
    known = cut and columns.is_Integer and strips.is_Integer
    return (cut,) * bool(known and columns >= LONG_STRIP and strips <= MAX_GRID_YZ)


def shared_boundary(
    splits: Sequence[Split],
    stores: Sequence[ir.Store],
    accesses: Sequence[Access],
    simplify: ir.Address,
) -> tuple[int, ...]:
    """The number of splits in the lower of two tiles, where nearly all arithmetic knows those
    alone and no load has both: a block of several points above them does it once. T5's bias, equal
    at 512 x 512 places for 12 heads, takes 8.0 us on an H200, in blocks of 4 heads 3.6. Or where
    rows of the lowest split have tiles of their own (``_pieces``, ``_found``)."""
    places = {s.var: number for number, s in enumerate(splits, start=1)}
    highest: dict[int, int] = {}
    work, loaded = [0] * (len(splits) + 1), list[list[int]]()
    for value in ir.walk(ir.store_roots(stores)):
        own = [highest[id(v)] for v in ir.operands(value)]
        if isinstance(value, ir.Load | ir.IndexValue):
            found = [places[s] for s in simplify(value.index).free_symbols if s in places]
            own, loaded = own + found, loaded + [found] * isinstance(value, ir.Load)
        last = highest[id(value)] = max(own, default=0)
        if isinstance(value, ir.Compute):
            work[last] += FUNCTION if value.op.rule is Rule.FLOAT else 1
    for cut in range(1, len(splits)):
        lower = splits[cut].divisor
        upper = size_hint(splits[-1].divisor * splits[-1].length) // size_hint(lower)
        enough = sum(work[: cut + 1]) >= SHARED_WORK + 2 * sum(work[cut + 1 :])
        enough &= not any(found and min(found) <= cut < max(found) for found in loaded)
        if enough and lower.is_Integer and int(lower) >= SHARED_POINTS and upper >= 4:
            return (cut,)
    stored = sum(a.itemsize for a in accesses if a.write)
    if len(splits) < 2 or not splits[0].length.is_Integer:
        return ()
    rows = _pieces(splits, stores, stored, simplify) or _found(splits[0], stores, simplify)
    return (1,) * rows


def _found(lowest: Split, stores: Sequence[ir.Store], simplify: ir.Address) -> bool:
    """Whether whole rows of the ``lowest`` split are loaded from places that floats above it give,
    as pixels of an image in channels-last order are by an interpolation. Of floats Triton does not
    know that neighbours have them in common, and loads element by element; a block of rows computes
    them once a row."""
    inner, row = lowest.var, int(lowest.length)
    if row < FOUND_ROW or row % VECTOR:
        return False

    def moves(value: ir.Value) -> bool:
        indices = (v.index for v in ir.walk([value]) if isinstance(v, ir.Load | ir.IndexValue))
        return any(inner in simplify(index).free_symbols for index in indices)

    values = ir.values(stores)
    loads = [v for v in values if isinstance(v, ir.Load) and v.indirect]
    places = [place for load in loads for _, place in load.indirect]
    floats = any(v.dtype.is_float for v in ir.walk(places))
    whole = all(simplify(load.index).coeff(inner) == 1 for load in loads)
    along = all(moves(v.mask) for v in values if isinstance(v, ir.Masked))  # pieces of rows
    return floats and whole and along and not any(map(moves, places))


def _pieces(
    splits: Sequence[Split], stores: Sequence[ir.Store], stored: int, simplify: ir.Address
) -> bool:
    """Whether pieces lie one behind the other above the lowest split, as images of a ``cat`` do,
    and much is loaded that does not change along it: blocks of some rows load that once a row, and
    nothing of other pieces. Not timed with loads at computed places."""
    row = int(splits[0].length)
    least, shortest = UNEVEN if row % VECTOR else EVEN
    if row < shortest:
        return False
    values, variables = ir.values(stores), {split.var for split in splits}

    def above(value: ir.Load | ir.IndexValue) -> bool:
        found = simplify(value.index).free_symbols & variables
        return bool(found) and splits[0].var not in found

    loads = [value for value in values if isinstance(value, ir.Load)]
    masks = {value.mask for value in values if isinstance(value, ir.Masked)}
    places = [[v for v in ir.walk([m]) if isinstance(v, ir.IndexValue)] for m in masks]
    pieces = sum(bool(found) and all(map(above, found)) for found in places)
    alike = 0 if any(load.indirect for load in loads) else sum(map(above, loads))
    points = size_hint(sympy.Mul(*(split.length for split in splits)))
    much = alike >= ALIKE * stored and alike * points >= ALIKE_ALL
    return pieces >= least and much


def touched_points(index: sympy.Expr, splits: Sequence[Split]) -> int:
    """Points of the loops that ``index`` depends on: about as many elements."""
    return math.prod(size_hint(s.length) for s in splits if s.var in index.free_symbols)


def _aligned(size: sympy.Expr) -> int:
    return 2 if divide(size_of(size), 32) is not None else 1


def reduction_hint(
    parallel: Sequence[Split], reduced: Sequence[Split], accesses: Sequence[Access]
) -> tuple[Hint, list[Split]]:
    """Along which tile most bytes are contiguous, or that both have many. Accesses that do not run
    along the reduction do not vote. And the loops over rows, so that those of a block lie side by
    side where most is read across: of a bias with 8 heads innermost each sector is read once."""
    found, along = Counter[sympy.Symbol](), {split.var for split in reduced}
    for access in (a for a in accesses if a.index.free_symbols & along):
        if (unit := unit_stride(access, (*parallel, *reduced))) is not None:
            found[unit] += access.itemsize * touched_points(access.index, (*parallel, *reduced))
    beside = sorted(parallel, key=lambda split: -(found[split.var] // ACROSS))
    inner = sum(found[symbol] for symbol in along)
    outer = found.total() - inner
    mixed = MIXED * inner >= outer and 2 * MIXED * outer >= inner
    most = Hint.MIXED if mixed else Hint.INNER if inner >= outer else Hint.OUTER
    return (most if inner or outer else Hint.DEFAULT), beside


def is_persistent(
    hint: Hint,
    rnumel: sympy.Expr,
    full_loads: int,
    target: Target,
    widths: int = 1,
    passes: int = 2,
    again: bool = False,
    stored: bool = False,
    alone: int = 0,
) -> bool:
    """Whether the whole reduced range is held in one block.

    ``full_loads`` counts the loads whose values span the reduced range, ``widths`` is the
    ratio of the widest to the narrowest element accessed along it, ``passes`` how often a
    loop would run, ``again`` prefers a block where it reads a tensor again, ``stored`` says that
    one of many programs stores so too. ``alone``: registers of what a point loads before the last
    reduction, where no multiprocessor has two rows, which are held up to twice the length.
    """
    if not rnumel.is_Integer:
        return False
    size = int(rnumel)
    if hint is Hint.MIXED:
        return size <= (SHORT_ROW if passes > 1 else PERSISTENT_OUTER)
    if widths >= 8 and size > PERSISTENT_WIDTHS:
        return False
    if hint in (Hint.INNER, Hint.DEFAULT):
        block = 1 << (size - 1).bit_length()
        room = target.registers_per_multiprocessor // PERSISTENT_REGISTERS
        fits, held = block * max(1, full_loads) <= room, 0 < block * alone <= room
        most = PERSISTENT_AGAIN << held if passes > 1 and again else PERSISTENT_INNER
        return size <= most and (fits or held or size <= 1024)
    return size <= (PERSISTENT_STORED if stored and passes == 1 else PERSISTENT_OUTER)
