"""Convolutions as a GPU's library runs them best: values and strides are those of before."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import fx, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

from harness.graph.capture.aot import normalise
from harness.graph.capture.libraries.convolutions import as_images, channels_last, without_biases

aten = torch.ops.aten


def traced(function: Any, *inputs: torch.Tensor) -> fx.GraphModule:
    made = make_fx(function, tracing_mode="fake")(*inputs)
    normalise(made)
    return made


def images(*shape: int) -> torch.Tensor:
    return torch.rand(shape).bfloat16()


def same(function: Any, *inputs: torch.Tensor) -> fx.GraphModule:
    """The graph after both passes: it computes what it computed, laid out as it was."""
    made = traced(function, *inputs)
    want = made(*inputs)
    without_biases(made)
    as_images(made)
    channels_last(made)
    made.recompile()
    got = made(*inputs)
    for a, b in zip(*(torch.utils._pytree.tree_leaves(x) for x in (want, got)), strict=True):
        assert a.stride() == b.stride()
        assert (a.float() - b.float()).abs().max() <= 0.02 * a.float().abs().max()
    for node in made.graph.nodes:  # what is written down is what runs
        assert node.op == "output" or "val" in node.meta
    return made


def layouts(made: fx.GraphModule, target: Any) -> set[bool]:
    """Whether the first operands of the calls of ``target`` lie channels last."""
    first = [n.args[0].meta["val"] for n in made.graph.nodes if n.target is target]
    return {x.is_contiguous(memory_format=torch.channels_last) for x in first}


def block(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
    y = torch.relu(functional.conv2d(x, v, b, padding=1))
    z = functional.conv2d(y, w, None, stride=2, padding=1)
    return y + 1, functional.max_pool2d(z, 2).flatten(1), z.mean((2, 3))


def test_what_follows_a_convolution_stays_channels_last() -> None:
    given = (images(2, 8, 8, 8), images(8, 8, 3, 3), images(16, 8, 3, 3), images(8))
    made = same(block, *given)
    assert layouts(made, aten.convolution.default) == {True}
    assert layouts(made, aten.relu.default) == {True}
    assert all(n.args[2] is None for n in made.graph.nodes if n.target is aten.convolution.default)
    # the image and two weights come in another layout, two of three results go out in another
    assert sum(n.target is aten.clone.default for n in made.graph.nodes) == 5


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int64])
def test_a_bias_of_another_type_is_left_for_the_library_to_reject(
    transposed: bool, dtype: torch.dtype
) -> None:
    def convolve(*operands: torch.Tensor) -> torch.Tensor:
        ones, zeros = [1, 1, 1], [0, 0, 0]
        return aten.convolution.default(*operands, ones, zeros, ones, transposed, zeros, 1)

    given = (torch.rand(2, 3, 6, 6, 6), torch.rand(3, 3, 3, 3, 3), torch.ones(3, dtype=dtype))
    made = traced(convolve, *given)
    without_biases(made)
    # Which library rejects it, in which words, depends on what torch was told before.
    (call,) = made.graph.find_nodes(op="call_function", target=aten.convolution.default)
    assert call.args[2] is not None


def test_only_small_weights_wait_for_their_use() -> None:
    """What is laid out first lives until it is used, and large copies share no launch."""

    def three(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor, u: torch.Tensor) -> Any:
        return functional.conv2d(functional.conv2d(functional.conv2d(x, v), w), u)

    given = (images(1, 8, 6, 6), images(128, 8, 3, 3), images(512, 128, 3, 3), images(2, 512, 2, 2))
    made = same(three, *given)
    calls = (aten.clone.default, aten.convolution.default)
    order = [n for n in made.graph.nodes if n.target in calls]
    copied = [n.meta["val"].numel() if n.target is aten.clone.default else 0 for n in order]
    x, v, w, u = (one.numel() for one in given)
    assert copied == [x, v, u, 0, w, 0, 0, 2]  # 0: a convolution; 2: the result, as it was


def test_gradients_too() -> None:
    def step(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        with torch.enable_grad():
            x, w, b = (one.detach().requires_grad_() for one in (x, w, b))
            y = functional.conv2d(x, w, b, padding=1)
            loss = functional.conv2d(torch.tanh(y), w, b).float().sum()
            return torch.autograd.grad(loss, (x, w, b))

    made = same(step, images(2, 8, 8, 8), images(8, 8, 3, 3), images(8))
    assert layouts(made, aten.convolution_backward.default) == {True}
    calls = [n for n in made.graph.nodes if n.target is aten.convolution_backward.default]
    assert [n.args[10][2] for n in calls] == [False, False]


@pytest.mark.parametrize("groups", [1, 4, 8])
def test_groups_transposes_and_views(groups: int) -> None:
    def function(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        y = functional.conv2d(x, w, None, padding=1, groups=groups)
        up = functional.conv_transpose2d(y, w.transpose(0, 1) if groups == 1 else w, groups=groups)
        flat = y.view(2, 8, 64).transpose(1, 2) + b
        return up, flat.view(2, 64, 8), y.view(2, 512).softmax(1), y.view(torch.int16) & 7

    same(function, images(2, 8, 8, 8), images(8, 8 // groups, 3, 3), images(8))


@pytest.mark.parametrize(("groups", "last"), [(1, True), (2, False), (8, True)])
def test_groups_that_are_trained_are_left_alone(groups: int, last: bool) -> None:
    def step(x: torch.Tensor, w: torch.Tensor) -> Any:
        with torch.enable_grad():
            x, w = (one.detach().requires_grad_() for one in (x, w))
            loss = functional.conv2d(x, w, padding=1, groups=groups).float().square().sum()
            return torch.autograd.grad(loss, (x, w))

    given = (images(2, 8, 8, 8), images(8, 8 // groups, 3, 3))
    made = same(step, *given)
    assert layouts(made, aten.convolution.default) == {last}
    assert layouts(made, aten.convolution_backward.default) == {last}
    forward = same(lambda x, w: functional.conv2d(x, w, padding=1, groups=groups), *given)
    assert layouts(forward, aten.convolution.default) == {True}


def test_memory_that_is_read_as_such_is_laid_out_as_before() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> Any:
        y = functional.conv2d(x, w)
        return torch.as_strided(y, (3, 5), (7, 2)), y

    made = same(function, images(2, 8, 8, 8), images(8, 8, 3, 3))
    assert layouts(made, aten.convolution.default) == {True}


def test_a_kernel_that_takes_memory_for_contiguous_is_given_it_so() -> None:
    """The gradient of a weight norm; on a GPU it was of other elements."""

    def function(given: torch.Tensor, x: torch.Tensor, w: torch.Tensor, g: torch.Tensor) -> Any:
        rest = [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, False]
        gradient = aten.convolution_backward(given, x, w, None, *rest)[1]
        return aten._weight_norm_interface_backward(gradient, w, g, g, 0)

    filters = images(8, 8, 3, 3).float()
    given = [images(2, 8, n, n).float() for n in (6, 8)]
    made = same(function, *given, filters, images(8, 1, 1, 1).float() + 1)
    (gradient,) = made.graph.find_nodes(
        op="call_function", target=aten._weight_norm_interface_backward.default
    )
    assert layouts(made, aten.convolution_backward.default) == {True}
    assert gradient.args[0].meta["val"].is_contiguous()


def test_a_result_with_gaps_leaves_the_graph_alone() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> Any:
        return functional.conv2d(x, w)[:, ::2]

    made = same(function, images(2, 8, 8, 8), images(8, 8, 3, 3))
    assert layouts(made, aten.convolution.default) == {False}


def test_other_types_and_ranks_are_left_alone() -> None:
    double = torch.float64
    given = [(torch.rand(2, 4, 6, 6, dtype=double), torch.rand(4, 4, 3, 3, dtype=double))]
    for x, w in (*given, (images(2, 4, 5, 5, 5), images(4, 4, 3, 3, 3))):
        made = same(lambda x, w: aten.convolution(x, w, None, *_rest(x)), x, w)
        assert sum(n.target is aten.clone.default for n in made.graph.nodes) == 0


def _rest(x: torch.Tensor) -> tuple[Any, ...]:
    rank = x.dim() - 2
    return [1] * rank, [0] * rank, [1] * rank, False, [0] * rank, 1


def test_rows_are_images_of_one_row() -> None:
    def step(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        with torch.enable_grad():
            x, w, b = (one.detach().requires_grad_() for one in (x, w, b))
            y = functional.gelu(functional.conv1d(x, w, b, stride=2, padding=1))
            up = functional.conv_transpose1d(y, w, stride=2, padding=1, output_padding=1)
            loss = up.float().square().sum()
            return y, torch.autograd.grad(loss, (x, w, b))

    made = same(step, images(2, 8, 12), images(8, 8, 3), images(8))
    assert layouts(made, aten.convolution.default) == {True}
    assert layouts(made, aten.convolution_backward.default) == {True}


@pytest.mark.parametrize(
    ("shape", "dtype", "others", "last"),
    [
        ((2, 1, 40), torch.bfloat16, True, True),
        ((2, 1, 40), torch.bfloat16, False, False),
        ((2, 1, 40), torch.float32, True, False),
        ((2, 1, 10, 10), torch.bfloat16, True, False),
    ],
)
def test_rows_of_one_channel_lie_as_their_neighbours(
    shape: tuple[int, ...], dtype: torch.dtype, others: bool, last: bool
) -> None:
    """A row of one channel lies both ways: nothing is copied, its strides say so."""

    def step(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> Any:
        with torch.enable_grad():
            x, v, w = (one.detach().requires_grad_() for one in (x, v, w))
            y = torch.tanh(convolve(x, v))
            loss = (convolve(y, w) if others else y).float().square().sum()
            return torch.autograd.grad(loss, (x, v, w) if others else (x, v))

    convolve = functional.conv1d if len(shape) == 3 else functional.conv2d
    given = [shape, (8, 1, *[3] * (len(shape) - 2)), (8, 8, *[3] * (len(shape) - 2))]
    made = same(step, *(torch.rand(one).to(dtype) for one in given))
    first = next(n for n in made.graph.nodes if n.target is aten.convolution.default)
    assert (first.meta["val"].stride(1) == 1) is last
    calls = made.graph.find_nodes(op="call_function", target=aten.convolution_backward.default)
    x, v = calls[-1].args[1:3]
    strides = [one.meta["val"].stride()[1] == 1 for one in (x, v)]
    assert strides == [last, last]
    copied = made.graph.find_nodes(op="call_function", target=aten.clone.default)
    assert not {x, v} & {node for one in copied for node in one.all_input_nodes}


def test_a_whole_network() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.SiLU(),
        nn.Conv2d(8, 8, 3, padding=1, groups=8),
        nn.GroupNorm(2, 8),
        nn.Upsample(scale_factor=2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    ).to(torch.bfloat16)
    model.eval()
    state = dict(model.state_dict())

    def run(x: torch.Tensor, *values: torch.Tensor) -> Any:
        return torch.func.functional_call(model, dict(zip(state, values, strict=True)), x)

    with torch.no_grad():
        same(run, images(2, 3, 8, 8), *state.values())
