"""What the judge takes for right, and does, where results come from a GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.utils._pytree import tree_map_only

from harness.conformance import rounding
from harness.conformance.compare import Judge, outcome
from tests.conformance.test_judging import found

_aten = torch.ops.aten


@pytest.mark.parametrize("place", range(40))
def test_any_of_forty_equal_elements(place: int) -> None:
    x = torch.cat([torch.full((40,), 0.5), torch.full((20,), torch.nan)])
    judge = Judge(lambda: [x.nanmedian(0)[1]], [x.nanmedian(0)[1]], True)
    assert judge.is_right(0, torch.tensor(place))
    assert not judge.is_right(0, torch.tensor(place + 40))


def test_a_quotient_by_a_power_of_two_is_what_it_is() -> None:
    assert found(lambda x: x / 2 // 1, lambda x: x / 2 // 1 - 1, torch.tensor([2.0, 6.0])) != []


def test_a_number_of_a_cpu_beside_a_tensor_of_a_gpu() -> None:
    with FakeTensorMode():
        value = torch.empty(3, device="cuda")
        found = rounding._found_among(_aten.add.Tensor, value, ((value, torch.tensor(0.1)), {}))
        assert found.device == value.device


def test_a_mean_is_computed_but_for_one_number() -> None:
    three = torch.tensor([[1.0, 3.0, 2.0]])
    for dim, one in ((0, True), (1, False)):
        found = rounding._found_among(_aten.mean.dim, three.mean(dim), ((three, [dim]), {}))
        assert found.all() == one


class _OfGpu(torch.Tensor):
    """A tensor of a GPU whose kernels, called with what they do not take, stop it."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> _OfGpu:
        made = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, held.shape, dtype=held.dtype, device="cuda"
        )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args = tree_map_only(_OfGpu, lambda one: one.held, args)
        if func is torch.ops.aten._to_copy.default:
            return args[0].clone()
        try:
            return func(*args, **(kwargs or {}))
        except RuntimeError:
            pytest.exit("device-side assert triggered")


def test_what_repeats_move_out_of_range_does_not_stop_a_gpu() -> None:
    """A probability a unit above 1, an index beyond the last (2200647)."""
    above, target = torch.tensor([1.0000001]), torch.tensor([0.5])
    loss, take = torch.ops.aten.binary_cross_entropy.default, torch.ops.aten.take.default
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        rounding._result(loss, (_OfGpu(above), _OfGpu(target)), {})
    with pytest.raises(IndexError):
        rounding._result(take, (_OfGpu(target), _OfGpu(torch.tensor([1]))), {})
    assert rounding._result(loss, (_OfGpu(target), _OfGpu(target)), {}) == loss(target, target)
    given = ((_OfGpu(target * 2), _OfGpu(target)), {})
    assert rounding._again(loss, given, torch.float64) is not None


GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
def test_repeats_of_a_loss_and_of_numbers(device: str) -> None:
    """On a GPU operands of a loss that were moved above 1 stopped it (2200647), and numbers, which
    lie on the CPU, ended most repeats (2200348, 2200039)."""
    x = torch.tensor([99, 3], device=device)

    def loss(x: torch.Tensor) -> torch.Tensor:
        one = torch.nn.functional.binary_cross_entropy(x.sigmoid(), x.sigmoid(), reduction="none")
        one[one > 0.5] = -2.5
        return one // 0.1

    made = [result for result, _ in rounding.repeats(lambda: outcome(loss, [x]))]
    assert not [one for one in made if isinstance(one, Exception)]
