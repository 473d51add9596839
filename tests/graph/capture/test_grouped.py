"""Convolutions over groups as products: values and strides are those of before."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import pytest
import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

from harness.backend import Compiler, Devices
from harness.graph import own_operators
from harness.graph.capture.aot import fake_mode, normalise
from harness.graph.capture.libraries import convolutions
from harness.graph.capture.libraries.convolutions import over_groups, without_biases

aten = torch.ops.aten
MADE = {torch.ops.harness.windows_mm.default}
LEFT = {aten.convolution.default, aten.convolution_backward.default}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything gains that the rewriting is right for."""
    monkeypatch.setattr(convolutions, "_CHANNELS", range(1, 1 << 20))
    monkeypatch.setattr(convolutions, "_ROWS", 1 << 20)
    for name in ("_TAPS", "_OPERATIONS"):
        monkeypatch.setattr(convolutions, name, 1)


def rows(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.randn(shape).to(dtype)


def rewritten(function: Any, *inputs: torch.Tensor) -> fx.GraphModule:
    made = make_fx(function, tracing_mode="fake")(*inputs)
    normalise(made)
    without_biases(made)
    over_groups(made)
    made.graph.lint()
    made.recompile()
    return made


def targets(made: fx.GraphModule) -> set[Any]:
    return {node.target for node in made.graph.nodes} & (MADE | LEFT)


def trained(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, **options: Any) -> Any:
    """The result, and the gradients of everything."""
    with torch.enable_grad():
        given = tuple(one.detach().requires_grad_() for one in (x, w, b))
        y = functional.conv1d(*given, **options)
        weights = torch.linspace(0, 1, y.shape[-1], dtype=y.dtype, device=y.device)
        return y, torch.autograd.grad((y * weights).sum(), given)


def test_a_bias_of_another_type_is_not_dropped() -> None:
    def convolve(*operands: torch.Tensor) -> Any:
        return torch.ops.aten.convolution.default(*operands, [1], [2], [1], False, [0], 2)

    given = rows(2, 32, 13), rows(32, 16, 5)
    assert targets(rewritten(convolve, *given, rows(32))) == MADE
    assert targets(rewritten(convolve, *given, torch.ones(32))) == {aten.convolution.default}


SIZES = {
    "as HuBERT's": (2, 13, 32, 32, 4, 8, 4),
    "one row": (1, 9, 16, 16, 2, 3, 1),
    "no margin": (3, 11, 16, 32, 2, 4, 0),
    "more results": (2, 7, 16, 48, 2, 5, 2),
    "fewer results": (2, 7, 48, 16, 2, 5, 2),
    "all margin": (2, 7, 16, 16, 2, 5, 4),
    "one place": (2, 5, 16, 16, 2, 5, 0),
    "one tap": (2, 5, 16, 16, 2, 1, 0),
}


@pytest.mark.parametrize(
    ("at_once", "dtype"), [(1, torch.bfloat16), (1 << 10, torch.bfloat16), (1 << 26, torch.float16)]
)
@pytest.mark.parametrize("name", SIZES)
def test_results_and_gradients(
    name: str, at_once: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one rounding, as torch computes them in float64, and in torch's strides."""
    monkeypatch.setattr(own_operators, "_WINDOWS", at_once)
    n, length, inner, outer, groups, taps, margin = SIZES[name]
    x = rows(n, length, inner, dtype=dtype)
    given = [x.transpose(1, 2), rows(outer, inner // groups, taps, dtype=dtype)]
    given.append(rows(outer, dtype=dtype))
    step = functools.partial(trained, groups=groups, padding=margin)
    made = rewritten(step, *given)
    assert targets(made) == MADE
    for node in made.graph.nodes:
        assert node.op == "output" or "val" in node.meta
    flat = torch.utils._pytree.tree_leaves
    found, laid = (flat(f(*given)) for f in (made, step))
    wide = flat(step(*(one.double() for one in given)))
    for a, b, c in zip(found, laid, wide, strict=True):
        assert a.stride() == b.stride() and a.dtype == b.dtype
        largest = float(c.detach().abs().max())
        torch.testing.assert_close(a.double(), c, rtol=2e-2, atol=1e-2 * largest)


@pytest.mark.parametrize(
    ("options", "channels", "dtype"),
    [
        ({"groups": 1}, 16, torch.bfloat16),
        ({"groups": 2, "stride": 2}, 16, torch.bfloat16),
        ({"groups": 2, "dilation": 2}, 16, torch.bfloat16),
        ({"groups": 2, "padding": 3}, 16, torch.bfloat16),
        ({"groups": 4}, 16, torch.bfloat16),
        ({"groups": 2}, 16, torch.float32),
    ],
)
def test_others_are_left_to_the_library(
    options: dict[str, Any], channels: int, dtype: torch.dtype
) -> None:
    """Groups of four channels do not begin at 16 bytes; margins as wide as filters see nothing."""
    w = rows(channels, channels // options["groups"], 3, dtype=dtype)
    step = functools.partial(trained, **options)
    given = (rows(2, 12, channels, dtype=dtype).transpose(1, 2), w, rows(channels, dtype=dtype))
    assert targets(rewritten(step, *given)) == LEFT


def test_other_ranks_and_transposes_are_left_to_the_library() -> None:
    def step(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> Any:
        return functional.conv_transpose1d(x, v, groups=2), functional.conv2d(
            x.unflatten(2, (3, 4)), w, groups=2
        )

    given = rows(2, 16, 12), rows(16, 8, 3), rows(16, 8, 3, 3)
    assert targets(rewritten(step, *given)) == {aten.convolution.default}


@pytest.mark.parametrize(
    ("shape", "groups", "taps", "gains"),
    [
        (
            (8, 768, 74),
            16,
            128,
            MADE | {aten.convolution_backward.default},
        ),  # HuBERT base, a second and a half: forward alone
        ((1, 768, 499), 16, 128, MADE),  # ten seconds of one voice
        ((1, 1024, 499), 16, 128, LEFT),  # wav2vec 2.0 large: groups of 64 channels
        ((1, 768, 24), 16, 128, LEFT),  # half a second: the library takes as long as launches
        ((8, 768, 74), 16, 19, LEFT),  # data2vec
        ((8, 768, 74), 96, 128, LEFT),  # 8 channels
    ],
)
def test_what_gains(
    shape: tuple[int, ...], groups: int, taps: int, gains: set[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    with fake_mode():
        x, w = rows(*shape), rows(shape[1], shape[1] // groups, taps)
        step = functools.partial(trained, groups=groups, padding=taps // 2)
        made = rewritten(step, x, w, rows(shape[1]))
    assert targets(made) == gains


def test_windows_are_gone_before_there_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """HuBERT's are 118 MB, here in four parts."""
    monkeypatch.setattr(own_operators, "_WINDOWS", 32 << 20)
    seen: list[torch.Size] = []
    alive: weakref.WeakSet[torch.Tensor] = weakref.WeakSet()
    bmm, windows = torch.bmm, own_operators._windows

    def multiplied(a: torch.Tensor, b: torch.Tensor, **given: torch.Tensor) -> torch.Tensor:
        seen.append(a.shape)
        return bmm(a, b, **given)

    def copied(given: torch.Tensor, taps: int) -> torch.Tensor:
        assert not alive
        alive.add(made := windows(given, taps))
        return made

    monkeypatch.setattr(torch, "bmm", multiplied)
    monkeypatch.setattr(own_operators, "_windows", copied)
    with torch.device("meta"):
        made = own_operators.windows_mm(
            rows(16, 8, 202, 48), rows(16, 48, 128 * 48), 128, turned=False
        )
    assert seen == [(4, 600, 6144)] * 4 and made.shape == (16, 600, 48)


class Positions(torch.nn.Module):
    """HuBERT's positional convolution: filters of a norm that is trained too."""

    def __init__(self, channels: int, taps: int, groups: int) -> None:
        super().__init__()
        conv = torch.nn.Conv1d(channels, channels, taps, padding=taps // 2, groups=groups)
        self.conv = torch.nn.utils.parametrizations.weight_norm(conv, dim=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x.transpose(1, 2))[:, :, :-1]
        return x + functional.gelu(y).transpose(1, 2)


def test_a_training_step(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows are the library call's own: neither kept for the gradients nor in the graph."""
    monkeypatch.setattr(Devices, "is_gpu", lambda *_: True)
    torch.manual_seed(0)
    model = Positions(32, 8, 4).bfloat16()
    x = rows(2, 9, 32).requires_grad_()
    given = [x, *model.parameters()]
    made = torch.compile(model, backend=compiler)(x)
    found = [made, *torch.autograd.grad(made.float().square().sum(), given)]
    wide = Positions(32, 8, 4).double()
    wide.load_state_dict(model.state_dict())
    wanted = wide(x.double())
    wants = [x, *wide.parameters()]
    exact = [wanted, *torch.autograd.grad(wanted.square().sum(), wants)]
    for a, b in zip(found, exact, strict=True):
        largest = float(b.detach().abs().max())
        torch.testing.assert_close(a.double(), b.double(), rtol=3e-2, atol=2e-2 * largest)
    calls = [{name: n for name, n, _ in report.library_calls} for report in compiler.reports]
    assert [names["harness.windows_mm.default"] for names in calls] == [1, 2]
    assert not [name for names in calls for name in names if "convolution" in name]
