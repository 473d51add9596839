"""What the heuristics and the tuner are told about a kernel, and what they answer."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Family(enum.Enum):
    """Which rule makes a kernel's candidates."""

    POINTWISE = "pointwise"
    REDUCTION = "reduction"
    PERSISTENT = "persistent_reduction"
    FIXED = "fixed"


class Hint(enum.Enum):
    """Which way a reduction runs through memory; mixed: some tensors one way, some the other."""

    INNER = "inner"
    OUTER = "outer"
    OUTER_TINY = "outer_tiny"
    MIXED = "mixed"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Facts:
    """A kernel as the heuristics see it.

    ``sizes`` are pairs (tile prefix, numel) in the order z, y, x, r0_ (only those the
    kernel has). ``loads`` and ``reductions`` count distinct ones; ``bytes`` counts every
    element that a launch touches once. ``min_elements_per_thread`` comes from fp8 conversions.
    ``pinned`` are block sizes fixed by the kernel's text (``("XBLOCK", 1)``).
    """

    family: Family
    sizes: tuple[tuple[str, int], ...]
    hint: Hint = Hint.DEFAULT
    loads: int = 0
    stores: int = 0
    reductions: int = 0
    bytes: int = 0
    min_elements_per_thread: int = 0
    square_tile: bool = False
    pinned: tuple[tuple[str, int], ...] = ()

    def size(self, prefix: str) -> int:
        """Numel of the tile ``prefix``; 1 if the kernel has no such tile."""
        return dict(self.sizes).get(prefix, 1)


@dataclass(frozen=True, slots=True)
class Config:
    """A launch configuration: block sizes by name (``XBLOCK``, ``YBLOCK``, ``ZBLOCK``,
    ``R0_BLOCK``), warps and pipeline stages."""

    blocks: tuple[tuple[str, int], ...]
    num_warps: int
    num_stages: int = 1

    def block(self, name: str) -> int:
        """The block size called ``name``; ``KeyError`` if the kernel has none."""
        return dict(self.blocks)[name]
