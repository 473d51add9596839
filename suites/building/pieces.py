"""Pieces of models and of training that no library names: for the catalogue's ``pieces.toml``.

Each function takes ``rows`` and ``columns`` and returns ``(module or function, args)``; it is
called under fake tensors. What is trained takes tensors that require a gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # as everyone calls it

Piece: TypeAlias = "tuple[Callable[..., Any], tuple[Any, ...]]"


def _data(rows: int, columns: int) -> Tensor:
    return torch.randn(rows, columns).requires_grad_()


def _labels(rows: int) -> Tensor:
    return torch.zeros(rows, dtype=torch.int64)


# Optimizer steps, as plain functions over one parameter: state in, state changed in place.


def sgd(rows: int, columns: int) -> Piece:
    """SGD with Nesterov's momentum and weight decay."""

    def step(p: Tensor, g: Tensor, momentum: Tensor) -> None:
        g = g + 0.0001 * p
        momentum.mul_(0.9).add_(g)
        p.sub_(0.1 * (g + 0.9 * momentum))

    return step, tuple(torch.randn(rows, columns) for _ in range(3))


def adam(rows: int, columns: int) -> Piece:
    """Adam with its weight decay in the gradient; the step is counted on the device."""

    def step(p: Tensor, g: Tensor, first: Tensor, second: Tensor, count: Tensor) -> None:
        count.add_(1.0)
        g = g + 0.01 * p
        first.lerp_(g, 0.1)
        second.mul_(0.999).addcmul_(g, g, value=0.001)
        scale = torch.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        p.sub_(0.001 * scale * first / (second.sqrt() + 1e-8))

    state = [torch.randn(rows, columns) for _ in range(4)]
    return step, (*state, torch.zeros((), dtype=torch.float32))


def adamw_master(rows: int, columns: int) -> Piece:
    """AdamW on a float32 master copy of a low-precision parameter, with gradients unscaled."""

    def step(
        p: Tensor, g: Tensor, master: Tensor, first: Tensor, second: Tensor, scale: Tensor
    ) -> None:
        g = g.float() / scale
        first.lerp_(g, 0.1)
        second.mul_(0.95).addcmul_(g, g, value=0.05)
        master.mul_(1 - 3e-4 * 0.1).sub_(3e-4 * first / (second.sqrt() + 1e-8))
        p.copy_(master)

    single = [torch.randn(rows, columns, dtype=torch.float32) for _ in range(3)]
    given = (torch.randn(rows, columns), torch.randn(rows, columns))
    return step, (*given, *single, torch.ones((), dtype=torch.float32))


def lion(rows: int, columns: int) -> Piece:
    """Lion: the sign of an interpolated momentum."""

    def step(p: Tensor, g: Tensor, momentum: Tensor) -> None:
        update = torch.sign(0.9 * momentum + 0.1 * g)
        p.mul_(1 - 1e-4).sub_(1e-4 * update)
        momentum.lerp_(g, 0.01)

    return step, tuple(torch.randn(rows, columns) for _ in range(3))


def adafactor(rows: int, columns: int) -> Piece:
    """Adafactor: second moments by row and by column, updates clipped by their mean square."""

    def step(p: Tensor, g: Tensor, by_row: Tensor, by_column: Tensor) -> None:
        square = g * g + 1e-30
        by_row.lerp_(square.mean(1), 0.02)
        by_column.lerp_(square.mean(0), 0.02)
        update = g * (by_row / by_row.mean()).rsqrt()[:, None] * by_column.rsqrt()[None]
        update = update / update.square().mean().sqrt().clamp(min=1.0)
        p.sub_(0.01 * update)

    both = (torch.randn(rows, columns), torch.randn(rows, columns))
    return step, (*both, torch.rand(rows), torch.rand(columns))


def rmsprop(rows: int, columns: int) -> Piece:
    """RMSprop, centred."""

    def step(p: Tensor, g: Tensor, square: Tensor, mean: Tensor) -> None:
        square.mul_(0.99).addcmul_(g, g, value=0.01)
        mean.lerp_(g, 0.01)
        p.sub_(0.01 * g / (square.addcmul(mean, mean, value=-1.0).clamp(min=0).sqrt() + 1e-8))

    return step, tuple(torch.randn(rows, columns) for _ in range(4))


def clip_by_norm(rows: int, columns: int) -> Piece:
    """Gradients scaled so that their common norm is at most 1."""

    def step(*gradients: Tensor) -> list[Tensor]:
        norm = torch.stack([g.float().square().sum() for g in gradients]).sum().sqrt()
        scale = (1.0 / (norm + 1e-6)).clamp(max=1.0)
        return [(g * scale).to(g.dtype) for g in gradients]

    return step, tuple(torch.randn(rows, columns) for _ in range(3))


def moving_average(rows: int, columns: int) -> Piece:
    """An exponential moving average of a parameter, kept in float32."""

    def step(average: Tensor, p: Tensor) -> None:
        average.lerp_(p.float(), 0.001)

    return step, (torch.randn(rows, columns, dtype=torch.float32), torch.randn(rows, columns))


# Losses.


def cross_entropy(rows: int, columns: int) -> Piece:
    """Cross entropy over ``columns`` classes, some rows ignored, with a z-loss."""

    def loss(logits: Tensor, labels: Tensor) -> Tensor:
        z = torch.logsumexp(logits.float(), -1).square().mean()
        return F.cross_entropy(logits.float(), labels, ignore_index=-100) + 1e-4 * z

    return loss, (_data(rows, columns), _labels(rows))


def smoothed_cross_entropy(rows: int, columns: int) -> Piece:
    """Cross entropy with smoothed labels."""

    def loss(logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(logits, labels, label_smoothing=0.1)

    return loss, (_data(rows, columns), _labels(rows))


def distillation(rows: int, columns: int) -> Piece:
    """Kullback-Leibler divergence from a teacher's distribution, at a temperature."""

    def loss(student: Tensor, teacher: Tensor) -> Tensor:
        ours, theirs = F.log_softmax(student / 2.0, -1), F.log_softmax(teacher / 2.0, -1)
        return 4.0 * F.kl_div(ours, theirs, log_target=True, reduction="batchmean")

    return loss, (_data(rows, columns), torch.randn(rows, columns))


def focal(rows: int, columns: int) -> Piece:
    """Focal loss of detectors."""

    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        entropy = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        p = torch.sigmoid(logits)
        p = p * targets + (1 - p) * (1 - targets)
        return (entropy * (1 - p) ** 2 * (0.25 * targets + 0.75 * (1 - targets))).sum()

    return loss, (_data(rows, columns), torch.rand(rows, columns))


def contrastive(rows: int, columns: int) -> Piece:
    """CLIP's loss over a matrix of similarities, both ways."""

    def loss(images: Tensor, texts: Tensor) -> Tensor:
        images, texts = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
        similar = 100.0 * images @ texts.T
        labels = torch.arange(similar.shape[0])
        return (F.cross_entropy(similar, labels) + F.cross_entropy(similar.T, labels)) / 2

    return loss, (_data(rows, columns), _data(rows, columns))


def dice(rows: int, columns: int) -> Piece:
    """Dice loss of segmentation."""

    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        p = torch.sigmoid(logits)
        both = (p * targets).sum(-1)
        return (1 - (2 * both + 1) / (p.sum(-1) + targets.sum(-1) + 1)).mean()

    return loss, (_data(rows, columns), torch.rand(rows, columns))


def smooth_l1(rows: int, columns: int) -> Piece:
    """Huber's loss of box regression, weighted by row."""

    def loss(boxes: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        each = F.smooth_l1_loss(boxes, targets, reduction="none", beta=0.1)
        return (each.sum(-1) * weights).sum() / weights.sum().clamp(min=1.0)

    return loss, (_data(rows, columns), torch.randn(rows, columns), torch.rand(rows))


def preference(rows: int, columns: int) -> Piece:
    """Direct preference optimisation from log-probabilities of tokens."""

    def loss(chosen: Tensor, rejected: Tensor, ours: Tensor, theirs: Tensor) -> Tensor:
        margin = chosen.sum(-1) - rejected.sum(-1) - (ours.sum(-1) - theirs.sum(-1))
        return -F.logsigmoid(0.1 * margin).mean()

    pair = (_data(rows, columns), _data(rows, columns))
    return loss, (*pair, torch.randn(rows, columns), torch.randn(rows, columns))


# Layers that are quantised, or kept in 8 bits.


def int8_rows(rows: int, columns: int) -> Piece:
    """Activations to int8, one scale for each row."""

    def quantise(x: Tensor) -> tuple[Tensor, Tensor]:
        scale = x.abs().amax(-1, keepdim=True).float().clamp(min=1e-5) / 127
        return torch.round(x / scale).clamp(-128, 127).to(torch.int8), scale

    return quantise, (torch.randn(rows, columns),)


def int8_linear_out(rows: int, columns: int) -> Piece:
    """What follows an int8 product: scales of rows and columns, bias, GELU."""

    def finish(product: Tensor, row: Tensor, column: Tensor, bias: Tensor) -> Tensor:
        return F.gelu(product.float() * row * column + bias).to(bias.dtype)

    product = torch.zeros(rows, columns, dtype=torch.int32)
    return finish, (product, torch.rand(rows, 1), torch.rand(columns), torch.randn(columns))


def int4_weights(rows: int, columns: int) -> Piece:
    """Weights of 4 bits in groups of 64 with zero points, unpacked."""

    def unpack(packed: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
        low, high = packed & 15, packed >> 4
        codes = torch.stack((low, high), -1).reshape(rows, columns // 64, 64)
        return ((codes - zero[..., None]) * scale[..., None]).reshape(rows, columns)

    packed = torch.zeros(rows, columns // 2, dtype=torch.uint8)
    groups = (rows, columns // 64)
    return unpack, (packed, torch.rand(groups), torch.zeros(groups, dtype=torch.uint8))


def fp8_tensor(rows: int, columns: int) -> Piece:
    """One float8 scale for a whole tensor, from a history of largest values."""

    def quantise(x: Tensor, history: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        scale = 448.0 / history.amax().clamp(min=1e-12)
        clipped = (x.float() * scale).clamp(-448, 448)
        return clipped.to(torch.float8_e4m3fn), 1 / scale, x.abs().amax().float()

    return quantise, (torch.randn(rows, columns), torch.rand(16, dtype=torch.float32))


def fp8_blocks(rows: int, columns: int) -> Piece:
    """Float8 with a scale for every 128 columns (DeepSeek-V3's activations)."""

    def quantise(x: Tensor) -> tuple[Tensor, Tensor]:
        blocks = x.reshape(rows, columns // 128, 128).float()
        scale = blocks.abs().amax(-1, keepdim=True).clamp(min=1e-4) / 448
        return (blocks / scale).to(torch.float8_e4m3fn).reshape(rows, columns), scale[..., 0]

    return quantise, (torch.randn(rows, columns),)


def fp8_norm(rows: int, columns: int) -> Piece:
    """RMS norm with its result in float8, one scale for each row."""

    def normalise(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        x = x + residual
        wide = x.float()
        made = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * weight
        scale = made.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 448
        return (made / scale).to(torch.float8_e4m3fn), scale, x

    return normalise, (torch.randn(rows, columns), torch.randn(rows, columns), torch.rand(columns))


def fp8_transposed(rows: int, columns: int) -> Piece:
    """A gradient in float8 and its transpose, for both products of a backward pass."""

    def quantise(x: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        made = (x * scale).clamp(-57344, 57344).to(torch.float8_e5m2)
        return made, made.t().contiguous()

    return quantise, (torch.randn(rows, columns), torch.rand(()))


# Layers.


class _Norm(nn.Module):
    def __init__(self, norm: nn.Module, after: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.norm = norm
        self.after = after

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        return self.after(self.norm(x + residual))


def _pair(*shape: int) -> tuple[Tensor, Tensor]:
    return torch.randn(*shape).requires_grad_(), torch.randn(*shape)


def layer_norm_gelu(rows: int, columns: int) -> Piece:
    """Residual, layer norm, GELU."""
    return _Norm(nn.LayerNorm(columns), F.gelu), _pair(rows, columns)


def rms_norm_silu(rows: int, columns: int) -> Piece:
    """Residual, RMS norm, SiLU."""
    return _Norm(nn.RMSNorm(columns), F.silu), _pair(rows, columns)


def group_norm_silu(rows: int, columns: int) -> Piece:
    """Residual, group norm over 32 groups of an image, SiLU."""
    side = max(4, math.isqrt(rows))
    return _Norm(nn.GroupNorm(32, columns // 8), F.silu), _pair(2, columns // 8, side, side)


def batch_norm_relu(rows: int, columns: int) -> Piece:
    """Residual, batch norm of images, ReLU."""
    side = max(4, math.isqrt(rows) // 2)
    return _Norm(nn.BatchNorm2d(columns // 16), F.relu), _pair(8, columns // 16, side, side)


def instance_norm_leaky(rows: int, columns: int) -> Piece:
    """Residual, instance norm, leaky ReLU, channels last."""
    side = max(4, math.isqrt(rows))
    x, y = _pair(2, columns // 16, side, side)
    last = torch.channels_last
    norm = nn.InstanceNorm2d(columns // 16, affine=True)
    return _Norm(norm, F.leaky_relu), (
        x.detach().to(memory_format=last).requires_grad_(),
        y.to(memory_format=last),
    )


def _scores(rows: int, columns: int) -> Tensor:
    """Scores of attention of 8 heads over at most 1024 keys."""
    return torch.randn(8, max(1, rows // 8), min(columns, 1024)).requires_grad_()


def masked_softmax(rows: int, columns: int) -> Piece:
    """Scaled scores with a causal mask and a mask of padding."""

    def attend(scores: Tensor, padding: Tensor) -> Tensor:
        queries, keys = scores.shape[-2:]
        causal = torch.arange(keys)[None] <= torch.arange(queries)[:, None]
        scores = (scores * 0.125).masked_fill(~(causal & padding[None]), float("-inf"))
        return torch.softmax(scores.float(), -1).to(scores.dtype)

    scores = _scores(rows, columns)
    return attend, (scores, torch.ones(scores.shape[-1], dtype=torch.bool))


def soft_capped_softmax(rows: int, columns: int) -> Piece:
    """Gemma 2's scores, capped by a hyperbolic tangent."""

    def attend(scores: Tensor) -> Tensor:
        return torch.softmax(50.0 * torch.tanh(scores / 50.0), -1, dtype=torch.float32)

    return attend, (_scores(rows, columns),)


def alibi_softmax(rows: int, columns: int) -> Piece:
    """Scores with a bias that grows with the distance, by head."""

    def attend(scores: Tensor, slopes: Tensor) -> Tensor:
        queries, keys = scores.shape[-2:]
        distance = torch.arange(keys)[None] - torch.arange(queries)[:, None]
        return torch.softmax(scores + slopes[:, None, None] * distance, -1)

    return attend, (_scores(rows, columns), torch.rand(8))


def swiglu(rows: int, columns: int) -> Piece:
    """Gate and value from one product, halves interleaved as fused weights give them."""

    def gate(x: Tensor) -> Tensor:
        left, right = x.chunk(2, -1)
        return F.silu(left) * right

    return gate, (_data(rows, 2 * columns),)


def geglu_clamped(rows: int, columns: int) -> Piece:
    """A gate of every second column, clamped (gpt-oss)."""

    def gate(x: Tensor) -> Tensor:
        left, right = x[..., ::2].clamp(max=7.0), x[..., 1::2].clamp(-7.0, 7.0)
        return left * torch.sigmoid(1.702 * left) * (right + 1)

    return gate, (_data(rows, 2 * columns),)


def rotary_pairs(rows: int, columns: int) -> Piece:
    """Rotary embedding of neighbouring pairs (GPT-J), angles computed on the way."""

    def rotate(x: Tensor) -> Tensor:
        steps, half = x.shape[1], x.shape[-1] // 2
        powers = torch.arange(half, dtype=torch.float32) / half
        angles = torch.outer(torch.arange(steps, dtype=torch.float32), 10000.0**-powers)
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        one, two = x[..., ::2], x[..., 1::2]
        return torch.stack((one * cos - two * sin, one * sin + two * cos), -1).flatten(-2)

    return rotate, (torch.randn(1, rows, columns // 128, 128).requires_grad_(),)


def router(rows: int, columns: int) -> Piece:
    """Normalised gates of 64 experts, and how evenly they are used."""

    def route(logits: Tensor) -> tuple[Tensor, Tensor]:
        gates = torch.softmax(logits.float(), -1)
        use = gates.mean(0)
        return gates.to(logits.dtype), 64 * (use * use).sum()

    return route, (_data(rows * max(1, columns // 1024), 64),)


def embedding_sum(rows: int, columns: int) -> Piece:
    """Word, position and type embeddings with a layer norm (BERT), trained."""
    words, places = nn.Embedding(30522, columns), nn.Embedding(512, columns)
    norm = nn.LayerNorm(columns)

    class Embeddings(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places, self.norm = words, places, norm

        def forward(self, ids: Tensor) -> Tensor:
            return norm(words(ids) + places(torch.arange(ids.shape[1])))

    return Embeddings(), (torch.zeros(max(1, rows // 128), 128, dtype=torch.int64),)


def upsample(rows: int, columns: int) -> Piece:
    """Bilinear upsampling by two and a skip connection (segmentation heads)."""
    side = max(4, math.isqrt(rows) // 2)

    def grow(x: Tensor, skip: Tensor) -> Tensor:
        wide = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return F.relu(torch.cat((wide, skip), 1))

    channels = columns // 32
    x = torch.randn(2, channels, side, side).requires_grad_()
    return grow, (x, torch.randn(2, channels, 2 * side, 2 * side))
