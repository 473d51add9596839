"""What the host asks of torch for every launch, by the quickest way there is, and of its
allocator after a recording that failed; and of Python while it compiles.

The one place of the runtime that uses names of torch that are not public: each is looked up,
and where this torch has none of that name the public way is taken, if there is one.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator
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


def on_device(run: Callable[..., Any], device: torch.device) -> Callable[..., Any]:
    """``run`` with ``device`` current, as launching a kernel needs it, and without gradients;
    what is so already (the usual case) is left alone, which is quicker."""
    grad_enabled = torch.is_grad_enabled
    current = torch.cuda.current_device
    number = device.index if device.type == "cuda" else None

    def guarded(args: list[Any]) -> list[Any]:
        if grad_enabled():
            with torch.no_grad():
                return guarded(args)
        if number is not None and current() != number:
            with torch.cuda.device(device):
                return run(args)
        return run(args)

    return guarded


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Cycles are not collected: what compiling holds for seconds would count as lasting, and with
    that many more objects the collector looks through all of the program."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def compiling(work: Callable[..., Any]) -> Callable[..., Any]:
    """``work``, which compiles: with the collector paused, and room for frames. Python asks the
    system for memory at every call that begins 16 KB of them, and gives it back at its end: a loop
    just there takes up to 300 times as long. A frame of half a megabyte brings as much with it."""
    paused = collector_paused()(work)

    def call(*args: Any, **given: Any) -> Any:
        return paused(*args, **given)

    call.__code__ = call.__code__.replace(co_stacksize=1 << 16)
    return call


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
    return quick or (
        lambda x, shape, stride, at: x.as_strided(shape, stride, x.storage_offset() + at)
    )


def storage_uses(tensor: torch.Tensor) -> int:
    """How many tensors (views and what gradients are kept for included) hold the memory of
    ``tensor``, give or take what is always there. Without torch's count, another number at every
    call, so that memory always seems to be in use."""
    count: Any = getattr(torch._C, "_storage_Use_Count", None)
    if count is None:
        return time.monotonic_ns()
    return int(count(tensor.untyped_storage()._cdata))


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
