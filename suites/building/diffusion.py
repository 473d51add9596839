"""Models of diffusers with the inputs that they are called with, for ``diffusers.toml``.

Each function takes ``batch`` and ``size`` (of the latent image) and returns (module, args, kwargs).
Transformers have two layers of each kind: further ones hold the same regions.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

Built: TypeAlias = "tuple[nn.Module, tuple[Any, ...], dict[str, Any]]"


class _Sample(nn.Module):
    """A model that answers with one tensor."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.model(*args, **kwargs, return_dict=False)[0]


def _steps(batch: int) -> Tensor:
    return torch.zeros(batch, dtype=torch.int64)


def _image(batch: int, channels: int, size: int) -> Tensor:
    return torch.randn(batch, channels, size, size)


def stable_diffusion_unet(batch: int, size: int) -> Built:
    """stable-diffusion-v1-5's UNet."""
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(cross_attention_dim=768, attention_head_dim=8)
    given = (_image(batch, 4, size), _steps(batch), torch.randn(batch, 77, 768))
    return _Sample(model), given, {}


def sdxl_unet(batch: int, size: int) -> Built:
    """stable-diffusion-xl-base-1.0's UNet, two transformer layers where it has ten."""
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        block_out_channels=(320, 640, 1280),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        transformer_layers_per_block=(1, 2, 2),
        cross_attention_dim=2048,
        attention_head_dim=(5, 10, 20),
        use_linear_projection=True,
        addition_embed_type="text_time",
        addition_time_embed_dim=256,
        projection_class_embeddings_input_dim=2816,
    )
    added = {"text_embeds": torch.randn(batch, 1280), "time_ids": torch.randn(batch, 6)}
    given = (_image(batch, 4, size), _steps(batch), torch.randn(batch, 77, 2048))
    return _Sample(model), given, {"added_cond_kwargs": added}


def unconditional_unet(batch: int, size: int) -> Built:
    """google/ddpm-celebahq-256's UNet."""
    from diffusers import UNet2DModel

    model = UNet2DModel(
        in_channels=3,
        out_channels=3,
        layers_per_block=2,
        block_out_channels=(128, 128, 256, 256, 512, 512),
        down_block_types=(*["DownBlock2D"] * 4, "AttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "AttnUpBlock2D", *["UpBlock2D"] * 4),
    )
    return _Sample(model), (_image(batch, 3, size), _steps(batch)), {}


class _Decoder(nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, latent: Tensor) -> Any:
        return self.model.decode(latent, return_dict=False)[0]


class _Encoder(nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, image: Tensor) -> Any:
        return self.model.encode(image, return_dict=False)[0].mode()


def _autoencoder(channels: int) -> Any:
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        block_out_channels=(128, 256, 512, 512),
        layers_per_block=2,
        latent_channels=channels,
    )


def autoencoder_decode(batch: int, size: int) -> Built:
    """stabilityai/sd-vae-ft-mse, latents to images."""
    return _Decoder(_autoencoder(4)), (_image(batch, 4, size),), {}


def autoencoder_encode(batch: int, size: int) -> Built:
    """The autoencoder of FLUX.1, images to latents."""
    return _Encoder(_autoencoder(16)), (_image(batch, 3, 8 * size),), {}


def tiny_autoencoder(batch: int, size: int) -> Built:
    """madebyollin/taesd, latents to images."""
    from diffusers import AutoencoderTiny

    return _Decoder(AutoencoderTiny()), (_image(batch, 4, size),), {}


def flux(batch: int, size: int) -> Built:
    """black-forest-labs/FLUX.1-dev: two layers of either kind."""
    from diffusers import FluxTransformer2DModel

    model = FluxTransformer2DModel(num_layers=2, num_single_layers=2, guidance_embeds=True)
    tokens = (size // 2) ** 2
    return (
        _Sample(model),
        (),
        {
            "hidden_states": torch.randn(batch, tokens, 64),
            "encoder_hidden_states": torch.randn(batch, 512, 4096),
            "pooled_projections": torch.randn(batch, 768),
            "timestep": torch.rand(batch),
            "guidance": torch.rand(batch),
            "img_ids": torch.zeros(tokens, 3),
            "txt_ids": torch.zeros(512, 3),
        },
    )


def stable_diffusion_3(batch: int, size: int) -> Built:
    """stabilityai/stable-diffusion-3-medium."""
    from diffusers import SD3Transformer2DModel

    model = SD3Transformer2DModel(
        num_layers=2,
        attention_head_dim=64,
        num_attention_heads=24,
        caption_projection_dim=1536,
        pooled_projection_dim=2048,
        joint_attention_dim=4096,
        pos_embed_max_size=192,
    )
    given = {
        "hidden_states": _image(batch, 16, size),
        "encoder_hidden_states": torch.randn(batch, 154, 4096),
        "pooled_projections": torch.randn(batch, 2048),
        "timestep": _steps(batch),
    }
    return _Sample(model), (), given


def dit(batch: int, size: int) -> Built:
    """facebook/DiT-XL-2-256."""
    from diffusers import DiTTransformer2DModel

    model = DiTTransformer2DModel(num_layers=2, sample_size=size)
    given = {"timestep": _steps(batch), "class_labels": _steps(batch)}
    return _Sample(model), (_image(batch, 4, size),), given


def pixart(batch: int, size: int) -> Built:
    """PixArt-alpha/PixArt-XL-2-512x512."""
    from diffusers import PixArtTransformer2DModel

    model = PixArtTransformer2DModel(
        num_layers=2, sample_size=size, caption_channels=4096, use_additional_conditions=False
    )
    given = {"encoder_hidden_states": torch.randn(batch, 120, 4096), "timestep": _steps(batch)}
    return _Sample(model), (_image(batch, 4, size),), given


def sana(batch: int, size: int) -> Built:
    """Efficient-Large-Model/Sana_1600M: linear attention."""
    from diffusers import SanaTransformer2DModel

    model = SanaTransformer2DModel(num_layers=2, sample_size=size)
    given = {"encoder_hidden_states": torch.randn(batch, 300, 2304), "timestep": _steps(batch)}
    return _Sample(model), (_image(batch, 32, size),), given


def cogvideo(batch: int, size: int) -> Built:
    """THUDM/CogVideoX-2b: thirteen frames of latents."""
    from diffusers import CogVideoXTransformer3DModel

    model = CogVideoXTransformer3DModel(num_layers=2, sample_width=size, sample_height=size)
    given = {
        "hidden_states": torch.randn(batch, 13, 16, size, size),
        "encoder_hidden_states": torch.randn(batch, 226, 4096),
        "timestep": _steps(batch),
    }
    return _Sample(model), (), given


def hunyuan(batch: int, size: int) -> Built:
    """Tencent-Hunyuan/HunyuanDiT, at its class's defaults with four layers."""
    from diffusers import HunyuanDiT2DModel

    model = HunyuanDiT2DModel(
        num_layers=4, num_attention_heads=16, attention_head_dim=88, in_channels=4, patch_size=2,
        sample_size=size, hidden_size=1408, activation_fn="gelu-approximate",
        text_len=77, text_len_t5=256,
    )  # fmt: skip
    tokens = (size // 2) ** 2
    rotary = (torch.randn(tokens, 88), torch.randn(tokens, 88))
    given = {
        "timestep": torch.rand(batch),
        "encoder_hidden_states": torch.randn(batch, 77, 1024),
        "text_embedding_mask": torch.ones(batch, 77),
        "encoder_hidden_states_t5": torch.randn(batch, 256, 2048),
        "text_embedding_mask_t5": torch.ones(batch, 256),
        "image_meta_size": torch.randn(batch, 6),
        "style": _steps(batch),
        "image_rotary_emb": rotary,
    }
    return _Sample(model), (_image(batch, 4, size),), given


def controlnet(batch: int, size: int) -> Built:
    """lllyasviel/sd-controlnet-canny."""
    from diffusers import ControlNetModel

    class Middle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = ControlNetModel(cross_attention_dim=768)

        def forward(self, *args: Any) -> Any:
            return self.model(*args, return_dict=False)[1]

    given = (_image(batch, 4, size), _steps(batch), torch.randn(batch, 77, 768))
    return Middle(), (*given, _image(batch, 3, 8 * size)), {}


def prior(batch: int, size: int) -> Built:
    """kakaobrain/karlo-v1-alpha's prior over CLIP embeddings; ``size`` words."""
    from diffusers import PriorTransformer

    model = PriorTransformer(num_layers=2, num_embeddings=size)
    given = {
        "hidden_states": torch.randn(batch, 768),
        "timestep": _steps(batch),
        "proj_embedding": torch.randn(batch, 768),
        "encoder_hidden_states": torch.randn(batch, size, 768),
        "attention_mask": torch.ones(batch, size, dtype=torch.bool),
    }
    return _Sample(model), (), given
