"""The kernel plan: everything decided before a character of Triton is written."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field

import sympy

from harness.dtypes import DType
from harness.heuristics.facts import Facts
from harness.heuristics.limits import cdiv
from harness.ir.nodes import Store, Value
from harness.ir.program import Buffer
from harness.ir.simplify import Simplifier
from harness.schedule.group import SegmentKind
from harness.tiling.aligned import AlignedRows
from harness.tiling.ranges import Split

LANES = 4
"""Points of a group (``tiling.lanes``)."""
WINDOW = 256
"""Blocks of a scanned row that wait for each other directly: a lane for each of them."""
_HEAD = 2
_MOST_PROGRAMS = 16 * 160
"""Programs that share rows at most: 16 on every multiprocessor of today's devices."""
_MOST_RESULTS = 1 << 16
"""Results of chunks at most where programs share columns: columns, times chunks."""


class Category(enum.Enum):
    """Kernel kind, as it appears in the name ``triton_<category>_fused_…``."""

    POINTWISE = "poi"
    REDUCTION = "red"
    PERSISTENT = "per"
    SPLIT_SCAN = "spl"
    MIXED = "mix"
    TEMPLATE = "tem"


class ArgumentKind(enum.Enum):
    """What a kernel parameter is."""

    INPUT = "in_ptr"
    OUTPUT = "out_ptr"
    IN_OUT = "in_out_ptr"
    WORKSPACE = "workspace"
    SIZE = "size"


@dataclass(frozen=True, slots=True)
class Argument:
    """A kernel parameter. ``buffers`` names the buffers it stands for: one, or for
    IN_OUT the input whose memory is reused and then the output that reuses it; the symbol of a
    size; none for the workspace, which is all zeros before and after every launch."""

    name: str
    kind: ArgumentKind
    dtype: DType
    buffers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """One tiled dimension: prefix (``x``, ``y``, ``r0_``), numel, derived indices."""

    prefix: str
    numel: sympy.Expr
    entries: tuple[Split, ...]

    @property
    def is_reduction(self) -> bool:
        """Whether this tile is reduced over."""
        return self.prefix.startswith("r")


def simplifier_of(tiles: Iterable[Tile]) -> Simplifier:
    """A simplifier for the variables that ``tiles`` are read by."""
    return Simplifier({entry.var: entry.length for tile in tiles for entry in tile.entries})


@dataclass(frozen=True, eq=False, slots=True)
class PlanSegment:
    """Stores in order. All indices are over the tiles' entry variables; reduction entries
    occur only in loops (and inside their reductions)."""

    kind: SegmentKind
    stores: tuple[Store, ...]


@dataclass(frozen=True, slots=True)
class Workspace:
    """The workspace of ``scans`` scans of ``rows`` rows of at most ``blocks`` blocks, in words of
    64 bits. A row has a counter, the number of programs that have finished, and for each scan
    ``arrays`` (a flag and components) for its blocks, as many for groups of ``WINDOW`` of them."""

    rows: int
    blocks: int
    scans: int
    arrays: int = 3

    @property
    def groups(self) -> int:
        """Groups of a row."""
        return cdiv(self.blocks, WINDOW)

    def flags(self, scan: int) -> int:
        """Where the block flags of a scan start in its row; the components follow."""
        return _HEAD + scan * self.arrays * (self.blocks + self.groups)

    def group_flags(self, scan: int) -> int:
        """Where its group flags start."""
        return self.flags(scan) + self.arrays * self.blocks

    @property
    def row(self) -> int:
        """Words of a row."""
        return self.flags(self.scans)

    @property
    def words(self) -> int:
        """Words of all rows."""
        return self.rows * self.row


@dataclass(frozen=True, slots=True)
class SharedRows:
    """The workspace of programs that share rows: each has ``each`` words, and the programs of a row
    together one more, for how many of them are done. Of ``columns``, each program has a chunk of
    the rows, and ``each`` words for every column of its block."""

    each: int
    columns: bool = False

    @property
    def words(self) -> int:
        """Words for as many programs as there may be."""
        return (_MOST_RESULTS if self.columns else _MOST_PROGRAMS) * (self.each + 1)


@dataclass(frozen=True, eq=False, slots=True)
class KernelPlan:
    """A kernel, decided. ``name`` lacks the running number. ``buffers`` holds every buffer named by
    the stores, internal ones included; ``internal`` are never stored. ``sizes`` are the unknown
    size symbols, arguments in this order after the pointers. ``bytes_moved`` counts each distinct
    element read or written once (unknown sizes taken to be ``UNKNOWN_SIZE``). ``initial`` are
    written buffers that hold the state before a scatter which another kernel does, ``kept`` those
    that this one scatters into over what they hold. ``workspace``: several programs share a row, or
    may, and tell each other through it. ``aligned``: how its loops get at whole vectors. ``runs``:
    its points go in groups (``tiling.lanes``), which have a store for each of theirs, in a row;
    each is what is loaded as one vector: neighbours, from a multiple of their number on.
    ``extents``: unknown sizes and what positions count to, where a launch says whether 32 bits hold
    them all. ``held``: the plan for rows that fit one block, where only a launch tells how long
    they are; this one is for longer ones. ``cached``: what a later kernel finds in the L2 cache."""

    name: str
    category: Category
    arguments: tuple[Argument, ...] = field(repr=False)
    tiles: tuple[Tile, ...] = field(repr=False)
    segments: tuple[PlanSegment, ...] = field(repr=False)
    buffers: tuple[Buffer, ...] = field(repr=False)
    internal: frozenset[str] = field(repr=False)
    sizes: tuple[sympy.Symbol, ...]
    index_dtype: DType
    facts: Facts = field(repr=False)
    bytes_moved: int
    origins: tuple[str, ...] = field(repr=False)
    initial: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    cached: frozenset[str] = frozenset()
    workspace: Workspace | SharedRows | None = None
    aligned: AlignedRows | None = None
    runs: tuple[tuple[Value, ...], ...] = ()
    extents: tuple[sympy.Expr, ...] = ()
    held: KernelPlan | None = None

    @property
    def persistent(self) -> bool:
        """Whether what is reduced along the rows fits one block."""
        return self.category in (Category.PERSISTENT, Category.MIXED)

    @property
    def stores(self) -> list[Store]:
        """What all segments write, in order."""
        return [store for segment in self.segments for store in segment.stores]

    @property
    def written(self) -> list[int]:
        """Positions of the arguments that the kernel writes."""
        kinds = ArgumentKind.OUTPUT, ArgumentKind.IN_OUT
        return [n for n, argument in enumerate(self.arguments) if argument.kind in kinds]
