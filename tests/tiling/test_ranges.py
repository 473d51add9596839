"""The loops of a kernel as splits, and which of them may merge."""

import sympy

from harness.ir.index import FloorDiv, axis_symbol, size_symbol
from harness.ir.nodes import Axis
from harness.tiling.ranges import Split, merge, mergeable, splits

I0, I1, I2 = (axis_symbol("i", n) for n in range(3))
FOUR, EIGHT = sympy.Integer(4), sympy.Integer(8)


def test_loops_are_splits_innermost_first() -> None:
    s0 = size_symbol("s0")
    made = splits([Axis(I0, FOUR), Axis(I1, s0), Axis(I2, EIGHT)])
    assert made == [Split(I2, sympy.S.One, EIGHT), Split(I1, EIGHT, s0), Split(I0, 8 * s0, FOUR)]


def test_merging_keeps_what_an_index_tells_apart() -> None:
    assert mergeable(8 * I0 + I1 + 5, I0, I1, EIGHT)
    assert mergeable(FloorDiv(8 * I0 + I1, sympy.Integer(3)), I0, I1, EIGHT)
    assert not mergeable(9 * I0 + I1, I0, I1, EIGHT)
    assert not mergeable(I0 * I1, I0, I1, EIGHT)
    assert not mergeable(I1**2, I0, I1, EIGHT)
    assert not mergeable(I1, I0, I1, EIGHT)


def test_loops_that_no_index_tells_apart_become_one() -> None:
    chain = splits([Axis(I0, FOUR), Axis(I1, FOUR)])
    joined, zeros = merge(chain, [4 * I0 + I1])
    assert [int(s.length) for s in joined] == [16]
    assert zeros == {I0: 0}
    assert merge(chain, [4 * I0 + I1, I1]) == (chain, {})
