"""Index expressions over the variables of one tensor, substituted and simplified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy


@dataclass(slots=True)
class Simplifier:
    """Substitution and simplification where every variable has a known range
    (``0 <= variable < size``). Results are remembered."""

    ranges: dict[sympy.Symbol, sympy.Expr]
    _done: dict[sympy.Expr, sympy.Expr] = field(default_factory=dict)

    def substitute(
        self, expr: sympy.Expr, mapping: Mapping[sympy.Symbol, sympy.Expr]
    ) -> sympy.Expr:
        """``expr`` with its variables replaced, over this tensor's variables."""
        return self.simplify(expr.xreplace(dict(mapping)))

    def simplify(self, expr: sympy.Expr) -> sympy.Expr:
        """An equal, simpler expression."""
        if expr.is_Atom:
            return expr
        known = self._done.get(expr)
        if known is None:
            known = self._done[expr] = sympy.expand(expr)
        return known
