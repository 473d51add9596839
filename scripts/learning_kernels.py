"""Graphs for the heuristics to learn from: common pieces of models at many sizes.

    python scripts/learning_kernels.py OUT

Writes a graph file for the forward and the backward pass of every piece at every size below
OUT, to be tuned with ``scripts/gpu_tuning.py OUT/*.py``. None of them is in a suite, so a suite
shows how well what is learnt from them carries over.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from harness.dtypes import DType  # noqa: E402
from harness.errors import HarnessError  # noqa: E402
from harness.graph.capture.capture import CaptureOptions, capture  # noqa: E402
from harness.graph.text import save  # noqa: E402

Example = tuple[Any, tuple[torch.Tensor, ...]]


def _inputs(*shapes: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(*shape).requires_grad_() for shape in shapes)


class _Normed(nn.Module):
    """A residual and a normalisation over the last dimension."""

    def __init__(self, columns: int, kind: str) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(columns) if kind == "layer" else nn.RMSNorm(columns)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.norm(x + y)


def layer_norm(rows: int, columns: int) -> Example:
    """Residual and layer norm."""
    return _Normed(columns, "layer"), _inputs((rows, columns), (rows, columns))


def rms_norm(rows: int, columns: int) -> Example:
    """Residual and RMS norm."""
    return _Normed(columns, "rms"), _inputs((rows, columns), (rows, columns))


def softmax(rows: int, columns: int) -> Example:
    """Scaled softmax."""
    return (lambda x: torch.softmax(x.float() * 0.125, -1).to(x.dtype)), _inputs((rows, columns))


def cross_entropy(rows: int, columns: int) -> Example:
    """Loss over classes."""
    target = torch.randint(0, columns, (rows,))

    def loss(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(x.float(), target)

    return loss, (*_inputs((rows, columns)), target)


class _Gated(nn.Module):
    """The middle of a feed-forward block, with a bias whose gradient is a column sum."""

    def __init__(self, columns: int, kind: str) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(columns))
        self.kind = kind

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if self.kind == "gelu":
            return functional.gelu(x + self.bias)
        return functional.silu(x + self.bias) * y


def gelu(rows: int, columns: int) -> Example:
    """Bias and GELU; backwards a column sum."""
    return _Gated(columns, "gelu"), _inputs((rows, columns), (rows, columns))


def gated(rows: int, columns: int) -> Example:
    """Bias, SiLU and a product; backwards a column sum."""
    return _Gated(columns, "silu"), _inputs((rows, columns), (rows, columns))


class _BatchNorm(nn.Module):
    """Batch norm in training, and a rectifier."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.norm(x))


def batch_norm(batch: int, channels: int, side: int) -> Example:
    """Batch norm and ReLU."""
    return _BatchNorm(channels), _inputs((batch, channels, side, side))


class _GroupNorm(nn.Module):
    """Group norm and SiLU."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(32, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.silu(self.norm(x))


def group_norm(batch: int, channels: int, side: int) -> Example:
    """Group norm and SiLU."""
    return _GroupNorm(channels), _inputs((batch, channels, side, side))


class _ChannelNorm(nn.Module):
    """Layer norm over the channels of an image: tensors run both ways through memory."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.scale = nn.Parameter(torch.ones(channels))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.norm((x * y).permute(0, 2, 3, 1)) * self.scale


def channel_norm(batch: int, channels: int, side: int) -> Example:
    """Layer norm over channels of NCHW."""
    shape = (batch, channels, side, side)
    return _ChannelNorm(channels), _inputs(shape, shape)


def turned(rows: int, columns: int) -> Example:
    """A sum of a matrix and another one's transpose."""
    return (lambda x, y: (x + y.t()).contiguous()), _inputs((rows, columns), (columns, rows))


def adam(count: int) -> Example:
    """One Adam step on one tensor, states in float32."""

    def step(p: torch.Tensor, g: torch.Tensor, m: torch.Tensor, v: torch.Tensor) -> Any:
        wide = g.float()
        m = m * 0.9 + wide * 0.1
        v = v * 0.999 + wide * wide * 0.001
        return (p.float() - 1e-3 * m / (v.sqrt() + 1e-8)).to(p.dtype), m, v

    wide = (torch.zeros(count, dtype=torch.float32), torch.zeros(count, dtype=torch.float32))
    return step, (torch.randn(count), torch.randn(count), *wide)


def rotary(batch: int, heads: int, length: int, size: int) -> Example:
    """Rotary embedding of queries."""

    def turn(x: torch.Tensor, c: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        half = size // 2
        return x * c + torch.cat([-x[..., half:], x[..., :half]], -1) * s

    angles = (torch.randn(length, size), torch.randn(length, size))
    return turn, (*_inputs((batch, heads, length, size)), *angles)


def dropped(count: int) -> Example:
    """A residual with a mask of bytes."""

    def function(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, x * 1.25, 0.0) + y

    mask = torch.zeros(count, dtype=torch.bool)
    return function, (*_inputs((count,), (count,)), mask)


MATRICES = ((512, 512), (2048, 1024), (4096, 640), (16384, 1280), (8192, 4096), (32768, 320))
LONG = ((64, 32768), (1024, 16384), (4096, 32000), (256, 100352))
IMAGES = ((8, 128, 32), (16, 320, 28), (32, 96, 64), (64, 512, 14))

PIECES: tuple[tuple[Callable[..., Example], tuple[tuple[int, ...], ...], str], ...] = (
    (layer_norm, MATRICES, "training"),
    (rms_norm, (*MATRICES[1:5], (2048, 8192)), "training"),
    (softmax, (*MATRICES[:5], (65536, 128), (64, 32768), (1024, 16384)), "training"),
    (cross_entropy, LONG, "training"),
    (gelu, ((512, 2048), (4096, 2560), (16384, 1280), (8192, 8192)), "training"),
    (gated, ((1024, 1024), (4096, 5120), (2048, 11008)), "training"),
    (batch_norm, (*IMAGES, (32, 256, 56)), "training"),
    (group_norm, ((2, 320, 64), (4, 640, 32), (8, 128, 32)), "training"),
    (channel_norm, IMAGES, "training"),
    (turned, ((1024, 1024), (4096, 3072), (200, 50000)), "inference"),
    (adam, ((1 << 18,), (1 << 21,), (1 << 24,)), "inference"),
    (rotary, ((1, 32, 1024, 128), (8, 16, 2048, 64)), "training"),
    (dropped, ((1 << 19,), (1 << 22,), (1 << 25,)), "inference"),
)


def examples(piece: Callable[..., Example], sizes: tuple[int, ...]) -> str:
    """The target text by which ``piece`` at ``sizes`` is captured."""
    names = piece.__code__.co_varnames[: piece.__code__.co_argcount]
    pairs = "&".join(f"{n}={v}" for n, v in zip(names, sizes, strict=True))
    return f"learning_kernels:{piece.__name__}?{pairs}"


def graphs() -> Iterator[Any]:
    """Every graph, named after its piece, type and sizes."""
    for at, (piece, table, mode) in enumerate(PIECES):
        for number, sizes in enumerate(table):
            dtype = (DType.BF16, DType.F32)[(at + number) % 3 == 2]
            options = CaptureOptions(mode=mode, dtype=dtype)  # type: ignore[arg-type]
            try:
                found = capture(examples(piece, sizes), options)
            except HarnessError as error:
                print(f"{piece.__name__} {sizes}: {error}", file=sys.stderr)
                continue
            label = "_".join([piece.__name__, dtype.short, *map(str, sizes)])
            for graph in found:
                yield replace(graph, name=f"{label}_{graph.name.rsplit('_', 1)[-1]}")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder for graph files")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    count = 0
    for graph in graphs():
        save(graph, out / f"{graph.name}.py")
        count += 1
    print(f"{count} graphs")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
