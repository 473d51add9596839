"""Index expressions: the one place that knows how sympy is used for addresses.

An index expression is a sympy integer expression over loop variables and sizes.
Two operations that sympy lacks are defined here with the meaning Python gives
them (floor): ``FloorDiv(a, b)`` is ``a // b`` and ``Mod(a, b)`` is ``a % b``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import sympy


@functools.cache
def axis_symbol(prefix: str, number: int) -> sympy.Symbol:
    """The loop variable ``<prefix><number>``: an integer that is never negative. (Making one is
    slow in sympy.)"""
    return sympy.Symbol(f"{prefix}{number}", integer=True, nonnegative=True)


def size_symbol(name: str) -> sympy.Symbol:
    """A size that is not known when compiling: an integer of at least one."""
    return sympy.Symbol(name, integer=True, positive=True)


class Number(sympy.Symbol):
    """An integer that the caller passes, of any sign; it has part in no size."""

    def __new__(cls, name: str) -> Number:  # noqa: D102 - as every symbol
        return super().__new__(cls, name, integer=True)


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
        return sympy.S.One if base == divisor else None

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


def nearest(number: sympy.Expr, divisor: int) -> sympy.Expr:
    """``number / divisor`` rounded to nearest, to the even one of two."""
    odd = Mod(FloorDiv(number, divisor), 2)
    return FloorDiv(2 * number + divisor - 1 + odd, 2 * divisor)


def ratio_of(expr: sympy.Expr) -> tuple[sympy.Expr, int, int] | None:
    """A size and two numbers, by which it is multiplied and divided in ``expr``, in torch's words:
    a quotient by a whole number, or a product in floats that is exact for every size below 2³², of
    a factor like 2.0 or 1.5, but not 0.7. What is rounded is the same as of floats."""
    if type(expr).__name__ == "IntTrueDiv" and expr.args[1].is_Integer and expr.args[1] > 0:
        return (expr.args[0], 1, int(expr.args[1])) if expr.args[0].is_nonnegative else None
    factor, size = expr.as_coeff_Mul()
    above, below = float(factor).as_integer_ratio()
    exact = type(size).__name__ == "ToFloat" and 0 < above < 2**20
    return (size.args[0], above, below) if exact and size.args[0].is_nonnegative else None


@functools.lru_cache(maxsize=16)
def multiples(checked: tuple[sympy.Expr, ...]) -> dict[sympy.Symbol, int]:
    """Symbols that are multiples of a number where all of ``checked``, in torch's words, hold: they
    leave no remainder, or quotients say so (``8 * (s // 8) == s``, ``(s + 1) // 2 == s // 2``)."""
    equalities = [e for e in checked if type(e) is sympy.Eq and len(e.free_symbols) == 1]
    known = {e.lhs: e.rhs for e in equalities if e.lhs.args and e.rhs.is_Integer and e.rhs > 1}
    found: dict[sympy.Symbol, int] = {}
    for equal in (e for e in equalities if (e.lhs - e.rhs).is_integer):
        (size,), rest = equal.free_symbols, (equal.lhs - equal.rhs).xreplace(known)
        by, times = rest.coeff(size), sympy.S.One
        of, part = (rest - by * size).as_coeff_Mul()
        if type(part).__name__ in ("Mod", "PythonMod") and part.args[0] == size and not by:
            # Of a quotient that is known: s % (s // 14) is 0, and s // (s // 14) is 14.
            whole = (n for e, n in known.items() if e.args == part.args and e.func is not part.func)
            times = next(whole, part.args[1])
        elif type(part).__name__ == "FloorDiv" and by:
            times = -of / by
        elif floor := next((f for f in part.atoms(sympy.Function) if f.args[0] == size), None):
            upto = floor.func(size + floor.args[-1] - 1, floor.args[-1])
            times = floor.args[-1] if not by and part in (floor - upto, upto - floor) else times
        if times.is_Integer and times > 1:
            found[size] = math.lcm(int(times), found.get(size, 1))
    return found


def flat_index(stride: Sequence[Any], indices: Sequence[Any], offset: Any = 0) -> sympy.Expr:
    """The element offset of ``indices`` in a layout with ``stride`` (in elements)."""
    terms = (sympy.sympify(i) * s for i, s in zip(indices, stride, strict=True))
    return sympy.Add(sympy.sympify(offset), *terms)


def integers(values: Any) -> tuple[sympy.Expr, ...]:
    """``values`` (ints or expressions) as sympy expressions."""
    return tuple(sympy.sympify(v) for v in values)
