"""Matrix products whose result has odd rows, without a larger result that it is cut out of.

The libraries' fast kernels for 16-bit matrices write rows that begin at multiples of 16 bytes. Rows
of 50257 elements do not, but every eighth of them lies 8 x 50257 elements after the one before, and
somewhere in its first 16 bytes begins such a multiple: eight products, each of every eighth row and
of as many columns as are multiples of 16 bytes, write all but a few columns where they belong.
"""

from __future__ import annotations

import math

import torch

from harness.graph.random import LIBRARY

ALIGNED_BYTES = 16
_ROWS = 256
"""So many are made from a vector element by element, the others are copies of them: 500 MB take
0.33 ms on an H200."""


def turns(columns: int, itemsize: int) -> int:
    """Every how many rows of ``columns`` elements begin alike, seen from multiples of 16 bytes."""
    step = ALIGNED_BYTES // itemsize
    return step // math.gcd(columns, step)


def interleaved_mm(
    a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """``a @ b``, of whose columns (of 16 bytes and more) rows that begin alike are a product; added
    to ``bias``, a vector, if that is given."""
    (rows, columns), step = (a.shape[0], b.shape[1]), ALIGNED_BYTES // a.itemsize
    made, beta = a.new_empty(rows, columns), 0 if bias is None else 1
    if bias is not None:
        made[:_ROWS] = bias
        for at in range(_ROWS, rows, _ROWS):
            made[at : at + _ROWS] = made[: min(_ROWS, rows - at)]
    outer = torch.cat((b[:, :step], b[:, -step:]), 1)
    if bias is None:
        ends = a @ outer
    else:
        ends = torch.addmm(torch.cat((bias[:step], bias[-step:])), a, outer)
    every = turns(columns, a.itemsize)
    for turn in range(every):
        first = -turn * columns % step
        own = slice(first, first + (columns - first) // step * step)
        made[turn::every, own].addmm_(a[turn::every], b[:, own], beta=beta)
    made[:, :step], made[:, -step:] = ends[:, :step], ends[:, step:]
    return made


LIBRARY.define("interleaved_mm(Tensor a, Tensor b, Tensor? bias=None) -> Tensor")
LIBRARY.impl("interleaved_mm", interleaved_mm, "CompositeExplicitAutograd")
torch.library.register_fake(
    "harness::interleaved_mm", lambda a, b, _=None: torch.mm(a, b), lib=LIBRARY
)
