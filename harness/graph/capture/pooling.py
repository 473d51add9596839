"""Pooling over windows of different sizes, as reductions over what an index picks; repeated pixels,
and the sums over these that are their gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from harness.graph.capture.rules import widened

_aten = torch.ops.aten


def pooling_rules() -> dict[torch._ops.OperatorBase, Callable[..., Any]]:
    """Operator overload → decomposition."""
    return {
        _aten._adaptive_avg_pool2d.default: adaptive_average_pool,
        _aten._adaptive_avg_pool3d.default: adaptive_average_pool,
        _aten._adaptive_avg_pool2d_backward.default: partial(adaptive_average_pool_backward, 2),
        _aten._adaptive_avg_pool3d_backward.default: partial(adaptive_average_pool_backward, 3),
        _aten.adaptive_max_pool2d.default: adaptive_max_pool,
        _aten.adaptive_max_pool3d.default: adaptive_max_pool,
        _aten.adaptive_max_pool2d_backward.default: partial(max_pool_backward, 2),
        _aten.adaptive_max_pool3d_backward.default: partial(max_pool_backward, 3),
        _aten.upsample_nearest2d.default: upsample_nearest2d,
        _aten.upsample_nearest2d_backward.default: upsample_nearest2d_backward,
    }


@dataclass(frozen=True)
class _Windows:
    """The windows of one dimension: ``places`` in the input, shape (windows, longest), and which
    of them count; all of them if ``inside`` is None."""

    places: Tensor
    inside: Tensor | None


def _adaptive(size: int, wanted: int, device: torch.device) -> _Windows:
    """Window ``i`` of ``wanted`` goes from ``floor(i * size / wanted)`` to ``ceil((i + 1) * size /
    wanted)``."""
    bounds = [(i * size // wanted, -(-(i + 1) * size // wanted)) for i in range(wanted)]
    longest = max(end - start for start, end in bounds)
    number = torch.arange(wanted, device=device).unsqueeze(1)
    places = number * size // wanted + torch.arange(longest, device=device)
    if all(end - start == longest for start, end in bounds):
        return _Windows(places, None)
    ends = ((number + 1) * size + wanted - 1) // wanted
    return _Windows(places.clamp(max=size - 1), places < ends)


def _spread(x: Tensor, windows: Sequence[_Windows], filling: float) -> Tensor:
    """``x`` with each of its last dimensions replaced by two: the window, and the element in it;
    ``filling`` outside windows."""
    for k, window in enumerate(reversed(windows)):
        dim = x.dim() - 1 - 2 * k
        count, longest = window.places.shape
        if x.shape[dim] == count * longest and window.inside is None:
            x = torch.unflatten(x, dim, (count, longest))
            continue
        x = torch.unflatten(x.index_select(dim, window.places.reshape(-1)), dim, (count, longest))
        if window.inside is not None:
            x = torch.where(window.inside.view(count, longest, *[1] * (2 * k)), x, filling)
    return x


def _are_known(*sizes: int) -> bool:
    return all(type(n) is int and n > 0 for n in sizes)


def _elements(rank: int) -> list[int]:
    """The dimensions of elements that ``_spread`` made of the last ``rank`` ones."""
    return [-1 - 2 * k for k in range(rank)]


def adaptive_average_pool(x: Tensor, output_size: Sequence[int]) -> Any:
    """``_adaptive_avg_pool2d`` and ``3d``: means."""
    rank = len(output_size)
    sizes = x.shape[-rank:]
    if not _are_known(*sizes, *output_size):
        return NotImplemented
    if rank == 2 and not any(n % m for n, m in zip(sizes, output_size, strict=True)):
        return NotImplemented  # as it stands: equal tiles
    windows = [_adaptive(n, m, x.device) for n, m in zip(sizes, output_size, strict=True)]
    return _shared(_spread(widened(x), windows, 0.0).sum(_elements(rank)), windows).to(x.dtype)


def _shared(total: Tensor, windows: Sequence[_Windows]) -> Tensor:
    """``total`` divided by the number of elements of its window."""
    for k, window in enumerate(reversed(windows)):
        inside, longest = window.inside, window.places.shape[1]
        total = total / (longest if inside is None else inside.sum(1).view(-1, *[1] * k))
    return total


def adaptive_average_pool_backward(rank: int, grad: Tensor, x: Tensor) -> Any:
    """Every element collects from the windows that it is in, which are windows of the gradient
    made by the same rule with the sizes exchanged."""
    sizes, outs = x.shape[-rank:], grad.shape[-rank:]
    if not _are_known(*sizes, *outs):
        return NotImplemented
    pairs = list(zip(sizes, outs, strict=True))
    shares = _shared(widened(grad), [_adaptive(n, m, x.device) for n, m in pairs])
    spread = _spread(shares, [_adaptive(m, n, x.device) for n, m in pairs], 0.0)
    return spread.sum(_elements(rank)).to(x.dtype)


def adaptive_max_pool(x: Tensor, output_size: Sequence[int]) -> Any:
    """``adaptive_max_pool2d`` and ``3d``."""
    sizes = x.shape[-len(output_size) :]
    if not _are_known(*sizes, *output_size) or not x.is_floating_point():
        return NotImplemented
    windows = [_adaptive(n, m, x.device) for n, m in zip(sizes, output_size, strict=True)]
    return _largest(_spread(x, windows, -math.inf), sizes, windows)


def _largest(
    spread: Tensor, sizes: Sequence[int], windows: Sequence[_Windows]
) -> tuple[Tensor, Tensor]:
    """The largest element of every window, and its place counted over all ``sizes``: the first of
    equal ones, and the last NaN, as in eager mode."""
    elements = _elements(len(sizes))
    place: Any = 0
    counts: Any = True
    for k, window in enumerate(windows):
        after = [1] * (2 * (len(sizes) - 1 - k))
        place = place * sizes[k] + window.places.view(*window.places.shape, *after)
        if window.inside is not None:
            counts = window.inside.view(*window.places.shape, *after) & counts
    best = spread.amax(elements, keepdim=True)
    first = torch.where((spread == best) & counts, place, math.prod(sizes)).amin(elements)
    strange = torch.where(spread.isnan(), place, -1).amax(elements)
    for dim in sorted(elements):
        best = best.squeeze(dim)
    return best, torch.where(strange >= 0, strange, first)


def max_pool_backward(rank: int, grad: Tensor, x: Tensor, indices: Tensor) -> Tensor:
    """Every gradient is added where the largest element stood."""
    line = x.dim() - rank
    zeros, places, given = (t.flatten(line) for t in (grad.new_zeros(x.shape), indices, grad))
    return _aten.scatter_add(zeros, line, places, given).reshape(x.shape)


def _factors(
    inner: Sequence[int], outer: Sequence[int], scales: Sequence[float | None]
) -> tuple[int, int] | None:
    """Whole-number factors of an upsampling, or ``None`` if they are not whole. torch divides by
    the given scale where there is one, so it must be the same."""
    factors = []
    for small, large, scale in zip(inner, outer, (*scales, None, None), strict=False):
        if small == 0 or large % small or (scale is not None and scale != large // small):
            return None
        factors.append(large // small)
    return factors[0], factors[1]


def upsample_nearest2d(x: Tensor, output_size: Sequence[int], *scales: float | None) -> Tensor:
    """Nearest upsampling by whole factors: every pixel repeated, without index tensors."""
    factors = _factors(x.shape[2:], output_size, scales)
    if factors is None:
        return NotImplemented
    n, c, h, w = x.shape
    repeated = x.reshape(n, c, h, 1, w, 1).expand(n, c, h, factors[0], w, factors[1])
    return repeated.clone(memory_format=torch.contiguous_format).reshape(
        n, c, h * factors[0], w * factors[1]
    )


def upsample_nearest2d_backward(
    grad_output: Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    *scales: float | None,
) -> Tensor:
    """The sum over the pixels that each input pixel was repeated to."""
    n, c, h, w = input_size
    factors = _factors((h, w), output_size, scales)
    if factors is None:
        return NotImplemented
    tiles = widened(grad_output).reshape(n, c, h, factors[0], w, factors[1])
    return tiles.sum([3, 5]).to(grad_output.dtype)
