"""Matrix products whose result has odd rows, without a larger result that it is cut out of.

The libraries' fast kernels for 16-bit matrices write rows that begin at multiples of 16 bytes. Rows
of 50257 elements do not, but every eighth of them lies 8 x 50257 elements after the one before.
Each of these eight sets of rows is a product of one batch: the next begins a row later, and its
columns as many elements later as make that a multiple of 16 bytes (7 more than 50257). Columns that
not every set has, at both ends of the rows, are products of their own, copied to where they belong.
"""

from __future__ import annotations

import math

import torch

from harness.graph.random import LIBRARY

ALIGNED_BYTES = 16


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


LIBRARY.define("interleaved_mm(Tensor a, Tensor b) -> Tensor")
LIBRARY.impl("interleaved_mm", interleaved_mm, "CompositeExplicitAutograd")
torch.library.register_fake("harness::interleaved_mm", torch.mm, lib=LIBRARY)
