"""The program's nodes: values computed inside a loop nest.

A value is a frozen node of a directed acyclic graph. Nodes are made only by
``Builder``, which interns them: within one builder two equal values are one
object, so equality is identity and shared work is visible as sharing.

Element types inside a program are compute types: a load from a bf16 buffer is an
f32 value (``DType.compute``), and a store rounds to its buffer's type. Casts to a
16-bit type therefore do not occur as nodes.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import sympy

from harness.dtypes import DType
from harness.ir.ops import Op


class ReduceKind(enum.Enum):
    """How values along the reduction axes are combined.

    ARGMAX and ARGMIN yield the flat index (int64) over the reduction axes, first
    index on ties, NaN wins. WELFORD has components 0 mean, 1 sum of squared
    deviations, 2 weight (count, float). SOFTMAX (online) has components 0 the
    maximum and 1 the sum of exp(value - maximum). MAX and MIN propagate NaN.
    """

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    ANY = "any"
    XOR_SUM = "xor_sum"
    ARGMAX = "argmax"
    ARGMIN = "argmin"
    WELFORD = "welford"
    SOFTMAX = "softmax"


class StoreMode(enum.Enum):
    """What a store does to what is there."""

    PLAIN = "plain"
    ATOMIC_ADD = "atomic_add"


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """Base of all values; ``dtype`` is a compute type."""

    dtype: DType


@dataclass(frozen=True, eq=False, slots=True)
class Constant(Value):
    """A number, kept as its exact bits so that 0.0 is not -0.0.

    ``bits`` are the bits of a float64 (floats) or the integer itself.
    """

    bits: int

    @property
    def number(self) -> bool | int | float:
        """The Python number."""
        if self.dtype is DType.BOOL:
            return bool(self.bits)
        if self.dtype.is_float:
            return float(struct.unpack("<d", struct.pack("<Q", self.bits))[0])
        return self.bits


Indirect = tuple[tuple[sympy.Symbol, Value], ...]
"""Bindings of indirect symbols (``t0`` …) to the integer values they stand for.
A bound value is already within range: lowering wraps negative indices."""


@dataclass(frozen=True, eq=False, slots=True)
class Load(Value):
    """The element of ``buffer`` at flat element offset ``index``."""

    buffer: str
    index: sympy.Expr
    indirect: Indirect = ()


@dataclass(frozen=True, eq=False, slots=True)
class IndexValue(Value):
    """An index expression used as a number (iota, comparisons of positions)."""

    expr: sympy.Expr
    indirect: Indirect = ()


@dataclass(frozen=True, eq=False, slots=True)
class Compute(Value):
    """A scalar operation. For ``Op.CAST`` and ``Op.BITCAST`` the target type is ``dtype``."""

    op: Op
    args: tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Masked(Value):
    """``body`` where ``mask`` holds, else ``other``. Loads in ``body`` happen only
    where ``mask`` holds, so their addresses may be out of range elsewhere."""

    mask: Value
    body: Value
    other: Constant


@dataclass(frozen=True, eq=False, slots=True)
class Reduce(Value):
    """Component ``component`` of a reduction of ``args`` over the nest's reduction axes.
    Outside of it (in the same nest) the reduction axes do not exist."""

    kind: ReduceKind
    args: tuple[Value, ...]
    component: int = 0


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop: its variable and its size."""

    var: sympy.Symbol
    size: sympy.Expr


@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """Write ``value`` to ``buffer`` at flat element offset ``index``."""

    buffer: str
    index: sympy.Expr
    value: Value
    mode: StoreMode = StoreMode.PLAIN
    indirect: Indirect = ()


@dataclass(frozen=True, eq=False, slots=True)
class Nest:
    """A perfect loop nest. ``axes`` are parallel, ``raxes`` are reduced over; a nest
    with reduction axes has at least one ``Reduce``. ``origins`` are the names of the
    graph nodes whose work it does, in graph order."""

    name: str
    axes: tuple[Axis, ...]
    raxes: tuple[Axis, ...]
    stores: tuple[Store, ...]
    origins: tuple[str, ...]

    @property
    def numel(self) -> sympy.Expr:
        """Points of the parallel axes."""
        return sympy.Mul(*(a.size for a in self.axes))

    @property
    def rnumel(self) -> sympy.Expr:
        """Points of the reduction axes (1 without)."""
        return sympy.Mul(*(a.size for a in self.raxes))

    @property
    def is_reduction(self) -> bool:
        """Whether anything is reduced."""
        return bool(self.raxes)


def operands(value: Value) -> tuple[Value, ...]:
    """The values ``value`` is computed from, indirect indices included."""
    match value:
        case Compute(args=args) | Reduce(args=args):
            return args
        case Masked(mask=mask, body=body, other=other):
            return (mask, body, other)
        case Load(indirect=indirect) | IndexValue(indirect=indirect):
            return tuple(v for _, v in indirect)
        case _:
            return ()


def store_roots(stores: Iterable[Store]) -> list[Value]:
    """Every value a list of stores uses directly: indirect indices, then the value."""
    roots: list[Value] = []
    for store in stores:
        roots.extend(v for _, v in store.indirect)
        roots.append(store.value)
    return roots


def walk(roots: Iterable[Value]) -> Iterator[Value]:
    """Every value reachable from ``roots`` once, operands before users. Iterative."""
    done: set[int] = set()
    stack: list[tuple[Value, bool]] = [(r, False) for r in reversed(list(roots))]
    while stack:
        value, ready = stack.pop()
        if id(value) in done:
            continue
        if ready:
            done.add(id(value))
            yield value
            continue
        stack.append((value, True))
        stack.extend((v, False) for v in reversed(operands(value)) if id(v) not in done)


@dataclass(slots=True)
class Builder:
    """Makes interned values. One builder per program; pass it, never share it globally."""

    _table: dict[tuple[object, ...], Value] = field(default_factory=dict)

    def _intern(self, key: tuple[object, ...], value: Value) -> Value:
        return self._table.setdefault(key, value)

    def constant(self, number: bool | int | float, dtype: DType) -> Constant:
        """``number`` as a constant of compute type ``dtype``."""
        if dtype.is_float:
            bits = struct.unpack("<Q", struct.pack("<d", float(number)))[0]
        else:
            bits = int(number)
        made = self._intern(("const", dtype, bits), Constant(dtype, bits))
        assert isinstance(made, Constant)
        return made

    def load(self, buffer: str, index: sympy.Expr, dtype: DType, indirect: Indirect = ()) -> Value:
        """A load; ``dtype`` is the buffer's type and the value has its compute type."""
        key = ("load", buffer, index, tuple((s, id(v)) for s, v in indirect))
        return self._intern(key, Load(dtype.compute, buffer, index, indirect))

    def index(self, expr: sympy.Expr, dtype: DType, indirect: Indirect = ()) -> Value:
        """An index expression as a value of ``dtype``."""
        key = ("index", dtype, expr, tuple((s, id(v)) for s, v in indirect))
        return self._intern(key, IndexValue(dtype, expr, indirect))

    def compute(self, op: Op, *args: Value, dtype: DType) -> Value:
        """A scalar operation with result type ``dtype``."""
        key = ("op", op, dtype, *(id(a) for a in args))
        return self._intern(key, Compute(dtype, op, args))

    def masked(self, mask: Value, body: Value, other: Constant) -> Value:
        """A masked value; see ``Masked``."""
        key = ("masked", id(mask), id(body), id(other))
        return self._intern(key, Masked(body.dtype, mask, body, other))

    def reduce(self, kind: ReduceKind, *args: Value, dtype: DType, component: int = 0) -> Value:
        """A component of a reduction over the nest's reduction axes."""
        key = ("reduce", kind, dtype, component, *(id(a) for a in args))
        return self._intern(key, Reduce(dtype, kind, args, component))
