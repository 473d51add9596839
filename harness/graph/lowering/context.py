"""What every lowering rule may use: reading tensors at indices, making loads. The context owns the
value builder of one program, the numbering of indirect indices and the caches. It knows nothing of
nodes and buffers beyond their strides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import sympy

from harness.dtypes import DType
from harness.graph.lowering.scalar import Scalar
from harness.graph.lowering.tensor import Shape, Tensor, is_one, ranges_of
from harness.graph.model import CHECKED, Node
from harness.ir import index_bounds as ib
from harness.ir import nodes as ir
from harness.ir.index import axis_symbol, indirect_symbol
from harness.ir.ops import Op
from harness.ir.simplify import Simplifier
from harness.ir.value_bounds import value_bounds

Index = tuple[sympy.Expr, ...]
End: TypeAlias = "sympy.Expr | None"

_ORDERED = {Op.LT: (False, False), Op.GT: (True, False), Op.GE: (False, True), Op.LE: (True, True)}
"""Whether a comparison is that of its operands the other way round for less, and the opposite."""


@dataclass(slots=True)
class Context:
    """Shared by the rules of one program; not shared between programs. ``facts``: the graph's,
    which say what kernels assert. ``given``: the program's inputs, which are in memory whatever is
    fused, as its ``outputs`` will be. ``crossed``: nodes behind reductions across memory, with
    which no reduction along it shares a kernel. ``apart``: reductions to be written out. ``live``:
    the nodes that something needs."""

    builder: ir.Builder = field(default_factory=ir.Builder)
    facts: Collection[tuple[str, str]] = ()
    given: frozenset[str] = frozenset()
    outputs: frozenset[str] = frozenset()
    crossed: Callable[[], Collection[str]] = tuple
    apart: Callable[[Node], bool] = lambda _: False
    live: Sequence[Node] = ()
    _indirect: dict[sympy.Symbol, ir.Value] = field(default_factory=dict)
    _symbols: dict[int, sympy.Symbol] = field(default_factory=dict)
    _reads: dict[tuple[object, ...], ir.Value] = field(default_factory=dict)
    _simplifiers: dict[tuple[Shape, Shape], Simplifier] = field(default_factory=dict)

    @property
    def scalar(self) -> Scalar:
        """Scalar arithmetic."""
        return Scalar(self.builder)

    def simplifier(self, shape: Shape, rsizes: Shape = ()) -> Simplifier:
        """The simplifier of index expressions over a tensor of ``shape``."""
        key = (shape, rsizes)
        if key not in self._simplifiers:
            self._simplifiers[key] = Simplifier(ranges_of(shape, rsizes))
        return self._simplifiers[key]

    def indirect(self, value: ir.Value) -> sympy.Expr:
        """``value`` (an integer within range) as part of an index expression."""
        if isinstance(value, ir.Constant):
            return sympy.Integer(int(value.number))
        if isinstance(value, ir.IndexValue):
            return value.index
        if (symbol := self._symbols.get(id(value))) is None:
            symbol = self._symbols[id(value)] = indirect_symbol(len(self._symbols))
            self._indirect[symbol] = value
        return symbol

    def bindings(self, expr: sympy.Expr) -> ir.Indirect:
        """The indirect values that occur in ``expr``, in order of their numbers."""
        if not self._indirect:
            return ()
        found = [s for s in expr.free_symbols if s in self._indirect]
        found.sort(key=lambda s: int(s.name[1:]))
        return tuple((s, self._indirect[s]) for s in found)

    def load(self, buffer: str, index: sympy.Expr, dtype: DType) -> ir.Value:
        """The element of ``buffer`` at offset ``index``."""
        return self.builder.load(buffer, index, dtype, self.bindings(index))

    def index_value(self, expr: sympy.Expr, dtype: DType = DType.I64) -> ir.Value:
        """An index expression as a number of the compute type of ``dtype``."""
        indirect = self.bindings(expr)
        if not indirect:
            return self.scalar.index(expr, dtype)
        if len(indirect) == 1 and indirect[0][0] == expr:
            return self.scalar.cast(indirect[0][1], dtype)
        return self.scalar.cast(self.builder.index(expr, DType.I64, indirect), dtype)

    def read(self, tensor: Tensor, index: Index, shape: Shape, rsizes: Shape = ()) -> ir.Value:
        """``tensor`` at ``index``, which is written over the variables of a tensor of
        ``shape`` (and of a reduction over ``rsizes``)."""
        mapping = {
            axis_symbol("i", k): e
            for k, (e, n) in enumerate(zip(index, tensor.shape, strict=bool(tensor.shape)))
            if not is_one(n)
        }
        mapping = {s: e for s, e in mapping.items() if s is not e and s != e}
        value = tensor.value
        if mapping:
            value = self.substitute(value, mapping, self.simplifier(shape, rsizes))
        for at, size in zip(index, tensor.shape or (sympy.S.One,) * len(index), strict=True):
            asserted = [v for _, v in self.bindings(at) if isinstance(v, ir.Compute)]
            if is_one(size) and any(v.op is Op.IN_RANGE for v in asserted):
                # No variable stands for an index into one element, so that it would be lost.
                mask = self.scalar.compare(Op.EQ, self.index_value(at), 0)
                value = self.masked(mask, value, self.builder.constant(0, value.dtype))
        return value

    def substitute(
        self, root: ir.Value, mapping: Mapping[sympy.Symbol, sympy.Expr], simplifier: Simplifier
    ) -> ir.Value:
        """``root`` with variables replaced by expressions, indices simplified."""
        key = (id(root), id(simplifier), *mapping.items())
        if (known := self._reads.get(key)) is not None:
            return known

        def moved(value: ir.Load | ir.IndexValue, made: ir.Made) -> sympy.Expr:
            found = {symbol: self.indirect(made[id(v)]) for symbol, v in value.indirect}
            return simplifier.substitute(value.index, {**mapping, **found})

        def replace(value: ir.Value, made: ir.Made) -> ir.Value | None:
            match value:
                case ir.Load():
                    return self.load(value.buffer, moved(value, made), value.dtype)
                case ir.IndexValue():
                    return self.index_value(moved(value, made), value.dtype)
                case ir.Masked():
                    return self.masked(made[id(value.mask)], made[id(value.body)], value.other)
                case ir.Reduce():
                    raise AssertionError("a reduction is read only after it has a buffer")
                case ir.Compute():
                    args = [made[id(a)] for a in value.args]
                    return self.folded(value.op, args, value.dtype, simplifier)
                case ir.Constant() | ir.Scan() | ir.Sort():
                    return None

        self._reads[key] = ir.rewrite([root], self.builder, replace=replace)[id(root)]
        return self._reads[key]

    def masked(self, mask: ir.Value, body: ir.Value, other: ir.Constant) -> ir.Value:
        """``body`` where ``mask`` holds, else ``other``; decided masks disappear."""
        if isinstance(mask, ir.Constant):
            return body if mask.number else other
        return self.builder.masked(mask, body, other)

    def folded(
        self, op: Op, args: Sequence[ir.Value], dtype: DType, known: Simplifier
    ) -> ir.Value | None:
        """An operation's result if constants or, in a comparison, bounds of integers decide it."""
        if op in _ORDERED and args[0].dtype.is_integer:
            turned, opposite = _ORDERED[op]
            (low, high), (least, most) = (_ends(v, known) for v in (args[::-1] if turned else args))
            less = ib.less(high, least)
            if less or (low is not None and ib.less(most, low + 1)):
                return self.scalar.constant(less is not opposite, DType.BOOL)
        return self.scalar.folded(op, args, dtype)

    def compare(self, op: Op, left: ir.Value, right: ir.Value, known: Simplifier) -> ir.Value:
        """A comparison, or its outcome."""
        decided = self.folded(op, (left, right), DType.BOOL, known)
        return decided or self.builder.compute(op, left, right, dtype=DType.BOOL)

    def inside(
        self, expr: sympy.Expr, shape: Shape, low: End, high: End, rsizes: Shape = ()
    ) -> ir.Value:
        """Whether ``low <= expr < high``, where ``expr`` is over the variables of a tensor of
        ``shape`` (and of a reduction over ``rsizes``); an absent bound always holds. Compared in 32
        bits where that is known to be enough."""
        scalar, known = self.scalar, self.simplifier(shape, rsizes)
        bounds = [*known.bounds(expr), *(b for b in (low, high) if b is not None)]
        narrow = all(b is not None and b.is_Integer and abs(b) < 2**31 for b in bounds)
        dtype = DType.I32 if narrow else DType.I64
        result: ir.Value = scalar.constant(True, DType.BOOL)
        for op, bound in ((Op.GE, low), (Op.LT, high)):
            if bound is not None:
                here, there = self.index_value(expr, dtype), self.index_value(bound, dtype)
                result = scalar.both(result, self.compare(op, here, there, known))
        return result

    def position(
        self, value: ir.Value, size: sympy.Expr, shape: Shape, *, from_end: bool = False
    ) -> ir.Value:
        """An integer ``value`` over a tensor of ``shape`` as an index into a dimension of ``size``:
        nothing is out of range, and negative ones count ``from_end`` or are."""
        scalar, index = self.scalar, self.scalar.cast(value, DType.I64)
        zero, count, known = scalar.like(0, index), self.index_value(size), self.simplifier(shape)
        if from_end:
            negative = self.compare(Op.LT, index, zero, known)
            index = scalar.where(negative, scalar.add(index, count), index)
        ends = ((Op.GE, zero), (Op.LT, count))
        sure = scalar.both(*(self.compare(op, index, end, known) for op, end in ends))
        if CHECKED not in self.facts or (isinstance(sure, ir.Constant) and sure.number):
            return index
        return self.builder.compute(Op.IN_RANGE, index, count, dtype=DType.I64)


def _ends(value: ir.Value, known: Simplifier) -> tuple[ib.Bound, ib.Bound]:
    """Bounds of an integer, over sizes too if it is a position."""
    if isinstance(value, ir.IndexValue) and value.dtype is DType.I64:
        return known.bounds(value.index)
    low, high = value_bounds(value, known) or (0, 0)  # of integers they are known
    if isinstance(value, ir.Compute) and value.op is Op.MINIMUM:
        ends = (ib.tidy(_ends(arg, known)[1]) for arg in value.args)
        return int(low), next((e for e in ends if isinstance(e, sympy.Expr)), int(high))
    return int(low), int(high)
