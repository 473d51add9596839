"""The kernel plan: everything decided before a character of Triton is written."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import sympy

from harness.dtypes import DType
from harness.heuristics.facts import Facts
from harness.ir.nodes import Store, Value
from harness.ir.program import Buffer
from harness.schedule.group import SegmentKind
from harness.tiling.aligned import AlignedRows
from harness.tiling.ranges import Split
from harness.tiling.workspace import SharedRows, Workspace

LANES = 4
"""Points of a group (``tiling.lanes``)."""


class Category(enum.Enum):
    """Kernel kind, as it appears in the name ``triton_<category>_fused_…``."""

    POINTWISE = "poi"
    REDUCTION = "red"
    PERSISTENT = "per"
    SPLIT_SCAN = "spl"
    MIXED = "mix"


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
    IN_OUT the input whose memory is reused and then the output that reuses it; none for the
    workspace, which is all zeros before and after every launch."""

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


@dataclass(frozen=True, eq=False, slots=True)
class PlanSegment:
    """Stores in order. All indices are over the tiles' entry variables; reduction entries
    occur only in loops (and inside their reductions)."""

    kind: SegmentKind
    stores: tuple[Store, ...]


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
    def mutated(self) -> tuple[str, ...]:
        """Names of the arguments the kernel writes."""
        return tuple(
            a.name for a in self.arguments if a.kind in (ArgumentKind.OUTPUT, ArgumentKind.IN_OUT)
        )
