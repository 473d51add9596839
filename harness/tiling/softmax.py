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
    top = {name: _finite(pair[1])[0] for name, pair in pairs if pair is not None}
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
    if not (found := [r.args[0] for r in reduces]):
        return 0
    if hint not in (Hint.INNER, Hint.DEFAULT):
        return 1
    loaded = [v for v in ir.walk(found) if isinstance(v, ir.Load)]
    widest = max((dtypes[v.buffer].itemsize for v in loaded), default=VECTOR)
    apart = [v.index for v in loaded if aligned is None or aligned.moved(v.index) is None]
    terms = (term for index in apart for term in sympy.Add.make_args(sympy.expand(index)))
    rows = (t for t in terms if not any(str(s).startswith("r") for s in t.free_symbols))
    steps = [term.as_coeff_Mul()[0] for term in rows]
    return math.gcd(max(1, VECTOR // widest), *(int(n) if n.is_Integer else 1 for n in steps))


def online_softmax(
    segments: Sequence[PlanSegment], builder: ir.Builder, sums: frozenset[str] | None
) -> tuple[PlanSegment, ...]:
    """``segments`` with every pair (max of v, sum of exp(v - max of v)) made the two components of
    one online softmax; of ``sums`` those that are stored there, if that is not None. What is
    divided by such a sum, which is 1 or more, is multiplied by its inverse: one instruction an
    element, not eight. In a block e to what lies below the logarithm of such a sum is a quotient:
    the sum has taken the exponential. ``builder`` is the one that made the values."""
    stores = [s for segment in segments for s in segment.stores]
    pairs = [p for v in ir.values(stores) if (p := _pair(v)) is not None]
    if not pairs:
        return tuple(segments)
    once = None if sums is None else {id(s.value) for s in stores if s.buffer in sums}
    found = [pair for pair in pairs if once is None or id(pair[0]) in once]
    roles = {id(v): (top, n) for total, top, _ in found for n, v in enumerate((top, total))}
    infinite = {id(total): test for total, _, test in found if test is not None}
    totals = [total for total, _, _ in pairs if total.dtype is DType.F32]
    # Of 0 instead of an infinite maximum a quotient would be infinity by infinity.
    tops = {id(s): top for s, top, test in pairs if s in totals and (not test or id(s) in roles)}

    def joined(value: ir.Value, made: ir.Made) -> ir.Value | None:
        if isinstance(value, ir.Compute) and value.op is Op.TRUE_DIV and value.args[1] in totals:
            return _quotient(builder, *(made[id(v)] for v in value.args))
        parts = _below_logarithm(value, tops) if once is not None else None
        if parts is not None:
            source, top, total = (made[id(v)] for v in parts)
            distance = builder.compute(Op.SUB, source, top, dtype=DType.F32)
            return _quotient(builder, builder.compute(Op.EXP, distance, dtype=DType.F32), total)
        if id(value) not in roles:
            return None
        (top, component), dtype = roles[id(value)], value.dtype
        kind, source = ir.ReduceKind.SOFTMAX, made[id(top.args[0])]
        new = builder.reduce(kind, source, dtype=dtype, component=component)
        if id(value) in infinite:  # e to an infinite maximum
            alone = (made[id(top)], builder.constant(0.0, dtype))
            args = made[id(infinite[id(value)])], builder.compute(Op.MAXIMUM, *alone, dtype=dtype)
            new = builder.compute(Op.WHERE, *args, new, dtype=dtype)
        return new

    made: list[PlanSegment] = []
    for segment in segments:
        own = ir.rewrite_stores(segment.stores, builder, replace=joined)
        again = made and segment.kind is made[-1].kind and all(map(_is_online, own))
        if again and not _needs(own, made[-1].stores):
            made[-1] = PlanSegment(made[-1].kind, (*made[-1].stores, *own))
        else:
            made.append(PlanSegment(segment.kind, own))
    return tuple(made)


def _quotient(builder: ir.Builder, above: ir.Value, below: ir.Value) -> ir.Value:
    """The product with an inverse, which is one for all that is divided by it."""
    inverse = builder.compute(Op.TRUE_DIV, builder.constant(1.0, DType.F32), below, dtype=DType.F32)
    return builder.compute(Op.MUL, above, inverse, dtype=DType.F32)


def _is_online(store: ir.Store) -> bool:
    """Whether nothing is stored but what an online softmax has found."""
    online = {id(v) for v in ir.values([store]) if _reduces(v, ir.ReduceKind.SOFTMAX)}
    rest = [v for v in ir.walk(ir.store_roots([store]), online) if id(v) not in online]
    return bool(online) and all(isinstance(v, ir.Compute | ir.Constant) for v in rest)


def _needs(stores: Iterable[ir.Store], before: Iterable[ir.Store]) -> bool:
    """Whether a reduction of ``stores`` reads one that the loop of ``before`` finds."""
    done = {id(v) for v in ir.values(before) if isinstance(v, ir.Reduce)}
    found = {id(v) for v in ir.walk(ir.store_roots(before), done)} & done
    read = (arg for v in ir.values(stores) if isinstance(v, ir.Reduce) for arg in v.args)
    return any(id(v) in found for v in ir.walk(read))


def _reduces(value: ir.Value, kind: ir.ReduceKind) -> bool:
    return isinstance(value, ir.Reduce) and value.kind is kind


def _pair(value: ir.Value) -> tuple[ir.Reduce, ir.Reduce, ir.Value | None] | None:
    """(sum, max, when that is infinite and 0 is taken) if ``value`` is a sum of exponentials of
    distances to a maximum."""
    source, below = _distance(value) or (None, None)
    top, test = (below, None) if below is None else _finite(below)
    if not (isinstance(value, ir.Reduce) and isinstance(top, ir.Reduce)):
        return None
    same = top.args[0] is source and top.dtype is value.dtype and value.dtype.is_float
    return (value, top, test) if same and top.kind is ir.ReduceKind.MAX else None


def _finite(value: ir.Value) -> tuple[ir.Value, ir.Value | None]:
    """What ``value`` is while that is finite, and the test for that if it is 0 otherwise, as in the
    logarithm of a sum of exponentials."""
    test, zero, top = _args(value, Op.WHERE) or (None, None, None)
    (size, limit) = _args(test, Op.EQ) or (None, None)
    constants = [v.number for v in (zero, limit) if isinstance(v, ir.Constant)]
    known = _args(size, Op.ABS) == (top,) and constants == [0.0, math.inf]
    return (top, test) if known and top is not None else (value, None)


def _below_logarithm(
    value: ir.Value, tops: Mapping[int, ir.Value]
) -> tuple[ir.Value, ir.Value, ir.Value] | None:
    """(v, top, total) if ``value`` is e to v - (log(total) + top), or to v - top - log(total), and
    ``tops`` knows the top of a total, the sum of e to v - top."""
    (distance,) = _args(value, Op.EXP) or (None,)
    source, below = _args(distance, Op.SUB) or (None, None)
    logarithm, base = _args(below, Op.ADD) or (below, None)
    if base is None:
        source, base = _args(source, Op.SUB) or (None, None)
    (total,) = _args(logarithm, Op.LOG) or (None,)
    if total is None or source is None or _distance(total) != (source, base):
        return None
    return (source, tops[id(total)], total) if id(total) in tops else None


def _distance(value: ir.Value) -> tuple[ir.Value, ...] | None:
    """The operands of the difference, if ``value`` is a sum of exponentials of one."""
    power = value.args[0] if isinstance(value, ir.Reduce) else None
    (distance,) = _args(power, Op.EXP) or (None,)
    return _args(distance, Op.SUB) or None if _reduces(value, ir.ReduceKind.SUM) else None


def _args(value: ir.Value | None, op: Op) -> tuple[ir.Value, ...]:
    """The operands of ``value`` if it is an ``op``, else none."""
    return value.args if isinstance(value, ir.Compute) and value.op is op else ()
