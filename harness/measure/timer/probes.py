"""Triton kernels that measuring itself needs: clocks, an empty kernel, bandwidth, arithmetic.
Imports triton, so only processes that time on a GPU import this, before they take it."""

# ruff: noqa: N803, ANN001, ANN201 - Triton reads annotations as types of its own, and writes
# constants in capitals.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import globaltimer, smid

triton.runtime.cache.triton_key()  # Triton's digest of itself, which it keeps: a third of a second

STAMP_FIELDS = 3
"""64-bit integers in one entry of the ring that ``stamp`` writes."""
STAMPS = 4096


@triton.jit
def clock():
    """The cycle counter of the SM that asks."""
    return tl.inline_asm_elementwise(
        "mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1
    )


@triton.jit
def stamp(counter, slots, SIZE: tl.constexpr):
    """Append (SM clock in cycles, global timer in nanoseconds, SM number) to the ring
    ``slots`` of ``SIZE`` entries. One block."""
    number = tl.atomic_add(counter, 1)
    place = slots + (number % SIZE) * 3
    cycles, nanoseconds, processor = clock(), globaltimer(), smid()
    tl.store(place, cycles)
    tl.store(place + 1, nanoseconds)
    tl.store(place + 2, processor.to(tl.int64))


@triton.jit
def empty(pointer):
    """Nothing: what is left is the cost of launching."""


@triton.jit
def copy(source, destination, BLOCK: tl.constexpr):
    """Read and write 4-byte elements, as many as a multiple of ``BLOCK``."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(destination + at, tl.load(source + at))


@triton.jit
def read(source, sums, BLOCK: tl.constexpr):
    """Read 4-byte integers; one sum of ``BLOCK`` of them is written per block."""
    block = tl.program_id(0).to(tl.int64)
    values = tl.load(source + block * BLOCK + tl.arange(0, BLOCK))
    tl.store(sums + block, tl.sum(values, axis=0))


@triton.jit
def write(destination, seed, BLOCK: tl.constexpr):
    """Write 4-byte elements, each another number, without reading."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(destination + at, (at.to(tl.int32) * 747796405 + seed))


@triton.jit
def multiply_add(results, a, rounds, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """``rounds`` times 16 dependent fused multiply-adds on each of ``BLOCK`` × ``WIDTH``
    values per block, all in registers."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    lanes = tl.arange(0, WIDTH)
    x = (at[:, None] + lanes[None, :]).to(tl.float32) * 1e-6
    for _ in range(rounds):
        for _ in tl.static_range(16):
            x = tl.fma(x, a, 0.25)
    tl.store(results + at, tl.sum(x, axis=1))
