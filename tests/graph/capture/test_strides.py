"""Strides of elementwise results, against eager mode."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._functorch import partitioners
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences, torchs_own
from harness.graph.capture.decompositions import decompositions
from harness.graph.capture.strides import elementwise_strides, follow_eager


def _operand(rng: random.Random, shape: list[int]) -> torch.Tensor:
    """Anything that broadcasts to ``shape``, its dimensions in any order in memory."""
    sizes = [rng.choice((n, n, n, 1)) for n in shape][rng.choice((0, 0, 0, 1)) :]
    order = rng.sample(range(len(sizes)), len(sizes))
    made = torch.empty([sizes[n] for n in order])
    made = made.permute([order.index(n) for n in range(len(sizes))])
    # A dimension of one element may have any stride.
    steps = zip(made.shape, made.stride(), strict=True)
    return made.as_strided(made.shape, [s if n > 1 else rng.choice((s, s, 1, 7)) for n, s in steps])


@pytest.mark.parametrize("operands", [1, 2, 3])
def test_the_rule_is_eager_modes(operands: int) -> None:
    rng = random.Random(operands)
    function: Callable[..., Any] = (torch.neg, torch.logical_and, torch.addcmul)[operands - 1]
    for _ in range(400):
        shape = [rng.choice((1, 2, 3, 4)) for _ in range(rng.choice((1, 2, 3, 4)))]
        given = [_operand(rng, shape) for _ in range(operands)]
        made = function(*given)
        found = elementwise_strides(made.shape, [(t.shape, t.stride()) for t in given])
        assert found == made.stride()


_ALONE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": lambda x: x + 2,
    "less": lambda x: x < 2,
    "remainder": lambda x: torch.remainder(3, x),
    "power": lambda x: x**2,
    "root": lambda x: x.abs().sqrt(),
    "copy": lambda x: x.clone(),
    "type": lambda x: x.double(),
    "turned": lambda x: x.flip(*range(x.dim())),
    "full": lambda x: torch.full_like(x, 2),
    "sorted": lambda x: x.sort(dim=-1, stable=True)[0],
    "places": lambda x: x.sort(dim=0, stable=True)[1],
    "put": lambda x: torch.ops.aten.index_put(x, [torch.tensor([0])], torch.tensor(2.0)),
}


@pytest.mark.parametrize("name", _ALONE)
def test_strides_of_dimensions_of_one_element_are_eager_modes(name: str) -> None:
    rng = random.Random(name)
    for _ in range(25):
        x = _operand(rng, [rng.choice((1, 1, 2, 3)) for _ in range(rng.choice((1, 2, 3, 4)))])
        x = x if x.dim() else x[None]
        gm = make_fx(_ALONE[name], tracing_mode="fake")(x)
        follow_eager(gm)
        (given,) = gm.graph.find_nodes(op="output")[0].args
        assert given.meta["val"].stride() == _ALONE[name](x).stride()


_TAKEN_APART: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "addcmul": lambda x, y: torch.addcmul(x, y, y),
    "deg2rad": lambda x, y: torch.deg2rad(x),
    "diagonal": lambda x, y: torch.diag_embed(x),
    "diagonal written": lambda x, y: torch.diagonal_scatter(x.clone(), x.diagonal() + 1),
    "floor divide": lambda x, y: x // 2,
    "k-th": lambda x, y: x.kthvalue(1, 0, keepdim=True)[0],
    "largest": lambda x, y: x.topk(x.shape[0], 0)[0],
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "logaddexp2": torch.logaddexp2,
    "masked fill": lambda x, y: x.masked_fill(y > 0, 2),
    "norm": lambda x, y: x.renorm(2, 0, 1.0),
    "prelu": lambda x, y: F.prelu(x, y.flatten()[:1]),
    "sinc": lambda x, y: torch.sinc(x),
    "threshold": lambda x, y: torch.threshold(x, 0.5, 2),
    "xlogy": lambda x, y: torch.xlogy(x, 2),
}


@pytest.mark.parametrize("name", _TAKEN_APART)
def test_operators_that_are_taken_apart_keep_the_strides_of_one_element(name: str) -> None:
    rng = random.Random(name)
    for _ in range(25):
        shape = [rng.choice((1, 1, 2, 3)) for _ in range(rng.choice((2, 3, 4)))]
        x = torch.zeros(shape).transpose(0, -1)
        y = torch.zeros_like(_operand(rng, list(x.shape)))
        gm = make_fx(_TAKEN_APART[name], decompositions(False), tracing_mode="fake")(x, y)
        follow_eager(gm)
        (given,) = gm.graph.find_nodes(op="output")[0].args
        assert given.meta["val"].stride() == _TAKEN_APART[name](x, y).stride()


_READ: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "number": lambda x: x + 2,
    "square": lambda x: x * x,
    "exponential": torch.exp,
    "difference": lambda x: torch.sub(x, x, alpha=2),
    "remainder": lambda x: torch.remainder(x, 3),
    "choice": lambda x: torch.where(x > 0, x, 1.0),
    "clamp": lambda x: x.clamp_min(0.5),
    "softplus": F.softplus,
    "view": lambda x: x.relu().unsqueeze(0)[0],
}


@pytest.mark.parametrize("name", _READ)
def test_what_is_taken_apart_reads_strides_of_one_element(name: str) -> None:
    """They decide which operand of ``lerp`` tells two dimensions apart (3305804)."""

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        one, two = _READ[name](x), _READ[name](y[..., None])[..., 0]
        return torch.lerp(one, two, one.sigmoid())

    rng = random.Random(name)
    for _ in range(16):
        x = _operand(rng, [rng.choice((1, 1, 2, 3)) for _ in range(rng.choice((2, 3, 4)))])
        y = _operand(rng, [rng.choice((1, n)) for n in x.shape]).expand(x.shape)
        gm = make_fx(function, decompositions(False), tracing_mode="fake")(x, y)
        follow_eager(gm)
        (given,) = gm.graph.find_nodes(op="output")[0].args
        assert given.meta["val"].stride() == function(x, y).stride()


def _image(rng: random.Random, shape: list[int]) -> torch.Tensor:
    """Memory without gaps in any order, dimensions of one element with any strides."""
    order = rng.sample(range(len(shape)), len(shape)) if rng.random() < 0.7 else [0, 2, 3, 1]
    x = torch.zeros([shape[d] for d in order]).permute([order.index(d) for d in range(4)])
    steps = zip(shape, x.stride(), strict=True)
    return x.as_strided(shape, [n if size > 1 else rng.choice((n, 1, 7, 60)) for size, n in steps])


def test_batch_norms_lie_as_eager_mode_lays_them_out() -> None:
    rng, norm = random.Random(0), torch.ops.aten.native_batch_norm
    for _ in range(40):
        shape = [rng.choice((1, 1, 2, 3)) for _ in range(4)]
        statistics = [torch.ones(shape[1] * n)[::n] for n in (1, 1, rng.choice((1, 1, 2)))]

        def both(x: torch.Tensor, grad: torch.Tensor, *given: torch.Tensor) -> Any:
            mean, variance, weight = given
            out = norm(x, weight, None, mean, variance, False, 0.1, 1e-5)[0]
            rest = (weight, mean, variance, mean, variance, False, 1e-5, [True, True, True])
            return out, torch.ops.aten.native_batch_norm_backward(grad, x, *rest)[0]

        given = [_image(rng, shape), _image(rng, shape), *statistics]
        gm = make_fx(both, decompositions(False, on_device=True), tracing_mode="fake")(*given)
        follow_eager(gm)
        (made,) = gm.graph.find_nodes(op="output")[0].args
        strides = [one.meta["val"].stride() for one in made]
        assert strides == [one.stride() for one in both(*given)]


def test_what_one_element_decides(devices: Devices) -> None:
    """Strides of dimensions of one element decide how what is made from them lies."""

    def function(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> Any:
        padded = F.pad(x.unsqueeze(0).flip(1, 0), (1, 0, 0, 1), value=1)
        put = z.index_put((torch.tensor([0]),), torch.tensor(2.0))
        pair = torch.ones(2) * y.sum()
        column = torch.logaddexp2(y, y.sum())[None]
        upwards = F.conv_transpose1d(column, y.new_ones(y.shape[0], 5, 2))
        return padded, torch.kron(pair, torch.remainder(3, y)), torch.kron(pair, put), upwards

    x, y, z = torch.randn(1, 2, 5), torch.randn(1, 8), torch.randn(3, 1)
    given = [x.transpose(0, -1), y.t(), z.t()]
    assert differences(function, given, Compiler(devices=devices)) == []


def test_sorted_rows_beside_a_dimension_of_one_element(devices: Devices) -> None:
    x = torch.randn(3).as_strided((3, 1), (1, 70))
    run = torch.compile(lambda x: (*x.sort(0), *x.sort(1)), backend=Compiler(devices=devices))
    assert [one.stride() for one in run(x)] == [x.stride()] * 4


def test_what_a_caller_sees(devices: Devices) -> None:
    x, y = torch.randn(1, 2, 16, 2).transpose(0, -1), torch.randn(16, 2)
    z = torch.randn(2, 1, 3).transpose(0, -1)

    def both(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> Any:
        both = torch.logical_and(y, x)
        return both, (both * 2).transpose(0, 1), torch.copysign(z, z.prod(0, keepdim=True)).sin()

    for grad in (False, True):
        given = [t.clone().requires_grad_(grad) for t in (x, y, z)]
        lines = differences(both, given, Compiler(devices=devices))
        assert set(lines) == set(torchs_own(both, given, lines))
        assert grad or not lines


def test_a_rounded_quotient_is_laid_out_before_it_is_read(devices: Devices) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        quotient = torch.div(x, y, rounding_mode="floor")
        return quotient, quotient.put(torch.tensor([0, -1]), y.flatten()[:2]), x[..., ::2] // 0.5

    x, y = torch.randn(8, 4, 3).transpose(0, -1), torch.rand(3, 4, 8) + 1
    assert differences(function, [x, y], Compiler(devices=devices)) == []


def test_results_in_order_and_strides_of_dimensions_of_one_element(devices: Devices) -> None:
    def function(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> Any:
        close = torch.isclose(x.unfold(0, 2, 1), y)
        return close, torch.ldexp(torch.scalar_tensor(1), z), torch.isin(z, y), torch.isin(z, 1)

    x, y, z = torch.randn(2, 1), torch.randn(33, 1), torch.randn(2, 16, 4).transpose(0, -1)
    assert differences(function, [x, y, z], Compiler(devices=devices)) == []


def test_a_size_is_recorded_as_a_symbol_where_strides_follow_eager_mode(
    devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partitioner of torch 2.11 knows no other (901586)."""
    types: list[type] = []
    cut = partitioners.min_cut_rematerialization_partition

    def watched(joint: torch.fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
        types.extend(type(n.meta.get("val")) for n in joint.graph.nodes if "numel" in n.name)
        return cut(joint, *args, **kwargs)

    monkeypatch.setattr(partitioners, "min_cut_rematerialization_partition", watched)

    def function(x: torch.Tensor) -> Any:
        written = torch.diagonal_scatter(x.clone(), x.diagonal() + 1)
        return torch.take(x, torch.tensor([-1, 0, 0])), written

    x = torch.randn(1, 2, 33, 3).transpose(0, -1)[..., ::2].detach().requires_grad_()
    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(function, [x], compiler, dynamic=True) == []
    assert len(types) > 1 and set(types) == {torch.SymInt}


def test_gradients_of_activations_lie_as_eager_mode_lays_them_out(devices: Devices) -> None:
    made = torch.randn(9, 4, 3, 1).transpose(0, -1).unbind(1)
    given = [x.detach().requires_grad_() for x in made for _ in range(2)]

    def function(*xs: torch.Tensor) -> Any:
        activations = [
            F.hardswish, F.hardsigmoid, F.mish, F.softplus, F.elu, F.hardtanh,
            F.leaky_relu,
        ]  # fmt: skip
        return [torch.stack([f(x)] * 2) for f, x in zip(activations, xs, strict=True)]

    assert differences(function, given, Compiler(devices=devices)) == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_losses_of_every_element_lie_as_eager_mode_lays_them_out(
    devices: Devices, dtype: torch.dtype
) -> None:
    x, y = torch.rand(4, 2, 5).to(dtype), torch.rand(4, 5, 2).mT.to(dtype)
    losses = [F.mse_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy]

    def function(*xs: torch.Tensor) -> Any:
        pairs = [(x, y.expand_as(x)) for x, y in itertools.permutations(xs, 2) if x.dim() == 3]
        return [f(*pair, reduction="none") for f in losses for pair in pairs]

    one = [x[0, 0], x.requires_grad_(), y.requires_grad_()]
    assert differences(function, one, Compiler(devices=devices)) == []


def test_nan_among_many_numbers_that_are_looked_up(devices: Devices) -> None:
    x = torch.randn(40, 5)
    x[::7] = torch.nan
    compiler = Compiler(devices=devices)
    assert differences(torch.isin, [x.detach(), x.t().detach()], compiler) == []
    assert differences(torch.isin, [x.t(), torch.full((20,), torch.nan)], compiler) == []
    whole = torch.arange(200)
    assert differences(torch.isin, [whole, whole[::3]], compiler) == []


def test_what_is_indexed_lies_as_eager_mode_lays_it_out() -> None:
    rng = random.Random(0)
    for _ in range(300):
        x = _operand(rng, [rng.choice((1, 2, 3, 4)) for _ in range(rng.choice((2, 3, 4)))])
        sizes = [rng.choice((2, 3)) for _ in range(rng.choice((1, 2, 3)))]
        chosen = rng.sample(range(x.dim()), rng.randint(1, x.dim()))
        index = torch.zeros(sizes[::-1], dtype=torch.int64).permute(*reversed(range(len(sizes))))
        indices = [index if d in chosen else None for d in range(max(chosen) + 1)]
        if all(one is None or one.is_contiguous() for one in (x, *indices)):
            continue
        traced = make_fx(lambda x, *at: torch.ops.aten.index.Tensor(x, at), tracing_mode="fake")
        gm = traced(x, *indices)
        follow_eager(gm)
        made = torch.ops.aten.index.Tensor(x, indices)
        (call,) = gm.graph.find_nodes(op="call_function", target=torch.ops.aten.index.Tensor)
        found = call.meta["val"].stride()
        long = [n for n, size in enumerate(made.shape) if size > 1]
        assert [found[n] for n in long] == [made.stride(n) for n in long]


def _images(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    pooled = F.adaptive_max_pool2d(x, 4, return_indices=True)
    shuffled = F.channel_shuffle(x.repeat(1, 2, 1, 1), 3)
    return F.interpolate(x, scale_factor=2), F.adaptive_avg_pool2d(x, 4), *pooled, shuffled


@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_resampled_and_shuffled_images_keep_their_channels_last(
    devices: Devices, layout: torch.memory_format
) -> None:
    x = torch.randn(2, 3, 6, 10).contiguous(memory_format=layout).requires_grad_()
    assert not differences(_images, [x], Compiler(devices=devices))
    own, weight = torch.zeros(2, 3, 6, 10), torch.zeros(2, 3, 4, 4).contiguous(memory_format=layout)
    back = torch.ops.aten._adaptive_avg_pool2d_backward
    own = own.contiguous(memory_format=layout)
    assert not differences(lambda g, y: back(g, y), [weight, own], Compiler(devices=devices))
    places = torch.arange(16).expand(2, 3, 16).reshape(2, 3, 4, 4)
    unpool = torch.ops.aten.max_unpool2d
    assert not differences(
        lambda y, n: unpool(y, n, (8, 8)), [weight + 1, places], Compiler(devices=devices)
    )
    largest = torch.ops.aten.adaptive_max_pool2d_backward
    given = [torch.ones(2, 3, 4, 4), own, places]
    assert not differences(largest, given, Compiler(devices=devices))


def test_drawn_numbers_lie_in_order(devices: Devices) -> None:
    x = torch.ones(4, 5).t()
    assert not differences(torch.bernoulli, [x], Compiler(devices=devices))


def test_pixels_of_nothing_stay_as_they_are(devices: Devices) -> None:
    def function(x: torch.Tensor) -> Any:
        return F.pixel_unshuffle(x, 2), F.pixel_unshuffle(x.new_ones(1, 4, 2), 2) * 2

    assert differences(function, [torch.zeros(1, 0, 2)], Compiler(devices=devices)) == []


def _on_fake_gpu(function: Any, *operands: torch.Tensor) -> torch.fx.Node:
    """What ``function`` returns, traced on tensors of a GPU that need not be there."""
    with FakeTensorMode():
        given = [
            torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cuda") for x in operands
        ]
        gm = make_fx(function, decomposition_table=decompositions(False, on_device=True))(*given)
    made = gm.graph.output_node().args[0]
    assert isinstance(made, torch.fx.Node)
    return made


IMAGES = torch.zeros(2, 4, 6, 10).contiguous(memory_format=torch.channels_last)


def test_what_only_kernels_of_a_cpu_keep() -> None:
    """Of nothing a GPU has the pixels' shape (2200431), and no layout of channels last."""
    nothing = _on_fake_gpu(lambda x: F.pixel_unshuffle(x, 2), torch.zeros(8, 0, 2))
    assert nothing.meta["val"].shape == (32, 0, 1)
    places, unpool = IMAGES.long(), torch.ops.aten.max_unpool2d
    for made in (
        _on_fake_gpu(lambda x: F.pixel_unshuffle(x, 2), IMAGES),
        _on_fake_gpu(lambda x, n: unpool(x, n, (12, 20)), IMAGES, places),
        _on_fake_gpu(lambda x: F.pixel_shuffle(x, 2), IMAGES),
        _on_fake_gpu(lambda x: x.roll(1, 2), IMAGES),
    ):
        assert made.meta["val"].is_contiguous()


def test_channels_that_stay_where_they_are_stay_in_memory_on_a_gpu() -> None:
    """(2200730)"""

    def copies(groups: int, channels: int) -> bool:
        x = torch.zeros(8, channels, 7)
        graph = _on_fake_gpu(lambda x: torch.channel_shuffle(x, groups), x).graph
        return bool(graph.find_nodes(op="call_function", target=torch.ops.aten.clone.default))

    assert [copies(2, 2), copies(1, 4), copies(2, 4)] == [False, False, True]


def test_pixels_of_nothing_are_shuffled(devices: Devices) -> None:
    def function(x: torch.Tensor) -> Any:
        return F.pixel_shuffle(x, 2)

    assert differences(function, [torch.zeros(0, 2, 2)], Compiler(devices=devices)) == []


@pytest.mark.parametrize("exponent", [torch.float32, torch.float64, torch.int32])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32])
def test_ldexp_lies_as_eager_mode_lays_it_out(
    devices: Devices, dtype: torch.dtype, exponent: torch.dtype
) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        return torch.ldexp(x, y), torch.ldexp(x[0], y)

    x, y = torch.ones(2, dtype=dtype), torch.ones(2, 5).t().to(exponent)
    assert differences(function, [x, y], Compiler(devices=devices)) == []


def test_what_is_taken_or_added_up_lies_in_order_whatever_its_operand_does(
    devices: Devices,
) -> None:
    places = torch.arange(12).reshape(3, 4).t()

    def run(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.take(places) * 2, torch.mvlgamma(x.reshape(4, 3).t(), 2)

    assert differences(run, (torch.rand(12) + 2,), Compiler(devices=devices)) == []


def test_a_power_of_a_number_is_laid_out_before_it_is_read(devices: Devices) -> None:
    def function(x: torch.Tensor, y: torch.Tensor, n: torch.Tensor) -> Any:
        powers = 0**x, (-1) ** y, torch.ldexp(n.float(), x), torch.ldexp(n, x)
        first, rows = torch.tensor([0, 1]), torch.tensor([2, 0, -1])
        return *(p.put(first, p.flatten()[:2] * 2) for p in powers), *(p[rows] for p in powers)

    x, y = torch.randn(2, 8, 3).transpose(0, -1), torch.arange(30, dtype=torch.uint8)
    given = [x, y.reshape(2, 5, 3).transpose(0, -1), torch.tensor(3)]
    assert differences(function, given, Compiler(devices=devices)) == []


def test_of_a_difference_the_other_way_round_the_second_operand_comes_first(
    devices: Devices,
) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        return torch.rsub(x, y), torch.rsub(y, x), torch.rsub(y.int(), x), torch.rsub(y, 2)

    given = [torch.randn(3, 5), torch.randn(5, 3).t()]
    assert differences(function, given, Compiler(devices=devices)) == []


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("rank", [1, 2])
def test_gradients_of_layer_norms_lie_in_order(
    compiler: Compiler, rank: int, dynamic: bool
) -> None:
    def function(x: torch.Tensor) -> Any:
        return torch.movedim(F.layer_norm(x, x.shape[1:]), 0, -1).contiguous()

    x = torch.randn((3, 4, 5)[: rank + 1]).requires_grad_()
    assert differences(function, [x], compiler, dynamic=dynamic) == []


def test_gradients_of_a_logarithm_of_softmax_lie_in_order(devices: Devices) -> None:
    x = torch.randn(3, 4, 5).to(torch.bfloat16).requires_grad_()

    def function(x: torch.Tensor) -> Any:
        return torch.rot90((x + 0).log_softmax(-1))

    assert differences(function, [x], Compiler(devices=devices)) == []


def test_the_gradient_of_a_smooth_loss_keeps_nan(devices: Devices) -> None:
    x = torch.tensor([[0.5, torch.nan, 3.0], [torch.inf, -2.0, 0.0]]).requires_grad_()
    y = torch.tensor([[0.25, 1.0, 0.0], [torch.inf, torch.nan, 0.0]])
    assert differences(F.smooth_l1_loss, [x, y], Compiler(devices=devices)) == []


@pytest.mark.parametrize("dim", [-1, -2, (-2, -1)])
def test_norms_along_one_element_counted_from_behind(devices: Devices, dim: Any) -> None:
    compiler = Compiler(devices=devices)
    x = torch.randn(3, 1, 1).requires_grad_()
    assert differences(lambda x: (x * 2).norm(dim=dim), [x], compiler) == []
    assert not [text for report in compiler.reports for text in report.failures]


def test_types_that_torch_traces_otherwise(devices: Devices) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        loss = F.binary_cross_entropy_with_logits(x, y)
        parts = [(x > 0).sum(), x.int(), y.half()]
        return loss * 2, torch.block_diag(*parts[:2]), torch.block_diag(x.sum(), parts[2])

    given = [torch.rand(2, 3, dtype=torch.float64), torch.rand(2, 3)]
    for args in (given, given[::-1]):
        assert differences(function, args, Compiler(devices=devices)) == []


def test_what_is_made_of_an_indexed_tensor_lies_as_in_eager_mode(compiler: Compiler) -> None:
    """By operators that are taken apart while tracing, whose rule asks how their operands lie."""
    at = torch.tensor([[0, -1], [-1, 0]])

    def function(x: torch.Tensor) -> list[torch.Tensor]:
        taken = x[None][:, at]
        three = torch.xlogy(taken, x), torch.lerp(taken, x, 0.3), torch.copysign(taken, x)
        return [taken // x, *three, taken / x]

    x = torch.randn(16, 8, 2, 2).transpose(0, -1)
    found, wanted = torch.compile(function, backend=compiler)(x), function(x)
    assert [t.stride() for t in found] == [t.stride() for t in wanted]
    torch.testing.assert_close(found, wanted, equal_nan=True)


def test_dimensions_of_one_element_count_for_unknown_sizes_too(compiler: Compiler) -> None:
    def function(x: torch.Tensor) -> list[torch.Tensor]:
        return [x.t() + 1, x.t() // 2, x.t() > 0, x.t().copysign(-1.0)]

    x, run = torch.randn(1, 3), torch.compile(function, backend=compiler, dynamic=True)
    found, wanted = run(x), function(x)
    assert [t.stride() for t in found] == [t.stride() for t in wanted] == [(1, 3)] * 4
    torch.testing.assert_close(found, wanted)
