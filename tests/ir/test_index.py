"""Arithmetic on sizes, against Python's."""

from __future__ import annotations

import pytest
import sympy

from harness.ir.index import nearest


@pytest.mark.parametrize("divisor", [1, 2, 3, 4, 7, 10])
def test_a_quotient_is_rounded_as_python_rounds_it(divisor: int) -> None:
    for number in range(100):
        assert nearest(sympy.Integer(number), divisor) == round(number / divisor)
