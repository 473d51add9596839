"""What asv should know of this machine: who measures, for which target, by which method.

``python -m harness.asv.machine`` prints it as JSON. asv asks in a process of its own,
because torch is needed to ask and nothing of asv's own process should hold a GPU.

Every field of asv's ``machine.json`` splits series, so nothing is in it that changes by itself:
no kernel release, no host name, no memory size, and the clocks are those that the board is set
to run at, not those of the moment.
"""

from __future__ import annotations

import json
import platform
import re
from dataclasses import asdict, dataclass
from typing import Any

from harness.asv.timing import TUNING
from harness.records.machine import cpu_name, find_gpu


@dataclass(frozen=True, slots=True)
class Described:
    """``machine`` are asv's fields, all text; ``target`` the device kind that kernels are
    compiled for here, empty without a GPU; ``method`` the timer's and the tuner's."""

    machine: dict[str, str]
    target: str
    method: str


def describe() -> Described:
    """What this machine is and can."""
    from harness.measure.timer.graph_timer import METHOD
    from harness.runtime.device import current_target, is_available
    from harness.target import TARGETS

    capability = current_target().capability if is_available() else None
    names = [name for name, target in TARGETS.items() if target.capability == capability]
    return Described(_machine(), names[0] if names else "", f"{METHOD}+{TUNING}")


def _machine() -> dict[str, str]:
    gpu = find_gpu()
    cpu = cpu_name()
    fields = {
        "machine": _slug(cpu or platform.machine()),
        "os": platform.system(),
        "arch": platform.machine(),
        "cpu": cpu,
        "num_cpu": "",
        "ram": "",
    }
    if gpu is None:
        return fields
    sm, memory = _set_clocks(gpu.uuid)
    words = [gpu.name, gpu.driver or "", f"{sm}mhz" if sm else "", f"{memory}mhz" if memory else ""]
    return fields | {
        "machine": _slug(" ".join(word for word in words if word)),
        "gpu": gpu.name,
        "driver": gpu.driver or "",
        "sm_clock_mhz": sm,
        "memory_clock_mhz": memory,
    }


def _set_clocks(uuid: str | None) -> tuple[str, str]:
    """SM and memory clock in MHz that the board is set to: the applications' clocks, else the
    highest ones; empty where the driver does not say."""
    try:
        import pynvml
    except ImportError:
        return "", ""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return "", ""
    try:
        handle = (
            pynvml.nvmlDeviceGetHandleByUUID(uuid.encode())
            if uuid
            else pynvml.nvmlDeviceGetHandleByIndex(0)
        )
        kinds = (pynvml.NVML_CLOCK_SM, pynvml.NVML_CLOCK_MEM)
        sm, memory = (_set_clock(pynvml, handle, kind) for kind in kinds)
        return sm, memory
    except pynvml.NVMLError:
        return "", ""
    finally:
        pynvml.nvmlShutdown()


def _set_clock(pynvml: Any, handle: Any, kind: int) -> str:
    for ask in (pynvml.nvmlDeviceGetApplicationsClock, pynvml.nvmlDeviceGetMaxClockInfo):
        try:
            return str(int(ask(handle, kind)))
        except pynvml.NVMLError:
            continue
    return ""


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-") or "unknown"


if __name__ == "__main__":
    print(json.dumps(asdict(describe())))  # noqa: T201 - read by the process that started it
