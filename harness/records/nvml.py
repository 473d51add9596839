"""The driver's management library (NVML): the one place that opens it. Everything is read, nothing
is set. Without the library, or where the driver refuses, there is nothing to ask."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from harness.devices.job import Closing


@dataclass(frozen=True, eq=False, slots=True)
class NvmlDevice(Closing):
    """A GPU as ``nvml`` (the module ``pynvml``) knows it; closing it lets the library go."""

    nvml: Any
    handle: Any

    def ask(self, function: str, *arguments: Any) -> Any:
        """What the library's ``function`` says of the GPU; None where it says nothing."""
        try:
            return getattr(self.nvml, function)(self.handle, *arguments)
        except (AttributeError, self.nvml.NVMLError):
            return None

    def close(self) -> None:
        """Ask no more."""
        self.nvml.nvmlShutdown()

    def driver(self) -> str | None:
        """The driver's version; None where it is not said."""
        try:
            return str(self.nvml.nvmlSystemGetDriverVersion())
        except self.nvml.NVMLError:
            return None


def open_device(uuid: str | None, nvml: Any = None) -> NvmlDevice | None:
    """The GPU with this UUID (``GPU-…``), else the first one: the library counts GPUs that torch
    may not see. None where there is no library, driver or GPU. ``nvml`` stands for ``pynvml``."""
    if nvml is None:
        try:
            import pynvml
        except ImportError:
            return None
        nvml = pynvml
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    with contextlib.suppress(nvml.NVMLError):
        if uuid is not None:
            return NvmlDevice(nvml, nvml.nvmlDeviceGetHandleByUUID(uuid.encode()))
    with contextlib.suppress(nvml.NVMLError):
        return NvmlDevice(nvml, nvml.nvmlDeviceGetHandleByIndex(0))
    nvml.nvmlShutdown()
    return None
