"""What the scheduler produces: nests grouped into kernels."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy

from harness.graph.passes.split import FEW_COLUMNS, FEW_ROWS, OUTER_TILE, WORTH_ELEMENTS, shares
from harness.ir.affine import Size, size_hint
from harness.ir.nodes import Axis, Nest, points
from harness.ir.program import Program


class SegmentKind(enum.Enum):
    """How a run of nests goes over the kernel's points. FLAT: over the parallel points, after the
    loops before it are closed. LOOP: over the parallel and the reduced points, inside one reduction
    loop (reductions, and pointwise nests of the full size). ACROSS, the last: over all points too,
    reducing over the parallel points that a program walks (``FusedGroup.walked``)."""

    FLAT = "flat"
    LOOP = "loop"
    ACROSS = "across"


SPLIT_LENGTH = 16384
"""Elements of a row from which on a scan of few rows has several programs for each."""


def splits(rows: Size, length: Size) -> bool:
    """Whether several programs share every row of a scan."""
    rows, length = sympy.sympify(rows), sympy.sympify(length)
    known = bool(rows.is_Integer and length.is_Integer)
    return known and int(rows) <= FEW_ROWS and int(length) >= SPLIT_LENGTH


def shared(
    rows: Size, length: Size, across: bool, likely: Mapping[sympy.Symbol, int], softmax: bool
) -> bool:
    """Whether the row, or rows or columns, of unknown, probably great, length are so few that sums
    that programs share and a launch for what needs them beat a program each: of 48 rows of 200,000
    and of 60,000 two launches took 0.87 and 0.79 of the time of one (H200), of 1000 columns of
    20,000 0.65, of 400 rows of 20,000 1.05. ``likely``: sizes of a call, which say whether an
    unknown number of them is small, of rows of a known length, too."""
    rows, length = sympy.sympify(rows), sympy.sympify(length)
    if length.is_Integer and rows.is_Integer:
        return shares(int(rows), int(length), not across, softmax)
    if length.is_Integer and across:
        return False
    if not rows.is_Integer:
        rows, length = rows.subs(likely), length.subs(likely)
    if not rows.is_Integer:
        return False
    longest = max(map(size_hint, (length, length.subs(likely))))
    long = longest * (OUTER_TILE if across else 1) >= WORTH_ELEMENTS
    return bool(rows == 1 or (long and rows <= (FEW_COLUMNS if across else FEW_ROWS)))


@dataclass(frozen=True, eq=False, slots=True)
class Segment:
    """A run of nests at one level of the kernel."""

    kind: SegmentKind
    nests: tuple[Nest, ...]


@dataclass(frozen=True, eq=False, slots=True)
class FusedGroup:
    """One kernel to be: its iteration space and its nests in order.

    ``axes`` and ``raxes`` are the loops that all of its nests share (a flat nest runs over ``axes``
    alone); ``raxes`` is empty for a pointwise kernel, whose only segment is flat. ``internal`` are
    buffers that exist only inside the kernel: stored nowhere, their loads are the stored value.
    ``walked``, of a kernel of mixed order, are those of ``axes`` that a program walks, reducing
    over them for each of the others and of ``raxes``. ``in_place`` pairs (output buffer, input
    buffer whose memory it reuses). ``origins`` are graph node names in graph order. ``last_joined``
    are the buffers that one of the two kernels writes whose fusion was the last; empty for a single
    nest. ``read_later`` are those that it reads and a kernel launched after it reads again.
    """

    name: str
    axes: tuple[Axis, ...]
    raxes: tuple[Axis, ...]
    segments: tuple[Segment, ...] = field(repr=False)
    internal: frozenset[str] = field(repr=False)
    in_place: tuple[tuple[str, str], ...] = field(repr=False)
    origins: tuple[str, ...] = field(repr=False)
    last_joined: frozenset[str] = field(default=frozenset(), repr=False)
    walked: tuple[Axis, ...] = ()
    read_later: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def numel(self) -> sympy.Expr:
        """Points of the parallel loops."""
        return points(self.axes)

    @property
    def rnumel(self) -> sympy.Expr:
        """Points of the reduced loops (1 without)."""
        return points(self.raxes)

    @property
    def nests(self) -> tuple[Nest, ...]:
        """All nests in order."""
        return tuple(n for s in self.segments for n in s.nests)

    @property
    def reduced(self) -> tuple[str, ...]:
        """The buffers that the kernel reduces to."""
        return tuple(s.buffer for n in self.nests if n.is_reduction for s in n.stores)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why two nests were not fused: the condition that forbids it, a sentence with the
    numbers, and the nests' names, which whoever compared the two fills in."""

    condition: str
    reason: str
    first: str = ""
    second: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Schedule:
    """A program's kernels in launch order, and every rejection met on the way."""

    program: Program
    groups: tuple[FusedGroup, ...] = field(repr=False)
    rejections: tuple[Rejection, ...] = field(repr=False)
