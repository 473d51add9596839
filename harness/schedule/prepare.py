"""What is done to a program before its nests are grouped: nobody's stores go, and reductions
over a single point are written as what they yield."""

from __future__ import annotations

from dataclasses import replace

from harness.dtypes import DType
from harness.ir.nodes import (
    Builder,
    Made,
    Nest,
    Reduce,
    ReduceKind,
    Scan,
    Sort,
    Value,
    buffers_read,
    rewrite_stores,
)
from harness.ir.ops import Op
from harness.ir.program import Program, Role


def remove_dead(program: Program) -> Program:
    """``program`` without stores that reach no output and no mutated input."""
    needed = {b.name for b in program.buffers if b.role is not Role.TEMPORARY}
    needed |= {*program.outputs, *program.mutated}
    kept: list[Nest] = []
    for nest in reversed(program.nests):
        stores = tuple(s for s in nest.stores if s.buffer in needed)
        if not stores:
            continue
        if len(stores) < len(nest.stores):
            nest = replace(nest, stores=stores)
        needed.update(buffers_read(nest))
        kept.append(nest)
    buffers = tuple(b for b in program.buffers if b.name in needed)
    if len(kept) == len(program.nests) and len(buffers) == len(program.buffers):
        return program
    return replace(program, buffers=buffers, nests=tuple(reversed(kept)))


def without_trivial_reductions(program: Program) -> Program:
    """``program`` with every nest that reduces over one point made pointwise."""
    if not any(n.raxes and n.rnumel == 1 for n in program.nests):
        return program
    nests = tuple(_pointwise(n) if n.raxes and n.rnumel == 1 else n for n in program.nests)
    return replace(program, nests=nests)


def _pointwise(nest: Nest) -> Nest:
    """The nest with reductions replaced; its loops of one point become parallel."""
    builder = Builder()

    def single(value: Value, made: Made) -> Value | None:
        if isinstance(value, Scan | Sort):
            first = made[id(value.args[0])]
            return builder.constant(0, value.dtype) if value.component else first
        if not isinstance(value, Reduce):
            return None
        return _single(builder, value, [made[id(a)] for a in value.args])

    stores = rewrite_stores(nest.stores, builder, replace=single)
    return Nest(nest.name, (*nest.axes, *nest.raxes), (), stores, nest.origins)


def _cast(builder: Builder, value: Value, dtype: DType) -> Value:
    return value if value.dtype is dtype else builder.compute(Op.CAST, value, dtype=dtype)


def _single(builder: Builder, value: Reduce, args: list[Value]) -> Value:
    """What ``value`` yields for one point. Differences of a value with itself keep a NaN
    or an infinity visible, as the reduction would."""
    first = args[0]
    match value.kind:
        case ReduceKind.ARGMAX | ReduceKind.ARGMIN:
            return builder.constant(0, value.dtype)
        case ReduceKind.WELFORD | ReduceKind.SOFTMAX if len(args) > 1:
            return _cast(builder, args[value.component], value.dtype)
        case ReduceKind.WELFORD if value.component == 2:
            return builder.constant(1.0, value.dtype)
        case ReduceKind.WELFORD if value.component == 1:
            return builder.compute(Op.SUB, first, first, dtype=value.dtype)
        case ReduceKind.SOFTMAX if value.component == 1:
            zero = builder.compute(Op.SUB, first, first, dtype=value.dtype)
            return builder.compute(Op.EXP, zero, dtype=value.dtype)
        case (
            ReduceKind.SUM
            | ReduceKind.PROD
            | ReduceKind.MAX
            | ReduceKind.MIN
            | ReduceKind.ANY
            | ReduceKind.XOR_SUM
            | ReduceKind.WELFORD
            | ReduceKind.SOFTMAX
        ):
            return _cast(builder, first, value.dtype)
