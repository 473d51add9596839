"""What is taken out of sorted rows: the largest elements, the k-th one, the median.

Each becomes a stable sort and a copy of the part that is wanted; the compiler stores no more than
that part. Which of several equal elements comes first is then always the one that stood first,
which torch leaves open. Rows too long for one program's sort stay with the library's operators.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from harness.graph.lowering.operators.scanning import LONGEST_SORT

_aten = torch.ops.aten


def sorting_rules() -> dict[torch._ops.OperatorBase, Callable[..., Any]]:
    """Operator overload → decomposition."""
    nanmedian = partial(median, ignoring=True)
    return {
        _aten.sort.default: lambda x, dim=-1, descending=False: (
            _sorted(x, dim, descending) if _fits(x, dim, 0) else NotImplemented
        ),
        _aten.topk.default: topk,
        _aten.kthvalue.default: kthvalue,
        _aten.median.default: _of_all(median),
        _aten.median.dim: median,
        _aten.nanmedian.default: _of_all(nanmedian),
        _aten.nanmedian.dim: nanmedian,
    }


def _size(x: Tensor, dim: int) -> int | torch.SymInt:
    """Elements of a row along ``dim``; a number is a row of one."""
    return x.shape[dim] if x.dim() else 1


def _fits(x: Tensor, dim: int, least: int = 1) -> bool:
    """Whether rows along ``dim`` are sorted by generated kernels."""
    size = _size(x, dim)
    return isinstance(size, int) and least <= size <= LONGEST_SORT and not x.is_complex()


def _sorted(x: Tensor, dim: int, descending: bool = False) -> tuple[Tensor, Tensor]:
    values, places = _aten.sort.stable(x, stable=True, dim=dim, descending=descending)
    return values, places


def topk(x: Tensor, k: Any, dim: int = -1, largest: bool = True, *_: bool) -> Any:
    """``topk``, always sorted: what is not asked for is no mistake."""
    if not _fits(x, dim, 0) or not isinstance(k, int) or not 0 <= k <= _size(x, dim):
        return NotImplemented
    values, places = _sorted(x, dim, largest)
    return _taken(values, dim, 0, k), _taken(places, dim, 0, k)


def _taken(x: Tensor, dim: int, start: int, end: int) -> Tensor:
    return _aten.slice_copy(x, dim, start, end) if x.dim() else x


def kthvalue(
    x: Tensor, k: int | torch.SymInt, dim: int = -1, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """``kthvalue``: the ``k``-th smallest element, counted from 1."""
    if not _fits(x, dim) or not isinstance(k, int) or not 1 <= k <= _size(x, dim):
        return NotImplemented
    parts = [_taken(part, dim, k - 1, k) for part in _sorted(x, dim)]
    values, places = parts if keepdim else (part.squeeze(dim) for part in parts)
    return values, places


def median(
    x: Tensor, dim: int = -1, keepdim: bool = False, *, ignoring: bool = False
) -> tuple[Tensor, Tensor]:
    """``median.dim``, the lower one of two: the first NaN if there is one, or, ``ignoring`` these
    (``nanmedian``), of what is none."""
    if not _fits(x, dim):
        return NotImplemented
    size = int(_size(x, dim))
    if not x.is_floating_point():
        return kthvalue(x, (size + 1) // 2, dim, keepdim)
    strange = x.isnan().sum(dim, keepdim=True)
    if ignoring:
        place = (size - 1 - strange).clamp(min=0) // 2
    else:
        place = torch.where(strange > 0, size - strange, (size - 1) // 2)
    values, places = (part.gather(dim, place) for part in _sorted(x, dim))
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def _of_all(along: Callable[..., tuple[Tensor, Tensor]]) -> Callable[[Tensor], Tensor]:
    """The form that looks at every element."""

    def rule(x: Tensor) -> Tensor:
        flat = x.reshape(-1)
        return along(flat)[0] if _fits(flat, 0) else NotImplemented

    return rule
