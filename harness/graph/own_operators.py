"""Operators of this package's own, as torch runs them: two that random numbers are made of, and
matrix products of memory as it lies (results with odd rows, and windows of rows).

``harness.seeds(count)`` draws 64-bit seeds from torch's generator of a device, so that
``torch.manual_seed`` governs them, every call advances the generator, and a captured CUDA graph
draws anew in each replay: seeds lie in the device's memory, never in a kernel's text.
``harness.random_bits(seed, size)`` is a pure function: 32 bits for every element, from its
position in the row-major order of ``size`` alone. It can be computed again wherever it is
needed, as a backward graph does with the mask of a dropout, of which it keeps the seed.

Products: results with odd rows, and windows of rows.
The libraries' fast kernels for 16-bit matrices write rows that begin at multiples of 16 bytes. Rows
of 50257 elements do not, but every eighth of them lies 8 x 50257 elements after the one before.
Each of these eight sets of rows is a product of one batch: the next begins a row later, and its
columns as many elements later as make that a multiple of 16 bytes (7 more than 50257). Columns that
not every set has, at both ends of the rows, are products of their own, copied to where they belong.

Windows of a row lie a place apart and overlap, which the libraries refuse: they are copied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from harness.ir.philox import philox

_LIBRARY: Any = torch.library.Library("harness", "DEF")  # type: ignore[no-untyped-call]
ALIGNED_BYTES = 16
_WINDOWS = 64 << 20
"""Bytes of windows in memory at once. HuBERT's, of 8 rows of 74 places, are 118 MB: a product of
all its groups takes 87 µs on an H200, of half of them at a time 134, of a quarter 254."""


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


def turns(columns: int, itemsize: int) -> int:
    """Every how many rows of ``columns`` elements begin alike, seen from multiples of 16 bytes."""
    step = ALIGNED_BYTES // itemsize
    return step // math.gcd(columns, step)


def interleaved_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``a @ b``, of which rows that begin alike are a product of one batch."""
    (rows, depth), columns, step = a.shape, b.shape[1], ALIGNED_BYTES // a.itemsize
    every, later = turns(columns, a.itemsize), -columns % step
    ends = -(-(every - 1) * later // step) * step + step
    if columns <= ends:
        return a @ b
    own, made = (columns - (every - 1) * later) // step * step, a.new_empty(rows, columns)
    (down, along), (deep, across) = a.stride(), b.stride()
    torch.bmm(
        a.as_strided((every, rows // every, depth), (down, every * down, along)),
        b.as_strided((every, depth, own), (later * across, deep, across)),
        out=made.as_strided((every, rows // every, own), (columns + later, every * columns, 1)),
    )
    if rest := rows % every:
        torch.mm(a[-rest:], b, out=made[-rest:])
    outer = b.as_strided((2, depth, ends), ((columns - ends) * across, deep, across))
    found = torch.bmm(a.expand(2, rows, depth), outer)
    made.as_strided((2, rows, ends), (columns - ends, columns, 1)).copy_(found)
    return made


def windows_mm(rows: torch.Tensor, other: torch.Tensor, taps: int, turned: bool) -> torch.Tensor:
    """Convolutions: of each group (the first dimension) all windows of ``rows`` (rows, places,
    channels), one row's after the other's, times all rows of ``other``. ``turned``: the gradient of
    the latter, ``other`` being that of the result."""
    (groups, n, length, channels), wide = rows.shape, other.transpose(1, 2)
    windows, size = n * (length + 1 - taps), taps * channels
    shape = (wide.shape[1], size) if turned else (windows, wide.shape[2])
    made = rows.new_empty(groups, *shape)
    step = -(-groups // -(-rows.itemsize * groups * windows * size // _WINDOWS))
    for first in range(0, groups, step):
        part = slice(first, first + step)
        seen = _windows(rows[part], taps)
        torch.bmm(*((wide[part], seen) if turned else (seen, wide[part])), out=made[part])
        del seen  # before there are others
    return made


def _windows(rows: torch.Tensor, taps: int) -> torch.Tensor:
    """Every window of ``rows``, a matrix a group; copied by eight bytes."""
    groups, n, length, _ = rows.shape
    wide = rows.view(torch.int64)
    along, places, each = wide.stride()[:3]
    size = (groups, n, length - taps + 1, taps * each)
    found = wide.as_strided(size, (along, places, each, 1)).contiguous()
    return found.view(rows.dtype).view(groups, -1, taps * rows.shape[3])


register("interleaved_mm(Tensor a, Tensor b) -> Tensor", interleaved_mm, torch.mm)
_WINDOWED = "windows_mm(Tensor rows, Tensor other, int taps, bool turned) -> Tensor"
register(_WINDOWED, windows_mm, windows_mm)
