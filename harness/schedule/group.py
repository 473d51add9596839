"""What the scheduler produces: nests grouped into kernels."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from harness.ir.nodes import Nest
from harness.ir.program import Program


@dataclass(frozen=True, eq=False, slots=True)
class Segment:
    """A run of nests at one level of the kernel.

    ``looped``: the nests run over numel × rnumel points, inside one reduction loop
    (reductions, and pointwise nests of the full size). Otherwise they run over
    numel points, after the loops before them are closed.
    """

    looped: bool
    nests: tuple[Nest, ...]


@dataclass(frozen=True, eq=False, slots=True)
class FusedGroup:
    """One kernel to be: its iteration space and its nests in order.

    ``numel`` × ``rnumel`` is the iteration space; ``rnumel`` is 1 for a pointwise
    kernel, whose only segment is not looped. ``internal`` are buffers that exist
    only inside the kernel: stored nowhere, their loads are the stored value.
    ``in_place`` pairs (output buffer, input buffer whose memory it takes over).
    ``origins`` are graph node names in graph order. ``lines`` are the source lines.
    """

    name: str
    numel: sympy.Expr
    rnumel: sympy.Expr
    segments: tuple[Segment, ...]
    internal: frozenset[str]
    in_place: tuple[tuple[str, str], ...]
    origins: tuple[str, ...]

    @property
    def nests(self) -> tuple[Nest, ...]:
        """All nests in order."""
        return tuple(n for s in self.segments for n in s.nests)

    @property
    def reduced(self) -> tuple[str, ...]:
        """The buffers that the kernel reduces to."""
        return tuple(s.buffer for n in self.nests if n.is_reduction for s in n.stores)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why two groups were not fused: the condition's name and a sentence."""

    first: str
    second: str
    condition: str
    reason: str


@dataclass(frozen=True, eq=False, slots=True)
class Schedule:
    """A program's kernels in launch order, and every refusal met on the way."""

    program: Program
    groups: tuple[FusedGroup, ...]
    refusals: tuple[Refusal, ...]
