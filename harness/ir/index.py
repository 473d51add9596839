"""Index expressions: the one place that knows how sympy is used for addresses.

An index expression is a sympy integer expression over loop variables and sizes.
Two operations that sympy lacks are defined here with the meaning Python gives
them (floor): ``FloorDiv(a, b)`` is ``a // b`` and ``Mod(a, b)`` is ``a % b``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy


def axis_symbol(prefix: str, number: int) -> sympy.Symbol:
    """The loop variable ``<prefix><number>``: an integer that is never negative."""
    return sympy.Symbol(f"{prefix}{number}", integer=True, nonnegative=True)


def size_symbol(name: str) -> sympy.Symbol:
    """A size that is not known when compiling: an integer of at least one."""
    return sympy.Symbol(name, integer=True, positive=True)


class Number(sympy.Symbol):
    """An integer that the caller passes, of any sign; it has part in no size."""

    def __new__(cls, name: str) -> Number:  # noqa: D102 - as every symbol
        made: Number = super().__new__(cls, name, integer=True)
        return made


def indirect_symbol(number: int) -> sympy.Symbol:
    """A stand-in for an index that is itself loaded from memory (``t0``, ``t1``, …)."""
    return sympy.Symbol(f"t{number}", integer=True)


class FloorDiv(sympy.Function):
    """``a // b`` with floor semantics, ``b`` positive."""

    nargs = (2,)
    is_integer = True

    @classmethod
    def eval(cls, base: sympy.Expr, divisor: sympy.Expr) -> sympy.Expr | None:
        """Fold constants and the trivial cases; everything else stays."""
        if divisor is sympy.S.One:
            return base
        if base is sympy.S.Zero:
            return sympy.S.Zero
        if base.is_Integer and divisor.is_Integer:
            return sympy.Integer(int(base) // int(divisor))
        if base == divisor:
            return sympy.S.One
        return None

    def _eval_is_nonnegative(self) -> bool | None:
        base, divisor = self.args
        return True if base.is_nonnegative and divisor.is_positive else None


class Mod(sympy.Function):
    """``a % b`` with the sign of ``b``; ``b`` positive, so never negative."""

    nargs = (2,)
    is_integer = True
    is_nonnegative = True

    @classmethod
    def eval(cls, base: sympy.Expr, divisor: sympy.Expr) -> sympy.Expr | None:
        """Fold constants and the trivial cases; everything else stays."""
        if divisor is sympy.S.One or base is sympy.S.Zero or base == divisor:
            return sympy.S.Zero
        if base.is_Integer and divisor.is_Integer:
            return sympy.Integer(int(base) % int(divisor))
        return None


def flat_index(stride: Sequence[Any], indices: Sequence[Any], offset: Any = 0) -> sympy.Expr:
    """The element offset of ``indices`` in a layout with ``stride`` (in elements)."""
    terms = (sympy.sympify(i) * s for i, s in zip(indices, stride, strict=True))
    return sympy.Add(sympy.sympify(offset), *terms)


def integers(values: Any) -> tuple[sympy.Expr, ...]:
    """``values`` (ints or expressions) as sympy expressions."""
    return tuple(sympy.sympify(v) for v in values)
