"""What the heuristics and the tuner are told about a kernel, and what they answer."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace


class Family(enum.Enum):
    """Which rule makes a kernel's candidates."""

    POINTWISE = "pointwise"
    REDUCTION = "reduction"
    PERSISTENT = "persistent_reduction"
    COOPERATIVE = "cooperative_reduction"
    SCAN = "scan"
    SPLIT_SCAN = "split_scan"
    MIXED = "mixed_reduction"
    SPREAD = "spread_reduction"
    TEMPLATE = "template"


class Hint(enum.Enum):
    """Which way a reduction runs through memory; mixed: some tensors one way, some the other."""

    INNER = "inner"
    OUTER = "outer"
    MIXED = "mixed"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Config:
    """A launch configuration: block sizes by name (``XBLOCK``, ``YBLOCK``,
    ``R0_BLOCK``, ``RSPLIT``; whatever a hand-written kernel calls them), warps, pipeline
    stages, and what some targets take besides (``OPTIONS``), none of which is there by default."""

    blocks: tuple[tuple[str, int], ...]
    num_warps: int
    num_stages: int = 1
    options: tuple[tuple[str, int], ...] = ()

    @property
    def elements(self) -> int:
        """Elements of one program's block."""
        return math.prod(size for name, size in self.blocks if name.endswith("BLOCK"))

    def block(self, name: str) -> int:
        """The block size called ``name``; ``KeyError`` if the kernel has none."""
        return dict(self.blocks)[name]


OPTIONS = ("num_ctas", "maxnreg")
"""Names in a configuration that are options of Triton's compiler, not parameters of the kernel:
blocks of one cluster (Hopper on) and the registers that a thread may use. Warp specialisation
is a parameter of the kernel's text (``tl.range(..., warp_specialize=...)``), so a block."""


NO_X_PERSISTENT = 256
"""Contiguous persistent reductions of at least this size take one row per program."""

MANY_ROWS, NO_X_MANY = 4096, 1024
"""The same from ``MANY_ROWS`` rows on: a program more costs 0.6 ns on an H200, whatever it does
(524,288 rows of 256 elements of bfloat16: 321 us, 131 us with four of them a program)."""

CROWDED = 4
"""Loads beyond which a thread of a short row holds 32 elements of each: 128 spill (limit.md)."""

MOST_APART, LEAST_APART, WIDE_APART = 528, 64, 16
"""Strips (four for each of an H200's multiprocessors), rows of one and bytes that are loaded ahead
at a point, for which ``Facts.apart`` was faster: 3,137 strips took twice as long, 20 bytes 1.25."""

NO_X_LOOPED = 2048
"""Contiguous looped reductions of at least this size take one row per program."""


@dataclass(frozen=True, slots=True)
class Facts:
    """A kernel as the heuristics see it.

    ``sizes`` are pairs (tile prefix, numel) in the order y, x, r0_ (only those the kernel has);
    those of the tiles in ``unknown`` are estimates, known at a launch. ``loads`` and ``reductions``
    count distinct ones; ``bytes`` counts every element that a launch touches once.
    ``min_elements_per_thread`` comes from fp8 conversions. ``fixed_blocks`` are block sizes fixed
    by the kernel's text (``("XBLOCK", 1)``). ``loops`` counts the loops of a looped kernel,
    ``again`` are the bytes that one result's loops read more than once, ``side`` the elements that
    an online softmax folds at once (``tiling.softmax.side_by_side``), ``strided`` the loads of a
    pointwise kernel, a scan or sums of columns in two directions that skip elements from one point
    to the next, ``aligned`` whether loops get at whole vectors of rows that do not begin or end
    there, ``ahead`` the bytes that a kernel of mixed order loads at each point of the rows that it
    walks, ``pieces`` whether there is much that only programs with points of some piece compute
    (``tiling.passes.pieces``), ``full`` whether a loop stores at every reduced point, ``shared``
    whether the points of y share work (``tiling.choose.shared_boundary``), ``looked_up`` whether it
    loads at computed places, ``longest`` the longest row that a kernel for rows of unknown length
    holds in a block, ``chunked`` the numbers of each column that programs who share columns tell
    each other (0: they do not), ``width`` the bytes of the widest number that is reduced (2 of a
    matrix product of 16 bits, 8 of sums that 32 bits may not hold), ``run`` the elements that lie
    in one piece of rows in several, which programs may share.
    """

    family: Family
    sizes: tuple[tuple[str, int], ...]
    hint: Hint = Hint.DEFAULT
    loads: int = 0
    stores: int = 0
    reductions: int = 0
    bytes: int = 0
    min_elements_per_thread: int = 0
    fixed_blocks: tuple[tuple[str, int], ...] = ()
    unknown: tuple[str, ...] = ()
    loops: int = 0
    again: int = 0
    side: int = 0
    strided: int = 0
    aligned: bool = False
    ahead: int = 0
    pieces: bool = False
    full: bool = False
    shared: bool = False
    looked_up: bool = False
    longest: int = 0
    chunked: int = 0
    width: int = 0
    run: int = 0

    @property
    def pinned(self) -> tuple[tuple[str, int], ...]:
        """Blocks that the text of a kernel of these sizes fixes."""
        if self.family is Family.TEMPLATE:
            return (("ZBLOCK", 1),) * (self.sizes[0][0] == "z")
        if self.brief:
            return ()
        reduced = self.sizes[-1][0].startswith("r") and self.sizes[-1][0] not in self.unknown
        long = self.hint is Hint.INNER and self.longest >= NO_X_LOOPED  # short ones are held
        if self.family is Family.SPLIT_SCAN or not reduced:
            return (("XBLOCK", 1),) * (reduced or (long and self.family is Family.REDUCTION))
        size = self.sizes[-1][1]
        looped = self.family in (Family.REDUCTION, Family.SCAN)
        pins = [("YBLOCK", 1)] * (self.sizes[0][0] == "y" and not (looped and self.strided))
        many = bool(self.unknown) or self.parallel >= MANY_ROWS
        if self.family is Family.SPREAD:
            return (("YBLOCK", 1), ("XBLOCK", 1))
        alone = NO_X_LOOPED if looped else NO_X_MANY if many else NO_X_PERSISTENT
        if self.family is not Family.MIXED and self.hint is Hint.INNER and size >= alone:
            pins.append(("XBLOCK", 1))
        return tuple(pins if looped else [*pins, ("R0_BLOCK", 1 << (size - 1).bit_length())])

    def at(self, points: Mapping[str, int]) -> Facts:
        """What holds where the tiles have ``points``, by prefix. Bytes are scaled. What the text
        of the kernel fixes stays so: for the same sizes, known earlier, it may be another one."""
        sizes, run = tuple((p, points[p]) for p, _ in self.sizes), points.get("run", self.run)
        made = replace(self, sizes=sizes, unknown=(), run=run)
        own, old = made.parallel * made.reduced, self.parallel * self.reduced
        again = self.again * made.reduced // self.reduced
        aligned = self.aligned and made.reduced % 8 != 0
        scaled = replace(made, bytes=self.bytes * own // old, again=again, aligned=aligned)
        fixed = dict((*(self.fixed_blocks * (not scaled.brief)), *scaled.pinned))
        return replace(scaled, fixed_blocks=tuple(fixed.items()))

    @property
    def brief(self) -> bool:
        """Whether pieces of rows are so short that a program has several results at once: memory
        is read by 32 bytes (up to 16 elements on an H200, docs/measurements/dynamic-sizes.md)."""
        return self.chunked > 0 and 0 < self.run <= 16

    @property
    def alone(self) -> bool:
        """Whether programs share long rows in one piece: of unknown number, or no whole vectors."""
        rows = self.chunked > 0 and (self.hint, self.run) == (Hint.INNER, 0)
        return rows and ("x" in self.unknown or (not self.unknown and self.reduced % 8 > 0))

    @property
    def varies(self) -> bool:
        """Whether it is a variance of columns that programs may share."""
        return (self.hint, self.chunked, self.reductions) == (Hint.OUTER, 2, 1) and not self.wide

    @property
    def wide(self) -> bool:
        """Whether what is reduced, or a place in it, takes 64 bits."""
        return self.width > 4

    @property
    def strips(self) -> bool:
        """Whether programs walk strips of rows, with loads of the next ones under way."""
        stored = self.full and self.hint is Hint.OUTER and self.loops == 1 and not self.unknown
        looped = self.family is Family.REDUCTION and (stored or self.sizes[0][0] == "y")
        return looped or self.family in (Family.MIXED, Family.SPREAD)

    @property
    def apart(self) -> bool:
        """Whether a program of mixed order adds columns up in each row of its blocks, and these
        rows when it is done, so that its warps need not tell each other after every block: short
        rows of 16 bits take 0.4 to 0.98 of the time on an H200 (docs/measurements/corpus.md)."""
        strips, rows, row = self.size("y"), self.size("x"), self.reduced
        several = strips <= MOST_APART and rows >= LEAST_APART and self.loads > CROWDED
        short = 32 < row <= 256 and row % 8 == 0 and 0 < self.ahead <= WIDE_APART
        return self.family is Family.MIXED and not self.unknown and several and short

    def size(self, prefix: str) -> int:
        """Numel of the tile ``prefix``; 1 if the kernel has no such tile."""
        return dict(self.sizes).get(prefix, 1)

    @property
    def parallel(self) -> int:
        """Points that are not reduced over, all tiles together."""
        return math.prod(max(1, n) for prefix, n in self.sizes if not prefix.startswith("r"))

    @property
    def reduced(self) -> int:
        """Points that every result reduces, all reduced tiles together."""
        return math.prod(max(1, n) for prefix, n in self.sizes if prefix.startswith("r"))
