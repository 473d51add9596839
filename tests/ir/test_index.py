"""Arithmetic on sizes, against Python's."""

from __future__ import annotations

import pytest
import sympy
from torch.utils._sympy import functions as torch_words

from harness.ir.index import multiples, nearest


@pytest.mark.parametrize("divisor", [1, 2, 3, 4, 7, 10])
def test_a_quotient_is_rounded_as_python_rounds_it(divisor: int) -> None:
    for number in range(100):
        assert nearest(sympy.Integer(number), divisor) == round(number / divisor)


def test_what_torch_has_checked_says_which_sizes_are_multiples() -> None:
    s, t = (sympy.Symbol(name, integer=True, positive=True) for name in "st")
    half, third = torch_words.FloorDiv(s + 1, 2), torch_words.FloorDiv(s + 2, 3)

    def equal(left: sympy.Expr, right: sympy.Expr) -> sympy.Expr:
        return sympy.Eq(left, right, evaluate=False)

    zero = sympy.S.Zero
    checked = {
        equal(torch_words.Mod(s, 8), zero): [(s, 8)],
        equal(8 * torch_words.FloorDiv(s, 8), s): [(s, 8)],
        equal(half, s - half): [(s, 2)],
        equal(third, s - 2 * third): [(s, 3)],
        equal(4 * torch_words.FloorDiv(half + 3, 2), s): [(s, 4)],  # whichever is met first
        equal(torch_words.Mod(s, 8), sympy.S.One): [],
        equal(torch_words.Mod(s + 1, 8), zero): [],
        equal(half, s - half - 1): [],
        equal(half, torch_words.FloorDiv(s, 2)): [(s, 2)],
        equal(torch_words.FloorDiv(s + 4, 5), torch_words.FloorDiv(s, 5)): [(s, 5)],
        equal(half, torch_words.FloorDiv(s, 3)): [],
        equal(half, 1 + torch_words.FloorDiv(s, 2)): [],
        equal(half, 2 * torch_words.FloorDiv(s, 2)): [],
        equal(half, s + torch_words.FloorDiv(s, 2)): [],  # of one only
        equal(half, t): [],
        equal(torch_words.ToFloat(s), sympy.Float(2.5)): [],
        equal(s, sympy.Integer(8)): [],
        equal(torch_words.FloorDiv(s, 8), sympy.Integer(2)): [],
        sympy.Ne(torch_words.Mod(s, 8), zero): [],
        s > 8: [],
    }
    for one, expected in checked.items():
        assert [*multiples((one,)).items()] == expected, one
    sixteenth = torch_words.FloorDiv(s, 16)
    wide = torch_words.FloorDiv(s, sixteenth)
    found = multiples((equal(wide, sympy.Integer(16)), equal(s, sixteenth * wide)))
    assert found == {s: 16}
    rest = torch_words.Mod(s, sixteenth)
    assert multiples((equal(wide, sympy.Integer(16)), equal(rest, zero))) == {s: 16}
    assert multiples((equal(rest, zero),)) == {}
    assert multiples((equal(torch_words.Mod(s, 4), zero), equal(torch_words.Mod(s, 6), zero))) == {
        s: 12
    }
