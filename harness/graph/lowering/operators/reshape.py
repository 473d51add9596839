"""Reshaping as an index function, kept linear where dimensions only merge."""

from __future__ import annotations

import sympy

from harness.graph.lowering.tensor import Shape, canonical, is_one
from harness.ir.index import FloorDiv, Mod


def reshape_index(source: Shape, target: Shape) -> tuple[sympy.Expr, ...]:
    """Where a tensor of shape ``target`` reads one of shape ``source`` that has the same
    elements in row-major order.

    Dimensions are matched from the left in smallest groups of equal size, so that a
    dimension that is kept, merged or split does not disturb its neighbours:
    merging gives linear indices, splitting one division and one remainder.
    """
    inner = [d for d, n in enumerate(source) if not is_one(n)]
    outer = [d for d, n in enumerate(target) if not is_one(n)]
    variables = canonical(target)
    index: list[sympy.Expr] = [sympy.S.Zero] * len(source)
    for ins, outs in _groups(source, inner, target, outer):
        linear: sympy.Expr = sympy.S.Zero
        for dim in outs:
            linear = linear * target[dim] + variables[dim]
        step: sympy.Expr = sympy.S.One
        for position, dim in reversed(list(enumerate(ins))):
            digit = FloorDiv(linear, step)
            index[dim] = digit if position == 0 else Mod(digit, source[dim])
            step = step * source[dim]
    return tuple(index)


def _groups(
    source: Shape, inner: list[int], target: Shape, outer: list[int]
) -> list[tuple[list[int], list[int]]]:
    """Pairs of dimension lists with equal products, as short as possible."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(inner) and j < len(outer):
        left, right = source[inner[i]], target[outer[j]]
        ins, outs = [inner[i]], [outer[j]]
        i, j = i + 1, j + 1
        while left != right:
            if j < len(outer) and (i == len(inner) or not _smaller(left, right)):
                right = sympy.expand(right * target[outer[j]])
                outs.append(outer[j])
                j += 1
            elif i < len(inner):
                left = sympy.expand(left * source[inner[i]])
                ins.append(inner[i])
                i += 1
            else:
                break
        groups.append((ins, outs))
    return groups


def _smaller(left: sympy.Expr, right: sympy.Expr) -> bool:
    """Whether ``left`` is to grow next. For unknown sizes: unless ``right`` divides it."""
    if left.is_Integer and right.is_Integer:
        return bool(left < right)
    ratio = sympy.cancel(left / right)
    return not ratio.is_integer
