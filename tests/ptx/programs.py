"""Functions of a tensor whose sizes change, and tensors of sizes at which kernels change."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

Function = Callable[[torch.Tensor], Any]
_MOST = 200_000
_FEW = (1, 2, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33)
_LEAST_LONG = 8193
"""Elements from which on programs may share what is reduced over them."""
_TYPES = (torch.float32, torch.float32, torch.float32, torch.bfloat16, torch.float16, torch.float64)
_EDGES = (1, 2, 3, 7, 8, 16, 31, 32, 33, 64, 65, 100, 127, 128, 129, 192, 255, 256, 257, 511, 512,
          513, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 2100, 2304, 4095, 4096, 4097, 5000, 8191,
          8192, 8193, 16385, 40000)  # fmt: skip


def _pieces(x: torch.Tensor) -> Any:
    half, third = x.shape[1] // 2, x.shape[0] // 3
    return x[:, :half].sum(1), x[:, half:].amax(1), x[:third].sum(0), x[third:].mean(0)


def _joined(x: torch.Tensor) -> Any:
    return torch.cat([x * 2, x[:, : x.shape[1] // 2].exp(), x.flip(1)], 1), torch.cat([x, x.abs()])


def _normalised(x: torch.Tensor) -> Any:
    scale = torch.linspace(-1, 2, x.shape[1], dtype=x.dtype, device=x.device)
    return F.layer_norm(x, (x.shape[1],), scale) * 2, F.rms_norm(x, (x.shape[1],), scale)


def _chosen(x: torch.Tensor) -> Any:
    at = (x.abs() * 1000).nan_to_num().clamp(0, 1e6).long()
    return x.gather(1, at % x.shape[1]), x[at[:, 0] % x.shape[0]].sum(0)


def _added(x: torch.Tensor) -> Any:
    at = torch.arange(x.shape[0], device=x.device) % 7
    sums = torch.zeros(7, x.shape[1], dtype=x.dtype, device=x.device).index_add(0, at, x)
    return sums, torch.zeros_like(x).scatter_add(0, at[:, None].expand_as(x), x * 0.5)


def _apart(x: torch.Tensor) -> Any:
    return x.sum(0), (x * 2).amax(1), x.flatten()[::3].exp(), x.t().contiguous().sigmoid()


def _padded(x: torch.Tensor) -> Any:
    return F.pad(x, (1, 2, 0, 3), value=0.5), x.roll((1, -2), (0, 1)), F.pad(x, (-1, 1)).sum(1)


def _wrapped(x: torch.Tensor) -> Any:
    rows = x.shape[0] // 2
    return x[: 2 * rows].reshape(rows, 2, -1).transpose(0, 1).reshape(2, -1).cumsum(1)


def _loss(x: torch.Tensor) -> Any:
    target = torch.arange(x.shape[0], device=x.device) * 7 % x.shape[1]
    return F.cross_entropy(x, target, label_smoothing=0.1), F.log_softmax(x, 0).sum()


def _windows(x: torch.Tensor) -> Any:
    return F.avg_pool1d(x[None], 3, 2, 1), F.adaptive_max_pool1d(x[None], 5)


def _dropped(x: torch.Tensor) -> Any:
    """Other numbers are drawn than in eager mode; their share and what they leave are alike."""
    kept = F.dropout(x, 0.25)
    near = ((kept.abs() > 0) == (x.abs() > 0)).double().mean() - 0.75
    close = torch.isclose(kept.double(), x.double() / 0.75, rtol=0.02, atol=1e-6)
    drawn = torch.rand_like(x, dtype=torch.float32)
    mean = (drawn.mean(0) - 0.5).abs() * x.shape[0] ** 0.5
    inside = (drawn >= 0).all() & (drawn < 1).all()
    return (close | (kept == 0)).all(), near.abs() < 6 / x.numel() ** 0.5, inside, mean.amax() < 3


def _ties(x: torch.Tensor) -> Any:
    whole = x.float().round()
    return whole.max(1), whole.argmin(0), whole.sort(1, stable=True), whole.argmax()


def _lacking(x: torch.Tensor) -> Any:
    some = x.masked_fill(x > 1.5, float("nan"))
    return some.max(1), some.amin(0), some.argmax(0), some.cummax(0), some.nansum(1), some.sort(1)


def _several(x: torch.Tensor) -> Any:
    rows = x.sum(1, keepdim=True)
    joined = torch.cat([x.cumsum(1), x - rows, rows.expand_as(x), x[:, :1]], 1)
    return joined, joined.amax(0), x.abs().amin(0), (x * 3).sum(), x.flatten().cumsum(0).flip(0)


def _strided(x: torch.Tensor) -> Any:
    some = x[1::2, ::3]
    folded = x.unfold(1, 3, 2).amax(-1)
    return some.sum(0), some.cumsum(1), folded, F.pad(some, (2, 0)).argmax(1), x[:, 1:] - x[:, :-1]


def _counted(x: torch.Tensor) -> Any:
    at = x.abs().clamp(0, 4).long()
    ones = torch.zeros(5, dtype=torch.int64, device=x.device).index_add(
        0, at.flatten(), torch.ones_like(at).flatten()
    )
    rows = torch.zeros(5, x.shape[1], dtype=x.dtype, device=x.device).index_put(
        (at[:, 0],), x * 2, True
    )
    return ones, rows, torch.zeros_like(x).scatter_reduce(1, at % x.shape[1], x, "amax")


CUBES: dict[str, Function] = {
    "sums of ends": lambda x: x.sum((0, 2)),
    "extremes of ends": lambda x: (x.amax((0, 2)), (x * 2).mean((0, 2))),
    "variances of ends": lambda x: torch.var_mean(x, (0, 2)),
    "channels": lambda x: F.batch_norm(x, None, None, training=True),
    "middles": lambda x: (x.sum(1), x.abs().amax((0, 1))),
    "halves": lambda x: (x.mean((1, 2)), x.var((0, 1))),
}
"""Of three dimensions, none of whose sizes is known."""

PROGRAMS: dict[str, Function] = {
    **CUBES,
    "sums of columns": lambda x: x.sum(0),
    "sums of rows": lambda x: (x.sum(1), x.sum(1).sum()),
    "sum of all": lambda x: (x * 2).sum(),
    "variances of columns": lambda x: (x.sum(0), x.var(0)),
    "variances of rows": lambda x: torch.var_mean(x, 1),
    "variance of all": lambda x: (x.std(), x.mean()),
    "both ways": lambda x: (x.sum(0), x.sum(1), x.abs().amax()),
    "standardised": lambda x: (x - x.mean(0)) / (x.std(0) + 1e-3),
    "softmax of rows": lambda x: x.softmax(1),
    "softmax of columns": lambda x: x.log_softmax(0),
    "logsumexp": lambda x: (x.logsumexp(0), x.logsumexp(1)),
    "norms": _normalised,
    "running sums of rows": lambda x: x.cumsum(1),
    "running sums of columns": lambda x: x.cumsum(0) * 2,
    "running sum of all": lambda x: x.flatten().cumsum(0),
    "running maxima": lambda x: (x.cummax(1), (x * 1e-2).logcumsumexp(0)),
    "running products": lambda x: (1 + x * 1e-3).cumprod(1),
    "extremes": lambda x: (x.max(1), x.argmin(0), x.argmax()),
    "products of numbers": lambda x: ((1 + x * 1e-4).prod(0), (x > 3).any(1), (x > -3).all(0)),
    "sorted": lambda x: x.sort(1),
    "pieces": _pieces,
    "joined": _joined,
    "chosen": _chosen,
    "added": _added,
    "apart": _apart,
    "padded": _padded,
    "wrapped": _wrapped,
    "loss": _loss,
    "windows": _windows,
    "dropped": _dropped,
    "ties": _ties,
    "lacking": _lacking,
    "several": _several,
    "strided": _strided,
    "counted": _counted,
    "triangle": lambda x: (x.tril() + 1).sum(0),
    "transposed": lambda x: (x.t() * 2).contiguous().sum(1),
    "rows less their mean": lambda x: (x - x.mean(1, keepdim=True)).square().mean(0),
    "norms of blocks": lambda x: F.group_norm(x.expand(2, 4, *x.shape).tanh(), 2),
    "batches": lambda x: F.batch_norm(x, None, None, training=True),
}


def size(rng: random.Random) -> int:
    """A number of rows or columns, most at or beside a size of blocks."""
    return max(1, rng.choice(_EDGES) + rng.choice((0, 0, 0, -1, 1, 5)))


def sizes(rng: random.Random, most: int = _MOST) -> tuple[int, int]:
    """A matrix of up to ``most`` elements."""
    if rng.random() < 0.3:
        few = rng.choice(_FEW)
        both = few, long(rng, most // few)
        return both if rng.random() < 0.5 else both[::-1]
    rows, columns = size(rng), size(rng)
    while rows * columns > most:
        if rng.random() < 0.5:
            rows = size(rng)
        else:
            columns = size(rng)
    return rows, columns


def long(rng: random.Random, most: int) -> int:
    """As many rows, or columns, as programs share, if ``most`` are."""
    return max(1, int(_LEAST_LONG * (most / _LEAST_LONG) ** rng.random()))


def cube(rng: random.Random, most: int = _MOST) -> tuple[int, int, int]:
    """Three sizes of up to ``most`` elements, often with few of them along the last dimension, and
    more along that and the first one than one program has at once."""
    last = rng.choice(_FEW) if rng.random() < 0.7 else size(rng) % 1000 + 1
    middle = rng.choice((*_FEW, 64, 100)) if rng.random() < 0.7 else size(rng) % 1000 + 1
    rows = long(rng, most // last // middle) if rng.random() < 0.7 else size(rng)
    return max(1, min(rows, most // last // middle)), middle, last


def matrix(
    rng: random.Random, shape: tuple[int, int], dtype: torch.dtype, lying: int, device: str = "cpu"
) -> torch.Tensor:
    """Random numbers; ``lying``: in order, at an odd address, transposed, or with gaps."""
    rows, columns = shape
    drawn = torch.Generator(device).manual_seed(rng.getrandbits(32))
    made = torch.randn(rows * (columns + 3) + 8, generator=drawn, device=device).to(dtype)
    if lying == 0:
        return made[: rows * columns].view(rows, columns)
    if lying == 1:
        return made[1 : 1 + rows * columns].view(rows, columns)
    if lying == 2:
        return made[: rows * columns].view(columns, rows).t()
    return made[: rows * (columns + 3)].view(rows, columns + 3)[:, 1 : 1 + columns]


def tensor(
    rng: random.Random, shape: Sequence[int], dtype: torch.dtype, lying: int, device: str = "cpu"
) -> torch.Tensor:
    """A ``matrix``, its columns in as many dimensions as ``shape`` has."""
    rows, *others = shape
    made = matrix(rng, (rows, math.prod(others)), dtype, lying, device)
    return made.unflatten(1, others)


def calls(
    rng: random.Random, count: int, most: int = _MOST, device: str = "cpu"
) -> tuple[Function, list[list[torch.Tensor]], str]:
    """A function, its arguments for ``count`` sizes, and in words what was drawn. The first sizes
    are the largest of the smaller ones, as a size of 1 would be compiled for itself."""
    name, dtype = rng.choice([*PROGRAMS, *CUBES]), rng.choice(_TYPES)
    lying, draw = rng.choice((0, 0, 0, 1, 2, 3)), cube if name in CUBES else sizes
    shapes = [draw(rng, most) for _ in range(count)]
    first = max(shapes, key=min)
    shapes = [first, *(one for one in shapes if one is not first)]
    made = [[tensor(rng, shape, dtype, lying, device)] for shape in shapes]
    if gradients := rng.random() < 0.3 and name not in ("batches", "channels"):
        made = [[x.detach().requires_grad_()] for (x,) in made]
    what = f"{name} of {dtype} {shapes} lying {lying}{' with gradients' * gradients}"
    return PROGRAMS[name], made, what
