"""Windows whose points go in groups of four neighbours, so that they are read in whole vectors.

A window with a stride reads every second element: a point a time that is two bytes a load, and each
element once for every point that it is in. In a group equal loads are one, and neighbours that
begin at a multiple of their number are one load (max-pool 3 x 3: 22 instructions a point, not 80).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import sympy

from harness.dtypes import DType
from harness.graph.lowering.context import Context
from harness.ir import nodes as ir
from harness.ir.affine import linear, positions
from harness.ir.simplify import Simplifier
from harness.tiling.plan import LANES, Tile

_VECTOR, _BYTES = 8, 16
"""Elements and bytes of a load: wider ones lie otherwise in threads, which costs barriers."""
Run: TypeAlias = tuple[ir.Value, ...]


def in_lanes(
    stores: Sequence[ir.Store], tile: Tile, dtypes: Mapping[str, DType]
) -> tuple[Tile, tuple[ir.Store, ...], tuple[Run, ...]] | None:
    """The only ``tile`` of a kernel over groups of points, its ``stores`` for each point of one, in
    a row, and what they read in vectors. None where rows are no multiple of a group, where stores
    are no neighbours or a mask is about more than a load, and where no vectors come of it."""
    inner = [e.var for e in tile.entries if e.divisor == 1]
    step = {e.var: e.length if e.divisor == 1 else e.divisor for e in tile.entries}
    if not tile.numel.is_Integer or any(int(size) % LANES for size in step.values()):
        return None
    for store in stores:
        place = linear(store.index, positions(inner))
        dtype = dtypes[store.buffer]
        wide = dtype is DType.BOOL or dtype.itemsize * LANES > _BYTES
        moved = store.indirect or store.mask or store.mode is not ir.StoreMode.PLAIN
        if wide or moved or place is None or sum(place.strides) != 1:
            return None
    masked = ((_load(v), v.other.number) for v in ir.values(stores) if isinstance(v, ir.Masked))
    if any(load is None or not dtypes[load.buffer].keeps(other) for load, other in masked):
        return None
    entries = tuple(
        replace(e, **{"length" if e.var in inner else "divisor": step[e.var] / LANES})
        for e in tile.entries
    )
    known, builder = Simplifier({e.var: e.length for e in entries}), ir.Builder()
    each = [_lane(stores, lane, inner, known, builder) for lane in range(LANES)]
    grouped = tuple(store for lanes in zip(*each, strict=True) for store in lanes)
    runs = tuple(_runs(ir.values(grouped), [e.var for e in entries], dtypes))
    return (
        (replace(tile, numel=tile.numel / LANES, entries=entries), grouped, runs) if runs else None
    )


def _load(value: ir.Value) -> ir.Load | None:
    """The load that ``value`` is, masked or not."""
    body = value.body if isinstance(value, ir.Masked) else value
    return body if isinstance(body, ir.Load) and not body.indirect else None


def _lane(
    stores: Sequence[ir.Store],
    lane: int,
    inner: Sequence[sympy.Symbol],
    known: Simplifier,
    builder: ir.Builder,
) -> tuple[ir.Store, ...]:
    """``stores`` for one point of each group, without masks that always hold there."""
    context = Context(builder)

    def decided(value: ir.Value, made: ir.Made) -> ir.Value | None:
        if isinstance(value, ir.Masked):
            other = builder.constant(value.other.number, value.dtype)
            return context.masked(made[id(value.mask)], made[id(value.body)], other)
        if not isinstance(value, ir.Compute):
            return None
        return context.folded(value.op, [made[id(v)] for v in value.args], value.dtype, known)

    there = {v: LANES * v + lane for v in inner}
    return ir.rewrite_stores(stores, builder, lambda e: known.substitute(e, there), decided)


def _runs(
    values: Sequence[ir.Value], variables: Sequence[sympy.Symbol], dtypes: Mapping[str, DType]
) -> Iterator[Run]:
    """Loads of neighbouring elements under one mask that fill vectors."""
    rows: dict[tuple[object, ...], dict[int, ir.Value]] = {}
    inside = {id(v.body) for v in values if isinstance(v, ir.Masked)}
    for value in values:
        if (load := _load(value)) is not None and id(value) not in inside:
            under = (value.mask, value.other) if isinstance(value, ir.Masked) else ()
            offset, rest = load.index.as_coeff_Add()
            rows.setdefault((rest, load.buffer, *map(id, under)), {})[int(offset)] = value
    for found in rows.values():
        offset, value = next(iter(found.items()))
        load = _load(value)
        place = linear(load.index - offset, positions(variables)) if load is not None else None
        if load is None or place is None:
            continue
        step, most = math.gcd(*map(int, place.strides)), _BYTES // dtypes[load.buffer].itemsize
        vector = min(_VECTOR, most, step & -step)
        for first in sorted(n for n in found if vector >= LANES and n % vector == 0):
            if all(first + n in found for n in range(vector)):
                yield tuple(found[first + n] for n in range(vector))
