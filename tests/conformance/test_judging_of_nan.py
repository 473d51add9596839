"""Signs of NaN: no standard says those of what is computed."""

from __future__ import annotations

import torch

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
