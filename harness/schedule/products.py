"""Sums of products that are matrix products, before anything is fused."""

from __future__ import annotations

import math

import sympy

from harness.dtypes import DType
from harness.heuristics.limits import LEAST_SIDE
from harness.ir import nodes as ir
from harness.ir.affine import size_hint
from harness.ir.ops import Op

_RESULTS, _PER_RESULT = 1 << 16, 64
"""Results of a matrix product, and terms of each, from which on it is reduced alone."""


def factors(reduce: ir.Reduce) -> tuple[ir.Value, ...]:
    """The two factors of the terms of a float32 sum; nothing for another reduction."""
    term = reduce.args[0]
    summed = reduce.kind is ir.ReduceKind.SUM and reduce.dtype is DType.F32 and not reduce.across
    product = isinstance(term, ir.Compute) and term.op is Op.MUL and term.dtype is DType.F32
    return ir.operands(term) if summed and product else ()


def symbols_of(factor: ir.Value, simplify: ir.Address) -> frozenset[sympy.Symbol]:
    """The loops along which ``factor`` differs."""
    read = (v.index for v in ir.walk([factor]) if isinstance(v, ir.Load | ir.IndexValue))
    return frozenset(s for index in read for s in simplify(index).free_symbols)


def is_product(nest: ir.Nest) -> bool:
    """Whether all that ``nest`` reduces is one large matrix product."""
    pairs = [factors(r) for r in ir.reductions(nest.stores)]
    large = size_hint(ir.points(nest.axes)) >= _RESULTS
    if len(pairs) != 1 or not pairs[0] or not large:
        return False
    sizes = {a.var: size_hint(a.size) for a in (*nest.axes, *nest.raxes)}
    first, second = (symbols_of(f, ir.same_address) for f in pairs[0])
    rows, columns = (
        math.prod(sizes.get(s, 1) for s in own) for own in (first - second, second - first)
    )
    return min(rows, columns) >= LEAST_SIDE and size_hint(ir.points(nest.raxes)) >= _PER_RESULT
