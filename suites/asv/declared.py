"""What asv measures: declarations only. ``docs/asv.md`` says how to choose less of it."""

from __future__ import annotations

from suites.tracking.measure import Wanted, open_cuda
from suites.tracking.overlay import asked_patterns

WANTED = Wanted(
    graphs=(
        "llama_block_forward",
        "llama_block_backward",
        "bert_layer_forward",
        "bert_layer_backward",
        "gpt2_forward",
        "gpt2_backward",
        "t5_block_forward",
        "t5_block_backward",
        "vit_forward",
        "vit_backward",
        "resnet50_forward",
        "resnet50_backward",
        "convnext_forward",
        "convnext_backward",
        "unet_up_block_forward",
        "moe_router_forward",
        "moe_router_backward",
        "adamw_step",
        "fp8_rowwise_forward",
        "channels_last_forward",
        "image_preprocess_forward",
        *asked_patterns(),
    ),
    open_device=open_cuda,
)
