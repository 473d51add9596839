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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.records.timing import Timer

if TYPE_CHECKING:  # only measuring needs it
    import torch

_BYTES = 4 << 30
"""Of each tensor: reading it takes over a millisecond, so that the timer's floor hides."""
_BUDGET_MS = 120.0
_TILES = ((1024, 4), (4096, 8), (8192, 16))
"""Elements per block and warps of the bandwidth kernels tried; the fastest counts."""
_MOSTLY = 0.1
"""Share of reads or of writes below which a kernel is one that only writes or only reads."""
_ROUNDS = 512
_TENSOR_SIZE = 8192


@dataclass(frozen=True, slots=True)
class Limit:
    """What holds a kernel back: ``copy``, ``read``, ``write`` or ``compute``, and the share of
    the limit that it reaches."""

    roof: str
    fraction: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """Bandwidths in GB/s (10^9 bytes per second; a copy counts bytes read and bytes written),
    throughputs in 10^12 floating-point operations per second; None if not measured."""

    copy_gbps: float
    read_gbps: float | None = None
    write_gbps: float | None = None
    fp32_tflops: float | None = None
    tensor_tflops: float | None = None

    def gbps(self, written: float) -> float:
        """The limit of a kernel whose bytes are writes to the share ``written`` (0 to 1)."""
        read = self.read_gbps or self.copy_gbps
        write = self.write_gbps or self.copy_gbps
        side, share = (read, 1 - 2 * written) if written < 0.5 else (write, 2 * written - 1)
        return 1 / (share / side + (1 - share) / self.copy_gbps)

    def limit(
        self, ms: float, nbytes: int, written: int, flops: int = 0, tensor: bool = False
    ) -> Limit | None:
        """Of a kernel that takes ``ms`` for ``nbytes``, of which ``written`` are writes, and
        ``flops`` operations, on the tensor cores or not. None for a kernel that does nothing."""
        share = min(1.0, written / nbytes) if nbytes else 0.5
        moving = nbytes / self.gbps(share) / 1e6
        throughput = self.tensor_tflops if tensor else self.fp32_tflops
        computing = flops / throughput / 1e9 if throughput else 0.0
        if ms <= 0 or not (moving or computing):
            return None
        if computing > moving:
            return Limit("compute", computing / ms)
        roof = "read" if share < _MOSTLY else "write" if share > 1 - _MOSTLY else "copy"
        return Limit(roof, moving / ms)


def bytes_written(nbytes: int, args: Sequence[Any], outputs: Sequence[int]) -> int:
    """How many of a kernel's modelled ``nbytes`` are writes: the size of what it writes, each
    tensor once, no more than there are."""
    import torch

    sizes = {
        (a.untyped_storage().data_ptr(), a.storage_offset()): a.numel() * a.element_size()
        for a in (args[i] for i in outputs)
        if isinstance(a, torch.Tensor)
    }
    return min(nbytes, sum(sizes.values()))


def measure(timer: Timer) -> Roofline:
    """The roofline of the current CUDA device. Uses three eighths of the free memory at most.
    Contents are random: zeros can be faster than data. Raises ``NoDevice``."""
    import torch

    from harness.runtime.device import require

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
    import torch

    from harness.measure.timer import probes

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
    import torch

    from harness.measure.timer import probes

    block, width = 256, 8
    blocks = torch.cuda.get_device_properties(device).multi_processor_count * 32
    results = torch.empty(blocks * block, dtype=torch.float32, device=device)
    tile = {"BLOCK": block, "WIDTH": width, "num_warps": 8}
    kernel: Any = probes.multiply_add
    launch = functools.partial(kernel[(blocks,)], results, 0.75, _ROUNDS, **tile)
    ms = timer.measure(launch, _BUDGET_MS / 4).median
    return 2 * 16 * _ROUNDS * block * width * blocks / ms / 1e9


def _tensor(timer: Timer, device: torch.device) -> float:
    """Torch's product of two bf16 matrices of random numbers, which cuBLAS computes."""
    import torch

    shape = (_TENSOR_SIZE, _TENSOR_SIZE)
    a, b = (torch.randn(shape, dtype=torch.bfloat16, device=device) for _ in range(2))
    product = torch.empty_like(a)
    ms = timer.measure(lambda: torch.mm(a, b, out=product), _BUDGET_MS / 4).median
    return 2 * _TENSOR_SIZE**3 / ms / 1e9
