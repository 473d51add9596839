"""Scans and sorts: what a point is depends on the others along one dimension.

A sort yields whole rows. Where everybody who uses one takes a part of it (the largest 50, the
median), only that part is stored: the first ``k`` by a sort that stores ``k`` elements, a
single one by a reduction over the sorted row. A scan that is only used backwards (the
gradient of a running sum) is stored backwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy

from harness.dtypes import DType
from harness.graph.calltext import SCAN_BY_FUNCTION, combine_of
from harness.graph.lowering.rule import MISSING, Call, Rule, Rules
from harness.graph.lowering.tensor import Lowered, Reduced, Scanned, Tensor, canonical, is_one
from harness.graph.model import Graph, Node, Ref, TensorType, ValueType
from harness.ir import nodes as ir
from harness.ir.index import axis_symbol
from harness.ir.ops import Op

LONGEST_SORT = 1024
"""Elements of a row that one program sorts: what one warp holds in its registers. Measured on an
H200, 4M float32 elements in rows of 64, 256, 1024 and 4096 take 36, 58, 100 and 411 µs here and
412, 388, 150 and 146 µs in torch: beyond one warp, elements change places through shared memory."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A tensor along one dimension: its value where ``r0`` stands for that dimension's index."""

    call: Call
    dim: int
    size: sympy.Expr
    value: ir.Value

    def finish(self, value: ir.Value, position: int = 0) -> Scanned | Tensor:
        """The node's result number ``position``, of this row's ``value``."""
        kind = self.call.result_type(position)
        converted = self.call.scalar.cast(value, kind.dtype)
        if is_one(self.size):
            return Tensor(kind.shape, kind.dtype, converted)
        return Scanned(kind.shape, converted, self.dim, self.size)

    def scan(self, kind: ir.ScanKind, component: int = 0) -> ir.Value:
        """A component of a scan of the row."""
        dtype = DType.I64 if component else self.value.dtype
        if is_one(self.size):
            return self.call.scalar.constant(0, dtype) if component else self.value
        return self.call.context.builder.scan(kind, self.value, dtype=dtype, component=component)


def _row(call: Call, dtype: DType | None, dim_at: int, default: object = MISSING) -> _Row:
    """The first argument along the dimension in argument ``dim_at``, converted to ``dtype`` or
    to be ranked: what is equal in 16 bits is a tie, as in eager mode."""
    tensor = call.tensor(0)
    return _along(call, tensor, dtype, call.dim(dim_at, "dim", tensor.rank, default))


def _along(call: Call, tensor: Tensor, dtype: DType | None, dim: int) -> _Row:
    size = tensor.shape[dim] if tensor.rank else sympy.S.One
    shape = call.result_type(0).shape  # which may know a size of one that the operand's leaves open
    index = list(canonical(shape))
    if not is_one(size):
        index[dim] = axis_symbol("r", 0)
    value = call.read(tensor, tuple(index), shape, (size,))
    ranked = call.rounded(value, tensor.dtype)
    return _Row(call, dim, size, ranked if dtype is None else call.scalar.cast(value, dtype))


def cumulative(kind: ir.ScanKind) -> Rule:
    """``cumsum``, ``cumprod`` (integers in int64), ``logcumsumexp``."""

    def lower(call: Call) -> Lowered:
        if call.dtype is DType.BOOL:
            raise call.reject("a scan of truth values", "numbers")
        row = _row(call, call.dtype, 1)
        if not call.dtype.is_float:
            row = replace(row, value=call.scalar.cast(row.value, DType.I64))
        return row.finish(row.scan(kind))

    return Rule(lower, partial=True)


def extreme(kind: ir.ScanKind) -> Rule:
    """``cummax`` and ``cummin``: values and their positions."""

    def lower(call: Call) -> Lowered:
        # Truth values have no order: they are compared as numbers.
        truth = call.tensor(0).dtype is DType.BOOL
        row = _row(call, DType.I32 if truth else None, 1)
        return row.finish(row.scan(kind), 0), row.finish(row.scan(kind, 1), 1)

    return Rule(lower)


def associative(call: Call) -> Lowered:
    """``harness.associative_scan``: by the function that it brings along, all operands at once.
    Triton's scans take functions of elements alone: what is captured is scanned along, and two
    elements' is the later one's."""
    function, shape = combine_of(call.node), call.result_type(0).shape
    assert function is not None
    xs, captured = call.tensors(0), call.tensors(2) if call.node.args[2:] else []
    count, given = len(xs), len(function.inputs) - len(captured)
    varies = any(tensor.rank >= len(shape) for tensor in captured)
    if varies or (given, len(function.results)) != (2 * count, count):
        raise call.reject("a function of other operands", "one of two elements of each tensor")
    xs += [Tensor(shape, tensor.dtype, call.broadcast(tensor, shape)) for tensor in captured]
    rows = [_along(call, tensor, _carried(tensor.dtype), 0) for tensor in xs]
    values, scan = [row.value for row in rows], call.context.builder.scan
    if not is_one(rows[0].size):
        combine, kinds = _combine(call, function, count), [value.dtype for value in values]
        values = [scan(combine, *values, dtype=kind, component=n) for n, kind in enumerate(kinds)]
    return tuple(rows[n].finish(value, n) for n, value in enumerate(values[:count]))


def _carried(dtype: DType) -> DType:
    """The type that elements of ``dtype`` have between two calls of a function."""
    whole = DType.I64 if dtype is DType.I64 else DType.I32
    return dtype.compute if dtype.is_float else whole


def _combine(call: Call, function: Graph, count: int) -> ir.Combine:
    """The graph of a function of ``count`` operands and what it captures as one of the kernel."""
    scalar, given = call.scalar, []
    types, tensors = {item.name: item.type for item in function.inputs}, {}
    for name, kind in types.items():
        loaded = call.context.builder.load(name, sympy.S.Zero, _carried(kind.dtype), stored=True)
        assert isinstance(loaded, ir.Load)
        given.append(loaded)
        tensors[name] = Tensor(kind.shape, kind.dtype, scalar.cast(loaded, kind.dtype))
    for node in function.nodes:
        rule = call.rules.get(node.op)
        inner = Call(call.context, node, tensors, types, call.rules)
        found = None if rule is None else rule.lower(inner)
        if not isinstance(found, Tensor):
            raise call.reject(f"{node.op} in a scan's function", "what is done element by element")
        tensors[node.name], types[node.name] = found, inner.type
    pairs = zip(function.results, given, strict=False)
    results = (scalar.cast(tensors[name].value, one.dtype) for name, one in pairs)
    captured = given[2 * count :]
    return ir.Combine((*given[:count], *captured, *given[count:]), (*results, *captured))


def sort(call: Call) -> Lowered:
    """``sort.stable``: values and the positions that they had."""
    row = _row(call, None, len(call.node.args), -1)
    if not row.size.is_Integer or int(row.size) > LONGEST_SORT:
        raise call.reject(f"rows of {row.size}", f"rows of at most {LONGEST_SORT} elements")
    if is_one(row.size):
        return row.finish(row.value, 0), row.finish(call.scalar.constant(0, DType.I64), 1)
    builder, descending = call.context.builder, call.flag(2, "descending")
    parts = [builder.sort(row.value, descending, component) for component in (0, 1)]
    return row.finish(parts[0], 0), row.finish(parts[1], 1)


RULES: Rules = {
    "aten.cumsum.default": cumulative(ir.ScanKind.SUM),
    "aten.cumprod.default": cumulative(ir.ScanKind.PROD),
    "aten.logcumsumexp.default": cumulative(ir.ScanKind.LOGSUMEXP),
    "aten.cummax.default": extreme(ir.ScanKind.MAX),
    "aten.cummin.default": extreme(ir.ScanKind.MIN),
    "aten.sort.stable": Rule(sort, partial=True),
    SCAN_BY_FUNCTION: Rule(associative, partial=True),
}


def only_picked(graph: Graph, name: str, dim: int) -> bool:
    """Whether nothing but ``pick`` along ``dim`` needs the value called ``name``."""
    users = [node for node in graph.nodes if name in node.refs()]
    wanted = {*graph.outputs, *(m.value for m in graph.mutations)}
    types = graph.types()
    return name not in wanted and all(_picks(node, name, dim, types) for node in users)


def _picks(node: Node, name: str, dim: int, types: Mapping[str, ValueType]) -> bool:
    if not isinstance(node.type, TensorType) or node.args[0] != Ref(name) or len(node.args) < 2:
        return False
    if node.op == "aten.flip.default":
        return node.args[1] in ((dim,), (dim - node.type.rank,))
    if len(node.args) < 3 or node.args[1] not in (dim, dim - node.type.rank):
        return False
    if node.op == "aten.slice_copy.Tensor":
        start, step = node.args[2], node.args[4] if len(node.args) > 4 else 1
        return isinstance(start, int) and start >= 0 and step == 1
    index = node.args[2]
    if node.op != "aten.gather.default" or not isinstance(index, Ref) or index == node.args[0]:
        return False
    kind, whole = types[index.name], types[name]
    assert isinstance(kind, TensorType) and isinstance(whole, TensorType)
    return all(
        is_one(n) if d == dim else n == m
        for d, (n, m) in enumerate(zip(kind.shape, whole.shape, strict=True))
    )


def pick(call: Call, scanned: Scanned) -> Scanned | Reduced:
    """The result of ``slice_copy``, ``gather`` or ``flip``, if ``only_picked`` holds."""
    if call.node.op == "aten.gather.default":
        index = call.tensor(2, "index")
        at = call.read(index, canonical(index.shape), call.shape)
        return _one(call, scanned, call.context.position(at, scanned.size, call.shape))
    if call.node.op == "aten.flip.default":
        return replace(scanned, backward=True)
    start = int(call.number(2, "start"))
    if is_one(call.shape[scanned.dim]):
        return _one(call, scanned, call.scalar.constant(start, DType.I64))
    return replace(scanned, shape=call.shape, start=start)


def limited(graph: Graph, names: list[str], scanned: Scanned, builder: ir.Builder) -> Scanned:
    """``scanned``, called ``names``, whose sorts go as far as somebody picks from them."""
    users = [node for node in graph.nodes if not set(names).isdisjoint(node.refs())]
    ends = [n.argument(3, "end") if n.op == "aten.slice_copy.Tensor" else None for n in users]
    known = [end for end in ends if isinstance(end, int) and end >= 0]
    if not known or len(known) < len(ends):
        return scanned

    def shorter(value: ir.Value, made: ir.Made) -> ir.Value | None:
        if not isinstance(value, ir.Sort):
            return None
        return builder.sort(made[id(value.args[0])], value.descending, value.component, max(known))

    made = ir.rewrite([scanned.value], builder, replace=shorter)
    return replace(scanned, value=made[id(scanned.value)])


def _one(call: Call, scanned: Scanned, where: ir.Value) -> Reduced:
    """The element at position ``where`` of every row: the others count for nothing."""
    scalar, value = call.scalar, scanned.value
    kind, other = ir.ReduceKind.MAX, float("-inf") if value.dtype.is_float else value.dtype.least
    if value.dtype is DType.BOOL:
        kind, other = ir.ReduceKind.ANY, False
    here = scalar.compare(Op.EQ, call.context.index_value(axis_symbol("r", 0)), where)
    reduced = call.context.builder.reduce(kind, scalar.where(here, value, other), dtype=value.dtype)
    return Reduced(reduced, (scanned.size,))
