"""When a value is worth a buffer of its own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from harness.dtypes import DType
from harness.graph.model import Node
from harness.ir import nodes as ir
from harness.ir.ops import LAUNCH, Cost, Op

# A nest that reads more, or computes more, than this gains nothing from growing further:
# the scheduler can still put neighbouring nests in one kernel, but not take one apart.
MOST_LOADS = 16
MOST_OPS = 64
FEW_ELEMENTS, FEW_OPS = 1 << 16, 4
MOST_TERMS = 8  # of a reduction that is written out
NEAR = 8
"""Ordinary operations, and bytes out of a cache, in the time of a byte of traffic (128 of each a
clock and multiprocessor, beside 15)."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What one element of a value takes to compute. ``short`` and ``long`` are the costs,
    in bytes of traffic, of its special functions and of its long computations. ``masked``: a part
    is computed in some places alone, or has a divisor, which what stands for others may make 0."""

    loads: tuple[ir.Load, ...]
    ops: int
    short: int
    long: int
    masked: bool


def profile(value: ir.Value) -> Profile:
    """Distinct loads, operations and their cost."""
    loads: list[ir.Load] = []
    ops, short, long, masked = 0, 0, 0, False
    for part in ir.walk([value]):
        match part:
            case ir.Load():
                loads.append(part)
            case ir.Compute(op=op, dtype=dtype):
                ops += op is not Op.CAST
                masked |= op is Op.DIVISOR
                short += op.cost if op.cost < Cost.LONG else 0
                # GPUs that have few units for float64 take long for whatever is computed in it
                long += Cost.LONG * (
                    op.cost is Cost.LONG or (dtype is DType.F64 and op is not Op.CAST)
                )
            case ir.Masked(body=body):
                masked |= not isinstance(body, ir.Load)
            case ir.Constant() | ir.IndexValue() | ir.Reduce() | ir.Scan() | ir.Sort():
                pass
    return Profile(tuple(loads), ops, short, long, masked)


def few(found: Profile, numel: int) -> bool:
    """Whether a kernel of its own costs more than computing so few elements again."""
    return numel <= FEW_ELEMENTS and found.ops <= FEW_OPS and not (found.short or found.long)


@dataclass(frozen=True, slots=True)
class Demand:
    """How a value is used: by how many users, in how many places these end (pointwise users that
    all lead to one value do in one kernel), and how often they evaluate an element in all (a user
    that broadcasts it evaluates each element many times). ``reread``: how often of these a user
    that reads several elements for one of its own does, ``copied`` one that stores it repeated,
    ``looked_up`` one that finds it by an index, as those of a bilinear interpolation do four times.
    ``wholes``: as many of all its elements are these evaluations, of users of slices too."""

    users: int
    ends: int
    evaluations: int
    reread: float = 0
    copied: float = 0
    looked_up: float = 0
    wholes: int = 1


@dataclass(frozen=True, slots=True)
class Uses:
    """``live``: nodes something needs, in order; ``kept``: results and what inputs become.
    ``points``: elements of values. ``demand``: how each is used, views not counted but their users.
    ``parts``: the live ``getitem`` nodes by (node, position). ``divided``: what a remainder,
    quotient or exponent is made of, which jumps where other uses must be the same."""

    live: tuple[Node, ...]
    kept: frozenset[str]
    points: dict[str, int]
    demand: dict[str, Demand]
    parts: dict[tuple[str, int], str]
    divided: frozenset[str]

    def inlines(self, node: Node, made: Collection[str]) -> bool:
        """Whether a reduction of few elements is none but an expression within its users: it and
        values of no more elements lead to where they are broadcast or put beside others, nothing
        else needs what is ``made`` for it, and computing it again takes less than a launch."""
        sizes, (source, *_) = self.points, node.refs()
        own, whole = sizes[node.name], sizes[source]
        within, again = {node.name}, -whole
        for one in (n for n in self.live if not within.isdisjoint(n.refs())):
            if (wide := sizes[one.name] > whole) or one.packet == "cat":
                read = within.intersection(one.refs())
                again += sum(sizes[one.name if wide else n] for n in read) * (whole // own)
            else:
                within.add(one.name)
        others = (n for n in self.live if n.name not in made and n.name not in within)
        alone = all(name not in made for n in others for name in n.refs())
        fewest = min(sizes[name] for name in within)
        return alone and within.isdisjoint(self.kept) and own == fewest and again <= LAUNCH


def worth_storing(
    found: Profile, demand: Demand, numel: int, read_bytes: int, own_bytes: int, given: bool
) -> bool:
    """Whether a value should be stored once instead of recomputed by every user.

    ``read_bytes`` is what computing all of it reads, ``own_bytes`` what it occupies. The
    choice is the one that costs less if no two users share a kernel (if they do, both are
    nearly free). Values made from nothing are recomputed unless that takes long. Special
    functions of a broadcast value count once per user: kernels keep it unbroadcast. To store what
    is long and ``given`` (by inputs alone, so no kernel before could do it) costs a launch, too.
    """
    users = demand.ends
    if numel <= 1 or not (found.loads or found.long):
        return False
    looked_up = demand.looked_up if found.ops > FEW_OPS else 0
    if found.ops and (times := demand.reread or demand.copied or looked_up):
        each = (found.short + found.long + found.ops / NEAR) * numel
        stored = each + (2 + times / NEAR) * own_bytes + LAUNCH
        if times * (each + read_bytes / NEAR) > stored:
            return True
        if demand.reread:
            return demand.users > 1 or found.masked
    if users <= 1 and (not found.long or demand.evaluations < 8):
        return False
    once = read_bytes + (found.short + found.long) * numel
    if found.long and given:
        once += LAUNCH
    again = users * (read_bytes + found.short * numel)
    again += demand.evaluations * found.long * numel
    return again > once + (1 + users) * own_bytes
