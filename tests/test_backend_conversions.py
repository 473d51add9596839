"""What a program converts to 16 bits is rounded inside kernels, as in eager mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from harness.backend import Compiler, Devices


@pytest.fixture
def compiler(devices: Devices) -> Iterator[Compiler]:
    torch.compiler.reset()
    yield Compiler(devices=devices)
    torch.compiler.reset()


def _written_into(x: Tensor, narrow: Tensor) -> Tensor:
    narrow = narrow.clone()
    narrow[:2] = x[:2]
    narrow[2:].add_(x[2:])
    return narrow.float() * 3


def _under_autocast(x: Tensor, _: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return torch.nn.functional.linear(x.exp(), torch.eye(x.shape[1])).float()


def _in_a_branch(x: Tensor, _: Tensor) -> Tensor:
    taken = torch.cond(x.sum() > 1e9, lambda x: x * 2, lambda x: x.half().float() * 3, (x,))
    assert isinstance(taken, Tensor)
    return taken


FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor | tuple[Tensor, ...]]] = {
    "compared with what was converted": lambda x, _: x.half().float() == x,
    "used and returned": lambda x, _: (x.bfloat16(), x.bfloat16().float() * 1.5, x.half() == x),
    "to a tensor's type": lambda x, y: x.type_as(y) * x,
    "from 16 bits to others": lambda x, y: (y + y.flip(0)).half().float() * 1.0,
    "twice": lambda x, _: x.bfloat16().half().float(),
    "copied": lambda x, y: y.clone().copy_(x).float() * 1.5,
    "written into": _written_into,
    "positions": lambda x, _: x + torch.arange(3000, 3024).bfloat16().float(),
    "a constant": lambda x, _: x * torch.full((), 0.1).bfloat16().float(),
    "a constant, wider than before": lambda x, _: x.double() * torch.full((), 0.1).double(),
    "a constant of 16 bits": lambda x, _: x * torch.full((), 0.1, dtype=torch.bfloat16).float(),
    "a constant as an integer": lambda x, _: x.long() + torch.full((), 16777217.0).int(),
    "a sum of constants": lambda x, _: x.double() + (torch.full((), 16777217.0) + 1).double(),
    "an infinite product of constants": lambda x, _: (
        x.double() * (torch.full((), 3e38) * 2).double()
    ),
    "constants that differ by less": lambda x, _: x * (torch.full((), 16777217.0) == 16777216.0),
    "elements of a softmax": lambda x, _: x.softmax(1, dtype=torch.bfloat16).amax(1),
    "elements of a sum": lambda x, _: x.sum(1, dtype=torch.bfloat16) * 0 + x[:, 0].bfloat16(),
    "a product that is added": lambda x, y: (x * 0.3).bfloat16() + y,
    "under autocast": _under_autocast,
    "in a branch": _in_a_branch,
    "a number beside a batch of numbers": lambda x, y: torch.vmap(
        lambda a, b: (a.amax() * 2, b.amax() * 0.1)
    )(x, y),
    "infinite only in 16 bits": lambda x, _: (x * 1e4).half().float().isinf(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_conversion_of_the_program_rounds(compiler: Compiler, name: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(8, 24) * 3
    given, function = (x, x.flip(0).bfloat16()), FUNCTIONS[name]
    found, wanted = torch.compile(function, backend=compiler)(*given), function(*given)
    pairs = zip(*((t,) if isinstance(t, Tensor) else t for t in (found, wanted)), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=0, atol=0)


NUMBERS: dict[str, Callable[[Tensor], Tensor]] = {
    "a tiny exponent": lambda x: x.abs() ** 1e-45,
    "a tiny sign": lambda x: torch.copysign(x, -1e-40),
    "a tiny choice": lambda x: torch.where(x > 0, 1e-40, -1e-40).signbit(),
    "a tiny number's fraction": lambda x: x * torch.full((), 1e-40).frexp()[0],
    "a huge exponent": lambda x: x.abs() ** 1e300,
    "a huge divisor": lambda x: torch.fmod(x, 1e300),
    "a huge number's logarithm": lambda x: torch.xlogy(x, 1e300),
    "positions from a huge number": lambda x: torch.arange(1 << 40, (1 << 40) + 5) * 2 > x,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_triton_takes_for_those_of_another_type(devices: Devices, name: str) -> None:
    """Literals out of the range of normal float32 numbers, or of int32."""
    torch.compiler.reset()
    x = torch.tensor([-2.0, 0.0, 0.3, 1.0, 7.0])
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    found = torch.compile(NUMBERS[name], backend=compiler)(x)
    torch.testing.assert_close(found, NUMBERS[name](x), equal_nan=True)
    assert compiler.reports[0].library_calls == ()


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum", "cumprod"])
@pytest.mark.parametrize("given", [torch.float32, torch.float16, torch.int32])
def test_elements_are_converted_to_the_type_that_a_reduction_is_given(
    compiler: Compiler, name: str, given: torch.dtype
) -> None:
    """Of elements that bfloat16 rounds to 1 nothing else is left."""
    x = torch.full((4, 8), 1 + 2**-9) if given.is_floating_point else torch.full((4, 8), 257)
    x, method = x.to(given), getattr(Tensor, name)

    def function(x: Tensor) -> Tensor:
        made = method(x, 1, dtype=torch.bfloat16)
        assert isinstance(made, Tensor)
        return made

    assert torch.equal(torch.compile(function, backend=compiler)(x), function(x))


def test_a_gradient_is_rounded_where_eager_mode_converts_it(compiler: Compiler) -> None:
    def function(x: Tensor) -> Tensor:
        return x.bfloat16().float() * 1.7

    def gradient(of: Callable[[Tensor], Tensor]) -> Tensor:
        x = torch.linspace(-3, 3, 64).requires_grad_()
        of(x).backward(torch.linspace(1, 2, 64))
        assert x.grad is not None
        return x.grad

    wanted = gradient(function)
    assert torch.equal(gradient(torch.compile(function, backend=compiler)), wanted)
    assert not torch.equal(wanted, torch.linspace(1, 2, 64) * 1.7)


def test_what_an_operator_comes_to_stays_in_float32(compiler: Compiler) -> None:
    """An operator that is taken apart ends with a conversion, too: it costs a kernel nothing."""

    def function(x: Tensor) -> Tensor:
        return nn.functional.gelu(nn.functional.layer_norm(x, (24,))) * 3

    torch.compile(function, backend=compiler)(torch.randn(8, 24).bfloat16())
    texts = [kernel.module.text for graph in compiler.compiled for kernel in graph.kernels]
    assert texts and not any(".to(tl.bfloat16)" in text for text in texts)


@pytest.mark.parametrize("start", [4.3, -4.3])
def test_integers_of_linspace_lie_between_integers(compiler: Compiler, start: float) -> None:
    """Their ends are cut first (torch's own decomposition cuts the results alone)."""

    def between(first: torch.Tensor, last: torch.Tensor) -> list[torch.Tensor]:
        given = {"steps": 12, "dtype": torch.int64}
        ends = (first, 0.0), (start, last), (first, last), (start, 0.9)
        return [torch.linspace(*pair, **given) for pair in ends]

    torch.compiler.reset()
    args = torch.tensor(start), torch.tensor(0.9)
    for got, wanted in zip(
        torch.compile(between, backend=compiler)(*args), between(*args), strict=True
    ):
        assert torch.equal(got, wanted)


def test_integers_of_linspace_are_cut_where_eager_mode_cuts_them(compiler: Compiler) -> None:
    """On a CPU from a fused float64: of 4 one rounding makes 3."""

    def steps(x: torch.Tensor) -> torch.Tensor:
        return torch.linspace(0, 7, 50, dtype=torch.int64) + x

    x = torch.zeros(1, dtype=torch.int64)
    assert torch.equal(torch.compile(steps, backend=compiler)(x), steps(x))
    assert compiler.reports[-1].kernels == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_what_is_compared_is_of_the_common_type(compiler: Compiler, dtype: torch.dtype) -> None:
    """Beside 16 bits a number, and a tensor without dimensions, is of 16 bits as well."""

    def function(x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
        compared = x == 0.1, x > 0.1, x <= 0.3, x.clamp(min=0.1) == 0.1, x != y, x < y, z >= x
        return *compared, torch.fmod(x, 0.1), x % y, nn.functional.hardshrink(x, 0.1)

    x = torch.tensor([0.1, 0.2, 0.3] * 4).to(dtype)
    given = x, torch.tensor(0.1), torch.tensor(0.3, dtype=torch.float64)
    found = torch.compile(function, backend=compiler)(*given)
    for one, other in zip(found, function(*given), strict=True):
        assert torch.equal(one, other)
    assert not compiler.reports[-1].library_calls


def test_numbers_beside_float64_are_of_float64(compiler: Compiler) -> None:
    """Triton 3.6 reads 0.1 in a comparison as float32 (program 4005166)."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        every = torch.full((4,), 0.1, dtype=torch.float64)
        return x == 0.1, x >= 0.1, x < 1e-300, x.clamp(0.1), torch.bucketize(every, x)

    x = torch.tensor([0.1, 1e-300, 0.3, 1.0], dtype=torch.float64).sort().values
    found = torch.compile(function, backend=compiler)(x)
    assert all(map(torch.equal, found, function(x)))


POWERS: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], Callable[..., Tensor]]] = {
    "a number": (lambda x, _: x**0.3, lambda x, near, _: x ** near(0.3)),
    "a base": (lambda x, _: 2.3 ** (x * 8), lambda x, near, _: near(2.3) ** (x * 8)),
    "a tensor of another type": (lambda x, t: x**t, lambda x, near, t: x ** near(t)),
    "such a base": (lambda x, t: t ** (x * 8), lambda x, near, t: near(t) ** (x * 8)),
    "a product of that": (lambda x, t: x ** (t * 1.1), lambda x, near, t: x ** near(t * 1.1)),
    "many whole digits": (lambda x, _: (x + 1) ** 257.3, lambda x, near, _: (x + 1) ** near(257.3)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", POWERS)
def test_powers_convert_operands_of_other_types(
    compiler: Compiler, name: str, dtype: torch.dtype
) -> None:
    function, exact = POWERS[name]
    x, t = (torch.arange(1, 65) / 4096).to(dtype), torch.tensor(0.3)

    def near(number: float | Tensor) -> Tensor:
        return torch.as_tensor(number).to(dtype).double()

    got = torch.compile(function, backend=compiler, dynamic=False)(x, t)
    assert compiler.reports[-1].kernels == 1
    torch.testing.assert_close(got, exact(x.double(), near, t).to(dtype), rtol=1e-3, atol=0.0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("exponent", [0.5, -0.5])
def test_a_power_with_a_tensor_of_one_half_is_no_root(
    compiler: Compiler, exponent: float, dtype: torch.dtype
) -> None:
    """Eager mode takes a root for a number only: roots of -0.0 and -inf are -0.0 and NaN."""
    x = torch.tensor([-0.0, -torch.inf, 2.0, 0.0, -1.0], dtype=dtype)
    for function in (lambda x: x ** torch.tensor(exponent), lambda x: x**exponent):
        got = torch.compile(function, backend=compiler)(x)
        torch.testing.assert_close(got, function(x), equal_nan=True)
        assert torch.equal(got.signbit()[:1], function(x).signbit()[:1])
        assert compiler.reports[-1].kernels == 1


@pytest.mark.parametrize("exponent", [0.3, -0.7, 2.3])
def test_the_exponent_of_a_powers_gradient_is_converted(
    compiler: Compiler, exponent: float
) -> None:
    x = (torch.arange(1, 65) / 4096).bfloat16().requires_grad_()
    run = torch.compile(lambda x: x**exponent, backend=compiler, dynamic=False)
    (got,) = torch.autograd.grad(run(x).sum(), x)
    less = torch.tensor(exponent - 1).bfloat16().double()
    wanted = (exponent * x.detach().double() ** less).bfloat16()
    torch.testing.assert_close(got, wanted, rtol=1e-3, atol=0.0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_nothing_is_left_of_large_numbers(compiler: Compiler, dtype: torch.dtype) -> None:
    """What the kernel has not rounded was 1e26 off the whole number below it."""
    x = (torch.arange(1, 65) * 37.7).to(dtype)
    x[5], large = -0.0, 1e30 if dtype != torch.float16 else 10.0

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        return (x * large).frac(), (x / 3).frac()

    got = torch.compile(function, backend=compiler, dynamic=False)(x)
    assert not compiler.reports[-1].library_calls
    torch.testing.assert_close(got, function(x), rtol=0.0, atol=0.0)


def test_of_equal_numbers_deviations_are_zero_and_so_are_their_gradients(
    compiler: Compiler,
) -> None:
    """Unrounded sixths have a sum that is rounded."""

    def run(x: Tensor) -> Tensor:
        made = torch.nn.functional.hardsigmoid(x)
        spread, mean = torch.std_mean(made)
        return torch.stack([spread, mean * 0, made.var(), made.std(0), torch.var_mean(made)[0]])

    x = torch.ones(64, dtype=torch.bfloat16).requires_grad_()
    made = torch.compile(run, backend=compiler)(x)
    assert made.tolist() == run(x).tolist() == [0.0] * 5
    (gradient,) = torch.autograd.grad(made.sum(), x)
    assert gradient.abs().max() < 1e-6


A = torch.arange
POSITIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "wrapped in 8 bits": lambda x: A(300).to(torch.int8).long() + x[:300],
    "wrapped in 16 bits": lambda x: A(100_000).short().int() + x,
    "wrapped once negative": lambda x: A(-5, 5).to(torch.uint8) + x[:10],
    "computed in 8 bits": lambda x: (A(200, dtype=torch.uint8) * 3).long() + x[:200],
    "of another sign": lambda x: A(200, dtype=torch.uint8).to(torch.int8) + x[:200],
    "read": lambda x: x[(A(300).to(torch.uint8) + 250).long()],
    "compared": lambda x: A(300).to(torch.int8) == x[:300],
    "divided": lambda x: (A(300).to(torch.int8) % 7).long() + x[:300],
    "scaled": lambda x: (A(300).to(torch.uint8).float() * 0.5).long() + x[:300],
    "added up": lambda x: A(300).to(torch.int8).sum() + x[0],
    "counted": lambda x: (A(300).to(torch.int8) == x[:9, None]).float().sum(1),
    "wrapped in 32 bits": lambda x: (A(100_000, dtype=torch.int32) * 100_000).long() + x,
    "beyond 32 bits": lambda x: A(100_000) * 100_000 + x,
    "a square": lambda x: A(100_000) * A(100_000) + x,
    "both": lambda x: (A(100_000) * 100_000).int().long() - A(100_000) * 50_000 + x,
    "turned": lambda x: (A(9, dtype=torch.int32) + (2**31 - 5)).flip(0).long() + x[:9],
    "of any size": lambda x: A(x.shape[0]) * 99_999 - A(x.shape[0]).to(torch.int8) + x,
}


@pytest.mark.parametrize("function", POSITIONS.values(), ids=POSITIONS)
def test_positions_are_numbers_of_their_type(
    compiler: Compiler, function: Callable[[Tensor], Tensor]
) -> None:
    """Not where they would be if they did not wrap around, nor wrapped where they do not."""
    x = torch.arange(100_000) % 400
    dynamic = function is POSITIONS["of any size"] or None
    compiled = torch.compile(function, backend=compiler, dynamic=dynamic)
    for given in (x, x[:70_000]) if dynamic else (x,):
        assert torch.equal(compiled(given), function(given))
    assert not any(report.failures or report.eager for report in compiler.reports)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_ranges_in_16_bits_are_rounded(compiler: Compiler, dtype: torch.dtype) -> None:
    """A kernel that goes on with them has what it stores."""
    ranges: list[Callable[[], Tensor]] = [
        lambda: torch.arange(1900, 2200, dtype=dtype),
        lambda: torch.arange(0, 30, 0.1, dtype=dtype),
        lambda: torch.linspace(0, 1, 99, dtype=dtype),
        lambda: torch.logspace(0, 3, 99, dtype=dtype),
    ]

    stored = torch.compile(lambda: [one() for one in ranges], backend=compiler)()
    tripled = torch.compile(lambda: [one().float() * 3 for one in ranges], backend=compiler)()
    for made, thrice in zip(stored, tripled, strict=True):
        assert made.dtype is dtype and torch.equal(thrice, made.float() * 3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_evenly_spaced_numbers_of_16_bits_have_eager_modes_bits(
    compiler: Compiler, dtype: torch.dtype
) -> None:
    """Eager mode rounds the step and its multiples, and counts from both ends; since torch 2.15 it
    computes in float32, with some products rounded and some not."""
    ends = torch.empty(6, 2).uniform_(-9, 9).tolist()
    counts = (0, 1, 2, 7, 300, 1001)

    def function() -> list[Tensor]:
        spaced = [torch.linspace(*e, n, dtype=dtype) for e, n in zip(ends, counts, strict=True)]
        powers = [torch.logspace(-1.3, 1.7, n, dtype=dtype) for n in counts]
        return [*spaced, *(one.float() * 3 for one in spaced), *powers]

    steps = (2.0**-19, torch.finfo(dtype).eps) if torch.__version__ >= "2.15" else (0, 0)
    for found, wanted in zip(torch.compile(function, backend=compiler)(), function(), strict=True):
        torch.testing.assert_close(found, wanted, atol=9 * steps[0], rtol=steps[1])
    assert {name for r in compiler.reports for name, *_ in r.library_calls} == {
        "aten.logspace.default"
    }


@pytest.mark.parametrize("narrow", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32]
)
def test_numbers_beyond_8_bits_are_what_eager_mode_makes_of_them(
    compiler: Compiler, dtype: torch.dtype, narrow: torch.dtype
) -> None:
    """``float8_e4m3fn`` has no infinity: torch before 2.13 makes NaN of what kernels saturate."""
    numbers = [448.0, 456, 464, 464.25, 465, 480, 6e4, 1e9, -465, -7, 240, 57344, 61439, 61440]
    special = [torch.inf, -torch.inf, torch.nan] if dtype.is_floating_point else []
    x = torch.tensor(numbers + special, dtype=torch.float64).to(dtype)

    def function(x: Tensor) -> tuple[Tensor, ...]:
        copied = torch.zeros(x.shape, dtype=narrow).copy_(x)
        return x.to(narrow).float(), (x + 1).to(narrow).to(torch.bfloat16) * 2, x.to(narrow), copied

    found = torch.compile(function, backend=compiler)(x)
    assert not compiler.reports[0].library_calls
    for one, other in zip(found, function(x), strict=True):
        torch.testing.assert_close(one.float(), other.float(), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_tens_and_hundreds_are_rounded_as_eager_mode_rounds_them(
    compiler: Compiler, dtype: torch.dtype
) -> None:
    """6500 came to 6999.9995: it was multiplied by 0.001 and divided by that, for 6000."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(torch.round(x, decimals=-n) for n in (1, 2, 3))

    x = torch.arange(-400, 400, dtype=dtype) * 50
    compiled = torch.compile(function, backend=compiler)
    assert all(map(torch.equal, compiled(x), function(x)))
    assert [f for report in compiler.reports for f in report.failures] == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_a_power_of_ten_is_a_number_of_the_values_type(
    compiler: Compiler, dtype: torch.dtype
) -> None:
    """It was one of float64, to which 2.5e38 had another ratio and infinity another quotient, and
    Python raised beyond 10 ** 308."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(torch.round(x, decimals=n) for n in (-400, -39, -38, -20, 20, 38, 39, 400))

    x = torch.tensor([0.0, 2.5e38, -2.5e38, 7.0, 1e-20, torch.inf, -torch.inf, torch.nan]).to(dtype)
    found, wanted = torch.compile(function, backend=compiler)(x), function(x)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
    assert [f for report in compiler.reports for f in report.failures] == []
