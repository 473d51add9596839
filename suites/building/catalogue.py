"""The catalogue: which models the corpus is made of. Data, in the TOML files of its folder.

    [defaults]                            # of this file; a model may set any of them itself
    family = "language"
    options = { num_hidden_layers = 2 }   # passed to the model where it knows them
    [[variant]]                           # how every model of this file is captured
    mode = "inference"
    dtype = "bf16"
    size = "latency"
    options = { batch = 1, seq = 128 }
    [[model]]                             # or, before all of these, the list model = [{ target …
    target = "transformers:LlamaForCausalLM"
    origin = "meta-llama/Meta-Llama-3-8B"

``origin`` says where the sizes are from (default: the library's own defaults).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import msgspec

from harness.dtypes import DType
from harness.errors import UnknownName, UsageError, nearest

_LIBRARY = "the library's defaults"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to capture a model: ``options`` are the target's at the ``size`` of that name."""

    mode: Literal["inference", "training", "optimizer"]
    dtype: DType
    size: str
    options: Mapping[str, Any] = field(default_factory=dict)
    only: str = "*"
    """Patterns of the models' names that are captured so, commas between them."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model as a user writes it down. ``options`` win over those of a variant; ``seconds`` is
    what a capture may take."""

    target: str
    name: str = ""
    family: str = "other"
    origin: str = _LIBRARY
    options: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 120.0
    small: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Further options, for the small counterparts of regions that a search finds none for. They
    change no capture: what stands for a capture on disk does without them."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A model in a variant: what is captured. ``name`` is unique in the catalogue."""

    name: str
    model: Model
    variant: Variant

    @property
    def options(self) -> dict[str, Any]:
        """The target's options."""
        return {**self.variant.options, **self.model.options}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """A file of the catalogue. The models' fields are checked once the defaults are in."""

    variant: list[Variant]
    model: list[dict[str, Any]]
    defaults: dict[str, Any] = {}


def load(folder: Path) -> tuple[Planned, ...]:
    """Everything that the files in ``folder`` declare, in their order. Raises ``UsageError`` for a
    file that is wrong, and says where."""
    found: dict[str, Planned] = {}
    for path in sorted(folder.glob("*.toml")):
        for planned in _read(path):
            if planned.name in found:
                raise UsageError(
                    "the catalogue declares a model twice",
                    where=str(path),
                    got=planned.name,
                    remedy='give one of them a name of its own: name = "…"',
                )
            found[planned.name] = planned
    if not found:
        raise UsageError(
            "a catalogue declares no model",
            where=str(folder),
            expected="TOML files with [[variant]] and [[model]]",
        )
    return tuple(found.values())


def _read(path: Path) -> list[Planned]:
    try:
        text = path.read_text(encoding="utf-8")
        file = msgspec.convert(tomllib.loads(text), _File)
        models = [_model({**file.defaults, **row}, file.defaults) for row in file.model]
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(
            "a file of the catalogue cannot be read",
            where=str(path),
            got=str(error),
            expected="what suites/building/catalogue.py shows",
        ) from error
    return [
        Planned(f"{model.name}/{v.mode}/{v.dtype.short}/{v.size}", model, v)
        for model in models
        for v in file.variant
        if any(fnmatchcase(model.name, pattern) for pattern in v.only.split(","))
    ]


def _model(row: Mapping[str, Any], defaults: Mapping[str, Any]) -> Model:
    merged = {**defaults.get("options", {}), **row.get("options", {})}
    strict = msgspec.convert({**row, "options": merged}, _Row)
    name = strict.name or strict.target.partition(":")[2].partition("?")[0]
    return Model(
        strict.target, name, strict.family, strict.origin, merged, strict.seconds, strict.small
    )


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    target: str
    name: str = ""
    family: str = "other"
    origin: str = _LIBRARY
    options: dict[str, Any] = {}
    seconds: float = 120.0
    small: dict[str, Any] = {}


def named(planned: Sequence[Planned], patterns: Sequence[str]) -> tuple[Planned, ...]:
    """Those whose model or whole name is like one of ``patterns``; all for none. Raises
    ``UnknownName`` with the nearest names."""
    for pattern in patterns:
        if not any(_is_like(one, pattern) for one in planned):
            known = dict.fromkeys(one.model.name for one in planned)
            raise UnknownName(
                "the catalogue has no such model",
                got=pattern,
                expected=", ".join(nearest(pattern, known)) or "a name or a pattern with * and ?",
            )
    return tuple(one for one in planned if not patterns or any(_is_like(one, p) for p in patterns))


def _is_like(planned: Planned, pattern: str) -> bool:
    return fnmatchcase(planned.model.name, pattern) or fnmatchcase(planned.name, pattern)
