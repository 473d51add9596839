"""Index expressions as text, for Triton kernels and for Python.

``//`` and ``%`` mean floor in Python and follow C in Triton, so in Triton text the
plain operators appear only where no operand can be negative; elsewhere the floor
meaning is spelled out without branches.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy

from harness.errors import InvalidProgram
from harness.ir.index import FloorDiv, Mod
from harness.ir.simplify import Simplifier

_SUM, _PRODUCT, _UNARY, _ATOM = 1, 2, 3, 4


@dataclass(slots=True)
class IndexPrinter:
    """Writes index expressions, for Python or for ``triton``. ``simplifier`` knows what cannot be
    negative; ``names`` gives the text of what is not called what sympy calls it."""

    simplifier: Simplifier
    names: Mapping[sympy.Expr, str] = field(default_factory=dict)
    triton: bool = False
    _known: dict[sympy.Expr, tuple[str, int]] = field(default_factory=dict)

    def text(self, expr: sympy.Expr) -> str:
        """``expr`` as text, without outer parentheses. Raises ``InvalidProgram`` for anything that
        is not an integer expression of sums, products, powers, ``//``, ``%``, min and max."""
        return self._write(expr)[0]

    def operand(self, expr: sympy.Expr) -> str:
        """``expr`` as text that can stand beside any operator."""
        return self._at(expr, _ATOM)

    def _at(self, expr: sympy.Expr, level: int) -> str:
        text, own = self._write(expr)
        return text if own >= level else f"({text})"

    def _write(self, expr: sympy.Expr) -> tuple[str, int]:
        if (known := self._known.get(expr)) is None:
            known = self._known[expr] = self._make(expr)
        return known

    def _make(self, expr: sympy.Expr) -> tuple[str, int]:
        if expr.is_Symbol or expr in self.names:
            return self.names.get(expr) or expr.name, _ATOM
        if expr.is_Integer:
            return str(int(expr)), _ATOM if int(expr) >= 0 else _UNARY
        if expr.is_Add:
            return self._add(expr), _SUM
        if expr.is_Mul:
            return self._mul(expr)
        if expr.is_Pow and expr.exp.is_Integer and int(expr.exp) > 0:
            return "*".join([self._at(expr.base, _ATOM)] * int(expr.exp)), _PRODUCT
        if isinstance(expr, (FloorDiv, Mod)):
            return self._divided(expr), _PRODUCT
        if isinstance(expr, (sympy.Min, sympy.Max)):
            return self._extreme(expr), _ATOM
        raise InvalidProgram(
            "an index expression has an operation that indices cannot have",
            where=str(expr),
            got=type(expr).__name__,
            expected="sums, products, powers, //, %, min and max of integers",
        )

    def _add(self, expr: sympy.Expr) -> str:
        parts: list[str] = []
        for term in sorted(expr.args, key=_term_order):
            coefficient, _ = term.as_coeff_Mul()
            if coefficient < 0 and parts:
                parts.append(f" - {self._at(-term, _PRODUCT)}")
            else:
                parts.append((" + " if parts else "") + self._at(term, _PRODUCT))
        return "".join(parts)

    def _mul(self, expr: sympy.Expr) -> tuple[str, int]:
        coefficient, rest = expr.as_coeff_Mul()
        if not coefficient.is_Integer:
            raise InvalidProgram(
                "an index expression is not an integer", where=str(expr), expected="whole numbers"
            )
        factors = [self._at(f, _ATOM) for f in sorted(sympy.Mul.make_args(rest), key=_order)]
        if coefficient == -1:
            return "-" + "*".join(factors), _UNARY if len(factors) == 1 else _PRODUCT
        if coefficient != 1:
            factors.insert(0, str(int(coefficient)))
        return "*".join(factors), _PRODUCT

    def _divided(self, expr: sympy.Expr) -> str:
        a, b = (self._at(arg, _ATOM) for arg in expr.args)
        plain = not self.triton or all(map(self.simplifier.is_nonnegative, expr.args))
        rest = f"{a} % {b}" if plain else f"({a} % {b} + {b}) % {b}"
        if isinstance(expr, Mod):
            return rest
        return f"{a} // {b}" if plain else f"({a} - {rest}) // {b}"

    def _extreme(self, expr: sympy.Expr) -> str:
        largest = isinstance(expr, sympy.Max)
        args = [self.text(a) for a in sorted(expr.args, key=_order)]
        if not self.triton:
            return f"{'max' if largest else 'min'}({', '.join(args)})"
        name = "tl.maximum" if largest else "tl.minimum"
        return functools.reduce(lambda made, arg: f"{name}({made}, {arg})", args)


def size_text(expr: sympy.Expr) -> str:
    """A size as Python, over the names that unknown sizes have in graph files."""
    return IndexPrinter(Simplifier({})).text(expr)


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key by which ``x2`` comes before ``x10``."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts)


def _order(expr: sympy.Expr) -> tuple[object, ...]:
    return (len(str(expr)) > 12, natural_key(str(expr)))


def _term_order(term: sympy.Expr) -> tuple[object, ...]:
    """Positive terms first, then by size of the coefficient; the constant after its like."""
    coefficient, rest = term.as_coeff_Mul()
    constant = rest is sympy.S.One
    number = int(coefficient)
    return (number < 0, constant, abs(number), natural_key(str(rest)))
