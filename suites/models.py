"""Pieces of published models, built from their own code, for the suites to capture.

Each function returns ``(module, args)`` and is called under fake tensors, so nothing
is allocated. Where a whole model is wanted, a suite names its provider instead.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class _LlamaBlock(nn.Module):
    """One decoder layer with the rotary embedding it is given by the model."""

    def __init__(self, config: Any) -> None:
        from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

        super().__init__()
        self.layer = LlamaDecoderLayer(config, layer_idx=0)
        self.rotary = LlamaRotaryEmbedding(config)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(hidden_states.shape[1], device=hidden_states.device)[None]
        cos_sin = self.rotary(hidden_states, positions)
        return self.layer(hidden_states, position_embeddings=cos_sin)


def llama_block(
    batch: int, seq: int, hidden: int, intermediate: int, heads: int, kv_heads: int
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A Llama decoder layer: RMSNorm, rotary attention with grouped keys, SwiGLU."""
    from transformers import LlamaConfig

    config = LlamaConfig(
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        num_hidden_layers=1,
        rope_theta=500000.0,
        attn_implementation="sdpa",
    )
    return _LlamaBlock(config), (torch.randn(batch, seq, hidden).requires_grad_(),)


def bert_layer(
    batch: int, seq: int, hidden: int, intermediate: int, heads: int
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A BERT encoder layer with an additive padding mask."""
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertLayer

    config = BertConfig(
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_attention_heads=heads,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        attn_implementation="sdpa",
    )
    hidden_states = torch.randn(batch, seq, hidden).requires_grad_()
    return BertLayer(config), (hidden_states, torch.randn(batch, 1, 1, seq))


class _T5Block(nn.Module):
    """The first encoder block, which owns the relative position bias."""

    def __init__(self, config: Any) -> None:
        from transformers.models.t5.modeling_t5 import T5Block

        super().__init__()
        self.block = T5Block(config, has_relative_attention_bias=True, layer_idx=0)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        return self.block(hidden_states)[0]


def t5_block(
    batch: int, seq: int, hidden: int, intermediate: int, heads: int, head_size: int
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A T5 v1.1 encoder block: relative position bias, gated GELU, no biases."""
    from transformers import T5Config

    config = T5Config(
        d_model=hidden,
        d_ff=intermediate,
        d_kv=head_size,
        num_heads=heads,
        dropout_rate=0.0,
        feed_forward_proj="gated-gelu",
        attn_implementation="eager",
    )
    return _T5Block(config), (torch.randn(batch, seq, hidden).requires_grad_(),)


class _UpBlock(nn.Module):
    """The way up of a diffusion UNet: join the skip, residual block, upsample."""

    def __init__(self, channels: int, out_channels: int, temb: int, groups: int) -> None:
        from diffusers.models.resnet import ResnetBlock2D
        from diffusers.models.upsampling import Upsample2D

        super().__init__()
        self.resnet = ResnetBlock2D(
            in_channels=channels, out_channels=out_channels, temb_channels=temb, groups=groups
        )
        self.upsample = Upsample2D(out_channels, use_conv=True)

    def forward(
        self, hidden_states: torch.Tensor, skip: torch.Tensor, temb: torch.Tensor
    ) -> torch.Tensor:
        hidden_states = torch.cat([hidden_states, skip], dim=1)
        return self.upsample(self.resnet(hidden_states, temb))


def unet_up_block(
    batch: int, channels: int, skip: int, height: int, width: int, temb: int, groups: int
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A residual block with group norm and time embedding, then nearest upsampling."""
    return _UpBlock(channels + skip, channels, temb, groups), (
        torch.randn(batch, channels, height, width),
        torch.randn(batch, skip, height, width),
        torch.randn(batch, temb),
    )


class _Router(nn.Module):
    """Mixtral's router and the auxiliary loss that keeps its experts evenly used."""

    def __init__(self, config: Any) -> None:
        from transformers.models.mixtral.modeling_mixtral import MixtralTopKRouter

        super().__init__()
        self.config = config
        self.gate = MixtralTopKRouter(config)

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

        logits, scores, experts = self.gate(hidden_states)
        loss = load_balancing_loss_func(
            (logits,),
            self.config.num_local_experts,
            self.config.num_experts_per_tok,
            attention_mask,
        )
        return scores, experts, loss


def moe_router(
    batch: int, seq: int, hidden: int, experts: int, top_k: int
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The routing of a Mixtral layer: softmax over experts, top-k, load-balancing loss."""
    from transformers import MixtralConfig

    config = MixtralConfig(hidden_size=hidden, num_local_experts=experts, num_experts_per_tok=top_k)
    hidden_states = torch.randn(batch, seq, hidden).requires_grad_()
    return _Router(config), (hidden_states, torch.ones(batch, seq))


class _QuantiseRows(nn.Module):
    """Row-wise float8 with one float32 scale per row, as in torchao's float8 training."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        limit = torch.finfo(torch.float8_e4m3fn).max
        largest = x.abs().amax(dim=-1, keepdim=True).to(torch.float64)
        scale = (limit / torch.clamp(largest, min=1e-12)).to(torch.float32)
        scaled = x.to(torch.float32) * scale
        return scaled.clamp(min=-limit, max=limit).to(torch.float8_e4m3fn), scale.reciprocal()


def fp8_rowwise(rows: int, columns: int) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Activations to float8 before a matrix product, one scale per row."""
    return _QuantiseRows(), (torch.randn(rows, columns),)


class _ChannelsLast(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.contiguous(memory_format=torch.channels_last)


def channels_last(
    batch: int, channels: int, height: int, width: int
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Feature maps from NCHW to NHWC, as at the border of a channels-last network."""
    return _ChannelsLast(), (torch.randn(batch, channels, height, width),)


class _Preprocess(nn.Module):
    def forward(self, images: torch.Tensor, mean: torch.Tensor, std: torch.Tensor) -> torch.Tensor:
        scaled = images.permute(0, 3, 1, 2).to(mean.dtype) / 255
        return ((scaled - mean[:, None, None]) / std[:, None, None]).contiguous()


def image_preprocess(
    batch: int, height: int, width: int
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Decoded images (bytes, NHWC) to normalised floats in NCHW."""
    images = torch.zeros(batch, height, width, 3, dtype=torch.uint8)
    return _Preprocess(), (images, torch.randn(3), torch.randn(3))
