"""What rounding decides of complex numbers is no wrong value."""

from __future__ import annotations

import torch

from tests.conformance.test_judging import found

TURNS = torch.polar(torch.linspace(0.3, 1, 49), torch.linspace(0, 20, 49)).view(7, 7)


def test_what_a_large_number_leaves_of_a_small_one() -> None:
    def lost(x: torch.Tensor) -> torch.Tensor:
        return x * 3e4 + x - x * 3e4

    assert not torch.allclose(lost(TURNS), TURNS)
    assert found(lost, lambda x: x.clone(), TURNS) == []
    assert found(lost, lambda x: x + 0.1j, TURNS) != []


def test_a_product_of_matrices_in_another_order() -> None:
    def cancelling(x: torch.Tensor) -> torch.Tensor:
        return x @ x - x.roll(1, 1) @ x.roll(1, 0)

    x = TURNS * 3e3
    assert not torch.allclose(cancelling(x), x * 0)
    assert found(cancelling, lambda x: x * 0, x) == []
    assert found(lambda x: x @ x, lambda x: x.conj() @ x, x) != []


def test_which_number_is_as_large_as_the_largest() -> None:
    """The gradient of a maximal norm that is wider than the magnitudes is NaN without one."""

    def largest(x: torch.Tensor) -> torch.Tensor:
        return x.abs() == torch.linalg.vector_norm(x, torch.inf, 0, dtype=torch.complex128)

    assert not torch.equal(largest(TURNS), TURNS.abs() == TURNS.abs().amax(0))
    assert found(largest, lambda x: x.abs() == x.abs().amax(0), TURNS) == []
    assert found(largest, lambda x: x.abs() >= 0, TURNS) != []
