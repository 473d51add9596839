"""Nests re-expressed over entry variables, with loads of fused values resolved.

All nests of a kernel go through one builder, so equal work of different nests
becomes one object. A load of what the kernel itself has just computed becomes that
value; a load of what an earlier loop wrote to memory stays a load.

And what a kernel only moves, in its own type; and positions that it computes from floats, in 32
bits. An interpolation finds the pixels around a point in floats and makes them 64-bit integers, as
torch does. A device converts those at a quarter of the rate of 32 bits, and its arithmetic has 32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import sympy

from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.ir import nodes as ir
from harness.ir.ops import Op
from harness.ir.value_bounds import value_bounds
from harness.tiling.plan import PlanSegment, Tile, simplifier_of


@dataclass(slots=True)
class Inliner:
    """Rewrites stores segment by segment and remembers what they stored. ``dtypes`` are the
    buffers' element types, ``internal`` the buffers without memory."""

    builder: ir.Builder
    dtypes: Mapping[str, DType]
    internal: frozenset[str]
    stored: dict[tuple[str, sympy.Expr], ir.Value] = field(default_factory=dict)
    in_memory: set[str] = field(default_factory=set)

    def rewrite(self, stores: Sequence[ir.Store], index: ir.Address) -> tuple[ir.Store, ...]:
        """``stores`` of one nest with ``index`` applied to every index expression."""

        def resolved(value: ir.Value, made: ir.Made) -> ir.Value | None:
            if not isinstance(value, ir.Load):
                return None
            new = ir.rebuild(value, made, self.builder, index)
            assert isinstance(new, ir.Load)
            return self._resolve(new)

        result = ir.rewrite_stores(stores, self.builder, index, resolved)
        for store in result:
            if store.mode is ir.StoreMode.PLAIN and not store.indirect:
                self.in_memory.discard(store.buffer)
                seen = self._seen_by_readers(store.buffer, store.value)
                self.stored[store.buffer, store.index] = seen
        return result

    def forget(self, buffers: Sequence[str]) -> None:
        """From now on loads of ``buffers`` come from memory (a loop was closed over them)."""
        self.in_memory.update(b for b in buffers if b not in self.internal)

    def _seen_by_readers(self, buffer: str, value: ir.Value) -> ir.Value:
        """What a load of ``buffer`` yields: rounded where other kernels read it too, which compare
        it with what is computed from it here, or where rounding is the point (8 bits)."""
        dtype = self.dtypes[buffer]
        rounds = dtype.is_float and dtype.compute is not dtype
        if rounds and (dtype.itemsize == 1 or buffer not in self.internal):
            return self.builder.rounded(value, dtype)
        return value

    def _resolve(self, load: ir.Load) -> ir.Value:
        if load.buffer in self.in_memory:
            return load
        value = self.stored.get((load.buffer, load.index))
        if value is not None and not load.indirect:
            return value
        if load.buffer not in self.internal:
            return load
        raise InvalidProgram(
            "a load of a value that exists only inside the kernel matches no store",
            where=f"{load.buffer}[{load.index}]",
            expected="a store at the same index",
        )


def contains_reduce(value: ir.Value) -> bool:
    """Whether ``value`` is a reduction or computed from one."""
    return any(isinstance(v, ir.Reduce) for v in ir.walk([value]))


def with_exact_copies(
    stores: Sequence[ir.Store], dtypes: Mapping[str, DType], builder: ir.Builder
) -> Sequence[ir.Store]:
    """``stores`` of a kernel, with 16-bit floats that it moves and does not compute with as they
    are: arithmetic is carried out in float32, and a NaN may lose its bits on the way there and
    back. What is only moved, or viewed as integers, stays in its own type. ``dtypes``: of the
    buffers."""
    used = {v.dtype for v in ir.values(stores)} | {dtypes[s.buffer] for s in stores}
    for dtype in (DType.F16, DType.BF16):
        if dtype in used:
            stores = _moved(stores, dtype, dtypes, builder)
    return stores


def _moved(
    stores: Sequence[ir.Store], dtype: DType, dtypes: Mapping[str, DType], builder: ir.Builder
) -> Sequence[ir.Store]:
    copies: dict[int, ir.Value] = {}  # of values that were made again

    def viewed(value: ir.Value, made: ir.Made) -> ir.Value:
        new = ir.rebuild(value, made, builder, ir.same_address)
        if isinstance(new, ir.Compute) and new.op is Op.CAST and new.dtype is dtype:
            new = copies.get(id(new.args[0]), new)  # what is rounded to it is one already
        if (copy := _copy(new, dtype, dtypes, copies, builder)) is not None:
            copies[id(new)] = copy
        return new

    result = []
    for new in ir.rewrite_stores(stores, builder, replace=viewed):
        moves = new.mode is ir.StoreMode.PLAIN and dtypes[new.buffer] is dtype
        copy = copies.get(id(new.value)) if moves else None
        result.append(new if copy is None else replace(new, value=copy))
    return result


def _copy(
    value: ir.Value,
    dtype: DType,
    dtypes: Mapping[str, DType],
    copies: Mapping[int, ir.Value],
    builder: ir.Builder,
) -> ir.Value | None:
    """A float32 ``value`` that is one of ``dtype``, widened, as the latter; ``copies`` are those of
    its operands."""
    match value:
        case ir.Load() if dtypes[value.buffer] is dtype:
            return builder.load(value.buffer, value.index, dtype, value.indirect, stored=True)
        case ir.Compute(op=Op.CAST, dtype=DType.F32, args=(narrow,)) if narrow.dtype is dtype:
            return narrow
        case ir.Compute(op=Op.WHERE, args=(condition, *sides)):
            if not any(id(one) in copies for one in sides):
                return None
            pair = [copies.get(id(v)) or builder.compute(Op.CAST, v, dtype=dtype) for v in sides]
            return builder.compute(Op.WHERE, condition, *pair, dtype=dtype)
        case ir.Masked():
            body, other = copies.get(id(value.body)), builder.constant(value.other.number, dtype)
            return None if body is None else builder.masked(value.mask, body, other)
        case ir.Constant() | ir.Load() | ir.IndexValue() | ir.Compute():
            return None
        case ir.Reduce() | ir.Scan() | ir.Sort():
            return None


def as_stored(
    value: ir.Value, dtype: DType, dtypes: Mapping[str, DType], builder: ir.Builder
) -> ir.Value | None:
    """A float32 ``value`` that is one of ``dtype``, widened, as the latter; None if it is none."""
    copies: dict[int, ir.Value] = {}
    for one in ir.walk([value]):
        sides = one.args[1:] if isinstance(one, ir.Compute) and one.op is Op.WHERE else ()
        chosen = (one.other,) if isinstance(one, ir.Masked) else sides
        others = [v for v in chosen if id(v) not in copies]
        exact = all(isinstance(v, ir.Constant) and dtype.keeps(v.number) for v in others)
        if exact and (copy := _copy(one, dtype, dtypes, copies, builder)) is not None:
            copies[id(one)] = copy
    return copies.get(id(value))


def in_32_bits(
    segments: Sequence[PlanSegment], tiles: Sequence[Tile], builder: ir.Builder
) -> list[PlanSegment]:
    """``segments`` in which loads, positions and conversions take 64-bit integers that 32 bits hold
    for certain as what they are computed to in those; as they are where no float becomes an
    integer. ``builder`` is the one that made the values."""
    values = ir.values([s for one in segments for s in one.stores])
    casts = [v for v in values if isinstance(v, ir.Compute) and v.op is Op.CAST]
    if not any(v.dtype is DType.I64 and v.args[0].dtype.is_float for v in casts):
        return list(segments)
    known = simplifier_of(tiles)
    narrow: dict[int, ir.Value] = {}  # by the 64-bit value that each stands for

    def replaced(value: ir.Value, made: ir.Made) -> ir.Value | None:
        short = {id(v): narrow.get(id(v), made[id(v)]) for v in ir.operands(value)}
        if value.dtype is DType.I64:
            ends = value_bounds(value, known)
            fits = ends is not None and ends[0] >= -(1 << 31) and ends[1] < 1 << 31
            if fits and (new := _narrowed(value, short, builder)) is not None:
                narrow[id(value)] = new
            return None
        converts = isinstance(value, ir.Compute) and value.op is Op.CAST
        if converts or isinstance(value, ir.Load | ir.IndexValue):
            return ir.rebuild(value, short, builder, ir.same_address)
        return None

    made = (ir.rewrite_stores(s.stores, builder, replace=replaced) for s in segments)
    return [replace(s, stores=stores) for s, stores in zip(segments, made, strict=True)]


def _narrowed(value: ir.Value, short: ir.Made, builder: ir.Builder) -> ir.Value | None:
    """A 64-bit ``value`` that 32 bits hold, computed in those from operands in ``short``."""
    match value:
        case ir.Constant():
            return builder.constant(value.bits, DType.I32)
        case ir.IndexValue(indirect=()):
            return builder.index(value.index, DType.I32)
        case ir.Compute(op=op, args=args):
            given = [short[id(arg)] for arg in args]
            if all(v.dtype is DType.I32 or (v.dtype.is_float and op is Op.CAST) for v in given):
                return builder.compute(op, *given, dtype=DType.I32)
        case ir.IndexValue() | ir.Load() | ir.Masked() | ir.Reduce() | ir.Scan() | ir.Sort():
            pass
    return None
