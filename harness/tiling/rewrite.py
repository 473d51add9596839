"""Nests re-expressed over entry variables, with loads of fused values resolved.

All nests of a kernel go through one builder, so equal work of different nests
becomes one object. A load of what the kernel itself has just computed becomes that
value; a load of what an earlier loop wrote to memory stays a load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import sympy

from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.ir.nodes import (
    Builder,
    Compute,
    Constant,
    IndexValue,
    Indirect,
    Load,
    Masked,
    Reduce,
    Store,
    StoreMode,
    Value,
    operands,
    store_roots,
    walk,
)
from harness.ir.ops import Op

Substitution = Mapping[sympy.Symbol, sympy.Expr]
Simplify = Callable[[sympy.Expr], sympy.Expr]

_NARROW = frozenset((DType.F8E4M3, DType.F8E5M2))


def substitute(value: Value, made: Mapping[int, Value], builder: Builder, index: Simplify) -> Value:
    """``value`` rebuilt in ``builder`` from its already rebuilt operands ``made`` (by
    identity), with ``index`` applied to its index expression."""

    def bindings(indirect: Indirect) -> Indirect:
        return tuple((symbol, made[id(v)]) for symbol, v in indirect)

    match value:
        case Constant():
            return builder.constant(value.number, value.dtype)
        case Load(dtype=dtype, buffer=buffer, index=expr, indirect=indirect):
            return builder.load(buffer, index(expr), dtype, bindings(indirect))
        case IndexValue(dtype=dtype, expr=expr, indirect=indirect):
            return builder.index(index(expr), dtype, bindings(indirect))
        case Compute(dtype=dtype, op=op, args=args):
            return builder.compute(op, *(made[id(a)] for a in args), dtype=dtype)
        case Masked(mask=mask, body=body, other=other):
            constant = made[id(other)]
            assert isinstance(constant, Constant)
            return builder.masked(made[id(mask)], made[id(body)], constant)
        case Reduce(dtype=dtype, kind=kind, args=args, component=component):
            rebuilt = (made[id(a)] for a in args)
            return builder.reduce(kind, *rebuilt, dtype=dtype, component=component)
        case _:
            raise InvalidProgram("unknown kind of value", got=type(value).__name__)


@dataclass(slots=True)
class Inliner:
    """Rewrites stores segment by segment and remembers what they stored.

    ``dtypes`` are the buffers' element types, ``internal`` the buffers without memory.
    """

    builder: Builder
    dtypes: Mapping[str, DType]
    internal: frozenset[str]
    stored: dict[tuple[str, sympy.Expr], Value] = field(default_factory=dict)
    writes: dict[str, list[Value]] = field(default_factory=dict)
    in_memory: set[str] = field(default_factory=set)

    def rewrite(self, stores: Sequence[Store], index: Simplify) -> list[Store]:
        """``stores`` of one nest with ``index`` applied to every index expression."""
        made: dict[int, Value] = {}
        for value in walk(store_roots(stores)):
            new = substitute(value, made, self.builder, index)
            made[id(value)] = self._resolve(new) if isinstance(new, Load) else new
        result: list[Store] = []
        for store in stores:
            indirect = tuple((s, made[id(v)]) for s, v in store.indirect)
            value = made[id(store.value)]
            new_store = Store(store.buffer, index(store.index), value, store.mode, indirect)
            result.append(new_store)
        for store in result:
            self._remember(store)
        return result

    def forget(self, buffers: Sequence[str]) -> None:
        """From now on loads of ``buffers`` come from memory (a loop was closed over them)."""
        self.in_memory.update(b for b in buffers if b not in self.internal)

    def _remember(self, store: Store) -> None:
        if store.mode is not StoreMode.PLAIN or store.indirect:
            return
        self.in_memory.discard(store.buffer)
        seen = self._seen_by_readers(store.buffer, store.value)
        self.stored[store.buffer, store.index] = seen
        self.writes.setdefault(store.buffer, []).append(seen)

    def _seen_by_readers(self, buffer: str, value: Value) -> Value:
        """What a load of ``buffer`` yields: rounded where the buffer's type is so narrow
        that the rounding is the point of it (quantised values)."""
        dtype = self.dtypes[buffer]
        if dtype in _NARROW:
            narrowed = self.builder.compute(Op.CAST, value, dtype=dtype)
            return self.builder.compute(Op.CAST, narrowed, dtype=dtype.compute)
        if value.dtype is not dtype.compute:
            return self.builder.compute(Op.CAST, value, dtype=dtype.compute)
        return value

    def _resolve(self, load: Load) -> Value:
        if load.buffer in self.in_memory:
            return load
        value = self.stored.get((load.buffer, load.index))
        if value is not None and not load.indirect:
            return value
        if load.buffer not in self.internal:
            return load
        writes = self.writes.get(load.buffer, [])
        if len(writes) != 1:
            raise InvalidProgram(
                "a load of a value that exists only inside the kernel matches no store",
                where=f"{load.buffer}[{load.index}]",
                got=f"{len(writes)} stores to it",
                expected="one store at the same index",
            )
        return writes[0]


def contains_reduce(value: Value) -> bool:
    """Whether ``value`` is a reduction or computed from one."""
    return any(isinstance(v, Reduce) for v in walk([value]))


def reductions(stores: Sequence[Store]) -> list[Reduce]:
    """Every reduction in ``stores`` once, operands first."""
    return [v for v in walk(store_roots(stores)) if isinstance(v, Reduce)]


def index_exprs(stores: Sequence[Store]) -> list[sympy.Expr]:
    """Every index expression in ``stores`` once, in order of appearance."""
    found: dict[sympy.Expr, None] = {}
    for value in walk(store_roots(stores)):
        if isinstance(value, Load):
            found.setdefault(value.index)
        elif isinstance(value, IndexValue):
            found.setdefault(value.expr)
    found.update((s.index, None) for s in stores)
    return list(found)


def loads(stores: Sequence[Store]) -> list[Load]:
    """Every load in ``stores`` once, operands first."""
    return [v for v in walk(store_roots(stores)) if isinstance(v, Load)]


__all__ = [
    "Inliner",
    "Simplify",
    "Substitution",
    "contains_reduce",
    "index_exprs",
    "loads",
    "operands",
    "reductions",
    "substitute",
]
