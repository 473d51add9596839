"""What models of libraries are given so that they can be captured as they are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from harness.dtypes import DType
from harness.graph.capture import providers
from harness.graph.capture.capture import CaptureOptions, capture
from harness.graph.capture.providers import build, parse_target


@pytest.mark.parametrize(
    "target",
    [
        # image_size is a pair by default
        "YolosForObjectDetection?hidden_size=32&num_attention_heads=2&intermediate_size=32",
        # lists of the layers' kinds in a nested configuration
        "Gemma3ForConditionalGeneration?seq=8",
        "VJEPA2ForVideoClassification?crop_size=32&frames_per_clip=2&hidden_size=32"
        "&num_attention_heads=2&pred_hidden_size=24&pred_num_attention_heads=2&image=32",
    ],
)
def test_heads_of_transformers_with_fewer_layers(target):
    pytest.importorskip("transformers")
    options = CaptureOptions("inference", DType.F32, "model", {"layers": 1})
    (graph,) = capture(f"transformers:{target}", options)
    assert graph.outputs and len(graph.nodes) > 50


def test_stages_are_not_layers_and_lists_of_layers_are_cut():
    stages = {"num_layers": 4, "depths": [2, 2, 6, 2], "stage_names": ["a"] * 5}
    assert providers._fewer_layers(stages, 2) == {}
    layers = {"num_hidden_layers": 4, "layer_types": list("abcd"), "sizes": [1, 2, 3, 4]}
    found = providers._fewer_layers({"text_config": layers}, 2)
    assert found["text_config"] == {
        "num_hidden_layers": 2,
        "layer_types": ["a", "b"],
        "sizes": [1, 2, 3, 4],
    }


class Particular(nn.Module):
    """A model with a part that has no attention of torch's own."""

    def __init__(self, config):
        super().__init__()
        if config._attn_implementation != "eager":
            raise ValueError("Part does not support an attention implementation through sdpa yet.")


def test_attention_that_a_part_lacks_is_made_of_operators_unless_it_was_asked_for():
    config = SimpleNamespace()
    assert providers._with_attention(Particular, config, "sdpa", asked=False)
    assert config._attn_implementation == "eager"
    with pytest.raises(ValueError, match="does not support"):
        providers._with_attention(Particular, config, "sdpa", asked=True)


class Several(nn.Module):
    """As torchvision's: several results, of every pixel."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.first = kind, nn.Conv2d(3, 5, 1)

    def forward(self, images):
        logits = self.first(images)
        return {"out": logits, "aux": -logits} if self.kind == "named" else (logits, -logits)


@pytest.mark.parametrize("kind", ["named", "listed"])
def test_image_models_with_several_results_and_pixels(kind, monkeypatch):
    asked = {}

    def several(*, weights_backbone="downloaded"):
        asked["weights"] = weights_backbone
        return Several(kind)

    models = SimpleNamespace(
        list_models=lambda: ["several"],
        get_model_builder=lambda _: several,
        get_model=lambda _, **options: several(**options),
    )
    monkeypatch.setattr(providers, "library", lambda _: models)
    example = build(parse_target("torchvision:several?batch=2&image=4"), True)
    assert asked["weights"] is None
    images, labels = example.args
    logits = example.function.model.first(images)
    wanted = nn.functional.cross_entropy(logits, labels.new_zeros(2, 4, 4))
    assert torch.equal(example.function(images, labels), wanted)
    assert torch.equal(example.function(images), logits)
