"""A maximum and the sum of exponentials below it, found in one pass over memory.

A softmax needs the row's maximum before it can sum exponentials. In a looped kernel
that is two passes; the online form keeps a running maximum and rescales the running
sum, so that one pass yields both. Where the elements that a thread loads at once are neighbours
along the reduction, it rescales once for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import sympy

from harness.dtypes import DType
from harness.heuristics.facts import Hint
from harness.ir import nodes as ir
from harness.ir.ops import Op
from harness.schedule.group import FusedGroup, SegmentKind
from harness.tiling.aligned import VECTOR, AlignedRows
from harness.tiling.plan import PlanSegment

LONGEST_ROW_IN_REGISTERS = 1024
"""Up to here a kernel keeps a whole row in registers, and two passes over it cost less than one
that corrects its sum whenever the maximum grows."""


def sums_beside_maxima(group: FusedGroup) -> frozenset[str]:
    """Buffers for sums of exponentials below a maximum that the kernel finds too, if rows are so
    long that one pass for both is better, also where they are held in one block."""
    if group.rnumel.is_Integer and int(group.rnumel) <= LONGEST_ROW_IN_REGISTERS:
        return frozenset()
    stores = [store for nest in group.nests for store in nest.stores]
    tops = {s.buffer for s in stores if _reduces(s.value, ir.ReduceKind.MAX)}
    pairs = ((s.buffer, _distance(s.value)) for s in stores)
    top = {name: pair[1] for name, pair in pairs if pair is not None}
    return frozenset(n for n, v in top.items() if isinstance(v, ir.Load) and v.buffer in tops)


def passes(group: FusedGroup) -> int:
    """How often a loop would run over the reduced points: not once more for such sums alone."""
    joined = sums_beside_maxima(group)
    loops = [segment.nests for segment in group.segments if segment.kind is SegmentKind.LOOP]
    return sum(any(s.buffer not in joined for n in nests for s in n.stores) for nests in loops)


def side_by_side(
    reduces: Iterable[ir.Reduce],
    dtypes: Mapping[str, DType],
    hint: Hint,
    aligned: AlignedRows | None,
) -> int:
    """How many elements that ``reduces`` take a thread owns side by side: what 16 bytes of the
    widest tensor hold, fewer where rows are not ``aligned`` and do not start at a multiple of that,
    1 if they lie across memory, 0 if there is no reduction."""
    found = [r.args[0] for r in reduces]
    if not found:
        return 0
    if hint not in (Hint.INNER, Hint.DEFAULT):
        return 1
    loaded = [v for v in ir.walk(found) if isinstance(v, ir.Load)]
    widest = max((dtypes[v.buffer].itemsize for v in loaded), default=VECTOR)
    apart = [v.index for v in loaded if aligned is None or aligned.moved(v.index) is None]
    steps = [t.as_coeff_Mul()[0] for index in apart for t in _rows(sympy.expand(index))]
    return math.gcd(max(1, VECTOR // widest), *(int(n) if n.is_Integer else 1 for n in steps))


def _rows(index: sympy.Expr) -> list[sympy.Expr]:
    """The terms of an index that do not run along the reduction."""
    terms = sympy.Add.make_args(index)
    return [t for t in terms if not any(str(s).startswith("r") for s in t.free_symbols)]


def online_softmax(
    segments: Sequence[PlanSegment], builder: ir.Builder, sums: frozenset[str] | None
) -> tuple[PlanSegment, ...]:
    """``segments`` with every pair (max of v, sum of exp(v - max of v)) made the two components of
    one online softmax; of ``sums`` those that are stored there, if that is not None. What is
    divided by such a sum, which is 1 or more, is multiplied by its inverse: one instruction an
    element, not eight. ``builder`` is the one that made the values."""
    stores = [s for segment in segments for s in segment.stores]
    pairs = [p for v in ir.values(stores) if (p := _pair(v)) is not None]
    if not pairs:
        return tuple(segments)
    roles: dict[int, tuple[ir.Value, int]] = {}
    once = None if sums is None else {id(s.value) for s in stores if s.buffer in sums}
    for total, top in pairs:
        if once is None or id(total) in once:
            roles[id(total)] = (top.args[0], 1)
            roles[id(top)] = (top.args[0], 0)
    totals = [total for total, _ in pairs if total.dtype is DType.F32]

    def joined(value: ir.Value, made: ir.Made) -> ir.Value | None:
        if isinstance(value, ir.Compute) and value.op is Op.TRUE_DIV and value.args[1] in totals:
            above, below = (made[id(v)] for v in value.args)
            one = builder.constant(1.0, DType.F32)
            inverse = builder.compute(Op.TRUE_DIV, one, below, dtype=DType.F32)
            return builder.compute(Op.MUL, above, inverse, dtype=DType.F32)
        if id(value) not in roles:
            return None
        source, component = roles[id(value)]
        kind, dtype = ir.ReduceKind.SOFTMAX, value.dtype
        return builder.reduce(kind, made[id(source)], dtype=dtype, component=component)

    made: list[PlanSegment] = []
    for segment in segments:
        own = ir.rewrite_stores(segment.stores, builder, replace=joined)
        if made and all(_reduces(store.value, ir.ReduceKind.SOFTMAX) for store in own):
            made[-1] = PlanSegment(made[-1].kind, (*made[-1].stores, *own))
        else:
            made.append(PlanSegment(segment.kind, own))
    return tuple(made)


def _reduces(value: ir.Value, kind: ir.ReduceKind) -> bool:
    return isinstance(value, ir.Reduce) and value.kind is kind


def _pair(value: ir.Value) -> tuple[ir.Reduce, ir.Reduce] | None:
    """(sum, max) if ``value`` is a sum of exponentials of distances to a maximum."""
    source, top = _distance(value) or (None, None)
    if not (isinstance(value, ir.Reduce) and isinstance(top, ir.Reduce)):
        return None
    same = top.args[0] is source and top.dtype is value.dtype and value.dtype.is_float
    return (value, top) if same and top.kind is ir.ReduceKind.MAX else None


def _distance(value: ir.Value) -> tuple[ir.Value, ...] | None:
    """The operands of the difference, if ``value`` is a sum of exponentials of one."""
    if not (isinstance(value, ir.Reduce) and value.kind is ir.ReduceKind.SUM):
        return None
    power = value.args[0]
    if not (isinstance(power, ir.Compute) and power.op is Op.EXP):
        return None
    distance = power.args[0]
    if not (isinstance(distance, ir.Compute) and distance.op is Op.SUB):
        return None
    return distance.args
