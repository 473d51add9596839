"""Simplification of index expressions by the ranges of their variables.

A ``Simplifier`` knows the range of every variable and remembers what it has worked
out; it is passed to whoever needs it. All results are exact: the simplified
expression has the same value at every point of the ranges.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import sympy

from harness.ir import index_bounds as ib
from harness.ir.affine import size_of
from harness.ir.index import FloorDiv, Mod
from harness.ir.index_bounds import Bound, Interval
from harness.ir.nodes import Axis

Terms = dict[sympy.Expr, int]
"""A sum: coefficient of each product of atoms, constant under ``S.One``."""


@dataclass(slots=True)
class Simplifier:
    """Simplifies expressions over variables whose exclusive upper bounds are ``ranges``. A variable
    in ``ranges`` is an integer in [0, bound); a bound may use size symbols (positive). Symbols
    without a range are sizes if positive, otherwise unknown."""

    ranges: Mapping[sympy.Symbol, sympy.Expr | int]
    _simple: dict[sympy.Expr, sympy.Expr] = field(default_factory=dict)
    _intervals: dict[sympy.Expr, Interval] = field(default_factory=dict)
    _substituted: dict[tuple[sympy.Expr, ...], sympy.Expr] = field(default_factory=dict)
    _symbols: dict[sympy.Expr, frozenset[sympy.Symbol]] = field(default_factory=dict)

    @staticmethod
    def of_axes(axes: Iterable[Axis]) -> Simplifier:
        """A simplifier for the variables of ``axes``."""
        return Simplifier({a.var: a.size for a in axes})

    # simplification

    def simplify(self, expr: sympy.Expr) -> sympy.Expr:
        """An equal expression, expanded, with needless ``//``, ``%``, min and max gone."""
        if (known := self._simple.get(expr)) is None:
            known = self._simple[expr] = self._rewrite(expr)
            self._simple.setdefault(known, known)
        return known

    def _rewrite(self, expr: sympy.Expr) -> sympy.Expr:
        if expr.is_Integer:
            return expr
        if expr.is_Symbol:
            return sympy.S.Zero if self.ranges.get(expr) == 1 else expr
        args = [self.simplify(a) for a in expr.args]
        if isinstance(expr, FloorDiv):
            return self._floor_div(args[0], args[1])
        if isinstance(expr, Mod):
            return self._mod(args[0], args[1])
        if isinstance(expr, (sympy.Min, sympy.Max)):
            return self._extreme(args, isinstance(expr, sympy.Max))
        made = expr.func(*args)
        if isinstance(made, (sympy.Mul, sympy.Pow)) and any(a.is_Add for a in made.args):
            made = made.expand()
        return self._recombine(made) if made.is_Add else made

    def _floor_div(self, base: sympy.Expr, divisor: sympy.Expr) -> sympy.Expr:
        terms = _terms(base)
        whole, rest = _split_multiples(terms, divisor)
        if whole:
            return self._recombine(_sum(whole) + self._floor_div(_sum(rest), divisor))
        step = self._constant_quotient(base, divisor)
        if step is not None:
            return sympy.Integer(step)
        if isinstance(base, FloorDiv):
            return self._floor_div(base.args[0], self.simplify(base.args[1] * divisor))
        if isinstance(base, Mod):
            whole, left = _split_multiples(_terms(base.args[1]), divisor)
            if not left:
                return self._mod(self._floor_div(base.args[0], divisor), _sum(whole))
        shrunk = self._shrink(terms, divisor)
        if shrunk is not None:
            high, _, factor = shrunk
            return self._floor_div(_sum(high), _divide(divisor, factor))
        return FloorDiv(base, divisor)

    def _mod(self, base: sympy.Expr, divisor: sympy.Expr) -> sympy.Expr:
        _, rest = _split_multiples(_terms(base), divisor)
        if divisor.is_Integer:
            n = int(divisor)
            rest = {k: (c % n if c > 0 else -(-c % n)) for k, c in rest.items()}
        if not rest:
            return sympy.S.Zero
        base = _sum(rest)
        step = self._constant_quotient(base, divisor)
        if step is not None:
            return self.simplify(base - step * divisor) if step else base
        if isinstance(base, Mod) and not _split_multiples(_terms(base.args[1]), divisor)[1]:
            return self._mod(base.args[0], divisor)
        shrunk = self._shrink(rest, divisor)
        if shrunk is not None:
            high, low, factor = shrunk
            inner = self._mod(_sum(high), _divide(divisor, factor))
            return self._recombine((factor * inner).expand() + _sum(low))
        return Mod(base, divisor)

    def _constant_quotient(self, base: sympy.Expr, divisor: sympy.Expr) -> int | None:
        """``base // divisor`` where it is the same number everywhere."""
        low, high = self._interval(base)
        if ib.is_nonnegative(low) and ib.less(high, size_of(divisor)):
            return 0
        if isinstance(low, int) and isinstance(high, int) and divisor.is_Integer:
            n = int(divisor)
            return low // n if low // n == high // n else None
        return None

    def _shrink(self, terms: Terms, divisor: sympy.Expr) -> tuple[Terms, Terms, sympy.Expr] | None:
        """``terms`` as ``factor * high + low`` with 0 <= low < factor and ``factor``
        dividing ``divisor``: then only ``high`` decides the quotient."""
        for factor in _factors(terms, divisor):
            high, low = _split_multiples(terms, factor)
            bounds = self._interval(_sum(low))
            if ib.is_nonnegative(bounds[0]) and ib.less(bounds[1], size_of(factor)):
                return high, low, factor
        return None

    def _extreme(self, args: list[sympy.Expr], largest: bool) -> sympy.Expr:
        kept: list[sympy.Expr] = []
        for position, arg in enumerate(args):
            others = kept + args[position + 1 :]
            over = (((o - arg) if largest else (arg - o)).expand() for o in others)
            if not any(ib.is_nonnegative(self._interval(self.simplify(d))[0]) for d in over):
                kept.append(arg)
        return kept[0] if len(kept) == 1 else (sympy.Max if largest else sympy.Min)(*kept)

    def _recombine(self, expr: sympy.Expr) -> sympy.Expr:
        """Undo splitting: ``c*n*(x // n) + c*(x % n)`` is ``c*x``."""
        if not expr.is_Add or not expr.has(Mod):
            return expr
        terms = _terms(expr)
        while any(self._merge_term(terms, key) for key in [*terms] if key.has(Mod)):
            pass
        return _sum(terms)

    def _merge_term(self, terms: Terms, key: sympy.Expr) -> bool:
        """Merge the term whose product is ``key`` with its quotient, if that is there."""
        for factor in sympy.Mul.make_args(key):
            if not isinstance(factor, Mod):
                continue
            base, divisor = factor.args
            outer = key / factor
            quotient = self._floor_div(base, divisor)
            wanted = _terms((terms[key] * outer * divisor * quotient).expand())
            if any(terms.get(k) != c for k, c in wanted.items()):
                continue
            coefficient = terms.pop(key)
            for k in wanted:
                del terms[k]
            for k, c in _terms((coefficient * outer * base).expand()).items():
                terms[k] = terms.get(k, 0) + c
                if not terms[k]:
                    del terms[k]
            return True
        return False

    # bounds

    def bounds(self, expr: sympy.Expr) -> tuple[sympy.Expr | None, sympy.Expr | None]:
        """Inclusive bounds over the ranges, over sizes; ``None`` where nothing is known. They hold
        always but need not be attained."""
        ends = self._interval(self.simplify(expr))
        low, high = (None if end is None else sympy.sympify(end) for end in ends)
        return low, high

    def is_nonnegative(self, expr: sympy.Expr) -> bool:
        """Whether ``expr`` is provably never negative."""
        return ib.is_nonnegative(self._interval(expr)[0])

    def _interval(self, expr: sympy.Expr) -> Interval:
        if (known := self._intervals.get(expr)) is None:
            known = self._intervals[expr] = self._find_interval(expr)
        return known

    def _find_interval(self, expr: sympy.Expr) -> Interval:
        if expr.is_Integer:
            return int(expr), int(expr)
        if expr.is_Symbol:
            return self._symbol_interval(expr)
        if expr.is_Add:
            return functools.reduce(ib.add, map(self._interval, expr.args))
        if expr.is_Mul:
            coefficient, rest = expr.as_coeff_Mul()
            return ib.scale(self._product(sympy.Mul.make_args(rest)), int(coefficient))
        if expr.is_Pow and expr.exp.is_Integer and int(expr.exp) > 0:
            return self._product([expr.base] * int(expr.exp))
        return self._function_interval(expr)

    def _product(self, factors: Iterable[sympy.Expr]) -> Interval:
        return functools.reduce(ib.multiply, map(self._interval, factors), ib.ONE)

    def _symbol_interval(self, symbol: sympy.Symbol) -> Interval:
        if (bound := self.ranges.get(symbol)) is not None:
            return 0, size_of(sympy.sympify(bound) - 1)
        if symbol.is_positive:
            return symbol, symbol
        return (0, None) if symbol.is_nonnegative else ib.UNKNOWN

    def _function_interval(self, expr: sympy.Expr) -> Interval:
        parts = [self._interval(a) for a in expr.args]
        if isinstance(expr, FloorDiv):
            return ib.floor_div(parts[0], parts[1], self._divide_bounds)
        if isinstance(expr, Mod):
            return ib.modulo(parts[0], parts[1])
        if isinstance(expr, (sympy.Min, sympy.Max)):
            return ib.extreme(parts, isinstance(expr, sympy.Max))
        return ib.UNKNOWN

    def _divide_bounds(self, a: Bound, b: Bound) -> Bound:
        return size_of(self.simplify(FloorDiv(sympy.sympify(a), sympy.sympify(b))))

    # structure

    def free_symbols(self, expr: sympy.Expr) -> frozenset[sympy.Symbol]:
        """The symbols of ``expr``; remembered, because sympy walks the tree each time."""
        if (known := self._symbols.get(expr)) is None:
            known = self._symbols[expr] = frozenset(expr.free_symbols)
        return known

    def substitute(
        self, expr: sympy.Expr, mapping: Mapping[sympy.Symbol, sympy.Expr]
    ) -> sympy.Expr:
        """``expr`` with all of ``mapping`` replaced at once, simplified in these ranges."""
        if not (used := [v for v in mapping if v in self.free_symbols(expr)]):
            return self.simplify(expr)
        key = (expr, *used, *(mapping[v] for v in used))
        if (known := self._substituted.get(key)) is None:
            known = self.simplify(expr.xreplace({v: mapping[v] for v in used}))
            self._substituted[key] = known
        return known


@functools.lru_cache(1024)
def in_parts(size: sympy.Expr, known: tuple[tuple[sympy.Symbol, int], ...]) -> sympy.Expr:
    """``size``, by parts of ``known`` positive symbols, multiples of the numbers beside them: ``s``
    is ``2 * (s // 2)``. A graph asks often for the same."""
    size = Simplifier({}).simplify(size) if size.has(FloorDiv) else size
    for symbol, n in known:
        if symbol in size.free_symbols:
            part = sympy.Dummy(integer=True, positive=True)
            made = Simplifier({}).simplify(size.xreplace({symbol: n * part}))
            size = made.xreplace({part: FloorDiv(symbol, sympy.Integer(n))})
    return size


def _terms(expr: sympy.Expr) -> Terms:
    table: Terms = {}
    for term in sympy.Add.make_args(expr):
        coefficient, product = term.as_coeff_Mul()
        if coefficient:
            table[product] = table.get(product, 0) + int(coefficient)
    return table


def _sum(terms: Terms) -> sympy.Expr:
    return sympy.Add(*(sympy.Integer(c) * k for k, c in terms.items()))


def _divide(expr: sympy.Expr, factor: sympy.Expr) -> sympy.Expr:
    """An exact quotient of sums of products."""
    return _sum(_split_multiples(_terms(expr), factor)[0])


def _split_multiples(terms: Terms, divisor: sympy.Expr) -> tuple[Terms, Terms]:
    """The multiples of ``divisor`` among ``terms``, divided by it, and the others."""
    number, product = divisor.as_coeff_Mul()
    n = int(number)
    whole: Terms = {}
    rest: Terms = {}
    if divisor.is_Add:
        return _split_sum(terms, divisor)
    needed = sympy.Mul.make_args(product) if product is not sympy.S.One else ()
    for key, coefficient in terms.items():
        if coefficient % n == 0 and all(_has_factor(key, f) for f in needed):
            whole[key / product if needed else key] = coefficient // n
        else:
            rest[key] = coefficient
    return whole, rest


def _split_sum(terms: Terms, divisor: sympy.Expr) -> tuple[Terms, Terms]:
    """As ``_split_multiples`` for a divisor that is a sum: all or nothing."""
    quotient = sympy.cancel(_sum(terms) / divisor) if not _sum(terms).has(FloorDiv, Mod) else None
    if quotient is not None and quotient.is_polynomial():
        quotient = quotient.expand()
        if all(term.as_coeff_Mul()[0].is_Integer for term in sympy.Add.make_args(quotient)):
            return _terms(quotient), {}
    return {}, terms


def _has_factor(product: sympy.Expr, factor: sympy.Expr) -> bool:
    base, exponent = factor.as_base_exp()
    for part in sympy.Mul.make_args(product):
        part_base, part_exponent = part.as_base_exp()
        if part_base == base:
            return bool(part_exponent >= exponent)
    return False


def _factors(terms: Terms, divisor: sympy.Expr) -> list[sympy.Expr]:
    """Divisors of ``divisor`` that some term is a multiple of, larger first."""
    number, product = divisor.as_coeff_Mul()
    found: dict[sympy.Expr, tuple[int, int]] = {}
    for key, coefficient in terms.items():
        if key is sympy.S.One:
            continue
        common = math.gcd(coefficient, int(number))
        shared = [f for f in sympy.Mul.make_args(product) if _has_factor(key, f)]
        symbolic = sympy.Mul(*shared) if product is not sympy.S.One else sympy.S.One
        factor = common * symbolic
        if factor is not sympy.S.One:
            found[factor] = (len(shared), common)
    return sorted(found, key=lambda f: (found[f], str(f)), reverse=True)
