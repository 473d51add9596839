"""How an emitted module makes its arguments: sizes, strides, types, kinds of contents."""

from __future__ import annotations

import math

from harness.codegen.reference import read_value, sizes_text
from harness.graph.bounds import distinct_indices
from harness.graph.model import Graph, Ref
from harness.ir import nodes as ir
from harness.ir.affine import size_hint
from harness.ir.index_text import size_text
from harness.ir.ops import Op
from harness.ir.simplify import Simplifier
from harness.ir.value_bounds import value_bounds
from harness.tiling.plan import ArgumentKind, KernelPlan


def _operators(names: str) -> tuple[str, ...]:
    return tuple(f"aten.{name}" for name in names.split())


_NEEDS_POSITIVE = _operators("sqrt. rsqrt. log. log2. log10. log1p. reciprocal.")
_DIVIDES = _operators("div.Tensor floor_divide. remainder.Tensor fmod.Tensor")
_CARRIES_ON = (
    "getitem",
    "prims.convert_element_type.",
    *_operators(
        "view. reshape. expand. unsqueeze. squeeze. permute. _to_copy. add.Tensor"
        " add.Scalar mul.Scalar div. sum. mean. clone."
    ),
)
_FARTHEST = 4

_EXPONENTIALS = frozenset((Op.EXP, Op.EXP2, Op.EXPM1, Op.SINH, Op.COSH))
_CARRIED = frozenset((Op.ADD, Op.SUB, Op.NEG, Op.CAST, Op.WHERE, Op.MAXIMUM, Op.MINIMUM, Op.MUL))
_STEEP = 8
"""Normal numbers times this have exponentials, and sums of them, that float32 holds."""


def argument_rows(plan: KernelPlan, graph: Graph) -> list[str]:
    """One row of ``ARGS`` per kernel argument: shape, stride, dtype, kind, bound."""
    buffers = {b.name: b for b in plan.buffers}
    positive = positive_values(graph)
    distinct = {n: f"distinct:{'' if d is None else d}" for n, d in distinct_indices(graph).items()}
    ascending, steep = _searched(graph), _steep(plan)
    statistics = {i.name for i in graph.inputs if i.role == "buffer"}  # running variances, counts
    rows: list[str] = []
    unknown = iter(plan.sizes)
    for argument in plan.arguments:
        if argument.kind is ArgumentKind.SIZE:
            rows.append(f'((), (), "int64", "size", {next(unknown)})')
            continue
        if argument.kind is ArgumentKind.WORKSPACE:
            assert plan.workspace is not None
            rows.append(f'(({plan.workspace.words},), (1,), "int64", "normal", 1)')  # zeros
            continue
        buffer = buffers[argument.buffers[0]]
        value = read_value(argument, buffers)
        kind = steep.get(buffer.name, "normal")
        kind = "positive" if value in positive or buffer.name in statistics else kind
        kind = distinct.get(value or "", "sorted" if value in ascending else kind)
        shape, stride = sizes_text(buffer.shape), sizes_text(buffer.stride)
        bound = 0 if buffer.bound is None else size_text(buffer.bound)
        rows.append(f'({shape}, {stride}, "{buffer.dtype.torch_name}", "{kind}", {bound})')
    return rows


def _steep(plan: KernelPlan) -> dict[str, str]:
    """Contents of floating buffers that the kernel multiplies by much before an exponential takes
    them: ``small:``, and by how much at most, for a slope of positions (ALiBi), ``mask`` for what a
    constant is added to before, as in ``(1 - mask) * -65504``. Where exponentials are close to
    infinite, the order of a sum decides whether it is finite, and what is small beside 1 leaves
    65504 everywhere, beside which float32 rounds scores: neither a kernel nor its reference may be
    asked for these."""
    found, factors = dict[str, float](), dict[int, float]()
    every = ir.values(plan.stores)
    if not any(isinstance(v, ir.Compute) and v.op in _EXPONENTIALS for v in every):
        return {}
    known = Simplifier({e.var: size_hint(e.length) for t in plan.tiles for e in t.entries})
    for value in reversed(every):
        factor, op = factors.get(id(value), 0.0), getattr(value, "op", None)
        if isinstance(value, ir.Load) and value.dtype.is_float and factor > _STEEP:
            found[value.buffer] = max(factor, found.get(value.buffer, 0.0))
        if op in _EXPONENTIALS or op in _CARRIED or isinstance(value, ir.Masked):
            factor = 1.0 if op in _EXPONENTIALS else factor
            operands = ir.operands(value)
            for operand, other in zip(operands, operands[::-1], strict=True):
                times = factor
                if factor and op is Op.MUL:  # by positions, or a constant; 1 for what memory holds
                    most = max(map(abs, value_bounds(other, known) or (1.0,)))
                    times *= most if most < 2**31 else 1.0
                elif factor > _STEEP and isinstance(other, ir.Constant) and op in (Op.ADD, Op.SUB):
                    times = math.inf
                factors[id(operand)] = max(times, factors.get(id(operand), 0.0))
    return {b: "mask" if math.isinf(n) else f"small:{int(n)}" for b, n in found.items()}


def _searched(graph: Graph) -> frozenset[str]:
    """Values that are searched by halving: their contents must be in order."""
    found = (
        node.args[position]
        for node in graph.nodes
        for name, position in (("aten.bucketize.", 1), ("aten.searchsorted.", 0))
        if node.op.startswith(name)
    )
    return frozenset(arg.name for arg in found if isinstance(arg, Ref))


def positive_values(graph: Graph) -> frozenset[str]:
    """Values that soon enter a function that is undefined for negative numbers, or divide. A value
    that is a random tensor in one kernel was, in the model, a variance or a norm."""
    found: dict[str, int] = {}
    for node in reversed(graph.nodes):
        if node.op.startswith(_DIVIDES):
            for name in list(node.refs())[1:]:
                found.setdefault(name, 0)
        power = node.args[1] if node.op == "aten.pow.Tensor_Scalar" else 1
        is_root = isinstance(power, float) and not power.is_integer()
        if node.op.startswith(_NEEDS_POSITIVE) or is_root:
            distance = 0
        elif node.op.startswith(_CARRIES_ON) and node.name in found:
            distance = found[node.name] + 1
        else:
            continue
        if distance < _FARTHEST:
            for name in list(node.refs())[:1]:
                found.setdefault(name, distance)
    return frozenset(found)
