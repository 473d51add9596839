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

_ALIGNED_BYTES = 16
_CACHED_BYTES = 16 << 20


def turns(columns: int, itemsize: int) -> int:
    """Every how many rows of ``columns`` elements begin alike, seen from multiples of 16 bytes."""
    step = _ALIGNED_BYTES // itemsize
    return step // math.gcd(columns, step)


def interleaved_mm(
    a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """``a @ b``, of whose columns (of 16 bytes and more) rows that begin alike are a product; added
    to ``bias``, a vector, if that is given."""
    (rows, columns), step = (a.shape[0], b.shape[1]), _ALIGNED_BYTES // a.itemsize
    made = a.new_empty(rows, columns)
    ends = torch.cat((b[:, :step], b[:, -step:]), 1)
    if bias is None:
        edges = torch.mm(a, ends)
    else:
        edges = torch.addmm(torch.cat((bias[:step], bias[-step:])), a, ends)
        _fill(made, bias)
    every = turns(columns, a.itemsize)
    for turn in range(every):
        first = -turn * columns % step
        own = slice(first, first + (columns - first) // step * step)
        part, its = made[turn::every, own], (a[turn::every], b[:, own])
        if bias is None:
            torch.mm(*its, out=part)
        else:
            part.addmm_(*its)
    made[:, :step], made[:, -step:] = edges[:, :step], edges[:, step:]
    return made


def _fill(made: torch.Tensor, row: torch.Tensor) -> None:
    """Make each row of ``made`` that one. Copies of contiguous memory are as fast as the device's;
    what they read is in its cache. (Expanding takes instructions for every element.)"""
    made[0] = row
    done, rows = 1, made.shape[0]
    most = max(1, _CACHED_BYTES // (row.numel() * row.itemsize))
    while done < rows:
        more = min(done, most, rows - done)
        made[done : done + more] = made[:more]
        done += more


LIBRARY.define("interleaved_mm(Tensor a, Tensor b, Tensor? bias=None) -> Tensor")
LIBRARY.impl("interleaved_mm", interleaved_mm, "CompositeExplicitAutograd")
torch.library.register_fake(
    "harness::interleaved_mm", lambda a, b, _=None: torch.mm(a, b), lib=LIBRARY
)
