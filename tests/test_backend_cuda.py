"""The torch.compile backend on CUDA, against eager."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from harness.backend import Compiler, Devices
from tests.graph.capture.test_decompositions import DTYPES, FORMS, accepted, operand
from tests.test_backend import Block, gradients

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.fixture
def compiler() -> Iterator[Compiler]:
    torch.compiler.reset()
    torch.manual_seed(0)
    made = Compiler()
    yield made
    made.close()
    torch.compiler.reset()


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_forward_and_backward(compiler: Compiler) -> None:
    model = Block(64).cuda()
    x = torch.randn(4, 33, 64, device="cuda")
    wanted = gradients_cuda(model, model, x)
    got = gradients_cuda(model, torch.compile(model, backend=compiler), x)
    for a, b in zip(got, wanted, strict=True):
        close(a, b)
    assert not any(report.failures for report in compiler.reports)


@pytest.mark.parametrize("normed", [nn.utils.parametrizations.weight_norm, nn.utils.weight_norm])
@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated")
def test_gradients_of_a_weight_norm(compiler: Compiler, rank: int, normed: Any) -> None:
    """Its CUDA kernel takes a convolution's gradient for contiguous, whose filters we lay out
    channels last."""
    model = normed(nn.Conv1d(3, 4, 3) if rank == 1 else nn.Conv2d(3, 4, 3)).cuda()
    x = torch.randn(2, 3, *[8] * rank, device="cuda")
    wanted = gradients_cuda(model, model, x)
    got = gradients_cuda(model, torch.compile(model, backend=compiler), x)
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("place", ["cpu", "cuda"])
@pytest.mark.parametrize("number", [0.1, 1.7])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_numbers_beside_16_bits(
    compiler: Compiler, form: str, dtype: torch.dtype, number: float, place: str
) -> None:
    """Equal; functions that differ from torch's in the last bit of float32 may be rounded apart."""
    x, z = operand(dtype, "cuda"), torch.tensor(number, device=place)
    functions = accepted(form, x, z)
    assert len(functions) >= 9
    run = torch.compile(lambda x, z: [f(x, z) for f in functions.values()], backend=compiler)
    functions_of_math = "atan2 hypot logaddexp logaddexp2 pow xlog1py xlogy".split()
    for name, got in zip(functions, run(x, z), strict=True):
        apart = int((got != functions[name](x, z)).sum())
        assert apart <= (2 if name in functions_of_math else 0), name


@pytest.mark.parametrize("number", [0.1, 1.7])
@pytest.mark.parametrize("dtype", DTYPES)
def test_parameters_beside_16_bits(compiler: Compiler, dtype: torch.dtype, number: float) -> None:
    def function(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> list[torch.Tensor]:
        losses = (
            functional.huber_loss(x, y, reduction="none", delta=number),
            functional.smooth_l1_loss(x, y, reduction="none", beta=number),
        )
        jumps = functional.threshold(x, number, 0.3), functional.softshrink(x, number)
        powers = torch.ldexp(x, z), torch.ldexp(z, x), torch.ldexp(x, x)
        return [*losses, *jumps, *powers, x.lerp(y, number), x.add(y, alpha=number)]

    x, z = operand(dtype, "cuda"), torch.tensor(number)
    y = x.flip(0) * 1.1
    for place in ("cpu", "cuda"):
        args = x, y, z.to(place)
        for got, wanted in zip(
            torch.compile(function, backend=compiler)(*args), function(*args), strict=True
        ):
            assert int((got != wanted).sum()) <= 2


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_subnormal_numbers(compiler: Compiler, kind: torch.dtype) -> None:
    """To a few units of the last place that subnormal numbers have."""
    unary = (
        "asin asinh atan atanh ceil cos erf erfc exp exp2 expm1 floor lgamma log log10 log1p log2"
        " reciprocal rsqrt sigmoid sin sinh sqrt tan tanh"
    ).split()

    def function(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        pairs = torch.pow(x, 0.25), torch.atan2(x, y), torch.hypot(x, y), torch.fmod(x, y), x / y
        more = torch.nextafter(x.float(), y.float()), torch.special.ndtri(x.float())
        return [*(getattr(torch, name)(x) for name in unary), *pairs, *more]

    numbers = [1e-45, 1e-40, 1.1e-38, 1.2e-38, 3e-38, 1e-30, 0.5, -90.0, -130.0, 87.0]
    some = torch.tensor([*numbers, *(-n for n in numbers)], device="cuda").to(kind)
    x, y = torch.cartesian_prod(some, some).unbind(1)
    for ours, eager in zip(
        torch.compile(function, backend=compiler)(x, y), function(x, y), strict=True
    ):
        step = 1e-4 if ours.dtype is torch.float32 else 2**-7
        least = 2.0**-147 if ours.dtype is torch.float32 else 2.0**-132
        torch.testing.assert_close(ours, eager, rtol=step, atol=least, equal_nan=True)


def gradients_cuda(model: nn.Module, run: Any, x: torch.Tensor) -> list[torch.Tensor]:
    with torch.device("cuda"):
        return gradients(model, run, x)


def test_changes_in_place(compiler: Compiler) -> None:
    def f(x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
        total.add_(x.sum(0))
        x.mul_(2).relu_()
        return x @ total

    run = torch.compile(f, backend=compiler)
    with torch.no_grad():
        for _ in range(3):
            # Columns first: a layout that the kernels have to follow.
            x, total = torch.randn(24, 40, device="cuda").t(), torch.randn(24, device="cuda")
            ours = [t.clone(memory_format=torch.preserve_format) for t in (x, total)]
            close(run(*ours), f(x, total))
            close(ours[0], x)
            close(ours[1], total)


def test_dynamic_sizes(compiler: Compiler) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1) * x.shape[0]

    run = torch.compile(f, backend=compiler)
    for rows in (3, 700, 3, 5):
        x = torch.randn(rows, 60, device="cuda")
        close(run(x), f(x))


def test_rms_norm_of_unknown_sizes_with_gradients(compiler: Compiler) -> None:
    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, (x.shape[1],), weight)

    run = torch.compile(norm, backend=compiler, dynamic=True)
    for rows, columns in ((3, 257), (70, 60)):
        x, weight = torch.randn(rows, columns, device="cuda"), torch.rand(columns, device="cuda")
        both = [[t.clone().requires_grad_() for t in (x, weight)] for _ in range(2)]
        results = run(*both[0]), norm(*both[1])
        close(*results)
        for result in results:
            result.square().sum().backward()
        for ours, theirs in zip(*both, strict=True):
            close(ours.grad, theirs.grad)


def test_steady_state_waits_for_nothing_and_can_be_recorded(compiler: Compiler) -> None:
    model = Block(64).cuda()
    run = torch.compile(model, backend=compiler)
    x = torch.randn(4, 32, 64, device="cuda")
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                run(x)
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            run(x)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = run(x)
        x.copy_(torch.randn_like(x))
        graph.replay()
        close(y, model(x))


def test_another_stream(compiler: Compiler) -> None:
    """A kernel launched on any but the current stream would read before the slow work ends."""
    run = torch.compile(lambda t: torch.sin(t) * 2 + 1, backend=compiler)
    x = torch.zeros(1 << 20, device="cuda")
    run(x)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(100_000_000)
        x.fill_(1.0)
        y = run(x)
    side.synchronize()
    close(y, torch.sin(torch.ones_like(x)) * 2 + 1)


def test_tuned_by_the_first_call() -> None:
    from harness.measure.timer.graph_timer import CudaTimer

    torch.compiler.reset()
    devices = Devices(CudaTimer())
    run = torch.compile(lambda t: torch.softmax(t, -1).cumsum(0), backend=Compiler(devices=devices))
    x = torch.randn(512, 3000, device="cuda")
    before = x.clone()
    close(run(x), torch.softmax(x, -1).cumsum(0))
    assert torch.equal(x, before)
    (kernels,) = devices._kernels.values()
    assert all(k.config in k.loaded.configs for k in kernels._kernels.values())
    devices.close()


def test_dropout_is_the_same_in_both_directions(compiler: Compiler) -> None:
    run = torch.compile(
        lambda t: nn.functional.dropout(t * 2, 0.5, training=True), backend=compiler
    )
    x = torch.ones(4096, device="cuda", requires_grad=True)
    y = run(x)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, y.detach())
    assert 0.4 < float((y == 0).float().mean()) < 0.6


def test_what_is_drawn_again_is_eager_modes_stream(compiler: Compiler) -> None:
    """Torch draws it from generators of its own unless told not to."""
    compiler.eager_random = True
    x = torch.randn(8, 32, device="cuda", requires_grad=True)

    def part(x: torch.Tensor) -> torch.Tensor:
        return functional.dropout(x.sin(), 0.5).exp()

    def function(x: torch.Tensor) -> torch.Tensor:
        made = checkpoint(part, x, use_reentrant=False)
        assert isinstance(made, torch.Tensor)
        return made

    run = torch.compile(function, backend=compiler)
    for seed in (0, 1):
        both = []
        for call in (run, function):
            torch.manual_seed(seed)
            made = call(x)
            both.append((made, *torch.autograd.grad(made.sum(), x)))
        torch.testing.assert_close(*both)


def test_an_optimizer_in_combos(compiler: Compiler) -> None:
    """Many independent small kernels, launched together, and recorded so."""
    torch.manual_seed(1)
    parameters = [nn.Parameter(torch.randn(1 << 20, device="cuda")) for _ in range(20)]
    twins = [nn.Parameter(p.detach().clone()) for p in parameters]
    for ours, theirs in zip(parameters, twins, strict=True):
        ours.grad = torch.randn_like(ours)
        theirs.grad = ours.grad.clone()
    optimizers = [
        torch.optim.AdamW(group, lr=0.1, capturable=True, foreach=True)
        for group in (parameters, twins)
    ]
    run = torch.compile(optimizers[0].step, backend=compiler)
    for _ in range(5):
        run()
        optimizers[1].step()
    assert sum(count for _, count in compiler.compiled[-1].distinct()) == 2
    torch.cuda.synchronize()
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        run()
    for _ in range(2):
        recorded.replay()
        optimizers[1].step()
    for ours, theirs in zip(parameters, twins, strict=True):
        close(ours, theirs)


def test_a_product_with_odd_rows(compiler: Compiler) -> None:
    """Through copies with longer rows, as near to float64 as torch's own way."""

    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.sin(x @ w.t())

    x = torch.randn(512, 768, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    w = (torch.randn(5003, 768, device="cuda") / 28).bfloat16().requires_grad_()
    run = torch.compile(f, backend=compiler)
    exact_inputs = [one.detach().double().requires_grad_() for one in (x, w)]
    found = []
    for function, inputs in ((f, exact_inputs), (f, [x, w]), (run, [x, w])):
        for one in inputs:
            one.grad = None
        y = function(*inputs)
        y.double().square().sum().backward()
        found.append([y.detach(), *(one.grad for one in inputs)])
    assert found[2][0].stride() == (5003, 1)
    for exact, eager, ours in zip(*found, strict=True):
        assert exact is not None and eager is not None and ours is not None
        errors = [float((one.double() - exact).norm() / exact.norm()) for one in (eager, ours)]
        assert errors[1] <= 1.1 * errors[0], errors


_OUTSIDE = """
import sys, torch
from harness.backend import Compiler
x, i = torch.randn(64, 8, device="cuda"), torch.full((40,), int(sys.argv[1]), device="cuda")
made = torch.compile(lambda x, i: x[i] * 2 + x[i].sum(), backend=Compiler())(x, i)
torch.cuda.synchronize()
torch.testing.assert_close(made, x[i] * 2 + x[i].sum())
"""


@pytest.mark.parametrize(("index", "fine"), [(63, True), (-64, True), (64, False), (-65, False)])
def test_an_index_out_of_range_stops_the_device(index: int, fine: bool) -> None:
    """In a process of its own: a device that has stopped stays so for its process."""
    run = [sys.executable, "-c", _OUTSIDE, str(index)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == fine, done.stderr[-2000:]
    if not fine:
        assert "device-side assert" in done.stderr and "index is out of range" in done.stderr


def test_recorded_graphs_train_as_plain_ones_do() -> None:
    """The loss of the step before is alive, inputs move, gradients are accumulated once."""
    torch.manual_seed(0)
    models = [nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 8)).cuda() for _ in "ab"]
    models[1].load_state_dict(models[0].state_dict())
    compiler = Compiler(reduce_overhead=True)
    run: Any = torch.compile(models[0], backend=compiler)
    for step in range(10):
        x = torch.randn(32, 64, device="cuda")
        for model, call in zip(models, (run, models[1]), strict=True):
            if step != 5:
                model.zero_grad()
            loss = call(x).square().mean()
            loss.backward()
        for ours, eager in zip(models[0].parameters(), models[1].parameters(), strict=True):
            close(ours.grad, eager.grad)
    assert all(found.replays for found in compiler.recordings.values())
    compiler.close()


def test_combos_in_place_at_odd_addresses_and_timed() -> None:
    """Pointers of a combo are found where the driver put them; what is timed changes nothing."""
    made = [torch.randn(n, device="cuda") for n in (4096, 4096, 777, 4097)]
    states = [*made, torch.randn(4097, device="cuda")[1:], torch.randn(4097, device="cuda")[1:]]

    def step(states: list[torch.Tensor]) -> None:
        torch._foreach_mul_(states, 0.5)
        torch._foreach_add_(states, 1.0)

    for timed in (False, True):
        torch.compiler.reset()
        compiler = Compiler(timed_combos=timed, fail_on_fallback=True)
        try:
            for _ in range(3):
                wanted = [s * 0.5 + 1 for s in states]
                torch.compile(step, backend=compiler, dynamic=False)(states)
                for ours, theirs in zip(states, wanted, strict=True):
                    close(ours, theirs)
            assert timed or compiler.reports[-1].launches == 1
        finally:
            compiler.close()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_quotients_and_remainders_of_extreme_numbers(
    compiler: Compiler, dtype: torch.dtype
) -> None:
    """The device library takes float32 numbers below 2**-126 for 0 (program 2200209)."""

    def f(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
        whole = [torch.div(a, b, rounding_mode=mode) for mode in ("floor", "trunc")]
        return (*whole, a // b, a % b, torch.fmod(a, b), a.floor(), a.ceil(), b // b)

    numbers = [0.0, 1e-45, 1e-40, 1.1e-38, 1.2e-38, 3e-38, 1e-8, 0.75, 3, 7.5, 65520, 1e30, 3e38]
    signed = torch.tensor([s * n for n in numbers for s in (1, -1)], device="cuda").to(dtype)
    a, b = (t.flatten() for t in torch.meshgrid(signed, signed, indexing="ij"))
    for ours, eager in zip(torch.compile(f, backend=compiler)(a, b), f(a, b), strict=True):
        torch.testing.assert_close(ours, eager, equal_nan=True)


def test_what_only_kernels_of_a_cpu_keep(compiler: Compiler) -> None:
    """Layouts, and copies of what does not move (2200431, 2200730)."""
    images = torch.randn(2, 4, 6, 10, device="cuda").contiguous(memory_format=torch.channels_last)
    places = torch.arange(60, device="cuda").expand(2, 4, 60).reshape(2, 4, 6, 10)
    places = places.contiguous(memory_format=torch.channels_last)

    def f(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        unpooled = torch.ops.aten.max_unpool2d(x, places, (12, 20))
        pixels = nn.functional.pixel_unshuffle(x, 2), nn.functional.pixel_shuffle(x, 2)
        nothing = nn.functional.pixel_unshuffle(y, 2)
        return unpooled, *pixels, nothing, torch.channel_shuffle(z, 2), torch.channel_shuffle(z, 1)

    args = images, torch.zeros(8, 0, 2, device="cuda"), torch.randn(8, 2, 7, device="cuda")
    for ours, eager in zip(torch.compile(f, backend=compiler)(*args), f(*args), strict=True):
        assert torch.equal(ours, eager)
        steps = zip(eager.shape, ours.stride(), eager.stride(), strict=True)
        assert ours.shape == eager.shape and all(a == b for n, a, b in steps if n != 1)
        assert (ours.data_ptr() == args[2].data_ptr()) == (eager.data_ptr() == args[2].data_ptr())
