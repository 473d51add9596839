"""Types of results as in eager mode, where fake tensors have others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.graph.capture import strides


@pytest.fixture
def compiler(devices: Devices) -> Iterator[Compiler]:
    torch.manual_seed(0)
    yield Compiler(devices=devices)
    torch.compiler.reset()


FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.mark.parametrize("dtypes", list(itertools.permutations(FLOATS, 2)), ids=str)
def test_losses_of_two_types_are_of_eager_mode_s(compiler: Compiler, dtypes: Any) -> None:
    """Fake tensors have another type; what stays whole was read as that."""
    x = torch.randn(4, 6).to(dtypes[0]).requires_grad_()
    y = torch.rand(4, 6).round().to(dtypes[1])

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        many = F.soft_margin_loss(x, y, reduction="none")
        scaled = F.binary_cross_entropy_with_logits(x, y, pos_weight=y[0] + 1)
        return F.soft_margin_loss(x, y) * 2, many + 1, scaled, F.smooth_l1_loss(x, y)

    assert differences(function, [x, y], compiler) == []
    assert differences(F.huber_loss, [x.detach(), y], compiler) == []
    assert [text for report in compiler.reports for text in report.failures] == []


def test_a_library_call_of_another_type_than_recorded_is_brought_into_it(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line of defence: kernels read memory as the type they were compiled for."""
    monkeypatch.setitem(strides._WAYS, "soft_margin_loss", lambda *_: NotImplemented)
    x, y = torch.randn(8, 16, dtype=torch.bfloat16), torch.randn(8, 16)
    found = torch.compile(lambda x, y: F.soft_margin_loss(x, y) * 2, backend=compiler)(x, y)
    torch.testing.assert_close(found.bfloat16(), F.soft_margin_loss(x, y) * 2)


_PLACES = torch.tensor([0, 2, 2])
REFUSED = {
    "cross_entropy": lambda x, y: F.cross_entropy(x, y[:, 0].int() % 3),
    "cross_entropy of images": lambda x, y: F.cross_entropy(x.T[None], y[None, :, 0].int() % 3),
    "binary_cross_entropy": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
    "heaviside": lambda x, y: torch.heaviside(x.detach(), y),
    "cross": torch.linalg.cross,
    "cdist": torch.cdist,
    "grid_sample": lambda x, y: F.grid_sample(
        x[None, None], y[None, None, :, :2], align_corners=True
    ),
    "huber_loss": F.huber_loss,
    "index_put": lambda x, y: torch.index_put(x, [_PLACES], y[:3]),
    "index_put of a mask": lambda x, y: torch.index_put(x, [x > 0], y[0, 0], accumulate=True),
    "index_put added up": lambda x, y: torch.index_put(x, [_PLACES], y[:3], accumulate=True),
    "put": lambda x, y: torch.put(x, _PLACES, y[:, 0][:3]),
    "index_add": lambda x, y: torch.index_add(x, 0, _PLACES, y[:3]),
    "index_reduce": lambda x, y: torch.index_reduce(x.detach(), 0, _PLACES, y[:3], "amax"),
    "layer_norm": lambda x, y: F.layer_norm(x, (3,), y[0], y[1]),
    "group_norm": lambda x, y: F.group_norm(x[None].mT, 3, y[0], y[1]),
    "batch_norm": lambda x, y: F.batch_norm(x, y[0], y[1], y[2], y[3]),
    "batch_norm in training": lambda x, y: F.batch_norm(x, y[0] + 1, y[1] + 1, training=True),
}


@pytest.mark.parametrize("name", REFUSED)
def test_types_that_eager_mode_refuses_are_refused_in_its_words(
    compiler: Compiler, name: str
) -> None:
    x, y = torch.randn(4, 3, requires_grad=True), torch.rand(4, 3, dtype=torch.float64)
    compiled = torch.compile(REFUSED[name], backend=compiler)
    said = []
    for function in (REFUSED[name], compiled):
        with pytest.raises(RuntimeError) as caught:
            function(x, y).sum().backward()
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert not any(report.fallbacks for report in compiler.reports)


REFUSED_INTEGERS = {
    "huber_loss": F.huber_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "soft_margin_loss": F.soft_margin_loss,
    "binary_cross_entropy": lambda x, y: F.binary_cross_entropy(x.clamp(0, 1), y.clamp(0, 1)),
    "lerp": lambda x, y: torch.lerp(x, y, 0.5),
    "softmax": lambda x, _: torch.softmax(x, 0),
    "logsigmoid": lambda x, _: F.logsigmoid(x),
    "logaddexp": torch.logaddexp,
    "silu": lambda x, _: F.silu(x),
    "adaptive_avg_pool2d": lambda x, _: F.adaptive_avg_pool2d(x[None], 2),
    "batch_norm": lambda x, y: F.batch_norm(x, y[0], y[1]),
}


@pytest.mark.parametrize("name", REFUSED_INTEGERS)
def test_integers_that_eager_mode_refuses_are_refused_in_its_words(
    compiler: Compiler, name: str
) -> None:
    """And floats are computed by kernels."""
    x, y = torch.arange(12).view(4, 3), torch.arange(12).view(4, 3) % 5
    function = REFUSED_INTEGERS[name]
    said = []
    for one in (function, torch.compile(function, backend=compiler)):
        with pytest.raises((RuntimeError, NotImplementedError)) as caught:
            one(x, y)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert not any(report.fallbacks for report in compiler.reports)
    assert differences(function, [x / 12, y / 12], compiler) == []
    assert not compiler.reports[-1].library_calls


ELEMENTWISE = {
    "abs": (lambda m, i, x: m.abs(), lambda m, i, x: i.abs()),
    "floor": (lambda m, i, x: m.floor(), lambda m, i, x: i.floor()),
    "remainder": (lambda m, i, x: torch.remainder(m, m), lambda m, i, x: torch.remainder(i, 3)),
    "fmod": (lambda m, i, x: torch.fmod(m, m), lambda m, i, x: torch.fmod(i, 3)),
    "a mask subtracted": (lambda m, i, x: x - m, lambda m, i, x: x - i),
    "lcm": (lambda m, i, x: torch.lcm(x, x), lambda m, i, x: torch.lcm(i, i)),
    "gcd": (lambda m, i, x: torch.gcd(x, x), lambda m, i, x: torch.gcd(i, i)),
    "nextafter": (lambda m, i, x: torch.nextafter(i, i), lambda m, i, x: torch.nextafter(x, x)),
    "igamma": (lambda m, i, x: torch.igamma(i, i), lambda m, i, x: torch.igamma(x, x)),
    "hypot": (lambda m, i, x: torch.hypot(i, i), lambda m, i, x: torch.hypot(x, x)),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_operators_refuse_what_eager_mode_refuses(
    compiler: Compiler, name: str
) -> None:
    """And types that it takes are computed by kernels."""
    refused, taken = ELEMENTWISE[name]
    values = torch.arange(6) > 2, torch.arange(6), torch.rand(6)
    said = []
    for one in (refused, torch.compile(refused, backend=compiler)):
        with pytest.raises((RuntimeError, NotImplementedError)) as caught:
            one(*values)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert not any(report.fallbacks for report in compiler.reports)
    assert differences(taken, values, compiler) == []
    assert not compiler.reports[-1].library_calls


def test_one_number_of_another_type_is_written_where_a_mask_is_true(compiler: Compiler) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.index_put(x, [x > 0], y[0, 0])

    x, y = torch.randn(4, 3), torch.rand(4, 3, dtype=torch.float64)
    assert differences(function, [x, y], compiler) == []
    assert not compiler.reports[-1].library_calls


def test_norms_of_16_bits_take_parameters_of_float32(compiler: Compiler) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        return F.layer_norm(x, (3,), y[0], y[1]), F.batch_norm(x, y[0], y[1], y[2], y[3])

    x, y = torch.randn(4, 3, dtype=torch.bfloat16), torch.rand(4, 3)
    assert differences(function, [x, y], compiler) == []
    assert not compiler.reports[-1].library_calls


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int32], ids=str)
def test_an_expanded_operand_of_another_type_lies_in_order(
    compiler: Compiler, dtype: torch.dtype
) -> None:
    """As eager mode on a CPU copies it before it looks at strides; what is chosen by is not."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        wide, loss = x.expand(y.shape), F.mse_loss(x, y, reduction="none")
        chosen = torch.where((y[:1] > 0).expand(y.shape), y, 2.0)
        return wide + y, torch.maximum(wide, y), y == wide, loss.view(-1)[::2].neg(), chosen

    x, y = torch.arange(7)[:, None].to(dtype), torch.randn(3, 7).t()
    assert differences(function, [x, y], compiler) == []
    assert not any(report.eager for report in compiler.reports)


def test_an_expanded_operand_of_bools_lies_in_order_but_what_is_chosen_by(
    compiler: Compiler,
) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        made = (x * y, x == y, torch.logical_and(x, y), torch.atan2(x, y), y * x, x & (y > 0))
        return *made, torch.where(x, y, 2.0), torch.where(x, y.double(), y)

    y = torch.randn(3, 7).t()
    for x in (torch.arange(3)[None] > 1, torch.arange(7)[:, None] > 1, torch.tensor(True)):
        assert differences(function, [x.expand(y.shape), y], compiler) == []
