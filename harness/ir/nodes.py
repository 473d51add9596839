"""The program's nodes: values computed inside a loop nest.

A value is a frozen node of a directed acyclic graph. Nodes are made only by
``Builder``, which interns them: within one builder two equal values are one
object, so equality is identity and shared work is visible as sharing.

``Value`` is a closed union. Whoever looks at values does so with ``match`` and without
``case _``: a kind that is added here is then found missing by the type checker wherever it
must be handled. How values hang together is said twice only, by ``operands`` and
``rebuild``; rewrites go through ``rewrite``.

Element types inside a program are compute types: a load from a bf16 buffer is an
f32 value (``DType.compute``), and a store rounds to its buffer's type. Casts to a
16-bit type therefore do not occur as nodes.
"""

from __future__ import annotations

import dataclasses
import enum
import operator
import struct
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, assert_never, get_args

import sympy

from harness.dtypes import DType
from harness.ir.ops import Op

T = TypeVar("T")


class ReduceKind(enum.Enum):
    """How values along the reduction axes are combined.

    ARGMAX and ARGMIN yield the flat index (int64) over the reduction axes, first
    index on ties, NaN wins. WELFORD has components 0 mean and 1 sum of squared
    deviations. SOFTMAX (online) has components 0 the maximum and 1 the sum of
    exp(value - maximum). MAX and MIN propagate NaN. XOR is of integers. DOT is the sum of the
    products of two arguments, as a matrix product: one of them has the reduction axes' twins.
    """

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    ANY = "any"
    XOR = "xor"
    ARGMAX = "argmax"
    ARGMIN = "argmin"
    WELFORD = "welford"
    SOFTMAX = "softmax"
    DOT = "dot"


class ScanKind(enum.Enum):
    """How values along the reduction axes are combined with all those before them. MAX and MIN have
    components 0 the extreme so far and 1 its position (int64): the last one on ties, the last NaN
    once there is one. LOGSUMEXP is the logarithm of a sum of exponentials."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    LOGSUMEXP = "logsumexp"


@dataclass(frozen=True, eq=False, slots=True)
class Combine:
    """A user's associative function of a scan: what an element of each operand and one that comes
    later come to. ``parameters`` are loads of names that stand for the earlier elements and then
    for the later ones; ``results`` are computed from them and constants, in the operands' types."""

    parameters: tuple[Load, ...]
    results: tuple[Value, ...]


class StoreMode(enum.Enum):
    """What a store does to what is there."""

    PLAIN = "plain"
    ATOMIC_ADD = "atomic_add"
    ATOMIC_MAX = "atomic_max"

    @property
    def is_atomic(self) -> bool:
        """Whether it goes on from what is there."""
        return self is not StoreMode.PLAIN


@dataclass(frozen=True, eq=False, slots=True)
class _Typed:
    """What all values have; ``dtype`` is a compute type."""

    dtype: DType


@dataclass(frozen=True, eq=False, slots=True)
class Constant(_Typed):
    """A number, kept as its exact bits so that 0.0 is not -0.0. ``bits`` are the bits of a float64
    (floats) or the integer itself."""

    bits: int

    @property
    def number(self) -> bool | int | float:
        """The Python number."""
        if self.dtype is DType.BOOL:
            return bool(self.bits)
        if self.dtype.is_float:
            return float(struct.unpack("<d", struct.pack("<Q", self.bits))[0])
        return self.bits


Indirect: TypeAlias = "tuple[tuple[sympy.Symbol, Value], ...]"
"""Bindings of indirect symbols (``t0`` …) to the integer values they stand for.
A bound value is already within range: lowering wraps negative indices."""


@dataclass(frozen=True, eq=False, slots=True)
class Load(_Typed):
    """The element of ``buffer`` at flat element offset ``index``."""

    buffer: str
    index: sympy.Expr
    indirect: Indirect = ()


@dataclass(frozen=True, eq=False, slots=True)
class IndexValue(_Typed):
    """An index expression used as a number (iota, comparisons of positions)."""

    index: sympy.Expr
    indirect: Indirect = ()


@dataclass(frozen=True, eq=False, slots=True)
class Compute(_Typed):
    """A scalar operation. For ``Op.CAST`` and ``Op.BITCAST`` the target type is ``dtype``."""

    op: Op
    args: tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Masked(_Typed):
    """``body`` where ``mask`` holds, else ``other``. Loads in ``body`` happen only
    where ``mask`` holds, so their addresses may be out of range elsewhere."""

    mask: Value
    body: Value
    other: Constant


@dataclass(frozen=True, eq=False, slots=True)
class Reduce(_Typed):
    """Component ``component`` of a reduction of ``args`` over the nest's reduction axes.
    Outside of it (in the same nest) the reduction axes do not exist. ``across``: in a kernel that
    reduces both ways, over the rows that a program walks and not along them."""

    kind: ReduceKind
    args: tuple[Value, ...]
    component: int = 0
    across: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Scan(_Typed):
    """Component ``component`` of a running reduction of ``args`` (one, or as many as a user's
    function takes): at every point of the nest's reduction axes what the points up to it, itself
    included, come to, in row-major order."""

    kind: ScanKind | Combine
    args: tuple[Value, ...]
    component: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Sort(_Typed):
    """At point ``k`` of the nest's reduction axes component 0 is the ``k``-th smallest (largest if
    ``descending``) of the one value in ``args``, component 1 the position (int64) that it had.
    Equal values keep their order, zeros of both signs are equal, NaN is larger than any number.
    Nobody needs the points from ``limit`` on, if there is one."""

    args: tuple[Value, ...]
    descending: bool
    component: int = 0
    limit: int | None = None


Value: TypeAlias = Constant | Load | IndexValue | Compute | Masked | Reduce | Scan | Sort
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in dataclasses.fields(kind)) for kind in get_args(Value)
}


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop: its variable and its size."""

    var: sympy.Symbol
    size: sympy.Expr


def points(axes: Iterable[Axis]) -> sympy.Expr:
    """How many points loops over ``axes`` have."""
    return sympy.Mul(*(a.size for a in axes))


@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """Write ``value`` to ``buffer`` at flat element offset ``index``, where ``mask`` holds.
    ``repeated``, of a kernel's atomic stores: also at every reduced point, whether anything of it
    varies there or not."""

    buffer: str
    index: sympy.Expr
    value: Value
    mode: StoreMode = StoreMode.PLAIN
    indirect: Indirect = ()
    mask: Value | None = None
    repeated: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Nest:
    """A perfect loop nest. ``axes`` are parallel, ``raxes`` are reduced over; a nest
    with reduction axes has at least one ``Reduce``, or it has a ``Scan`` or ``Sort`` outside of
    any ``Reduce`` and stores at every point of them. ``origins`` are the names of the
    graph nodes whose work it does, in graph order."""

    name: str
    axes: tuple[Axis, ...]
    raxes: tuple[Axis, ...]
    stores: tuple[Store, ...]
    origins: tuple[str, ...]

    @property
    def is_reduction(self) -> bool:
        """Whether anything is reduced, or combined along axes."""
        return bool(self.raxes)

    @property
    def is_scan(self) -> bool:
        """Whether its stores are at every point of the reduction axes."""
        along = {type(v) for v in values(self.stores)} if self.raxes else set()
        return not along.isdisjoint((Scan, Sort)) and Reduce not in along


def operands(value: Value) -> tuple[Value, ...]:
    """The values ``value`` is computed from, indirect indices included."""
    return _OPERANDS[type(value)](value)


# A table, since every walk asks it of every value.
_OPERANDS: dict[type, Callable[[Any], tuple[Value, ...]]] = {
    **dict.fromkeys((Compute, Reduce, Scan, Sort), operator.attrgetter("args")),
    **dict.fromkeys((Load, IndexValue), lambda value: tuple(v for _, v in value.indirect)),
    Constant: lambda _: (),
    Masked: operator.attrgetter("mask", "body", "other"),
}


def addressed(access: Load | Store) -> list[sympy.Expr]:
    """Its index, and those of all that computed places in it depend on."""
    places = walk([v for _, v in access.indirect])
    return [access.index, *(v.index for v in places if isinstance(v, Load | IndexValue))]


def store_roots(stores: Iterable[Store]) -> list[Value]:
    """Every value a list of stores uses directly: indirect indices, the mask, the value."""
    roots: list[Value] = []
    for store in stores:
        roots.extend(v for _, v in store.indirect)
        roots.extend(() if store.mask is None else (store.mask,))
        roots.append(store.value)
    return roots


def walk(roots: Iterable[Value], closed: Container[int] = ()) -> Iterator[Value]:
    """Every value reachable from ``roots`` once, operands before users, without a look into those
    whose identities are ``closed``. Iterative."""
    done: set[int] = set()
    stack = list[Value | None](reversed(list(roots)))
    while stack:
        value = stack.pop()
        if value is None:  # what the next is computed from has been given
            value = stack.pop()
            assert value is not None
        elif id(value) in done:
            continue
        elif id(value) not in closed and (below := _OPERANDS[type(value)](value)):
            stack += (value, None, *below[::-1])
            continue
        done.add(id(value))
        yield value


def values(stores: Iterable[Store]) -> list[Value]:
    """Every value of ``stores`` once, operands before users."""
    return list(walk(store_roots(stores)))


def loads(stores: Iterable[Store]) -> list[Load]:
    """Every load of ``stores`` once, in evaluation order."""
    return [v for v in values(stores) if isinstance(v, Load)]


def reductions(stores: Iterable[Store]) -> list[Reduce]:
    """Every reduction of ``stores`` once, in evaluation order."""
    return [v for v in values(stores) if isinstance(v, Reduce)]


def scans(stores: Iterable[Store]) -> list[Scan | Sort]:
    """Every scan and sort of ``stores`` once, in evaluation order."""
    return [v for v in values(stores) if isinstance(v, Scan | Sort)]


def index_exprs(stores: Sequence[Store]) -> list[sympy.Expr]:
    """Every index expression of ``stores`` once: what is read and counted, in evaluation
    order, then where it is stored."""
    used = [v.index for v in values(stores) if isinstance(v, Load | IndexValue)]
    return list(dict.fromkeys((*used, *(s.index for s in stores))))


def buffers_read(nest: Nest) -> tuple[str, ...]:
    """Names of the buffers a nest loads from, in order of first use. An atomic store also reads
    what is there; it counts as a write only."""
    return tuple(dict.fromkeys(load.buffer for load in loads(nest.stores)))


def buffers_written(nest: Nest) -> tuple[str, ...]:
    """Names of the buffers a nest stores to, in order of first use."""
    return tuple(dict.fromkeys(store.buffer for store in nest.stores))


@dataclass(slots=True)
class Builder:
    """Makes interned values. One builder per program; pass it, never share it globally."""

    _table: dict[tuple[object, ...], Any] = field(default_factory=dict)

    def _made(self, kind: type[T], *fields: object) -> T:
        """The value of these fields; values among them are themselves interned."""
        key = (kind, *fields)
        if (found := self._table.get(key)) is None:
            found = self._table[key] = kind(*fields)
        return found

    def again(self, value: T, **changed: object) -> T:
        """``value`` made by this builder, but for the fields that are ``changed``."""
        fields = (changed.get(name, getattr(value, name)) for name in _FIELDS[type(value)])
        return self._made(type(value), *fields)

    def constant(self, number: bool | int | float, dtype: DType) -> Constant:
        """``number`` as a constant of compute type ``dtype``."""
        if dtype.is_float:
            bits = struct.unpack("<Q", struct.pack("<d", float(number)))[0]
        else:
            bits = int(number)
        return self._made(Constant, dtype, bits)

    def load(
        self,
        buffer: str,
        index: sympy.Expr,
        dtype: DType,
        indirect: Indirect = (),
        *,
        stored: bool = False,
    ) -> Value:
        """A load; ``dtype`` is the buffer's type and the value has its compute type, or, as it is
        ``stored``, that type itself."""
        return self._made(Load, dtype if stored else dtype.compute, buffer, index, indirect)

    def index(self, expr: sympy.Expr, dtype: DType, indirect: Indirect = ()) -> Value:
        """An index expression as a value of ``dtype``."""
        return self._made(IndexValue, dtype, expr, indirect)

    def compute(self, op: Op, *args: Value, dtype: DType) -> Value:
        """A scalar operation with result type ``dtype``."""
        return self._made(Compute, dtype, op, args)

    def rounded(self, value: Value, dtype: DType) -> Value:
        """``value`` as it comes back from memory of ``dtype``."""
        return self.compute(Op.CAST, self.compute(Op.CAST, value, dtype=dtype), dtype=dtype.compute)

    def masked(self, mask: Value, body: Value, other: Constant) -> Value:
        """A masked value; see ``Masked``."""
        return self._made(Masked, body.dtype, mask, body, other)

    def reduce(
        self, kind: ReduceKind, *args: Value, dtype: DType, component: int = 0, across: bool = False
    ) -> Value:
        """A component of a reduction over the nest's reduction axes."""
        return self._made(Reduce, dtype, kind, args, component, across)

    def scan(
        self, kind: ScanKind | Combine, *args: Value, dtype: DType, component: int = 0
    ) -> Value:
        """A component of a running reduction along the nest's reduction axes."""
        return self._made(Scan, dtype, kind, args, component)

    def sort(self, arg: Value, descending: bool, component: int, limit: int | None = None) -> Value:
        """The values, or the positions, of a sort along the nest's reduction axes."""
        dtype = DType.I64 if component else arg.dtype
        return self._made(Sort, dtype, (arg,), descending, component, limit)


Made: TypeAlias = Mapping[int, Value]
"""Rewritten values by the identity of the value they stand for."""
Address: TypeAlias = Callable[[sympy.Expr], sympy.Expr]
"""Maps an old index expression to a new one."""
Replace: TypeAlias = Callable[[Value, Made], Value | None]
"""What takes a value's place, given its operands' replacements; None for the value itself,
made again from them."""


def rebuild(value: Value, made: Made, builder: Builder, address: Address) -> Value:
    """``value`` made again by ``builder`` from its operands in ``made``, with its index
    expression put through ``address``."""
    match value:
        case Constant():
            return builder.again(value)
        case Load() | IndexValue():
            index, indirect = address(value.index), bindings(value.indirect, made)
            return builder.again(value, index=index, indirect=indirect)
        case Compute() | Reduce() | Scan() | Sort():
            return builder.again(value, args=tuple(made[id(v)] for v in value.args))
        case Masked():
            other = made[id(value.other)]
            assert isinstance(other, Constant)
            return builder.masked(made[id(value.mask)], made[id(value.body)], other)
        case never:
            assert_never(never)


def bindings(indirect: Indirect, made: Made) -> Indirect:
    """``indirect`` with every value rewritten."""
    return tuple((symbol, made[id(v)]) for symbol, v in indirect)


def same_address(index: sympy.Expr) -> sympy.Expr:
    """``index`` as it is."""
    return index


def rewrite(
    roots: Iterable[Value],
    builder: Builder,
    address: Address = same_address,
    replace: Replace | None = None,
) -> Made:
    """Every value reachable from ``roots`` rewritten, operands before users."""
    made: dict[int, Value] = {}
    for value in walk(roots):
        new = None if replace is None else replace(value, made)
        made[id(value)] = rebuild(value, made, builder, address) if new is None else new
    return made


def rewrite_stores(
    stores: Iterable[Store],
    builder: Builder,
    address: Address = same_address,
    replace: Replace | None = None,
) -> tuple[Store, ...]:
    """``stores`` of rewritten values at rewritten places; see ``rewrite``."""
    stores = tuple(stores)
    made = rewrite(store_roots(stores), builder, address, replace)
    return tuple(
        dataclasses.replace(
            s,
            index=address(s.index),
            value=made[id(s.value)],
            indirect=bindings(s.indirect, made),
            mask=None if s.mask is None else made[id(s.mask)],
        )
        for s in stores
    )
