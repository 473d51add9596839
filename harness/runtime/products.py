"""Sums of products of which no more than a part is there at a time: written out before they are
summed, in float64, those of the corpus take up to 256 GiB."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map

_AT_ONCE = 2**30
"""Products are written out up to so many."""
_mul, _sum = torch.ops.aten.mul.Tensor, torch.ops.aten.sum.dim_IntList


def in_slices(compute: Callable[..., Sequence[Any]]) -> Callable[..., list[Any]]:
    """``compute``, of tensors that nobody changes, with products that are many summed in slices."""

    @functools.wraps(compute)
    def run(*args: Any, **kwargs: Any) -> list[Any]:
        with _Late():  # type: ignore[no-untyped-call]
            found = compute(*args, **kwargs)
        return [_whole(value) for value in found]

    return run


class _Late(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Many products are computed where they are read."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _sum and isinstance(args[0], _Product) and len(args[0].factors) == 2:
            return _summed(*args[0].factors, *args[1:], **(kwargs or {}))
        args, kwargs = tree_map(_whole, args), tree_map(_whole, kwargs or {})
        if func is _mul and all(isinstance(f, torch.Tensor) and f.dim() for f in args):
            shape = torch.broadcast_shapes(*(f.shape for f in args))  # type: ignore[no-untyped-call]
            if math.prod(shape) > _AT_ONCE:
                return _Product(*args)
        return func(*args, **kwargs)


class _Product(torch.Tensor):
    """What two tensors' product will be, of which there are the ``factors`` alone."""

    factors: tuple[torch.Tensor, ...]

    @staticmethod
    def __new__(cls: type[_Product], *factors: torch.Tensor) -> _Product:
        like = [(f.shape, f.stride(), f.dtype) for f in factors]
        with _disable_current_modes():  # nobody counts these, which take no memory
            made = _mul(*(torch.empty_strided(s, n, dtype=d, device="meta") for s, n, d in like))
        given = {"strides": made.stride(), "dtype": made.dtype, "device": factors[0].device}
        found: Any = torch.Tensor._make_wrapper_subclass(cls, made.shape, **given)
        found.factors = factors
        return found

    @classmethod
    def __torch_dispatch__(cls, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        with _Late():  # type: ignore[no-untyped-call]
            return func(*args, **(kwargs or {}))


def _whole(value: Any) -> Any:
    """A product, computed once: it may be changed; anything else as it is."""
    if not isinstance(value, _Product):
        return value
    value.factors = (functools.reduce(_mul, value.factors),)
    return value.factors[0]


def _summed(
    one: torch.Tensor, other: torch.Tensor, dims: Sequence[int], keep: bool = False, **kwargs: Any
) -> torch.Tensor:
    """``(one * other).sum(dims, keep)``: parts along the first dimension that is not summed."""
    shape = torch.broadcast_shapes(one.shape, other.shape)  # type: ignore[no-untyped-call]
    summed = {dim % len(shape) for dim in dims or range(len(shape))}  # no dimension means all
    along = next((n for n, size in enumerate(shape) if size > 1 and n not in summed), None)
    parts = -(-math.prod(shape) // _AT_ONCE)
    if along is None or parts == 1:
        found: torch.Tensor = _sum(_mul(one, other), dims, keep, **kwargs)
        return found
    both = (factor.broadcast_to(shape).chunk(parts, along) for factor in (one, other))
    sums = [_summed(a, b, dims, True, **kwargs) for a, b in zip(*both, strict=True)]
    found = torch.cat(sums, along)
    return found if keep else found.squeeze(tuple(summed))
