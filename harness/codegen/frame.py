"""The frame of a kernel: its tensors' dimensions, block sizes, masks and index lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy

from harness.codegen.values import HIGHEST
from harness.dtypes import DType
from harness.heuristics.facts import Hint
from harness.heuristics.limits import (
    MAX_GRID_YZ,
    block_name,
    largest_block,
    largest_side,
    next_power_of_two,
    reach,
)
from harness.ir.affine import divide, same
from harness.ir.index import FloorDiv, Mod
from harness.ir.index_text import IndexPrinter, size_text
from harness.ir.simplify import Simplifier
from harness.runtime.grid import Grid, cooperative, in_chunks, split_scan, tiled
from harness.tiling.plan import Category, KernelPlan, SharedRows, Tile, Workspace, simplifier_of
from harness.tiling.products import TWIN
from harness.tiling.ranges import Split

PROGRAM = "tl.program_id(0)"
"""A program's number in x, where the kernel is not part of another."""


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """What every line of one kernel refers to. ``vector`` are the tiles that are dimensions of the
    kernel's tensors, in order; a tile whose block is pinned to 1 is a scalar instead. Of a matrix
    product no tensor varies over all: ``dims`` are the tiles of each dimension, one at a time.
    ``masked`` are the tiles whose last block may be partly outside. ``program`` is the text of the
    program's number in x."""

    plan: KernelPlan
    vector: tuple[str, ...]
    dims: tuple[tuple[str, ...], ...]
    masked: frozenset[str]
    printer: IndexPrinter
    program: str = PROGRAM

    def axis(self, prefix: str) -> int:
        """The dimension of tile ``prefix``."""
        return next(n for n, dim in enumerate(self.dims) if prefix in dim)

    def shape(self, tiles: Iterable[str]) -> str:
        """The shape of a value that varies over ``tiles``, as text; ``[]`` for a scalar."""
        used = frozenset(tiles)
        if not used & frozenset(self.vector):
            return "[]"
        own = (next((block_name(p) for p in dim if p in used), "1") for dim in self.dims)
        return f"[{', '.join(own)}]"

    def same_shape(self, tiles: Iterable[str], others: Iterable[str]) -> bool:
        """Whether values over ``tiles`` and over ``others`` have the same shape."""
        dims = frozenset(self.vector)
        return frozenset(tiles) & dims == frozenset(others) & dims

    def spread(self, prefix: str) -> str:
        """The subscript that puts a one-dimensional range along tile ``prefix``."""
        if len(self.vector) == 1:
            return ""
        return f"[{', '.join(':' if prefix in dim else 'None' for dim in self.dims)}]"

    def masks(self, tiles: Iterable[str]) -> list[str]:
        """Names of the tile masks a value over ``tiles`` needs."""
        used = frozenset(tiles)
        return [f"{p}mask" for p in self.vector if p in used and p in self.masked]

    def bounds(self, prefix: str) -> tuple[str, str]:
        """Where a loop along tile ``prefix`` begins and stops: at a program's part of a row that
        several share, or after all that vectors may hold before a row."""
        if isinstance(self.plan.workspace, SharedRows):
            return f"{prefix}first", f"{prefix}{'until' if self.plan.aligned else 'stop'}"
        moved = self.plan.aligned is not None and not self.plan.aligned.begins
        return "0", f"{prefix}stop" if moved else f"{prefix}numel"

    @property
    def index_type(self) -> str:
        """Triton's name of the index type; ``INDEX`` where a launch says which it is."""
        return "INDEX" if self.plan.extents else f"tl.{self.plan.index_dtype.triton_name}"

    @property
    def far(self) -> str:
        """What is behind every position along the reduction, in the index type."""
        return "r0_numel" if self.plan.extents else HIGHEST[self.plan.index_dtype is DType.I64]


def build_frame(plan: KernelPlan) -> Frame:
    """The frame of ``plan``."""
    pinned = dict(plan.facts.fixed_blocks)
    every = plan.facts.chunked and not plan.facts.alone
    scalar = {t for t in plan.tiles if not t.is_reduction and pinned.get(block_name(t.prefix)) == 1}
    vector = tuple(t.prefix for t in plan.tiles if every or t not in scalar)
    masked = frozenset(t.prefix for t in plan.tiles if t.prefix in vector and _needs_mask(t, plan))
    names = _size_names(plan) | {part: f"kq{n}" for n, part in enumerate(quotients(plan))}
    names |= {e.var: f"{t.prefix}index" for t in plan.tiles for e in t.entries if _is_root(t, e)}
    product = plan.category is Category.TEMPLATE
    dims = (("y", TWIN), ("x", "r0_")) if product else tuple((p,) for p in vector)
    printer = IndexPrinter(simplifier_of(plan.tiles), names, triton=True)
    return Frame(plan, vector, dims, masked, printer)


def _is_root(tile: Tile, entry: Split) -> bool:
    """Whether an index is the tile's own: nothing divides it, nothing wraps it around."""
    return entry.divisor == 1 and sympy.expand(entry.length - tile.numel) == 0


def _needs_mask(tile: Tile, plan: KernelPlan) -> bool:
    """A block is always full when it divides the numel; blocks are powers of two no larger
    than the numel rounded up and the largest block."""
    idle = plan.facts.chunked and not plan.facts.alone  # not every program stores
    if idle or not tile.numel.is_Integer or (tile.is_reduction and plan.aligned is not None):
        return True
    numel = int(tile.numel)
    if plan.category is Category.TEMPLATE:
        return numel % largest_side(numel) != 0
    if tile.is_reduction and plan.persistent:
        largest = next_power_of_two(numel)
    else:
        largest = largest_block(tile.prefix, numel, reach(plan.facts))
    return numel % largest != 0


def numbered_in_x(plan: KernelPlan) -> bool:
    """Whether programs are numbered in x alone, those of a row of blocks side by side: of matrix
    products, and where tiles may have more blocks than a launch grid takes in y or z."""
    above = (t.numel for t in plan.tiles if t.prefix in ("y", "z"))
    many = any(not (numel.is_Integer and numel <= MAX_GRID_YZ) for numel in above)
    return many or plan.category is Category.TEMPLATE


def in_whole_blocks(plan: KernelPlan) -> bool:
    """Whether programs that share all of a tensor of unknown size have a loop without a mask, in
    whole vectors, before what is left of a block: 6 million odd elements took 1.7 of the time."""
    facts, one = plan.facts, plan.tiles[0].numel == 1 and bool(plan.extents)
    one &= isinstance(plan.workspace, SharedRows) and plan.aligned is None
    return one and facts.chunked > 0 and facts.hint is not Hint.OUTER and not facts.run


def _size_names(plan: KernelPlan) -> dict[sympy.Expr, str]:
    """What a kernel calls its unknown sizes."""
    return {size: f"ks{n}" for n, size in enumerate(plan.sizes)}


def index_lines(plan: KernelPlan) -> list[str]:
    """What a launch says of positions, and unknown sizes in their type."""
    names = _size_names(plan)
    sizes = [f"{name} = tl.full([], {name}, INDEX)" for name in names.values()]
    whole = IndexPrinter(Simplifier({}), names, triton=True)
    for n, part in enumerate(quotients(plan)):
        sizes.append(f"kq{n} = tl.multiple_of({whole.text(part)}, PARTS)")
    return ["INDEX: tl.constexpr = tl.int64 if WIDE else tl.int32", *sizes] * bool(plan.extents)


def quotients(plan: KernelPlan) -> list[sympy.Expr]:
    """Parts of unknown sizes. What divides them a launch has to say: Triton asks of arguments."""
    every = {part for e in plan.extents for part in e.atoms(FloorDiv)}
    plain = (q for q in every if not q.args[0].has(FloorDiv, Mod) and q.args[1].is_Integer)
    return sorted(plain, key=str)


def size_lines(frame: Frame) -> list[str]:
    """The number of points of every tile, as constants where they are known."""
    return [f"{t.prefix}numel = {frame.printer.text(t.numel)}" for t in frame.plan.tiles]


def parallel_lines(frame: Frame, used: frozenset[sympy.Symbol]) -> list[str]:
    """Index lines of the parallel tiles that a program has a block of; entries not in ``used`` are
    left out."""
    lines: list[str] = []
    walked = "x" if frame.plan.category is Category.MIXED else ""
    for tile in (t for t in frame.plan.tiles if not t.is_reduction and t.prefix != walked):
        lines.extend(_root_lines(frame, tile, _program(frame, tile)))
        lines.extend(entry_lines(frame, tile, used))
    return lines


def _program(frame: Frame, tile: Tile) -> str:
    """The text of this program's block number along ``tile``."""
    plan = frame.plan
    tiles = [t for t in reversed(plan.tiles) if not t.is_reduction]
    place = tiles.index(tile)
    number = f"tl.program_id({place})" if place else frame.program
    if plan.category is Category.MIXED:  # a program for every strip
        number = frame.program if plan.workspace is None else f"({frame.program} // RSPLIT)"
    elif numbered_in_x(plan) or (frame.program != PROGRAM and len(tiles) > 1):
        named = ((t.prefix, block_name(t.prefix)) for t in tiles)
        blocks = [f"(({prefix}numel + {block} - 1) // {block})" for prefix, block in named]
        number = " // ".join([frame.program, *blocks[:place]])
        number = f"({number})" if tile is tiles[-1] else f"({number} % {blocks[place]})"
    elif isinstance(plan.workspace, Workspace):
        number = "tl.program_id(1)"
    return f"{number}.to({frame.index_type})" if plan.index_dtype is DType.I64 else number


def _root_lines(frame: Frame, tile: Tile, program: str) -> list[str]:
    prefix = tile.prefix
    if prefix not in frame.vector:
        return [f"{prefix}index = {program}"]
    block = block_name(prefix)
    lines = [
        f"{prefix}offset = {program} * {block}",
        f"{prefix}index = {prefix}offset + tl.arange(0, {block}){frame.spread(prefix)}",
    ]
    return lines + [_mask_line(frame, tile)] * (prefix in frame.masked)


def _mask_line(frame: Frame, tile: Tile) -> str:
    """Which points of a block exist: all, where a launch finds that blocks divide the tile."""
    prefix = tile.prefix
    inside = f"{prefix}index < {prefix}numel"
    if frame.plan.facts.longest and tile.is_reduction and frame.plan.persistent:
        # What all rows of such lengths hold, and what none does, costs nothing.
        inside = f"({prefix}index < LEAST) | (({prefix}index < HELD) & ({inside}))"
    if not tile.numel.is_Integer:
        whole = f"tl.full({frame.shape([prefix])}, True, tl.int1)"
        before = " or PART == 0" * (tile.is_reduction and in_whole_blocks(frame.plan))
        inside = f"{whole} if {prefix.upper()}EVEN{before} else {inside}"
    return f"{prefix}mask = {inside}"


def reduction_base(frame: Frame, tile: Tile) -> list[str]:
    """The range of one reduction block, from 0; where rows are ``aligned``, the multiple of a
    vector before this one, what lies between, where the row stops and its whole vectors."""
    lines = [f"{tile.prefix}base = {_block(frame, tile)}"]
    aligned = frame.plan.aligned
    if aligned is None or not tile.is_reduction:
        return lines
    start, vector = frame.printer.operand(aligned.start), aligned.vector
    if aligned.begins:
        lines += [f"r0_row = {start}", "r0_shift = 0"]
    else:
        # Of a piece behind others, a row's start may be before its tensor, and // rounds towards 0;
        # what & makes divisible Triton does not see.
        known = frame.printer.simplifier.is_nonnegative(aligned.start)
        row = start if known else f"({start} & -{vector})"
        lines += [f"r0_row = {row} // {vector} * {vector}", f"r0_shift = {start} - r0_row"]
    begin = f"r0_begin = (r0_shift + {vector - 1}) // {vector} * {vector}"
    lines.append(f"VECTOR: tl.constexpr = {vector} if ALIGNED else 1")
    lines += ["r0_stop = r0_shift + r0_numel", "r0_last = (r0_stop - 1) // R0_BLOCK * R0_BLOCK"]
    return [*lines, begin, f"r0_end = r0_stop // {vector} * {vector}"]


def _block(frame: Frame, tile: Tile) -> str:
    text = f"tl.arange(0, {block_name(tile.prefix)}){frame.spread(tile.prefix)}"
    return f"{text}.to({frame.index_type})" if frame.plan.index_dtype is DType.I64 else text


def reduction_lines(frame: Frame, tile: Tile, used: frozenset[sympy.Symbol]) -> list[str]:
    """Index lines of the reduction tile: once when persistent, in every loop otherwise, as of rows
    that a program walks."""
    prefix = tile.prefix
    if frame.plan.persistent and tile.is_reduction:
        first = "r0_first + " if frame.plan.workspace is not None else ""
        lines = [f"{prefix}index = {first}{_block(frame, tile)}"]
    elif frame.plan.aligned is not None and tile.is_reduction:
        # Compiled, the hint has a vector's first element say whether all of it is loaded. In the
        # interpreter each element says so itself: nothing behind a tensor's last one is read.
        return [
            "r0_column = r0_offset + r0_base",
            "r0_index = r0_column - r0_shift",
            "r0_mask = True if PART == 1 else (r0_column >= r0_shift) & (r0_column < r0_stop)",
            "r0_inside = True if PART == 1 else tl.max_constancy(r0_column < r0_stop, VECTOR)",
        ]
    else:
        offset = "r0_offset" if tile.is_reduction else f"{prefix}offset"
        lines = [f"{prefix}index = {offset} + {prefix}base"]
    if prefix in frame.masked:
        lines.append(_mask_line(frame, tile))
    return lines + entry_lines(frame, tile, used)


def entry_lines(frame: Frame, tile: Tile, used: frozenset[sympy.Symbol]) -> list[str]:
    """``x0 = xindex % 64`` and the like for the entries in ``used``."""
    lines: list[str] = []
    found = wrapped(frame.plan) if tile is frame.plan.tiles[-1] else {}
    rows = {length: f"{tile.prefix}row{number}" for number, length in enumerate(found.values())}
    for entry, length in found.items():
        where = f"{tile.prefix}offset, {tile.prefix}index, {frame.printer.text(length)}"
        lines.append(f"{rows[length]}, {entry} = _placed({where}, WRAP)")
    for entry in tile.entries:
        if entry.var not in used or _is_root(tile, entry) or entry.var in found:
            continue
        end = sympy.expand(entry.divisor * entry.length)
        above = ((divide(entry.divisor, length), row) for length, row in rows.items())
        steps, row = min(((n, r) for n, r in above if isinstance(n, int)), default=(None, ""))
        text = row or f"{tile.prefix}index"
        if (steps or entry.divisor) != 1:
            text = f"{text} // {steps or frame.printer.operand(entry.divisor)}"
        begins = not same(end, tile.numel)
        if begins and not entry.length.is_Integer and row:
            higher = rows.setdefault(end, f"{tile.prefix}above{len(rows)}")
            first = f"{tile.prefix}offset // {frame.printer.operand(entry.divisor)}, {text}"
            length = frame.printer.text(entry.length)
            lines.append(f"{higher}, {entry.var} = _placed({first}, {length}, WRAP, True)")
            continue
        if begins:
            text = f"({text})" if "//" in text else text
            text = f"{text} % {frame.printer.operand(entry.length)}"
        lines.append(f"{entry.var} = {text}")
    return lines


def wrapped(plan: KernelPlan) -> dict[sympy.Symbol, sympy.Expr]:
    """Entries of a pointwise kernel's x, or a loop's r, of which only a launch knows the length,
    after which they begin anew: where that is odd, one division a block finds them all."""
    last = plan.tiles[-1]
    looped = plan.category is Category.REDUCTION and plan.aligned is None
    alone = plan.category is Category.POINTWISE and ("XBLOCK", 1) not in plan.facts.fixed_blocks
    inner = [e for e in last.entries if (looped or alone) and not _is_root(last, e)]
    return {e.var: e.length for e in inner if e.divisor == 1 and not e.length.is_Integer}


def launch_grid(plan: KernelPlan) -> Grid:
    """How many programs the kernel of ``plan`` needs."""
    if isinstance(plan.workspace, Workspace):
        (scanned,) = [t for t in plan.tiles if t.is_reduction]
        return split_scan(size_text(scanned.numel), block_name(scanned.prefix), plan.workspace.rows)
    if plan.category is Category.MIXED:
        strips = plan.tiles[0]
        if plan.workspace is not None:
            return Grid(("RSPLIT",), f"({strips.numel} * RSPLIT, 1, 1)")
        return tiled((size_text(strips.numel), block_name(strips.prefix)))
    tiles = [t for t in reversed(plan.tiles) if not t.is_reduction]
    if isinstance(plan.workspace, SharedRows):
        rows = size_text(tiles[0].numel)
        return in_chunks(rows, "XBLOCK") if plan.workspace.columns else cooperative(rows)
    sides = ((size_text(t.numel), block_name(t.prefix)) for t in tiles)
    return tiled(*sides, in_x=numbered_in_x(plan))


def tile_of(tiles: Sequence[Tile], var: sympy.Symbol) -> str | None:
    """The prefix of the tile that has ``var`` as an entry."""
    return next((t.prefix for t in tiles if any(e.var == var for e in t.entries)), None)
