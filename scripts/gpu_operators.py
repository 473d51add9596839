"""Operators that this compiler generates and others call or leave alone, against Inductor by itself
and tuned: scans, sorts, searches, dropout, gradients of layer norms, and sizes that change.

    python scripts/gpu_operators.py --out DIR [--seconds 165] [CASE …]

Timed as ``gpu_limit.py`` does, in one process on the same inputs. ``dynamic`` is a kernel for sizes
known when it is called, at the sizes of ``untuned``. Ends with how many times as fast as the better
of Inductor's two ways the faster of ours is, geometric mean and least, and with the time of
``dynamic`` over that of ``untuned``. Shares of a copy count a sort as one read and one write.
"""

from __future__ import annotations

import functools
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import gpu_limit
import torch
from gpu_limit import Case, aten, random
from torch.nn import functional

f32 = functools.partial(random, dtype=torch.float32)
SCANS = (
    (16384, 1024),
    (2048, 4096),
    (512, 16384),
    (64, 65536),
    (8, 262144),
    (8, 1 << 20),
    (1, 1 << 20),
)
SORTS = ((65536, 64), (8192, 256), (4096, 1024), (1024, 4096))
CHANGING = ((4096, 4096), (8192, 1000), (1000, 50257), (32768, 257), (2048, 2048))


def lengths(rows: int, row: int) -> str:
    """What a case of ``rows`` times ``row`` is called."""
    return f"{rows}x{row}"


def scans() -> Iterator[Case]:
    """Along rows."""
    for shape in SCANS:
        inputs = functools.partial(lambda s: [f32(*s)], shape)
        yield Case("cumsum", lengths(*shape), lambda x: x.cumsum(-1), inputs)
        yield Case(
            "cumsum of a product", lengths(*shape), lambda x: (x * 0.5).cumsum(-1) + 1, inputs
        )
        yield Case("cummax", lengths(*shape), lambda x: x.cummax(-1), inputs)
        yield Case("logcumsumexp", lengths(*shape), lambda x: x.logcumsumexp(-1), inputs)


def sorts() -> Iterator[Case]:
    """Along rows, and pieces of sorts."""
    for shape in SORTS:
        inputs = functools.partial(lambda s: [f32(*s)], shape)
        yield Case("sort", lengths(*shape), lambda x: x.sort(-1), inputs)
        yield Case("topk 8", lengths(*shape), lambda x: x.topk(8, -1), inputs)
    yield Case("median", "8192x256", lambda x: x.median(-1), lambda: [f32(8192, 256)])


def searches() -> Iterator[Case]:
    """In sorted rows of boundaries."""
    for count in (64, 4096):
        inputs = functools.partial(lambda n: [f32(n).sort().values, f32(1 << 24)], count)
        yield Case("searchsorted", str(count), torch.searchsorted, inputs)
        yield Case("bucketize", str(count), lambda b, x: torch.bucketize(x, b, right=True), inputs)


def dropped() -> Iterator[Case]:
    """Dropout beside what it is fused with, forward and backward."""

    def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.dropout(functional.gelu(x), 0.1, True) + y

    def both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.dropout(functional.silu(x) * y, 0.1, True)

    two = lambda: [random(8192, 4096), random(8192, 4096)]  # noqa: E731
    yield Case("dropout", "8192x4096", forward, two, random=True)
    yield Case(
        "dropout and gradient",
        "8192x4096",
        both,
        two,
        moved=2 * 8 * 8192 * 4096,
        random=True,
        gradient=True,
    )


def layers() -> Iterator[Case]:
    """Gradients of layer norms."""
    every = [True, True, True]
    for shape in ((32768, 768), (16384, 1024), (8192, 4096), (2048, 16384)):

        def inputs(shape: tuple[int, int] = shape) -> list[Any]:
            rows, row = shape
            one = functools.partial(f32, rows, 1)
            return [random(*shape), random(*shape), one(), one().abs(), random(row), random(row)]

        def backward(dy: Any, x: Any, mean: Any, r: Any, w: Any, b: Any, n: int = shape[1]) -> Any:
            return aten.native_layer_norm_backward(dy, x, [n], mean, r, w, b, every)

        yield Case("layer backward", lengths(*shape), backward, inputs)


def changing() -> Iterator[Case]:
    """Functions compiled for sizes that change, too."""
    for name, (function, inputs) in CHANGED.items():
        for shape in CHANGING:
            if name != "attention mask" or shape[1] <= MOST_POSITIONS:
                made = functools.partial(inputs, *shape)
                yield Case(f"changing {name}", lengths(*shape), function, made, dynamic=True)


def summed() -> Iterator[Case]:
    """Reductions with few results, or to one, compiled for sizes that change, too."""
    for name, (function, inputs) in SUMMED.items():
        for shape in CHANGING:
            made = functools.partial(inputs, *shape)
            yield Case(f"summed {name}", lengths(*shape), function, made, dynamic=True)


def adam(p: Any, g: Any, m: Any, v: Any) -> Any:
    """A step of one tensor."""
    m, v = m * 0.9 + g * 0.1, v * 0.999 + g * g * 0.001
    return p - 1e-3 * m / (v.sqrt() + 1e-8), m, v


def attention(x: torch.Tensor) -> torch.Tensor:
    """Shares of scores up to the diagonal."""
    keep = torch.ones(x.shape[-2], x.shape[-1], dtype=torch.bool, device=x.device).tril()
    return torch.where(keep, x, float("-inf")).softmax(-1)


def matrix(m: int, n: int) -> list[Any]:
    """``m`` rows of ``n``."""
    return [random(m, n)]


MOST_POSITIONS = 4096
CHANGED: dict[str, tuple[Callable[..., Any], Callable[[int, int], list[Any]]]] = {
    "softmax": (gpu_limit.softmax, matrix),
    "rms norm": (lambda x: functional.rms_norm(x, (x.shape[1],)), matrix),
    "layer norm": (
        lambda x, w, b: functional.layer_norm(x, (x.shape[1],), w, b),
        lambda m, n: [random(m, n), random(n), random(n)],
    ),
    "cross entropy": (
        gpu_limit.cross_entropy,
        lambda m, n: [random(m, n), torch.randint(0, n, (m,), device=gpu_limit.DEVICE)],
    ),
    "gelu": (functional.gelu, matrix),
    "gelu bias": (lambda x, b: functional.gelu(x + b), lambda m, n: [random(m, n), random(n)]),
    "adam": (adam, lambda m, n: [f32(m, n).abs() for _ in range(4)]),
    "row sum": (lambda x: x.float().sum(-1), matrix),
    "column sum": (lambda x: x.float().sum(0), matrix),
    "cumsum": (lambda x: x.float().cumsum(-1), matrix),
    "attention mask": (attention, lambda m, n: [random(max(1, m // n), n, n)]),
    "transpose": (lambda x: (x.t() * 2).contiguous(), matrix),
}
"""Functions of matrices, and their inputs."""
SUMMED: dict[str, tuple[Callable[..., Any], Callable[[int, int], list[Any]]]] = {
    "everything": (lambda x: x.float().sum(), matrix),
    "loss": (functional.mse_loss, lambda m, n: [random(m, n), random(m, n)]),
    "few": (lambda x: x.float().sum((0, 2)), lambda m, n: [random(m, 64, max(1, n // 64))]),
    "variance": (lambda x: torch.var_mean(x.float(), 0), matrix),
}
"""The same: those that programs share."""


def cases() -> list[Case]:
    """Everything, in the order in which it is timed."""
    return [*layers(), *dropped(), *changing(), *summed(), *searches(), *sorts(), *scans()]


def summary(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Shares of a copy, against the better of Inductor's ways, sizes that change."""
    yield from gpu_limit.table(found)
    against = {
        r["case"]: min(r["ms"][w] for w in ("inductor", "inductor tuned") if w in r["ms"])
        / min(r["ms"][w] for w in ("untuned", "tuned") if w in r["ms"])
        for r in found
        if {"inductor", "inductor tuned"} & r["ms"].keys() and {"untuned", "tuned"} & r["ms"].keys()
    }
    own = {
        r["case"]: r["ms"]["dynamic"] / r["ms"]["untuned"]
        for r in found
        if {"dynamic", "untuned"} <= r["ms"].keys()
    }
    for name, ratios, worst in (
        ("over Inductor's better", against, min),
        ("dynamic / static time", {c: v for c, v in own.items() if "summed" not in c}, max),
        ("of sums and variances", {c: v for c, v in own.items() if "summed" in c}, max),
    ):
        if ratios:
            case = worst(ratios, key=lambda c: ratios[c])
            mean = statistics.geometric_mean(ratios.values())
            yield f"{name}: {mean:.3f} of {len(ratios)}, worst {case} {ratios[case]:.3f}"
            yield "  " + "  ".join(
                f"{c} {v:.2f}" for c, v in sorted(ratios.items(), key=lambda i: i[1])
            )


if __name__ == "__main__":
    raise SystemExit(gpu_limit.main(cases(), Path(__file__), summary))
