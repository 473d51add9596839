"""The two operators that random numbers are made of, as torch runs them.

``harness.seeds(count)`` draws 64-bit seeds from torch's generator of a device, so that
``torch.manual_seed`` governs them, every call advances the generator, and a captured CUDA graph
draws anew in each replay: seeds lie in the device's memory, never in a kernel's text.
``harness.random_bits(seed, size)`` is a pure function: 32 bits for every element, from its
position in the row-major order of ``size`` alone. It can be computed again wherever it is
needed, as a backward graph does with the mask of a dropout, of which it keeps the seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from harness.ir.philox import philox

_LIBRARY: Any = torch.library.Library("harness", "DEF")  # type: ignore[no-untyped-call]


def register(schema: str, function: Any, fake: Any, *keys: str, **options: Any) -> None:
    """Make an operator ``harness::…`` of a ``function``; ``fake`` gives sizes and types alone."""
    name = schema.partition("(")[0]
    _LIBRARY.define(schema, **options)
    for key in keys or ("CompositeExplicitAutograd",):
        _LIBRARY.impl(name, function, key)
    torch.library.register_fake(f"harness::{name}", fake, lib=_LIBRARY)


def draw_seeds(count: int, *, device: torch.device) -> list[torch.Tensor]:
    """``count`` seeds, int64 without dimensions. They lie 16 bytes apart, as kernels assume of
    their arguments."""
    low, high = -(2**63), 2**63 - 1
    if count == 1:
        return [torch.randint(low, high, (), dtype=torch.int64, device=device)]
    return [*torch.randint(low, high, (count, 2), dtype=torch.int64, device=device)[:, 0].unbind()]


def random_bits(seed: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    """Random bits (int32) of ``size`` for ``seed``."""
    bits: torch.Tensor = philox(seed, torch.arange(math.prod(size), device=seed.device).view(size))
    return bits.to(torch.int32)


def _seeds_fake(count: int, *, device: torch.device) -> list[torch.Tensor]:
    return [torch.empty((), dtype=torch.int64, device=device) for _ in range(count)]


_SEEDS = "seeds(int count, *, Device device) -> Tensor[]"
register(_SEEDS, draw_seeds, _seeds_fake, "BackendSelect", tags=torch.Tag.nondeterministic_seeded)
register(
    "random_bits(Tensor seed, SymInt[] size) -> Tensor",
    random_bits,
    lambda seed, size: seed.new_empty(size, dtype=torch.int32),
    "CPU",
    "CUDA",
)
