"""torch.compile with sizes that change: one compilation serves them all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.errors import FallbackWarning, GraphError
from harness.executor import Launches, prepare_graph
from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.runtime import module as modules
from harness.target import H100


@pytest.fixture
def compiler(devices: Devices) -> Compiler:
    """One that may fall back, which is a warning."""
    torch.compiler.reset()
    return Compiler(devices=devices)


def tril_softmax(x: torch.Tensor) -> torch.Tensor:
    keep = torch.ones(x.shape[0], x.shape[0], dtype=torch.bool).tril()
    return torch.where(keep, x @ x.t(), float("-inf")).softmax(-1)


def halves(x: torch.Tensor) -> torch.Tensor:
    return x[:, : x.shape[1] // 2] * x[:, -(x.shape[1] // 2) :]


def statistics(x: torch.Tensor) -> tuple[torch.Tensor, int]:
    return (x - x.mean(0)) / x.std(0), 2 * x.shape[0]


def every_second(x: torch.Tensor) -> torch.Tensor:
    sums = F.pad(x, (0, 1)).cumsum(0)
    sums[:, ::2] *= 3  # one more column than x has: no multiple of two, whatever x has
    return sums


def at_five(x: torch.Tensor) -> torch.Tensor:
    five = torch.full((), x.shape[0], dtype=torch.int64) == 5
    return torch.where(five, x[0] * 2, x[1] * 3)


def append(cache: torch.Tensor, new: torch.Tensor, position: int) -> torch.Tensor:
    end = position + new.shape[1]
    cache[:, position:end] = new
    return cache[:, :end].sum(1)


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "positions": (lambda x: x + torch.arange(x.shape[1]) * 2.0, lambda n: (torch.randn(3, n),)),
    "a number": (at_five, lambda n: (torch.randn(n),)),
    "attention": (tril_softmax, lambda n: (torch.randn(n, 8),)),
    "every second": (every_second, lambda n: (torch.randn(3, n),)),
    "halves": (halves, lambda n: (torch.randn(4, n),)),
    "last": (lambda x: x[:, -3:] + x[:, 2:5] + x[:, -1:], lambda n: (torch.randn(4, n),)),
    "join": (
        lambda x: torch.cat([x, x.flip(0)]).sum(0) / x.shape[0],
        lambda n: (torch.randn(n, 5),),
    ),
    "pad": (lambda x: F.pad(x, (1, 2), value=3.0) * 2, lambda n: (torch.randn(4, n),)),
    "reshape": (
        lambda x: x.view(x.shape[0], 2, -1).transpose(1, 2).reshape(-1, 2).exp(),
        lambda n: (torch.randn(n, 6),),
    ),
    "both": (lambda x: (x.t() * 2).contiguous(), lambda n: (torch.randn(n, n + 3),)),
    "change": (lambda x: x.mul_(2).add_(x.sum()), lambda n: (torch.randn(n, 6),)),
    "number": (lambda x, n: x * n + n // 2 + n % 3, lambda n: (torch.randn(5), n - 20)),
    "prefix": (lambda x, n: x[:n] * 2, lambda n: (torch.randn(60), n)),
    "row": (lambda x, n: x[n] * x[-n], lambda n: (torch.randn(60, 3), n)),
    "half": (lambda x: x[: math.ceil(x.shape[0] * 0.5)] * 2, lambda n: (torch.randn(n, 3),)),
    "repeat": (lambda x, n: x.repeat(n, 2).sin(), lambda n: (torch.randn(4), n)),
    "cache": (append, lambda n: (torch.randn(2, 40, 3), torch.randn(2, 4, 3), n)),
    "loss": (F.cross_entropy, lambda n: (torch.randn(n, 10), torch.randint(0, 10, (n,)))),
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_one_compilation_computes_what_torch_does_at_every_size(
    compiler: Compiler, name: str
) -> None:
    program, inputs = PROGRAMS[name]
    run = torch.compile(program, backend=compiler, dynamic=True)
    for n in (7, 12, 33):
        given = inputs(n)
        ours = [t.clone() if isinstance(t, torch.Tensor) else t for t in given]
        result, expected = run(*ours), program(*given)
        torch.testing.assert_close(result, expected)
        assert result.stride() == expected.stride()
        torch.testing.assert_close(ours, list(given))
    assert len(compiler.compiled) == 1
    assert all(report.kernels for report in compiler.reports)


def test_gradients_at_every_size_and_numbers_that_are_returned(compiler: Compiler) -> None:
    run = torch.compile(statistics, backend=compiler, dynamic=True)
    for n in (5, 17, 40):
        x = torch.randn(n, 6, requires_grad=True)
        (ours, twice), (expected, _) = run(x), statistics(x)
        assert twice == 2 * n
        weight = torch.randn_like(expected)
        (got,) = torch.autograd.grad((ours * weight).sum(), x)
        (wanted,) = torch.autograd.grad((expected * weight).sum(), x)
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
    assert len(compiler.compiled) == 2


def test_gradients_where_a_number_that_is_passed_is_part_of_a_size(compiler: Compiler) -> None:
    def padded(x: torch.Tensor, n: int) -> torch.Tensor:
        return F.pad(x, (n, 0)).repeat(n, 1) * 2

    run = torch.compile(padded, backend=compiler, dynamic=True)
    for n in (2, 5, 9):
        x = torch.randn(4, requires_grad=True)
        torch.testing.assert_close(run(x, n), padded(x, n))
        weight = torch.randn(n, 4 + n)
        (got,) = torch.autograd.grad((run(x, n) * weight).sum(), x)
        (wanted,) = torch.autograd.grad((padded(x, n) * weight).sum(), x)
        torch.testing.assert_close(got, wanted)
    assert len(compiler.compiled) == 2 and not compiler.eager


def test_the_first_position_is_compiled_apart_from_all_others(compiler: Compiler) -> None:
    run = torch.compile(append, backend=compiler, dynamic=True)
    for position in (3, 0, 5, 0):
        cache, new = torch.randn(2, 40, 3), torch.randn(2, 4, 3)
        ours = cache.clone()
        torch.testing.assert_close(run(ours, new, position), append(cache, new, position))
        assert torch.equal(ours, cache)
    assert len(compiler.compiled) == 2 and not compiler.eager


def test_what_torch_derives_for_known_sizes_only_is_compiled_size_by_size(
    compiler: Compiler,
) -> None:
    def smaller(x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(x, scale_factor=0.5, mode="bicubic", antialias=True) * 2

    run = torch.compile(smaller, backend=compiler, dynamic=True)
    for n in (6, 8):
        x = torch.randn(1, 1, n, 7, requires_grad=True)
        with pytest.warns(FallbackWarning, match="one by one") if n == 6 else nullcontext():
            made = run(x)
        torch.testing.assert_close(made, smaller(x))
        (got,), (wanted,) = (torch.autograd.grad(f.square().sum(), x) for f in (made, smaller(x)))
        torch.testing.assert_close(got, wanted)
    assert len(compiler.compiled) == 4 and not compiler.eager


def test_sizes_become_unknown_with_the_second_one(compiler: Compiler) -> None:
    run = torch.compile(lambda x: x.softmax(-1), backend=compiler)
    for n in (6, 9, 11, 30):
        x = torch.randn(n, 4)
        torch.testing.assert_close(run(x), x.softmax(-1))
    known, unknown = compiler.compiled
    (item,) = known.partition.graph.inputs
    assert item.type.shape[0] == 6
    (item,) = unknown.partition.graph.inputs
    assert item.type.shape[0].free_symbols


@pytest.mark.parametrize("pieces", [lambda x: x.chunk(3), lambda x: x.split(x.shape[0] // 2)])
def test_pieces_are_cut_at_every_size_of_one_compilation(
    compiler: Compiler, pieces: Callable[[torch.Tensor], Sequence[torch.Tensor]]
) -> None:
    run = torch.compile(lambda x: [piece + 1 for piece in pieces(x)], backend=compiler)
    for n in (6, 12, 18, 30):
        x = torch.randn(n)
        for ours, theirs in zip(run(x), pieces(x), strict=True):
            assert torch.equal(ours, theirs + 1)
    assert len(compiler.compiled) == 2  # for the first size, and for all


@pytest.mark.parametrize(
    ("factor", "mode"), [(0.5, "bilinear"), (1.5, "bicubic"), (2.0, "bilinear")]
)
def test_sizes_that_are_scaled_by_a_float_are_those_of_one_compilation(
    compiler: Compiler, factor: float, mode: str
) -> None:
    def scaled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        larger = F.interpolate(x, scale_factor=(factor, 1), mode=mode)
        return larger, x[:, :, : int(x.shape[2] * factor)] + 1

    run = torch.compile(scaled, backend=compiler, dynamic=True)
    for n in (5, 8, 13):
        x = torch.randn(1, 2, n, 3)
        torch.testing.assert_close(run(x), scaled(x))
    assert len(compiler.compiled) == 1


def numbers(x: torch.Tensor) -> tuple[Any, ...]:
    n, d = x.shape
    scaled = x / math.sqrt(d) + x * n**-0.5
    return scaled, n > 6, n / d, float(n), n % 2 == 0, torch.full((2,), n), math.sqrt(d)


def test_numbers_made_of_sizes_are_returned(devices: Devices) -> None:
    torch.compiler.reset()
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    run = torch.compile(numbers, backend=compiler, dynamic=True)
    for shape in ((5, 4), (8, 3), (13, 9)):
        x = torch.randn(shape)
        (ours, *numbers_), (theirs, *expected) = run(x), numbers(x)
        torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(numbers_.pop(4), expected.pop(4))
        assert numbers_ == expected and list(map(type, numbers_)) == list(map(type, expected))
    assert len(compiler.compiled) == 1


def filled(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    n = x.shape[0]
    made = torch.full((n,), float(n)) * x, torch.full_like(x, 1 / n), x.new_full((n, 2), n / 4)
    return *made, x.clamp(max=n / 9), x.clamp(-n / 7, 0.5), x.abs() ** (1 / n)


def test_numbers_made_of_sizes_fill_and_bound_tensors(devices: Devices) -> None:
    torch.compiler.reset()
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    run = torch.compile(filled, backend=compiler, dynamic=True)
    for dtype in (torch.float32, torch.float64):
        for n in (5, 8, 13):
            x = torch.randn(n, dtype=dtype)
            torch.testing.assert_close(run(x), filled(x))
    assert len(compiler.compiled) == 2


@pytest.mark.parametrize("number", [1.5, -0.0, math.inf, math.nan])
def test_numbers_that_are_constants_are_returned(devices: Devices, number: float) -> None:
    """A float that torch makes constant, and what follows from it."""
    torch.compiler.reset()
    compiler = Compiler(devices=devices, fail_on_fallback=True)

    def function(x: torch.Tensor, y: float) -> tuple[Any, ...]:
        return x * 2, y > 0, y * 3

    x = torch.randn(3)
    ours = torch.compile(function, backend=compiler, dynamic=True)(x, number)
    for mine, other in zip(ours, function(x, number), strict=True):
        assert type(mine) is type(other)
        torch.testing.assert_close(mine, other, equal_nan=True)


def test_a_size_computed_in_floating_point_is_named(compiler: Compiler) -> None:
    run = torch.compile(
        lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"),
        backend=compiler,
        dynamic=True,
    )
    with pytest.warns(FallbackWarning, match="computed in floating point\\n  got: TruncToInt"):
        assert run(torch.randn(1, 2, 5, 3)).shape == (1, 2, 8, 5)


def test_a_mean_of_statistics_is_scaled_by_sizes(compiler: Compiler) -> None:
    norm, twin = torch.nn.BatchNorm1d(4), torch.nn.BatchNorm1d(4)
    run = torch.compile(norm, backend=compiler, dynamic=True)
    for n in (6, 9, 32):
        x = torch.randn(n, 4) + 3
        torch.testing.assert_close(run(x), twin(x))
        torch.testing.assert_close(norm.running_var, twin.running_var)
    assert len(compiler.compiled) == 2  # forward and backward


def test_a_factor_of_a_sum_that_follows_from_sizes_is_compiled_once(compiler: Compiler) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        n = x.shape[0]
        scaled = torch.add(x, y, alpha=n / 2), torch.sub(x, y, alpha=n), x.add(1, alpha=n)
        return *scaled, torch.rsub(x, y, alpha=n / 2), y.clone().add_(x, alpha=n * 0.3)

    run = torch.compile(f, backend=compiler, dynamic=True)
    for n in (4, 5, 7):
        x, y = torch.randn(n, 3), torch.randn(n, 3)
        torch.testing.assert_close(run(x, y), f(x, y))
        torch.testing.assert_close(run((x * 9).int(), y), f((x * 9).int(), y))
    assert len(compiler.compiled) == 2


def test_numbers_that_follow_from_sizes_are_compared_and_divide_once(compiler: Compiler) -> None:
    def f(x: torch.Tensor) -> Any:
        part = x.shape[0] / 9
        return x > part, x == part, x <= part, x % part, torch.fmod(x, part), x.clamp(max=part)

    run = torch.compile(f, backend=compiler, dynamic=True)
    for n in (18, 27, 45):
        x = torch.arange(n * 3).view(n, 3) - n
        for given in (x, x / 4, (x / 4).double(), x > 0):
            assert all(map(torch.equal, run(given), f(given)))
    assert len(compiler.compiled) == 4


def test_quotients_of_sizes_are_rounded_and_round_once(compiler: Compiler) -> None:
    def f(x: torch.Tensor) -> Any:
        n = x.shape[0]
        made = x.new_ones(round(n / 3), int(n / 5)) * round(n / 2), x + round(n * 1.5)
        rounded = (torch.div(x, n / 7, rounding_mode=mode) for mode in ("floor", "trunc"))
        return *made, x // (n / 9), *rounded, x.bfloat16() // (n / 9), x * math.floor(n / 4)

    run = torch.compile(f, backend=compiler, dynamic=True)
    for n in (18, 27, 43, 10, 14):
        x = torch.randn(n, 3) * n
        assert all(map(torch.equal, run(x), f(x)))
    assert len(compiler.compiled) == 1


def test_what_cannot_be_generated_for_every_size_is_specialised_and_said(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1) * x.shape[0]

    def no_sizes(name: str) -> Any:
        raise RuntimeError("no such thing as an unknown size")

    monkeypatch.setattr("harness.graph.capture.fx.size_symbol", no_sizes)
    run = torch.compile(f, backend=compiler, dynamic=True)
    with pytest.warns(FallbackWarning, match="one by one.*no such thing as an unknown size"):
        run(torch.randn(3, 6))
    for rows in (3, 7, 3, 5):
        x = torch.randn(rows, 6)
        torch.testing.assert_close(run(x), f(x))
    assert len(compiler.compiled) == 3
    strict = Compiler(devices=compiler.devices, fail_on_fallback=True)
    torch.compiler.reset()
    with pytest.raises(Exception, match="sizes are compiled one by one"):
        torch.compile(f, backend=strict, dynamic=True)(torch.randn(3, 6))


def test_a_region_that_torch_has_to_run_knows_the_sizes() -> None:
    text = """# harness graph 1
def f(
    x: "f32[s0, 6]",
):
    view: "f32[6*s0]" = aten.view.default(x, [sym("6*s0")])
    exp: "f32[6*s0]" = aten.exp.default(view)
    return (exp,)
"""
    compiled = compile_graph(loads(text, "t"), H100)
    broken = replace(
        compiled, regions=tuple(replace(r, program=None, failures=("x",)) for r in compiled.regions)
    )
    run = prepare_graph(broken, Launches(lambda _: pytest.fail("a launch")), "cpu")
    for n in (2, 5):
        x = torch.randn(n, 6)
        torch.testing.assert_close(run([x.clone()]), [x.view(-1).exp()])
    with pytest.raises(GraphError, match="other sizes than the graph's input"):
        run([torch.randn(4, 7)])


def test_a_module_names_no_size_that_it_is_not_given(tmp_path: Path) -> None:
    text = """# harness graph 1
def f(
    x: "f32[s0, 6]",
):
    amax: "f32[1, 6]" = aten.amax.default(x, [0], True)
    part: "f32[1, 1]" = aten.slice.Tensor(amax, 1, 0, 1)
    ones: "i64[1, 1]" = aten.full_like.default(part, 2, dtype=torch.int64)
    some: "f32[1, 1]" = aten.full_like.default(part, 3.0)
    taken: "f32[1, 6]" = aten.gather.default(x, 0, ones)
    return (ones, some)
"""
    compiled = compile_graph(loads(text, "t"), H100)
    for module, _ in compiled.distinct():
        assert "torch.zeros((s0, 6)" in module.text
        made = modules.load(module.text, tmp_path).raw
        args = made.get_args(device="cpu")
        assert [one.flatten().tolist() for one in made.reference(args)] == [[2], [3.0]]


def test_an_index_made_in_another_kernel_is_bounded_by_an_unknown_size(compiler: Compiler) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x.std(dim=0)
        return y.scatter(0, torch.zeros_like(y[:1], dtype=torch.int64), 3)

    run = torch.compile(f, backend=compiler, dynamic=True)
    for n in (16, 7):
        x = torch.randn(3, n, requires_grad=True)
        torch.testing.assert_close(run(x), f(x))


def test_long_rows_of_three_unknown_sizes_are_held_where_they_are_short(compiler: Compiler) -> None:
    torch.manual_seed(0)
    run = torch.compile(lambda x: F.group_norm(x, 1), backend=compiler, dynamic=True)
    for shape in ((2, 3, 8, 1), (2, 3, 4, 1500)):
        x = torch.randn(shape)
        torch.testing.assert_close(run(x), F.group_norm(x, 1))
    assert [f for report in compiler.reports for f in report.failures] == []


def test_a_size_that_a_launch_finds_to_be_one_is_broadcast(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = x * 1
        return x[::5] + x, x[:, ::5].expand_as(x) * 2

    x = torch.arange(9.0).reshape(3, 3)
    for one in (x, x.repeat(5, 5)[:4, :4]):
        assert differences(function, [one], compiler, dynamic=True) == []


def test_kernels_are_compiled_ahead_for_the_sizes_that_were_traced(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, int]] = []
    launches = Devices.launches

    def watched(self: Devices, *args: Any) -> Any:
        seen.append(dict(args[3]))
        return launches(self, *args)

    monkeypatch.setattr(Devices, "launches", watched)
    torch.compile(lambda x: x * 2, backend=compiler, dynamic=True)(torch.randn(12, 7))
    assert [sorted(sizes.values()) for sizes in seen] == [[7, 12]]


ROWS: dict[str, Callable[[torch.Tensor], Any]] = {
    "softmax": lambda x: x.softmax(-1),
    "norm": lambda x: F.layer_norm(x, (x.shape[1],)),
    "largest": lambda x: (x.argmax(-1), x.amin(-1), (x > 2.5).any(-1)),
    "scans": lambda x: (x.cumsum(-1), *x.cummax(-1)),
    "loss": lambda x: x.logsumexp(-1) - x.prod(-1),
    "in place": lambda x: x.mul_(2).sub_(x.mean(-1, keepdim=True)),
}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_rows_are_right_at_every_part_of_a_block_and_beyond_it(
    compiler: Compiler, name: str
) -> None:
    program = ROWS[name]
    run = torch.compile(program, backend=compiler, dynamic=True)
    for m, n in ((5, 513), (3, 641), (4, 1024), (3, 1030), (2, 2048)):
        x = torch.randn(m, n) if name != "scans" else torch.randint(-9, 9, (m, n)).float()
        result, expected = run(x.clone()), program(x.clone())
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
    assert len(compiler.compiled) == 1
    (module, *_) = (module for module, _ in compiler.compiled[0].distinct())
    assert "HELD: tl.constexpr" in module.text


def test_a_number_that_torch_compiles_for_one_by_one_is_that_number(devices: Devices) -> None:
    """The gradient of ``lerp`` asks what the number is: in its graphs it has a value."""
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    compiled = torch.compile(lambda x, n: x.lerp(x.sin(), n), backend=compiler)
    for n in (0.5, 0.25, 0.75):
        x = torch.randn(4, requires_grad=True)
        wanted = x.lerp(x.sin(), n)
        found = compiled(x, n)
        torch.testing.assert_close(found, wanted)
        gradients = [torch.autograd.grad(y.sum(), x)[0] for y in (found, wanted)]
        torch.testing.assert_close(*gradients)


def test_a_negative_number_beyond_32_bits_keeps_its_value(devices: Devices) -> None:
    compiled = torch.compile(
        lambda x, n: (x * n, x + (n - 1)), backend=Compiler(devices=devices), dynamic=True
    )
    for n in (-3, -3_000_000_000, 3_000_000_000):
        x = torch.arange(8)
        for found, wanted in zip(compiled(x, n), (x * n, x + (n - 1)), strict=True):
            assert torch.equal(found, wanted)


RAGGED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "activation": lambda x: x.sin() * x,
    "softmax": lambda x: x.softmax(-1) + 1,
    "padded": lambda x: torch.nested.to_padded_tensor(x, 1.0).sin(),
    "values": lambda x: (x.cos() * x.size(0)).values(),
}


@pytest.mark.parametrize("name", RAGGED)
def test_rows_of_ragged_tensors_are_compiled(devices: Devices, name: str) -> None:
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    torch.compiler.reset()
    compiled = torch.compile(RAGGED[name], backend=compiler)
    for lengths in ((2, 3), (4, 1, 2), (2, 5, 1, 1)):
        rows = [torch.randn(n, 3) for n in lengths]
        x = torch.nested.nested_tensor(rows, layout=torch.jagged, requires_grad=True)
        made = [function(x) for function in (RAGGED[name], compiled)]
        assert made[0].is_nested == made[1].is_nested
        dense = [one.values() if one.is_nested else one for one in made]
        torch.testing.assert_close(*dense)
        gradients = (torch.autograd.grad(one.sin().sum(), x)[0].values() for one in dense)
        torch.testing.assert_close(*gradients)
    assert len(compiler.compiled) == 4  # of two batches, and of three and more
