"""References that sum products in slices: written out before they are summed, in float64, these
take up to 256 GiB in the corpus."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

_AT_ONCE = 2**30
"""Products that are summed are written out whole up to so many."""
_SUMMED = re.compile(
    r"(\w+) = torch\.ops\.aten\.mul\.Tensor\(([a-z]\w*, [a-z]\w*)\)\n"
    r" +(\w+) = torch\.ops\.aten\.sum\.dim_IntList\(\1, (\[[^]]*\](?:, \w+)?)\)\n"
)


def in_slices(text: str) -> str:
    """A reference's text that has ``summed_products`` sum its products; it computes the same."""
    return _SUMMED.sub(_in_slices, text)


def _in_slices(found: re.Match[str]) -> str:
    """A product and its sum as one call, where nothing else reads the product."""
    product, factors, name, rest = found.groups()
    if len(re.findall(rf"\b{product}\b", found.string)) > 2:
        return found[0]
    return f"{name} = summed_products({factors}, {rest})\n"


def summed_products(one: Any, other: Any, dims: Sequence[int], keep: bool = False) -> Any:
    """``(one * other).sum(dims, keep)`` of tensors, or of one and a number; where the products are
    many, a slice after the other along the first dimension that is not summed."""
    import torch

    shapes = [getattr(factor, "shape", ()) for factor in (one, other)]
    shape = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]
    summed = {dim % len(shape) for dim in dims or range(len(shape))}  # no dimension means all
    along = next((n for n, size in enumerate(shape) if size > 1 and n not in summed), None)
    if along is None or math.prod(shape) <= _AT_ONCE or not all(shapes):
        return (one * other).sum(dims, keep)
    factors = [tensor.broadcast_to(shape) for tensor in (one, other)]
    slices = ([t.narrow(along, n, 1) for t in factors] for n in range(shape[along]))
    found = torch.cat([(a * b).sum(dims, True) for a, b in slices], along)
    return found if keep else found.squeeze(tuple(summed))
