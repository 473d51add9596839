"""Splits of a range: refinement, expression of loops, merging."""

from __future__ import annotations

import math

import sympy
from hypothesis import given
from hypothesis import strategies as st

from harness.ir.index import FloorDiv, axis_symbol
from harness.tiling.ranges import (
    Split,
    boundaries,
    divides,
    express,
    merge,
    mergeable,
    refine,
)

I0, I1 = axis_symbol("i", 0), axis_symbol("i", 1)


@st.composite
def factorisations(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two lists of loop sizes with the same product."""
    primes = draw(st.lists(st.sampled_from([2, 2, 3, 5]), min_size=1, max_size=5))

    def grouped() -> list[int]:
        order = draw(st.permutations(primes))
        sizes = [1]
        for prime in order:
            if draw(st.booleans()):
                sizes.append(1)
            sizes[-1] *= prime
        return sizes

    return grouped(), grouped()


@given(factorisations())
def test_every_loop_variable_is_recovered_from_the_splits(
    pair: tuple[list[int], list[int]],
) -> None:
    numel = math.prod(pair[0])
    loops = [[sympy.Integer(n) for n in sizes] for sizes in pair]
    splits = refine(sympy.Integer(numel), loops, "p")
    assert math.prod(int(s.length) for s in splits) == numel
    for sizes in pair:
        axes = [(axis_symbol("i", n), sympy.Integer(size)) for n, size in enumerate(sizes)]
        table = express(axes, splits, "p")
        for point in range(numel):
            values = {s.var: (point // int(s.divisor)) % int(s.length) for s in splits}
            rest = point
            for var, size in reversed(axes):
                rest, expected = divmod(rest, int(size))
                assert int(table[var].xreplace(values)) == expected


def test_loops_that_share_a_factor_share_it() -> None:
    loops = [[sympy.Integer(n) for n in sizes] for sizes in ((4, 3, 2), (4, 6))]
    splits = refine(sympy.Integer(24), loops, "p")
    assert [(int(s.divisor), int(s.length)) for s in splits] == [(1, 2), (2, 3), (6, 4)]


def test_a_split_off_the_chain_gets_its_own_variable() -> None:
    splits = refine(sympy.Integer(12), [[sympy.Integer(3), sympy.Integer(4)]], "p")
    axes = [(I0, sympy.Integer(4)), (I1, sympy.Integer(3))]
    express(axes, splits, "p")
    assert [s for s in splits if not s.chained]


def test_unknown_sizes_divide_where_they_are_factors() -> None:
    s0 = sympy.Symbol("s0", integer=True, positive=True)
    assert divides(sympy.Integer(64), 64 * s0)
    assert divides(s0, 64 * s0)
    assert not divides(sympy.Integer(64), s0)
    assert boundaries([s0, sympy.Integer(8)]) == [1, 8, 8 * s0]


def test_merging_keeps_what_an_index_tells_apart() -> None:
    eight = sympy.Integer(8)
    assert mergeable(8 * I0 + I1 + 5, I0, I1, eight)
    assert mergeable(FloorDiv(8 * I0 + I1, sympy.Integer(3)), I0, I1, eight)
    assert not mergeable(9 * I0 + I1, I0, I1, eight)
    assert not mergeable(I0 * I1, I0, I1, eight)
    assert not mergeable(I1, I0, I1, eight)


def test_merge_stops_at_the_boundary_it_is_told_to_keep() -> None:
    four = sympy.Integer(4)
    splits = [Split(I1, sympy.S.One, four), Split(I0, four, four)]
    joined, zeros = merge(splits, [4 * I0 + I1])
    assert [int(s.length) for s in joined] == [16]
    assert zeros == {I0: 0}
    kept, none = merge(splits, [4 * I0 + I1], keep=four)
    assert len(kept) == 2
    assert none == {}
