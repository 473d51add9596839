"""The CUDA device of a worker process: what it is, why it cannot be taken, whether it was lost."""

from __future__ import annotations

import torch

from harness.devices.worker import Unusable
from harness.errors import HarnessError, NoDevice
from harness.measure.jobs import DeviceFacts
from harness.measure.timer.graph_timer import METHOD
from harness.records.machine import fingerprint
from harness.runtime.compile.static import reason
from harness.runtime.device import current_target


def device_facts() -> DeviceFacts:
    """Of the current CUDA device. Raises ``NoDevice``."""
    return DeviceFacts(current_target(), fingerprint(), METHOD)


def no_device(error: Exception) -> NoDevice:
    """Why the device cannot be taken."""
    # The driver has no memory for a context, torch's allocator none for a tensor.
    full = isinstance(error, torch.OutOfMemoryError) or "out of memory" in str(error)
    return NoDevice(
        "the GPU has too little free memory" if full else "the GPU cannot be used",
        got=error.got if isinstance(error, HarnessError) else reason(error),
        expected="a CUDA device with about 3 GiB free",
        remedy="end what else runs on it (nvidia-smi lists it), or use --no-timing",
    )


def is_lost() -> bool:
    """Whether a launch ruined this process's CUDA context: every call fails from then on."""
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def judged(error: HarnessError) -> HarnessError | Unusable:
    """What a job that failed with ``error`` should raise: ``Unusable`` with it where its process is
    good for nothing more, so that the pool replaces the process."""
    return Unusable(error) if is_lost() else error
