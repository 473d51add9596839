"""Bytes moved: exact where the accesses are simple, never above the storage."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.dtypes import DType
from harness.ir import traffic
from harness.ir.index import FloorDiv, axis_symbol, indirect_symbol, size_symbol
from harness.ir.nodes import Axis
from harness.ir.program import Buffer, Role
from harness.ir.traffic import Access, bytes_moved, distinct_elements
from tests.ir.oracle import evaluate_index

I0, I1 = axis_symbol("i", 0), axis_symbol("i", 1)
T0 = indirect_symbol(0)
S0 = size_symbol("s0")


def flat(name: str, n: int | sympy.Expr, dtype: DType = DType.F32) -> Buffer:
    return Buffer(name, dtype, (sympy.sympify(n),), (sympy.S.One,), Role.INPUT, name)


def axes(*sizes: int | sympy.Expr) -> tuple[Axis, ...]:
    return tuple(Axis(v, sympy.sympify(n)) for v, n in zip((I0, I1), sizes, strict=False))


def test_broadcast_read_counts_its_storage_and_in_place_twice() -> None:
    loops = axes(64, 32)
    x, scale = flat("x", 2048, DType.BF16), flat("scale", 32)
    index = 32 * I0 + I1
    read = [Access(x, index, loops), Access(scale, I1, loops), Access(x, index, loops)]
    elements, scales = 2048 * 2, 32 * 4
    moved, touched = bytes_moved(read, [Access(x, index, loops)])
    assert (moved, touched) == (2 * elements + scales, elements + scales)


def test_one_index_over_equal_loops_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[object] = []
    measure = traffic._measure
    monkeypatch.setattr(traffic, "_measure", lambda *a: measured.append(a) or measure(*a))
    given = [Access(flat(name, 2048), 32 * I0 + I1, axes(64, 32)) for name in "abc"]
    assert bytes_moved(given[:2], given[2:]) == (3 * 2048 * 4, 3 * 2048 * 4)
    assert len(measured) == 1


def test_slices_add_up_to_at_most_the_storage() -> None:
    loops = axes(8, 16)
    x = flat("x", 8 * 64)
    one, two = Access(x, 64 * I0 + I1, loops), Access(x, 64 * I0 + I1 + 16, loops)
    assert distinct_elements([one]) == 128
    assert distinct_elements([one, two]) == 256
    everything = [Access(x, 64 * I0 + I1 + 16 * k, loops) for k in range(4)]
    assert distinct_elements([*everything, one]) == 512


def test_overlapping_windows_count_their_span() -> None:
    x = flat("x", 100)
    windows = [Access(x, I0 + k, axes(98)) for k in range(3)]
    assert distinct_elements(windows) == 100


def test_upsampling_reads_each_element_once() -> None:
    x = flat("x", 12 * 20)
    index = 20 * FloorDiv(I0, 2) + FloorDiv(I1, 2)
    assert distinct_elements([Access(x, index, axes(24, 40))]) == 240
    assert distinct_elements([Access(x, index, axes(24, 20))]) == 120


def test_gather_counts_at_most_the_points() -> None:
    table = flat("table", 50257 * 8)
    assert distinct_elements([Access(table, 8 * T0 + I1, axes(100, 8))]) == 800
    assert distinct_elements([Access(flat("t", 40), 8 * T0 + I1, axes(100, 8))]) == 40


def test_expanded_buffer_has_one_element_along_the_expanded_dimension() -> None:
    wide = Buffer(
        "wide",
        DType.F32,
        (sympy.Integer(5), sympy.Integer(7)),
        (sympy.S.Zero, sympy.S.One),
        Role.INPUT,
        "wide",
    )
    assert distinct_elements([Access(wide, I1, axes(5, 7))]) == 7


def test_unknown_sizes() -> None:
    access = Access(flat("x", S0 * 4), 4 * I0 + I1, axes(S0, 4))
    assert bytes_moved([access], [], {S0: 10}) == (160, 160)
    assert bytes_moved([access], []) == (0, 0)


@given(
    st.integers(0, 9), st.integers(0, 9), st.integers(0, 5), st.integers(1, 6), st.integers(1, 6)
)
@settings(max_examples=200, deadline=None)
def test_one_affine_access_is_never_below_nor_far_above(
    a: int, b: int, offset: int, n: int, m: int
) -> None:
    """Against enumeration: the model is an upper bound of one access within its span."""
    index = sympy.sympify(a * I0 + b * I1 + offset)
    scope = {I0: np.arange(n).reshape(n, 1), I1: np.arange(m).reshape(1, m)}
    touched = np.broadcast_to(evaluate_index(index, scope), (n, m))
    exact = len(np.unique(touched))
    got = distinct_elements([Access(flat("x", 200), index, axes(n, m))])
    assert exact <= got <= min(n * m, touched.max() - touched.min() + 1)
    if b and a >= b * m:
        assert got == exact


@pytest.mark.parametrize("n", [0, 1])
def test_empty_and_single(n: int) -> None:
    assert distinct_elements([Access(flat("x", 5), I0, axes(n))]) == n
