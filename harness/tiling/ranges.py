"""Iteration ranges: one root, split in every way the kernel's nests need.

The nests of a kernel run over the same points but each with loops of its own
sizes. Row-major linearisation says which points are the same, so every nest's
loop variable is ``(root // divisor) % length`` of one root. Where the divisors of
all nests divide each other in a chain, the finest common refinement turns every
loop variable into a sum of refined variables, and indices stay linear; a split
that does not fit the chain keeps a variable of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import sympy

from harness.ir.index import axis_symbol

_STAND_IN = sympy.Integer(7919)


@dataclass(frozen=True, slots=True)
class Split:
    """``var == (root // divisor) % length``. ``chained`` splits tile the root without
    gaps, lowest divisor first; the others overlap them."""

    var: sympy.Symbol
    divisor: sympy.Expr
    length: sympy.Expr
    chained: bool = True


def divides(divisor: sympy.Expr, number: sympy.Expr) -> bool:
    """Whether ``number`` is certainly a multiple of ``divisor``."""
    if divisor.is_Integer and number.is_Integer:
        return int(number) % int(divisor) == 0
    quotient = sympy.cancel(number / divisor)
    return bool(quotient.is_integer) and not sympy.denom(quotient).free_symbols


def magnitude(size: sympy.Expr) -> int:
    """A number to order sizes by; an unknown size counts as a large prime."""
    if size.is_Integer:
        return int(size)
    return int(size.subs(dict.fromkeys(size.free_symbols, _STAND_IN)))


def boundaries(sizes: Sequence[sympy.Expr]) -> list[sympy.Expr]:
    """Divisors between the axes of row-major ``sizes``, innermost first: 1 for the last
    axis, then the products of ever more trailing sizes, up to the number of points."""
    products = [sympy.Integer(1)]
    for size in reversed(sizes):
        products.append(products[-1] * size)
    return products


def refine(numel: sympy.Expr, loops: Iterable[Sequence[sympy.Expr]], prefix: str) -> list[Split]:
    """The finest chain of splits of ``numel`` points that the loop sizes in ``loops``
    allow, as splits named ``<prefix>0`` …, lowest divisor first."""
    wanted = {b for sizes in loops for b in boundaries(sizes)}
    chain = [sympy.Integer(1)]
    for boundary in sorted(wanted, key=lambda b: (magnitude(b), str(b))):
        fresh = boundary not in (1, chain[-1], numel)
        if fresh and divides(chain[-1], boundary) and divides(boundary, numel):
            chain.append(boundary)
    if numel != chain[-1]:
        chain.append(numel)
    return [
        Split(axis_symbol(prefix, n), low, sympy.cancel(high / low))
        for n, (low, high) in enumerate(pairwise(chain))
    ]


def express(
    axes: Sequence[tuple[sympy.Symbol, sympy.Expr]], splits: list[Split], prefix: str
) -> dict[sympy.Symbol, sympy.Expr]:
    """Each loop variable of ``axes`` (variable, size; outermost first) over ``splits``.

    A loop that no run of chained splits covers adds a split of its own to ``splits``.
    """
    bounds = boundaries([size for _, size in axes])
    table: dict[sympy.Symbol, sympy.Expr] = {}
    for number, (var, size) in enumerate(reversed(axes)):
        low, high = bounds[number], bounds[number + 1]
        table[var] = sympy.S.Zero if size == 1 else _cover(low, high, splits, prefix)
    return table


def _cover(low: sympy.Expr, high: sympy.Expr, splits: list[Split], prefix: str) -> sympy.Expr:
    chain = [s for s in splits if s.chained]
    lows = {s.divisor: n for n, s in enumerate(chain)}
    highs = {s.divisor * s.length: n for n, s in enumerate(chain)}
    if low in lows and high in highs:
        run = chain[lows[low] : highs[high] + 1]
        return sympy.Add(*(s.var * sympy.cancel(s.divisor / low) for s in run))
    length = sympy.cancel(high / low)
    for split in splits:
        if (split.divisor, split.length) == (low, length):
            return split.var
    own = Split(axis_symbol(prefix, len(splits)), low, length, chained=False)
    splits.append(own)
    return own.var


def coefficients(
    expr: sympy.Expr, variables: frozenset[sympy.Symbol]
) -> tuple[dict[sympy.Symbol, sympy.Expr], list[sympy.Expr]]:
    """``expr`` as linear coefficients of ``variables`` and the terms that are not linear
    in them (constant terms are left out)."""
    linear: dict[sympy.Symbol, sympy.Expr] = {}
    rest: list[sympy.Expr] = []
    for term in sympy.Add.make_args(expr):
        used = term.free_symbols & variables
        if not used:
            continue
        factors = sympy.Mul.make_args(term)
        plain = [f for f in factors if f in variables]
        others = [f for f in factors if f not in variables]
        if len(plain) == 1 and not any(f.free_symbols & variables for f in others):
            linear[plain[0]] = linear.get(plain[0], sympy.S.Zero) + sympy.Mul(*others)
        else:
            rest.append(term)
    return linear, rest


def mergeable(
    expr: sympy.Expr, high: sympy.Symbol, low: sympy.Symbol, low_length: sympy.Expr
) -> bool:
    """Whether ``expr`` depends on ``high`` and ``low`` only through
    ``high * low_length + low``."""
    pair = frozenset((high, low))
    pending = [expr]
    while pending:
        part = pending.pop()
        if not part.free_symbols & pair:
            continue
        if part in pair:
            return False
        if part.is_Add or part.is_Mul:
            linear, rest = coefficients(part, pair)
            step = linear.get(low, sympy.S.Zero) * low_length
            if sympy.expand(linear.get(high, sympy.S.Zero) - step) != 0:
                return False
            for term in rest:
                factors = sympy.Mul.make_args(term)
                if any(f in pair for f in factors):
                    return False
                pending.extend(factors)
        elif part.is_Function:
            pending.extend(part.args)
        else:
            return False
    return True


def merge(
    splits: Sequence[Split], exprs: Iterable[sympy.Expr], keep: sympy.Expr | None = None
) -> tuple[list[Split], dict[sympy.Symbol, sympy.Expr]]:
    """Merge neighbouring chained splits that ``exprs`` never tell apart.

    ``keep`` is a divisor at which nothing may be merged. Returns the remaining splits
    and the substitution to apply to the expressions: a merged low variable now runs
    over the product, the high one becomes 0.
    """
    todo = list(dict.fromkeys(exprs))
    chain = [s for s in splits if s.chained]
    substitution: dict[sympy.Symbol, sympy.Expr] = {}
    merged: list[Split] = []
    for split in chain:
        last = merged[-1] if merged else None
        if (
            last is not None
            and split.divisor != keep
            and all(mergeable(e, split.var, last.var, last.length) for e in todo)
        ):
            step = {split.var: sympy.S.Zero}
            todo = list(dict.fromkeys(e.xreplace(step) for e in todo))
            substitution.update(step)
            merged[-1] = Split(last.var, last.divisor, last.length * split.length)
        else:
            merged.append(split)
    return merged + [s for s in splits if not s.chained], substitution
