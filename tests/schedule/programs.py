"""Programs built by hand, and a small numpy evaluator to compare them by.

``Maker`` writes nests the way lowering does: every tensor of a rank is indexed by the
same loop variables ``i0, i1, …``; a reduction reduces the last or any dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import sympy

from harness.dtypes import DType
from harness.ir.index import FloorDiv, Mod, axis_symbol
from harness.ir.nodes import (
    Axis,
    Builder,
    Compute,
    Constant,
    IndexValue,
    Load,
    Masked,
    Nest,
    Reduce,
    ReduceKind,
    Store,
    StoreMode,
    Value,
    points,
    store_roots,
    walk,
)
from harness.ir.ops import Op
from harness.ir.program import Buffer, Program, Role
from harness.schedule.group import FusedGroup, Schedule, SegmentKind
from harness.schedule.memory import traffic
from tests.ir.oracle import interpret, make_storage

F32 = DType.F32


@dataclass
class Tensor:
    """A buffer's name with its sizes and strides, from the element ``offset`` on."""

    name: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0

    def permuted(self, *order: int) -> Tensor:
        """The view with dimensions in another order."""
        return Tensor(
            self.name, tuple(self.shape[k] for k in order), tuple(self.stride[k] for k in order)
        )

    def expanded(self, shape: Sequence[int]) -> Tensor:
        """The view broadcast to ``shape``."""
        lead = len(shape) - len(self.shape)
        own = (1,) * lead + self.shape
        steps = (0,) * lead + self.stride
        stride = tuple(0 if n != m else s for n, m, s in zip(own, shape, steps, strict=True))
        return Tensor(self.name, tuple(shape), stride, self.offset)

    def viewed(self, *shape: int) -> Tensor:
        """A contiguous tensor under another shape."""
        assert self.stride == row_major(self.shape)
        return Tensor(self.name, shape, row_major(shape))


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous tensor."""
    stride, strides = 1, []
    for n in reversed(shape):
        strides.append(stride)
        stride *= n
    return tuple(reversed(strides))


@dataclass
class Maker:
    """Builds a program nest by nest."""

    builder: Builder = field(default_factory=Builder)
    buffers: list[Buffer] = field(default_factory=list)
    nests: list[Nest] = field(default_factory=list)
    mutated: list[str] = field(default_factory=list)

    def buffer(
        self,
        name: str,
        shape: Sequence[int],
        role: Role,
        dtype: DType = F32,
        stride: Sequence[int] | None = None,
    ) -> Tensor:
        """Declare a buffer."""
        steps = tuple(stride) if stride is not None else row_major(shape)
        sizes = tuple(sympy.Integer(n) for n in shape)
        self.buffers.append(
            Buffer(name, dtype, sizes, tuple(sympy.Integer(s) for s in steps), role, name)
        )
        return Tensor(name, tuple(shape), steps)

    def input(self, name: str, *shape: int, stride: Sequence[int] | None = None) -> Tensor:
        """Declare an input."""
        return self.buffer(name, shape, Role.INPUT, stride=stride)

    def _dtype(self, name: str) -> DType:
        return next(b.dtype for b in self.buffers if b.name == name)

    def _load(self, tensor: Tensor, loops: Sequence[sympy.Symbol]) -> Value:
        steps = (s * v for s, v in zip(tensor.stride, loops, strict=True))
        index = sum(steps, sympy.Integer(tensor.offset))
        return self.builder.load(tensor.name, sympy.sympify(index), self._dtype(tensor.name))

    def op(self, op: Op, *args: Value) -> Value:
        """A float32 operation."""
        return self.builder.compute(op, *args, dtype=F32)

    def number(self, number: float) -> Value:
        """A float32 constant."""
        return self.builder.constant(number, F32)

    def pointwise(
        self,
        name: str,
        inputs: Sequence[Tensor],
        compute: Callable[..., Value],
        shape: Sequence[int] | None = None,
        role: Role = Role.TEMPORARY,
        out: Tensor | None = None,
        dtype: DType = F32,
        stride: Sequence[int] | None = None,
    ) -> Tensor:
        """A nest over ``shape`` that stores ``compute(*loads)``."""
        sizes = tuple(shape if shape is not None else inputs[0].shape)
        loops = [axis_symbol("i", k) for k in range(len(sizes))]
        loads = [self._load(t.expanded(sizes), loops) for t in inputs]
        target = out or self.buffer(name, sizes, role, dtype, stride)
        index = sum((s * v for s, v in zip(target.stride, loops, strict=True)), sympy.S.Zero)
        axes = tuple(Axis(v, sympy.Integer(n)) for v, n in zip(loops, sizes, strict=True))
        store = Store(target.name, sympy.sympify(index), compute(*loads))
        self.nests.append(Nest(f"n{len(self.nests)}", axes, (), (store,), (name,)))
        if any(b.name == target.name and b.role is Role.INPUT for b in self.buffers):
            self.mutated.append(target.name)
        return target

    def reduce(
        self,
        name: str,
        kind: ReduceKind,
        inputs: Sequence[Tensor],
        compute: Callable[..., Value],
        dims: Sequence[int],
        components: Sequence[int] = (0,),
        role: Role = Role.TEMPORARY,
    ) -> list[Tensor]:
        """A nest that reduces ``compute(*loads)`` over ``dims``; one buffer per component."""
        shape = inputs[0].shape
        loops: list[sympy.Symbol] = []
        counts = {"i": 0, "r": 0}
        for k in range(len(shape)):
            prefix = "r" if k in dims else "i"
            loops.append(axis_symbol(prefix, counts[prefix]))
            counts[prefix] += 1
        loads = [self._load(t.expanded(shape), loops) for t in inputs]
        value = compute(*loads)
        axes, raxes = [], []
        for k, (v, n) in enumerate(zip(loops, shape, strict=True)):
            (raxes if k in dims else axes).append(Axis(v, sympy.Integer(n)))
        kept = [n for k, n in enumerate(shape) if k not in dims]
        stores, tensors = [], []
        for component in components:
            label = name if len(components) == 1 else f"{name}_{component}"
            dtype = DType.I64 if kind in (ReduceKind.ARGMAX, ReduceKind.ARGMIN) else F32
            target = self.buffer(label, kept, role, dtype)
            index = sum((s * a.var for s, a in zip(target.stride, axes, strict=True)), sympy.S.Zero)
            made = self.builder.reduce(kind, value, dtype=dtype, component=component)
            stores.append(Store(label, sympy.sympify(index), made))
            tensors.append(target)
        self.nests.append(
            Nest(f"n{len(self.nests)}", tuple(axes), tuple(raxes), tuple(stores), (name,))
        )
        return tensors

    def program(self, *outputs: Tensor) -> Program:
        """The program; ``outputs`` become output buffers."""
        names = {t.name for t in outputs}
        buffers = tuple(
            Buffer(b.name, b.dtype, b.shape, b.stride, Role.OUTPUT, b.node)
            if b.name in names and b.role is Role.TEMPORARY
            else b
            for b in self.buffers
        )
        return Program(
            "test",
            buffers,
            tuple(self.nests),
            tuple(t.name for t in outputs),
            tuple(dict.fromkeys(self.mutated)),
        )


def column(tensor: Tensor) -> Tensor:
    """A reduction's result as a column, to be broadcast along the last dimension."""
    return Tensor(tensor.name, (*tensor.shape, 1), (*tensor.stride, 0))


_NUMPY: dict[Op, Callable[..., np.ndarray]] = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.TRUE_DIV: np.divide,
    Op.EXP: np.exp,
    Op.LOG: np.log,
    Op.SQRT: np.sqrt,
    Op.RSQRT: lambda a: 1 / np.sqrt(a),
    Op.TANH: np.tanh,
    Op.ABS: np.abs,
    Op.MAXIMUM: np.maximum,
    Op.SIN: np.sin,
    Op.LT: np.less,
    Op.WHERE: np.where,
    Op.NEG: np.negative,
    Op.CAST: lambda a: np.asarray(a, dtype=np.float64),
}


def _address(expr: sympy.Expr, at: dict[sympy.Symbol, np.ndarray]) -> np.ndarray:
    if expr.is_Integer:
        return np.asarray(int(expr))
    if expr.is_Symbol:
        return at[expr]
    args = [_address(a, at) for a in expr.args]
    if isinstance(expr, FloorDiv):
        return args[0] // args[1]
    if isinstance(expr, Mod):
        return args[0] % args[1]
    total = args[0]
    for arg in args[1:]:
        total = total + arg if expr.is_Add else total * arg
    return total


def _reduced(value: Reduce, x: np.ndarray, over: tuple[int, ...]) -> np.ndarray:
    kept = x.shape[: len(x.shape) - len(over)]
    x = x.reshape(*kept, -1)
    match value.kind, value.component:
        case ReduceKind.SUM, _:
            return x.sum(-1)
        case ReduceKind.MAX, _:
            return x.max(-1)
        case ReduceKind.ARGMAX, _:
            return x.argmax(-1)
        case ReduceKind.WELFORD, 0:
            return x.mean(-1)
        case ReduceKind.WELFORD, 1:
            return ((x - x.mean(-1, keepdims=True)) ** 2).sum(-1)
        case _:
            raise NotImplementedError(value.kind)


def run_nest(nest: Nest, memory: dict[str, np.ndarray]) -> None:
    """Execute one nest in float64."""
    every = (*nest.axes, *nest.raxes)
    sizes = tuple(int(a.size) for a in every)
    grids = np.meshgrid(*(np.arange(n) for n in sizes), indexing="ij")
    at = {a.var: g for a, g in zip(every, grids, strict=True)}
    over = tuple(range(len(nest.axes), len(every)))
    made: dict[int, np.ndarray] = {}
    for value in walk(store_roots(nest.stores)):
        made[id(value)] = _evaluate(value, made, at, memory, sizes, over)
    reducing = any(isinstance(v, Reduce) for v in walk(store_roots(nest.stores)))
    kept = sizes[: len(nest.axes)] if reducing else sizes
    # stores of a reduction run over the parallel loops only
    first = {v: g[(..., *(0,) * len(over))] for v, g in at.items()} if reducing else at
    for store in nest.stores:
        local = dict(first)
        local.update((s, made[id(v)]) for s, v in store.indirect)
        index = np.broadcast_to(_address(store.index, local), kept)
        content = np.broadcast_to(made[id(store.value)], kept)
        if store.mode is StoreMode.ATOMIC_ADD:
            np.add.at(memory[store.buffer], index, content)
        elif store.mode is StoreMode.ATOMIC_MAX:
            np.maximum.at(memory[store.buffer], index, content)
        else:
            memory[store.buffer][index] = content


def _evaluate(
    value: Value,
    made: dict[int, np.ndarray],
    at: dict[sympy.Symbol, np.ndarray],
    memory: dict[str, np.ndarray],
    sizes: tuple[int, ...],
    over: tuple[int, ...],
) -> np.ndarray:
    match value:
        case Constant():
            return np.asarray(value.number)
        case Load(buffer=buffer, index=index, indirect=indirect):
            where = {**at, **{s: made[id(v)].astype(int) for s, v in indirect}}
            content = memory[buffer]
            return content[np.clip(_address(index, where), 0, len(content) - 1)]
        case IndexValue(index=index):
            return _address(index, at)
        case Compute(op=op, args=args):
            return _NUMPY[op](*(made[id(a)] for a in args))
        case Masked(mask=mask, body=body, other=other):
            return np.where(made[id(mask)], made[id(body)], other.number)
        case Reduce(args=args):
            return _reduced(value, np.broadcast_to(made[id(args[0])], sizes), over)


def execute(made: Schedule, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Run the kernels as an executor would: memory comes and goes and is reused in place;
    what is new, and what nobody needs any more, is poisoned."""
    used = [traffic(g.nests, g.internal) for g in made.groups]
    last = {n: k for k, one in enumerate(used) for n in (*one.reads, *one.writes)}
    buffers = {b.name: b for b in made.program.buffers}
    memory = {
        name: make_storage(
            content,
            tuple(map(int, buffers[name].stride)),
            int(buffers[name].extent),
            buffers[name].dtype,
            float64=True,
        )
        for name, content in inputs.items()
    }
    for number, group in enumerate(made.groups):
        for name in (*used[number].writes, *sorted(group.internal)):
            if name not in memory:
                memory[name] = np.full(int(buffers[name].extent), np.nan)
        memory.update((new, memory[old]) for new, old in group.in_place)
        for nest in group.nests:
            run_nest(nest, memory)
        for name in [n for n in memory if last.get(n, number) == number]:
            if buffers[name].role is Role.TEMPORARY and name not in made.program.outputs:
                del memory[name]
    return {
        name: np.lib.stride_tricks.as_strided(
            memory[name],
            tuple(map(int, buffers[name].shape)),
            tuple(memory[name].itemsize * int(s) for s in buffers[name].stride),
        )
        for name in (*made.program.outputs, *made.program.mutated)
    }


def random_inputs(program: Program, seed: int = 0) -> dict[str, np.ndarray]:
    """Fresh contents of every input."""
    generator = np.random.default_rng(seed)
    return {
        b.name: generator.uniform(0.5, 2.0, tuple(map(int, b.shape)))
        for b in program.buffers
        if b.role is Role.INPUT
    }


def assert_same(program: Program, made: Schedule, seed: int = 0) -> None:
    """The schedule's kernels, one after another, compute what the program computes."""
    inputs = random_inputs(program, seed)
    expected = interpret(program, inputs, float64=True)
    got = execute(made, inputs)
    for name in (*program.outputs, *program.mutated):
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)
    for group in made.groups:
        assert_shared_loops(group)


def assert_shared_loops(group: FusedGroup) -> None:
    """All nests of a kernel have its loops."""
    for segment in group.segments:
        for nest in segment.nests:
            assert points(nest.axes) == group.numel
            assert points(nest.raxes) == (group.rnumel if segment.kind is SegmentKind.LOOP else 1)
    assert len({n.axes for n in group.nests}) == 1


def layers(group: FusedGroup) -> list[tuple[SegmentKind, list[str]]]:
    """A kernel's segments as (kind, what each nest makes)."""
    return [(s.kind, [n.origins[0] for n in s.nests]) for s in group.segments]
