"""The torch.compile backend on a CPU, through the interpreter, against eager."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import harness.backend
from harness.backend import Compiler, Devices, backend
from harness.errors import FallbackWarning, HarnessError

MAY_FALL_BACK = True


class Block(nn.Module):
    """A transformer block without attention weights of its own library call."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
        x = x + self.out(weights @ v)
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


def gradients(model: nn.Module, run: Any, x: torch.Tensor) -> list[torch.Tensor]:
    x = x.clone().requires_grad_()
    model.zero_grad()
    y = run(x)
    (y * torch.linspace(0.5, 1.5, y.numel()).view_as(y)).sum().backward()
    found = [p.grad for p in model.parameters()]
    assert x.grad is not None
    return [y.detach(), x.grad, *(g for g in found if g is not None)]


def test_transformer_block_forward_and_backward(compiler: Compiler) -> None:
    model = Block(16)
    x = torch.randn(2, 5, 16)
    wanted = gradients(model, model, x)
    got = gradients(model, torch.compile(model, backend=compiler), x)
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    forward, backward = compiler.reports
    assert forward.kernels and backward.kernels
    assert not forward.failures and not backward.failures
    assert forward.library_call_count >= 6
    assert all(op.startswith("aten.") for op, _, _ in forward.library_calls)
    assert "library calls" in str(forward)


def test_inference_with_buffers_changed_in_place(compiler: Compiler) -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.full((3,), 2.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total.add_(x.sum(0))
            return x * self.total

    model, twin = Counter(), Counter()
    run = torch.compile(model, backend=compiler)
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(4, 3)
            torch.testing.assert_close(run(x), twin(x))
    torch.testing.assert_close(model.total, twin.total)


def test_memory_is_taken_over_as_the_kernels_say(compiler: Compiler) -> None:
    """What fusing offers is an upper bound: planning may refuse a pair."""

    def f(x: torch.Tensor) -> torch.Tensor:
        e = torch.erf(x) * torch.sin(x)
        return torch.softmax(e, 0) * torch.softmax(e, 1) + e

    x = torch.randn(40, 64)
    torch.testing.assert_close(torch.compile(f, backend=compiler)(x), f(x))
    (graph,) = compiler.compiled
    pairs = [
        # (new buffer, old buffer whose memory it lives in)
        ({(n[1], n[0]) for n in launch.arguments if len(n) == 2}, set(launch.group.in_place))
        for launch in graph.launches
    ]
    assert any(taken for taken, _ in pairs)
    assert all(taken <= offered for taken, offered in pairs)


def test_lists_of_tensors_are_compiled(compiler: Compiler) -> None:
    parameters = [nn.Parameter(torch.randn(size)) for size in ((16, 8), (8,))]
    twins = [nn.Parameter(p.detach().clone()) for p in parameters]
    for ours, theirs in zip(parameters, twins, strict=True):
        ours.grad = torch.randn_like(ours)
        theirs.grad = ours.grad.clone()
    optimizer, twin = (torch.optim.AdamW(ps, 1e-2, foreach=True) for ps in (parameters, twins))
    step = torch.compile(optimizer.step, backend=compiler)
    for _ in range(2):
        step()
        twin.step()
    torch.testing.assert_close(parameters, twins)
    assert not any("_foreach" in op for r in compiler.reports for op, _, _ in r.library_calls)


def test_operator_without_lowering_is_a_counted_library_call(compiler: Compiler) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.matrix_exp(x.sin()).exp()

    x = torch.randn(4, 4)
    torch.testing.assert_close(torch.compile(f, backend=compiler)(x), f(x), rtol=1e-4, atol=1e-5)
    (report,) = compiler.reports
    assert any("matrix_exp" in op for op, _, _ in report.library_calls)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(HarnessError, match="does not know this option"):
        backend(torch.fx.symbolic_trace(lambda t: t.sin()), [torch.randn(8)], level=3)


@pytest.mark.skipif(
    "harness" not in {e.name for e in entry_points(group="torch_dynamo_backends")},
    reason="the distribution is not installed, so torch cannot know the backend's name",
)
def test_plain_name() -> None:
    torch.compiler.reset()
    x = torch.randn(8)
    run = torch.compile(lambda t: torch.sin(t) + 1, backend="harness")
    torch.testing.assert_close(run(x), torch.sin(x) + 1)


def test_a_cache_that_cannot_be_written_is_replaced_and_the_user_warned(
    compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file" / "cache"))
    compiler.devices = Devices()
    x = torch.randn(40)
    try:
        with pytest.warns(UserWarning, match="cannot be used .Not a directory."):
            got = torch.compile(lambda x: torch.sin(x) + 1, backend=compiler)(x)
    finally:
        compiler.close()
    torch.testing.assert_close(got, torch.sin(x) + 1)


def test_the_switch_turns_the_cache_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    with contextlib.closing(Devices()) as kept:
        assert kept._usable() == tmp_path / "cache"
    monkeypatch.setenv("HARNESS_NO_CACHE", "1")
    with contextlib.closing(Devices()) as off:
        folder = off._usable()
        assert folder != tmp_path / "cache" and folder.is_dir()
    assert not folder.exists()


@pytest.mark.parametrize("alpha", (0, 0.0, 1, 2))
def test_the_sign_of_zeros_from_which_a_multiple_is_subtracted(
    compiler: Compiler, alpha: float
) -> None:
    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.sub(x, y, alpha=alpha)

    x, y = torch.tensor([0.0, -0.0, 0.0, -0.0, 0.0]), torch.tensor([3.0, 3.0, 0.0, 0.0, -3.0])
    found = torch.compile(run, backend=compiler)(x, y)
    assert torch.equal(found, run(x, y))
    assert torch.equal(found.signbit(), run(x, y).signbit())


def test_a_default_device_is_for_the_users_tensors(compiler: Compiler) -> None:
    """Ours, such as those that the interpreter shares, lie where what they are for does."""
    x = torch.randn(4, 5, requires_grad=True)
    with torch.device("meta"):
        y = torch.compile(lambda x: torch.softmax(x, -1).square(), backend=compiler)(x)
        y.sum().backward()
    assert x.grad is not None
    assert y.device == x.grad.device == torch.device("cpu")
    torch.testing.assert_close(y, torch.softmax(x, -1).square())


def test_a_compiled_model_can_be_copied(compiler: Compiler) -> None:
    model = torch.nn.Linear(3, 2)
    copied = copy.deepcopy(torch.compile(model, backend=compiler))
    x = torch.randn(4, 3)
    torch.testing.assert_close(copied(x), model(x))


def test_powers_and_large_multiples_of_positions_wrap_at_64_bits(compiler: Compiler) -> None:
    """Moved elsewhere and multiplied out they would be numbers of more bits than a type has."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        at = torch.arange(5)
        return (at**100).flip(-1) + x, (at * (1 << 40) * at).flip(0) * x, (at**3).flip(0) - x

    x = torch.arange(5)
    for found, wanted in zip(
        torch.compile(function, backend=compiler)(x), function(x), strict=True
    ):
        assert torch.equal(found, wanted)


def test_any_and_all_of_no_dimensions_are_of_each_element(compiler: Compiler) -> None:
    """``()`` means all dimensions to every other reduction."""

    def function(x: torch.Tensor) -> list[torch.Tensor]:
        double = x * 2
        return [torch.any(double, ()), torch.all(x, (), keepdim=True).sum(), x.amax(())]

    for dtype in (torch.float32, torch.uint8):
        x = torch.tensor([[0, 1, 2], [3, 0, 0]], dtype=dtype)
        for found, wanted in zip(
            torch.compile(function, backend=compiler)(x), function(x), strict=True
        ):
            assert torch.equal(found, wanted) and found.dtype is wanted.dtype


def test_complex_numbers_that_are_none_are_replaced_by_the_library(compiler: Compiler) -> None:
    x = torch.tensor([1 + 2j, complex("nan+infj"), complex("-inf+nanj")])
    found = torch.compile(lambda x: torch.nan_to_num(x, 1.5), backend=compiler)(x)
    assert torch.equal(found, torch.nan_to_num(x, 1.5))
    assert [op for op, *_ in compiler.reports[0].library_calls] == ["aten.nan_to_num.default"]


def test_a_comparison_with_a_complex_number_is_a_library_call(compiler: Compiler) -> None:
    x = torch.tensor([1, 2, 3])
    found = torch.compile(lambda x: (x + 1 == 2 + 0j, x != 3j, x * 2), backend=compiler)(x)
    assert torch.equal(torch.stack(found), torch.stack((x == 1, x == x, x * 2)))
    (report,) = compiler.reports
    assert not report.failures and report.kernels
    assert {op for op, *_ in report.library_calls} == {"aten.eq.Scalar", "aten.ne.Scalar"}


def test_types_with_few_operators_are_given_to_no_others(compiler: Compiler) -> None:
    """Eager mode can roll uint16, but not index it, of which a roll is made elsewhere."""

    def function(x: torch.Tensor) -> list[torch.Tensor]:
        return [x.roll(1), x.view(2, 2).diagonal_scatter(x[:2]), torch.all(x), x.float() * 0.5]

    for dtype in (torch.uint16, torch.float8_e5m2fnuz):
        x = torch.tensor([1.0, 2.0, 0.0, 4.0]).to(dtype)
        run = function if dtype is torch.uint16 else lambda x: [x.roll(1), x.float() * 0.5]
        for found, wanted in zip(torch.compile(run, backend=compiler)(x), run(x), strict=True):
            assert torch.equal(found.float(), wanted.float()) and found.dtype is wanted.dtype


def test_what_lies_in_another_order_may_have_a_type_that_torch_promotes_to_none(
    compiler: Compiler,
) -> None:
    """Not even with a bool; torch ran the whole graph."""
    x = torch.arange(6).to(torch.uint16).view(2, 3).t()

    def function(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        return [x == 4, torch.where(x == 4, x, x), y * 2]

    given = (x, torch.randn(3, 2))
    for found, wanted in zip(
        torch.compile(function, backend=compiler)(*given), function(*given), strict=True
    ):
        assert found.stride() == wanted.stride() and torch.equal(found.float(), wanted.float())
    assert [report.eager for report in compiler.reports] == [""]


def test_infinities_that_only_16_bits_make_are_found(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.half()
        return y.nan_to_num(), y.isposinf(), y.isneginf(), y.isinf(), y.nan_to_num(2, 3, 4) * 2

    x = torch.tensor([1.0, 65519.0, 65520.0, -3e38, 65504.0, torch.nan, -torch.inf])
    for found, wanted in zip(
        torch.compile(function, backend=compiler)(x), function(x), strict=True
    ):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)


@pytest.mark.parametrize("enabled", [True, False])
def test_cycles_are_not_collected_while_a_step_is_compiled(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, enabled: bool
) -> None:
    seen: list[bool] = []
    compile_graph = harness.backend.compile_graph

    def watched(*given: Any) -> Any:
        seen.append(gc.isenabled())
        return compile_graph(*given)

    monkeypatch.setattr(harness.backend, "compile_graph", watched)
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        x = torch.randn(4, requires_grad=True)
        torch.compile(torch.sin, backend=compiler)(x).sum().backward()
        assert seen == [False, False]
        assert gc.isenabled() is enabled
        monkeypatch.setattr(harness.backend, "convert", None)  # which raises
        with pytest.warns(FallbackWarning):
            torch.compile(torch.cos, backend=compiler)(x)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_a_hook_on_a_value_of_a_graph_is_handed_on(compiler: Compiler) -> None:
    """For compiled autograd a graph is given where its hooks are, and returns it."""

    def function(x: torch.Tensor, hook: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        y = x * 2
        y.register_hook(hook)
        return y.sin() * 3

    def gradient(run: Callable[..., torch.Tensor]) -> torch.Tensor | None:
        x = torch.linspace(-1, 1, 4, requires_grad=True)
        run(x, lambda grad: grad * 5).sum().backward()
        return x.grad

    with torch._dynamo.compiled_autograd._enable(torch.compile(backend=compiler)):
        found = gradient(torch.compile(function, backend=compiler))
    torch.testing.assert_close(found, gradient(function))
    assert not compiler.eager
    assert len(compiler.compiled) == 2


def test_a_threshold_of_integers_is_a_whole_number(compiler: Compiler) -> None:
    """Torch's rule goes by way of float32, which has no 16777217, and calls -0.5 no 0."""
    x = torch.tensor([16777217, 2**63 - 1, -(2**63), 0, 1, -1])
    for at, value in ((0.5, -2.0), (-0.5, 7.9)):
        run = functools.partial(torch.nn.functional.threshold, threshold=at, value=value)
        assert torch.compile(run, backend=compiler)(x).tolist() == run(x).tolist()
    assert not compiler.eager
