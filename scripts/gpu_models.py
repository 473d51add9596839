"""Published models, four layers of each, for whole steps on a GPU: `gpu_steps.py` times them.

Each function returns a module and a function of it that gives the loss; widths, vocabularies and
image sizes are the published ones, batches are what a person runs on one GPU. Dropout is off, so
that every compiler has to come to the same loss. Made on torch's default device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Built = tuple[torch.nn.Module, dict[str, torch.Tensor]]


def words(batch: int, length: int, vocabulary: int) -> torch.Tensor:
    """Random tokens."""
    return torch.randint(0, vocabulary, (batch, length))


def language(config: Any, batch: int, length: int) -> Built:
    """A causal language model by its configuration."""
    from transformers import AutoModelForCausalLM

    config.use_cache = False
    tokens = words(batch, length, config.vocab_size)
    return AutoModelForCausalLM.from_config(config), {"input_ids": tokens, "labels": tokens}


def bert() -> Built:
    """BERT base."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        num_hidden_layers=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    tokens = words(16, 512, 30522)
    return BertForMaskedLM(config), {"input_ids": tokens, "labels": tokens}


def gpt2() -> Built:
    """GPT-2 small."""
    from transformers import GPT2Config

    return language(GPT2Config(n_layer=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0), 4, 512)


def llama() -> Built:
    """Llama 3.2 1B."""
    from transformers import LlamaConfig

    config = LlamaConfig(
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=4,
        num_attention_heads=32,
        num_key_value_heads=8,
        vocab_size=128256,
    )
    return language(config, 2, 1024)


def qwen2() -> Built:
    """Qwen2 0.5B."""
    from transformers import Qwen2Config

    config = Qwen2Config(
        hidden_size=896,
        intermediate_size=4864,
        num_hidden_layers=4,
        num_attention_heads=14,
        num_key_value_heads=2,
        vocab_size=151936,
    )
    return language(config, 2, 512)


def gemma2() -> Built:
    """Gemma 2 2B."""
    from transformers import Gemma2Config

    config = Gemma2Config(num_hidden_layers=4, vocab_size=256000)
    return language(config, 1, 512)


def mixtral() -> Built:
    """Mixtral with experts of a sixteenth of their size."""
    from transformers import MixtralConfig

    config = MixtralConfig(
        hidden_size=1024,
        intermediate_size=3584,
        num_hidden_layers=4,
        num_attention_heads=16,
        num_key_value_heads=4,
    )
    return language(config, 2, 512)


def mamba() -> Built:
    """Mamba 130M; its loop over tokens is unrolled by the tracer, so few tokens."""
    from transformers import MambaConfig

    return language(MambaConfig(num_hidden_layers=2), 8, 32)


def t5() -> Built:
    """T5 base."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        d_model=768, d_ff=3072, num_layers=4, num_decoder_layers=4, num_heads=12, dropout_rate=0.0
    )
    config.use_cache, config.decoder_start_token_id = False, 0
    tokens = words(8, 256, 32128)
    return T5ForConditionalGeneration(config), {"input_ids": tokens, "labels": tokens}


def images(model: torch.nn.Module, batch: int, size: int) -> Built:
    """A classifier of transformers with random images."""
    pixels = torch.randn(batch, 3, size, size, dtype=torch.bfloat16)
    return model, {"pixel_values": pixels, "labels": words(batch, 1, 2)[:, 0]}


def vit() -> Built:
    """ViT base, 16 × 16 patches."""
    from transformers import ViTConfig, ViTForImageClassification

    return images(ViTForImageClassification(ViTConfig(num_hidden_layers=4)), 32, 224)


def swin() -> Built:
    """Swin tiny."""
    from transformers import SwinConfig, SwinForImageClassification

    return images(SwinForImageClassification(SwinConfig(drop_path_rate=0.0)), 32, 224)


def convnext() -> Built:
    """ConvNeXt tiny."""
    from transformers import ConvNextConfig, ConvNextForImageClassification

    return images(ConvNextForImageClassification(ConvNextConfig()), 32, 224)


def resnet() -> Built:
    """ResNet-50."""
    from transformers import ResNetConfig, ResNetForImageClassification

    return images(ResNetForImageClassification(ResNetConfig()), 32, 224)


def mobilenet() -> Built:
    """MobileNetV2."""
    from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

    config = MobileNetV2Config(classifier_dropout_prob=0.0)
    return images(MobileNetV2ForImageClassification(config), 32, 224)


def segformer() -> Built:
    """SegFormer B0."""
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    config = SegformerConfig(
        drop_path_rate=0.0, classifier_dropout_prob=0.0, hidden_dropout_prob=0.0
    )
    model, inputs = images(SegformerForSemanticSegmentation(config), 8, 512)
    inputs["labels"] = torch.randint(0, 2, (8, 512, 512))
    return model, inputs


def whisper() -> Built:
    """Whisper base."""
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(d_model=512, encoder_layers=4, decoder_layers=4, use_cache=False)
    config.encoder_attention_heads = config.decoder_attention_heads = 8
    config.encoder_ffn_dim = config.decoder_ffn_dim = 2048
    sound = torch.randn(4, 80, 3000, dtype=torch.bfloat16)
    model = WhisperForConditionalGeneration(config)
    return model, {"input_features": sound, "labels": words(4, 128, 51865)}


def hubert() -> Built:
    """HuBERT base, one second and a half of sound."""
    from transformers import HubertConfig, HubertForSequenceClassification

    config = HubertConfig(
        num_hidden_layers=4,
        mask_time_prob=0.0,
        layerdrop=0.0,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        feat_proj_dropout=0.0,
    )
    sound = torch.randn(8, 24000, dtype=torch.bfloat16)
    model = HubertForSequenceClassification(config)
    return model, {"input_values": sound, "labels": words(8, 1, 2)[:, 0]}


class Denoiser(torch.nn.Module):
    """A diffusion UNet with the loss that it is trained by."""

    def __init__(self) -> None:
        from diffusers import UNet2DModel

        super().__init__()
        self.unet = UNet2DModel(
            sample_size=64,
            layers_per_block=1,
            block_out_channels=(128, 256, 256),
            down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"),
        )

    def forward(self, noisy: torch.Tensor, labels: torch.Tensor) -> Any:
        """The mean squared error of the noise that is found."""
        found = self.unet(noisy, torch.full((len(noisy),), 7, device=noisy.device)).sample
        return torch.nn.functional.mse_loss(found, labels)


def unet() -> Built:
    """A diffusion UNet over 64 × 64 images."""
    noisy, noise = torch.randn(2, 16, 3, 64, 64, dtype=torch.bfloat16)
    return Denoiser(), {"noisy": noisy, "labels": noise}


MODELS: dict[str, Callable[[], Built]] = {
    made.__name__: made
    for made in (
        bert,
        gpt2,
        llama,
        qwen2,
        gemma2,
        mixtral,
        mamba,
        t5,
        vit,
        swin,
        convnext,
        resnet,
        mobilenet,
        segformer,
        whisper,
        hubert,
        unet,
    )
}
