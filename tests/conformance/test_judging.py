"""What counts as a wrong value: what rounding decides does not, anything else does. A compiler is
made up that answers with ``wrong``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_leaves

from harness.conformance.compare import Judge, differences

Function = Callable[..., Any]
HALF = torch.tensor([0.3, 1.0, 2.5, -1.7, 7.0, 0.1], dtype=torch.bfloat16)
SINGLE = torch.tensor([0.3, 1.0, 2.5, -1.7, 7.0, 0.1])
POINTS = torch.linspace(-3, 4, 240).sin().view(30, 8)
SPECIAL = torch.tensor([3e38, 0.3, 1.3, 2.3] * 16)
ACTIVATED = torch.tensor([0.421, 0.114, 3.017], dtype=torch.float16)
LARGE = torch.tensor([6e4, 1.0, 2.5], dtype=torch.float16)
EQUAL = torch.full((9, 7), 0.1, dtype=torch.float64)
TIES = torch.arange(128, dtype=torch.float64) * 37 % 20
WIDE = torch.linspace(-5, 5, 401)
FAR = torch.full((3, 2), 3e38)
ORDERS = torch.full((401,), 11.0)


def found(right: Function, wrong: Function, *args: torch.Tensor) -> list[str]:
    """What the judge says of ``wrong`` instead of ``right``."""

    def compiler(_: Any, __: Any) -> Function:
        def run(*args: Any) -> Any:
            made = wrong(*args)
            return made if isinstance(made, tuple) else (made,)

        return run

    return differences(right, args, compiler)


def _rounded_twice(x: torch.Tensor, order: int) -> torch.Tensor:
    """Hermite's polynomials without fused multiplications and additions, which some builds have."""
    before, made = torch.ones_like(x), x
    for n in range(1, order):
        before, made = made, x * made - n * before
    return made


def _beside_largest(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x.amax().flatten()[-1] - torch.block_diag(y, torch.arange(1))).to(x.dtype)


def _less_largest(x: torch.Tensor, unrounded: torch.Tensor | None = None) -> torch.Tensor:
    """Eager mode gives 0 where ``x`` is the largest so far (1900255)."""
    apart = (x if unrounded is None else unrounded) - x.cummax(0)[0]
    return (apart * torch.linspace(1, 2, 12)).to(x.dtype)


def _turned(x: torch.Tensor) -> torch.Tensor:
    """``x`` after many operators that round nothing, all of which a kernel may have."""
    for _ in range(22):
        x = x.neg()
    return x


def _ranks(x: torch.Tensor, **how: Any) -> torch.Tensor:
    """The rank of each element, which is what a sort's gradient gives to it."""
    rank = torch.arange(x.numel(), dtype=x.dtype)
    return torch.zeros_like(x).scatter(0, x.sort(**how)[1], rank)


def flipped(at: int) -> Function:
    def change(made: torch.Tensor) -> torch.Tensor:
        made = made.clone()
        made.view(-1)[at] = (
            ~made.view(-1)[at] if made.dtype is torch.bool else made.view(-1)[at] + 1
        )
        return made

    return change


PLANTED: dict[str, tuple[Function, Function, Sequence[torch.Tensor]]] = {
    "comparison beside 16 bits": (
        lambda x, y: (x * 3).sin() > y, lambda x, y: flipped(2)((x * 3).sin() > y), [HALF, SINGLE]
    ),
    "position beside 16 bits": (
        lambda x, y: ((x * y).argmax(),), lambda x, y: ((x * y).argmax() - 1,), [HALF, SINGLE]
    ),
    "whole numbers beside 16 bits": (
        lambda x, n: n * 2 + (x > 100), lambda x, n: flipped(0)(n * 2), [HALF, torch.arange(6)]
    ),
    "floor of 16 bits": (
        lambda x: (x * 1.3).floor().int(), lambda x: flipped(3)((x * 1.3).floor().int()), [HALF]
    ),
    "floor": (lambda x: (x * 1.3).floor(), lambda x: flipped(5)((x * 1.3).floor()), [SINGLE]),
    "bits of a copy": (
        lambda x: x.flip(0).view(torch.int16),
        lambda x: flipped(1)(x.flip(0).view(torch.int16)), [HALF],
    ),
    "a small element of 16 bits": (
        lambda x: x.exp() * 3, lambda x: (x.exp() * 3).where(x > 0, 0.6), [HALF]
    ),
    "a small element": (
        lambda x: x.exp() ** 4, lambda x: (x.exp() ** 4).where(x > -1, 2e-3), [SINGLE]
    ),
    "a float64 in float32": (
        lambda x: x.exp() ** 9, lambda x: (x.float().exp() ** 9).double(), [SINGLE.double() / 3]
    ),
    "a sum of float64": (
        lambda x: (x.sum(1) - 0.7).abs() < 1e-9,
        lambda x: (x.float().sum(1) - 0.7).abs() < 1e-9, [EQUAL],
    ),
    "infinity beside 16 bits": (
        lambda x, y: (x * 2, y / (y - 1)),
        lambda x, y: (x * 2, (y / (y - 1)).nan_to_num()), [HALF, SINGLE],
    ),
    "a complex number": (
        lambda x: torch.complex(x.sin(), x), lambda x: torch.complex(x.sin(), x + 0.01), [SINGLE]
    ),
    "beside a number beyond 16 bits": (
        lambda x: x * 3 // 3 > 4e4, lambda x: flipped(1)(x * 3 // 3 > 4e4), [LARGE]
    ),
    "an integer that rounding decides": (
        lambda x: (x.sigmoid().logit().ceil().int(),),
        lambda x: (x.sigmoid().logit().ceil().int() + 2,), [torch.ones(3)],
    ),
    "a deviation whose square does not overflow": (
        lambda x: x.std(0).nanmean(), lambda x: x.std(0).nanmean() * torch.inf,
        [torch.tensor([[0.0, 1.0, 3e20], [3e15, 2.0, 3e20], [1.0, 4.0, 3e20]])],
    ),
    "a rank of another number": (_ranks, lambda x: _ranks(x, stable=True).roll(1), [TIES]),
    "a place of another number": (
        lambda x: x.sort(0)[1], lambda x: x.sort(stable=True)[1].roll(1), [TIES]
    ),
    "an order that was asked for": (
        lambda x: x.sort(stable=True)[1], lambda x: x.sort(stable=True)[1].flip(0),
        [TIES * 0],
    ),
    "no place of equal numbers": (
        lambda x, y: (x.sigmoid().logit() + y).topk(1)[1], lambda x, y: torch.full((1,), 3),
        [torch.tensor([1.0, 2.0, 2.0, 0.5, 2.0]), torch.zeros(5)],
    ),
    "a large integer beside what rounding decides": (
        lambda x, n: torch.where(x.sigmoid().logit().ceil() > 1, n - 5, n),
        lambda x, n: torch.where(x.sigmoid().logit().ceil() > 1, n - 5, n) + 1,
        [torch.ones(3), torch.full((3,), 1 << 60)],
    ),
    "bits of a NaN that is moved": (
        lambda n: n.view(torch.float16).flip(0).view(torch.int16),
        lambda n: (n.view(torch.float16).flip(0) * 1).view(torch.int16).clamp(max=0x7E00),
        [torch.tensor([0x7E05, 3, 0x7F00], dtype=torch.int16)],
    ),
    "an element beside one that vectors make NaN": (
        lambda x: x % 0.5, lambda x: (x % 0.5).where(x != 0.3, 0.2), [SPECIAL]
    ),
    "a recurrence": (
        torch.special.hermite_polynomial_he,
        lambda x, n: torch.special.hermite_polynomial_he(x, n) * (1 + 5e-5), [WIDE, ORDERS],
    ),
    "an order": (
        torch.special.hermite_polynomial_he,
        lambda x, n: torch.special.hermite_polynomial_he(x, n - (x == WIDE[-1]) * 1.0),
        [WIDE, ORDERS],
    ),
    "a conversion to 16 bits that is not rounded": (
        lambda x: x.bfloat16().float() * 1.7, lambda x: x * 1.7, [SINGLE]
    ),
    "a conversion of what is computed": (
        lambda x: x.sin().half().float() * 1.7, lambda x: x.sin() * 1.7, [WIDE]
    ),
    "a copy into 16 bits that is not rounded": (
        lambda x, y: y.clone().copy_(x).float() * 1.7, lambda x, y: x * 1.7, [SINGLE, HALF]
    ),
    "16 bits of other 16 bits": (
        lambda x: x.bfloat16().float() * 1.7, lambda x: x.float() * 1.7, [ACTIVATED]
    ),
    "a sum that reaches infinity without overflowing": (
        lambda x: x.cumsum(0), lambda x: x.cumsum(0) + torch.tensor([0.0, 0, torch.inf]),
        [torch.tensor([3e37, 3e37, -torch.inf])],
    ),
    "a sign of zero": (lambda x: x * 0, lambda x: (x * 0).abs(), [SINGLE]),
    "a deviation of equal numbers beyond rounding": (
        lambda x: x.std(0).double(), lambda x: x.std(0).double() + 3e-5, [EQUAL.float()]
    ),
    "a small deviation that float32 has": (
        lambda x: x.std(0) > 0, lambda x: x.std(0) > 1, [torch.tensor([0.0, 3e-18])]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_value_is_found(name: str) -> None:
    right, wrong, args = PLANTED[name]
    assert "instead of" in found(right, wrong, *args)[0]


DECIDED: dict[str, tuple[Function, Function, Sequence[torch.Tensor]]] = {
    "a deviation of equal numbers, whose mean is rounded": (
        lambda x: x.std(0).double(), lambda x: x.std(0).double() + 3e-7, [EQUAL.float() * 10]
    ),
    "a deviation whose square float32 has not": (
        lambda x: x.std(0) > 0, lambda x: x.std(0) > 1, [torch.tensor([0.0, 3e-41])]
    ),
    "a batch of equal numbers less their mean": (
        lambda x: F.batch_norm(x, None, None, training=True).bool(),
        lambda x: torch.zeros_like(x, dtype=torch.bool), [EQUAL],
    ),
    "beyond 16 bits": (
        lambda x: x * 3 // 3 > 4e4, lambda x: x.float() * 3 // 3 > 4e4, [LARGE]
    ),
    "which NaN": (
        lambda x: (x * torch.nan).topk(1)[1], lambda x: torch.full((9, 1), 3), [EQUAL]
    ),
    "which of some equals": (
        lambda x: x.topk(2)[1], lambda x: torch.tensor([0, 1]).repeat(9, 1), [EQUAL[:, :4] * 1]
    ),
    "which of some equals has which rank": (
        _ranks, lambda x: _ranks(x, stable=True), [TIES]
    ),
    "places of equals": (
        lambda x: x.sort(0, descending=True)[1],
        lambda x: x.sort(stable=True, descending=True)[1], [TIES],
    ),
    "which of two zeros": (
        lambda x: 1 / x.topk(1)[0], lambda x: -1 / x.topk(1)[0],
        [torch.tensor([[0.0, -0.0, -1.0]])],
    ),
    "bits of a NaN that is computed": (
        lambda n: n.view(torch.float16).sin().view(torch.int16),
        lambda n: torch.where(n < 0, 0x7E00, n.view(torch.float16).sin().view(torch.int16)),
        [torch.tensor([-1, 3, 9], dtype=torch.int16)],
    ),
    "the sign of a NaN that is computed": (
        lambda n: [n.view(torch.bfloat16).add_(1), n.clone()][1],
        lambda n: [n.view(torch.bfloat16).add_(1), torch.where(n > 16256, -1, n)][1],
        [torch.tensor([4, 2, -8, -7, 9, 5, 7, -3], dtype=torch.int16)],
    ),
    "bits of a NaN that is converted": (  # eager mode has two, of vectors and of single elements
        lambda n, x: [n.view(torch.bfloat16).copy_(x), n.clone()][1],
        lambda n, x: [n.view(torch.bfloat16).copy_(x), torch.where(n == -1, n * 0 + 32704, -1)][1],
        [torch.zeros(8, dtype=torch.int16), torch.full((8,), torch.nan)],
    ),
    "bits of a NaN that is clamped": (  # eager mode's vectors set one, its single elements do not
        lambda n: [n.view(torch.float16).clamp_(-1, 1), n.clone()][1],
        lambda n: [n.view(torch.float16).clamp_(-1, 1), n.where(n.abs() < 0x7C00, 0x7D05)][1],
        [torch.tensor([0x7D05, 3] * 32, dtype=torch.int16)],
    ),
    "a recurrence whose steps are rounded twice": (
        torch.special.hermite_polynomial_he, lambda x, _: _rounded_twice(x, 11), [WIDE, ORDERS]
    ),
    "products in another order": (
        lambda x: x.cumprod(0), lambda x: torch.cat([x[:3].cumprod(0), x[3:] * torch.nan]),
        [torch.tensor([0.5, 0.0, 3e38, 7.0])],
    ),
    "products too large, or nothing, in another order": (
        lambda x: x.cumprod(1),
        lambda x: x.cumprod(1) * torch.tensor([[1, 1, torch.inf], [1, 1, 0]]),
        [torch.tensor([[0.1, 1.2, 3e38], [1e30, 1e-20, 1e-20]])],
    ),
    "16 bits that are read as they are stored, and as they are not": (
        lambda x: _beside_largest(*[F.silu(x)] * 2),
        lambda x: _beside_largest(F.silu(x), F.silu(x.float())), [ACTIVATED],
    ),
    "16 bits less the largest of them, which is stored": (
        lambda x: _less_largest(_turned(F.silu(x))),
        lambda x: _less_largest(F.silu(x), F.silu(x.float())),
        [torch.linspace(-9, 9, 12).sin().bfloat16()],
    ),
    "a row of 16 bits that is not stored": (
        lambda x: (x + 300).softmax(0), lambda x: (x.float() + 300).softmax(0).bfloat16(),
        [torch.linspace(-9, 9, 12).sin().bfloat16()],
    ),
    "a sum of which a part overflows": (
        lambda x: x.cumsum(0), lambda x: x.cumsum(0) + torch.tensor([0.0, 0, torch.inf]),
        [torch.tensor([3e38, 3e38, -torch.inf])],
    ),
    "zeros of a norm": (
        lambda x: 1 / F.instance_norm(x), lambda x: -1 / F.instance_norm(x),
        [torch.tensor([[[3e38, 3e38, 3e38, 0.5, 0.5]]])],
    ),
    "a deviation whose square overflows beside what a mean leaves out": (
        lambda x: x.std(0).nanmean(), lambda x: x.std(0).nanmean() * torch.inf,
        [torch.tensor([[0.0, 1.0], [3e38, 2.0], [1.0, 4.0]])],
    ),
    "rounding, squared": (lambda x: x.std(0), lambda x: x.std(0) + torch.inf, [FAR]),
    "a batch whose squares overflow": (
        lambda x: (made := F.batch_norm(x, None, None, training=True), made.count_nonzero(0)),
        lambda x: (torch.zeros(3, 3), x[0].long() * 0), [torch.tensor([[-1, 3e38, 0.5]] * 3).t()],
    ),
    "a variance of 0 of huge numbers beside one that has a 0": (
        lambda x: x.var(1), lambda x: x.var(1) + torch.tensor([torch.inf, 0]),
        [torch.tensor([[3e38, 3e38, 3e38], [0.0, 1.0, 3.3]])],
    ),
    "a quotient of equal numbers, which a GPU gives to two units": (
        lambda x: F.normalize(x, dim=0) // 0.1, lambda x: torch.full_like(x, 10), [SINGLE[:1]]
    ),
    "beside a whole number": (
        lambda x: x.sigmoid().logit().ceil(),
        lambda x: x.sigmoid().logit().nextafter(x * 0 + 2).ceil(), [torch.ones(3)],
    ),
    "a power of two": (
        lambda x: torch.frexp(F.cosine_similarity(x, x))[1],
        lambda x: 1 - torch.frexp(F.cosine_similarity(x, x))[1], [POINTS[:6]],
    ),
    "distances of equal points": (
        lambda x: torch.cdist(x, x),
        lambda x: torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist"), [POINTS],
    ),
    "bits after a scan": (
        lambda x: x.cumsum(0).sin().view(torch.int16),
        lambda x: x.float().cumsum(0).sin().bfloat16().view(torch.int16), [HALF],
    ),
    "the sign of a negated NaN of 16 bits": (
        lambda n: [n.view(torch.float16).neg_(), n.view(torch.float64).clone()][1],
        lambda n: [
            n.view(torch.float16).neg_(),
            n.where(n != 0x7EFA - 2**15, 0x7EFA).view(torch.float64),
        ][1],
        [torch.tensor([0, 0, 0x7EFA, 0x3FE0], dtype=torch.int16)],
    ),
    "elements that vectors make NaN": (
        lambda x: x % 0.5, lambda x: torch.fmod(x, 0.5) % 0.5, [SPECIAL]
    ),
    "a remainder of 16 bits changed in place": (
        lambda x: torch.remainder(100, x.add_(0.3).double()),
        lambda x: [torch.remainder(100, x.double() + 0.3), x.add_(0.3)][0], [HALF],
    ),
    "a change of 16 bits in place": (
        lambda x: (x.add_(0.3).cumsum(0).float(), x.view(torch.int16)),
        lambda x: (x.add_(0.3).float().cumsum(0), x.view(torch.int16)), [HALF],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DECIDED)
def test_what_rounding_decides_is_not_wrong(name: str) -> None:
    right, other, args = DECIDED[name]
    one, two = (tree_leaves(each(*(a.clone() for a in args))) for each in (right, other))
    assert not all(map(torch.equal, one, two))
    assert found(right, other, *args) == []


def test_a_product_in_a_sum_may_be_rounded() -> None:
    """Eager mode's vectors fuse the two, kernels in the interpreter do not (1803609)."""

    def fused(x: torch.Tensor) -> torch.Tensor:
        return (x.double() - 3 * x.double()).float() % 2 * -7

    x = torch.linspace(-9, 9, 400)
    assert not torch.equal(fused(x), (x - 3 * x) % 2 * -7)
    for other in (fused, lambda x: (x - 3 * x) % 2 * -7):
        assert found(lambda x: torch.sub(x, x, alpha=3) % 2 * -7, other, x) == []


def test_how_many_elements_there_are_may_be_what_rounding_decides() -> None:
    def run() -> list[torch.Tensor]:
        return [torch.special.ndtr(HALF - 4).nonzero()]

    judge = Judge(run, run(), True)
    assert run()[0].tolist() == [[1], [2], [4]]
    assert judge.is_right(0, torch.tensor([[0], [1], [2], [4], [5]]))
    assert not judge.is_right(0, torch.tensor([[1], [2]]))
    assert not judge.is_right(0, torch.tensor([[0], [1], [2], [3], [5]]))


def test_a_place_of_elements_that_are_equal_but_for_rounding() -> None:
    zeros, x = torch.zeros(5, 3, dtype=torch.bool), torch.linspace(1, 3, 15).view(5, 3)

    def run() -> list[torch.Tensor]:  # i0e(0) is 0.99999994, in float64 1
        return [F.layer_norm(torch.xlogy(x, torch.special.i0e(zeros)), (3,)).median(0)[1]]

    judge = Judge(run, run(), True)
    assert all(judge.is_right(0, torch.full((3,), place)) for place in range(5))
    assert not judge.is_right(0, torch.full((3,), 5))


def test_the_zeros_of_a_gradient_that_is_not_there_are_not_moved() -> None:
    # The gradient of sgn is one of autograd's zeros, without memory: moving them ended the process.
    x = torch.tensor([-0.5], requires_grad=True)
    assert found(lambda x: torch.inner(x.sgn(), x), lambda x: x.abs().sum() + 1, x) != []


def test_a_repeat_in_which_unique_finds_another_number_of_values_is_one() -> None:
    x = torch.tensor([[-0.0, -0.0, 1.0], [0.5, -0.5, 0.5]])

    def run() -> list[torch.Tensor]:
        return [x.unique(), x.cumsum(1)]

    judge = Judge(run, run(), True)
    assert judge.is_right(1, torch.tensor([[-0.0, -0.0, 1.0], [0.5, 0.0, 0.5]]))
    assert not judge.is_right(1, torch.tensor([[-0.0, -0.0, 1.1], [0.5, 0.0, 0.5]]))


def test_repeats_of_programs_that_view_what_was_expanded() -> None:
    x = torch.linspace(1, 2, 4).bfloat16()

    def run() -> list[torch.Tensor]:  # kron views an expanded tensor, as its schema does not say
        return [torch.kron(x.expand(3, 4), x), (x * 100.3).sin()]

    judge = Judge(run, run(), True)
    assert judge.is_right(1, (x.float() * 100.3).sin().bfloat16())
    assert not judge.is_right(1, torch.full((4,), 4.0, dtype=torch.bfloat16))


def test_signs_of_zeros_alone_are_told_by_place() -> None:
    x = torch.tensor([[-0.0, 1.0], [0.5, -0.0]])
    assert found(lambda x: x * 1, lambda x: x * 1 + 0.0, x) == [
        "0: signs of 2 zeros at [[0, 0], [1, 1]] instead of eager mode's"
    ]


def test_what_is_left_of_1_beside_an_error_function() -> None:
    # Eager mode adds 1 to erf(-6.4), which float64 rounds to -1 as well; it is 1e-19.
    x = torch.tensor([-9.0, -1.0, 0.0])
    exact = torch.special.erfc(-x.double() / 2**0.5).div(2).float()

    def left(x: torch.Tensor) -> torch.Tensor:
        return torch.remainder(1, torch.special.ndtr(x))

    assert found(left, lambda _: torch.remainder(1, exact), x) == []
    assert found(left, lambda _: torch.remainder(1, exact) + 0.1, x) != []
    assert found(torch.special.ndtr, lambda x: torch.special.ndtr(x) + 1e-4, x) != []


def test_distances_of_points_by_squares_that_cancel() -> None:
    # Of some points the squares cancel by chance, of others they do not.
    points = torch.linspace(-3, 4, 240).sin().view(30, 8) + 1

    def other(x: torch.Tensor) -> torch.Tensor:
        left = torch.finfo(x.dtype).eps * 2 * x.square().sum(-1)
        return torch.cdist(x, x).square().add(left.diag()).sqrt()

    assert found(lambda x: torch.cdist(x, x), other, points) == []
    assert found(lambda x: torch.cdist(x, x), lambda x: torch.cdist(x, x) + 0.02, points) != []


def test_the_branches_of_a_condition_are_repeated() -> None:
    x = torch.linspace(-3, 3, 50).half()

    def branches(wide: torch.dtype, more: float = 0.0) -> Function:
        def then(x: torch.Tensor) -> torch.Tensor:
            return (x.to(wide).sin() + (1 + more)).half()

        return lambda x: torch.cond(x.sum() > -1, then, lambda x: x.cos(), (x,))

    once = branches(torch.float32)(x)
    assert once.ne(branches(torch.float16)(x)).any()
    assert found(branches(torch.float16), lambda _: once, x) == []
    assert found(branches(torch.float16), lambda _: once + 0.01, x) != []


def test_rounding_may_decide_whether_a_program_raises() -> None:
    def right(x: torch.Tensor) -> torch.Tensor:  # i0e(0) is 0.99999994
        return x.masked_scatter(torch.special.i0e(x).long() > 0, x[:0])

    def raises(x: torch.Tensor) -> torch.Tensor:
        return x.masked_scatter(x == 0, x[:0])

    assert found(right, raises, torch.zeros(2)) == []
    assert found(right, lambda x: x.view(7), torch.zeros(2)) != []
    assert found(lambda x: x * 1, raises, torch.zeros(2)) != []


def test_the_first_of_many_equal_elements() -> None:
    x = torch.full((2, 300), torch.nan)
    judge = Judge(lambda: [x.nanmedian(1)[1]], [x.nanmedian(1)[1]], True)
    assert judge.is_right(0, torch.tensor([0, 0]))
    assert not judge.is_right(0, torch.tensor([0, 300]))


def test_bits_of_computed_numbers_a_few_units_off() -> None:
    x, units = torch.linspace(0.1, 1.4, 63), torch.arange(63) % 9 - 4

    def bits() -> list[torch.Tensor]:
        return [x.sin().view(torch.int32)]

    judge = Judge(bits, bits(), True)
    assert judge.is_right(0, bits()[0] + units)
    assert not judge.is_right(0, bits()[0] + units * 1000)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.float32, torch.float64], ids=str)
def test_the_poles_of_a_trigamma_function(dtype: torch.dtype) -> None:
    """Infinite, or large, as the sine of a rounded multiple of pi is 0 or not."""
    x = torch.tensor([-3, -1, 2]).to(dtype)

    def infinite(x: torch.Tensor) -> torch.Tensor:
        return torch.polygamma(1, x).masked_fill(x < 0, torch.inf)

    def trigamma(x: torch.Tensor) -> torch.Tensor:
        return torch.polygamma(1, x)

    assert found(trigamma, infinite, x) == []
    assert found(trigamma, lambda x: infinite(x) * 1.01, x) != []
    assert found(lambda x: torch.polygamma(2, x), lambda x: infinite(x) + 1, x) != []
