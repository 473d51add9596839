"""Devices that kernels are generated for, as data.

A target says what the heuristics and the assembler must know; it exists
without the device, so that everything but time works on a laptop.
Figures: NVIDIA's CUDA programming guide, table of compute capabilities, and
the data sheets of the named boards.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """One device kind.

    ``capability`` is compute capability × 10 (90 for Hopper), memory sizes are
    bytes, ``memory_gbps`` the board's nominal bandwidth in GB/s (0 if unknown).
    """

    name: str
    backend: str
    capability: int
    warp_size: int
    multiprocessors: int
    threads_per_multiprocessor: int
    registers_per_multiprocessor: int
    shared_per_multiprocessor: int
    shared_per_block: int
    l2_bytes: int
    memory_gbps: float


A100 = Target("a100", "cuda", 80, 32, 108, 2048, 65536, 167936, 166912, 40 << 20, 1555.0)
H100 = Target("h100", "cuda", 90, 32, 132, 2048, 65536, 233472, 232448, 50 << 20, 3350.0)
H200 = Target("h200", "cuda", 90, 32, 132, 2048, 65536, 233472, 232448, 60 << 20, 4800.0)
B200 = Target("b200", "cuda", 100, 32, 148, 2048, 65536, 233472, 232448, 126 << 20, 8000.0)

TARGETS: dict[str, Target] = {
    "a100": A100,
    "h100": H100,
    "h200": H200,
    "b200": B200,
    "sm_80": A100,
    "sm_90": H100,
    "sm_100": B200,
}
"""Targets by name; ``sm_90`` is the default and means an H100."""
