"""Files of hand-written kernels for tests."""

from __future__ import annotations

from pathlib import Path

HEAD = """
import math
import torch
import triton
import triton.language as tl
import harness

FACTOR = tl.constexpr(2)
UNUSED = 7


@triton.jit
def twice(x):
    return x * FACTOR


def make(device, n):
    x = torch.randn(n, device=device)
    return [x, torch.empty_like(x), n]
"""

SCALE = (
    HEAD
    + '''

@harness.kernel(
    args=make,
    reference=lambda x: x * 2,
    outputs=["out"],
    grid=lambda n, BLOCK: (triton.cdiv(n, BLOCK),),
    configs=[{"BLOCK": 64, "num_warps": 2}, triton.Config({"BLOCK": 128}, num_stages=2)],
    sizes={"n": 100_000},
    small={"n": 100},
)
@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    """Twice x. And more."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, twice(tl.load(x + at, at < n)), at < n)
'''
)

OUTSIDE = (
    HEAD
    + """

@harness.kernel(
    args=make,
    reference=lambda x: x * 2,
    outputs=["out"],
    grid=lambda n, BLOCK: (triton.cdiv(n, BLOCK),),
    configs=[{"BLOCK": 64}],
    sizes={"n": 100},
)
@triton.jit
def sloppy(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = twice(tl.load(x + at, at < n))
    tl.store(out + at, value, at < n)
    tl.store(x + at, value, at < n)
"""
)


def write(folder: Path, text: str, name: str = "kernels") -> Path:
    path = folder / f"{name}.py"
    path.write_text(text)
    return path
