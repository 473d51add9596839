"""Iteration ranges: the loops of a kernel as splits of one root, and which of them may merge. The
nests of a kernel share their loops, and row-major linearisation says which points are the same, so
every loop variable is ``(root // divisor) % length`` of one root per tile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy

from harness.ir.affine import affine, row_major, same
from harness.ir.index import integers
from harness.ir.nodes import Axis


@dataclass(frozen=True, slots=True)
class Split:
    """``var == (root // divisor) % length``. The modulo disappears when divisor × length is the
    numel of the root's tile."""

    var: sympy.Symbol
    divisor: sympy.Expr
    length: sympy.Expr


def splits(axes: Sequence[Axis]) -> list[Split]:
    """Row-major loops as splits of their root, innermost (lowest divisor) first."""
    divisors = integers(row_major([axis.size for axis in axes]))
    return [Split(a.var, d, a.size) for a, d in zip(axes, divisors, strict=True)][::-1]


def mergeable(
    expr: sympy.Expr, high: sympy.Symbol, low: sympy.Symbol, low_length: sympy.Expr
) -> bool:
    """Whether ``expr`` depends on ``high`` and ``low`` only through ``high * low_length + low``."""
    pair = {high: 0, low: 1}
    pending = [expr]
    while pending:
        part = pending.pop()
        if pair.keys().isdisjoint(part.free_symbols):
            continue
        if part in pair:
            return False
        if part.is_Add or part.is_Mul:
            found = affine(part, pair)
            if not same(found.strides[0], found.strides[1] * low_length):
                return False
            for term in found.rest:
                pending.extend(sympy.Mul.make_args(term))
        elif part.is_Function:
            pending.extend(part.args)
        else:
            return False
    return True


def merge(
    chain: Sequence[Split], exprs: Iterable[sympy.Expr]
) -> tuple[list[Split], dict[sympy.Symbol, sympy.Expr]]:
    """Merge neighbouring splits that ``exprs`` never tell apart. Returns the remaining splits and
    the substitution to apply to the expressions: a merged low variable now runs over the product,
    the high one becomes 0."""
    todo = list(dict.fromkeys(exprs))
    zeros: dict[sympy.Symbol, sympy.Expr] = {}
    merged: list[Split] = []
    for split in chain:
        last = merged[-1] if merged else None
        if last is not None and all(mergeable(e, split.var, last.var, last.length) for e in todo):
            zeros[split.var] = sympy.S.Zero
            todo = list(dict.fromkeys(e.xreplace({split.var: sympy.S.Zero}) for e in todo))
            merged[-1] = Split(last.var, last.divisor, last.length * split.length)
        else:
            merged.append(split)
    return merged, zeros
