"""The device's copy bandwidth, measured as kernels are: the share that a memory-bound
kernel can hope for, on this machine, today, by the same method."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from harness.runtime.device import require
from harness.runtime.timing import Samples, Timer

_BYTES = 1 << 30
_BUDGET_MS = 200.0


@dataclass(frozen=True, slots=True)
class CopyBandwidth:
    """GB/s (10^9 bytes per second), bytes read and bytes written both counted."""

    gbps: float
    nbytes: int
    samples: Samples


def copy_bandwidth(
    timer: Timer, nbytes: int = _BYTES, device: torch.device | None = None
) -> CopyBandwidth:
    """Copy ``nbytes`` from one tensor to another, timed by ``timer``.

    Uses less where the device has not twice that much free. Random contents: copies of
    zeros can be faster than copies of data.
    """
    where = require() if device is None else device
    if where.type == "cuda":
        free, _ = torch.cuda.mem_get_info(where)
        nbytes = min(nbytes, max(1 << 20, free // 4))
    source = torch.randint(-(1 << 31), 1 << 31, (nbytes // 8,), dtype=torch.int64, device=where)
    destination = torch.empty_like(source)
    samples = timer.measure(lambda: _copy(destination, source), _BUDGET_MS)
    moved = 2 * source.numel() * source.element_size()
    return CopyBandwidth(moved / samples.median / 1e6, moved, samples)


def _copy(destination: torch.Tensor, source: torch.Tensor) -> None:
    destination.copy_(source)
