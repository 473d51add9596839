"""Masks that attention reads along keys."""

from __future__ import annotations

import operator

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


def told(change: str = "") -> str:
    """The code of attention with a mask of positions, as transformers makes it for an encoder."""
    graph = fx.Graph()
    q, added = graph.placeholder("q"), 0
    if change == "an input":
        added = graph.placeholder("added")
    start = torch.rand if change == "drawn" else torch.arange
    at = graph.call_function(operator.add, (graph.call_function(start, (8,)), added))
    rows = graph.call_function(operator.getitem, (at, (None, None, slice(None), None)))
    kept = graph.call_function(operator.ge, (rows, 1 if change == "a row" else 0))
    mask = graph.call_method("expand", (kept, 2, -1, 8, 8))
    if change == "written":
        graph.call_function(operator.setitem, (rows, 0, -1))
    graph.output(graph.call_function(scaled_dot_product_attention, (q, q, q), {"attn_mask": mask}))
    gm = fx.GraphModule({}, graph)
    dense_masks(gm)
    return gm.code


def test_a_mask_of_positions_that_masks_nothing_is_left_out() -> None:
    """For a mask torch takes a kernel of half the speed."""
    assert "attn_mask = None" in told()
    for change in ("a row", "an input", "drawn", "written"):
        assert "attn_mask = expand" in told(change)
