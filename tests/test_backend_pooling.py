"""Pooling and modes through torch.compile in the interpreter, against eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from harness.conformance.compare import differences
from tests.test_backend_scatter import _generated


def _gradients(function: Callable[..., torch.Tensor], x: torch.Tensor) -> Any:
    leaf = x.detach().requires_grad_()
    made = function(leaf)
    weights = torch.arange(made.numel()).reshape(made.shape).to(made.dtype) % 7
    return made.detach(), torch.autograd.grad((made * weights).sum(), leaf)[0]


@pytest.mark.parametrize("size", [(7, 5), (4, 6), (1, 9), (8, 10)], ids=str)
def test_adaptive_means_and_their_gradients(compiler: Any, size: tuple[int, int]) -> None:
    x = torch.randn(2, 3, 8, 10)

    def run(x: torch.Tensor) -> torch.Tensor:
        return functional.adaptive_avg_pool2d(x, size) * 2

    wanted = _gradients(run, x)
    torch.compiler.reset()
    torch.testing.assert_close(
        _gradients(torch.compile(run, backend=compiler, dynamic=False), x), wanted
    )
    assert not any(report.library_calls for report in compiler.reports[-2:])


def test_means_of_equal_tiles_among_unknown_sizes(compiler: Any) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return functional.adaptive_avg_pool2d(torch.cat([x, x + 1, x], 2), x.shape[2:]) * 2

    compiled = torch.compile(run, backend=compiler, dynamic=True)
    for size in (7, 4):
        x = torch.randn(2, 3, size, 10, dtype=torch.float64)
        torch.testing.assert_close(compiled(x), run(x))
    assert not any(report.library_calls for report in compiler.reports)


def test_windows_of_other_sizes(compiler: Any) -> None:
    x = torch.randn(2, 3, 5, 8, 7)
    x[0, 1, 2, 3:6, 2] = torch.nan
    x[1, 1, 3, :, :] = -torch.inf
    x[1, 2] = 1.5

    def run(x: torch.Tensor) -> Any:
        plane = x[:, :, 2]
        return (
            *functional.adaptive_max_pool2d(plane, (3, 5), return_indices=True),
            *functional.adaptive_max_pool2d(plane, (4, 7), return_indices=True),
            *functional.adaptive_max_pool3d(x, (2, 3, 7), return_indices=True),
            functional.adaptive_avg_pool3d(x, (3, 4, 2)),
            functional.avg_pool2d(plane, 3, 2, 1, ceil_mode=True),
            functional.avg_pool3d(x, (2, 3, 2), 2, (1, 1, 0), ceil_mode=True),
            *functional.max_pool3d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
        )

    _generated(compiler, run, x)


def test_gradients_go_to_the_largest(compiler: Any) -> None:
    x = torch.randn(2, 3, 8, 7)

    def run(x: torch.Tensor) -> torch.Tensor:
        return functional.adaptive_max_pool2d(x, (3, 4)).sin()

    wanted = _gradients(run, x)
    torch.compiler.reset()
    torch.testing.assert_close(
        _gradients(torch.compile(run, backend=compiler, dynamic=False), x), wanted
    )


def test_a_batch_without_images_has_a_gradient(compiler: Any) -> None:
    x = torch.zeros(0, 2, 33, 7, requires_grad=True)
    torch.compile(lambda x: functional.adaptive_max_pool2d(x, 5), backend=compiler)(
        x
    ).sum().backward()
    assert x.grad is not None and x.grad.shape == x.shape
    assert not compiler.reports[-1].eager


def test_the_largest_of_a_window_alone_takes_one_comparison_an_element(compiler: Any) -> None:
    x = torch.randn(2, 3, 9, 11)
    x[0, 1, 4, 5], x[1, 2] = torch.nan, -torch.inf
    _generated(compiler, lambda x: functional.max_pool2d(x, 3, 2, 1), x)
    (kernel,) = compiler.compiled[-1].kernels
    assert kernel.source.text.count("tl.maximum(") == 8
    assert "tl.where(" not in kernel.source.text
    assert kernel.source.plan.facts.strided == 9


@pytest.mark.parametrize(("rank", "side", "kept"), [(2, 8, "i16"), (3, 6, "i16"), (2, 256, "i32")])
def test_of_maxima_their_places_are_kept_in_few_bits(
    compiler: Any, rank: int, side: int, kept: str
) -> None:
    x = torch.randn(1, 2, *[side] * rank)
    pool = functional.max_pool2d if rank == 2 else functional.max_pool3d

    def run(x: torch.Tensor) -> torch.Tensor:
        return pool(x * 2, 3, 2 if side < 256 else 64, 1).sin()

    wanted = _gradients(run, x)
    torch.compiler.reset()
    torch.testing.assert_close(
        _gradients(torch.compile(run, backend=compiler, dynamic=False), x), wanted
    )
    forward, backward = (made.partition.graph for made in compiler.compiled[-2:])
    saved = {forward.types()[name].dtype.value for name in forward.outputs}
    assert kept in saved and "i64" not in saved
    assert all(x.shape != forward.types()[name].shape for name in forward.outputs)
    assert kept in {item.type.dtype.value for item in backward.inputs}


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_images_with_their_channels_last_are_padded_as_such(
    compiler: Any, mode: str, rank: int
) -> None:
    last = torch.channels_last if rank == 2 else torch.channels_last_3d
    x = torch.randn(2, 3, *(4, 5, 6)[:rank]).to(memory_format=last).requires_grad_()
    pad = (2, 1, 0, 3, 1, 1)[: 2 * rank]
    assert not differences(lambda x: functional.pad(x * 2, pad, mode=mode).exp(), (x,), compiler)


_PADDED = "replication_pad2d_backward"


class _Summed(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x.sum(1)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return torch.zeros_like(x) + gradient[:, None]


@pytest.mark.parametrize("last", [False, True], ids=["contiguous", "channels_last"])
@pytest.mark.parametrize(
    ("run", "library"),
    [
        (lambda x: functional.avg_pool2d(x, 2), []),
        (lambda x: functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True), ["avg_pool2d_backward"]),
        (lambda x: functional.adaptive_avg_pool2d(x, (4, 5)), []),
        (lambda x: functional.pad(x[0], (1, 2, 1, 0), mode="replicate"), [_PADDED]),
        (lambda x: functional.conv2d(x, torch.ones(4, 3, 3, 3)), ["convolution_backward"]),
        (lambda x: _Summed.apply(x.cumsum(1)), []),
    ],
)  # fmt: skip
def test_what_a_gradient_reads_the_sizes_of_is_not_kept(
    compiler: Any, run: Callable[..., torch.Tensor], library: list[str], last: bool
) -> None:
    x = torch.randn(2, 3, 8, 10)
    x = x.to(memory_format=torch.channels_last) if last else x

    def whole(x: torch.Tensor) -> torch.Tensor:
        return run(x * 2) * 3

    wanted = _gradients(whole, x)
    torch.compiler.reset()
    found = _gradients(torch.compile(whole, backend=compiler, dynamic=False), x)
    torch.testing.assert_close(found, wanted)
    assert found[1].stride() == wanted[1].stride()
    forward, backward = (made.partition for made in compiler.compiled[-2:])
    kept = [forward.graph.types()[name] for name in forward.graph.outputs]
    assert x.shape not in {kind.shape for kind in kept if kind.shape != found[0].shape}
    assert [call.node.packet for call in backward.library_calls] == library


@pytest.mark.parametrize(
    ("run", "loads"),
    [
        (lambda x: functional.max_pool2d(x, 3, 2, 1), (9, 6)),
        (lambda x: functional.max_pool2d(x, (5, 4), 2, (0, 1)), (20, 15)),
        (lambda x: functional.max_pool2d(x, 2), (4, 2)),
        (lambda x: functional.avg_pool2d(x, 3, 2, 1).relu(), (9, 6)),
        (lambda x: functional.avg_pool2d(x, 3, 2, 1, False, False) * x[:, :, ::2, ::2], (9, 6)),
        (lambda x: functional.max_pool1d(x[0], 4, 4) + 1, (4, 2)),
        (lambda x: functional.max_pool2d(x - 5, 3, 2, 1), (9, 6)),
        (lambda x: functional.max_pool2d(x.relu(), 2), (4, 2)),
        (lambda x: functional.avg_pool2d(x.relu() + x[:, :, :1, :1], 3, 2, 1), (10, 7)),
        (lambda x: functional.avg_pool2d(x.tanh(), 2), (4, 2)),
        (lambda x: x[..., 1::4] + x[..., ::4] * x[..., 3::4].abs() - x[..., 2::4], (4, 2)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("width", [16, 48])
def test_windows_are_read_as_vectors(
    compiler: Any, run: Callable[..., Any], loads: tuple[int, int], width: int
) -> None:
    for dtype, count in zip((torch.float32, torch.bfloat16), loads, strict=True):
        x = torch.randn(2, 3, 11, width).to(dtype)
        x[0, 1, 4, 5], x[1, 2] = torch.nan, -torch.inf
        _generated(compiler, run, x)
        (kernel,) = compiler.compiled[-1].kernels
        assert kernel.source.plan.runs and kernel.source.text.count("tl.load(") == count


def test_places_are_of_values_as_they_are_stored(compiler: Any) -> None:
    def run(x: torch.Tensor) -> Any:
        return functional.max_pool2d(x * 1.3 + 50, 3, 2, 1, return_indices=True)

    _generated(compiler, run, torch.randn(2, 3, 9, 11).bfloat16())
    assert len(compiler.compiled[-1].kernels) == 1


def test_what_data_tell_the_place_of_is_not_read_outside_of_images(compiler: Any) -> None:
    def run(table: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return functional.max_pool2d(table[places + 5] * 2, 2, 2, 1)

    _generated(compiler, run, torch.randn(5), torch.randint(-5, 0, (1, 2, 8, 8)))
    assert len(compiler.compiled[-1].kernels) == 1


def test_nothing_is_divided_outside_of_images(compiler: Any) -> None:
    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.max_pool2d((x // y).float(), 3, 2, 1)

    _generated(compiler, run, *(torch.randint(1, 9, (1, 2, 8, 8)) for _ in "xy"))


def test_a_window_of_which_a_kernel_makes_more_is_not_stored(compiler: Any) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        largest = functional.max_pool2d(x, (5, 4), 2, (0, 1))
        return largest.sin() * largest.cos()

    _generated(compiler, run, torch.randn(2, 3, 11, 16))
    (kernel,) = compiler.compiled[-1].kernels
    assert kernel.source.plan.runs and kernel.source.plan.internal


@pytest.mark.parametrize(
    ("run", "shape"),
    [
        (lambda x: functional.max_pool2d(x, 3, 2, 1), (2, 3, 8, 10)),  # rows of 5 points
        (lambda x: functional.max_pool2d(x.relu() + 1, 3, 2, 1), (2, 3, 8, 16)),
        (lambda x: functional.max_pool2d(x, 3, 2, 1).mT.contiguous(), (2, 3, 16, 16)),
        (lambda x: functional.max_pool2d(x, 3, 2, 1) > 0, (2, 3, 8, 16)),
        (lambda x: functional.max_pool2d(x, 3, 2, 1, return_indices=True), (2, 3, 8, 16)),
        (lambda x: functional.max_pool2d(x[..., 1:], 3, 2, 1), (2, 3, 8, 17)),
    ],
)
def test_windows_that_no_vectors_come_of(
    compiler: Any, run: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    _generated(compiler, run, torch.randn(shape))


def test_windows_of_windows_of_one_row_are_read_as_vectors(compiler: Any) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return functional.avg_pool2d(functional.max_pool2d(x, 3, 1, 1), 2)

    _generated(compiler, run, torch.randn(1, 16, 2, 16).half())


def test_a_gradient_of_maxima_takes_strides_that_vary(compiler: Any) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return functional.max_pool1d(x, 2, 1)

    narrow, wide = (torch.randn(8, 8, n)[..., 0] for n in (2, 3))
    compiled = torch.compile(run, backend=compiler)
    for x in (narrow, wide, narrow):
        leaf = x.detach().requires_grad_()
        torch.testing.assert_close(
            torch.autograd.grad(compiled(leaf).sum(), leaf),
            torch.autograd.grad(run(leaf).sum(), leaf),
        )
    assert not any(report.failures for report in compiler.reports)
