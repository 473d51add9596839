"""What the host asks of torch for every launch, by the quickest way there is, and of its
allocator after a recording that failed.

The one place of the runtime that uses names of torch that are not public: each is looked up,
and where this torch has none of that name the public way is taken, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Empty = Callable[[tuple[int, ...], tuple[int, ...], torch.dtype], torch.Tensor]
"""Memory for a tensor of this shape, strides and type, its contents undefined."""

Reinterpret = Callable[[torch.Tensor, tuple[int, ...], tuple[int, ...], int], torch.Tensor]
"""The memory of a tensor in another layout, from so many elements after its first."""


def raw_stream() -> Callable[[int], int]:
    """What gives the current stream of a CUDA device as the driver's handle."""
    found: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return found or (lambda device: torch.cuda.current_stream(device).cuda_stream)


def no_stream(device: int) -> int:
    """The stream of a CPU: there is none."""
    del device
    return 0


def allocator(device: torch.device) -> Empty:
    """What allocates on ``device``, which has to be the current one if it is a CUDA device."""
    guards: Any = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    quick: Any = getattr(guards, f"_empty_strided_{device.type}", None)
    if quick is not None:
        return quick
    made = torch.empty_strided
    return lambda shape, stride, dtype: made(shape, stride, dtype=dtype, device=device)


def reinterpreter() -> Reinterpret:
    """What lays a tensor's memory out differently."""
    guards: Any = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    quick: Any = getattr(guards, "_reinterpret_tensor", None)
    return quick or _reinterpret


def _reinterpret(
    tensor: torch.Tensor, shape: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> torch.Tensor:
    return tensor.as_strided(shape, stride, tensor.storage_offset() + offset)


def forget_recording(device: int, pool: tuple[int, int]) -> None:
    """Tell torch's allocator that recording into ``pool`` is over, after an error.

    Where the driver ends a recording with an error, ``CUDAGraph.capture_end`` (of torch 2.11)
    raises without saying so to the allocator. That believes from then on that something is being
    recorded, and gives no memory back to the device (``torch.cuda.empty_cache`` does nothing)
    until the process ends. Does nothing where torch, or its successful ``capture_end``, has.
    """
    end: Any = getattr(torch._C, "_cuda_endAllocateToPool", None)
    release: Any = getattr(torch._C, "_cuda_releasePool", None)
    if end is None or release is None:
        return
    try:
        end(device, pool)
    except RuntimeError:
        return  # nothing is recorded into it: the pool is the graph's to release
    release(device, pool)
