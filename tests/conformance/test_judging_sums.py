"""What the order of additions and products decides is no wrong value."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F

from harness.conformance.compare import Judge
from tests.conformance.test_judging import found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_sum_that_cancels_in_another_order(dtype: torch.dtype) -> None:
    """Small numbers are lost in the sums of large ones, or not (1808110)."""
    large = 2.0**63 if dtype is torch.float32 else 2.0**100
    x = torch.tensor([-large, large, 3.0, 4.0], dtype=dtype)
    y = torch.tensor([large, -large, large, 3.0], dtype=dtype)

    def total(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.cumsum(0), x.sum(), y.sum(), y.cumsum(0)

    def lost(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        sums = [x.cumsum(0) * (x.cumsum(0).abs() > 9), x.sum() * 0]
        return sums[0], sums[1], y.sum(), y.cumsum(0)

    assert found(total, lost, x, y) == []
    assert found(total, lambda x, y: (*total(x, y)[:3], y.cumsum(0) * 1.1), x, y) != []
    whole = torch.tensor([-5.0, 5.0, 3.0], dtype=dtype)
    assert found(lambda x: x.cumsum(0).floor(), lambda x: x.cumsum(0).floor() - 1, whole) != []
    assert found(lambda x: x.sum().floor(), lambda x: x.sum() - 1, whole) != []


def test_a_sum_of_integers_that_are_converted_cancels_in_another_order() -> None:
    """As of floats (2400130)."""
    x = torch.tensor([9, 3, -(2**63) + 1, 2**63 - 1, 5, -4])

    def total(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        double = x.cumsum(0, dtype=torch.float64)
        return double, x.cumsum(0, dtype=torch.float32), double[:2].clone()

    def kept(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The large ones cancel first."""
        small = torch.where(x.abs() > 9, 0, x).cumsum(0, dtype=torch.float64)
        double = torch.where(x.cumsum(0).abs() > 99, total(x)[0], small)
        return double, double.float(), total(x)[2]

    assert found(total, kept, x) == []
    assert found(total, lambda x: (*total(x)[:2], total(x)[2] + 1), x) != []
    whole = torch.tensor([-5, 5, 3])
    assert found(lambda x: total(x)[0].floor(), lambda x: total(x)[0].floor() - 1, whole) != []


def test_a_product_of_integers_that_overflows_in_another_order() -> None:
    x = torch.tensor([[0, *[2**62] * 3], [1, 2, 3, 4]])

    def product(x: torch.Tensor) -> torch.Tensor:
        return x.prod(1, dtype=torch.float32)

    assert found(product, lambda x: product(x.flip(1)), x) == []
    assert found(product, lambda x: product(x.flip(1)) + 1, x) != []


def test_bits_of_what_is_computed_in_one_operation_or_two() -> None:
    x = torch.tensor([-1.004, -2.06, 0.3, 1.7] * 3)

    def bits(x: torch.Tensor) -> torch.Tensor:
        return torch.addcmul(x, x, x).view(torch.int16)

    assert found(bits, lambda x: (x + x * x).view(torch.int16), x) == []
    assert found(bits, lambda x: (x + x * x * 1.001).view(torch.int16), x) != []


def test_numbers_that_only_their_rounding_made_equal() -> None:
    """A kernel has 1 and a unit of float32 for one, 1 for another (2501240)."""
    x = torch.full((4,), 2.0**-24, dtype=torch.float16)
    y = x * torch.tensor([0, 1, 0, 1])

    def apart(x: torch.Tensor, y: torch.Tensor, more: float = 0.0) -> torch.Tensor:
        ones = torch.logaddexp2(x, y).float()
        ones[1::2] += more
        return (ones - ones.roll(1)) * 1e3

    def higher(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return apart(x, y, 2.0**-23)

    assert apart(x, y).eq(0).all() and higher(x, y)[1] > 1e-4
    assert found(apart, higher, x, y) == []
    assert found(apart, higher, x, x) != []


def test_a_mean_that_is_the_middle_number_is_rounded_as_any_other() -> None:
    """What it is subtracted from is then above 0, or not (4630769)."""
    step = torch.rand(65, 1) + 0.1
    x = torch.randn(65, 1) + torch.cat([-step, 0 * step, step], 1)

    def function(x: torch.Tensor, units: int = 0, least: float = 0.0) -> torch.Tensor:
        spread, mean = torch.var_mean(x, -1, keepdim=True)
        for _ in range(abs(units)):
            mean = mean.nextafter(torch.tensor(units * torch.inf))
        away = (x - mean) / (spread + 1).sqrt()
        return away.masked_fill(away > least, 2)

    assert found(function, lambda x: function(x, 1), x) == []
    assert found(function, lambda x: function(x, -1), x) == []
    assert found(function, lambda x: function(x, least=0.5), x) != []
    assert found(function, lambda x: function(x) + 1e-3, x) != []


def test_programs_with_floats_of_8_bits_are_repeated() -> None:
    """Each repeat raised where one is converted: what rounding decides was unknown (4670365)."""
    x = torch.linspace(0.1, 3, 60)

    def f(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.to(torch.float8_e4m3fn).float().sum(-1), x.logcumsumexp(-1).double().square()

    def moved(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first, second = f(x)
        return first, second * (1 + 1.5e-7)

    assert found(f, moved, x) == []
    assert found(f, lambda x: (f(x)[0], f(x)[1] * (1 + 1e-5)), x) != []


def test_a_count_of_what_a_unit_tells_apart() -> None:
    """Of hundreds of deviations a kernel rounds some to one number that eager mode has as two, and
    others the other way round: no repeat has them all (4885094)."""
    x = torch.arange(3)[:, None] * 0.897 + torch.rand(1024)
    x[:, 1000] *= 2
    middle, chosen = x.std(0).median().item(), torch.rand(1024) < 0.3

    def counts(x: torch.Tensor) -> torch.Tensor:
        return F.pad((x.std(0) > middle).cumsum(0), (1, 0))[:-1]

    def others(x: torch.Tensor) -> torch.Tensor:
        beside = (x.std(0) - middle).abs() <= 2e-7
        return F.pad(((x.std(0) > middle) ^ (beside & chosen)).cumsum(0), (1, 0))[:-1]

    assert (counts(x) != others(x)).sum() > 500
    assert found(counts, others, x) == []
    assert found(counts, lambda x: counts(x) - (torch.arange(1024) > 1000).long() * 800, x) != []
    whole = (x * 100).round()
    assert found(counts, lambda x: counts(x) - (torch.arange(1024) > 1000).long(), whole) != []


def test_what_16_bits_make_infinite_is_read_as_such() -> None:
    """Of a quotient that overflows, not its numerator, which does so in eager mode (4884310)."""
    x = torch.tensor([6e4, 1.0, 2.5], dtype=torch.float16)

    def infinite(x: torch.Tensor, wide: torch.dtype = torch.float16) -> torch.Tensor:
        return ((x.to(wide) + x) // 1.5).half().nan_to_num(3, 7) == 7

    assert found(infinite, lambda x: infinite(x, torch.float32), x) == []
    assert found(infinite, lambda x: ~infinite(x), x) != []


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64], ids=str)
def test_unsigned_numbers_that_differ(dtype: torch.dtype) -> None:
    """Few calls take them: neither ``minimum`` nor comparisons do on a CPU."""
    x = torch.rand(8) * 9
    assert found(lambda x: x.to(dtype), lambda x: (x.int() + 1).to(dtype), x) != []


def test_what_overflows_does_not_hide_other_numbers() -> None:
    """An infinity whose bits are a few units off is no number; one beside the largest number is."""
    x = torch.tensor([100.0, 1.0, 2.0])

    def most(x: torch.Tensor) -> torch.Tensor:
        return x.exp().clamp(max=7)

    assert found(most, lambda x: most(x) - (x > 50).float(), x) != []
    assert found(torch.exp, lambda x: x.exp().masked_fill(x > 50, 5), x) != []
    assert found(lambda x: x / 0, lambda x: (x / 0).nan_to_num(), x) != []


def test_a_norm_of_equal_numbers_whose_mean_is_rounded() -> None:
    """It moves all of the row alike (4821701)."""
    x = torch.full((256,), -1.4142)

    def total(x: torch.Tensor, more: float = 0.0) -> torch.Tensor:
        return F.layer_norm(x, (256,)).sum() + more

    assert found(total, lambda x: total(x, 256 * 316 * 1.4e-7), x) == []
    assert found(total, lambda x: total(x, 0.1), x) != []


def test_a_place_beside_how_many_there_are() -> None:
    """What rounding counts may be any number between two counts, and a place may not."""
    x, y = torch.ones(40), torch.tensor([0.3, 1.0, 2.5, -1.7, 7.0, 0.1])

    def count(x: torch.Tensor) -> torch.Tensor:
        return (x.sigmoid().logit().ceil() > 1).sum()

    assert found(count, lambda x: count(x) + 5, x) == []
    assert found(lambda x, y: count(x) + y.argmax(), lambda x, y: count(x) + 9, x, y) != []


def test_an_exponent_of_what_cancels() -> None:
    """It may be any between those of two repeats (4813215), of which none has this one."""
    x = torch.linspace(-3, 4, 240).sin().view(30, 8)

    def exponents(x: torch.Tensor) -> torch.Tensor:
        return torch.frexp((x * 3).sum(0) - x.sum(0) * 3)[1]

    assert found(exponents, lambda x: torch.full_like(exponents(x), -13), x) == []
    assert found(exponents, lambda x: torch.full_like(exponents(x), 3), x) != []


def test_how_many_sums_differ_may_be_any_number_between_those_of_two_repeats() -> None:
    """5100065: 228 in eager mode, 227 to 257 in repeats, 248 in a kernel."""
    x = (torch.arange(257) * 1558 % 1009 - 504) * 0.003

    def run() -> list[torch.Tensor]:
        return [x.cumsum(0).unique()]

    (least,) = run()
    judge, some = Judge(run, [least], True), least[least.abs() > 1]
    for many in (1, 12):
        assert judge.is_right(0, torch.cat([least, some[:many] * (1 + 2e-7)]).sort()[0])
    assert not judge.is_right(0, torch.cat([least, some[:1] * 1.01]).sort()[0])
    assert not judge.is_right(0, least[least.abs() < 4].repeat_interleave(2)[: len(least) + 9])
    assert not judge.is_right(0, least.repeat(2))


@pytest.mark.parametrize("rows", [256, 1024])
def test_sums_to_which_one_row_after_the_other_is_added(rows: int) -> None:
    """They are off by more than operands moved by a unit of their last place (4815289)."""
    x = torch.arange(3072).mul(8952).remainder(1009).sub(504).mul(0.003).reshape(1024, 3)
    x = (x - x.amax(-1, keepdim=True)).exp()

    def added(x: torch.Tensor) -> torch.Tensor:
        parts = [torch.stack([*itertools.accumulate(part)])[-1] for part in x.split(rows)]
        return torch.stack(parts).sum(0)

    assert found(lambda x: x.sum(0), added, x) == []
    assert found(lambda x: x.mean(0), lambda x: added(x) / 1024, x) == []
    assert found(lambda x: x.sum(0), lambda x: added(x[1:]), x) != []
    running = torch.stack([*itertools.accumulate(x)])
    assert found(lambda x: x.cumsum(0), lambda x: running, x) == []


def test_a_sum_that_happens_to_be_another_element_is_rounded_as_any_other() -> None:
    """In float64 on a CPU it is that element, and the least of both has its gradient (6001316)."""
    unit = 2.0**-23
    x = torch.tensor([[1.0, unit / 2, unit / 2], [1 + unit, 0.0, 0.0]]).requires_grad_()

    def least(x: torch.Tensor, units: int = 0) -> tuple[torch.Tensor, ...]:
        total, other = x.cumsum(1)[:, 2]
        return (torch.stack([total + units * unit, other]).amin(),)

    assert x[0].cumsum(0)[2] == x[1, 0]
    assert found(least, lambda x: least(x, -1), x) == []
    whole = torch.tensor([[1.0, 5.0, 4.0], [10.0, 0.0, 0.0]]).requires_grad_()
    assert found(least, lambda x: least(x, -8), whole) != []
    alone = torch.tensor([[0.0, 1 + unit, 0.0], [1 + unit, 0.0, 0.0]]).requires_grad_()
    assert found(least, lambda x: least(x, -1), alone) != []
