"""Where models come from: ``package.module:callable`` and the named model libraries.

A target is text: ``transformers:LlamaForCausalLM?num_hidden_layers=1``. What stands
before the colon is a provider or a Python module, what follows ``?`` are options. The
libraries are optional; nothing is downloaded and no weight is loaded.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl

import torch

from harness.errors import CaptureFailed, UsageError, reason, unknown

PROVIDERS = ("transformers", "timm", "torchvision", "diffusers")
"""Libraries that are named in a target in place of a Python module."""

_EXTRA = "install the optional capture libraries: pip install 'harness[capture]'"
_MATCHING = "install it with the torchvision made for this version of torch: pip install {}"
_INSTALL = {
    "transformers": _EXTRA,
    "diffusers": _EXTRA,
    "timm": _MATCHING.format("timm torchvision"),
    "torchvision": _MATCHING.format("torchvision"),
}


@dataclass(frozen=True)
class Target:
    """A parsed target."""

    provider: str
    name: str
    options: tuple[tuple[str, Any], ...]

    @property
    def text(self) -> str:
        """The target as one would type it."""
        query = "&".join(f"{key}={value}" for key, value in self.options)
        return f"{self.provider}:{self.name}" + (f"?{query}" if query else "")


@dataclass(frozen=True)
class Example:
    """What a provider built: something to call, and what to call it with."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    prefix: str = ""
    """Attribute path that is left out of parameter names and module paths."""


def parse_target(text: str, options: Iterable[tuple[str, Any]] = ()) -> Target:
    """Take a target apart; ``options`` are added to, and win over, those in the text."""
    head, _, query = text.partition("?")
    provider, colon, name = head.partition(":")
    if not colon or not provider or not name:
        raise UsageError(
            "not a capture target",
            got=repr(text),
            expected="package.module:callable or provider:Model?option=value",
            remedy="e.g. transformers:LlamaForCausalLM?num_hidden_layers=1",
        )
    merged = {key: _literal(value) for key, value in parse_qsl(query, keep_blank_values=True)}
    merged.update(options)
    return Target(provider, name, tuple(merged.items()))


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def build(target: Target, training: bool) -> Example:
    """Build the target's model and example inputs; call under fake tensors."""
    builders: dict[str, Callable[[Target, bool], Example]] = {
        "transformers": _transformers,
        "timm": _timm,
        "torchvision": _torchvision,
        "diffusers": _diffusers,
    }
    return builders.get(target.provider, _python)(target, training)


def library(name: str) -> ModuleType:
    """Import an optional library, or say how to get it."""
    try:
        return importlib.import_module(name)
    except (ImportError, RuntimeError) as error:
        raise CaptureFailed(
            f"the library {name} cannot be imported",
            got=reason(error),
            expected="an installed library",
            remedy=_INSTALL.get(name, f"install it: pip install {name}"),
        ) from None


def _take(options: dict[str, Any], key: str, default: int) -> int:
    value = options.pop(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"option {key} is not a size", got=repr(value), expected="1 or more")
    return value


def _reject_unknown(options: Iterable[str], known: Iterable[str], what: str) -> None:
    allowed = sorted(known)
    for name in options:
        if name not in allowed:
            remedy = f"options: {', '.join(allowed)}"
            raise unknown(f"{what} has no option {name}", name, allowed, remedy=remedy)


def _member(module: ModuleType, name: str) -> Any:
    try:
        found = getattr(module, name)
    except AttributeError:
        public = [known for known in dir(module) if not known.startswith("_")]
        what, remedy = f"{module.__name__} has no {name}", "is it another version of the library?"
        raise unknown(what, name, public, remedy=remedy) from None
    if not callable(found):
        raise UsageError(f"{module.__name__}.{name} is not callable", got=type(found).__name__)
    return found


def _python(target: Target, _training: bool) -> Example:
    """Call a user's function: it returns (module or function, args[, kwargs])."""
    function = _member(_user_module(target.provider), target.name)
    signature, given = inspect.signature(function), dict(target.options)
    if not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        _reject_unknown(given, signature.parameters, f"{target.provider}:{target.name}")
    try:
        signature.bind(**given)
    except TypeError as error:
        raise UsageError(
            f"{target.provider}:{target.name} needs more options",
            got=str(error),
            remedy=f"add it: {target.provider}:{target.name}?NAME=VALUE",
        ) from None
    match function(**given):
        case (found, tuple() | list() as args) if callable(found):
            return Example(found, tuple(args), {})
        case (found, tuple() | list() as args, dict() as kwargs) if callable(found):
            return Example(found, tuple(args), kwargs)
        case other:
            raise CaptureFailed(
                f"{target.provider}:{target.name} returned something else than a model",
                got=type(other).__name__,
                expected="(module or function, args) or (module or function, args, kwargs)",
            )


def _user_module(name: str) -> ModuleType:
    """Import a user's module, from the working directory as ``python -m`` would."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever the user's code raises
        top = name.partition(".")[0]
        missing = isinstance(error, ModuleNotFoundError) and error.name in (name, top)
        if not missing:
            raise CaptureFailed(
                f"the module {name} cannot be imported",
                got=reason(error),
                expected="a module that imports without an error",
                remedy=f'see where it fails: python -c "import {name}"',
            ) from error
        names = (*PROVIDERS, *sorted(path.stem for path in Path.cwd().glob("*.py")))
        remedy = "run the command in the folder of the module, or put that on PYTHONPATH"
        what = f"no module {name}, and no provider of that name"
        raise unknown(what, name, names, remedy=remedy, most=len(PROVIDERS)) from None


class _First(torch.nn.Module):
    """A model whose result is one tensor: the loss if there is one, else its first."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, **inputs: Any) -> Any:
        """Call the model with keyword arguments."""
        result = self.model(**inputs)
        if isinstance(result, torch.Tensor):
            return result
        loss = getattr(result, "loss", None)
        return result[0] if loss is None else loss


def _transformers(target: Target, training: bool) -> Example:
    """A model class of transformers, built from its configuration class."""
    cls = _member(library("transformers"), target.name)
    options = dict(target.options)
    batch, seq = _take(options, "batch", 1), _take(options, "seq", 128)
    has_sdpa = getattr(cls, "_supports_sdpa", False)
    attention = options.pop("attn_implementation", "sdpa" if has_sdpa else "eager")
    image = _take(options, "image", 224)
    layers = _take(options, "layers", 1) if "layers" in options else None
    config_class = getattr(cls, "config_class", None)
    if config_class is None:
        raise UsageError(f"transformers:{target.name} is not a model class")
    defaults = config_class().to_dict()
    if layers is not None:
        options = {**_fewer_layers(defaults, layers), **options}
    known = set(defaults)
    if "image_size" in known:
        pair = isinstance(defaults["image_size"], list | tuple)
        options.setdefault("image_size", [image, image] if pair else image)
    known |= {"batch", "seq", "image", "layers", "attn_implementation", "num_labels"}
    _reject_unknown(options, known, f"transformers:{target.name}")
    config = config_class(**{k: list(v) if isinstance(v, tuple) else v for k, v in options.items()})
    for key, value in config.to_dict().items():  # nothing is dropped but at rates asked for
        if "drop" in key and isinstance(value, float) and key not in options:
            setattr(config, key, 0.0)
    if hasattr(config, "use_cache"):
        config.use_cache = False
    if getattr(config, "pad_token_id", 0) is None:
        config.pad_token_id = 0  # classifiers of sequences look for it
    model = _with_attention(cls, config, attention, "attn_implementation" in dict(target.options))
    side = options.get("image_size", image)
    sizes = {"batch": batch, "seq": seq, "image": side[0] if isinstance(side, list) else side}
    return Example(_First(model), (), _model_inputs(model, config, sizes, training), "model")


def _with_attention(cls: Any, config: Any, attention: str, asked: bool) -> Any:
    """The model with that attention, or, where it was not ``asked`` for and a part of the model has
    none, with torch's operators in its place."""
    config._attn_implementation = attention
    try:
        return cls(config)
    except ValueError as error:
        if asked or "does not support an attention implementation" not in str(error):
            raise
        config._attn_implementation = "eager"
        return cls(config)


_LAYERS = (
    *("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"),
    *("decoder_layers", "num_encoder_layers", "num_decoder_layers"),
)
"""What configurations call the number of their layers."""


def _fewer_layers(defaults: Mapping[str, Any], most: int) -> dict[str, Any]:
    """The options that leave at most that many layers, in nested configurations too; lists that
    say something of each layer are cut with them. Stages are not layers."""
    fewer: dict[str, Any] = {}
    counts = {v for k, v in defaults.items() if k in _LAYERS and isinstance(v, int)}
    for key, value in defaults.items():
        if key in _LAYERS and isinstance(value, int) and "depths" not in defaults:
            fewer |= {key: most} if value > most else {}
        elif "layer" in key and isinstance(value, list) and most < len(value) in counts:
            fewer[key] = value[:most]
        elif key.endswith("_config") and key != "backbone_config" and isinstance(value, dict):
            nested = _fewer_layers(value, most)
            if nested:
                fewer[key] = {**value, **nested}
    return fewer


def _model_inputs(
    model: Any, config: Any, sizes: dict[str, int], training: bool
) -> dict[str, torch.Tensor]:
    accepts = inspect.signature(model.forward).parameters
    main = model.main_input_name
    batch, seq, image = sizes["batch"], sizes["seq"], sizes["image"]
    ids = torch.zeros(batch, seq, dtype=torch.int64)
    inputs: dict[str, torch.Tensor] = {}
    if main == "pixel_values":
        frames = [config.num_frames] if hasattr(config, "num_frames") else []
        inputs[main] = torch.randn(batch, *frames, getattr(config, "num_channels", 3), image, image)
    elif main == "pixel_values_videos":
        count = getattr(config, "num_frames", 0) or getattr(config, "frames_per_clip", 8)
        inputs[main] = torch.randn(batch, count, 3, image, image)
    elif main == "input_ids":
        inputs[main] = ids
        if "attention_mask" in accepts:
            inputs["attention_mask"] = torch.ones_like(ids)
    elif main in ("input_values", "input_features"):
        hears = getattr(config, "encoder_config", None) or config
        inputs[main] = torch.randn(batch, *_sound(hears, seq))
    else:
        raise CaptureFailed(
            f"no example inputs are known for a model whose main input is {main}",
            expected="input_ids, pixel_values, pixel_values_videos, input_values or input_features",
            remedy="write a function that builds the inputs: package.module:callable",
        )
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in accepts:
        inputs["decoder_input_ids"] = ids
    if training:
        shape = _labels(type(model).__name__, main, (batch, seq, image))
        named = ("labels",) if "labels" in accepts else ("start_positions", "end_positions")
        made = {name: torch.zeros(*shape, dtype=torch.int64) for name in named if name in accepts}
        inputs.update(made)
    return inputs


def _sound(config: Any, seq: int) -> tuple[int, ...]:
    """The shape of a piece of sound: a spectrogram where the model takes one, else samples, ten
    milliseconds at 16 kHz for every step of ``seq``."""
    if width := getattr(config, "feature_projection_input_dim", None):
        return seq, width
    bins = getattr(config, "num_mel_bins", None)
    if hasattr(config, "max_source_positions") and bins:
        return bins, 2 * config.max_source_positions
    if bins:
        return getattr(config, "max_length", seq), bins
    return (seq * 160,)


def _labels(name: str, main: str, sizes: tuple[int, int, int]) -> tuple[int, ...]:
    """The shape of the labels of a model class, which is in its name."""
    batch, seq, image = sizes
    if name.endswith("SemanticSegmentation"):
        return batch, image, image
    each = name.endswith(("ForCTC", "ForTokenClassification", "ForConditionalGeneration"))
    words = main == "input_ids" and not name.endswith(
        ("SequenceClassification", "ForQuestionAnswering", "NextSentencePrediction")
    )
    return (batch, seq) if each or words else (batch,)


class _Classifier(torch.nn.Module):
    """An image model with the loss it is trained with."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: torch.Tensor, labels: torch.Tensor | None = None) -> Any:
        """Logits, or the cross entropy if there are labels, of every pixel where there are logits
        for each. Of several results the first."""
        logits = self.model(images)
        if not isinstance(logits, torch.Tensor):
            logits = next(iter(logits.values() if isinstance(logits, dict) else logits))
        if labels is None:
            return logits
        pixels = logits.shape[2:]
        labels = labels.reshape(-1, *(1 for _ in pixels)).expand(-1, *pixels)
        return torch.nn.functional.cross_entropy(logits, labels)


def _images(
    target: Target, names: list[str], create: Callable[..., torch.nn.Module], training: bool
) -> Example:
    """A model of a library of image models, on images."""
    options = dict(target.options)
    batch, size = _take(options, "batch", 8), _take(options, "image", 224)
    if target.name not in names:
        raise unknown(f"{target.provider} has no model {target.name}", target.name, names)
    try:
        model = _Classifier(create(target.name, **options))
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{target.provider}:{target.name} does not take these options",
            got=", ".join(f"{k}={v}" for k, v in options.items()),
            remedy=str(error),
        ) from None
    images = torch.randn(batch, 3, size, size)
    labels = torch.zeros(batch, dtype=torch.int64)
    return Example(model, (images, labels) if training else (images,), {}, "model")


def _timm(target: Target, training: bool) -> Example:
    timm = library("timm")
    # a name may have a tag, resnet50.a1_in1k, which the list of models leaves out
    names = [target.name] if timm.is_model(target.name) else timm.list_models()
    return _images(target, names, timm.create_model, training)


def _torchvision(target: Target, training: bool) -> Example:
    library("torchvision")
    models = library("torchvision.models")

    def create(name: str, **options: Any) -> torch.nn.Module:
        if "weights_backbone" in inspect.signature(models.get_model_builder(name)).parameters:
            options.setdefault("weights_backbone", None)  # or it is downloaded
        return models.get_model(name, **options)

    return _images(target, models.list_models(), create, training)


def _diffusers(target: Target, _training: bool) -> Example:
    """A UNet or autoencoder of diffusers, built from constructor arguments."""
    cls = _member(library("diffusers"), target.name)
    options = dict(target.options)
    batch = _take(options, "batch", 1)
    known = set(inspect.signature(cls.__init__).parameters) - {"self"}
    _reject_unknown(options, known | {"batch"}, f"diffusers:{target.name}")
    model = cls(**options)
    return Example(_First(model), (), _diffusion_inputs(model, batch, target), "model")


def _diffusion_inputs(model: Any, batch: int, target: Target) -> dict[str, torch.Tensor]:
    accepts = inspect.signature(model.forward).parameters
    if "sample" not in accepts:
        raise CaptureFailed(
            f"no example inputs are known for diffusers:{target.name}",
            expected="a model whose forward takes sample",
            remedy="write a function that builds the inputs: package.module:callable",
        )
    size = getattr(model.config, "sample_size", None) or 64
    inputs = {"sample": torch.randn(batch, model.config.in_channels, size, size)}
    if "timestep" in accepts:
        inputs["timestep"] = torch.zeros(batch, dtype=torch.int64)
    if "encoder_hidden_states" in accepts:
        inputs["encoder_hidden_states"] = torch.randn(batch, 77, model.config.cross_attention_dim)
    return inputs
