"""A kernel of known length, appended to a launch to slow it down by a known time.

One thread block reads the SM's cycle counter until enough cycles have passed, and adds what
it saw to a tally: cycles, and nanoseconds of the device's global timer. So what a launch was
slowed down by is known from the device itself, whatever the timer under test says.

Imports triton, so only the process that has the GPU imports this.
"""

# ruff: noqa: N803 - Triton's constants are written in capitals
from __future__ import annotations

import triton
import triton.language as tl

STRIDE = 16
"""64-bit integers from one tally to the next: a cache line each. Tallies that straddled two
sectors cost their spins 0.13 µs more wherever the kernel before had swept them out of the cache."""
FIELDS = 3
"""64-bit integers of a tally: cycles, nanoseconds, launches."""


@triton.jit(do_not_specialize=["cycles"])
def spin(tally, cycles, GROUP: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Wait for ``cycles`` (none: end at once) and count it in ``tally``."""
    began = tl.inline_asm_elementwise(
        "mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1
    )
    first = tl.inline_asm_elementwise(
        "mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1
    )
    last = first
    while last - first < cycles:
        last = tl.inline_asm_elementwise(
            "mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1
        )
    ended = tl.inline_asm_elementwise(
        "mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1
    )
    tl.atomic_add(tally + GROUP * 16, last - first)
    tl.atomic_add(tally + GROUP * 16 + 1, ended - began)
    tl.atomic_add(tally + GROUP * 16 + 2, 1)
