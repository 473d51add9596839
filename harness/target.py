"""Devices that kernels are generated for, as data.

A target says what the heuristics and the assembler must know; it exists
without the device, so that everything but time works on a laptop.

Where the figures come from, NVIDIA: warp size, threads, registers and shared memory per
multiprocessor and per block from the CUDA programming guide, tables "Technical specifications per
compute capability" (8.0, 9.0, 10.0); multiprocessors, L2 and bandwidth from the data sheets and
architecture papers of the boards (A100 SXM4 40 GB: 108, 40 MB, 1555 GB/s; H100 SXM5: 132, 50 MB,
3.35 TB/s; H200: 132, 4.8 TB/s; B200: 148, 8 TB/s), L2 of H200 and B200 as the driver reports it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from harness.errors import unknown


@dataclass(frozen=True, slots=True)
class Target:
    """One device kind. ``capability`` is compute capability × 10 (90 for Hopper; gfx number on
    AMD), memory sizes are bytes, ``memory_gbps`` the board's nominal bandwidth in GB/s (0 if
    unknown)."""

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
    **{target.name: target for target in (A100, H100, H200, B200)},
    **{f"sm_{target.capability}": target for target in (A100, H100, B200)},
}
"""Targets by name; ``sm_90`` is the default and means an H100."""


def of_board(
    name: str, capability: int, multiprocessors: int | None = None, l2_bytes: int | None = None
) -> Target:
    """The target of the GPU that its driver calls ``name``: the row of its model, with so many
    multiprocessors and such a cache as the driver says (None: as the model has). Without a row,
    that of another board of the ``capability``, and no bandwidth."""
    known = next((one for one in (H200, H100, B200, A100) if one.name in name.lower()), None)
    if known is None or known.capability != capability:
        like = TARGETS.get(f"sm_{capability}", H100 if capability > 80 else A100)
        known = replace(like, name=f"sm_{capability}", capability=capability, memory_gbps=0.0)
    known = replace(known, multiprocessors=multiprocessors or known.multiprocessors)
    return replace(known, l2_bytes=l2_bytes or known.l2_bytes)


def find_target(name: str) -> Target:
    """The target called ``name``. Raises ``UnknownName`` with the nearest ones."""
    if name in TARGETS:
        return TARGETS[name]
    where, remedy = "--target or HARNESS_TARGET", "name one of these, or leave it out"
    raise unknown("there is no such target", name, TARGETS, where, remedy, most=None)
