"""Simplification, bounds, merging and text agree with plain evaluation at every point."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import InvalidProgram
from harness.ir.index import FloorDiv, Mod, axis_symbol, flat_index, size_symbol
from harness.ir.index_text import IndexPrinter
from harness.ir.simplify import Simplifier, in_parts

II, J, K = (axis_symbol("i", n) for n in range(3))
S0 = size_symbol("s0")
VARIABLES = (II, J, K)


def value(expr: sympy.Expr, point: dict[sympy.Symbol, int]) -> int:
    """Evaluate by Python's own operators, without sympy's evaluation."""
    if expr.is_Symbol:
        return point[expr]
    if expr.is_Integer:
        return int(expr)
    args = [value(a, point) for a in expr.args]
    if isinstance(expr, FloorDiv):
        return args[0] // args[1]
    if isinstance(expr, Mod):
        return args[0] % args[1]
    if expr.is_Pow:
        return args[0] ** args[1]
    if isinstance(expr, sympy.Min):
        return min(args)
    if isinstance(expr, sympy.Max):
        return max(args)
    total = 0 if expr.is_Add else 1
    for a in args:
        total = total + a if expr.is_Add else total * a
    return total


def expressions(with_sizes: bool) -> st.SearchStrategy[sympy.Expr]:
    divisors: st.SearchStrategy[sympy.Expr] = st.integers(1, 12).map(sympy.Integer)
    leaves: st.SearchStrategy[sympy.Expr] = st.sampled_from(VARIABLES) | st.integers(-9, 9).map(
        sympy.Integer
    )
    if with_sizes:
        leaves = leaves | st.just(S0)
        divisors = divisors | st.sampled_from([S0, 2 * S0, S0 * S0, S0 + 1])

    def grow(inner: st.SearchStrategy[sympy.Expr]) -> st.SearchStrategy[sympy.Expr]:
        return st.one_of(
            st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
            st.tuples(st.integers(-6, 12), inner).map(lambda p: p[0] * p[1]),
            st.tuples(divisors, inner).map(lambda p: p[0] * p[1]),
            st.tuples(inner, divisors).map(lambda p: FloorDiv(p[0], p[1])),
            st.tuples(inner, divisors).map(lambda p: Mod(p[0], p[1])),
            st.tuples(inner, inner).map(lambda p: sympy.Min(*p)),
            st.tuples(inner, inner).map(lambda p: sympy.Max(*p)),
        )

    return st.recursive(leaves, grow, max_leaves=7)


def points(sizes: dict[sympy.Symbol, int]) -> Iterator[dict[sympy.Symbol, int]]:
    for combination in itertools.product(*(range(n) for n in sizes.values())):
        yield dict(zip(sizes, combination, strict=True))


def triton_value(text: str, point: dict[sympy.Symbol, int]) -> int:
    """Run Triton index text with C division."""

    class C(int):
        def __floordiv__(self, other: int) -> C:
            q = abs(int(self)) // abs(int(other))
            return C(q if (self < 0) == (other < 0) else -q)

        def __mod__(self, other: int) -> C:
            return C(int(self) - int(self // other) * int(other))

        def __rfloordiv__(self, other: int) -> C:
            return C(other) // self

        def __rmod__(self, other: int) -> C:
            return C(other) % self

        def __add__(self, other: int) -> C:
            return C(int(self) + int(other))

        __radd__ = __add__

        def __sub__(self, other: int) -> C:
            return C(int(self) - int(other))

        def __rsub__(self, other: int) -> C:
            return C(int(other) - int(self))

        def __mul__(self, other: int) -> C:
            return C(int(self) * int(other))

        __rmul__ = __mul__

        def __neg__(self) -> C:
            return C(-int(self))

    class Tl:
        maximum = staticmethod(lambda a, b: C(max(a, b)))
        minimum = staticmethod(lambda a, b: C(min(a, b)))

    scope = {s.name: C(n) for s, n in point.items()}
    return int(eval(text, {"tl": Tl}, scope))


@given(expressions(False), st.tuples(*[st.integers(1, 7)] * 3))
@settings(max_examples=300, deadline=None)
def test_simplify_bounds_and_text_hold_at_every_point(
    expr: sympy.Expr, extents: tuple[int, int, int]
) -> None:
    sizes = dict(zip(VARIABLES, extents, strict=True))
    simplifier = Simplifier({v: sympy.Integer(n) for v, n in sizes.items()})
    simple = simplifier.simplify(expr)
    low, high = simplifier.bounds(expr)
    python = IndexPrinter(simplifier).text(simple)
    triton = IndexPrinter(simplifier, triton=True).text(simple)
    raw = IndexPrinter(simplifier, triton=True).text(expr)
    for point in points(sizes):
        expected = value(expr, point)
        assert value(simple, point) == expected
        assert low is None or int(low) <= expected
        assert high is None or expected <= int(high)
        assert eval(python, {}, {s.name: n for s, n in point.items()}) == expected
        assert triton_value(triton, point) == expected
        assert triton_value(raw, point) == expected


@given(expressions(True), st.tuples(*[st.sampled_from([1, 2, 3, 5, S0, 2 * S0])] * 3))
@settings(max_examples=200, deadline=None)
def test_unknown_sizes(expr: sympy.Expr, extents: tuple[sympy.Expr, ...]) -> None:
    simplifier = Simplifier({v: sympy.sympify(n) for v, n in zip(VARIABLES, extents, strict=True)})
    simple = simplifier.simplify(expr)
    low, high = simplifier.bounds(expr)
    for size in (1, 2, 3):
        numbers = [int(sympy.sympify(n).subs(S0, size)) for n in extents]
        for point in points(dict(zip(VARIABLES, numbers, strict=True))):
            at = {**point, S0: size}
            expected = value(expr, at)
            assert value(simple, at) == expected
            assert low is None or value(low, at) <= expected
            assert high is None or expected <= value(high, at)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (FloorDiv(8 * II + K, 8), II),
        (Mod(8 * II + K, 8), K),
        (48 * FloorDiv(II, 1) + 8 * J + K, 48 * II + 8 * J + K),
        (FloorDiv(4 * II + 3, 8), FloorDiv(II, 2)),
        (FloorDiv(FloorDiv(K, 2), 2), FloorDiv(K, 4)),
        (6 * FloorDiv(6 * II + J, 6) + Mod(6 * II + J, 6), 6 * II + J),
        (Mod(Mod(5 * K, 8), 4), Mod(K, 4)),
        (FloorDiv(Mod(3 * K, 16), 4), Mod(FloorDiv(3 * K, 4), 4)),
        (sympy.Max(II, 0), II),
        (sympy.Min(J, 5), J),
        (sympy.Min(J, 4), sympy.Min(J, 4)),
        (sympy.Max(II, J + 4), J + 4),
        (sympy.Max(J, II + 6), II + 6),
        (sympy.Min(II, J + 4), II),
        (sympy.Min(J, II + 6), J),
        (J * (II + 1), II * J + J),
        (Mod(J - 9 * II, 4), Mod(J - II, 4)),
    ],
)
def test_simplify_rules(expr: sympy.Expr, expected: sympy.Expr) -> None:
    assert Simplifier({II: 4, J: 6, K: 8}).simplify(expr) == expected


M = axis_symbol("m", 0)  # of 24


@pytest.mark.parametrize(
    "expr",
    [
        FloorDiv(Mod(M, 6), 4),  # 4 does not divide 6
        Mod(Mod(M, 6), 4),
        FloorDiv(4 * K + J - 3, 8),  # the rest may be negative,
        FloorDiv(4 * K + J, 8),  # or more than 4
        Mod(4 * K + J, 8),
        12 * FloorDiv(M, 6) + Mod(M, 6),  # twice the quotient
        6 * FloorDiv(M, 6) + 2 * Mod(M, 6),
        5 * FloorDiv(M, 6) + Mod(M, 6),
        Mod((S0 + 1) * II, 2 * S0 + 2),
        FloorDiv((S0 + 1) * II, 2 * S0 + 2),
        FloorDiv(S0 * M, S0**2),
        Mod(S0 * M + J, S0**2),
        FloorDiv((S0 + 1) * FloorDiv(M, 5) + K, S0 + 1),
        sympy.Max(J, 3) + sympy.Min(J, 3),
    ],
)
def test_what_looks_like_a_rule_and_is_none_has_the_same_value(expr: sympy.Expr) -> None:
    sizes = {II: 4, J: 6, K: 8, M: 24}
    used = {v: n for v, n in sizes.items() if v in expr.free_symbols}
    simple = Simplifier(sizes).simplify(expr)
    for size, at in itertools.product((1, 2, 3, 5), points(used)):
        assert value(simple, {**at, S0: size}) == value(expr, {**at, S0: size})


def test_a_loop_of_one_turn_is_at_its_beginning() -> None:
    assert Simplifier({II: 1, J: 6}).simplify(3 * II + J) == J


def test_bounds_of_products_sizes_and_counts() -> None:
    count = sympy.Symbol("n", integer=True, nonnegative=True)
    simplifier = Simplifier({II: 4})
    assert simplifier.bounds(II**2) == (0, 9) and simplifier.bounds(S0) == (S0, S0)
    assert simplifier.bounds(count) == (0, None)
    assert simplifier.bounds(axis_symbol("unknown", 0)) == (0, None)


def test_what_takes_a_variables_place_is_remembered_with_it() -> None:
    simplifier = Simplifier({K: 8})
    assert [simplifier.substitute(II + J, {II: n * K}) for n in (1, 2, 1)] == [
        K + J,
        2 * K + J,
        K + J,
    ]


def test_simplify_with_symbolic_divisor() -> None:
    simplifier = Simplifier({II: S0, J: S0, K: sympy.Integer(8)})
    assert simplifier.simplify(FloorDiv(S0 * II + J, S0)) == II
    assert simplifier.simplify(Mod(S0 * II + J, S0)) == J
    assert simplifier.simplify(FloorDiv(8 * S0 * II + 8 * J + K, 8 * S0)) == II
    assert simplifier.simplify(FloorDiv(S0 * II + II, S0 + 1)) == II
    assert simplifier.simplify(Mod(S0 * II + II, S0 + 1)) == 0
    assert simplifier.simplify(FloorDiv(0 * II, S0 - 1)) == 0
    m = axis_symbol("m", 0)
    flat = Simplifier({m: 8 * S0})
    assert flat.simplify(8 * FloorDiv(m, 8) + Mod(m, 8)) == m


def test_three_way_split_is_undone() -> None:
    x = axis_symbol("x", 0)
    simplifier = Simplifier({x: 192})
    split = 48 * FloorDiv(x, 48) + 8 * Mod(FloorDiv(x, 8), 6) + Mod(x, 8)
    assert simplifier.simplify(split) == x


def test_text_is_readable_and_deterministic() -> None:
    simplifier = Simplifier({II: 4, J: 6, K: 8})
    printer = IndexPrinter(simplifier, {II: "x0"}, triton=True)
    assert printer.text(48 * II + K + 8 * J + 3) == "i2 + 8*i1 + 48*x0 + 3"
    assert printer.text(7 - K) == "7 - i2"
    assert printer.text(FloorDiv(K + 1, 2)) == "(i2 + 1) // 2"
    assert printer.text(Mod(K - 1, 2)) == "((i2 - 1) % 2 + 2) % 2"
    assert printer.operand(K + 1) == "(i2 + 1)"


def test_text_refuses_what_is_no_index() -> None:
    printer = IndexPrinter(Simplifier({}))
    with pytest.raises(InvalidProgram, match="indices cannot have"):
        printer.text(sympy.sin(II))


def test_flat_index() -> None:
    assert flat_index((12, 4, 1), (II, J, K), 5) == 12 * II + 4 * J + K + 5


@pytest.mark.parametrize(
    ("size", "n", "simple"),
    [
        (S0 - FloorDiv(S0 + 1, 2), 2, FloorDiv(S0, 2)),
        (2 * FloorDiv(S0 + 1, 2), 2, 2 * FloorDiv(S0, 2)),
        (S0, 2, 2 * FloorDiv(S0, 2)),
        (S0 - 2 * FloorDiv(S0 + 2, 3), 3, FloorDiv(S0, 3)),
        (12 * FloorDiv(S0, 8) ** 2 * size_symbol("s1"), 8, None),
        (sympy.Max(1, FloorDiv(S0, 4)) * 4 + Mod(S0 + 1, 4), 4, 4 * FloorDiv(S0, 4) + 1),
        (FloorDiv(S0, 3) + FloorDiv(S0, 6), 6, 3 * FloorDiv(S0, 6)),
        (FloorDiv(S0, 5) + S0 // 1, 2, None),
    ],
)
def test_a_size_that_is_a_multiple_is_counted_in_whole_parts(
    size: sympy.Expr, n: int, simple: sympy.Expr | None
) -> None:
    found = in_parts(size, ((S0, n),))
    assert simple is None or found == simple
    for number in range(n, 20 * n, n):
        point = {S0: number, size_symbol("s1"): 7}
        assert value(found, point) == value(size, point)
