"""The oracle: run a program with numpy.

Every nest is evaluated at once over its whole iteration space; values keep size 1
along axes they do not depend on. Buffers are flat storage arrays, addressed by the
same element offsets the kernels use, and no address outside them is ever touched.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.ir.index import FloorDiv, Mod
from harness.ir.nodes import (
    Combine,
    Compute,
    Constant,
    IndexValue,
    Indirect,
    Load,
    Masked,
    Nest,
    Reduce,
    Scan,
    ScanKind,
    Sort,
    Store,
    StoreMode,
    Value,
    operands,
    walk,
)
from harness.ir.ops import Op
from harness.ir.program import Buffer, Program, Role
from tests.ir import op_numpy, oracle_reductions
from tests.ir.meanings import MEANINGS
from tests.ir.op_numpy import Array, storage_type

Sizes = Mapping[sympy.Symbol, int]


def interpret(
    program: Program, inputs: Mapping[str, Array], sizes: Sizes | None = None, float64: bool = False
) -> dict[str, Array]:
    """Run ``program`` on ``inputs`` (by buffer name, each of its buffer's shape).

    Returns every buffer some nest wrote and every output, by name, each of its
    buffer's shape; 16- and 8-bit floats come as float32 on their own grid.
    ``sizes`` gives unknown sizes; those that are a dimension of an input are found.
    ``float64`` computes and stores every float as float64, unrounded. The inputs are
    not changed. Where nothing was written outputs hold NaN (integers: the least value).

    Raises ``InvalidProgram`` for a missing or misshapen input, an unknown size, or an
    access outside a buffer.
    """
    known = dict(sizes or {})
    for buffer in program.buffers:
        if buffer.role is Role.INPUT:
            _learn_sizes(buffer, inputs, known)
    machine = _Machine(known, float64, {})
    for buffer in program.buffers:
        given = inputs.get(buffer.name) if buffer.role is Role.INPUT else None
        machine.buffers[buffer.name] = buffer, machine.new_storage(buffer, given)
    written: set[str] = set()
    for nest in program.nests:
        machine.run(nest)
        written.update(s.buffer for s in nest.stores)
    wanted = written.union(program.outputs)
    return {b.name: machine.shaped(b.name).copy() for b in program.buffers if b.name in wanted}


def make_storage(
    values: Array, stride: Sequence[int], extent: int, dtype: DType, float64: bool = False
) -> Array:
    """A flat array of ``extent`` elements laid out by ``stride`` that holds ``values``,
    rounded to ``dtype``; elements between are poisoned."""
    kind = storage_type(dtype, float64)
    storage = np.full(extent, _poison(kind), dtype=kind)
    values = np.asarray(values)
    held = (
        values.astype(kind) if float64 or not dtype.is_float else _rounded(values, dtype, float64)
    )
    view_storage(storage, values.shape, stride)[...] = held
    return storage


def view_storage(storage: Array, shape: Sequence[int], stride: Sequence[int]) -> Array:
    """Flat ``storage`` as an array of ``shape`` with ``stride`` in elements (a view)."""
    if 0 in shape:
        return np.empty(tuple(shape), dtype=storage.dtype)
    steps = tuple(s * storage.itemsize for s in stride)
    return np.lib.stride_tricks.as_strided(storage, tuple(shape), steps)


def _poison(kind: np.dtype[Any]) -> float | int | bool:
    if kind.kind == "f":
        return float("nan")
    return True if kind.kind == "b" else int(np.iinfo(kind).min)


def _rounded(values: Array, dtype: DType, float64: bool) -> Array:
    """``values`` as a store to a buffer of ``dtype`` keeps them."""
    kind = storage_type(dtype, float64)
    if dtype.is_float and not float64:
        values = op_numpy.round_to_float(values, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(kind)


def _learn_sizes(
    buffer: Buffer, inputs: Mapping[str, Array], known: dict[sympy.Symbol, int]
) -> None:
    given = inputs.get(buffer.name)
    if given is None or np.ndim(given) != len(buffer.shape):
        raise InvalidProgram(
            "an input is missing or has the wrong rank",
            where=buffer.name,
            got="nothing" if given is None else f"shape {np.shape(given)}",
            expected=f"shape {tuple(map(str, buffer.shape))}",
        )
    for size, actual in zip(buffer.shape, np.shape(given), strict=True):
        if size.is_Symbol:
            known.setdefault(size, actual)


Context = tuple[int, ...]
"""The masks (by identity) under which a value is evaluated, outermost first."""


@dataclass(slots=True)
class _Machine:
    """Memory and settings of one run."""

    sizes: Sizes
    float64: bool
    buffers: dict[str, tuple[Buffer, Array]]

    def number(self, expr: sympy.Expr, where: str) -> int:
        """A size as a number."""
        value = sympy.sympify(expr).xreplace({s: sympy.Integer(n) for s, n in self.sizes.items()})
        if not value.is_Integer:
            raise InvalidProgram(
                "a size is not known",
                where=where,
                got=str(value),
                expected="a number",
                remedy="pass sizes= with a value for each size symbol",
            )
        return int(value)

    def new_storage(self, buffer: Buffer, given: Array | None) -> Array:
        shape = tuple(self.number(n, buffer.name) for n in buffer.shape)
        stride = tuple(self.number(s, buffer.name) for s in buffer.stride)
        extent = 0 if 0 in shape else self.number(buffer.extent, buffer.name)
        if given is None:
            kind = storage_type(buffer.dtype, self.float64)
            return np.full(extent, _poison(kind), dtype=kind)
        if np.shape(given) != shape:
            raise InvalidProgram(
                "an input has the wrong shape",
                where=buffer.name,
                got=str(np.shape(given)),
                expected=str(shape),
            )
        return make_storage(given, stride, extent, buffer.dtype, self.float64)

    def shaped(self, name: str) -> Array:
        buffer, storage = self.buffers[name]
        shape = tuple(self.number(n, name) for n in buffer.shape)
        return view_storage(storage, shape, tuple(self.number(s, name) for s in buffer.stride))

    def lookup(self, name: str, where: str) -> tuple[Buffer, Array]:
        if name not in self.buffers:
            raise InvalidProgram(
                "a nest names a buffer that does not exist",
                where=where,
                got=name,
                expected=", ".join(self.buffers),
            )
        return self.buffers[name]

    def run(self, nest: Nest) -> None:
        """Evaluate all values of ``nest``, then store them."""
        evaluator = _Evaluator(self, nest)
        with np.errstate(all="ignore"):
            pending = [evaluator.prepare(store) for store in nest.stores]
        for store, index, value, mask in pending:
            buffer, storage = self.lookup(store.buffer, nest.name)
            flat = _rounded(value, buffer.dtype, self.float64)[mask]
            where = index[mask]
            if store.mode is StoreMode.ATOMIC_ADD:
                np.add.at(storage, where, flat)
                storage[where] = _rounded(storage[where], buffer.dtype, self.float64)
            elif store.mode is StoreMode.ATOMIC_MAX:
                np.maximum.at(storage, where, flat)
            else:
                storage[where] = flat


@dataclass(slots=True)
class _Evaluator:
    """Values of one nest as arrays over its axes followed by its reduction axes."""

    machine: _Machine
    nest: Nest
    _shape: tuple[int, ...] = field(init=False)
    _loops: dict[sympy.Symbol, Array] = field(init=False)
    _values: dict[tuple[int, Context], Array] = field(default_factory=dict)
    _masks: dict[Context, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        axes = (*self.nest.axes, *self.nest.raxes)
        self._shape = tuple(self.machine.number(a.size, self.nest.name) for a in axes)
        self._loops = {}
        for position, (axis, n) in enumerate(zip(axes, self._shape, strict=True)):
            dims = [1] * len(axes)
            dims[position] = n
            self._loops[axis.var] = np.arange(n, dtype=np.int64).reshape(dims)

    def prepare(self, store: Store) -> tuple[Store, Array, Array, Array]:
        """The store with its offsets, its values and where it happens, over all parallel points
        (all points of a scan)."""
        parallel = len(self._shape) if self.nest.is_scan else len(self.nest.axes)
        shape = self._shape[:parallel] + (1,) * (len(self._shape) - parallel)
        value = self.evaluate(store.value)
        index = self._index(store.index, store.indirect, ())
        mask = np.ones((1,) * len(self._shape), bool)
        if store.mask is not None:
            mask = self.evaluate(store.mask)
        where = f"{self.nest.name}: store to {store.buffer}"
        for array in (value, index, mask):
            if any(d != 1 for d in array.shape[parallel:]):
                raise InvalidProgram(
                    "a store depends on the reduction axes",
                    where=where,
                    got=f"an array of shape {array.shape}",
                    expected="the parallel axes alone",
                )
        _, storage = self.machine.lookup(store.buffer, where)
        _check_range(index, storage, mask, where)
        over = (np.broadcast_to(array, shape) for array in (index, value, mask))
        return store, *over  # type: ignore[return-value]

    def evaluate(self, root: Value) -> Array:
        """The array of ``root``; iterative, because programs are deep."""
        stack: list[tuple[Value, Context]] = [(root, ())]
        while stack:
            value, context = stack[-1]
            if (id(value), context) in self._values:
                stack.pop()
                continue
            waiting = [
                w for w in self._needs(value, context) if (id(w[0]), w[1]) not in self._values
            ]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            self._values[id(value), context] = self._compute(value, context)
            stack.pop()
        return self._values[id(root), ()]

    def _needs(self, value: Value, context: Context) -> list[tuple[Value, Context]]:
        match value:
            case Masked(mask=mask, body=body):
                if (id(mask), context) not in self._values:
                    return [(mask, context)]
                inner = (*context, id(mask))
                if inner not in self._masks:
                    outer = self._masks.get(context)
                    own = self._values[id(mask), context].astype(bool)
                    self._masks[inner] = own if outer is None else outer & own
                return [(body, inner)]
            case Constant() | Load() | IndexValue() | Compute() | Reduce() | Scan() | Sort():
                return [(v, context) for v in operands(value)]

    def _compute(self, value: Value, context: Context) -> Array:
        kind = storage_type(value.dtype, self.machine.float64)
        match value:
            case Constant():
                return np.full((1,) * len(self._shape), value.number, dtype=kind)
            case Load():
                return self._load(value, context)
            case IndexValue():
                return self._index(value.index, value.indirect, context).astype(kind)
            case Masked(mask=mask, body=body, other=other):
                inside = self._values[id(body), (*context, id(mask))]
                mask_array = self._values[id(mask), context].astype(bool)
                return np.where(mask_array, inside, np.asarray(other.number).astype(kind))
            case Compute():
                return self._operation(value, [self._values[id(a), context] for a in value.args])
            case Reduce() | Scan() | Sort():
                return self._reduce(value, context)

    def _operation(self, value: Compute, args: list[Array]) -> Array:
        if value.op is Op.CAST:
            made = op_numpy.cast(args[0], value.dtype, self.machine.float64)
            if self.machine.float64 or value.dtype.compute is value.dtype:
                return made
            return op_numpy.round_to_float(made, value.dtype)
        if value.op is Op.BITCAST:
            return op_numpy.bitcast(args[0], value.args[0].dtype, value.dtype, self.machine.float64)
        result = np.asarray(MEANINGS[value.op].meaning(*args))
        return result.astype(storage_type(value.dtype, self.machine.float64), copy=False)

    def _load(self, load: Load, context: Context) -> Array:
        where = f"{self.nest.name}: load from {load.buffer}"
        buffer, storage = self.machine.lookup(load.buffer, where)
        index = self._index(load.index, load.indirect, context)
        mask = self._masks.get(context)
        kind = storage_type(buffer.dtype.compute, self.machine.float64)
        if mask is None:
            _check_range(index, storage, np.ones((), dtype=bool), where)
            return storage[index].astype(kind, copy=False)
        _check_range(index, storage, mask, where)
        if not storage.size:
            return np.zeros(np.broadcast_shapes(index.shape, mask.shape), dtype=kind)
        return storage[np.where(mask, index, 0)].astype(kind, copy=False)

    def _index(self, expr: sympy.Expr, indirect: Indirect, context: Context) -> Array:
        scope: dict[sympy.Symbol, Array] = dict(self._loops)
        for symbol, bound in indirect:
            if (id(bound), context) not in self._values:
                self._values[id(bound), context] = self.evaluate(bound)
            scope[symbol] = self._values[id(bound), context].astype(np.int64)
        scope.update({s: np.asarray(n, dtype=np.int64) for s, n in self.machine.sizes.items()})
        result = np.asarray(evaluate_index(expr, scope), dtype=np.int64)
        return result.reshape((1,) * len(self._shape)) if result.ndim == 0 else result

    def _reduce(self, value: Reduce | Scan | Sort, context: Context) -> Array:
        parallel = len(self.nest.axes)
        dims = self._shape[parallel:]
        args: list[Array] = []
        for operand in value.args:
            array = self._values[id(operand), context]
            args.append(np.broadcast_to(array, array.shape[:parallel] + dims))
        shape = np.broadcast_shapes(*(a.shape for a in args))
        flat = [np.broadcast_to(a, shape).reshape(*shape[:parallel], -1) for a in args]
        mask = self._masks.get(context)
        if mask is not None and any(d != 1 for d in mask.shape[parallel:]):
            raise InvalidProgram(
                "a reduction stands under a mask that varies along its axes",
                where=self.nest.name,
                expected="the mask inside the reduction's operand",
            )
        kind = storage_type(value.dtype, self.machine.float64)
        match value:
            case Reduce():
                result = oracle_reductions.reduce(value.kind, flat, value.component).astype(kind)
                return result.reshape(*result.shape, *(1 for _ in dims))
            case Scan(kind=Combine() as function):
                result = self._by_function(function, flat)[value.component]
                return result.astype(kind).reshape(*shape[:parallel], *dims)
            case Scan(kind=ScanKind() as how):
                result = oracle_reductions.scan(how, flat[0], value.component)
                return result.astype(kind).reshape(*shape[:parallel], *dims)
            case Sort():
                result = oracle_reductions.sort(flat[0], value.descending, value.component)
                return result.astype(kind).reshape(*shape[:parallel], *dims)

    def _by_function(self, function: Combine, rows: list[Array]) -> list[Array]:
        """The scan of rows, which lie along the last axis, one element after the other."""
        found = [[row[..., 0] for row in rows]]
        for at in range(1, rows[0].shape[-1]):
            given = [*found[-1], *(row[..., at] for row in rows)]
            made = {id(p): v for p, v in zip(function.parameters, given, strict=True)}
            for part in walk(function.results):
                kind = storage_type(part.dtype, self.machine.float64)
                if isinstance(part, Constant):
                    made[id(part)] = np.asarray(part.number).astype(kind)
                elif isinstance(part, Compute):
                    made[id(part)] = self._operation(part, [made[id(a)] for a in part.args])
            found.append([np.broadcast_to(made[id(r)], given[0].shape) for r in function.results])
        return [np.stack(parts, axis=-1) for parts in zip(*found, strict=True)]


def _check_range(index: Array, storage: Array, mask: Array, where: str) -> None:
    """Raise if an offset that is used lies outside the storage."""
    wrong = ((index < 0) | (index >= storage.size)) & mask
    if np.any(wrong):
        first = int(np.broadcast_to(index, wrong.shape)[wrong][0])
        raise InvalidProgram(
            "an access lies outside its buffer",
            where=where,
            got=f"offset {first} ({int(wrong.sum())} such)",
            expected=f"0 to {storage.size - 1}",
        )


_INDEX_FUNCTIONS: tuple[tuple[type, Callable[[Array, Array], Array]], ...] = (
    (sympy.Add, np.add),
    (sympy.Mul, np.multiply),
    (sympy.Pow, np.power),
    (FloorDiv, np.floor_divide),
    (Mod, np.remainder),
    (sympy.Max, np.maximum),
    (sympy.Min, np.minimum),
)


def evaluate_index(expr: sympy.Expr, scope: Mapping[sympy.Symbol, Array]) -> Array:
    """An index expression over arrays of int64, with floor division and modulo.

    Raises ``InvalidProgram`` for a symbol that is not in ``scope``.
    """
    if expr.is_Integer:
        return np.asarray(int(expr), dtype=np.int64)
    if expr.is_Symbol:
        if expr not in scope:
            raise InvalidProgram(
                "an index uses an unknown variable",
                where=str(expr),
                expected=", ".join(sorted(s.name for s in scope)),
            )
        return scope[expr]
    args = [evaluate_index(a, scope) for a in expr.args]
    for kind, function in _INDEX_FUNCTIONS:
        if isinstance(expr, kind):
            return functools.reduce(function, args)
    raise InvalidProgram("an index has an operation that indices cannot have", got=str(expr))
