"""Heads of transformers at small configurations, with random inputs, and whether results are
right: for ``scripts/heads.py``."""

from __future__ import annotations

import contextlib
import copy
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import transformers
from torch.utils import _pytree as pytree

from harness.graph.capture.providers import Target, build

MOST_PARAMETERS = 60e6
AGREEING = 4
"""The level behind those of ``smaller``."""
CAPS = (
    (r"(?<!t2u_)vocab_size|^n_words$", 256), (r"(layers?|n_layer|depth|num_blocks)$", 2),
    (r"experts_per_tok|top_k$|moe_k$", 2), (r"n_group|topk_group", 1), (r"experts$", 4),
    (r"key_value_heads|kv_heads", 2), (r"heads?$", 4), (r"qk_head_dim|lora_rank", 32),
    (r"head_dim", 16), (r"intermediate|ffn|d_ff|mlp_dim", 96), (r"max_source_positions", 64),
    (r"hidden_size|hidden_dim|d_model|n_embd|embed_dim|embedding_size|projection_dim", 64),
    (r"^emb_dim$", 64),
)  # fmt: skip
"""What an option is called, and what it is at most."""
RESNET = {
    "model_type": "resnet", "embedding_size": 8, "hidden_sizes": [8, 16, 24, 32],
    "depths": [1, 1, 1, 1], "layer_type": "basic", "out_indices": [1, 2, 3, 4],
}  # fmt: skip
GIVEN: Mapping[str, Any] = {
    "head_dim": 16, "vocab_size": 256, "num_key_value_heads": 2, "n_routed_experts": 4,
    "n_shared_experts": 1, "n_group": 1, "topk_group": 1,
    "layer_types": ["full_attention", "full_attention"], "default_language": "en_XX",
    "sliding_window": 16,
}  # fmt: skip
AGREED: Mapping[str, Any] = {
    "num_codebooks": 1, "num_kv_shared_layers": 0, "num_queries": 4,
    "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_ssm": 128, "per_layer_config": None,
}  # fmt: skip
"""What some heads do not run without: options that have no default, and those that have to agree
with others that are smaller here."""
ROPE = {"rope_type": "default", "rope_theta": 10000.0}
WIDTHS = re.compile(r"hidden_sizes|_channels|embed_dims|^dims|conv_dim")


def smaller(defaults: Mapping[str, Any], level: int) -> dict[str, Any]:
    """The options of a configuration that are smaller, in nested ones too. At ``level`` 0 all, at 1
    no list of widths, and wider heads, at 2 only layers, experts and words, at 3 all but layers."""
    heads = {v for k, v in defaults.items() if k.endswith("attention_heads") and type(v) is int}
    layers = {v for k, v in defaults.items() if re.search(CAPS[1][0], k) and type(v) is int}
    found: dict[str, Any] = {}
    for key, value in defaults.items():
        if isinstance(value, dict) and "timm" in str(value.get("model_type")):
            found[key] = RESNET  # the library's own, for a backbone of another library
        elif isinstance(value, dict) and not any(type(k) is int for k in value):
            found |= {key: {**value, **nested}} if (nested := smaller(value, level)) else {}
        elif level < 3 and isinstance(value, list) and "layer" in key and 2 < len(value) in layers:
            found[key] = value[:2]
        elif isinstance(value, list) and all(type(v) is int for v in value):
            found[key] = _shorter(key, value, level)
        elif key == "image_size" and level != 2 and type(value) is int:
            found[key] = 4 * p if type(p := defaults.get("patch_size")) is int else 64
        elif key == "num_experts_per_tok" and value is None:
            found[key] = 2
        elif type(value) is int:
            alone = key.startswith("num_key_value") and value in heads
            found[key] = min(value, _cap(key, value, level) * (1 + alone))
    return {key: value for key, value in found.items() if value != defaults[key]}


def agreeing(defaults: Mapping[str, Any]) -> dict[str, Any]:
    """As ``smaller`` at level 0, with what is ``GIVEN`` and with what has to agree with others; for
    heads that do not run without."""
    found = smaller(defaults, 0)
    layers = defaults.get("num_hidden_layers")
    for key, value in defaults.items():
        if key in AGREED:
            found[key] = AGREED[key]
        elif key in GIVEN and value is None:
            found[key] = GIVEN[key]
        elif isinstance(value, list) and len(value) == layers:
            found[key] = [value[0], value[-1]]
        elif isinstance(value, dict) and key in ("text_config", "vision_config", "decoder"):
            found[key] = {**value, **agreeing(value)}
        elif key == "rope_parameters" and str(defaults.get("model_type")).startswith(
            ("glm", "hunyuan_vl")
        ):
            found[key] = {**(value or {}), "mrope_section": [2, 3, 3]}
        elif key == "rope_parameters" and value == {}:
            found[key] = dict.fromkeys(defaults.get("layer_types") or (), ROPE) or ROPE
    if "expand" in defaults and "num_heads" in defaults:
        found |= {"num_heads": 8, "head_dim": 16}
    return found


def _cap(key: str, value: int, level: int) -> int:
    if key.endswith(("token_id", "token_index")) and value > 255:
        return 10 + sum(map(ord, key)) % 50
    caps = (CAPS, CAPS, CAPS[:5], CAPS[:1] + CAPS[2:])[level]
    most = next((cap for pattern, cap in caps if re.search(pattern, key)), value)
    return most * 8 if level == 1 and most in (16, 32, 64, 96) else most


def _shorter(key: str, value: list[int], level: int) -> list[int]:
    if key == "mrope_section" and not level:
        return [2, 3, 3]
    if key == "depths":
        return [min(v, 2) for v in value]
    widths = re.search(WIDTHS, key) and not level
    return [max(8, v // 64 * 8) if v > 8 else v for v in value] if widths else value


def made(
    name: str, training: bool, runs: Callable[[Any, Mapping[str, Any]], object]
) -> tuple[Any, dict[str, Any]]:
    """A head and its inputs, on a CPU, at the smallest configuration that the library builds and
    that ``runs`` (it is called with a copy of both). Raises what the library says."""
    defaults = getattr(transformers, name).config_class().to_dict()
    said: list[Exception] = []
    tries = [(n, m) for n in range(4) for m in (training, False)][:: 2 - training]
    for level, labels in [*tries, (AGREEING, training)]:
        torch.manual_seed(0)
        options, sizes = _options(defaults, level)
        target = Target("transformers", name, tuple({**options, **sizes}.items()))
        try:
            _require_small(target, labels)
            example = build(target, labels)
            model = example.function.model.float()  # type: ignore[attr-defined]
            needed = _needed(model, sizes["image"], sizes["seq"], level == AGREEING)
            inputs = {
                k: _random(k, v, model.config) for k, v in {**needed, **example.kwargs}.items()
            }
            runs(copy.deepcopy(model), inputs)
        except Exception as error:  # noqa: BLE001 - whatever the library raises
            said.append(error)
        else:
            return model, _with_images(model, inputs, runs)
    raise next((error for error in reversed(said) if "60 million" not in str(error)), said[0])


def _options(defaults: Mapping[str, Any], level: int) -> tuple[dict[str, Any], dict[str, int]]:
    """The options of a configuration, and its sizes: batch, words, side of an image."""
    if level != AGREEING:
        return smaller(defaults, level), {"batch": 2, "seq": 32, "image": (64, 112, 224, 64)[level]}
    options = agreeing(defaults)
    seen, text = options.get("vision_config") or options, defaults.get("text_config") or defaults
    side, words = seen.get("image_size"), text.get("max_position_embeddings")
    image = side if type(side) is int else 64
    return options, {"batch": 2, "seq": min(32, words or 32), "image": image}


def _require_small(target: Target, labels: bool) -> None:
    """Raises ``ValueError`` if the model is large, before it has memory."""
    try:
        with torch.device("meta"):
            parameters = size(build(target, labels).function.model)  # type: ignore[attr-defined]
    except (RuntimeError, NotImplementedError):
        return  # it looks at its numbers while it is built
    if parameters > MOST_PARAMETERS:
        raise ValueError("more than 60 million parameters")


def _needed(model: Any, image: int, seq: int, optional: bool) -> dict[str, torch.Tensor]:
    """What a head does not run without, besides its main input; images and words also where they
    are ``optional``."""
    takes = inspect.signature(model.forward).parameters
    pixels, words = torch.randn(2, 3, image, image), torch.zeros(2, seq, dtype=torch.int64)
    known = {"pixel_values": pixels, "input_ids": words, "qformer_input_ids": words}
    empty = inspect.Parameter.empty
    found = {k: v for k, v in known.items() if k in takes and takes[k].default is empty}
    optional &= "image_grid_thw" not in takes  # such heads take images as rows of patches
    return {k: v for k, v in known.items() if optional and k in takes} | found


def _images(config: Any) -> Iterator[dict[str, torch.Tensor]]:
    """Two images in the forms that heads of text and images take them in."""
    vision = config.vision_config
    side = getattr(vision, "image_size", None) or 64
    pixels = {"pixel_values": torch.randn(2, 3, side, side)}
    yield pixels
    yield {**pixels, "image_sizes": torch.tensor([[side, side]] * 2)}
    width = 3 * getattr(vision, "temporal_patch_size", 1) * vision.patch_size**2
    yield {"pixel_values": torch.randn(32, width), "image_grid_thw": torch.tensor([[1, 4, 4]] * 2)}


def _with_images(
    model: Any, inputs: dict[str, Any], runs: Callable[[Any, Mapping[str, Any]], object]
) -> dict[str, Any]:
    """The inputs with an image before each text, where the library takes one; else as they are."""
    config, ids = model.config, inputs.get("input_ids")
    token = getattr(config, "image_token_id", None) or getattr(config, "image_token_index", None)
    if ids is None or token is None or "pixel_values" in inputs:
        return inputs
    try:
        for images in _images(config):
            with contextlib.suppress(Exception):  # the library takes another form
                seen = copy.deepcopy(model).get_image_features(**images)
                rows = pytree.tree_leaves(getattr(seen, "pooler_output", seen))
                count = sum(row.numel() // row.shape[-1] for row in rows) // len(ids)
                before = torch.full((len(ids), count), token)
                texts = [k for k, v in inputs.items() if v.shape == ids.shape]
                longer = {k: torch.cat([before, inputs[k]], 1) for k in texts}
                longer["attention_mask"] = torch.ones_like(longer["input_ids"])
                given = {**inputs, **images, **longer}
                if "mm_token_type_ids" in inspect.signature(model.forward).parameters:
                    given["mm_token_type_ids"] = (given["input_ids"] == token).int()
                runs(copy.deepcopy(model), given)
                return given
    except (AttributeError, TypeError):
        pass
    return inputs


def size(model: torch.nn.Module) -> int:
    """How many parameters it has."""
    return sum(p.numel() for p in model.parameters())


def _random(name: str, value: Any, config: Any) -> Any:
    if name == "attention_mask" or value.is_floating_point():
        return value
    words = getattr(config.get_text_config(decoder=True), "vocab_size", None) or 256
    if "label" in name and value.dim() == 1:
        words = getattr(config, "num_labels", 2)
    if "label" in name and value.dim() == 3:
        words = 2
    return torch.randint(min(64, words // 2), words, value.shape)


def unequal(
    wanted: Mapping[str, Any], found: Mapping[str, Any], wide: Mapping[str, Any], slack: float = 64
) -> str:
    """What is wrong with the results ``found``, by those of eager mode and of float64; where there
    is none of float64, ``slack`` roundings at a tensor's scale are allowed."""
    if wanted.keys() != found.keys():
        return f"other results: {sorted(wanted.keys() ^ found.keys())[:4]}"
    eps = torch.finfo(torch.float32).eps
    scales = {k: float(v.double().abs().nan_to_num(0, 0, 0).max()) for k, v in wanted.items()}
    floating = [k for k, v in wanted.items() if v.is_floating_point()]
    floor = 4 * eps * max((scales[k] for k in floating), default=0.0)
    for name, scale in scales.items():
        a, b = found[name].double(), wanted[name].double()
        w = wide[name].double() if name in wide and wide[name].shape == b.shape else b
        if a.shape != b.shape or wanted[name].dtype != found[name].dtype:
            return f"{name}: {found[name].dtype} {tuple(a.shape)}, not {tuple(b.shape)}"
        same = (a == b) | ((a != a) & (b != b)) | (a == w)
        if not wanted[name].is_floating_point():
            if not bool((same | (b != w)).all()):
                return f"{name}: {int((~same).sum())} of {same.numel()} differ"
            continue
        own = (b - w).abs().nan_to_num(0, 0, 0).max()
        allowed = 8 * own + (slack if w is b else 16) * eps * scale + floor
        if not bool((same | ((a - w).abs() <= allowed)).all()):
            off = (a - w).abs()[~same].max()
            return f"{name}: off by {float(off):.3g}, eager by {float(own):.3g}, of {scale:.3g}"
    return ""
