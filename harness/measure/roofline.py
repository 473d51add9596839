"""What this device can do at best, measured as kernels are, by the first process of a run.

A kernel that only reads, only writes or does both has another limit each: turning the memory
bus around between reads and writes costs bandwidth. So three bandwidths are taken, and the
limit of a kernel follows from the share of its bytes that it writes, along straight lines in
time per byte between reading only, copying (half of each) and writing only. A kernel that does
more arithmetic than memory traffic allows time for is held against arithmetic throughput.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from harness.measure.jobs import Roofline
from harness.measure.timer import probes
from harness.records.timing import Timer
from harness.runtime.device import require

_BYTES = 4 << 30
"""Of each tensor: reading it takes over a millisecond, so that the timer's floor hides."""
_BUDGET_MS = 120.0
_TILES = ((1024, 4), (4096, 8), (8192, 16))
"""Elements per block and warps of the bandwidth kernels tried; the fastest counts."""
_ROUNDS = 512
_TENSOR_SIZE = 8192


def bytes_written(nbytes: int, args: Sequence[Any], outputs: Sequence[int]) -> int:
    """How many of a kernel's modelled ``nbytes`` are writes: the size of what it writes, each
    tensor once, no more than there are."""
    sizes = {
        (a.untyped_storage().data_ptr(), a.storage_offset()): a.numel() * a.element_size()
        for a in (args[i] for i in outputs)
        if isinstance(a, torch.Tensor)
    }
    return min(nbytes, sum(sizes.values()))


def measure(timer: Timer) -> Roofline:
    """The roofline of the current CUDA device. Uses three eighths of the free memory at most.
    Contents are random: zeros can be faster than data. Raises ``NoDevice``."""
    where = require()
    free, _ = torch.cuda.mem_get_info(where)
    words = max(1 << 20, min(_BYTES, free // 8)) // 4 // 8192 * 8192
    source = torch.randint(-(1 << 31), 1 << 31, (words // 2,), dtype=torch.int64, device=where)
    # Arithmetic first: matrix products can bring the board to its power limit, and it takes the
    # clocks a moment to come back.
    fp32, tensor = _fp32(timer, where), _tensor(timer, where)
    copied, read, written = _bandwidths(timer, source.view(torch.int32))
    del source
    torch.cuda.empty_cache()
    return Roofline(copied, read, written, fp32, tensor)


def _bandwidths(timer: Timer, source: torch.Tensor) -> tuple[float, float, float]:
    """GB/s of copying, reading, writing 32-bit integers, each by its fastest kernel."""
    destination = torch.empty_like(source)
    words = source.numel()
    sums = torch.empty(words // min(b for b, _ in _TILES), dtype=torch.int32, device=source.device)

    def best(kernel: Any, nbytes: int, *args: Any) -> float:
        times = []
        for block, warps in _TILES:
            tile = {"BLOCK": block, "num_warps": warps}
            launch = functools.partial(kernel[(words // block,)], *args, **tile)
            times.append(timer.measure(launch, _BUDGET_MS / len(_TILES)).median)
        return nbytes / min(times) / 1e6

    copied = best(probes.copy, 2 * source.nbytes, source, destination)
    read = best(probes.read, source.nbytes, source, sums)
    return copied, read, best(probes.write, source.nbytes, destination, 7)


def _fp32(timer: Timer, device: torch.device) -> float:
    """Fused multiply-adds in registers; one counts as two operations."""
    block, width = 256, 8
    blocks = torch.cuda.get_device_properties(device).multi_processor_count * 32
    results = torch.empty(blocks * block, dtype=torch.float32, device=device)
    tile = {"BLOCK": block, "WIDTH": width, "num_warps": 8}
    launch = functools.partial(probes.multiply_add[(blocks,)], results, 0.75, _ROUNDS, **tile)
    ms = timer.measure(launch, _BUDGET_MS / 4).median
    return 2 * 16 * _ROUNDS * block * width * blocks / ms / 1e9


def _tensor(timer: Timer, device: torch.device) -> float:
    """Torch's product of two bf16 matrices of random numbers, which cuBLAS computes."""
    shape = (_TENSOR_SIZE, _TENSOR_SIZE)
    a, b = (torch.randn(shape, dtype=torch.bfloat16, device=device) for _ in range(2))
    product = torch.empty_like(a)
    ms = timer.measure(lambda: torch.mm(a, b, out=product), _BUDGET_MS / 4).median
    return 2 * _TENSOR_SIZE**3 / ms / 1e9
