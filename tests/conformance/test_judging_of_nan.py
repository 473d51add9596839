"""Signs of NaN: no standard says those of what is computed."""

from __future__ import annotations

import torch

from harness.errors import DivisionByZero
from tests.conformance.test_judging import found

NAN, INF = float("nan"), float("inf")


def _halved(x: torch.Tensor) -> torch.Tensor:
    return x.clone().floor_divide_(2).signbit().long()


def test_a_nan_of_what_has_none_is_computed() -> None:
    """Eager mode's quotient of an infinity is a positive NaN, a kernel's a negative one: also where
    a result has nothing else, of an operator that torch does not call elementwise (4300223)."""
    x = torch.full((5,), INF, dtype=torch.bfloat16)
    assert _halved(x).eq(0).all()
    assert found(_halved, lambda x: 1 - _halved(x), x) == []
    assert found(_halved, lambda x: _halved(x) + 2, x) != []


def test_a_nan_beside_one_that_is_read() -> None:
    x = torch.tensor([NAN, 3, INF, -4], dtype=torch.bfloat16)

    def whole(x: torch.Tensor) -> torch.Tensor:
        return (x // 1).signbit().long()

    assert whole(x).tolist() == [0, 0, 0, 1]
    assert found(whole, lambda x: whole(x) ^ torch.tensor([0, 0, 1, 0]), x) == []
    assert found(whole, lambda x: whole(x) ^ torch.tensor([0, 1, 1, 0]), x) != []


def test_an_extreme_that_is_nan_has_either_sign_and_what_is_picked_keeps_its_own() -> None:
    """Eager mode's smallest of several NaN is none of them (4690358)."""
    x = torch.full((5, 128), -NAN)

    def least(x: torch.Tensor) -> torch.Tensor:
        return x.amin(1).signbit().long()

    def picked(x: torch.Tensor) -> torch.Tensor:
        return x.select(1, 7).signbit().long()

    assert found(least, lambda x: 1 - least(x), x) == []
    assert found(least, lambda x: least(x) + 2, x) != []
    assert found(picked, lambda x: 1 - picked(x), x) != []


def test_which_of_several_nan_is_the_median_may_decide_whether_a_program_raises() -> None:
    """Eager mode names the third of five, a kernel the first (4815786)."""
    x = torch.full((5,), torch.nan)

    def right(x: torch.Tensor) -> torch.Tensor:
        return x.nanmedian(0)[1] // x.nanmedian(0)[1]

    def raises(x: torch.Tensor) -> torch.Tensor:
        raise DivisionByZero("an integer is divided by zero", where="kernel")

    assert found(right, raises, x) == []
    assert found(right, raises, torch.arange(5.0)) != []
    assert found(lambda x: x.nanmedian(0)[1] + 1, raises, x) != []


def test_a_zero_of_softshrink_has_the_sign_that_a_single_element_has() -> None:
    """In a vector of eager mode it is 0.0, in a single element x * 0 (4817046)."""
    x = torch.linspace(-1, 1, 64, dtype=torch.bfloat16)

    def shrunk(x: torch.Tensor) -> torch.Tensor:
        zeros = torch.nn.functional.softshrink(x, 2.0)
        return zeros.amax(0, keepdim=True) + zeros

    def resigned(x: torch.Tensor) -> torch.Tensor:
        return torch.where(torch.arange(64) < 20, -0.0, shrunk(x))

    assert found(shrunk, resigned, x) == []
    assert found(shrunk, lambda x: resigned(x) + 0.01, x) != []
