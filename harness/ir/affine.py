"""Sizes, and index expressions as affine functions: an offset and one stride per loop.

The one place that decides what is linear. Sizes and strides are Python integers where
they are known and sympy expressions where they are not, so that the common case costs no
symbolic arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

import sympy

Size: TypeAlias = "int | sympy.Expr"
"""A number of elements: an ``int`` if known, else an expression over size symbols."""

UNKNOWN_SIZE = 1024
"""What an unknown size is taken to be wherever only a magnitude is asked for (what to store,
to fuse, to put in a block), and when a module is timed by itself: middling for a sequence, a
batch of rows, a side of an image."""


def size_of(expr: Size) -> Size:
    """``expr`` as an ``int`` if it is one."""
    return int(expr) if isinstance(expr, sympy.Integer) else expr


def same(first: Size, second: Size) -> bool:
    """Whether two sizes are equal for every value of the unknowns."""
    if isinstance(first, int) and isinstance(second, int):
        return first == second
    return bool(sympy.expand(first - second) == 0)


def divide(dividend: Size, divisor: Size) -> Size | None:
    """``dividend / divisor`` if that is exact for every value of the unknowns, else None."""
    if isinstance(dividend, int) and isinstance(divisor, int):
        return dividend // divisor if divisor > 0 and dividend % divisor == 0 else None
    quotient = sympy.cancel(dividend / divisor)
    if sympy.denom(sympy.together(quotient)) != 1:  # of a sum: of every term
        return None
    return size_of(quotient)


def row_major(sizes: Sequence[Size]) -> list[Size]:
    """The strides of loops one within the other. What is empty counts as 1, as torch has it."""
    steps = accumulate(reversed(sizes), lambda step, n: step if n == 0 else step * n, initial=1)
    return [*steps][-2::-1]


def size_hint(size: Size) -> int:
    """A likely value of ``size``: exact where it is known, ``UNKNOWN_SIZE`` for every unknown. It
    is not 0 for a quotient by one: what divides a size is smaller."""
    if isinstance(size, int):
        return size
    if size.is_Integer:
        return int(size)
    return int(size.xreplace({s: sympy.Integer(UNKNOWN_SIZE) for s in size.free_symbols})) or 1


@dataclass(frozen=True, slots=True)
class Affine:
    """``offset + Σ strides[k] · variable[k] + Σ rest``. ``offset`` is free of the variables;
    ``rest`` are the terms that are not linear in them."""

    offset: sympy.Expr
    strides: tuple[Size, ...]
    rest: tuple[sympy.Expr, ...] = ()


Positions: TypeAlias = Mapping[sympy.Symbol, int]
"""Variables and their places in ``Affine.strides``."""


def _term(term: sympy.Expr, position: Positions) -> tuple[int, Size] | None:
    """(position, coefficient) of a term linear in one variable; position -1 for a term
    without variables; None for anything else."""
    if term.is_Symbol:
        return (position[term], 1) if term in position else (-1, term)
    if term.is_Mul:
        inside = [a for a in term.args if not position.keys().isdisjoint(a.free_symbols)]
        if len(inside) == 1 and inside[0] in position:
            rest = [a for a in term.args if a != inside[0]]
            return position[inside[0]], size_of(sympy.Mul(*rest))
        return None if inside else (-1, term)
    return (-1, term) if position.keys().isdisjoint(term.free_symbols) else None


def affine(expr: sympy.Expr, position: Positions) -> Affine:
    """``expr``, as it is written, as a function of the variables of ``position``."""
    strides: list[Size] = [0] * len(position)
    offset: list[sympy.Expr] = []
    rest: list[sympy.Expr] = []
    for term in sympy.Add.make_args(expr):
        if (found := _term(term, position)) is None:
            rest.append(term)
        elif found[0] < 0:
            offset.append(term)
        else:
            strides[found[0]] = strides[found[0]] + found[1]
    return Affine(sympy.Add(*offset), tuple(strides), tuple(rest))


def linear(expr: sympy.Expr, position: Positions) -> Affine | None:
    """``expr`` as an affine function of the variables of ``position``, None if it is none."""
    found = affine(expr, position)
    if found.rest and any(t.is_Mul for t in found.rest):
        found = affine(sympy.expand(expr), position)
    return None if found.rest else found


def positions(variables: Iterable[sympy.Symbol]) -> dict[sympy.Symbol, int]:
    """``variables`` with their places."""
    return {variable: place for place, variable in enumerate(variables)}
