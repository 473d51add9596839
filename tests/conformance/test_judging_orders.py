"""Orders that only rounding decides are no wrong ones; every other is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from harness.conformance import compare
from tests.conformance.test_judging import found

KEYS = torch.arange(2 * 128).mul(71).remainder(127).sub(63).mul(0.1).reshape(2, 128)


def _keys(x: torch.Tensor, units: int = 0) -> torch.Tensor:
    """Some are beside 1, a third of them a unit below if ``units`` is -1."""
    made = torch.special.ndtr(x + 0.1)
    below = (torch.arange(x.shape[-1]) % 3 == 0) & (made == 1)
    return made + below * units * 2.0**-24


def _order(x: torch.Tensor, units: int = 0) -> torch.Tensor:
    return _keys(x, units).sort(dim=-1, stable=True, descending=True)[1]


def test_an_order_of_what_rounding_made_equal() -> None:
    """No repeat has the same of so many ties (5400180)."""
    equal = (_keys(KEYS) == 1).sum(1)
    assert equal.gt(5).all()
    assert not _order(KEYS).equal(_order(KEYS, -1))
    assert found(_order, lambda x: _order(x, -1), KEYS) == []
    assert found(lambda x: _order(x).T.int(), lambda x: _order(x, -1).T.int(), KEYS) == []


def test_an_order_of_a_dimension_that_is_not_the_last() -> None:
    def along(x: torch.Tensor, units: int = 0) -> torch.Tensor:
        return _keys(x, units).T.contiguous().argsort(0, descending=False)

    assert found(along, lambda x: along(x, -1), KEYS) == []
    assert found(along, lambda x: along(x, -1).roll(1, 0), KEYS) != []


@pytest.mark.parametrize("of", ["ends", "ties", "places", "direction", "row"])
def test_a_wrong_order(of: str) -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        made = _order(x)
        if of == "ends":
            made[:, [0, -1]] = made[:, [-1, 0]]
        elif of == "ties":  # those of numbers that are equal whatever is rounded
            made[:, :9] = made[:, :9].flip(1)
        elif of == "places":
            made[:, 1] = made[:, 0]
        elif of == "direction":
            made = made.flip(1)
        else:
            made = made.roll(1, 0)
        return made

    x = KEYS.clone()
    x[:, 64:] = x[:, :64]
    assert found(_order, wrong, x) != []


@pytest.mark.parametrize("descending", [False, True])
def test_an_order_of_equal_numbers_is_free_in_a_sort_that_is_not_stable(descending: bool) -> None:
    x = torch.tensor([[2.0, torch.nan, 1.0, 2.0, 1.0, torch.nan, -0.0, 0.0]])

    def sort(x: torch.Tensor, stable: bool) -> torch.Tensor:
        how = {"stable": True} if stable else {}
        return x.sort(dim=-1, descending=descending, **how)[1]

    def turned(x: torch.Tensor) -> torch.Tensor:
        return (7 - x.flip(1).sort(dim=-1, stable=True, descending=descending)[1]).contiguous()

    assert found(lambda x: sort(x, False), turned, x) == []
    assert found(lambda x: sort(x, True), turned, x) != []
    assert found(lambda x: sort(x, False), lambda x: turned(x).roll(1, 1), x) != []


def test_what_a_sort_gave_and_was_changed_is_no_order() -> None:
    def changed(x: torch.Tensor, units: int = 0) -> torch.Tensor:
        made = _order(x, units)
        made[:, 0] = made[:, 1]
        return made

    assert found(changed, lambda x: _order(x, -1), KEYS) != []


@pytest.mark.parametrize("wrong", ["", "size", "place", "many"])
def test_which_of_many_maxima_that_are_nearly_equal_have_the_gradient(wrong: str) -> None:
    """More than repeats choose one after the other (6107170)."""

    def shares(x: torch.Tensor, each: int = 1) -> torch.Tensor:
        ones = (x.sin().square() * x + x.cos().square() * x) / x
        ones = ones.where(x > 0.01, 0.5)
        largest = ones == ones.amax(-1, keepdim=True)
        largest &= largest.cumsum(-1) % each == 0
        return largest / largest.sum(-1, keepdim=True)

    def other(x: torch.Tensor) -> torch.Tensor:
        made = shares(x, 17)
        if wrong == "size":
            made *= 99
        elif wrong == "place":
            made[x <= 0.01] = 0.1
        elif wrong == "many":
            made[:, 100:200] = 0.5
        return made

    x = torch.arange(1024).mul(71).remainder(1009).mul(0.001)[None] + 0.0095
    assert bool(found(shares, other, x)) == bool(wrong)


def test_orders_of_long_rows_take_no_memory_for_all_pairs() -> None:
    """Of 20,000 positions these were 400 million."""

    class Largest(TorchDispatchMode):
        elements = 0

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            made = func(*args, **(kwargs or {}))
            sizes = (one.numel() for one in tree_leaves(made) if isinstance(one, torch.Tensor))
            self.elements = max(self.elements, *sizes, 0)
            return made

    order = torch.randperm(2000)
    other = torch.cat([order[1::2], order[::2]])
    with Largest() as mode:
        assert compare._is_an_order(order, [order, other])
        assert not compare._is_an_order(order.flip(0), [order, order])
    assert mode.elements <= 3 * 2000
