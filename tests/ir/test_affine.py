"""Sizes that may be unknown, and what counts as linear."""

from harness.ir.affine import (
    UNKNOWN_SIZE,
    affine,
    divide,
    linear,
    positions,
    row_major,
    same,
    size_hint,
)
from harness.ir.index import FloorDiv, Mod, axis_symbol, flat_index, size_symbol

S0 = size_symbol("s0")
I, J, K = (axis_symbol("i", n) for n in range(3))


def test_arithmetic_on_sizes() -> None:
    assert divide(6, 2) == 3
    assert [divide(6, n) for n in (4, 0, -2)] == [None] * 3
    assert divide(6 * S0, 2) == 3 * S0
    assert divide(64 * S0, 64) == S0
    assert divide(S0, 2) is None
    assert divide(S0 + 1, 2) is None
    assert divide(FloorDiv(S0, 2) + 1, 2) is None
    assert divide(2 * S0 + 2, 2) == S0 + 1
    assert divide(6 * S0, S0) == 6
    assert same(2 * (S0 + 1), 2 * S0 + 2)
    assert not same(S0, UNKNOWN_SIZE)


def test_strides_of_loops_one_within_the_other() -> None:
    assert row_major([]) == []
    assert row_major([5]) == [1]
    assert row_major([2, S0, 4]) == [4 * S0, 4, 1]
    assert row_major([3, 0, 4]) == [4, 4, 1]


def test_one_hint_stands_for_every_unknown_size() -> None:
    assert size_hint(2 * S0) == 2 * UNKNOWN_SIZE
    assert size_hint(S0 * size_symbol("s1")) == UNKNOWN_SIZE**2
    assert size_hint(7) == size_hint(S0 * 0 + 7) == 7
    assert size_hint(FloorDiv(210, S0)) == 1


def test_linear_in_some_variables() -> None:
    form = linear(S0 * (I + 1) + 3, positions([I]))
    assert form is not None
    assert (form.offset, form.strides) == (S0 + 3, (S0,))
    form = linear(3 * S0 * I + 8 * J + 7 + Mod(K, 3), positions([I, J]))
    assert form is not None
    assert (form.offset, form.strides) == (7 + Mod(K, 3), (3 * S0, 8))
    assert flat_index(form.strides, [I, J], form.offset) == 3 * S0 * I + 8 * J + 7 + Mod(K, 3)


def test_what_is_not_linear_is_left_over() -> None:
    assert linear(FloorDiv(J, 2), positions([J])) is None
    assert linear(I * J, positions([I, J])) is None
    assert linear(J * J, positions([J])) is None
    assert affine(4 * I + I * J + FloorDiv(J, 2), positions([I, J])).strides == (4, 0)
    assert set(affine(I * J + FloorDiv(J, 2), positions([I, J])).rest) == {I * J, FloorDiv(J, 2)}
