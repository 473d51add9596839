"""Heads of transformers at small configurations, and what is said of their results."""

import pytest
import torch

transformers = pytest.importorskip("transformers")

from scripts.heads import heads, results  # noqa: E402
from suites.building.heads import made, size, smaller, unequal  # noqa: E402


def test_the_librarys_heads_are_listed() -> None:
    found = heads(["Llama*"])
    assert "LlamaForCausalLM" in found
    assert "LlamaModel" not in found
    assert len(heads([])) > 359


def test_a_configuration_is_made_smaller_in_nested_ones_too() -> None:
    defaults = {
        "num_hidden_layers": 40,
        "eos_token_id": 50_000,
        "text_config": {"num_attention_heads": 32, "num_key_value_heads": 32, "rope": 3.0},
        "layer_types": ["full"] * 40,
    }
    found = smaller(defaults, 0)
    assert found["num_hidden_layers"] == 2
    assert found["eos_token_id"] < 64
    assert found["layer_types"] == ["full"] * 2
    # as many heads of keys as of queries stay as many
    assert found["text_config"] == {"num_attention_heads": 4, "num_key_value_heads": 4, "rope": 3.0}


def test_a_head_has_random_words_and_gives_its_gradients() -> None:
    model, inputs = made("LlamaForCausalLM", True, lambda *_: None)
    assert size(model) < 1_000_000
    assert inputs["input_ids"].unique().numel() > 16
    assert inputs["labels"].unique().numel() > 16
    found = results(model, inputs, True)
    assert found["loss"].isfinite()
    assert "lm_head.weight" in found


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("MinistralForCausalLM", "head_dim", 16),
        ("Mamba2ForCausalLM", "num_heads", 8),
        ("FalconH1ForCausalLM", "mamba_d_ssm", 128),
        ("XmodForCausalLM", "default_language", "en_XX"),
        ("XLMWithLMHeadModel", "n_words", 256),
        ("CohereCompassForCausalLM", "hidden_size", 64),
        ("Dots3NoteForCausalLM", "hidden_size", 64),
        ("AriaForConditionalGeneration", "projector_patch_to_query_dict", {1225: 128, 4900: 256}),
    ],
)
def test_options_agree_where_a_head_does_not_run_without(
    name: str, option: str, value: object
) -> None:
    model, inputs = made(name, False, lambda head, given: head(**given))
    assert getattr(model.config, option) == value
    assert inputs["input_ids"].shape == (2, 32)


def test_images_are_rows_of_patches_where_a_head_takes_them_so() -> None:
    _, inputs = made("Glm4vForConditionalGeneration", False, lambda head, given: head(**given))
    assert inputs["pixel_values"].shape == (32, 1176)
    assert inputs["image_grid_thw"].tolist() == [[1, 4, 4], [1, 4, 4]]
    assert inputs["input_ids"].shape == (2, 36)


def test_a_result_is_judged_by_float64() -> None:
    wide = {"x": torch.linspace(1, 2, 9, dtype=torch.float64)}
    eager = {"x": wide["x"].float()}
    assert not unequal(eager, {"x": eager["x"] * (1 + 1e-7)}, wide)
    assert "off by" in unequal(eager, {"x": eager["x"] * 1.001}, wide)
    assert "off by" in unequal(eager, {"x": eager["x"] * float("nan")}, wide)
    assert "other results" in unequal(eager, {}, wide)
    places = {"i": torch.arange(3)}
    assert "differ" in unequal(places, {"i": torch.arange(3) + 1}, places)
