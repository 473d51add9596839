"""Results of the backend against eager mode: the smallest forms of wrong results that were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.executor import graphs
from harness.graph.replay import operator_function

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0:UserWarning")


@pytest.fixture
def compiler(devices: Devices) -> Iterator[Compiler]:
    torch.manual_seed(0)
    yield Compiler(devices=devices)
    torch.compiler.reset()


Function = Callable[..., Any]
INF, NAN = float("inf"), float("nan")


def check(compiler: Compiler, function: Function, *args: Any) -> None:
    """As in eager mode, compiled without a failure of a region."""
    assert differences(function, args, compiler) == []
    assert compiler.compiled
    assert [f for report in compiler.reports for f in report.failures] == []


def set_rows(x: torch.Tensor) -> torch.Tensor:
    y = x * 1
    y[torch.arange(3)] = y * 3
    return y


def change_rows(x: torch.Tensor) -> torch.Tensor:
    x[torch.arange(3)] = x * 3
    return x + 1


def store_into_nothing(x: torch.Tensor) -> torch.Tensor:
    x[:0][..., :1] = 2
    return x * 2


def test_stores_into_nothing(compiler: Compiler) -> None:
    check(compiler, store_into_nothing, torch.zeros(0, 1))
    check(compiler, store_into_nothing, torch.ones(2, 3))


def test_an_input_is_changed_through_another_view_of_its_memory(compiler: Compiler) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = y.floor()
        x.t().add_(1)
        return z

    x = torch.tensor([[2.8, -0.5]])[..., ::2]  # all of the memory is more than was seen of it
    check(compiler, function, x, x[..., :2])


def test_means_of_whole_numbers_are_whole(compiler: Compiler) -> None:
    x = torch.arange(-9, 9).reshape(2, 3, 3)
    check(compiler, lambda x: F.avg_pool2d(x, 2) * 0.5, x)
    check(compiler, lambda x: F.local_response_norm(x, 2), x)


def test_one_row_is_looked_up(compiler: Compiler) -> None:
    x = torch.randn(10, 5).requires_grad_()
    check(compiler, lambda x: F.embedding(torch.tensor(3), x) * 2, x)


def test_the_caller_gets_an_operators_own_layout(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch 2.11 traces Fourier transforms with other strides than some of its libraries give."""

    def transposed(x: torch.Tensor, *_: Any) -> torch.Tensor:
        return torch.fft.rfft(x).mT.contiguous().mT

    monkeypatch.setattr(
        graphs.replay,
        "operator_function",
        lambda op: transposed if "fft" in op else operator_function(op),
    )
    run = torch.compile(
        lambda x: (torch.fft.rfft(x), torch.fft.rfft(x).abs() * 2), backend=compiler
    )
    x = torch.randn(4, 8)
    spectrum, size = run(x)
    assert spectrum.stride() == (1, 4) and size.stride() == (5, 1)
    torch.testing.assert_close(spectrum.abs() * 2, size)


def activations(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    some = F.silu(x), F.mish(x), F.hardsigmoid(x), F.hardswish(x), F.softplus(x, 2, 3), F.elu(x)
    more = F.leaky_relu(x, 0.2), F.hardtanh(x, -0.5, 2.0), F.relu6(x), F.threshold(x, 0.5, 7.0)
    return *some, *more, x.sigmoid().logit(), torch.lerp(x, x * 2, 0.25), torch.xlogy(x, x.abs())


def test_what_capture_takes_apart_needs_no_rule(compiler: Compiler) -> None:
    check(compiler, activations, torch.linspace(-4, 4, 41).requires_grad_())
    assert [report.library_calls for report in compiler.reports] == [(), ()]


def test_norms_over_one_element(compiler: Compiler) -> None:
    x = torch.randn(4, 1, 3)
    check(compiler, lambda x: (x.norm(dim=1), x.norm(dim=1, keepdim=True), x[:1, 0, :1].norm()), x)


def test_gradients_that_are_known_to_be_zero(compiler: Compiler) -> None:
    check(compiler, torch.sgn, torch.randn(3).requires_grad_())


def lowest(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    low = x.to(dtype)
    return torch.stack([low, low]).sin().amin(dim=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_what_is_compared_is_rounded_as_what_is_stored(
    compiler: Compiler, dtype: torch.dtype
) -> None:
    """The gradient of ``amin`` looks for the elements that are equal to it."""
    x = torch.randn(5, 4).requires_grad_()
    check(compiler, lambda x: lowest(x, dtype), x)
    check(compiler, lambda x: x.to(dtype).exp().amax(1), x)
    check(compiler, lambda x: (x.to(dtype) * 3).exp().max(1)[1], x.detach())
    check(compiler, lambda x: x.double() >= x.to(dtype), x.detach())
    check(compiler, lambda x: ((x.to(dtype) * 7).floor(), (x.to(dtype) / 3).int()), x.detach())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_what_is_looked_up_is_rounded(compiler: Compiler, dtype: torch.dtype) -> None:
    """Each number is one that the row has, rounded, and beside it where it is not."""
    x, y = (torch.randn(64, 5).to(dtype) for _ in range(2))
    row = (x + y).flatten().sort().values
    for function in (
        lambda x, y: torch.searchsorted(row, x + y),
        lambda x, y: torch.bucketize(x + y, row, right=True),
        lambda x, y: torch.searchsorted(row.float(), x + y, right=True),
    ):
        torch.compiler.reset()
        assert torch.equal(torch.compile(function, backend=compiler)(x, y), function(x, y))


ROWS = torch.arange(3)
ZEROS = torch.zeros(3, 1, dtype=torch.int64)
STORES: dict[str, Function] = {
    "index_copy": lambda x: x.index_copy(0, torch.arange(3), x * 2),
    "index_put": lambda x: x.index_put((torch.arange(3),), x * 2),
    "scatter": lambda x: x.scatter(0, torch.arange(3)[:, None].expand(3, 2), x * 2),
    "reversed": lambda x: x.index_copy(0, torch.arange(2, -1, -1), x * 2),
    "some": lambda x: x.index_copy(0, torch.arange(2), x[1:] * 2),
    "add": lambda x: x.index_add(0, torch.arange(3), x),
    "assign": set_rows,
    "mutate": change_rows,
    "length one": lambda x: x[:, :1].index_copy(1, torch.zeros(1, dtype=torch.int64), x[:, 1:]),
    "length one, points": lambda x: x[:, :1].scatter(1, ZEROS, x[:, 1:] * 2),
    "one row, twice": lambda x: x.index_put((torch.full((2,), 1),), torch.zeros(2, 2)),
    "constants": lambda x: (x[torch.zeros(3, dtype=torch.int64)], x[torch.full((2,), -1)]),
}


@pytest.mark.parametrize("name", STORES)
def test_stores_to_one_place_all_happen_in_order(compiler: Compiler, name: str) -> None:
    check(compiler, STORES[name], torch.arange(6.0).view(3, 2) + 1)


def reductions(x: torch.Tensor, dim: int) -> list[torch.Tensor]:
    return [
        x.sum(dim), x.prod(dim), x.mean(dim), (x > 0).all(dim), (x > 0).any(dim), x.var(dim),
        *torch.var_mean(x, dim), x.std(dim), x.norm(dim=dim), x.logsumexp(dim),
        x.count_nonzero(dim), x.softmax(dim),
    ]  # fmt: skip


EMPTY: dict[str, tuple[Function, tuple[int, ...]]] = {
    "rows": (lambda x: reductions(x[:, 4:] * 2, 1), (3, 4)),
    "columns": (lambda x: reductions(x * 2, 0), (0, 3)),
    "of nothing into nothing": (lambda x: (x.sum(0), x.sum(1), x.amax(1), x.sum()), (0, 2)),
    "everything": (lambda x: [(x * 2).sum(), x.prod(), x.var(), (x > 0).all()], (0,)),
    "pointwise": (lambda x: (x * 2, x.sin(), x.double(), x.t() + 1), (3, 0)),
    "joined": (lambda x: torch.cat([x * 2, torch.ones(3, 2), x], 1), (3, 0)),
    "padded": (lambda x: F.pad(x * 2, (1, 2)), (3, 0)),
    "looked up": (lambda x: x[torch.arange(0)] * 2, (3, 2)),
    "scattered": (lambda x: x.index_add(0, torch.arange(0), x[:0]) * 2, (3, 2)),
    "product": (lambda x: x @ x.t() + 1, (3, 0)),
    "long rows": (lambda x: (x.exp() / x.exp().sum(1, keepdim=True)).sum(0), (0, 2000)),
    "norm": (lambda x: F.layer_norm(x, (4,)), (0, 4)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_iteration_spaces(compiler: Compiler, name: str) -> None:
    function, shape = EMPTY[name]
    check(compiler, function, torch.randn(shape))


def test_reductions_of_nothing_beside_unknown_sizes(compiler: Compiler) -> None:
    """The sum over a gradient without elements, whose other sizes are not known."""
    x, y = torch.randn(3, 5, requires_grad=True), torch.zeros(3, 0, 8, requires_grad=True)

    def function(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        return [torch.fmax(y, x.prod()), y.sum(1) + 1, F.pad(y.sum((0, 1)), (1, 2), value=3.0)]

    assert differences(function, (x, y), compiler, dynamic=True) == []
    assert [f for report in compiler.reports for f in report.failures] == []


def test_the_mean_beside_a_variance_loses_infinities_as_in_eager_mode(compiler: Compiler) -> None:
    x = torch.tensor([[INF, 1, 2], [1, -INF, 2], [1, 2, INF], [INF, 1, INF], [1, 2, 3]])
    check(compiler, lambda x: (torch.var_mean(x, 1)[1], *torch.std_mean(x[:, :1], 1)), x)


@pytest.mark.parametrize("shape", [(), (1,), (3, 1)])
def test_reductions_of_one_element(compiler: Compiler, shape: tuple[int, ...]) -> None:
    def function(x: torch.Tensor) -> list[Any]:
        windows = (x * 2).unfold(-1, 1, 1) + (x + 1).flip(-1).sum()
        return [*reductions(x * 2, -1), x.max(-1), x.argmin(-1), x.sum(), x.argmax(), windows]

    check(compiler, function, torch.randn(shape))


@pytest.mark.parametrize("correction", [0, 1])
def test_one_element_that_is_not_finite_deviates_from_itself(
    compiler: Compiler, correction: int
) -> None:
    def function(x: torch.Tensor) -> Any:
        y = x * 2
        rows = y.std(1, correction=correction), *torch.var_mean(y, 1, correction=correction)
        return *rows, y.softmax(1), y.log_softmax(1), y.logsumexp(1), y.exp().cumsum(1)

    check(compiler, function, torch.tensor([[INF], [-INF], [float("nan")], [3.0], [-0.0]]))


def views_of_one(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x * 2
    return y.view(-1), y.t(), y[0], y


SHARED: dict[str, Function] = {
    "equal values": lambda x: (x * 2, x * 2),
    "equal views": lambda x: ((x * 2).view(-1), (x * 2).t(), (x * 2)[0]),
    "views of one": views_of_one,
    "copies": lambda x: (x.clone(), x.contiguous(), x.clone(), (x * 2).clone()),
    "inputs": lambda x: (x, x.view(-1), x.t(), x.float(), x.reshape(-1), x.t().contiguous()),
    "reductions": lambda x: (x.sum(1), x.sum(1), x.softmax(0), x.softmax(0)),
    "library calls": lambda x: (x @ x.t(), x @ x.t(), (x @ x.t()).t()),
    "constants": lambda x: (torch.ones(3), torch.ones(3), torch.tensor([1.0]), x + 1),
    "parts": lambda x: ((x * 2).split(1), x.unbind(1)),
}


@pytest.mark.parametrize("name", SHARED)
def test_results_share_memory_as_in_eager_mode(compiler: Compiler, name: str) -> None:
    check(compiler, SHARED[name], torch.randn(3, 2))


def test_a_returned_constant_is_the_caller_s_own(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x + 1, torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]).view(2, 1)

    run = torch.compile(function, backend=compiler)
    x = torch.randn(3)
    for result in run(x):
        result.add_(5)
    torch.testing.assert_close(run(x), function(x))


INTEGERS = torch.tensor([-3, -1, 0, 1, 2, 5, 9])
BYTES = torch.tensor([0, 1, 2, 127, 128, 253, 254, 255], dtype=torch.uint8)
WIDE = torch.tensor([-7.5, -3, -0.0, 0.0, 2.5, 7, INF, -INF, NAN], dtype=torch.float64)
DIVISORS = torch.tensor([2.0, -2, 3, -3, 0.5, -0.5, 2, 2, 1], dtype=torch.float64)
ARITHMETIC: dict[str, tuple[Function, torch.Tensor]] = {
    "2 ** int": (lambda x: 2**x, INTEGERS.abs()),
    "int ** 9": (lambda x: (x**9, x**11, x**0), INTEGERS),
    "int ** int": (lambda x: (x ** x.abs(), x ** torch.full((7,), 3)), INTEGERS),
    "int8 ** int8": (lambda x: (x ** x.abs(), x**9), INTEGERS.to(torch.int8)),
    "% of doubles": (lambda x: (x % 3.0, x % -2.5, torch.fmod(x, 3), 3.0 % x, x % DIVISORS), WIDE),
    "powers of doubles": (lambda x: (x**2.5, x**0.3, x**-3, 2.5**x, x**11, x**DIVISORS), WIDE),
    "// of doubles": (lambda x: (x // DIVISORS, x // 2.0, x // 0.0), WIDE),
    "// beyond doubles": (lambda x: (x // 5e-324, x // -1e-310), WIDE.repeat(5)),
    "// of floats": (lambda x: (x // DIVISORS.float(), x // 2.0, x // 0.0), WIDE.float()),
    "// of bfloat16": (lambda x: (x // DIVISORS.bfloat16(), x // 2.0), WIDE.bfloat16()),
    "compared bytes": (lambda x: (x == -1, x != -1, x > -1, x < -1, x >= -5, x <= 300), BYTES),
    "divided bytes": (lambda x: (x // -3, x % -3, x // 3, x % 3), BYTES),
    "clamped bytes": (lambda x: (x.clamp(-1, 2), x.clamp(-200, 100), x.clamp_min(3)), BYTES),
    "bits": (lambda x: (x ^ -1, x | -1, x & -1, x & -2, ~x, x << 1, x >> 1), BYTES),
    "wrapping bytes": (lambda x: (x + -1, x - 1, x * -1, -x, x + 300, 1 - x), BYTES),
    "chosen bytes": (lambda x: (torch.where(x > 3, x, -1), x.masked_fill(x > 3, -1)), BYTES),
    "wrapping int8": (lambda x: (x + 100, x + 300, x * 2, x == -129), BYTES.view(torch.int8)),
    "nextafter": (lambda x: torch.nextafter(x, 1 - x), WIDE.bfloat16()),
    "nextafter, float": (lambda x: torch.nextafter(x, 1 - x), WIDE.float()),
    "float8": (
        lambda x: (x.to(torch.float8_e4m3fn).float(), x.to(torch.float8_e5m2).bfloat16() * 2),
        torch.linspace(-9, 9, 40),
    ),
    "predicates of bools": (lambda x: ((x > 0).signbit(), (x > 0).isnan()), INTEGERS),
    "uint64": (lambda x: (x == 1, x.sum(), x.float() * 2), torch.arange(4).to(torch.uint64)),
    "pooled bytes": (lambda x: F.max_pool2d(x.view(1, 2, 4), 3, 2, 1), BYTES // 3),
}


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_with_numbers(compiler: Compiler, name: str) -> None:
    function, x = ARITHMETIC[name]
    check(compiler, function, x)


@pytest.mark.parametrize("columns", [3, 3000])
def test_the_first_of_two_zeros_is_the_extreme_one(compiler: Compiler, columns: int) -> None:
    x = torch.zeros(3, columns)
    x[0, 0] = x[1, 1] = x[2, 2] = -0.0

    def function(x: torch.Tensor) -> list[torch.Tensor]:
        dims = [x.max(1).indices, x.min(1).indices, x.max(0).indices]
        return [*dims, x.argmax(1), x.argmin(1), x.argmax(), x.argmin(), x.argmin(0)]

    check(compiler, function, x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_statistics_of_a_norm_have_eager_mode_s_type(
    compiler: Compiler, dtype: torch.dtype
) -> None:
    def function(x: torch.Tensor) -> Any:
        return torch.native_layer_norm(x, [4], None, None, 1e-5)

    check(compiler, function, torch.randn(3, 4).to(dtype))


def test_a_batch_norm_lays_its_result_out_as_eager_mode_does(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return F.batch_norm(x, None, None, training=True), x.roll(1, -1)

    check(compiler, function, torch.randn(4, 2, 3).transpose(0, -1))
    check(compiler, function, torch.randn(2, 4, 5, 3).permute(0, 3, 1, 2))
    check(compiler, function, torch.randn(4, 2, 3).transpose(0, -1).detach().requires_grad_())


def test_results_lie_as_eager_mode_lays_them_out(compiler: Compiler) -> None:
    def function(x: torch.Tensor, y: torch.Tensor, n: torch.Tensor) -> Any:
        return (
            0.5**x, F.logsigmoid(x), F.layer_norm(x, x.shape[-1:]), torch.xlogy(n, y),
            torch.xlogy(y, n), y.select_scatter(x[0] > 0, 0, 1), n.select_scatter(x[0], 0, 1),
        )  # fmt: skip

    x, y = torch.randn(4, 5).t(), torch.randn(5, 4)
    check(compiler, function, x, y, torch.arange(20).reshape(4, 5).t())


def test_results_in_order_and_like_their_operand(compiler: Compiler) -> None:
    def function(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, w: torch.Tensor) -> Any:
        return (
            x.masked_fill(y > 0, 2), z.tril(), torch.triu(z, 1), torch.lerp(x, y, 0.5),
            x[::2].index_fill(0, torch.tensor([0]), 2), z.slice_scatter(z[:1] * 2, 0, 1, 2),
            z.select_scatter(z[:, 0] * 2, 1, 1), F.mse_loss(w, y), F.huber_loss(w, y),
            torch.logical_and(z[0], z).tril(), (z // z[0]).triu(1), x // y,
            z.topk(2, 1), z[:, :, :1].nanmedian(2), z[:, :1].kthvalue(1, 1), z[:1].median(0, True),
        )  # fmt: skip

    x, y = torch.randn(4, 5).t(), torch.randn(5, 4)
    z, w = torch.randn(4, 3, 5).permute(1, 2, 0), torch.randn(4, 5).t().detach()
    check(compiler, function, x, y, z, w.requires_grad_())
    assert not any(report.library_calls for report in compiler.reports)


def test_the_number_after_a_constant(compiler: Compiler) -> None:
    check(compiler, lambda x: torch.nextafter(torch.full((3,), 0.5), x), torch.randn(4, 3))


def test_what_differs_between_versions_of_torch(compiler: Compiler) -> None:
    def function(x: torch.Tensor, y: torch.Tensor, n: torch.Tensor, h: torch.Tensor) -> Any:
        made = torch.threshold(y, 0.5, 2)
        return (
            made, made.amax(-1), x.index_fill(1, torch.tensor([-1, 0]), 2.5), x[:, :3].topk(1)[0],
            n[0].index_fill(0, torch.tensor(0), 7), n.index_fill(-1, torch.tensor(1), n[2]),
            n.clamp(-99, 99).view(torch.uint8) + 1, x.kthvalue(1)[0],
            F.binary_cross_entropy_with_logits(x.mean(), h.sigmoid()),
        )  # fmt: skip

    y = torch.randn(5, 5, 2).transpose(0, -1).detach().requires_grad_()
    n = torch.tensor([-3, 8, 8, -9, 6], dtype=torch.int8)
    check(compiler, function, torch.randn(4, 5).t(), y, n, torch.tensor(0.3, dtype=torch.float16))


def test_powers_of_two_have_eager_mode_s_type(compiler: Compiler) -> None:
    def function(x: torch.Tensor, n: torch.Tensor) -> Any:
        half, least = x.bfloat16(), n.amin()
        return (
            torch.ldexp(n, half.amin()), torch.ldexp(n, half), torch.ldexp(n, least),
            torch.ldexp(half, n), torch.ldexp(half, least), torch.ldexp(x, n),
        )  # fmt: skip

    check(compiler, function, torch.randn(5), torch.arange(5, dtype=torch.uint8))


def test_powers_of_two_reach_as_far_as_numbers_do(compiler: Compiler) -> None:
    numbers = [1.0, -0.0, 1e-45, 1.2e-38, 1e-30, 3.3e38, 5e-324, 1.7e308, INF, -INF, NAN, -2.7]
    powers = [0, 128, -150, -151, 277, 1000, 2098, -2098, 2**31 - 1, 2**31, 2**32 + 3, -(2**31) - 1]
    exponents = torch.tensor(powers).repeat_interleave(len(numbers))
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = torch.tensor(numbers, dtype=torch.float64).to(dtype).repeat(len(powers))
        made = torch.compile(torch.ldexp, backend=compiler)(x, exponents)
        torch.testing.assert_close(made, torch.ldexp(x, exponents), rtol=0, atol=0, equal_nan=True)


GAPS: dict[str, Callable[[], torch.Tensor]] = {
    "columns": lambda: torch.randn(4, 5, 6)[..., ::2],
    "rows": lambda: torch.randn(6, 5, 4).permute(2, 1, 0)[:, ::2],
    "band": lambda: torch.randn(7, 6)[:, 1:4],
    "transposed": lambda: torch.randn(4, 5).t(),
    "expanded": lambda: torch.randn(4, 1).expand(4, 3),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", GAPS)
def test_a_scatter_keeps_gaps_in_memory(compiler: Compiler, name: str, dynamic: bool) -> None:
    def function(x: torch.Tensor) -> Any:
        some = x.narrow(0, 0, 2) * 2
        along = x.diagonal() * 2
        return (
            x.slice_scatter(some, 0, 1, 3), x.select_scatter(some[0], 0, -1), some.sum(),
            x.diagonal_scatter(along),
        )  # fmt: skip

    assert differences(function, [GAPS[name]()], compiler, dynamic=dynamic) == []
    assert [report.fallbacks for report in compiler.reports] == [0]


SHORTS = torch.tensor([0x7F81, 0x7FC1, -127, -1, 0x7C01, 0x7E05, 0x3F80], dtype=torch.int16)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_copy_keeps_the_bits_of_a_nan(compiler: Compiler, dtype: torch.dtype) -> None:
    def function(n: torch.Tensor, x: torch.Tensor) -> list[torch.Tensor]:
        moved = [
            x.flip(0), F.pad(x, (1, 2)), torch.cat([x, x.flip(0)]), torch.where(n > 5, x, x[0]),
            n.view(dtype).flip(0),
        ]  # fmt: skip
        return [*(one.view(torch.int16) for one in moved), *moved, x.abs().float()]

    check(compiler, function, SHORTS, SHORTS.view(dtype))
    check(compiler, lambda x: (x.view(dtype).flip(0), x * 2), SHORTS)

    def beside(n: torch.Tensor) -> list[torch.Tensor]:
        n.view(dtype)[4:5].fill_(2.0)  # other elements stay as they are, computed ones beside them
        first = torch.cat([n.view(dtype), n.view(dtype)[-1:] + 1]).view(torch.int16)
        return [first, n.view(dtype).index_fill(0, torch.tensor([6]), 3.0).view(torch.int16)]

    check(compiler, beside, SHORTS)


def test_a_sum_of_one_negative_zero_is_positive(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> list[torch.Tensor]:
        one = [x.sum(1), x.mean(1), x.sum(0), x.nansum(1), x.half().sum(1), x.logsumexp(1) * 0]
        return [*one, *torch.var_mean(x, 1, correction=0), x.prod(1), x.amax(1)]

    check(compiler, function, torch.tensor([[-0.0], [0.0], [-1.0]]))
    check(compiler, function, torch.full((3, 16), -0.0))


def test_memory_that_inputs_share_may_be_longer_than_was_traced(compiler: Compiler) -> None:
    """What is written is longer than the last element seen."""
    x = torch.arange(32.0).reshape(4, 8)[..., ::2]

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x[-1:] += 1
        return y * 2

    check(compiler, function, x, x[..., :2])


@pytest.mark.parametrize("length", [40, 5000])
def test_means_of_tiny_and_of_huge_numbers_are_as_exact_as_sums(
    devices: Devices, length: int
) -> None:
    x = torch.linspace(1, 2, 3 * length).view(3, length)
    rows = x * torch.tensor([[1e-36], [1e-3], [1.5e38]])

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.var_mean(x, 1)[1]

    found = torch.compile(function, backend=Compiler(devices=devices))(rows)
    torch.testing.assert_close(found, rows.double().mean(1).float(), rtol=3e-7, atol=0)
