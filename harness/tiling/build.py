"""A fused group becomes a kernel plan: tiles, arguments, reduction kind, facts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from itertools import accumulate, islice

import sympy

from harness.decisions import UNDECIDED, Decisions
from harness.dtypes import DType
from harness.heuristics.facts import Facts, Family, Hint
from harness.heuristics.limits import LEAST_SCAN_BLOCK, MAX_REDUCTION_BLOCK, VECTOR, cdiv
from harness.heuristics.mixed import LONG
from harness.heuristics.pointwise import is_window
from harness.heuristics.reduction import GATHERED, SOME_ROWS, STORED_COLUMNS
from harness.ir import index_bounds as ib
from harness.ir import nodes as ir
from harness.ir.affine import UNKNOWN_SIZE, size_hint
from harness.ir.index import FloorDiv, Mod
from harness.ir.nodes import IndexValue, Load, Store, index_exprs, loads, reductions, scans, values
from harness.ir.program import Buffer, Program
from harness.ir.traffic import bytes_moved
from harness.ir.value_bounds import counted, is_small
from harness.schedule.group import FusedGroup, SegmentKind, splits
from harness.target import Target
from harness.tiling import choose
from harness.tiling.aligned import AlignedRows, aligned_rows
from harness.tiling.lanes import in_lanes
from harness.tiling.memory import accesses, arguments, scattered, shared_pairs
from harness.tiling.passes import (
    alternatives,
    components,
    loaded_by_segment,
    pieces,
    with_cheap_sums,
)
from harness.tiling.plan import (
    Category,
    KernelPlan,
    PlanSegment,
    SharedRows,
    Tile,
    Workspace,
    simplifier_of,
)
from harness.tiling.products import with_products
from harness.tiling.rewrite import Inliner, contains_reduce, in_32_bits, with_exact_copies
from harness.tiling.sharing import shared_rows
from harness.tiling.softmax import online_softmax, passes, side_by_side, sums_beside_maxima
from harness.tiling.space import Space

# The last block may reach past the last point by less than the largest tensor of a kernel.
INT32_LIMIT = 2**31 - 2**20
_Read = Collection[tuple[str, sympy.Expr]]
_ELEMENTS_PER_THREAD = {DType.F8E5M2: 4, DType.F8E4M3: 2}


MOST_OPS = 5
LONGEST = 60
_SILENT = frozenset(
    "alias arange clone copy expand full getitem permute scalar_tensor select slice squeeze"
    " convert_element_type t to_copy transpose unsqueeze view".split()
)
"""Operators that only rearrange, convert or fill: named only where there is nothing else."""

_NUMBER = re.compile(
    r"((_\d+)?_(chunks|results|total|within|across|partial(_var|_mean)?|rows(_[a-z]+)?))?(_\d+)*$"
)
"""What follows the operator in a node's name: a number, and what splitting it adds."""
_UNFIT = re.compile(r"\W")


def plan(
    program: Program, group: FusedGroup, target: Target, decisions: Decisions = UNDECIDED
) -> KernelPlan:
    """Everything about the kernel for ``group``, short of its text. Whether a reduction runs in a
    loop or in one block is its size's and direction's to say where ``decisions`` do not. Raises
    ``InvalidProgram`` for a group whose loads of internal buffers match no store."""
    space = Space(program, group, target, decisions.multiplied(group.reduced))
    category = _category(group, space, target, decisions.looped(group.reduced))
    segments = _segments(program, group, space, category is not Category.REDUCTION)
    if group.raxes and all(segment.kind is SegmentKind.FLAT for segment in segments):
        category, space = Category.POINTWISE, space.flat()
    tiles, dtypes = space.tiles(), {b.name: b.dtype for b in program.buffers}
    segments, tiles = with_products(segments, tiles, dtypes) if space.product else (segments, tiles)
    stores = [s for segment in segments for s in segment.stores]
    named = {load.buffer for load in loads(stores)} | {s.buffer for s in stores}
    buffers = tuple(b for b in program.buffers if b.name in named)
    sizes, pairs = _unknown_sizes(tiles, buffers, stores), shared_pairs(group.in_place, segments)
    reads, writes = accesses(program, segments, group.internal, tiles)
    moved, touched = bytes_moved(reads, writes, dict.fromkeys(sizes, UNKNOWN_SIZE))
    longest = _longest(category, group, space, target, decisions)
    facts = _facts(category, space, segments, buffers, group, touched, longest)
    aligned = _aligned(stores, group, tiles[-1], dtypes, facts)
    if category is Category.REDUCTION:
        online = [r for r in reductions(stores) if r.kind is ir.ReduceKind.SOFTMAX]
        side = side_by_side(online, dtypes, facts.hint, aligned)
        facts = replace(facts, aligned=aligned is not None, side=side)
    lanes = in_lanes(stores, tiles[0], dtypes) if is_window(facts) else None
    if lanes is not None:
        tiles, segments = lanes[:1], (PlanSegment(SegmentKind.FLAT, lanes[1]),)
        facts = replace(facts, sizes=(("x", int(tiles[0].numel)),))
    extents, index_dtype = _extents(group, space, buffers, stores, facts.chunked)
    initial, kept = _states(program, group)
    shared: Workspace | SharedRows | None = _workspace(category, group, stores)
    if facts.chunked or category is Category.MIXED or not (shared or pairs or aligned or longest):
        shared = shared_rows(segments, tiles, facts)
    if isinstance(shared, SharedRows) and category is Category.REDUCTION and not facts.chunked:
        facts = replace(facts, family=Family.COOPERATIVE)
    made = KernelPlan(
        name=kernel_name(category.value, group.origins),
        category=category,
        arguments=arguments(program, segments, group.internal, pairs, sizes, bool(shared), kept),
        tiles=tiles,
        segments=segments,
        buffers=buffers,
        internal=group.internal & named,
        sizes=sizes,
        index_dtype=index_dtype,
        facts=facts,
        bytes_moved=moved,
        origins=group.origins,
        initial=initial,
        kept=kept,
        cached=group.read_later if touched <= target.l2_bytes else frozenset(),
        workspace=shared,
        aligned=aligned,
        runs=lanes[2] if lanes is not None else (),
        extents=_counted(sizes, extents, stores, tiles),
    )
    return _with_held(made, program, group, space) if longest else made


def _longest(
    category: Category, group: FusedGroup, space: Space, target: Target, decisions: Decisions
) -> int:
    """The longest row that a kernel for rows of unknown length along memory holds in a block."""
    free = decisions.looped(group.reduced) is None and not group.rnumel.is_Integer
    along = category is Category.REDUCTION and space.hint in (Hint.INNER, Hint.DEFAULT)
    longest = choose.PERSISTENT_AGAIN if free and along else 0
    while longest and not _persistent(group, space, Hint.INNER, target, sympy.Integer(longest)):
        longest //= 2
    return longest


def _with_held(made: KernelPlan, program: Program, group: FusedGroup, space: Space) -> KernelPlan:
    """``made``, which loops, beside a block for short rows."""
    segments = _segments(program, group, space, True)
    pairs = shared_pairs(group.in_place, made.segments)
    if not set(pairs) <= set(shared_pairs(group.in_place, segments)):
        return made
    kind, (moved, longest) = Category.PERSISTENT, (made.facts.bytes, made.facts.longest)
    facts = _facts(kind, space, segments, made.buffers, group, moved, longest)
    both = replace(made, tiles=space.tiles())
    alone = replace(both, category=kind, segments=segments, facts=facts, aligned=None)
    alone = replace(alone, workspace=None)
    return replace(both, held=alone)


def _aligned(
    stores: Sequence[Store], group: FusedGroup, row: Tile, dtypes: Mapping[str, DType], facts: Facts
) -> AlignedRows | None:
    outside = [s for s in stores if s.buffer not in group.internal]
    alone = facts.family is Family.REDUCTION and ("XBLOCK", 1) in facts.fixed_blocks
    alone &= not facts.chunked or facts.alone
    return aligned_rows(outside, row.entries, dtypes) if alone else None


def _persistent(
    group: FusedGroup, space: Space, hint: Hint, target: Target, rnumel: sympy.Expr
) -> bool:
    rows = size_hint(group.numel) / target.multiprocessors
    stored = rows >= STORED_COLUMNS and space.stored and not any(n.is_scan for n in group.nests)
    whole = group.rnumel.is_Integer and int(group.rnumel) % MAX_REDUCTION_BLOCK == 0
    odd = group.rnumel.is_Integer and int(group.rnumel) % VECTOR > 0
    several = rows >= SOME_ROWS if space.narrow else rows >= 2
    looped = several and (whole if space.narrow else odd) and not sums_beside_maxima(group)
    again = space.held <= choose.ALONE if rows < 1 else space.held == 1 and not looped
    alone = cdiv(_loaded(group), 1 + space.narrow) if rows < 1 and rnumel == group.rnumel else 0
    facts = space.widths, passes(group), again, stored, alone
    found = choose.is_persistent(hint, rnumel, space.full_loads, target, *facts)
    many = hint is Hint.INNER and rows >= SOME_ROWS and rnumel.is_Integer
    return found and not (many and rnumel * _moved_within(group) >= choose.MOVED)


def _loaded(group: FusedGroup) -> int:
    """How many numbers a point of a row loads before the last reduction."""
    loops = (s.nests for s in group.segments if any(reductions(n.stores) for n in s.nests))
    every = [v for nests in loops for nest in nests for v in values(nest.stores)]
    found = {(v.buffer, v.index) for v in every if isinstance(v, Load)}
    own, along = {s.buffer for n in group.nests for s in n.stores}, {a.var for a in group.raxes}
    return sum(b not in own and not along.isdisjoint(i.free_symbols) for b, i in found)


def _moved_within(group: FusedGroup) -> int:
    """Of how many tensors the first loop reduces rows, if later ones load all of them at other
    places of theirs, too, as a rotary embedding after a norm does; else 0. A block that holds them
    saves no reading."""
    loops = [segment.nests for segment in group.segments if segment.kind is SegmentKind.LOOP]
    along, across = ({axis.var for axis in axes} for axes in (group.raxes, group.axes))
    first, *later = [
        {(v.buffer, v.index) for nest in nests for v in loads(nest.stores)} for nests in loops
    ]
    rows = {b for b, _ in _of_both(first, along, across)} - group.internal
    return len(rows) if rows <= {b for b, _ in set().union(*later) - first} else 0


def _states(program: Program, group: FusedGroup) -> tuple[frozenset[str], frozenset[str]]:
    """Buffers that this group fills and another one scatters into afterwards, and those of which
    it keeps what it does not scatter into."""
    own = {nest.name for nest in group.nests}
    first = {store.buffer: nest.name for nest in reversed(group.nests) for store in nest.stores}
    scattering = scattered(program, first)
    kept = {buffer for buffer, nest in first.items() if (nest, buffer) in scattering}
    later = {buffer for nest, buffer in scattering if nest not in own}
    return frozenset(later & (first.keys() - kept)), frozenset(kept)


def _category(group: FusedGroup, space: Space, target: Target, looped: bool | None) -> Category:
    """Which kind of kernel it is; ``looped`` is what was decided before."""
    if space.hint is None:
        return Category.POINTWISE
    if group.walked or space.product:
        return Category.MIXED if group.walked else Category.TEMPLATE
    along = [v for nest in group.nests for v in scans(nest.stores)]
    if any(isinstance(v, ir.Sort) for v in along):
        return Category.PERSISTENT
    persistent = _persistent(group, space, space.hint, target, group.rnumel)
    if persistent if looped is None else not looped and group.rnumel.is_Integer:
        return Category.PERSISTENT
    alone = not any(reductions(nest.stores) for nest in group.nests)
    loops = [segment.kind for segment in group.segments] == [SegmentKind.LOOP]
    if along and alone and loops and looped is None and splits(group.numel, group.rnumel):
        return Category.SPLIT_SCAN
    return Category.REDUCTION


def _workspace(category: Category, group: FusedGroup, stores: Sequence[Store]) -> Workspace | None:
    if category is not Category.SPLIT_SCAN:
        return None
    blocks = cdiv(int(group.rnumel), LEAST_SCAN_BLOCK)
    arrays = max((3, *(len(s.args) + 2 for s in scans(stores))))  # a flag, whether any, components
    return Workspace(int(group.numel), blocks, len(_combined(stores)), arrays)


def _combined(stores: Sequence[Store]) -> set[tuple[object, ...]]:
    """Scans and sorts, the components of one counted once."""
    return {(type(s), getattr(s, "kind", None), *map(id, s.args)) for s in scans(stores)}


def _segments(
    program: Program, group: FusedGroup, space: Space, one_scope: bool
) -> tuple[PlanSegment, ...]:
    """The group's segments over entry variables. A nest that is listed again (a later loop
    recomputes its values) writes to memory the first time only; different nests that write to
    one place all do, in their order."""
    dtypes = {b.name: b.dtype for b in program.buffers}
    builder = ir.Builder()
    inliner = Inliner(builder, dtypes, group.internal)
    written: set[int] = set()
    result: list[PlanSegment] = []
    for segment in group.segments:
        fresh: list[Store] = []
        in_loop: list[str] = []
        for nest in segment.nests:
            stores = inliner.rewrite(nest.stores, space.index)
            if segment.kind is SegmentKind.LOOP:
                if not reductions(nest.stores):
                    stores = tuple(replace(s, repeated=s.mode.is_atomic) for s in stores)
                in_loop.extend(s.buffer for s in stores if not contains_reduce(s.value))
            if id(nest) not in written:
                fresh.extend(stores)
                written.add(id(nest))
        if not one_scope:
            inliner.forget(in_loop)
        if fresh:
            stores = tuple(with_exact_copies(fresh, dtypes, builder))
            result.append(PlanSegment(segment.kind, stores))
    result = in_32_bits(result, space.tiles(), builder)
    if group.raxes:
        result = with_cheap_sums(result, space.tiles(), builder)
    elif len(space.tiles()) == 1:
        result = [replace(s, stores=space.compared(s.stores)) for s in result]
    return online_softmax(result, builder, sums_beside_maxima(group) if one_scope else None)


def _unknown_sizes(
    tiles: Sequence[Tile], buffers: Sequence[Buffer], stores: Sequence[Store]
) -> tuple[sympy.Symbol, ...]:
    """What a launch has to be told: every symbol that is neither a loop's nor a loaded index."""
    exprs = [t.numel for t in tiles]
    exprs += [e for b in buffers for e in (*b.shape, *b.stride, b.bound) if e is not None]
    exprs += index_exprs(stores)
    bound = {e.var for t in tiles for e in t.entries}
    found = [v.indirect for v in values(stores) if isinstance(v, Load | IndexValue)]
    bound.update(s for indirect in (*found, *(s.indirect for s in stores)) for s, _ in indirect)
    return tuple(sorted({s for e in exprs for s in e.free_symbols} - bound, key=str))


def _extents(
    group: FusedGroup, space: Space, buffers: Sequence[Buffer], stores: Sequence[Store], shared: int
) -> tuple[list[sympy.Expr], DType]:
    """How many points (of matrix products: results) and elements there are to count, how large the
    numbers become that positions are made into, and before they are divided, and where the last
    chunk of ``shared`` rows may end, which is behind them; int32 if that counts all of it."""
    points = group.numel if space.product else group.numel * group.rnumel
    counts = [points, *(b.extent for b in buffers)]
    known = simplifier_of(space.tiles())
    numbers = (v.index for v in values(stores) if isinstance(v, IndexValue))
    ends = [(is_small(number), *known.bounds(number)) for number in numbers]
    divided = {d.args[0] for e in index_exprs(stores) for d in e.atoms(FloorDiv, Mod)}
    places = (d for d in divided if d.free_symbols & known.ranges.keys())
    longer = (d for d in places if not any(ib.less(known.bounds(d - n)[1], 0) for n in counts))
    ends += [(True, *known.bounds(dividend)) for dividend in sorted(longer, key=str)]
    far = ((s, e) for s, low, high in ends for e in (low if low is None else -low, high))
    limit = sympy.Integer(INT32_LIMIT)
    sure = [limit if e is None else e for s, e in far if e is not None or not s]
    made = [*counts, *sure, *[group.rnumel + MAX_REDUCTION_BLOCK * GATHERED] * bool(shared)]
    fits = all(e.is_Integer and int(e) < INT32_LIMIT for e in made)  # unknown sizes may not
    return made, DType.I32 if fits else DType.I64


def _counted(
    sizes: Sequence[sympy.Symbol],
    extents: Sequence[sympy.Expr],
    stores: Sequence[Store],
    tiles: Sequence[Tile],
) -> tuple[sympy.Expr, ...]:
    """Extents, and ends of values that sizes are part of, of which a launch may find that 32 bits
    hold them; none if one is too large for certain, or sizes are more than added, multiplied and
    divided by a number."""
    indices = (v.index for v in values(stores) if isinstance(v, IndexValue))
    used = [index for index in indices if index.free_symbols & set(sizes)]
    # Of a difference, where the terms end that are added and subtracted.
    used = [e.xreplace({n: -n for n in e.atoms(sympy.Integer) if n < 0}) for e in used]
    used = [e.xreplace({i.var: i.length for tile in tiles for i in tile.entries}) for e in used]
    used = [e.replace(FloorDiv, lambda a, b: a if b.is_Integer else FloorDiv(a, b)) for e in used]
    plain = sympy.Integer, sympy.Add, sympy.Mul, sympy.Pow
    parts = {part for index in used for part in sympy.preorder_traversal(index)}
    told = {e for e in parts if not isinstance(e, plain)} <= {s for s in sizes if s.is_nonnegative}
    if not (sizes and told and all(e < INT32_LIMIT for e in extents if e.is_Integer)):
        return ()
    known = simplifier_of(tiles)
    ends = dict.fromkeys(most for most in counted(stores, known).values() if most is not None)
    far = [e for e in ends if not any(ib.less(e, o) for o in ends)]
    unknown = (e for e in (*extents, *far) if not e.is_Integer)
    return tuple(dict.fromkeys((*sizes, *used, *unknown)))


def _facts(
    category: Category,
    space: Space,
    segments: Sequence[PlanSegment],
    buffers: Sequence[Buffer],
    group: FusedGroup,
    touched: int,
    longest: int,
) -> Facts:
    stores = [s for segment in segments for s in segment.stores]
    narrow = [_ELEMENTS_PER_THREAD.get(b.dtype, 0) for b in buffers]
    mixed, tiles, every = category is Category.MIXED, space.tiles(), values(stores)
    apart = alternatives(every, tiles, tiles[:1]) if mixed else pieces(every, tiles)
    dtypes = {b.name: b.dtype for b in buffers}
    columns = category is Category.REDUCTION and space.hint is Hint.OUTER
    looped, read = category is Category.REDUCTION, {(v.buffer, v.index) for v in loads(stores)}
    family = Family.SCAN if looped and _combined(stores) else Family[category.name]
    skips = space.crossed or family in (Family.POINTWISE, Family.SCAN)
    kinds = [key[0] for key in components(stores)]
    softmaxes = kinds.count(ir.ReduceKind.SOFTMAX)
    made = Facts(
        family=Family.SPREAD if group.walked and int(group.rnumel) >= LONG else family,
        sizes=tuple((t.prefix, size_hint(t.numel)) for t in space.tiles()),
        hint=space.hint or Hint.DEFAULT,
        loads=len(read),
        stores=sum(s.buffer not in group.internal for s in stores),
        # a row's largest and the sum below it are two where no loop joins them
        reductions=len(kinds) + softmaxes * (not looped) + len(_combined(stores)),
        bytes=touched,
        min_elements_per_thread=max(narrow, default=0),
        unknown=tuple(t.prefix for t in space.tiles() if not t.numel.is_Integer),
        loops=sum(s.kind is SegmentKind.LOOP for s in segments) if looped else 0,
        again=_read_again(segments, dtypes, space.tiles()) if looped else 0,
        pieces=(category is Category.POINTWISE or columns or mixed) and any(True for _ in apart),
        strided=_strided(read, space.tiles()) if skips else 0,
        shared=space.shared,
        looked_up=any(v.indirect for v in loads(stores)),
        ahead=_ahead(read, dtypes, tiles) if mixed else 0,
        full=looped and space.stored,
        longest=longest,
        width=max((v.dtype.itemsize for r in reductions(stores) for v in r.args), default=0),
    )
    shared = shared_rows(segments, space.tiles(), made)
    if shared and shared.columns and not shared_pairs(group.in_place, segments):
        inner, *outer = sorted(space.tiles()[-1].entries, key=lambda e: e.divisor != 1)
        run = size_hint(inner.length) if outer and made.hint is Hint.INNER else 0
        extremes = {ir.ReduceKind.ARGMAX, ir.ReduceKind.ARGMIN}
        places = made.hint is Hint.OUTER and not extremes.isdisjoint(kinds)
        made = replace(made, chunked=shared.each, run=run, width=8 if places else made.width)
    return replace(made, fixed_blocks=made.pinned)


def _of_both(
    read: _Read, one: Set[sympy.Symbol], other: Set[sympy.Symbol]
) -> list[tuple[str, sympy.Expr]]:
    """The loads that differ along the one loops as well as along the other ones."""
    return [(b, i) for b, i in read if i.free_symbols & one and i.free_symbols & other]


def _ahead(read: _Read, dtypes: Mapping[str, DType], tiles: Sequence[Tile]) -> int:
    """Bytes that are loaded at each point of the rows that a program walks."""
    walked, row = ({e.var for t in tiles if t.prefix == p for e in t.entries} for p in ("x", "r0_"))
    return sum(dtypes[buffer].itemsize for buffer, _ in _of_both(read, walked, row))


def _strided(read: _Read, tiles: Sequence[Tile]) -> int:
    """Distinct loads whose neighbours in x are further apart than one element."""
    x = next(t for t in tiles if t.prefix == "x")
    inner = [entry.var for entry in x.entries if entry.divisor == 1]
    steps = (sympy.expand(index).coeff(var) for _, index in read for var in inner)
    return sum(bool(step.is_Integer) and abs(int(step)) > 1 for step in steps)


def _read_again(
    segments: Sequence[PlanSegment], dtypes: Mapping[str, DType], tiles: Sequence[Tile]
) -> int:
    """Bytes that belong to one result and are read by more than one of its loops."""
    parallel, (reduced,) = ([t for t in tiles if t.is_reduction is r] for r in (False, True))
    along = {entry.var for entry in reduced.entries}
    across = {entry.var for tile in parallel for entry in tile.entries}
    times = Counter(load for loaded in loaded_by_segment(segments) for load in loaded)
    again = _of_both([load for load, n in times.items() if n > 1], along, across)
    own = {buffer for buffer, _ in again}
    return sum(dtypes[name].itemsize for name in own) * size_hint(reduced.numel)


def kernel_name(category: str, origins: Sequence[str]) -> str:
    """``triton_<category>_fused_<ops>``: the distinct operators of ``origins`` (node names such as
    ``add_3``) in graph order, at most ``MOST_OPS`` of them and ``LONGEST`` characters."""
    ops = list(dict.fromkeys(_UNFIT.sub("_", _NUMBER.sub("", o, 1)).strip("_") for o in origins))
    named = [o for o in ops if o not in _SILENT] or ops
    names = accumulate(filter(None, named), "{}_{}".format)
    kept = [name for name in islice(names, MOST_OPS) if len(name) <= LONGEST]
    return f"triton_{category}_fused_{kept[-1] if kept else 'nothing'}"
