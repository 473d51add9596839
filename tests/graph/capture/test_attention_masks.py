"""Masks that attention reads along keys."""

from __future__ import annotations

import torch
from torch import fx
from torch._subclasses import FakeTensorMode
from torch.nn.functional import scaled_dot_product_attention

from harness.graph.capture.attention import dense_masks


def attending(stride: tuple[int, ...], device: str) -> str:
    """The code of a module as ``torch.compile`` hands it on, with a mask of these strides."""
    graph = fx.Graph()
    q, mask = graph.placeholder("q"), graph.placeholder("mask")
    with FakeTensorMode():
        made = torch.empty_strided((2, 1, 8, 8), stride, dtype=torch.bool, device=device)
    mask.meta["example_value"] = made
    attended = graph.call_function(
        scaled_dot_product_attention, (q, q, q), {"attn_mask": mask, "dropout_p": 0.0}
    )
    graph.output((attended, mask))
    gm = fx.GraphModule({}, graph)
    dense_masks(gm)
    return gm.code


def test_a_mask_expanded_along_keys_or_transposed_is_made_dense() -> None:
    assert "mask.contiguous()" in attending((8, 8, 1, 0), "cuda")
    assert "mask.contiguous()" in attending((1, 64, 16, 2), "cuda")  # T5's relative positions
    code = attending((0, 0, 0, 0), "cuda")
    assert "attn_mask = contiguous" in code and "return (" in code


def test_other_masks_are_left_alone() -> None:
    assert "contiguous" not in attending((64, 64, 8, 1), "cuda")
    assert "contiguous" not in attending((8, 8, 1, 0), "cpu")
