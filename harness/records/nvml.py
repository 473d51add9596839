"""The driver's management library (NVML): the one place that opens it.

Everything is read, nothing is set. Without the library, or where the driver refuses, there is
nothing to ask.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False, slots=True)
class NvmlDevice:
    """A GPU as ``nvml`` (the module ``pynvml``) knows it."""

    nvml: Any
    handle: Any

    def ask(self, function: str, *arguments: Any) -> Any:
        """What the library's ``function`` says of the GPU; None where it says nothing."""
        try:
            return getattr(self.nvml, function)(self.handle, *arguments)
        except (AttributeError, self.nvml.NVMLError):
            return None


def find(nvml: Any, uuid: str | None) -> NvmlDevice:
    """The GPU with this UUID (``GPU-…``), else the first one: the library counts GPUs that torch
    may not see. Raises ``nvml.NVMLError``."""
    if uuid is not None:
        with contextlib.suppress(nvml.NVMLError):
            return NvmlDevice(nvml, nvml.nvmlDeviceGetHandleByUUID(uuid.encode()))
    return NvmlDevice(nvml, nvml.nvmlDeviceGetHandleByIndex(0))


@contextlib.contextmanager
def opened(uuid: str | None) -> Iterator[NvmlDevice | None]:
    """The GPU with this UUID while the library is open; None where it cannot be."""
    try:
        import pynvml
    except ImportError:
        yield None
        return
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield None
        return
    try:
        device = None
        with contextlib.suppress(pynvml.NVMLError):
            device = find(pynvml, uuid)
        yield device
    finally:
        pynvml.nvmlShutdown()


def set_clocks_mhz(uuid: str | None) -> tuple[int | None, int | None]:
    """SM and memory clock that the board is set to: the applications' clocks, else the highest
    ones; None where the driver does not say."""
    with opened(uuid) as device:
        if device is None:
            return None, None
        kinds = (device.nvml.NVML_CLOCK_SM, device.nvml.NVML_CLOCK_MEM)
        asks = ("nvmlDeviceGetApplicationsClock", "nvmlDeviceGetMaxClockInfo")
        sm, memory = (next(filter(None, (device.ask(a, k) for a in asks)), None) for k in kinds)
        return sm, memory
